//! Counts how often the situations occur that the rules of pins and failure policies are about, beside the premises of
//! the checks themselves.

use plan::keys::{REVISION, condition, reason};
use plan::{Action, FailureAction, StatusWrite, TargetRecord, Workload};

use crate::checks::{Accepted, Marks, evidence, steps};
use crate::record::Coverage;
use crate::shown::is_held_back;
use crate::verdict::{memory, pin, revision};

/// An earlier revision runs because the declared one failed.
const REVERT: &str = "a revert begins";
/// The revert begins before the ReplicaSets follow R, or R changes before it is over.
const SCALED: &str = "a revert while R changes";
/// The deadline has passed, and the pods of the fallback do no better.
const WITHHELD: &str = "a failure is withheld, since the fallback does no better";
/// Enough pods of the declared revision and of the fallback show the same.
const SHARED: &str = "a failure is withheld, since pods of the fallback show the same";
/// A template returns, and its ReplicaSet has a verdict.
const REDECLARED: &str = "a ReplicaSet with a verdict is declared again";

/// A revision fails where it rested.
const FAILED_AT_REST: &str = "a revision fails at a rest";

/// Counts what a write is about.
pub(super) fn count(write: &Accepted<'_>, marks: &mut Marks, counts: &mut Coverage) {
    let Marks { withheld, shared, .. } = marks;
    match write.action() {
        Some(Action::WriteStatus(status)) => {
            count_revert(write, status, counts);
            if held_back(write).is_some_and(|one| withheld.insert(one)) {
                counts.hit(WITHHELD);
            }
            if shown_by_both(write).is_some_and(|one| shared.insert(one)) {
                counts.hit(SHARED);
            }
        }
        Some(Action::UpdateReplicaSet(_)) if steps::fails_at_rest(write) => counts.hit(FAILED_AT_REST),
        Some(Action::UpdateReplicaSet(update)) if update.annotations.contains_key(REVISION) => {
            let set = write.view().find(&update.target.uid);
            if set.and_then(|view| memory(&view.set)).is_some_and(|memory| memory.get("verdict").is_some()) {
                counts.hit(REDECLARED);
            }
        }
        _ => {}
    }
}

fn reverted(target: Option<&TargetRecord>) -> Option<&TargetRecord> {
    target.filter(|target| target.is_reverted())
}

fn count_revert(write: &Accepted<'_>, status: &StatusWrite, counts: &mut Coverage) {
    let workload = &write.view().workload;
    let (before, ours) = (&workload.status.ours, &status.status.ours);
    let Some(after) = reverted(ours.target.as_ref()) else { return };
    let begins = reverted(before.target.as_ref()).is_none_or(|known| known.hash != after.hash);
    let is_scaled = status.last_scale.is_some() && before.rollout.is_some();
    if begins {
        counts.hit(REVERT);
    }
    if begins && write.view().is_stale() || !begins && is_scaled {
        counts.hit(SCALED);
    }
}

/// The declared revision with pods that show what those of the fallback show.
fn shown_by_both(write: &Accepted<'_>) -> Option<(String, i64)> {
    let shown = write.truth.shown.as_ref().filter(|_| evidence::is_withheld(write.truth, write.now))?;
    Some((shown.uid.clone(), shown.revision))
}

/// The declared revision that is late, and does not fail because of FP-5.
fn held_back(write: &Accepted<'_>) -> Option<(String, i64)> {
    let view = write.view();
    let workload: &Workload = &view.workload;
    let policy =
        workload.failure_policy.as_ref().filter(|policy| policy.action != FailureAction::Continue)?;
    let late = workload.status.condition(condition::PROGRESSING)?;
    let is_late = policy.deadline && late.reason == reason::PROGRESS_DEADLINE_EXCEEDED;
    let is_free = workload.replicas > 0 && !workload.paused && pin(workload).is_none();
    let new = &view.new_set()?.set;
    let sets: Vec<_> = view.owned().map(|view| &*view.set).collect();
    let is_open = memory(new).is_none_or(|memory| memory.get("verdict").is_none());
    let is_so = is_late && is_free && is_open && workload.status.ours.target.is_none();
    (is_so && is_held_back(workload, &sets, new)).then(|| Some((new.uid.clone(), revision(new)?)))?
}
