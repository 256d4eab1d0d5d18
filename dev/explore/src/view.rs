//! What a reconcile begins with, as the planner takes it.

use jiff::Timestamp;
use plan::intstr::IntOrPercent;
use plan::keys::{
    ABORT, DESIRED_REPLICAS, FINGERPRINTS, HASH_LABEL, MANAGED_LABEL, MANAGED_VALUE, MAX_REPLICAS, REVISION,
    ROLLOUT,
};
use plan::selector::LabelSelector;
use plan::template::{Fingerprint, digest, pod_template_hash};
use plan::{
    Answers, Authors, FailureAction, FailurePolicy, Flavour, Map, Observed, Options, Outline, Pace, Pin, Pod,
    ReplicaSet, SetStatus, TemplateSummary, Workload,
};
use serde_json::{Value, json};

use crate::scope::{Breakage, Scope};
use crate::state::{Deployment, Memory, Set, Statuses, Verdict};

const OWNER: &str = "owner";
const NAME: &str = "web";
/// The version of every object in a snapshot; the model knows whether it is the newest.
pub(crate) const VERSION: &str = "1";

/// A snapshot: the cache, and the pods that are there in truth (for Recreate, which asks).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct View {
    pub(crate) deployment: Deployment,
    pub(crate) sets: Vec<Set>,
    /// uids of ReplicaSets that have pods.
    pub(crate) with_pods: Vec<u8>,
}

pub(crate) fn now() -> Timestamp {
    Timestamp::UNIX_EPOCH
}

pub(crate) fn template(number: u8) -> Value {
    let image = char::from(b'a' + number).to_string();
    json!({
        "metadata": { "labels": { "app": NAME } },
        "spec": { "containers": [{ "name": "app", "image": image }] },
    })
}

/// Which template it is.
pub(crate) fn template_number(template: &Value) -> u8 {
    let image = template.pointer("/spec/containers/0/image").and_then(Value::as_str);
    image.and_then(|image| image.bytes().next()).map_or(0, |letter| letter - b'a')
}

pub(crate) fn set_name(number: u8, collisions: u8) -> String {
    let count = (collisions > 0).then_some(i32::from(collisions));
    plan::set_name(NAME, &pod_template_hash(&template(number), count))
}

fn hash(number: u8) -> String {
    pod_template_hash(&template(number), None)
}

pub(crate) fn uid_text(uid: u8) -> String {
    format!("set-{uid}")
}

/// What an annotation has of it.
pub(crate) fn memory(text: &str) -> Option<Memory> {
    let memory: Value = serde_json::from_str(text).ok()?;
    let number = |value: Option<&Value>| u8::try_from(value?.as_u64()?).ok();
    let verdict = match memory.get("verdict").and_then(Value::as_str) {
        Some("Good") => Some(Verdict::Good),
        Some(_) => Some(Verdict::Aborted),
        None => None,
    };
    let abort = memory.get("abort").and_then(Value::as_str).and_then(|text| text.parse().ok());
    Some(Memory { revision: number(memory.get("revision"))?, verdict, abort })
}

fn memory_text(memory: Memory) -> String {
    let Memory { revision, verdict, abort } = memory;
    let is_aborted = verdict == Some(Verdict::Aborted);
    let verdict = verdict.map(|_| if is_aborted { "Failed" } else { "Good" });
    let abort = abort.map(|revision| revision.to_string());
    json!({ "version": 1, "revision": revision, "verdict": verdict, "aborted": is_aborted, "abort": abort })
        .to_string()
}

/// Of each policy.
fn policy() -> FailurePolicy {
    FailurePolicy {
        action: FailureAction::Revert,
        deadline: true,
        restarts: None,
        stuck_seconds: None,
        min_pods: IntOrPercent::Int(1),
        bake_seconds: 0,
    }
}

fn labels() -> Map {
    Map::from([("app".to_owned(), NAME.to_owned())])
}

/// The snapshot as the planner takes it.
pub(crate) fn observed(view: &View, scope: &Scope, statuses: &Statuses) -> Observed {
    let pods = view
        .with_pods
        .iter()
        .map(|uid| Pod { controller_uid: Some(uid_text(*uid)), phase: "Running".to_owned() });
    let answers = Answers { pods: Some(pods.collect()), ..Answers::default() };
    Observed {
        flavour: Flavour::Rollwright,
        workload: workload(&view.deployment, scope, statuses),
        sets: view.sets.iter().map(replica_set).collect(),
        answers,
        options: Options::new(true, Pace::EachReconcile),
    }
}

fn workload(deployment: &Deployment, scope: &Scope, statuses: &Statuses) -> Workload {
    let template = template(deployment.template);
    Workload {
        namespace: "default".to_owned(),
        name: NAME.to_owned(),
        uid: OWNER.to_owned(),
        resource_version: VERSION.to_owned(),
        generation: i64::from(deployment.generation),
        created: Timestamp::UNIX_EPOCH,
        deleting: false,
        annotations: deployment
            .abort
            .map(|revision| (ABORT.to_owned(), revision.to_string()))
            .into_iter()
            .collect(),
        replicas: i64::from(deployment.replicas),
        selector: Some(LabelSelector { match_labels: labels(), ..LabelSelector::default() }),
        strategy: scope.told_strategy(),
        steps: Vec::new(),
        skips_proven: true,
        min_ready_seconds: 0,
        revision_history_limit: Some(i64::from(scope.history)),
        progress_deadline_seconds: None,
        paused: deployment.paused && scope.breakage != Breakage::Pause,
        rollback_to: None,
        failure_policy: scope.reverts.then(policy),
        pin: deployment.pin.map(|number| Pin { hash: hash(number), ..Pin::default() }),
        unknown_field: None,
        authors: Authors::default(),
        template: TemplateSummary {
            fingerprint: Fingerprint::of(&template),
            outline: Outline::default(),
            labels: labels(),
            containers: String::new(),
            images: String::new(),
        },
        status: statuses.get(deployment.status),
    }
}

/// A ReplicaSet as the planner takes it.
pub(crate) fn replica_set(set: &Set) -> ReplicaSet {
    let template = template(set.template);
    let fingerprint = Fingerprint::of(&template);
    let mut labels = labels();
    labels.insert(HASH_LABEL.to_owned(), hash(set.template));
    labels.insert(MANAGED_LABEL.to_owned(), MANAGED_VALUE.to_owned());
    let mut annotations = Map::from([
        (REVISION.to_owned(), set.revision.to_string()),
        (FINGERPRINTS.to_owned(), fingerprint.as_str().to_owned()),
    ]);
    annotations.extend(set.desired.map(|count| (DESIRED_REPLICAS.to_owned(), count.to_string())));
    annotations.extend(set.memory.map(|memory| (ROLLOUT.to_owned(), memory_text(memory))));
    annotations.extend(set.max.map(|count| (MAX_REPLICAS.to_owned(), count.to_string())));
    ReplicaSet {
        name: set_name(set.template, set.collisions),
        uid: uid_text(set.uid),
        resource_version: VERSION.to_owned(),
        generation: 2,
        created: Timestamp::from_second(i64::from(set.uid)).unwrap_or_default(),
        deleting: false,
        labels,
        annotations,
        controller_uid: Some(OWNER.to_owned()),
        size: i64::from(set.size),
        min_ready_seconds: 0,
        fingerprints: vec![fingerprint],
        stored: digest(&template),
        status: SetStatus {
            replicas: i64::from(set.reported.replicas),
            ready: i64::from(set.reported.available),
            available: i64::from(set.reported.available),
            terminating: Some(0),
            observed_generation: if set.reported.is_observed { 2 } else { 1 },
            failure: None,
        },
    }
}
