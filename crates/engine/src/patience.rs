//! Deployments with requests that the server has asked to delay (`Retry-After`), or did not answer in time.
//!
//! This is for each Deployment and not for all. A webhook can also answer so, and would then delay others. A huge
//! object can take the server longer to refuse than the operator waits for other answers: the next request of its
//! Deployment waits longer, so that the status can show the server's words.

use std::collections::HashSet;
use std::mem::Discriminant;
use std::time::{Duration, Instant};

use crate::durations::{ANSWER_LIMIT, ANSWER_LIMIT_MAX, SLOW_AGAIN};

use crate::index::Key;
use crate::port::Request;

/// At most this many Deployments at a time may have an answer waited for longer than [`ANSWER_LIMIT`]: each takes a
/// worker meanwhile.
const SLOW_MAX: usize = 4;

/// What a request does: creates, patches, or deletes.
type Kind = Discriminant<Request>;

/// Until when a Deployment is left alone, and how long its answers are waited for.
#[derive(Debug, Default)]
pub(crate) struct Patience {
    until: Option<Instant>,
    /// How long the next answer is waited for, where that is longer than for others, since one to such a request did
    /// not come.
    limit: Option<Box<(Duration, Kind)>>,
}

impl Patience {
    /// Not before this time.
    pub(crate) fn wait(&mut self, until: Instant) {
        self.until = Some(until);
    }

    /// When the Deployment may be worked on, if that is not now. If it is, it may be among the `slow` ones, until the
    /// attempt that begins is over.
    pub(crate) fn until(&mut self, key: &Key, slow: &mut HashSet<Key>, now: Instant) -> Option<Instant> {
        self.until = self.until.filter(|until| *until > now);
        if self.until.is_some() || self.limit.is_none() {
            return self.until;
        }
        if slow.len() >= SLOW_MAX {
            return Some(now + SLOW_AGAIN);
        }
        slow.insert(key.clone());
        None
    }

    /// How long an answer to a request of this Deployment is waited for.
    pub(crate) fn limit(&self) -> Duration {
        self.limit.as_ref().map_or(ANSWER_LIMIT, |slow| slow.0)
    }

    /// A write was not answered within the limit. The next one comes after a pause that is half as long as this one
    /// waited, and waits longer. Returns how long.
    pub(crate) fn unanswered(&mut self, kind: Kind, now: Instant) -> Duration {
        let limit = self.limit();
        let next = (limit * 2).min(ANSWER_LIMIT_MAX);
        self.limit = Some(Box::new((next, kind)));
        self.wait(now + limit / 2);
        next
    }

    /// A write was answered after this time. If it is of the kind that was not, and was as quick as others are, no
    /// answer needs a longer limit.
    pub(crate) fn answered(&mut self, kind: Kind, took: Duration) {
        self.limit.take_if(|slow| took < ANSWER_LIMIT && slow.1 == kind);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> Key {
        Key { namespace: "n".to_owned(), name: name.to_owned() }
    }

    fn kinds() -> [Kind; 2] {
        let (namespace, name) = (String::new(), String::new());
        let (uid, version) = (String::new(), String::new());
        let (kind, object) = (crate::port::Kind::ReplicaSet, Box::default());
        let create = Request::Create { kind, namespace: namespace.clone(), object, is_dry_run: false };
        let delete = Request::Delete { kind, namespace, name, uid, version: Some(version) };
        [create, delete].map(|request| std::mem::discriminant(&request))
    }

    #[test]
    fn one_waits_as_it_was_asked_to_and_once() {
        let (mut patience, mut slow, now) = (Patience::default(), HashSet::new(), Instant::now());
        let until = now + Duration::from_secs(3);
        patience.wait(until);
        assert_eq!(patience.until(&key("asked"), &mut slow, now), Some(until));
        assert_eq!(patience.until(&key("asked"), &mut slow, until), None);
        assert!(patience.until.is_none() && slow.is_empty());
    }

    #[test]
    fn an_answer_that_does_not_come_is_waited_for_longer_the_next_time() {
        let (mut patience, start) = (Patience::default(), Instant::now());
        let [create, delete] = kinds();
        let mut now = start;
        for (limit, pause) in [(10, 5), (20, 10), (40, 20), (60, 30), (60, 30)].map(seconds) {
            let mut slow = HashSet::new();
            assert_eq!(patience.until(&key("huge"), &mut slow, now), None);
            assert_eq!(patience.limit(), limit);
            now += limit;
            patience.unanswered(create, now);
            assert_eq!(patience.until(&key("huge"), &mut slow, now), Some(now + pause));
            now += pause;
        }
        // The request took long, so the next one may.
        patience.answered(create, ANSWER_LIMIT);
        patience.answered(delete, Duration::from_secs(1));
        assert_eq!(patience.limit(), ANSWER_LIMIT_MAX);
        patience.answered(create, Duration::from_secs(1));
        assert_eq!(patience.limit(), ANSWER_LIMIT);
    }

    #[test]
    fn slow_ones_leave_workers_to_others() {
        let (mut slow, now) = (HashSet::new(), Instant::now());
        let later = now + ANSWER_LIMIT;
        let mut patience = Patience::default();
        patience.unanswered(kinds()[0], now);
        let waits = ["a", "b", "c", "d", "e"].map(|name| patience.until(&key(name), &mut slow, later));
        assert_eq!((slow.len(), waits), (SLOW_MAX, [None, None, None, None, Some(later + SLOW_AGAIN)]));
        assert_eq!(Patience::default().until(&key("other"), &mut slow, later), None);
        slow.remove(&key("a"));
        assert_eq!(patience.until(&key("e"), &mut slow, later), None);
    }

    fn seconds((limit, pause): (u64, u64)) -> (Duration, Duration) {
        (Duration::from_secs(limit), Duration::from_secs(pause))
    }
}
