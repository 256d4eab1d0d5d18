//! HO-2, HO-5: with `resumePolicy: Manual`, nothing moves after a crash without a word.

use plan::keys::{PROMOTE, RESUME, ROLLOUT, condition, reason};
use plan::{Action, ReplicaSet, Workload};
use serde_json::Value;

use crate::checks::steps::resized;
use crate::checks::{Accepted, Verdict};
use crate::verdict::{self, pin};
use crate::view::View;

/// What stands in the place of an epoch for a rollback.
const ROLLBACK: &str = "rollback";

/// HO-2: whether the status reports that a rollout waits for a word.
pub(crate) fn is_told(workload: &Workload) -> bool {
    let stalled = workload.status.condition(condition::STALLED).map(|it| it.reason.as_str());
    workload.resumes_by_word && !workload.paused && stalled == Some(reason::HELD_AFTER_RESTART)
}

/// A member of what a revision remembers.
fn word(memory: &Value, name: &str) -> Option<String> {
    Some(memory.get(name)?.as_str()?.to_owned())
}

/// The declared ReplicaSet as the reconcile saw it, while that runs, and the epoch in which its rollout moved last.
fn recorded(view: &View) -> Option<(&ReplicaSet, Value, String)> {
    let workload = &view.workload;
    let is_user =
        workload.paused || workload.deleting || pin(workload).is_some() || workload.rollback_to.is_some();
    if is_user || !workload.resumes_by_word {
        return None;
    }
    let new = &*view.new_set()?.set;
    let runs = view.running_set().is_none_or(|running| running.set.uid == new.uid);
    // One that is declared by this reconcile has a lower revision.
    let is_last = view.owned().all(|other| verdict::revision(&other.set) <= verdict::revision(new));
    let memory = verdict::memory(new).filter(|_| runs && is_last)?;
    let epoch = word(&memory, "epoch").filter(|epoch| epoch != ROLLBACK)?;
    Some((new, memory, epoch))
}

/// Whether it would be an outage to wait: there are fewer pods than there have to be.
fn is_outage(view: &View) -> bool {
    let total: i64 = view.owned().map(|it| it.set.size).sum();
    total < view.floor().max(1)
}

/// HO-3: whether another epoch is recorded than that of the operator.
pub(super) fn is_elsewhere(view: &View) -> bool {
    let Some((.., epoch)) = recorded(view).filter(|_| !is_outage(view)) else { return false };
    view.epoch.as_ref().is_some_and(|own| *own != epoch)
}

/// HO-2: sizes change in the epoch that is recorded, or with R.
pub(super) fn moves_in_its_epoch(write: &Accepted<'_>) -> Option<Verdict> {
    let view = write.view();
    let (_, from, to) = resized(write).filter(|_| !write.is_late)?;
    let (new, _, epoch) = recorded(view).filter(|_| !view.is_stale())?;
    let own = view.epoch.as_ref()?;
    // Where a step divides no pods at all, each gets its own back.
    let is_empty = view.owned().all(|it| it.set.size == 0);
    Some(if *own == epoch || is_empty {
        Ok(())
    } else {
        Err(format!("a size went from {from} to {to} in epoch {own}, and {} moved last in {epoch}", new.name))
    })
}

/// HO-5: another epoch is recorded for a rollout only by a word.
pub(super) fn ends_by_a_word(write: &Accepted<'_>) -> Option<Verdict> {
    let view = write.view();
    let Some(Action::UpdateReplicaSet(update)) = write.action() else { return None };
    let (new, memory, epoch) = recorded(view).filter(|(new, ..)| new.uid == update.target.uid)?;
    let written: Value = serde_json::from_str(update.annotations.get(ROLLOUT)?).ok()?;
    let next = word(&written, "epoch").filter(|next| *next != epoch)?;
    let revision = verdict::revision(new).unwrap_or(0);
    let asked = |key: &str| view.workload.annotations.get(key);
    let is_resumed = asked(RESUME).is_some_and(|text| *text == format!("{revision}/{epoch}"));
    let is_promoted = asked(PROMOTE).is_some_and(|text| Some(text) != word(&memory, "promote").as_ref());
    let is_judged = verdict::says(new, "Failed");
    Some(if is_resumed || is_promoted || is_judged || is_outage(view) {
        Ok(())
    } else {
        Err(format!("{} continues in epoch {next} instead of {epoch}, and nobody asked", new.name))
    })
}
