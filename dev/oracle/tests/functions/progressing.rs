//! Completion, progress and the deadline (S9).

use jiff::Timestamp;
use plan::{Condition, Requeue};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::Answer;
use crate::snapshot;

pub(crate) fn is_complete(input: &Value) -> Answer {
    let status = snapshot::status(&input["status"]);
    let (replicas, generation) = (input["replicas"].as_i64().unwrap(), input["generation"].as_i64().unwrap());
    json!(status.is_complete(replicas, generation)).into()
}

pub(crate) fn is_progressing(input: &Value) -> Answer {
    let (old, new) = (snapshot::status(&input["old"]), snapshot::status(&input["new"]));
    json!(new.is_better_than(&old)).into()
}

fn now(input: &Value) -> Timestamp {
    input["now"].as_str().unwrap().parse().unwrap()
}

fn progressing(input: &Value) -> Option<Condition> {
    let mut condition = input.get("condition").filter(|condition| !condition.is_null())?.clone();
    condition["type"] = json!(plan::keys::condition::PROGRESSING);
    Some(read(&condition))
}

fn read(condition: &Value) -> Condition {
    api::Condition::deserialize(condition).unwrap().into()
}

pub(crate) fn is_timed_out(input: &Value) -> Answer {
    // No deadline, or one that means none (S9.9): the decoder knows.
    let deadline = snapshot::workload(input).progress_deadline_seconds;
    let condition = progressing(input);
    json!(deadline.is_some_and(|deadline| {
        condition.as_ref().is_some_and(|condition| condition.is_timed_out(deadline, now(input)))
    }))
    .into()
}

pub(crate) fn requeue(input: &Value) -> Answer {
    let mut status = snapshot::status(&input["newStatus"]);
    status.conditions.extend(progressing(input));
    let (replicas, generation) = (input["replicas"].as_i64().unwrap(), input["generation"].as_i64().unwrap());
    let deadline = snapshot::workload(input).progress_deadline_seconds;
    let deadline = deadline.filter(|_| !status.is_complete(replicas, generation));
    let requeue = deadline.map_or(Requeue::OnChange, |deadline| status.requeue_after(deadline, now(input)));
    match (requeue, requeue.time()) {
        (Requeue::Again, _) => json!({ "returned": 0, "requeueAfterSeconds": 0 }),
        (_, None) => json!({ "returned": -1, "requeueAfterSeconds": null }),
        (_, Some(time)) => {
            let delay = time.duration_since(now(input)).as_secs_f64();
            json!({ "returned": delay - 1.0, "requeueAfterSeconds": delay })
        }
    }
    .into()
}

pub(crate) fn set_condition(input: &Value) -> Answer {
    let mut conditions: Vec<_> = input["conditions"].as_array().unwrap().iter().map(read).collect();
    read(&input["new"]).set_in(&mut conditions);
    let conditions: Vec<_> = conditions.iter().map(api::Condition::from).collect();
    snapshot::without_empty_text(json!(conditions)).into()
}
