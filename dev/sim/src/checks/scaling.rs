//! SC-1: scaling in proportion ends at desired and surge together.

use crate::checks::Verdict;
use crate::view::View;
use crate::walk;

/// After a reconcile that scaled several active ReplicaSets without an error. Single ReplicaSets may change in either
/// direction: docs/internals/invariants.md has a seed.
pub(super) fn shares(view: &View) -> Verdict {
    // GA-1: before its hook passes, and while the server refuses a Job, the declared ReplicaSet gets nothing.
    if view.workload.checkpoints().next().is_some() {
        return Ok(());
    }
    if !view.is_scaling() || !view.is_rolling() || view.is_rolled_back || view.is_saturated() {
        return Ok(());
    }
    // FP-10: the way back follows R by itself, and no failed ReplicaSet grows.
    if view.is_reverted() || view.is_held() || view.is_judged || view.is_recorded {
        return Ok(());
    }
    // FP-11: a pin that names none leaves sizes as they are.
    if view.workload.deleting
        || view.lacks_pinned()
        || (view.workload.rollback_to.is_some() && !view.workload.paused)
    {
        return Ok(());
    }
    let several = view.owned().filter(|set| set.set.is_active()).count() > 1;
    let replicas = view.workload.replicas;
    let (total, wanted) = (view.total(), if replicas > 0 { view.cap() } else { 0 });
    let before: i64 = view.owned().map(|set| set.set.size).sum();
    // Shares that come out below 0 are cut off there; that needs less to share out than there was.
    let is_cut_off = wanted < before && view.owned().any(|set| set.size == 0 && set.set.size > 0);
    if !several || !view.has_valid_annotations() || is_cut_off {
        return Ok(());
    }
    // SP-7: what the steps leave goes to none.
    let is_less = total < wanted && walk::steps(&view.workload).is_some();
    if total != wanted && !is_less {
        let sizes: Vec<_> = view.owned().map(|set| (set.set.size, set.size)).collect();
        return Err(format!("{total} pods after scaling, and {wanted} are wanted: {sizes:?}"));
    }
    Ok(())
}
