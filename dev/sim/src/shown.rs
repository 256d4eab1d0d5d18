//! What the declared revision has shown under a failure policy, by its ReplicaSet as it was stored (FP-1, FP-3, FP-5):
//! what no cache shows in time, computed without the planner.

use jiff::{SignedDuration, Timestamp};
use plan::keys::{condition, reason};
use plan::{FailureAction, FailurePolicy, Pin, ReplicaSet, Workload};

use crate::checks::evidence::least;
use crate::checks::steps::stops_clock;
use crate::signs::Window;
use crate::verdict::{fallback, inferred, is_highest, is_shared, pin, revision, says};
use crate::view::minimum_of;

/// What the declared revision has shown.
#[derive(Clone, Debug)]
pub(crate) struct Shown {
    pub(crate) uid: String,
    pub(crate) revision: i64,
    replicas: i64,
    terms: Terms,
    /// The most pods, ready pods, and available pods that it had, at most R each, and that the status reports.
    highest: [i64; 3],
    reported: [i64; 3],
    /// When one of these rose last to what the status reports.
    pub(crate) improved: Option<Timestamp>,
    /// When one rose that the status does not report yet.
    unreported: Option<Timestamp>,
    /// Whether the status reports the present size: what rises with that is no progress.
    is_settled: bool,
    /// Whether it could not fail then: it had failed, or the pods of the fallback did no better.
    was_excused: bool,
    /// Whether it waited at a step then: the deadline restarts after that (SP-8).
    was_resting: bool,
    /// When something happened last that may have put the deadline off.
    pub(crate) stirred: Timestamp,
    /// Since when its pods are broken together with those of the fallback, and from when to when they were last (FP-5).
    broken: Option<Timestamp>,
    pub(crate) outage: Option<Window>,
    /// Since when it is judged, by the same policy and the same number of pods that are enough (FP-4).
    pub(crate) judged: Option<Timestamp>,
    enough: Option<i64>,
    /// Since when the policy that there is counts restarts.
    pub(crate) counted: Timestamp,
    /// When sizes or numbers of pods changed last: until then, nothing blocks a rollout.
    pub(crate) moved: Timestamp,
    form: [i64; 4],
    /// The highest numbers of its pods since its size changed.
    best: [i64; 3],
    /// Whether it was complete at some time, with pods or without: then it does not fail by itself (FP-4).
    pub(crate) is_done: bool,
    /// Whether a status reported that, and nothing has restarted the deadline since.
    pub(crate) is_reported_done: bool,
    /// When it was complete with pods for the first time since it had fewer than the minimum.
    pub(crate) whole: Option<Timestamp>,
    /// Whether the status reported since then that enough pods were available.
    is_told: bool,
}

/// What restarts the deadline of a revision when it changes; another size does not (FP-3).
#[derive(Clone, Debug, PartialEq, Eq)]
struct Terms {
    policy: Option<FailurePolicy>,
    deadline_seconds: Option<i64>,
    pin: Option<Pin>,
    /// Whether another revision ran.
    is_replaced: bool,
    is_paused: bool,
    has_pods: bool,
}

impl Terms {
    fn of(workload: &Workload) -> Self {
        Self {
            policy: workload.failure_policy.clone(),
            deadline_seconds: workload.progress_deadline_seconds,
            pin: workload.pin.clone(),
            is_replaced: workload.status.ours.target.is_some(),
            is_paused: workload.paused,
            has_pods: workload.replicas > 0,
        }
    }
}

/// Its pods, ready pods, and available pods.
pub(crate) fn counts(set: &ReplicaSet) -> [i64; 3] {
    [set.status.replicas, set.status.ready, set.status.available]
}

impl Shown {
    /// What is known after a change of the Deployment or of one of its ReplicaSets.
    pub(crate) fn next(
        known: Option<Self>,
        workload: &Workload,
        (sets, declared): (&[&ReplicaSet], &ReplicaSet),
        now: Timestamp,
    ) -> Option<Self> {
        let revision = revision(declared)?;
        // An operator that has not seen the other template continues with the deadline of its status.
        let is_reported = workload.status.ours.revision == Some(revision);
        let has_memory = known.is_some() || workload.status.ours.marks.is_some();
        let is_new = counts(declared) == [0; 3] && has_memory && !is_reported;
        let known = known.filter(|known| known.uid == declared.uid && known.revision == revision);
        let since = if known.is_some() || is_new { now } else { Timestamp::MIN };
        // An operator that has not seen the other template continues with the bake of its status.
        let bake = workload.status.ours.bake.as_ref().filter(|bake| bake.revision == revision);
        let mut shown = known.unwrap_or_else(|| Self {
            uid: declared.uid.clone(),
            revision,
            replicas: workload.replicas,
            terms: Terms::of(workload),
            highest: [0; 3],
            reported: [0; 3],
            // A new revision is progress; but nothing is known of one that was there before the policy, or that was not
            // declared for a moment.
            improved: is_new.then_some(now),
            unreported: None,
            is_settled: false,
            stirred: now,
            broken: None,
            outage: None,
            judged: None,
            enough: None,
            counted: if is_new { Timestamp::MIN } else { now },
            moved: now,
            form: [0; 4],
            best: [0; 3],
            was_excused: true,
            was_resting: false,
            is_done: false,
            is_reported_done: false,
            whole: bake.map(|bake| bake.since),
            is_told: false,
        });
        shown.take_in(workload, declared, now);
        shown.note_moves(sets, declared, now);
        let is_judged = is_judged(workload, sets, declared);
        shown.judged = shown.judged.filter(|_| is_judged).or(is_judged.then_some(now));
        shown.note_break(workload, declared);
        shown.note_outage(is_judged && has_outage(workload, sets, declared), now);
        let total: i64 = sets.iter().map(|set| set.size).sum();
        let (size, available) = (declared.size, declared.status.available);
        if [size, available, total].iter().all(|count| *count == workload.replicas) {
            shown.is_done = true;
            shown.whole = shown.whole.or(Some(since).filter(|_| workload.replicas > 0));
        }
        let status = &workload.status;
        let progressing = status.condition(condition::PROGRESSING).map(|known| known.reason.as_str());
        if status.ours.revision == Some(revision) && progressing == Some(reason::NEW_REPLICA_SET_AVAILABLE) {
            (shown.is_done, shown.is_reported_done) = (true, true);
        }
        // A retry restarts the deadline.
        shown.is_reported_done &= !says(declared, "Failed");
        let is_excused = !may_be_late(workload, declared)
            || is_held_back(workload, sets, declared)
            || says(declared, "Failed");
        if std::mem::replace(&mut shown.was_excused, is_excused) || is_excused {
            shown.stirred = now;
        }
        let is_resting = stops_clock(status);
        if std::mem::replace(&mut shown.was_resting, is_resting) && !is_resting {
            // As the status has it: it may have been on its way for long.
            let since = status.condition(condition::PROGRESSING).and_then(|known| known.last_update_time);
            shown.improved = shown.improved.max(since);
            shown.stirred = now;
        }
        Some(shown)
    }

    fn take_in(&mut self, workload: &Workload, declared: &ReplicaSet, now: Timestamp) {
        let terms = Terms::of(workload);
        if self.terms != terms {
            if self.terms.policy != terms.policy {
                self.counted = now;
            }
            if self.terms.is_replaced && !terms.is_replaced {
                // Its earlier pods made way for those of another revision: now each pod is progress.
                (self.highest, self.unreported, self.is_settled) = ([0; 3], None, false);
            }
            (self.terms, self.stirred, self.is_reported_done) = (terms, now, false);
            self.judged = None;
        }
        let enough = self.terms.policy.as_ref().map(|policy| least(policy, declared));
        if std::mem::replace(&mut self.enough, enough) != enough {
            self.judged = None;
        }
        let replicas = workload.replicas;
        if self.replicas != replicas {
            self.replicas = replicas;
            self.highest = self.highest.map(|count| count.min(replicas));
            self.reported = self.reported.map(|count| count.min(replicas));
            self.is_settled = false;
        }
        let counts = counts(declared).map(|count| count.min(replicas));
        if counts.iter().zip(self.highest).any(|(now, highest)| *now > highest) {
            (self.stirred, self.unreported) = (now, Some(now));
        }
        for (highest, now) in self.highest.iter_mut().zip(counts) {
            *highest = now.max(*highest);
        }
        let marks = workload.status.ours.marks.as_ref();
        let marks = marks.filter(|marks| marks.revision == self.revision && marks.replicas == replicas);
        let reported = marks.map(|it| [it.updated, it.ready, it.available]).unwrap_or_default();
        // What was there for a moment, and no status reports, is progress for an operator when it is there again.
        for (known, reported) in self.reported.iter_mut().zip(reported) {
            if reported > *known {
                (*known, self.stirred) = (reported, now);
            }
        }
        let is_reported = marks.is_some() && reported == self.highest;
        if is_reported && self.is_settled {
            self.improved = self.unreported.take().or(self.improved);
        }
        if is_reported {
            (self.is_settled, self.unreported) = (true, None);
        }
    }

    fn note_moves(&mut self, sets: &[&ReplicaSet], declared: &ReplicaSet, now: Timestamp) {
        let others: i64 = sets.iter().map(|set| set.size + set.status.replicas).sum();
        let [_, size, ..] = self.form;
        if size != declared.size {
            self.best = [0; 3];
        }
        for (best, now) in self.best.iter_mut().zip(counts(declared)) {
            *best = now.max(*best);
        }
        let form = [others, declared.size, declared.status.replicas, self.best.iter().sum()];
        if std::mem::replace(&mut self.form, form) != form {
            self.moved = now;
        }
    }

    fn note_outage(&mut self, is_broken: bool, now: Timestamp) {
        if is_broken {
            self.broken = self.broken.or(Some(now));
        } else if let Some(since) = self.broken.take() {
            self.outage = Some((since, now));
        }
    }

    /// FP-1: it had fewer than the minimum, and the status reports that. A break that is over before an operator sees
    /// it counts for nothing, and what a change of R adds counts once it was available.
    fn note_break(&mut self, workload: &Workload, declared: &ReplicaSet) {
        let status = &workload.status;
        let marks = status.ours.marks.as_ref().filter(|marks| marks.revision == self.revision);
        let [_, _, most] = self.highest;
        // What was there for a moment, and no status reports, is not known to have been there.
        let minimum = minimum_of(workload, marks.map_or(most, |marks| marks.available.min(most)));
        if status.observed_generation != workload.generation {
            return;
        }
        if status.available_replicas >= minimum {
            self.is_told = self.whole.is_some();
        } else if self.is_told && declared.status.available < minimum {
            (self.whole, self.is_told) = (None, false);
        }
    }
}

/// What the declared revision is compared with before it fails: the ReplicaSet that a revert would run, if it has pods
/// (FP-5).
pub(crate) fn compared<'a>(
    workload: &Workload,
    sets: &[&'a ReplicaSet],
    declared: &ReplicaSet,
) -> Option<&'a ReplicaSet> {
    let good = fallback(workload, sets.iter().copied(), Some(declared));
    good.or_else(|| inferred(sets.iter().copied(), declared)).filter(|good| good.size > 0)
}

/// Whether the declared revision may fail by itself now (FP-4).
pub(crate) fn is_judged(workload: &Workload, sets: &[&ReplicaSet], declared: &ReplicaSet) -> bool {
    let ours = &workload.status.ours;
    workload.failure_policy.as_ref().is_some_and(|policy| policy.action != FailureAction::Continue)
        && !workload.paused
        && !workload.deleting
        && workload.replicas > 0
        && pin(workload).is_none()
        && ours.target.is_none()
        && ours.revision == revision(declared)
        && !says(declared, "Good")
        && !says(declared, "Failed")
        && is_highest(sets.iter().copied(), declared)
}

/// Whether pods of the declared revision are awaited: one that has no room yet has nothing to show, and one with all
/// its pods is not late (FP-2).
pub(crate) fn may_be_late(workload: &Workload, declared: &ReplicaSet) -> bool {
    let (size, available) = (declared.size, declared.status.available);
    size > 0 && !(size == workload.replicas && available >= size)
}

/// Whether the declared revision does not fail now, since the pods of the fallback do no better.
pub(crate) fn is_held_back(workload: &Workload, sets: &[&ReplicaSet], declared: &ReplicaSet) -> bool {
    let good = compared(workload, sets, declared);
    good.is_some_and(|good| is_shared(good, declared)) && is_highest(sets.iter().copied(), declared)
}

/// Whether most pods of the fallback are gone, and no larger share of the declared ones is there.
fn has_outage(workload: &Workload, sets: &[&ReplicaSet], declared: &ReplicaSet) -> bool {
    let is_broken = |good: &ReplicaSet| good.status.available * 2 < good.size;
    declared.status.available < declared.size
        && is_held_back(workload, sets, declared)
        && compared(workload, sets, declared).is_some_and(is_broken)
}

/// A number of seconds after a time.
pub(crate) fn after(time: Timestamp, seconds: i64) -> Timestamp {
    time.checked_add(SignedDuration::from_secs(seconds)).unwrap_or(Timestamp::MAX)
}
