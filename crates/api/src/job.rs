//! Jobs as they are created and read (GA-2). Their pod templates stay opaque.

use plan::{Checkpoint, Job, JobSpec, JobState, NewJob, Workload};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::decode::Parts;
use crate::encode::raw;
use crate::jobs::{Custom, JobOf, RequiredJob};

/// Annotation of a Job with the Deployment that it belongs to.
pub const DEPLOYMENT: &str = "rollwright.dev/deployment";
/// Annotation of a Job with the digest of the template that it was created from.
const TEMPLATE: &str = "rollwright.dev/template";
/// For how long a Job stays once it has ended, in seconds: long enough to read its log.
const TIME_TO_LIVE: i64 = 3600;
/// How long its pod may run, if the spec does not state it.
const TIMEOUT_SECONDS: i32 = 600;
/// The same of a deployment process.
const PROCESS_SECONDS: i32 = 3600;
/// How often the process is made again that a signal ended, or an eviction, or the loss of its node (CU-5).
const PROCESS_AGAIN: i64 = 3;
/// Exit codes of a container that a signal ended, so that somebody else did.
const SIGNALS: [i64; 11] = [129, 130, 131, 132, 133, 134, 135, 136, 137, 139, 143];

/// What the planner knows of a Job of the spec.
#[must_use]
pub fn spec(required: &RequiredJob) -> JobSpec {
    let timeout = required.timeout_seconds.unwrap_or(TIMEOUT_SECONDS);
    JobSpec::of(&required.job.template.to_string(), timeout.into())
}

/// Where a spec has the Job of a checkpoint.
#[must_use]
pub fn path(at: Checkpoint) -> String {
    match at {
        Checkpoint::Before => "spec.strategy.hooks.before.job".to_owned(),
        Checkpoint::Step(step) => format!("spec.strategy.rollingUpdate.steps[{step}].gate.job"),
        Checkpoint::Process => "spec.strategy.custom".to_owned(),
        Checkpoint::After => "spec.strategy.hooks.after.job".to_owned(),
    }
}

/// The Job of a checkpoint in a `spec` as it is stored.
#[must_use]
pub fn of(spec: &Value, at: Checkpoint) -> Option<RequiredJob> {
    let path = match at {
        Checkpoint::Before => "/strategy/hooks/before".to_owned(),
        Checkpoint::Step(step) => format!("/strategy/rollingUpdate/steps/{step}/gate"),
        Checkpoint::Process => {
            let custom: Custom = serde_json::from_value(spec.pointer("/strategy/custom")?.clone()).ok()?;
            return Some(process(&custom));
        }
        Checkpoint::After => "/strategy/hooks/after".to_owned(),
    };
    serde_json::from_value(spec.pointer(&path)?.clone()).ok()
}

/// The Job of a deployment process (CU-1).
#[must_use]
pub fn process(custom: &Custom) -> RequiredJob {
    let Custom { image, command, args, env, service_account_name, resources, timeout_seconds } = custom;
    let container = members([
        ("name", "process".into()),
        ("image", image.as_str().into()),
        ("command", command.clone().into()),
        ("args", args.clone().into()),
        ("env", env.clone().into()),
        ("resources", resources.clone().into()),
    ]);
    let spec = members([
        ("serviceAccountName", service_account_name.as_deref().into()),
        ("restartPolicy", "Never".into()),
        ("containers", json!([container])),
    ]);
    let template = json!({ "spec": spec });
    RequiredJob { job: JobOf { template }, timeout_seconds: Some(timeout_seconds.unwrap_or(PROCESS_SECONDS)) }
}

fn members<const N: usize>(all: [(&str, Value); N]) -> Value {
    let known = all.into_iter().filter(|(_, value)| !value.is_null());
    known.map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Whether the pods of a template would count as those of the Deployment (GA-5).
#[must_use]
pub fn matches_deployment(workload: &Workload, job: &RequiredJob) -> bool {
    let labels = job.job.template.pointer("/metadata/labels").and_then(Value::as_object);
    let labels = labels.into_iter().flatten();
    let labels = labels.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect();
    workload.selector.as_ref().is_some_and(|selector| selector.matches(&labels))
}

/// The Job as it is created.
#[must_use]
pub fn body(workload: &Workload, new: &NewJob, job: RequiredJob) -> Box<RawValue> {
    let owner = json!({
        "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": new.set, "uid": new.set_uid, "controller": true,
    });
    let own = [("name", new.name.as_str().into()), ("ownerReferences", json!([owner]))];
    let metadata = metadata(workload, &job, own);
    whole(&metadata, new.at, job, &new.environment)
}

/// The Job of a dry run: with a name of its own, so that no Job is an obstacle.
#[must_use]
pub fn dry_run_body(workload: &Workload, at: Checkpoint, job: RequiredJob) -> Box<RawValue> {
    whole(&metadata(workload, &job, [("generateName", "rollwright-dry-run-".into())]), at, job, &[])
}

fn metadata<const N: usize>(workload: &Workload, job: &RequiredJob, own: [(&str, Value); N]) -> Value {
    let all = [
        ("namespace", workload.namespace.as_str().into()),
        ("labels", json!({ plan::keys::MANAGED_LABEL: plan::keys::MANAGED_VALUE })),
        ("annotations", json!({ DEPLOYMENT: workload.name, TEMPLATE: spec(job).digest })),
    ];
    all.into_iter().chain(own).map(|(name, value)| (name.to_owned(), value)).collect()
}

fn whole(
    metadata: &Value,
    at: Checkpoint,
    job: RequiredJob,
    environment: &[(&str, String)],
) -> Box<RawValue> {
    let mut template = job.job.template;
    if let Some(spec) = template.get_mut("spec").and_then(Value::as_object_mut) {
        spec.entry("restartPolicy").or_insert_with(|| "Never".into());
        for containers in ["initContainers", "containers"] {
            let containers = spec.get_mut(containers).and_then(Value::as_array_mut);
            let containers = containers.into_iter().flatten().filter_map(Value::as_object_mut);
            for container in containers {
                let variables =
                    environment.iter().map(|(name, value)| json!({ "name": name, "value": value }));
                let all = container.entry("env").or_insert_with(|| json!([]));
                // What the author sets comes later, and counts.
                let written = all.as_array().cloned().unwrap_or_default();
                *all = variables.chain(written).collect();
            }
        }
    }
    // The Job controller makes a process again, unless that ended by itself.
    let is_ended = json!({ "operator": "NotIn", "values": SIGNALS });
    let policy = json!({ "rules": [{ "action": "FailJob", "onExitCodes": is_ended }] });
    let is_process = at == Checkpoint::Process;
    let spec = members([
        ("parallelism", 1.into()),
        ("completions", 1.into()),
        ("backoffLimit", if is_process { PROCESS_AGAIN } else { 0 }.into()),
        ("podFailurePolicy", is_process.then_some(policy).into()),
        ("ttlSecondsAfterFinished", TIME_TO_LIVE.into()),
        ("template", template),
    ]);
    raw(&json!({ "apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec }))
}

/// A Job as it is read. Why it failed, or its pod does not run, stands with its pod.
#[must_use]
pub fn read<'a>(object: impl Into<Parts<'a>>) -> Job {
    let Parts { metadata, status, .. } = object.into();
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let owners = metadata.get("ownerReferences").and_then(Value::as_array).into_iter().flatten();
    let mut controllers = owners.filter(|owner| owner["controller"] == true);
    let conditions = status.get("conditions").and_then(Value::as_array);
    let holds =
        |kind: &str| conditions.into_iter().flatten().find(|it| it["type"] == kind && it["status"] == "True");
    let state = if let Some(failed) = holds("Failed") {
        let words = [&failed["reason"], &failed["message"]].map(|it| it.as_str().unwrap_or_default());
        JobState::Failed(words.join(": ").trim_matches([':', ' ']).to_owned())
    } else if holds("Complete").is_some() {
        JobState::Succeeded
    } else if metadata.get("deletionTimestamp").is_some_and(|time| !time.is_null()) {
        JobState::Deleting
    } else if status.get("ready").and_then(Value::as_i64).is_some_and(|ready| ready > 0) {
        JobState::Running
    } else {
        JobState::Waiting(None)
    };
    Job {
        uid: metadata.get("uid").and_then(text).unwrap_or_default(),
        digest: metadata.get("annotations").and_then(|all| text(&all[TEMPLATE])).unwrap_or_default(),
        controller_uid: controllers.next().and_then(|owner| text(&owner["uid"])),
        state,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_as_far_as_its_conditions_and_its_ready_pod_show() {
        let read = |metadata: Value, status: Value| {
            read(&json!({ "metadata": metadata, "spec": {}, "status": status })).state
        };
        let condition = |kind: &str, status: &str| {
            json!({ "active": 1, "conditions": [{
                "type": kind, "status": status, "reason": "BackoffLimitExceeded", "message": "limit",
            }] })
        };
        assert_eq!(read(json!({}), json!({})), JobState::Waiting(None));
        assert_eq!(read(json!({}), json!({ "active": 1, "ready": 0 })), JobState::Waiting(None));
        assert_eq!(read(json!({}), json!({ "active": 1, "ready": 1 })), JobState::Running);
        assert_eq!(read(json!({}), condition("Complete", "True")), JobState::Succeeded);
        assert_eq!(read(json!({}), condition("SuccessCriteriaMet", "True")), JobState::Waiting(None));
        assert_eq!(read(json!({}), condition("Failed", "False")), JobState::Waiting(None));
        let failed = JobState::Failed("BackoffLimitExceeded: limit".to_owned());
        assert_eq!(read(json!({}), condition("Failed", "True")), failed);
        let gone = json!({ "deletionTimestamp": "2026-04-01T12:00:00Z" });
        assert_eq!(read(gone.clone(), json!({ "ready": 1 })), JobState::Deleting);
        assert_eq!(read(gone, condition("Complete", "True")), JobState::Succeeded, "it ended before");
    }

    #[test]
    fn each_container_gets_the_environment_before_its_own_and_no_pod_starts_again() {
        let template = json!({ "spec": {
            "initContainers": [{ "name": "first", "image": "a" }],
            "containers": [{ "name": "app", "image": "b", "env": [{ "name": "ROLLWRIGHT_STEP", "value": "mine" }] }],
        } });
        let job = RequiredJob { job: JobOf { template }, timeout_seconds: None };
        let body = whole(&json!({}), Checkpoint::Before, job, &[("ROLLWRIGHT_STEP", "2".to_owned())]);
        let body: Value = serde_json::from_str(body.get()).unwrap();
        let names = |path: &str| body.pointer(path).unwrap().as_array().unwrap().len();
        assert_eq!(names("/spec/template/spec/initContainers/0/env"), 1);
        assert_eq!(names("/spec/template/spec/containers/0/env"), 2);
        assert_eq!(body["spec"]["template"]["spec"]["containers"][0]["env"][1]["value"], "mine");
        assert_eq!(body["spec"]["template"]["spec"]["restartPolicy"], "Never");
    }
}
