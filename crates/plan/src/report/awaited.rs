//! What a rollout that does not move waits for: where its pods are, and how far they are. The engine recognizes by
//! it that a rollout is late, and then finds out why. The same for a revision that a failure policy judges by its pods.

use crate::decide::decisions::Decisions;
use crate::model::action::Awaited;
use crate::model::keys::HASH_LABEL;
use crate::model::observed::SetStatus;
use crate::model::why::Why;
use crate::moves::aim::Because;

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

/// What the rollout waits for, or is judged by.
pub(crate) fn awaited(decisions: &Decisions<'_>, why: &Why) -> Option<Awaited> {
    let is_still = waits_for_pods(decisions, why);
    let is_judged = decisions.course.needs_evidence;
    if !is_still && !is_judged {
        return None;
    }
    let running = decisions.running().filter(|_| *why != Why::WaitingForTermination);
    let deadline = decisions.view.workload().progress_deadline_seconds;
    let mut selector = decisions.view.workload().selector.as_ref()?.to_string();
    let sum = |count: fn(&SetStatus) -> i64| {
        decisions.view.sets.all.iter().map(|set| count(&set.status)).sum::<i64>()
    };
    let all = sum(|status| status.replicas);
    let Some(set) = running else {
        let others = all + sum(|status| status.terminating.unwrap_or(0));
        return Some(Awaited { selector, others, is_still, deadline, ..Awaited::default() });
    };
    let fallback = decisions.course.fallback.and_then(|fallback| decisions.view.sets.get(fallback));
    if let Some(hash) = set.labels.get(HASH_LABEL).filter(|_| !is_judged) {
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
        is_still,
        is_judged,
        fallback: fallback.map_or_else(String::new, |set| set.uid.clone()),
        refusal: set.status.failure.clone().filter(|failure| failure.status == "True"),
        deadline,
    })
}
