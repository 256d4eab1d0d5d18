//! KS-1: a client that waits for a rollout by `kstatus`, as Helm and Flux do, continues when it is complete, and not
//! before; and a rollout that has just begun has not failed.

use plan::keys::condition;
use plan::{Action, Flavour};
use serde_json::Value;
use world::Object;

use crate::checks::{Accepted, Verdict};

/// `Compute` of `github.com/fluxcd/cli-utils`, `pkg/kstatus/status/status.go`, for a custom resource
/// that is not being deleted.
fn kstatus(object: &Object) -> &'static str {
    if object.status.get("observedGeneration") != object.metadata.get("generation") {
        return "InProgress";
    }
    let conditions = object.status.get("conditions").and_then(Value::as_array);
    let entries = || conditions.into_iter().flatten();
    fn text<'a>(entry: &'a Value, field: &str) -> &'a str {
        entry.get(field).and_then(Value::as_str).unwrap_or_default()
    }
    for entry in entries().filter(|entry| text(entry, "status") == "True") {
        match text(entry, "type") {
            "Reconciling" => return "InProgress",
            "Stalled" => return "Failed",
            _ => {}
        }
    }
    match entries().find(|entry| text(entry, "type") == "Ready").map(|ready| text(ready, "status")) {
        Some(status) if status != "True" => "InProgress",
        _ => "Current",
    }
}

/// Whether a rollback that keeps coming back is refused.
fn refuses_rollback(object: &Object) -> bool {
    let conditions = object.status.get("conditions").and_then(Value::as_array);
    let is_refusal =
        |entry: &Value| entry["type"] == condition::ROLLBACK_REFUSED && entry["status"] == "True";
    conditions.is_some_and(|entries| entries.iter().any(is_refusal))
}

/// What a status reports as a whole is true of what the reconcile saw.
pub(super) fn is_true(write: &Accepted<'_>) -> Verdict {
    let (Some(Action::WriteStatus(_)), Some(after)) = (write.action(), write.after) else { return Ok(()) };
    let view = write.view();
    if write.flavour != Flavour::Rollwright || view.workload.deleting {
        return Ok(());
    }
    match kstatus(after) {
        "Current" => {
            let replicas = view.workload.replicas;
            let pods: i64 = view.owned().map(|set| set.set.status.replicas).sum();
            let new = view.new_set();
            if new.map(|new| &new.set.uid) != view.running_set().map(|running| &running.set.uid) {
                return Err("done, and another revision runs than the declared one".to_owned());
            }
            let new = new.map(|set| &set.set.status);
            let (made, available) = new.map_or((0, 0), |status| (status.replicas, status.available));
            if [pods, made, available].iter().any(|count| *count != replicas) {
                return Err(format!(
                    "done, with {pods} pods, {made} of them new, {available} of those available, of {replicas}"
                ));
            }
        }
        // S10: a refused rollback stalls it, whatever the template does.
        "Failed"
            if view.is_created
                && crate::verdict::pin(&view.workload).is_none()
                && !refuses_rollback(after) =>
        {
            let deadline = after.status.get("conditions").map(ToString::to_string);
            return Err(format!("failed in the pass that began the rollout: {deadline:?}"));
        }
        _ => {}
    }
    Ok(())
}
