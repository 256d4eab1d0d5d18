//! A recorded case, changed here and there by a seed: sizes, statuses, annotations, conditions, owners,
//! templates, limits, requests, refusals, on either API.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};
use sim::chance::Dice;

mod sets;

const REVISION: &str = "deployment.kubernetes.io/revision";
const DESIRED: &str = "deployment.kubernetes.io/desired-replicas";
const MAX: &str = "deployment.kubernetes.io/max-replicas";
const ROLLBACK_TO: &str = "deprecated.deployment.rollback.to";
const CHANGE_CAUSE: &str = "kubernetes.io/change-cause";

/// The draws of all variations have this purpose, and those of the simulator another.
const PURPOSE: u64 = 17;
const CHANGES_MAX: u64 = 5;

/// One change of a case.
type Change = fn(&mut Value, &mut Dice);

const CHANGES: &[Change] = &[
    replicas,
    scaled,
    strategy,
    limits,
    switches,
    template,
    rollback,
    annotation,
    counters,
    complete,
    condition,
    pods,
    refusal,
    sets::size,
    sets::size,
    sets::status,
    sets::status,
    sets::annotation,
    sets::owner,
    sets::more,
    sets::fewer,
    sets::failure,
    crowded,
];

/// A variation of a recorded case; the same number makes the same one.
#[must_use]
pub fn vary(recorded: &Value, number: u64) -> Value {
    let (mut case, mut dice) = (recorded.clone(), Dice::new(number, PURPOSE));
    for _ in 0..dice.between(1, CHANGES_MAX) {
        let change = dice.one_of(CHANGES, replicas);
        change(&mut case, &mut dice);
    }
    if dice.percent(50) {
        put_on_rollwright(&mut case, &mut dice);
    }
    if dice.percent(25) {
        let ago = dice.one_of(&[0, 500, 1500, 3000], 0);
        let time = before(&case, ago);
        put(&mut case, "", "statusHeld", time.into());
    }
    let id = case.get("id").and_then(Value::as_str).unwrap_or_default();
    let id = format!("{id}~{number}");
    put(&mut case, "", "id", id.into());
    case
}

/// Sets a member of the object at a path, which comes into being; null takes it away.
fn put(value: &mut Value, path: &str, name: &str, member: Value) {
    let mut place = value;
    for step in path.split('/').skip(1) {
        if !place.is_object() {
            *place = json!({});
        }
        let Some(members) = place.as_object_mut() else { return };
        place = members.entry(step).or_insert_with(|| json!({}));
    }
    if !place.is_object() {
        *place = json!({});
    }
    let Some(members) = place.as_object_mut() else { return };
    if member.is_null() {
        members.remove(name);
    } else {
        members.insert(name.to_owned(), member);
    }
}

const SPEC: &str = "/input/deployment/spec";
const STATUS: &str = "/input/deployment/status";
const METADATA: &str = "/input/deployment/metadata";
const ANNOTATIONS: &str = "/input/deployment/metadata/annotations";

fn number(value: &Value, path: &str) -> i64 {
    value.pointer(path).and_then(Value::as_i64).unwrap_or(0)
}

/// A time this many milliseconds before the case's.
fn before(case: &Value, milliseconds: i64) -> String {
    let now = case.get("now").and_then(Value::as_str).and_then(|now| now.parse::<Timestamp>().ok());
    let before = now.and_then(|now| now.checked_sub(SignedDuration::from_millis(milliseconds)).ok());
    before.unwrap_or(Timestamp::UNIX_EPOCH).to_string()
}

fn few(dice: &mut Dice) -> i64 {
    dice.one_of(&[0, 1, 2, 3, 4, 5, 7, 10, 13, 20], 3)
}

/// Text where numbers are expected, among numbers.
fn written_number(dice: &mut Dice) -> Value {
    let garbage = ["", "garbage", "-1", "+3", "007", "2147483648", "9223372036854775807"];
    if dice.percent(80) { few(dice).to_string().into() } else { dice.one_of(&garbage, "").into() }
}

fn replicas(case: &mut Value, dice: &mut Dice) {
    put(case, SPEC, "replicas", few(dice).into());
}

/// A size that the ReplicaSets were scaled for already: no scaling event.
fn scaled(case: &mut Value, dice: &mut Dice) {
    let replicas = few(dice);
    put(case, SPEC, "replicas", replicas.into());
    for set in sets::all(case) {
        put(set, "/metadata/annotations", DESIRED, replicas.to_string().into());
        put(set, "/metadata/annotations", MAX, (replicas + few(dice)).to_string().into());
    }
}

fn strategy(case: &mut Value, dice: &mut Dice) {
    let strategy = match dice.below(10) {
        0 => json!({ "type": "Other" }),
        1 => json!({ "type": "RollingUpdate", "rollingUpdate": { "maxUnavailable": share(dice) } }),
        2 | 3 => json!({ "type": "Recreate" }),
        _ => json!({
            "type": "RollingUpdate",
            "rollingUpdate": { "maxSurge": share(dice), "maxUnavailable": share(dice) },
        }),
    };
    put(case, SPEC, "strategy", strategy);
}

fn share(dice: &mut Dice) -> Value {
    if dice.percent(50) {
        dice.below(5).into()
    } else {
        dice.one_of(&["0%", "10%", "25%", "34%", "50%", "100%", "300%", "x"], "25%").into()
    }
}

fn limits(case: &mut Value, dice: &mut Dice) {
    let history = dice.one_of(&[Some(0), Some(1), Some(2), Some(10), Some(i32::MAX), None], None);
    let deadline = dice.one_of(&[Some(1), Some(60), Some(600), Some(i32::MAX), None], None);
    put(case, SPEC, "revisionHistoryLimit", json!(history));
    put(case, SPEC, "progressDeadlineSeconds", json!(deadline));
    put(case, SPEC, "minReadySeconds", json!(dice.one_of(&[None, Some(5), Some(43)], None)));
}

/// More ReplicaSets without pods than may stay, so some have to go before there may be another one.
fn crowded(case: &mut Value, dice: &mut Dice) {
    sets::copies(case, dice, 12);
    let limit = dice.one_of(&[0, 1, 2], 0);
    put(case, SPEC, "revisionHistoryLimit", json!(limit));
    if dice.percent(50) {
        template(case, dice);
    }
}

fn switches(case: &mut Value, dice: &mut Dice) {
    match dice.below(10) {
        0 => {
            let time = before(case, 1000);
            put(case, METADATA, "deletionTimestamp", time.into());
        }
        1 => put(case, SPEC, "selector", if dice.percent(50) { json!({}) } else { Value::Null }),
        _ => {
            let is_paused = case.pointer("/input/deployment/spec/paused").is_some();
            put(case, SPEC, "paused", if is_paused { Value::Null } else { true.into() });
        }
    }
}

/// A template that no ReplicaSet has, or that of a ReplicaSet.
fn template(case: &mut Value, dice: &mut Dice) {
    let image = format!("reg.io/app:v{}", dice.below(6));
    let mut next = case.pointer("/input/deployment/spec/template").cloned().unwrap_or_default();
    if let Some(text) = next.pointer_mut("/spec/containers/0/image") {
        *text = image.into();
    }
    if dice.percent(50)
        && let Some(set) = sets::one(case, dice)
    {
        next = set.pointer("/spec/template").cloned().unwrap_or_default();
        put(&mut next, "/metadata/labels", "pod-template-hash", Value::Null);
    }
    put(case, SPEC, "template", next);
    let generation = number(case, "/input/deployment/metadata/generation");
    put(case, METADATA, "generation", (generation + 1).into());
}

fn rollback(case: &mut Value, dice: &mut Dice) {
    let request = if dice.percent(80) { written_number(dice) } else { Value::Null };
    put(case, ANNOTATIONS, ROLLBACK_TO, request);
}

fn annotation(case: &mut Value, dice: &mut Dice) {
    let key = dice.one_of(&["team", CHANGE_CAUSE, REVISION, "rollwright.dev/note"], "team");
    let value = if dice.percent(75) { written_number(dice) } else { Value::Null };
    put(case, ANNOTATIONS, key, value);
}

fn counters(case: &mut Value, dice: &mut Dice) {
    let names = ["replicas", "updatedReplicas", "readyReplicas", "availableReplicas", "unavailableReplicas"];
    for name in names {
        if dice.percent(50) {
            put(case, STATUS, name, few(dice).into());
        }
    }
    let terminating = dice.one_of(&[None, Some(0), Some(2)], None);
    put(case, STATUS, "terminatingReplicas", json!(terminating));
    let generation = number(case, "/input/deployment/metadata/generation");
    put(case, STATUS, "observedGeneration", (generation - dice.one_of(&[0, 0, 1], 0)).into());
    if dice.percent(30) {
        put(case, STATUS, "collisionCount", few(dice).into());
    }
}

/// The status of a rollout that is complete.
fn complete(case: &mut Value, _: &mut Dice) {
    let replicas = number(case, "/input/deployment/spec/replicas");
    for name in ["replicas", "updatedReplicas", "readyReplicas", "availableReplicas"] {
        put(case, STATUS, name, replicas.into());
    }
    let generation = number(case, "/input/deployment/metadata/generation");
    put(case, STATUS, "observedGeneration", generation.into());
}

/// A condition more, another one, or one less; their order changes too.
fn condition(case: &mut Value, dice: &mut Dice) {
    const OF_PROGRESSING: [(&str, &str); 9] = [
        ("True", "NewReplicaSetCreated"),
        ("True", "FoundNewReplicaSet"),
        ("True", "ReplicaSetUpdated"),
        ("True", "NewReplicaSetAvailable"),
        ("Unknown", "DeploymentPaused"),
        ("Unknown", "DeploymentResumed"),
        ("False", "ReplicaSetCreateError"),
        ("False", "ProgressDeadlineExceeded"),
        ("True", "Foreign"),
    ];
    const OTHERS: [(&str, &str, &str); 7] = [
        ("Available", "False", "MinimumReplicasUnavailable"),
        ("Available", "True", "MinimumReplicasAvailable"),
        ("ReplicaFailure", "True", "FailedCreate"),
        ("RollbackRefused", "True", "RepeatedRollback"),
        ("CollisionLimitReached", "True", "HashCollision"),
        ("RevisionLimitReached", "True", "NoIdleReplicaSet"),
        ("Foreign", "True", "Foreign"),
    ];
    let (status, reason) = dice.one_of(&OF_PROGRESSING, ("True", "Foreign"));
    let other = dice.one_of(&OTHERS, ("Foreign", "True", "Foreign"));
    let (kind, status, reason) = if dice.percent(60) { ("Progressing", status, reason) } else { other };
    let age = dice.one_of(&[0, 500, 59_500, 60_500, 599_500, 600_000, 601_000, 7_200_000], 0);
    let time = before(case, age);
    let entry = json!({
        "type": kind, "status": status, "reason": reason, "message": "varied",
        "lastUpdateTime": time, "lastTransitionTime": time,
    });
    let known = case.pointer("/input/deployment/status/conditions").and_then(Value::as_array);
    let mut conditions = known.cloned().unwrap_or_default();
    conditions.retain(|known| known.get("type").and_then(Value::as_str) != Some(kind));
    if dice.percent(75) {
        conditions.push(entry);
    }
    if dice.percent(30) {
        conditions.reverse();
    }
    put(case, STATUS, "conditions", conditions.into());
}

fn pods(case: &mut Value, dice: &mut Dice) {
    let phase = dice.one_of(&["Running", "Pending", "Failed", "Succeeded"], "Failed");
    let pods = case.pointer_mut("/input/pods").and_then(Value::as_array_mut);
    for pod in pods.into_iter().flatten() {
        put(pod, "/status", "phase", phase.into());
    }
    if dice.percent(30) {
        put(case, "/input", "pods", Value::Null);
    }
}

/// A write that the server refuses each time, or none.
fn refusal(case: &mut Value, dice: &mut Dice) {
    const WRITES: [(&str, &str); 6] = [
        ("create", "replicasets"),
        ("update", "replicasets"),
        ("patch", "replicasets"),
        ("delete", "replicasets"),
        ("updateStatus", "deployments"),
        ("update", "deployments"),
    ];
    const REASONS: [(u16, &str); 6] = [
        (403, "Forbidden"),
        (404, "NotFound"),
        (409, "Conflict"),
        (409, "AlreadyExists"),
        (422, "Invalid"),
        (500, "InternalError"),
    ];
    let (verb, resource) = dice.one_of(&WRITES, ("create", "replicasets"));
    let (code, reason) = dice.one_of(&REASONS, (500, "InternalError"));
    let name = if resource == "replicasets" && verb != "create" && dice.percent(60) {
        sets::one(case, dice).and_then(|set| set.pointer("/metadata/name").cloned())
    } else {
        None
    };
    let cause = (verb == "create" && dice.percent(20)).then_some("NamespaceTerminating");
    let message = format!("refused {{name}}: {reason}");
    let fault = json!({
        "verb": verb, "resource": resource, "name": name, "code": code, "reason": reason,
        "message": message, "cause": cause,
    });
    put(case, "/input", "faults", if dice.percent(85) { json!([fault]) } else { Value::Null });
}

/// The same Deployment as one of rollwright.dev: what is in annotations there is in fields here.
fn put_on_rollwright(case: &mut Value, dice: &mut Dice) {
    const OURS: &str = "rollwright.dev/v1";
    put(case, "/input/deployment", "apiVersion", OURS.into());
    let annotations = case.pointer("/input/deployment/metadata/annotations").cloned().unwrap_or_default();
    let written = |key: &str| annotations.get(key).and_then(Value::as_str)?.parse::<i64>().ok();
    if let Some(revision) = written(ROLLBACK_TO) {
        put(case, SPEC, "rollbackTo", json!({ "revision": revision }));
    }
    if dice.percent(70) {
        put(case, STATUS, "revision", json!(written(REVISION)));
    }
    put(case, ANNOTATIONS, ROLLBACK_TO, Value::Null);
    put(case, ANNOTATIONS, REVISION, Value::Null);
    let mut memory = Map::new();
    if dice.percent(15) {
        let (record, recent) = rollbacks(case, dice);
        put(case, STATUS, "rollback", record);
        memory.insert("rollbacks".to_owned(), recent);
    }
    if dice.percent(15) {
        let time = before(case, dice.one_of(&[10_000, 299_000, 301_000], 0));
        let count = dice.between(1, 5);
        let record = json!({ "template": "<fingerprint>", "count": count, "time": time });
        memory.insert("collisions".to_owned(), record);
    }
    if !memory.is_empty() {
        put(case, STATUS, "memory", memory.into());
    }
    for set in sets::all(case) {
        if dice.percent(90) {
            put(set, "/metadata/annotations", "rollwright.dev/fingerprints", "<own-fingerprint>".into());
        }
        put(set, "/metadata/labels", "rollwright.dev/managed", "true".into());
        let owner = set.pointer_mut("/metadata/ownerReferences/0").and_then(Value::as_object_mut);
        let members: Option<&mut Map<String, Value>> = owner;
        _ = members.map(|members| members.insert("apiVersion".to_owned(), OURS.into()));
    }
}

/// `status.rollback` after some rollbacks of the last minutes, and these.
fn rollbacks(case: &Value, dice: &mut Dice) -> (Value, Value) {
    let entry = |ago| json!({ "time": before(case, ago), "from": "v1:other", "to": "<fingerprint>" });
    let recent: Value =
        (0..dice.below(4)).map(|_| entry(dice.one_of(&[1000, 300_000, 700_000], 0))).collect();
    let result = dice.one_of(&["RolledBack", "Refused", "RevisionNotFound"], "RolledBack");
    let requested = case.pointer("/input/deployment/spec/rollbackTo/revision").cloned().unwrap_or(json!(0));
    let record = json!({ "requested": requested, "revision": few(dice), "result": result, "time": before(case, 1000) });
    (record, recent)
}
