//! SU-1: a rollout never asks for more than desired and surge together.

use plan::Action;

use crate::checks::{Accepted, Verdict};

/// How many pods more a write asks for.
fn growth(write: &Accepted<'_>) -> i64 {
    match write.action() {
        Some(Action::CreateReplicaSet(set)) => set.size,
        Some(Action::UpdateReplicaSet(update)) => update.size_to - update.size_from,
        _ => 0,
    }
}

/// By what the reconcile knew.
pub(super) fn decided(write: &Accepted<'_>) -> Verdict {
    let (view, growth) = (write.view(), growth(write));
    if growth <= 0 || view.is_scaling() || (!view.is_rolling() && view.workload.rollback_to.is_some()) {
        return Ok(());
    }
    let (total, cap) = (view.total() + growth, view.cap());
    if total > cap { Err(format!("{total} pods asked for, and {cap} may be")) } else { Ok(()) }
}

/// In truth, while nobody else changes sizes.
pub(super) fn in_truth(write: &Accepted<'_>) -> Verdict {
    let view = write.view();
    if !write.is_alone || growth(write) <= 0 || view.is_scaling() {
        return Ok(());
    }
    if !view.is_rolling() && view.workload.rollback_to.is_some() {
        return Ok(());
    }
    let now = write.truth.workload.as_deref().filter(|workload| workload.uid == view.workload.uid);
    let cap = now.map_or(view.cap(), |workload| crate::view::cap(workload).max(view.cap()));
    let total = write.truth.total();
    if total > cap && total > write.total_before {
        return Err(format!("{total} pods asked for in all, and {cap} may be"));
    }
    Ok(())
}
