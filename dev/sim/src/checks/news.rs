//! BN-1: bad news is reported immediately. TU-4: a slot that was granted is used.

use ::engine::waits::Reason;
use plan::{SetStatus, Workload};

use crate::checks::Verdict;
use crate::conduct::{Conduct, Known};
use crate::engine::{MILLISECOND, Time};
use crate::view::View;

/// For two clocks that are read one after the other.
const SLACK: Time = 5 * MILLISECOND;

/// Whether a ReplicaSet of this size has lost pods that it should have.
pub(crate) fn has_lost(size: i64, before: &SetStatus, now: &SetStatus) -> bool {
    [(before.ready, now.ready), (before.available, now.available)]
        .iter()
        .any(|(before, now)| now < before && *now < size)
}

/// A worker takes a key: not later than a worker was free after the watch brought bad news of it.
pub(crate) fn taken_at_once(conduct: &Conduct, known: &Known, now: Time) -> Verdict {
    let (Some(bad), Some(able)) = (known.bad, conduct.able) else { return Ok(()) };
    let due = bad.max(able).max(known.ended);
    if now <= due + SLACK {
        return Ok(());
    }
    let (late, reason) = ((now - due) / MILLISECOND, known.wait.map(|wait| wait.reason));
    Err(format!("there was bad news, and it was taken {late} ms later; it waited for {reason:?}"))
}

/// An attempt with bad news to report has ended with this wait.
pub(crate) fn holds_nothing(known: &Known) -> Verdict {
    let wait = known.wait.filter(|_| known.tells_bad);
    match wait.map(|wait| wait.reason) {
        Some(reason @ (Reason::Cooldown | Reason::StatusPaced | Reason::Gathering)) => {
            Err(format!("bad news waits for {reason}"))
        }
        _ => Ok(()),
    }
}

/// After a reconcile with bad news to report, the status promises no more than the ReplicaSets that it saw.
pub(crate) fn promises_no_more(view: &View, workload: &Workload) -> Verdict {
    let sum = |count: fn(&SetStatus) -> i64| view.owned().map(|one| count(&one.set.status)).sum::<i64>();
    let (ready, available) = (sum(|status| status.ready), sum(|status| status.available));
    let told = (workload.status.ready_replicas, workload.status.available_replicas);
    if told.0 <= ready && told.1 <= available {
        return Ok(());
    }
    Err(format!("bad news was not told: {told:?} pods ready and available, and {ready} and {available} are"))
}

/// TU-4: an attempt has ended, and it had got a slot before.
pub(crate) fn slot_is_used(known: &Known, now: Time) -> Verdict {
    let waits_again = known.wait.is_some_and(|wait| wait.reason == Reason::Queued);
    if known.granted.is_some_and(|until| now < until) && waits_again {
        return Err("its turn came, and it waits for its turn again".to_owned());
    }
    Ok(())
}
