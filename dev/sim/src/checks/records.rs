//! HI-1: each rollout has one record, from the status that reports its revision to the one that reports its end.
//!
//! Only what is stored is looked at, before a write and after it.

use plan::keys::reason;
use plan::{Action, RECORD_BYTES_MAX, RECORDS_MAX, Workload};
use serde_json::Value;
use world::{Object, Resource};

use crate::checks::steps::says_resting;
use crate::checks::{Accepted, Verdict, held, jobs};
use crate::verdict::{is_aborted, memory};
use crate::view::SetView;

/// What a status reports of rollouts.
struct Story<'a> {
    revision: i64,
    /// Revision and hash of the ReplicaSet that runs instead of the declared one, and why; no revision, if a pin names
    /// none.
    instead: Option<(Option<i64>, &'a str, &'a str)>,
    running: Option<&'a Value>,
    ended: &'a [Value],
    /// Whether all pods are those of the template, and available.
    is_complete: bool,
    /// Whether the declared revision failed, and somebody has to act.
    is_held: bool,
}

fn number(value: &Value, field: &str) -> i64 {
    value.get(field).and_then(Value::as_i64).unwrap_or(0)
}

fn id(record: &Value) -> i64 {
    number(record, "id")
}

fn instead(status: &Value) -> Option<(Option<i64>, &str, &str)> {
    let target = status.get("target")?;
    let hash = target.get("podTemplateHash")?.as_str()?;
    let because = target.get("reason")?.as_str()?;
    // What is missing has none, nor does a ReplicaSet with garbage in its annotation.
    let revision = target.get("revision").and_then(Value::as_i64);
    Some((revision, hash, because))
}

fn is_complete(object: &Object) -> bool {
    let replicas = object.spec_number("replicas").unwrap_or(1);
    let fields = ["replicas", "updatedReplicas", "availableReplicas"];
    let is_counted = object.status_number("observedGeneration") >= Some(object.generation());
    // GA-1: the hook after it comes first.
    let conditions = object.status.get("conditions").and_then(Value::as_array);
    let is_ready = |one: &Value| one["type"] == "Ready" && one["status"] == "True";
    let awaits = object.spec.pointer("/strategy/hooks/after").is_some_and(Value::is_object)
        && !conditions.into_iter().flatten().any(is_ready);
    is_counted
        && !awaits
        && fields.into_iter().all(|field| object.status_number(field).unwrap_or(0) == replicas)
}

fn is_held(status: &world::Status) -> bool {
    let conditions = status.get("conditions").and_then(Value::as_array).into_iter().flatten();
    let text =
        |condition: &Value, field: &str| condition.get(field).and_then(Value::as_str).map(str::to_owned);
    let mut stalled = conditions.filter(|one| text(one, "type").as_deref() == Some("Stalled"));
    let held = ["RolloutFailed", "NoGoodRevision"];
    stalled.any(|one| text(one, "reason").is_some_and(|reason| held.contains(&reason.as_str())))
}

impl<'a> Story<'a> {
    fn of(object: &'a Object) -> Self {
        let status = &object.status;
        Self {
            revision: number(status, "revision"),
            instead: instead(status),
            running: status.get("rollout").filter(|running| !running.is_null()),
            ended: status.get("history").and_then(Value::as_array).map_or(&[], Vec::as_slice),
            is_complete: is_complete(object),
            is_held: is_held(status),
        }
    }

    /// The highest id that was given.
    fn highest(&self) -> i64 {
        self.running.into_iter().chain(self.ended).map(id).max().unwrap_or(0)
    }

    fn rests(&self) -> bool {
        self.running.is_some_and(|running| running.get("step").is_some())
    }

    /// Ids rise, no record is there twice, each that is not running has its outcome, and all are small.
    fn makes_sense(&self) -> Verdict {
        let all = || self.running.into_iter().chain(self.ended);
        if !all().map(id).is_sorted_by(|newer, older| newer > older) || all().any(|record| id(record) < 1) {
            return Err(format!("ids {:?}", all().map(id).collect::<Vec<_>>()));
        }
        if let Some(open) = self.ended.iter().find(|record| record.get("outcome").is_none()) {
            return Err(format!("a record without an outcome: {open}"));
        }
        if let Some(large) = all().find(|record| record.to_string().len() > RECORD_BYTES_MAX) {
            return Err(format!("a record of {} bytes", large.to_string().len()));
        }
        if self.ended.len() > RECORDS_MAX { Err(format!("{} records", self.ended.len())) } else { Ok(()) }
    }
}

/// HI-1 of a status write.
pub(super) fn each_rollout_once(write: &Accepted<'_>) -> Verdict {
    let Some(Action::WriteStatus(_)) = write.action() else { return Ok(()) };
    let (Some(before), Some(after)) = (write.before, write.after) else { return Ok(()) };
    if after.resource != Resource::Deployments {
        return Ok(());
    }
    let (before, after) = (Story::of(before), Story::of(after));
    after.makes_sense()?;
    let new =
        after.ended.iter().take_while(|record| before.ended.first().is_none_or(|old| id(record) > id(old)));
    let new: Vec<&Value> = new.collect();
    // What had ended stays as it was, but for the oldest.
    let kept = after.ended.get(new.len()..).unwrap_or_default();
    let room = RECORDS_MAX.saturating_sub(new.len()).min(before.ended.len());
    if Some(kept) != before.ended.get(..room) {
        return Err("the records of rollouts that had ended changed".to_owned());
    }
    if let Some(running) = before.running {
        let goes_on = after.running.is_some_and(|after| id(after) == id(running));
        let end = new.iter().find(|record| id(record) == id(running));
        if !goes_on && end.is_none() {
            return Err(format!("rollout {} has no outcome", id(running)));
        }
        let same = |field: &str| {
            end.or(after.running.as_ref()).is_some_and(|it| it.get(field) == running.get(field))
        };
        if !["revision", "trigger", "startTime"].into_iter().all(same) && (goes_on || end.is_some()) {
            return Err(format!("the record of rollout {} is another one", id(running)));
        }
    }
    outcome_is_true(write, (&before, &after), &new)?;
    let given = after.highest() - before.highest();
    let uid = |set: Option<&SetView>| set.map(|set| set.set.uid.clone());
    let view = write.view();
    let is_frozen = view.workload.paused && uid(view.running_set()) != uid(view.new_set());
    let opens = match (before.instead, after.instead) {
        // One that was late, or given up and tried again, has a record once more where it rests.
        (None, None) => after.revision > before.revision || before.running.is_none() && after.rests(),
        // A pause freezes what runs: a pin that took the place of one that named nothing begins later.
        (Some((None, ..)), None) if is_frozen => false,
        // What is complete immediately, as without pods, is not rolled out again, nor is what failed, unless it is
        // declared again. One that waits at a step continues, also without pods.
        (Some(_), None) => {
            let is_declared_again = after.revision > before.revision;
            // Of a template without a ReplicaSet, there is no revision yet.
            let is_rolled_out = view.new_set().is_some() && (is_declared_again || !after.is_complete);
            after.rests() || is_rolled_out && !after.is_held
        }
        // Nothing starts in the place of what is missing.
        (_, Some((None, ..))) => false,
        (before, Some((_, hash, because))) => {
            let is_reverted = |because| reason::REVERTS.contains(&because);
            before.is_none_or(|(_, known, why)| {
                known != hash || why != because && !(is_reverted(why) && is_reverted(because))
            })
        }
    };
    if given != i64::from(opens) {
        return Err(format!(
            "{given} records opened, and revision {} was {} before",
            after.revision, before.revision
        ));
    }
    let latest = after.running.or(after.ended.first());
    let runs = after.instead.and_then(|(revision, ..)| revision).unwrap_or(after.revision);
    if given > 0 && latest.is_none_or(|latest| number(latest, "revision") != runs) {
        return Err(format!("no record of revision {runs}: {latest:?}"));
    }
    Ok(())
}

/// FP-6: a rollout that somebody aborts is cancelled, whether there is a good revision or not; one that is reverted or
/// held otherwise has failed.
fn outcome_is_true(
    write: &Accepted<'_>,
    (before, after): (&Story<'_>, &Story<'_>),
    new: &[&Value],
) -> Verdict {
    let is_reverted =
        |story: &Story<'_>| story.instead.is_some_and(|(.., because)| reason::REVERTS.contains(&because));
    let begins = is_reverted(after) && before.instead.is_none() || after.is_held && !before.is_held;
    let ended = before.running.filter(|_| begins && before.revision == after.revision);
    let Some(end) = ended.and_then(|running| new.iter().find(|record| id(record) == id(running))) else {
        return Ok(());
    };
    let failed = write.view().new_set().and_then(|new| memory(&new.set));
    let wanted = if failed.is_some_and(|memory| is_aborted(&memory)) { "Cancelled" } else { "Failed" };
    match end.get("outcome").and_then(Value::as_str) {
        Some(outcome) if outcome == wanted => Ok(()),
        outcome => Err(format!("rollout {} is {outcome:?}, and {wanted} is true", id(end))),
    }
}

/// The records of a Deployment, newest first, without what depends on the moment.
pub(crate) fn summary(object: &Object) -> Vec<String> {
    let Story { running, ended, .. } = Story::of(object);
    let text =
        |record: &Value, field: &str| record.get(field).and_then(Value::as_str).unwrap_or("none").to_owned();
    let line = |record: &Value| {
        let (id, revision) = (id(record), number(record, "revision"));
        format!("{id}: revision {revision}, {}, {}", text(record, "trigger"), text(record, "outcome"))
    };
    running.into_iter().chain(ended).map(line).collect()
}

/// HI-1 for an idle Deployment: what is complete does not run. A rollout that a pin of nothing stopped is not over, nor
/// one at a step, nor one that is held.
pub(crate) fn ended(workload: &Workload) -> Verdict {
    let target = workload.status.ours.target.as_ref();
    let is_stopped = target.is_some_and(|target| target.reason == "PinTargetMissing")
        || says_resting(&workload.status)
        || jobs::waits(&workload.status)
        || held::is_told(workload);
    match workload.status.ours.rollout.as_ref().filter(|_| !is_stopped) {
        Some(running) => Err(format!("rollout {} still runs at rest", running.id)),
        None => Ok(()),
    }
}
