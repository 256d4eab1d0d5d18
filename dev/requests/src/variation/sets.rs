//! Changes of a case's ReplicaSets.

use serde_json::{Value, json};
use sim::chance::Dice;

use super::{CHANGE_CAUSE, DESIRED, MAX, REVISION, before, few, number, put, written_number};

const ANNOTATIONS: &str = "/metadata/annotations";

pub(super) fn all(case: &mut Value) -> impl Iterator<Item = &mut Value> {
    case.pointer_mut("/input/replicaSets").and_then(Value::as_array_mut).into_iter().flatten()
}

pub(super) fn one<'a>(case: &'a mut Value, dice: &mut Dice) -> Option<&'a mut Value> {
    let sets = case.pointer_mut("/input/replicaSets").and_then(Value::as_array_mut)?;
    let index = usize::try_from(dice.below(sets.len() as u64)).ok()?;
    sets.get_mut(index)
}

/// Another size; every other time its pods are there already.
pub(super) fn size(case: &mut Value, dice: &mut Dice) {
    let Some(set) = one(case, dice) else { return };
    let size = few(dice);
    put(set, "/spec", "replicas", size.into());
    if dice.percent(50) {
        for name in ["replicas", "readyReplicas", "availableReplicas"] {
            put(set, "/status", name, size.into());
        }
        let generation = number(set, "/metadata/generation");
        put(set, "/status", "observedGeneration", generation.into());
    }
}

pub(super) fn status(case: &mut Value, dice: &mut Dice) {
    let Some(set) = one(case, dice) else { return };
    let pods = if dice.percent(60) { number(set, "/spec/replicas") } else { few(dice) };
    let ready = pods - pods.min(dice.one_of(&[0, 0, 1, 2, 20], 0));
    let available = ready - ready.min(dice.one_of(&[0, 0, 1, 20], 0));
    put(set, "/status", "replicas", pods.into());
    put(set, "/status", "readyReplicas", ready.into());
    put(set, "/status", "availableReplicas", available.into());
    put(set, "/status", "terminatingReplicas", json!(dice.one_of(&[None, Some(0), Some(2)], None)));
    let generation = number(set, "/metadata/generation");
    put(set, "/status", "observedGeneration", (generation - dice.one_of(&[0, 0, 1], 0)).into());
}

pub(super) fn annotation(case: &mut Value, dice: &mut Dice) {
    let replicas = number(case, "/input/deployment/spec/replicas");
    let Some(set) = one(case, dice) else { return };
    let history = "deployment.kubernetes.io/revision-history";
    let key = dice.one_of(&[DESIRED, MAX, REVISION, history, CHANGE_CAUSE, "team"], DESIRED);
    let value = match dice.below(10) {
        0 | 1 => Value::Null,
        2 | 3 => replicas.to_string().into(),
        _ => written_number(dice),
    };
    put(set, ANNOTATIONS, key, value);
}

/// Nobody's, somebody else's, out of the selector, or on its way out.
pub(super) fn owner(case: &mut Value, dice: &mut Dice) {
    let time = before(case, 1000);
    let Some(set) = one(case, dice) else { return };
    match dice.below(5) {
        0 | 1 => put(set, "/metadata", "ownerReferences", Value::Null),
        2 => put(set, "/metadata", "deletionTimestamp", time.into()),
        3 => put(set, "/metadata", "labels", json!({ "somebody": "else" })),
        _ => {
            if let Some(uid) = set.pointer_mut("/metadata/ownerReferences/0/uid") {
                *uid = "somebody-else".into();
            }
        }
    }
}

/// A longer history.
pub(super) fn more(case: &mut Value, dice: &mut Dice) {
    let count = dice.one_of(&[1, 2, 6, 20], 1);
    copies(case, dice, count);
}

/// Copies of a ReplicaSet, without pods.
pub(super) fn copies(case: &mut Value, dice: &mut Dice, count: i64) {
    let Some(model) = one(case, dice).cloned() else { return };
    let copies = (0..count).map(|number| {
        let mut copy = model.clone();
        put(&mut copy, "/metadata", "name", format!("copy-{number}").into());
        put(&mut copy, "/metadata", "uid", format!("copy-{number}").into());
        put(&mut copy, "/metadata", "resourceVersion", (3000 + number).to_string().into());
        put(&mut copy, ANNOTATIONS, REVISION, number.to_string().into());
        put(&mut copy, "/spec", "replicas", json!(0));
        if let Some(image) = copy.pointer_mut("/spec/template/spec/containers/0/image") {
            *image = format!("reg.io/app:copy{number}").into();
        }
        let generation = super::number(&copy, "/metadata/generation");
        let busy = i64::from(dice.percent(10));
        put(&mut copy, "", "status", json!({ "observedGeneration": generation, "replicas": busy }));
        copy
    });
    let copies: Vec<_> = copies.collect();
    let sets = case.pointer_mut("/input/replicaSets").and_then(Value::as_array_mut);
    sets.into_iter().for_each(|sets| {
        sets.retain(|set| !set.pointer("/metadata/uid").is_some_and(is_copy));
        sets.extend(copies.iter().cloned());
    });
}

fn is_copy(uid: &Value) -> bool {
    uid.as_str().is_some_and(|uid| uid.starts_with("copy-"))
}

pub(super) fn fewer(case: &mut Value, dice: &mut Dice) {
    let Some(name) = one(case, dice).and_then(|set| set.pointer("/metadata/name").cloned()) else { return };
    let sets = case.pointer_mut("/input/replicaSets").and_then(Value::as_array_mut);
    sets.into_iter().for_each(|sets| sets.retain(|set| set.pointer("/metadata/name") != Some(&name)));
}

/// Its controller cannot make the pods.
pub(super) fn failure(case: &mut Value, dice: &mut Dice) {
    let time = before(case, dice.one_of(&[1000, 900_000], 1000));
    let Some(set) = one(case, dice) else { return };
    let failure = json!({
        "type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": "over quota",
        "lastTransitionTime": time,
    });
    put(set, "/status", "conditions", if dice.percent(80) { json!([failure]) } else { Value::Null });
}
