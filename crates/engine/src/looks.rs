//! Finds out what blocks a rollout that does not move: when its pods are listed, and what that showed.
//!
//! There is no watch on pods. Once a rollout has not moved for a while, or while a failure policy judges it by its
//! pods, the operator lists them, a page a request. It also lists the events of one of them, if their status does not
//! show why they are not ready. All Deployments together share a few requests a second; `line.rs` decides which comes
//! next. A request follows a reconcile and never precedes it, so it delays the next reconcile of its own Deployment at
//! most, and decisions do not wait for it.

mod findings;
mod line;
mod pods;

use std::sync::Arc;
use std::time::{Duration, Instant};

use diagnosis::Words;
use jiff::Timestamp;
use plan::{Awaited, Blocker, Evidence, Findings};
use serde_json::Value;

use crate::durations::{EVENTS_AGAIN, LOOK_AGAIN, LOOK_BEFORE_DEADLINE, LOOK_INTERVAL, UNKNOWN_AFTER};
use crate::index::Key;
use crate::reconcile::Refusal;
pub(crate) use line::Line;
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
    /// Whether other causes are known than before, which the status has to report.
    pub(crate) is_news: bool,
    /// Whether there is evidence for or against a revision that is judged.
    pub(crate) is_evidence: bool,
    /// The request to make now.
    pub(crate) question: Option<Question>,
    /// When to come again otherwise.
    pub(crate) again: Option<Instant>,
    /// Whether the Deployment is next in line.
    is_in_line: bool,
}

/// A rollout that waits for pods, or is judged by them.
pub(crate) struct Look {
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

/// A Deployment, and the line that it may wait in.
pub(crate) struct Looks<'a> {
    pub(crate) looking: Looking,
    pub(crate) key: &'a Key,
    pub(crate) look: &'a mut Option<Box<Look>>,
    pub(crate) line: &'a mut Line,
}

impl Looks<'_> {
    /// A reconcile is over, and the rollout waits for this, or is judged by it.
    pub(crate) fn stands(&mut self, awaited: Option<&Awaited>, now: Instant) -> Course {
        let course = match awaited {
            Some(awaited) => {
                let look = self.look.get_or_insert_with(|| Box::new(Look::new(awaited, now)));
                look.waits(self.looking, self.key, self.line, awaited, now)
            }
            None => {
                self.look.take_if(|look| !look.is_kept(now));
                Course::default()
            }
        };
        if course.question.is_some() || !course.is_in_line {
            self.line.leave(self.key);
        }
        course
    }

    /// The answer to a question. Returns what follows.
    pub(crate) fn answered(&mut self, answer: Result<Page, Refusal>, times: (Instant, Timestamp)) -> Course {
        let look = self.look.as_mut();
        look.map(|look| look.answered(self.looking, answer, times)).unwrap_or_default()
    }
}

impl Look {
    fn new(awaited: &Awaited, now: Instant) -> Self {
        Self {
            awaited: awaited.clone(),
            best: progress(awaited),
            still_since: now,
            found: None,
            pods: Pods::default(),
            evidence: Arc::default(),
            looked: None,
        }
    }

    fn waits(
        &mut self,
        looking: Looking,
        key: &Key,
        line: &mut Line,
        awaited: &Awaited,
        now: Instant,
    ) -> Course {
        let mut is_news = self.compare(awaited, now);
        let late = self.still_since + self.after(looking);
        let is_late = self.is_late(looking, now);
        if !is_late && !self.awaited.is_judged {
            return Course { is_news, again: Some(late), ..Course::default() };
        }
        if !findings::has_pods(&self.awaited) && !self.awaited.is_judged {
            self.pods = Pods::default();
            is_news |= self.conclude(looking, now);
            return Course { is_news, ..Course::default() };
        }
        let is_known = self.awaited.refusal.is_some() || self.has_looked_since();
        if is_late && self.found.is_none() && is_known {
            // What is known is enough for a conclusion: this needs no further look.
            is_news |= self.conclude(looking, now);
        }
        let due = self.looked.filter(|_| self.pods.is_idle()).map(|looked| looked + LOOK_AGAIN);
        if let Some(due) = due.filter(|due| *due > now) {
            let late = Some(late).filter(|late| self.awaited.is_still && *late > now);
            return Course {
                is_news,
                again: Some(late.map_or(due, |late| late.min(due))),
                ..Course::default()
            };
        }
        let interval = LOOK_INTERVAL * looking.engines.max(1);
        let time = line.ask(key, self.awaited.is_judged, interval, now);
        if time > now {
            return Course { is_news, again: Some(time), is_in_line: true, ..Course::default() };
        }
        Course { is_news, question: Some(self.ask(now)), ..Course::default() }
    }

    /// The rollout waits for no pods. Returns whether somebody looked a moment ago: that counts for the next look,
    /// should the rollout stop again.
    fn is_kept(&mut self, now: Instant) -> bool {
        (self.found, self.evidence) = (None, Arc::default());
        self.awaited = Awaited::default();
        self.pods.start_over();
        self.looked.is_some_and(|looked| looked + EVENTS_AGAIN > now)
    }

    fn answered(
        &mut self,
        looking: Looking,
        answer: Result<Page, Refusal>,
        (now, time): (Instant, Timestamp),
    ) -> Course {
        let is_late = self.is_late(looking, now);
        let read = self.pods.take(answer, (&self.awaited, is_late), now, time);
        if read == Read::More {
            return Course { again: Some(now), ..Course::default() };
        }
        let (is_whole, is_judged) = (read == Read::Whole, self.awaited.is_judged);
        let is_news = is_whole && is_late && self.conclude(looking, now);
        if is_whole && is_judged {
            let took = self.looked.map_or(Duration::ZERO, |looked| now.saturating_duration_since(looked));
            let began = time.checked_sub(took).unwrap_or(time);
            self.evidence = self.pods.evidence(&self.awaited, began).into();
        }
        let is_evidence = is_whole && is_judged && !self.evidence.is_empty();
        let again = Some(self.looked.unwrap_or(now) + LOOK_AGAIN);
        Course { is_news, is_evidence, again, ..Course::default() }
    }

    /// What the pods of a revision that is judged showed last, and those of its fallback.
    pub(crate) fn evidence(&self) -> Arc<[Evidence]> {
        if self.awaited.is_judged { Arc::clone(&self.evidence) } else { Arc::default() }
    }

    /// What is known to block this rollout.
    pub(crate) fn findings(&self) -> Option<Findings> {
        Some(Findings { set: self.awaited.set.clone(), blockers: self.found.clone()? })
    }

    /// The causes that are known to block it, if any are.
    pub(crate) fn blocked(&self) -> Option<&[Blocker]> {
        self.found.as_deref().filter(|found| !found.is_empty())
    }

    /// Whether the rollout has not moved for a while.
    fn is_late(&self, looking: Looking, now: Instant) -> bool {
        self.awaited.is_still && self.still_since + self.after(looking) <= now
    }

    /// For how long the rollout has not moved before its pods are listed: in time for what its deadline decides.
    fn after(&self, looking: Looking) -> Duration {
        let deadline = self.awaited.deadline.and_then(|seconds| u64::try_from(seconds).ok());
        let before =
            deadline.map(|seconds| Duration::from_secs(seconds).saturating_sub(LOOK_BEFORE_DEADLINE));
        before.map_or(looking.after, |before| before.min(looking.after))
    }

    /// Whether all pods were read since the rollout moved last.
    fn has_looked_since(&self) -> bool {
        self.pods.is_whole && self.looked.is_some_and(|looked| looked >= self.still_since)
    }

    /// Compares whether the rollout has moved since. Returns whether what blocked it does so no more.
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
            // The pages of a judged revision continue: it may move all the time.
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

    /// Makes blockers of what was read. Returns whether the causes changed.
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
