//! Deployments whose requests the server has asked to delay (`Retry-After`), or did not answer in time.
//!
//! This is for each Deployment and not for all. A webhook can also answer so, and would then delay others. A huge
//! object can take the server longer to refuse than the operator waits for other answers: the next request of its
//! Deployment waits longer, so that the status can show the server's words.

use std::collections::{HashMap, HashSet};
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

/// Until when each Deployment is left alone, and how long its answers are waited for.
#[derive(Debug, Default)]
pub struct Patience {
    until: HashMap<Key, Instant>,
    /// How long the next answer is waited for, where that is longer than for others, since one to such a request did
    /// not come.
    limits: HashMap<Key, (Duration, Kind)>,
    /// Those of them that are being worked on.
    slow: HashSet<Key>,
}

impl Patience {
    /// Not before this time.
    pub fn wait(&mut self, key: &Key, until: Instant) {
        self.until.insert(key.clone(), until);
    }

    /// When the Deployment may be worked on, if that is not now. If it is, the attempt that begins has to
    /// [end](Self::ended).
    pub fn waits_until(&mut self, key: &Key, now: Instant) -> Option<Instant> {
        if let Some(until) = self.until.get(key).copied() {
            if until > now {
                return Some(until);
            }
            self.until.remove(key);
        }
        if !self.limits.contains_key(key) {
            return None;
        }
        if self.slow.len() >= SLOW_MAX {
            return Some(now + SLOW_AGAIN);
        }
        self.slow.insert(key.clone());
        None
    }

    /// An attempt is over.
    pub(crate) fn ended(&mut self, key: &Key) {
        self.slow.remove(key);
    }

    /// How long an answer to a request of this Deployment is waited for.
    #[must_use]
    pub fn limit(&self, key: &Key) -> Duration {
        self.limits.get(key).map_or(ANSWER_LIMIT, |(limit, _)| *limit)
    }

    /// A write was not answered within the limit. The next one comes after a pause that is half as long as this one
    /// waited, and waits longer. Returns how long.
    pub(crate) fn unanswered(&mut self, key: &Key, kind: Kind, now: Instant) -> Duration {
        let limit = self.limit(key);
        let next = (limit * 2).min(ANSWER_LIMIT_MAX);
        self.limits.insert(key.clone(), (next, kind));
        self.wait(key, now + limit / 2);
        next
    }

    /// A write was answered after this time. If it is of the kind that was not, and was as quick as others are, no
    /// answer needs a longer limit.
    pub(crate) fn answered(&mut self, key: &Key, kind: Kind, took: Duration) {
        if took < ANSWER_LIMIT && self.limits.get(key).is_some_and(|(_, slow)| *slow == kind) {
            self.limits.remove(key);
        }
    }

    /// The Deployment is gone, or ours no more.
    pub(crate) fn forget(&mut self, key: &Key) {
        self.until.remove(key);
        self.limits.remove(key);
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
        let object = Box::default();
        let create = Request::Create { namespace: namespace.clone(), object, is_dry_run: false };
        let delete = Request::Delete { namespace, name, uid, version };
        [create, delete].map(|request| std::mem::discriminant(&request))
    }

    #[test]
    fn each_waits_for_itself_and_once() {
        let (mut patience, now) = (Patience::default(), Instant::now());
        let until = now + Duration::from_secs(3);
        patience.wait(&key("asked"), until);
        assert_eq!(patience.waits_until(&key("other"), now), None);
        assert_eq!(patience.waits_until(&key("asked"), now), Some(until));
        assert_eq!(patience.waits_until(&key("asked"), until), None);
        assert!(patience.until.is_empty());
    }

    #[test]
    fn an_answer_that_does_not_come_is_waited_for_longer_the_next_time() {
        let (mut patience, start) = (Patience::default(), Instant::now());
        let [create, delete] = kinds();
        let mut now = start;
        for (limit, pause) in [(10, 5), (20, 10), (40, 20), (60, 30), (60, 30)].map(seconds) {
            assert_eq!(patience.waits_until(&key("huge"), now), None);
            assert_eq!(patience.limit(&key("huge")), limit);
            now += limit;
            patience.unanswered(&key("huge"), create, now);
            patience.ended(&key("huge"));
            assert_eq!(patience.waits_until(&key("huge"), now), Some(now + pause));
            now += pause;
        }
        assert_eq!(patience.limit(&key("other")), ANSWER_LIMIT);
        // It took long, so the next one may.
        patience.answered(&key("huge"), create, ANSWER_LIMIT);
        patience.answered(&key("huge"), delete, Duration::from_secs(1));
        assert_eq!(patience.limit(&key("huge")), ANSWER_LIMIT_MAX);
        patience.answered(&key("huge"), create, Duration::from_secs(1));
        assert_eq!(patience.limit(&key("huge")), ANSWER_LIMIT);
    }

    #[test]
    fn slow_ones_leave_workers_to_others() {
        let (mut patience, now) = (Patience::default(), Instant::now());
        let slow: Vec<Key> = (0..=SLOW_MAX).map(|number| key(&number.to_string())).collect();
        slow.iter().for_each(|key| _ = patience.unanswered(key, kinds()[0], now));
        let later = now + ANSWER_LIMIT;
        let waits: Vec<_> = slow.iter().map(|key| patience.waits_until(key, later)).collect();
        let (last, first) = waits.split_last().expect("some");
        assert!(first.iter().all(Option::is_none) && *last == Some(later + SLOW_AGAIN));
        assert_eq!(patience.waits_until(&key("other"), later), None);
        patience.ended(&slow[0]);
        assert_eq!(patience.waits_until(&slow[SLOW_MAX], later), None);
    }

    fn seconds((limit, pause): (u64, u64)) -> (Duration, Duration) {
        (Duration::from_secs(limit), Duration::from_secs(pause))
    }
}
