//! FP-1, FP-2, FP-4, FP-5 where pods are the evidence: what the operator read was so while it read, and what nobody
//! read is neither for nor against a revision.

use jiff::{SignedDuration, Timestamp};
use plan::intstr::IntOrPercent;
use plan::{FailurePolicy, ReplicaSet, Workload};

use crate::checks::verdicts::{Criterion, SLACK, Said, knows_counts};
use crate::checks::{Accepted, Verdict};
use crate::operator::BLOCKED_AFTER;
use crate::shown::{after, is_judged};
use crate::signs::{When, Window};
use crate::truth::Truth;
use crate::verdict::{fallback, inferred, memory};

/// This many seconds after its pods have shown enough, a revision has failed: a look comes every 15 s, in pages, and
/// waits in line behind those at other Deployments.
const READ_WITHIN: i64 = 45;
/// A write may be under way for this many seconds.
const SLOW: i64 = 10;

/// How many pods of a ReplicaSet must show it.
pub(crate) fn least(policy: &FailurePolicy, set: &ReplicaSet) -> i64 {
    let least = match &policy.min_pods {
        IntOrPercent::Int(number) => *number,
        IntOrPercent::Text(text) => {
            let percent: i64 = text.trim_end_matches('%').parse().unwrap_or(0);
            (set.status.replicas * percent + 99) / 100
        }
    };
    least.max(1)
}

fn before(time: Timestamp, seconds: i64) -> Timestamp {
    time.checked_sub(SignedDuration::from_secs(seconds)).unwrap_or(Timestamp::MIN)
}

/// The ReplicaSet with the pods to compare the declared ones with.
fn compared<'a>(
    workload: &Workload,
    sets: &[&'a ReplicaSet],
    declared: &ReplicaSet,
) -> Option<&'a ReplicaSet> {
    let good = fallback(workload, sets.iter().copied(), Some(declared));
    good.or_else(|| inferred(sets.iter().copied(), declared))
}

/// A failure by what pods showed, and the look that read it.
struct Failure<'a> {
    said: Said<'a>,
    criterion: Criterion,
    policy: &'a FailurePolicy,
    looked: Option<Window>,
    /// Since when the revision has been judged.
    since: Timestamp,
}

impl<'a> Failure<'a> {
    fn of(write: &'a Accepted<'_>) -> Option<Self> {
        let said = Said::of(write)?;
        let criterion = said.criterion().filter(|it| !matches!(it, Criterion::Deadline | Criterion::Job))?;
        let policy = write.view().workload.failure_policy.as_ref()?;
        let since = write.truth.sets.get(&said.set.uid)?.since;
        Some(Self { criterion, policy, looked: write.looked, since, said })
    }

    /// What others write to ReplicaSets, and a wrong clock, confuse the times.
    fn is_certain(write: &Accepted<'_>) -> bool {
        write.is_alone && write.is_clock_right
    }

    fn fails(&self, text: &str) -> Verdict {
        Err(format!(
            "{} failed, and {text}; it was looked at from {:?}",
            self.said.update.target.name, self.looked
        ))
    }
}

/// FP-2: while it was read, enough pods had a container that had restarted so often since the revision was declared or
/// retried.
pub(super) fn it_restarted(write: &Accepted<'_>) -> Option<Verdict> {
    let failure = Failure::of(write).filter(|failure| failure.criterion == Criterion::Restarts)?;
    let Failure { policy, said, .. } = &failure;
    let (Some(limit), Some(looked)) = (policy.restarts, failure.looked) else {
        return Some(failure.fails("nobody counts restarts"));
    };
    let since = before(failure.since, if write.is_quiet { SLACK } else { SLOW });
    let pods = write.truth.signs.restarted(&said.set.uid, limit, since, When::Once(looked));
    let is_true = pods >= least(policy, said.set) || !Failure::is_certain(write);
    Some(if is_true {
        Ok(())
    } else {
        failure.fails(&format!("{pods} pods restarted {limit} times since {}", failure.since))
    })
}

/// FP-2: while it was read, enough pods were stuck, and had been for that time. It was never complete before.
pub(super) fn it_is_stuck(write: &Accepted<'_>) -> Option<Verdict> {
    let failure = Failure::of(write)?;
    let Criterion::Stuck(cause) = failure.criterion else { return None };
    let Failure { policy, said, .. } = &failure;
    let (Some(seconds), Some(looked)) = (policy.stuck_seconds, failure.looked) else {
        return Some(failure.fails("nobody looks whether pods are stuck"));
    };
    let (signs, uid) = (&write.truth.signs, &said.set.uid);
    let pods = signs.stuck(uid, cause, When::Once(looked));
    let first = signs.first_stuck(uid, cause, before(failure.since, SLOW));
    let marks = write.view().workload.status.ours.marks.as_ref();
    let wrong = match first {
        _ if !Failure::is_certain(write) => return Some(Ok(())),
        _ if pods < least(policy, said.set) => format!("{pods} pods are stuck by {cause}"),
        Some(first) if after(first, seconds) > after(looked.0, SLACK) => {
            format!("none was stuck before {first}")
        }
        _ if marks.is_some_and(|marks| marks.complete) => "it was complete".to_owned(),
        _ => return Some(Ok(())),
    };
    Some(failure.fails(&wrong))
}

/// FP-5: not all the time that it was read did enough pods of the fallback show the same.
pub(super) fn symptom_is_its_own(write: &Accepted<'_>) -> Option<Verdict> {
    let failure = Failure::of(write)?;
    let Failure { said, policy, .. } = &failure;
    let sets: Vec<_> = write.view().owned().map(|view| &*view.set).collect();
    let good = compared(&write.view().workload, &sets, said.set)?;
    let since = failure.since.max(said.since().unwrap_or(Timestamp::MIN));
    let pods =
        shared(write.truth, (policy, good), (failure.criterion, since), When::Throughout(failure.looked?));
    let is_shared = pods >= least(policy, good) && Failure::is_certain(write);
    Some(if is_shared { failure.fails(&format!("so did {pods} pods of {}", good.name)) } else { Ok(()) })
}

/// How many pods of the fallback show the same.
fn shared(
    truth: &Truth,
    (policy, good): (&FailurePolicy, &ReplicaSet),
    (criterion, since): (Criterion, Timestamp),
    when: When,
) -> i64 {
    match criterion {
        Criterion::Restarts => {
            policy.restarts.map_or(0, |limit| truth.signs.restarted_again(&good.uid, limit, since, when))
        }
        Criterion::Stuck(cause) => truth.signs.stuck(&good.uid, cause, when),
        Criterion::Deadline | Criterion::Job => 0,
    }
}

/// FP-1: with restarts as a criterion, a revision that is judged is good only after its pods were read once more: a
/// look that began when it had baked came to its end.
pub(super) fn good_is_read(write: &Accepted<'_>) -> Option<Verdict> {
    let said = Said::of(write).filter(|said| said.is("Good") && !said.was("Good"))?;
    let view = write.view();
    let workload = &*view.workload;
    let policy = workload.failure_policy.as_ref().filter(|policy| policy.restarts.is_some())?;
    let sets: Vec<_> = view.owned().map(|view| &*view.set).collect();
    let is_declared = view.new_set().is_some_and(|new| new.set.uid == said.set.uid);
    if !is_declared || !is_judged(workload, &sets, said.set) {
        return None;
    }
    let name = &said.update.target.name;
    let Some((began, _)) = write.looked else {
        return Some(Err(format!("{name} is good, and nobody has looked at its pods")));
    };
    let shown = write.truth.shown.as_ref().filter(|shown| shown.uid == said.set.uid);
    let is_certain = Failure::is_certain(write) && knows_counts(write);
    let whole = shown.filter(|_| is_certain).and_then(|shown| shown.whole);
    Some(match whole.map(|whole| after(whole, policy.bake_seconds)) {
        Some(end) if after(began, SLACK) < end => {
            Err(format!("{name} is good, baked until {end}, and was looked at last at {began}"))
        }
        _ => Ok(()),
    })
}

/// FP-4: where nothing goes wrong, it does not go unread.
pub(super) fn failed_in_time(write: &Accepted<'_>) -> Option<Verdict> {
    // `is_heeded` has just looked.
    Failure::of(write).filter(|_| write.is_quiet).map(|_| Ok(()))
}

/// Criteria that enough pods of the declared revision have met for this many seconds more than it takes, and whether
/// pods of its fallback showed the same meanwhile.
fn met(truth: &Truth, longer: i64, now: Timestamp) -> Vec<(Criterion, bool)> {
    let parts = (truth.workload.as_deref(), truth.shown.as_ref(), truth.new_set());
    let (Some(workload), Some(shown), Some(declared)) = parts else { return Vec::new() };
    let (Some(policy), Some(judged)) = (&workload.failure_policy, shown.judged) else { return Vec::new() };
    // FP-5: the time of all of them begins again after an outage of both revisions.
    let ended = memory(&declared.set).and_then(|memory| memory.get("retried")?.as_str()?.parse().ok());
    let judged = ended.map_or(judged, |ended: Timestamp| judged.max(ended));
    let sets: Vec<_> = truth.owned().map(|owned| &*owned.set).collect();
    let good = compared(workload, &sets, &declared.set);
    let (uid, least_of) = (&declared.set.uid, |set: &ReplicaSet| least(policy, set));
    let since = declared.since.max(shown.counted).max(ended.unwrap_or(Timestamp::MIN));
    let since = Timestamp::from_second(since.as_second()).unwrap_or(now);
    let is_shared = |criterion: Criterion, from: Timestamp| {
        let once = When::Once((from, now));
        good.is_some_and(|good| shared(truth, (policy, good), (criterion, since), once) >= least_of(good))
    };
    let mut met = Vec::new();
    let from = before(now, longer);
    if let Some(limit) = policy.restarts.filter(|_| judged <= from) {
        let pods = truth.signs.young_restarted(uid, limit, since, When::Throughout((from, now)));
        let criterion = Criterion::Restarts;
        met.extend((pods >= least_of(&declared.set)).then(|| (criterion, is_shared(criterion, from))));
    }
    let blocked = i64::try_from(BLOCKED_AFTER.as_secs()).unwrap_or(0);
    let from = before(from, blocked + policy.stuck_seconds.unwrap_or(0));
    if policy.stuck_seconds.is_some() && judged.max(shown.moved) <= from && !shown.is_done {
        for cause in ["ImagePull", "CrashLoop"] {
            let pods = truth.signs.stuck(uid, cause, When::Throughout((from, now)));
            let criterion = Criterion::Stuck(cause);
            met.extend((pods >= least_of(&declared.set)).then(|| (criterion, is_shared(criterion, from))));
        }
    }
    met
}

/// Where nothing goes wrong, a revision with pods that show enough has failed in time, unless the pods of its fallback
/// show the same (FP-4).
pub(crate) fn is_heeded(truth: &Truth, now: Timestamp) -> Verdict {
    // FP-5: during an outage of both revisions the time stands still.
    let memory = truth.new_set().and_then(|declared| memory(&declared.set));
    if memory.is_some_and(|memory| memory.get("outage").is_some()) {
        return Ok(());
    }
    let late = met(truth, READ_WITHIN, now).into_iter().find(|(_, is_shared)| !is_shared);
    late.map_or(Ok(()), |(criterion, _)| {
        Err(format!("its pods have met {criterion:?} for long, and it did not fail"))
    })
}

/// Whether a failure is withheld, since the pods of the fallback show the same (FP-5).
pub(super) fn is_withheld(truth: &Truth, now: Timestamp) -> bool {
    met(truth, 0, now).into_iter().any(|(_, is_shared)| is_shared)
}
