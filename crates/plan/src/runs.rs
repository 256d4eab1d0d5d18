//! Which ReplicaSet runs, and whether the declared one is held up by its failure (FP-6, FP-11).

use crate::aim::Divergence;
use crate::judge::{Proof, Rulings};
use crate::observed::{FailureAction, Workload};
use crate::sets::Sets;

/// The set that runs: the declared one, unless it failed (FP-6), or another one is pinned (FP-11).
pub(crate) fn run(
    workload: &Workload,
    sets: &Sets<'_>,
    rulings: &Rulings,
) -> (Option<usize>, Option<Divergence>) {
    if let Some(pin) = workload.pin_in_force() {
        match sets.with_hash(&pin.hash) {
            None => return (None, Some(Divergence::PinTargetMissing)),
            pinned if pinned != sets.declared => return (pinned, Some(Divergence::Pinned)),
            _ => return (sets.declared, None),
        }
    }
    let Some(declared) = sets.declared else { return (None, None) };
    match rulings.of(declared) {
        Proof::Failed if reverts(workload, rulings) && rulings.fallback.is_some() => {
            (rulings.fallback, Some(Divergence::Reverted))
        }
        Proof::Failed | Proof::Good | Proof::Unproven => (Some(declared), None),
    }
}

/// Whether the declared revision failed, and somebody has to act (FP-6). A pinned one is not judged.
pub(crate) fn is_held(workload: &Workload, sets: &Sets<'_>, rulings: &Rulings) -> bool {
    let pauses = workload.failure_policy.as_ref().is_some_and(|policy| policy.action == FailureAction::Pause);
    let has_failed = sets.declared.is_some_and(|declared| rulings.of(declared) == Proof::Failed);
    let is_stuck = reverts(workload, rulings) && rulings.fallback.is_none();
    has_failed && workload.pin_in_force().is_none() && (pauses && !rulings.is_aborted || is_stuck)
}

/// Whether the declared revision, which failed, is to be reverted.
pub(crate) fn reverts(workload: &Workload, rulings: &Rulings) -> bool {
    rulings.is_aborted
        || workload.failure_policy.as_ref().is_some_and(|policy| policy.action == FailureAction::Revert)
}
