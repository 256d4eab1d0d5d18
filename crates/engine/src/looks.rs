//! Finds out what blocks a rollout that does not move: when its pods are listed, and what that showed.
//!
//! There is no watch on pods. Once a rollout has not moved for a while, or while a failure policy judges it by them, its
//! pods are listed, a page a request;
//! and the events of one of them, if their status does not say why they are not ready. All Deployments together
//! share a few requests a second; `line.rs` says whose turn it is. A request follows a reconcile and never precedes it,
//! so it delays the next reconcile of its own Deployment at most, and decisions do not wait for it.

mod findings;
mod line;
mod pods;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::durations::{EVENTS_AGAIN, LOOK_AGAIN, LOOK_INTERVAL, UNKNOWN_AFTER};
use diagnosis::Words;
use jiff::Timestamp;
use plan::{Awaited, Blocker, Evidence, Findings};
use serde_json::Value;

use crate::index::Key;
use crate::reconcile::Refusal;
use line::Line;
use pods::{Pods, Read};

/// How blocked rollouts are looked at.
#[derive(Clone, Copy, Debug)]
pub struct Looking {
    /// For how long a rollout has not moved before.
    pub after: Duration,
    /// How much of a container's own output a message may repeat.
    pub words: Words,
    /// How many engines share the requests.
    pub engines: u32,
}

/// One request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Question {
    /// A page of pods.
    Pods {
        /// Which of them.
        selector: String,
        /// Where the page before ended.
        from: Option<String>,
    },
    /// Warnings about a pod.
    Events {
        /// `metadata.uid` of the pod.
        uid: String,
    },
}

/// Objects, and where the next page begins.
pub(crate) type Page = (Vec<Value>, Option<String>);

/// What follows for a rollout.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Course {
    /// Whether other causes are known than before: they are to be reported.
    pub(crate) is_news: bool,
    /// Whether there is evidence for or against a revision that is judged.
    pub(crate) is_evidence: bool,
    /// The request to make now.
    pub(crate) question: Option<Question>,
    /// When to come again otherwise.
    pub(crate) again: Option<Instant>,
    /// Whether that is its turn.
    is_in_line: bool,
}

/// The rollouts that wait for pods, or are judged by them.
#[derive(Default)]
pub(crate) struct Looks {
    entries: HashMap<Key, Entry>,
    line: Line,
}

struct Entry {
    uid: String,
    awaited: Awaited,
    /// The most that was seen of it: ready pods that come and go are no progress.
    best: [i64; 4],
    still_since: Instant,
    /// What blocks, once somebody has looked, or the rollout has moved.
    found: Option<Vec<Blocker>>,
    pods: Pods,
    /// What the last look showed of a revision that is judged.
    evidence: Arc<[Evidence]>,
    /// When the last look began.
    looked: Option<Instant>,
}

impl Looks {
    /// A reconcile is over, and the rollout waits for this, or is judged by it.
    pub(crate) fn stands(
        &mut self,
        looking: Looking,
        key: &Key,
        uid: &str,
        awaited: Option<&Awaited>,
        now: Instant,
    ) -> Course {
        let course = match awaited {
            Some(awaited) => self.waits(looking, key, uid, awaited, now),
            None => self.moves(key, now),
        };
        if course.question.is_some() || !course.is_in_line {
            self.line.leave(key);
        }
        course
    }

    fn waits(&mut self, looking: Looking, key: &Key, uid: &str, awaited: &Awaited, now: Instant) -> Course {
        let entry = self.entries.entry(key.clone()).or_insert_with(|| Entry::new(uid, awaited, now));
        if entry.uid != uid {
            *entry = Entry::new(uid, awaited, now);
        }
        let mut is_news = entry.compare(awaited, now);
        let late = entry.still_since + looking.after;
        let is_late = entry.is_late(looking, now);
        if !is_late && !entry.awaited.is_judged {
            return Course { is_news, again: Some(late), ..Course::default() };
        }
        if !findings::has_pods(&entry.awaited) && !entry.awaited.is_judged {
            entry.pods = Pods::default();
            is_news |= entry.conclude(looking, now);
            return Course { is_news, ..Course::default() };
        }
        let is_known = entry.awaited.refusal.is_some() || entry.has_looked_since();
        if is_late && entry.found.is_none() && is_known {
            // That much is known without a look.
            is_news |= entry.conclude(looking, now);
        }
        let due = entry.looked.filter(|_| entry.pods.is_idle()).map(|looked| looked + LOOK_AGAIN);
        if let Some(due) = due.filter(|due| *due > now) {
            let late = Some(late).filter(|late| entry.awaited.is_still && *late > now);
            return Course {
                is_news,
                again: Some(late.map_or(due, |late| late.min(due))),
                ..Course::default()
            };
        }
        let interval = LOOK_INTERVAL * looking.engines.max(1);
        let time = self.line.ask(key, entry.awaited.is_judged, interval, now);
        if time > now {
            return Course { is_news, again: Some(time), is_in_line: true, ..Course::default() };
        }
        Course { is_news, question: Some(entry.ask(now)), ..Course::default() }
    }

    /// The rollout waits for no pods.
    fn moves(&mut self, key: &Key, now: Instant) -> Course {
        let Some(entry) = self.entries.get_mut(key) else { return Course::default() };
        let is_recent = |time: Option<Instant>| time.is_some_and(|time| time + EVENTS_AGAIN > now);
        if is_recent(entry.looked) {
            // It counts for the next look, should the rollout stop again.
            (entry.found, entry.evidence) = (None, Arc::default());
            entry.awaited = Awaited::default();
            entry.pods.start_over();
        } else {
            self.entries.remove(key);
        }
        Course::default()
    }

    /// The answer to a question. Says what follows.
    pub(crate) fn answered(
        &mut self,
        looking: Looking,
        key: &Key,
        answer: Result<Page, Refusal>,
        (now, time): (Instant, Timestamp),
    ) -> Course {
        let Some(entry) = self.entries.get_mut(key) else { return Course::default() };
        let is_late = entry.is_late(looking, now);
        let read = entry.pods.take(answer, (&entry.awaited, is_late), now, time);
        if read == Read::More {
            return Course { again: Some(now), ..Course::default() };
        }
        let (is_whole, is_judged) = (read == Read::Whole, entry.awaited.is_judged);
        let is_news = is_whole && is_late && entry.conclude(looking, now);
        if is_whole && is_judged {
            let took = entry.looked.map_or(Duration::ZERO, |looked| now.saturating_duration_since(looked));
            let began = time.checked_sub(took).unwrap_or(time);
            entry.evidence = entry.pods.evidence(&entry.awaited, began).into();
        }
        let is_evidence = is_whole && is_judged && !entry.evidence.is_empty();
        let again = Some(entry.looked.unwrap_or(now) + LOOK_AGAIN);
        Course { is_news, is_evidence, again, ..Course::default() }
    }

    /// What the pods of a revision that is judged showed last, and those of its fallback.
    pub(crate) fn evidence(&self, key: &Key, uid: &str) -> Arc<[Evidence]> {
        let entry = self.entries.get(key).filter(|entry| entry.uid == uid && entry.awaited.is_judged);
        entry.map_or_else(Arc::default, |entry| Arc::clone(&entry.evidence))
    }

    /// What is known to block this rollout.
    pub(crate) fn findings(&self, key: &Key, uid: &str) -> Option<Findings> {
        let entry = self.entries.get(key).filter(|entry| entry.uid == uid)?;
        let blockers = entry.found.clone()?;
        Some(Findings { set: entry.awaited.set.clone(), blockers })
    }

    /// All rollouts that are known to be blocked.
    pub(crate) fn blocked(&self) -> impl Iterator<Item = (&Key, &[Blocker])> {
        let found = |entry: &'_ Entry| entry.found.as_ref().is_some_and(|found| !found.is_empty());
        let blocked = self.entries.iter().filter(move |(_, entry)| found(entry));
        blocked.map(|(key, entry)| (key, entry.found.as_deref().unwrap_or_default()))
    }

    /// Others may have acted since: all that was seen is out of date.
    pub(crate) fn start_over(&mut self) {
        self.entries.clear();
        self.line = Line::default();
    }

    /// The Deployment is gone, or ours no more.
    pub(crate) fn forget(&mut self, key: &Key) {
        self.entries.remove(key);
        self.line.leave(key);
    }
}

impl Entry {
    fn new(uid: &str, awaited: &Awaited, now: Instant) -> Self {
        Self {
            uid: uid.to_owned(),
            awaited: awaited.clone(),
            best: progress(awaited),
            still_since: now,
            found: None,
            pods: Pods::default(),
            evidence: Arc::default(),
            looked: None,
        }
    }

    /// Whether the rollout has not moved for a while.
    fn is_late(&self, looking: Looking, now: Instant) -> bool {
        self.awaited.is_still && self.still_since + looking.after <= now
    }

    /// Whether all pods were read since the rollout moved last.
    fn has_looked_since(&self) -> bool {
        self.pods.is_whole && self.looked.is_some_and(|looked| looked >= self.still_since)
    }

    /// Whether the rollout has moved since. Says whether what blocked it does so no more.
    fn compare(&mut self, awaited: &Awaited, now: Instant) -> bool {
        let is_another = self.awaited.uid != awaited.uid;
        let is_other = is_another || self.awaited.size != awaited.size;
        let progress = progress(awaited);
        let is_better = self.best.iter().zip(progress).any(|(best, now)| now > *best);
        if self.awaited.selector != awaited.selector || self.awaited.fallback != awaited.fallback {
            // The pages of one look are those of one list, about the same ReplicaSets.
            self.pods.start_over();
        }
        if is_another {
            self.evidence = Arc::default();
        }
        self.awaited.clone_from(awaited);
        if !awaited.is_still {
            (self.still_since, self.found) = (now, None);
        }
        if !is_other && !is_better {
            return false;
        }
        let known = std::mem::replace(&mut self.best, progress);
        if !is_other {
            self.best.iter_mut().zip(known).for_each(|(best, known)| *best = known.max(*best));
        }
        self.still_since = now;
        if is_another || !awaited.is_judged {
            // The pages of a revision that is judged go on: it may move all the time.
            self.pods.start_over();
        }
        // Of another ReplicaSet nothing is known; this one is blocked no more.
        let before = if is_other { self.found.take() } else { self.found.replace(Vec::new()) };
        !is_other && before.is_some_and(|before| !before.is_empty())
    }

    fn ask(&mut self, now: Instant) -> Question {
        if self.pods.is_idle() {
            self.looked = Some(now);
        }
        self.pods.ask(&self.awaited.selector, now)
    }

    /// Makes blockers of what was read. Says whether the causes are others than before.
    fn conclude(&mut self, looking: Looking, now: Instant) -> bool {
        let still = now.saturating_duration_since(self.still_since);
        let is_really_late = still >= looking.after.max(UNKNOWN_AFTER);
        let Some(found) = findings::of(&self.awaited, &self.pods, looking.words, is_really_late) else {
            return false;
        };
        let keys = |blockers: &[Blocker]| {
            let mut keys: Vec<_> = blockers.iter().map(|blocker| format!("{:?}", blocker.key())).collect();
            keys.sort_unstable();
            keys
        };
        let is_news = keys(self.found.as_deref().unwrap_or_default()) != keys(&found);
        self.found = Some(found);
        is_news
    }
}

/// What grows while a rollout moves.
fn progress(awaited: &Awaited) -> [i64; 4] {
    [awaited.available, awaited.ready, awaited.replicas, -awaited.others]
}

#[cfg(test)]
mod tests;
