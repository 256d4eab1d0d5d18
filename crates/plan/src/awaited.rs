//! What a rollout that does not move waits for: where its pods are, and how far they are. The engine recognizes by
//! it that a rollout is late, and then finds out why.

use crate::action::Awaited;
use crate::aim::Because;
use crate::decisions::Decisions;
use crate::keys::HASH_LABEL;
use crate::observed::SetStatus;
use crate::why::Why;

/// Whether nothing moves before pods come up, can be created, or are gone.
pub(crate) fn waits_for_pods(decisions: &Decisions<'_>, why: &Why) -> bool {
    matches!(
        decisions.aim.because,
        Because::RollingOut | Because::OldPodsRun | Because::Judged | Because::Failed { .. }
    ) && matches!(
        why.itself(),
        Why::WaitingForAvailable { .. } | Why::WaitingForTermination | Why::Blocked(_)
    )
}

/// What the rollout waits for, if it does.
pub(crate) fn awaited(decisions: &Decisions<'_>, why: &Why) -> Option<Awaited> {
    if !waits_for_pods(decisions, why) {
        return None;
    }
    let running = decisions.running().filter(|_| *why != Why::WaitingForTermination);
    let mut selector = decisions.observed.workload.selector.as_ref()?.to_string();
    let sum =
        |count: fn(&SetStatus) -> i64| decisions.sets.all.iter().map(|set| count(&set.status)).sum::<i64>();
    let all = sum(|status| status.replicas);
    let Some(set) = running else {
        let others = all + sum(|status| status.terminating.unwrap_or(0));
        return Some(Awaited { selector, others, ..Awaited::default() });
    };
    if let Some(hash) = set.labels.get(HASH_LABEL) {
        selector.push_str(&format!(",{HASH_LABEL}={hash}"));
    }
    Some(Awaited {
        set: Some(set.name.clone()),
        uid: set.uid.clone(),
        selector,
        size: set.size,
        replicas: set.status.replicas,
        ready: set.status.ready,
        available: set.status.available,
        others: all - set.status.replicas,
        refusal: set.status.failure.clone().filter(|failure| failure.status == "True"),
    })
}
