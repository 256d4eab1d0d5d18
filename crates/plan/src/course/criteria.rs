//! The criteria of a failure policy: when the declared revision fails, and when its fallback does no better
//! (FP-2 to FP-5).

use jiff::{SignedDuration, Timestamp};

use crate::course::memory::Memory;
use crate::model::blocker::Blocker;
use crate::model::conditions::Condition;
use crate::model::evidence::{Evidence, Restarts};
use crate::model::intstr::Round;
use crate::model::keys::{condition, reason};
use crate::model::observed::{Observed, ReplicaSet, Workload};
use crate::model::safeguards::FailurePolicy;
use crate::model::sets::Counted;
use crate::model::status::Marks;

/// Pods with these causes do not recover while nothing about them changes.
const STUCK: [&str; 3] = ["ImagePull", "ContainerConfig", "CrashLoop"];

/// The declared revision before its judge.
#[derive(Clone, Copy)]
pub(crate) struct Case<'a> {
    pub(crate) observed: &'a Observed,
    pub(crate) policy: &'a FailurePolicy,
    pub(crate) set: &'a ReplicaSet,
    pub(crate) counted: Counted,
    pub(crate) memory: &'a Memory,
    /// The ReplicaSet that a revert would run.
    pub(crate) fallback: Option<(&'a ReplicaSet, Counted)>,
    pub(crate) now: Timestamp,
}

impl<'a> Case<'a> {
    /// The criterion that is met, in words, unless the pods of the fallback meet it as well.
    pub(crate) fn failure(&self) -> Option<String> {
        self.late().or_else(|| self.stuck()).or_else(|| self.restarted())
    }

    /// When one is met if nothing changes before, the deadline aside.
    pub(crate) fn due(&self) -> Option<Timestamp> {
        let ends = self.blockers().filter_map(|blocker| self.stuck_until(blocker));
        ends.filter(|end| *end > self.now).min()
    }

    /// Whether this criterion needs a reading of pods (FP-4).
    pub(crate) fn needs_evidence(&self) -> bool {
        self.policy.restarts.is_some() || self.policy.stuck_seconds.is_some() && !self.was_complete()
    }

    /// The memory with what a first look at older pods shows: their restarts of before do not count.
    pub(crate) fn remembered(&self) -> Memory {
        let (known, since) = (self.memory.clone(), self.memory.since);
        let is_older = |pod: &&Restarts| since.is_some_and(|since| pod.created < since);
        let most = || self.evidence()?.restarts.iter().filter(is_older).map(|pod| pod.count).max();
        let restarts_before =
            known.restarts_before.or_else(|| most().filter(|_| self.policy.restarts.is_some()));
        Memory { restarts_before, ..known }
    }

    /// What the pods showed of this ReplicaSet, if those of the fallback were read with them (FP-5).
    pub(crate) fn evidence(&self) -> Option<&'a Evidence> {
        let is_fair = self.fallback.is_none_or(|(fallback, _)| self.evidence_of(fallback).is_some());
        self.evidence_of(self.set).filter(|_| is_fair)
    }

    fn evidence_of(&self, set: &ReplicaSet) -> Option<&'a Evidence> {
        self.observed.answers.evidence.iter().find(|evidence| evidence.uid == set.uid)
    }

    /// FP-5: whether its pods are broken together with those of the fallback. A criterion is met that both meet, or
    /// most pods of the fallback are gone, and no larger share of this one's is there.
    pub(crate) fn has_outage(&self) -> bool {
        let is_short = self.counted.available < self.counted.size;
        let is_broken = is_short && self.is_fallback_broken();
        let is_stuck = || self.overdue().any(|blocker| self.is_fallback_stuck(blocker));
        (is_broken || self.is_late().is_some()) && self.is_share_no_larger() || is_stuck()
    }

    /// Whether most pods of the fallback are gone.
    fn is_fallback_broken(&self) -> bool {
        self.fallback.is_some_and(|(_, fallback)| fallback.available.saturating_mul(2) < fallback.size)
    }

    /// FP-2: the deadline has passed. A retry restarts it. Progress that no status reports yet, because the operator
    /// was down, counts (FP-3).
    fn late(&self) -> Option<String> {
        let deadline = self.is_late().filter(|_| !self.is_share_no_larger())?;
        Some(format!("it made no progress for {deadline} s"))
    }

    /// Whether it has pods, and not all of them. A ReplicaSet that gets its first pods by this reconcile is not late,
    /// and one with all its pods is not late any more.
    fn is_unfinished(&self) -> bool {
        let Counted { size, available, .. } = self.counted;
        let is_whole = size == self.observed.workload.replicas && available >= size;
        size > 0 && !is_whole
    }

    /// The deadline, if it has passed.
    fn is_late(&self) -> Option<i64> {
        let workload = &self.observed.workload;
        let deadline = workload.progress_deadline_seconds.filter(|_| self.policy.deadline)?;
        let progressing = workload.status.condition(condition::PROGRESSING)?;
        // The deadline restarts when the Deployment is resumed, which this reconcile reports.
        let is_running = progressing.reason != reason::DEPLOYMENT_PAUSED && self.is_unfinished();
        let is_late = is_running
            && !is_before(progressing, self.memory.retried)
            && progressing.is_timed_out(deadline, self.now)
            && !self.has_progressed();
        is_late.then_some(deadline)
    }

    /// Where no status has marks yet, nobody knows, and the next one has.
    fn has_progressed(&self) -> bool {
        let Workload { replicas, status, .. } = &self.observed.workload;
        let marks = status.ours.marks.as_ref();
        let raised = |known| Marks::raised(Some(known), self.set, self.memory.revision, *replicas);
        marks.is_none_or(|known| raised(known).improve(Some(known)))
    }

    /// FP-5: the fallback has pods, and no larger share of them is available.
    fn is_share_no_larger(&self) -> bool {
        let declared = self.counted;
        // Shares without division: a/b ≤ c/d.
        self.fallback.is_some_and(|(_, fallback)| {
            fallback.is_active()
                && fallback.available.saturating_mul(declared.size)
                    <= declared.available.saturating_mul(fallback.size)
        })
    }

    /// FP-2: pods have been stuck for long enough. The status reports since when, and the last reading of this process
    /// how many they are.
    fn stuck(&self) -> Option<String> {
        self.overdue().find(|blocker| !self.is_fallback_stuck(blocker)).map(Blocker::sentence)
    }

    fn overdue(&self) -> impl Iterator<Item = &'a Blocker> {
        let read = self.evidence().map(|evidence| evidence.read);
        let is_over = move |blocker: &&Blocker| {
            self.stuck_until(blocker).is_some_and(|end| read.is_some_and(|read| end <= read))
        };
        self.blockers().filter(is_over)
    }

    /// What counts as stuck. A revision that was complete does not fail by that any more.
    fn blockers(&self) -> impl Iterator<Item = &'a Blocker> {
        let is_judged = self.policy.stuck_seconds.is_some() && !self.was_complete();
        let evidence = self.evidence().filter(|_| is_judged);
        let least = self.least(self.set);
        let counts = move |blocker: &&Blocker| {
            let pods = evidence.map_or(0, |evidence| evidence.stuck_by(&blocker.cause));
            STUCK.contains(&blocker.cause.as_str()) && pods >= least
        };
        self.observed.workload.status.ours.blockers.iter().filter(counts)
    }

    /// FP-9: a retry gives them the same time once more.
    fn stuck_until(&self, blocker: &Blocker) -> Option<Timestamp> {
        let seconds = SignedDuration::from_secs(self.policy.stuck_seconds?);
        blocker.since?.max(self.memory.retried.unwrap_or(Timestamp::MIN)).checked_add(seconds).ok()
    }

    fn is_fallback_stuck(&self, blocker: &Blocker) -> bool {
        self.does_fallback_show(|evidence| evidence.stuck_by(&blocker.cause))
    }

    /// FP-2: containers have restarted too often since the revision was declared or retried.
    fn restarted(&self) -> Option<String> {
        let (limit, since) = (self.policy.restarts?, self.memory.since?);
        let evidence = self.evidence()?;
        let before = self.memory.restarts_before;
        // Pods that are older have restarted before; how often was remembered.
        let count = |pod: &&Restarts| match before {
            _ if pod.created >= since => pod.count,
            Some(before) => pod.count.saturating_sub(before),
            None => 0,
        };
        let pods = number(evidence.restarts.iter().filter(|pod| count(pod) >= limit));
        let is_over = pods >= self.least(self.set) && !self.has_fallback_restarted(limit, since);
        let of = self.set.status.replicas;
        is_over.then(|| format!("{pods} of {of} pods have a container that restarted {limit} times or more"))
    }

    /// As often, and again since then.
    fn has_fallback_restarted(&self, limit: i64, since: Timestamp) -> bool {
        let is_over = |pod: &&Restarts| pod.count >= limit && pod.last.is_some_and(|last| last >= since);
        self.does_fallback_show(|evidence| number(evidence.restarts.iter().filter(is_over)))
    }

    /// FP-5: whether enough pods of the fallback show the same.
    fn does_fallback_show(&self, pods: impl Fn(&Evidence) -> i64) -> bool {
        let Some((set, _)) = self.fallback else { return false };
        self.evidence_of(set).is_some_and(|evidence| pods(evidence) >= self.least(set))
    }

    /// How many pods of a ReplicaSet must show it.
    fn least(&self, set: &ReplicaSet) -> i64 {
        self.policy.min_pods.of(set.status.replicas, Round::Up).unwrap_or(1).max(1)
    }

    /// Whether all pods were available at some time, also of fewer replicas.
    fn was_complete(&self) -> bool {
        let (ours, revision) = (&self.observed.workload.status.ours, self.memory.revision);
        ours.marks.as_ref().is_some_and(|marks| marks.revision == revision && marks.complete)
            || ours.bake.as_ref().is_some_and(|bake| bake.revision == revision)
    }

    /// Whether as many pods of it are available as S6.4 asks for.
    pub(crate) fn has_enough(&self) -> bool {
        let Workload { replicas, strategy, .. } = &self.observed.workload;
        *replicas > 0 && self.counted.available >= strategy.floor(*replicas)
    }

    /// How many pods of it are available at least while it bakes. What a change of R adds counts once it was there
    /// (FP-1).
    pub(crate) fn floor(&self) -> i64 {
        let Workload { replicas, strategy, status, .. } = &self.observed.workload;
        let marks = status.ours.marks.as_ref().filter(|marks| marks.revision == self.memory.revision);
        strategy.floor(marks.map_or(*replicas, |marks| marks.available.min(*replicas)))
    }
}

/// FP-9: whether a condition is from before a retry. No deadline passes in the second in which it begins.
pub(crate) fn is_before(known: &Condition, retried: Option<Timestamp>) -> bool {
    let is_over = known.reason == reason::PROGRESS_DEADLINE_EXCEEDED;
    let is_older = |time, retried| time < retried || is_over && time == retried;
    retried.is_some_and(|retried| known.last_update_time.is_none_or(|time| is_older(time, retried)))
}

fn number<T>(of: impl Iterator<Item = T>) -> i64 {
    i64::try_from(of.count()).unwrap_or(i64::MAX)
}
