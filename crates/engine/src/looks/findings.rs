//! From pods, events, and a refusal to the blockers that are reported.

use api::BLOCKER_MESSAGE_MAX;
use diagnosis::{Cause, MOST, Words, blockers, is_unclear};
use plan::{Awaited, Blocker, SetFailure};

use super::pods::{Pods, Right};

/// The reason of a cause that the operator may not read.
const FORBIDDEN: &str = "Forbidden";

/// What blocks; `None` if nobody knows yet. `is_really_late`: whether a cause that nobody may read is
/// reported, too; until then the pods may only be starting.
pub(super) fn of(awaited: &Awaited, pods: &Pods, words: Words, is_really_late: bool) -> Option<Vec<Blocker>> {
    let refused = awaited.refusal.as_ref().map(|refusal| of_refusal(awaited, refusal));
    let has_pods = has_pods(awaited);
    if has_pods && !pods.is_whole && refused.is_none() {
        return None;
    }
    let mut all: Vec<Blocker> = refused.into_iter().collect();
    if has_pods && pods.is_whole {
        all.extend(of_pods(awaited, pods, words));
        all.extend(unread(awaited, pods).filter(|_| is_really_late));
    }
    all.sort_by(|a, b| b.pods.cmp(&a.pods).then_with(|| a.key().cmp(&b.key())));
    all.truncate(MOST);
    Some(all)
}

/// Whether there are pods that are not ready, or old ones that have to go.
pub(super) fn has_pods(awaited: &Awaited) -> bool {
    awaited.set.is_none() || awaited.replicas > awaited.ready
}

fn blocker(cause: Cause, reason: &str, (pods, of): (i64, i64), message: &str) -> Blocker {
    Blocker {
        cause: cause.as_str().to_owned(),
        reason: reason.to_owned(),
        pods,
        of,
        message: cut(message),
        ..Blocker::default()
    }
}

fn of_refusal(awaited: &Awaited, refusal: &SetFailure) -> Blocker {
    let SetFailure { reason, message, .. } = refusal;
    let missing = (awaited.size - awaited.replicas).max(0);
    let message = format!("are refused: {}", message.trim_end_matches('.'));
    blocker(Cause::of_refusal(&refusal.message), reason, (missing, awaited.size), &message)
}

fn of_pods(awaited: &Awaited, pods: &Pods, words: Words) -> Vec<Blocker> {
    let of = count(pods.of);
    if pods.may_list_pods == Right::Denied {
        return Vec::new();
    }
    if awaited.set.is_none() {
        let message = "have not terminated within the grace period, and new pods wait for that: a finalizer \
                       may hold a pod, or its node does not respond";
        let held = count(pods.held.len());
        let held = (held > 0).then(|| blocker(Cause::Terminating, "", (held, of), message));
        return held.into_iter().collect();
    }
    let read = |found: diagnosis::Blocker| Blocker {
        container: found.container,
        ..blocker(found.cause, &found.reason, (count(found.pods), of), &found.message)
    };
    blockers(&pods.held, &pods.events(), words).into_iter().map(read).collect()
}

/// What the operator may not read, and what that means for this rollout.
fn unread(awaited: &Awaited, pods: &Pods) -> Option<Blocker> {
    if pods.may_list_pods == Right::Denied {
        let (held, of) = match awaited.set {
            Some(_) => (awaited.replicas - awaited.ready, awaited.replicas),
            None => (awaited.others, awaited.others),
        };
        let message =
            "are not available for an unknown cause: the operator may not list pods in this namespace";
        return Some(blocker(Cause::Unknown, FORBIDDEN, (held, of), message));
    }
    if pods.may_list_events == Right::Granted {
        return None;
    }
    let unclear = count(pods.held.iter().filter(|pod| is_unclear(pod)).count());
    let message = "are not ready for a cause that their status does not show: the operator may not list events \
                   in this namespace";
    (unclear > 0).then(|| blocker(Cause::Unknown, FORBIDDEN, (unclear, count(pods.of)), message))
}

pub(super) fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A text that fits into a status: the server, a scheduler, or an image may send any.
fn cut(text: &str) -> String {
    match text.char_indices().nth(BLOCKER_MESSAGE_MAX - 1) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
