//! Jobs: their pods, how they end, and what goes with them.
use std::sync::Arc;

use jiff::SignedDuration;
use serde_json::{Value, json};
use world::{
    Cluster, Defaults, Deletion, ENDS_AFTER_MS, EXIT_CODE, Key, Mode, NEVER, Object, Patch, PodRules,
    Preconditions, Propagation, REFUSED, Resource, Subresource, WAITS,
};

const NAMESPACE: &str = "shop";

fn cluster() -> Cluster {
    let mut cluster = Cluster::new("2026-01-01T00:00:00Z".parse().unwrap());
    cluster.store.add_admission(Arc::new(Defaults::default()));
    cluster.store.add_admission(Arc::new(PodRules));
    cluster
}

/// Creates the Job `check`, with these members of its spec and these annotations of its pod.
fn job(cluster: &mut Cluster, spec: &Value, annotations: &Value) -> Object {
    let mut all = json!({
        "backoffLimit": 0,
        "template": {
            "metadata": {"annotations": annotations},
            "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "check:1"}]},
        },
    });
    merge(&mut all, spec);
    let metadata = json!({"name": "check", "namespace": NAMESPACE});
    let object = Object::from_value(Resource::Jobs, json!({"metadata": metadata, "spec": all}));
    cluster.store.create(object, Mode::Store).unwrap()
}

fn merge(value: &mut Value, change: &Value) {
    for (name, change) in change.as_object().unwrap() {
        match change {
            Value::Object(_) => merge(&mut value[name], change),
            other => value[name] = other.clone(),
        }
    }
}

fn after(cluster: &mut Cluster, milliseconds: i64) {
    let now = cluster.store.now() + SignedDuration::from_millis(milliseconds);
    cluster.advance_to(now);
}

fn key() -> Key {
    Key::new(Resource::Jobs, NAMESPACE, "check")
}

fn status(cluster: &Cluster) -> Value {
    Value::clone(&cluster.store.get(&key()).unwrap().status)
}

fn pods(cluster: &Cluster) -> Vec<Object> {
    cluster.store.list(Resource::Pods, Some(NAMESPACE)).cloned().collect()
}

fn conditions(cluster: &Cluster) -> Vec<(String, String)> {
    let text = |one: &Value, field: &str| one[field].as_str().unwrap().to_owned();
    let status = status(cluster);
    let conditions = status["conditions"].as_array().cloned().unwrap_or_default();
    conditions.iter().map(|one| (text(one, "type"), text(one, "reason"))).collect()
}

fn ends(first: &str, second: &str, reason: &str) -> Vec<(String, String)> {
    [first, second].map(|kind| (kind.to_owned(), reason.to_owned())).to_vec()
}

#[test]
fn a_job_runs_its_pod_once_and_is_complete() {
    let mut cluster = cluster();
    let created = job(&mut cluster, &json!({}), &json!({}));
    assert_eq!(created.spec["completions"], 1);
    assert_eq!(created.spec["selector"]["matchLabels"]["batch.kubernetes.io/controller-uid"], created.uid());
    after(&mut cluster, 200);
    let [pod] = <[Object; 1]>::try_from(pods(&cluster)).unwrap();
    assert!(pod.name().starts_with("check-"), "{}", pod.name());
    assert_eq!(pod.controller_uid(), Some(created.uid()));
    assert_eq!(pod.label("batch.kubernetes.io/job-name"), Some("check"));
    assert_eq!(
        status(&cluster),
        json!({"startTime": "2026-01-01T00:00:00Z", "active": 1, "ready": 1, "terminating": 0,
            "uncountedTerminatedPods": {}}),
    );
    after(&mut cluster, 60_000);
    let end = status(&cluster);
    assert_eq!((&end["succeeded"], &end["ready"], end.get("active")), (&json!(1), &json!(0), None));
    assert_eq!(end["completionTime"], "2026-01-01T00:00:02Z");
    assert_eq!(conditions(&cluster), ends("SuccessCriteriaMet", "Complete", "CompletionsReached"));
    let ended = &pods(&cluster)[0];
    assert_eq!(ended.status["containerStatuses"][0]["state"]["terminated"]["reason"], "Completed");
    assert_eq!(ended.finalizers().count(), 0);
    let versions = cluster.store.changes(Resource::Jobs, 0).unwrap();
    assert!(
        versions
            .map(|change| change.object.status.to_string())
            .any(|status| { status.contains("SuccessCriteriaMet") && !status.contains("\"Complete\"") })
    );
}

#[test]
fn a_job_fails_when_its_pods_have_failed_too_often() {
    for (limit, pods_expected) in [(0, 1), (2, 3)] {
        let mut cluster = cluster();
        let annotations = json!({EXIT_CODE: "3", ENDS_AFTER_MS: "5000"});
        job(&mut cluster, &json!({"backoffLimit": limit}), &annotations);
        after(&mut cluster, 4000);
        assert_eq!(conditions(&cluster), []);
        after(&mut cluster, 120_000);
        assert_eq!(conditions(&cluster), ends("FailureTarget", "Failed", "BackoffLimitExceeded"));
        let end = status(&cluster);
        assert_eq!(end["conditions"][1]["message"], "Job has reached the specified backoff limit");
        assert_eq!((&end["failed"], end.get("completionTime")), (&json!(pods_expected), None));
        let ended = pods(&cluster);
        assert_eq!(ended.len(), pods_expected);
        assert_eq!(ended[0].status["phase"], "Failed");
        let terminated = &ended[0].status["containerStatuses"][0]["state"]["terminated"];
        assert_eq!((&terminated["exitCode"], &terminated["reason"]), (&json!(3), &json!("Error")));
    }
}

#[test]
fn a_rule_for_exit_codes_fails_a_job_before_its_limit() {
    for (code, pods_expected, reason) in [("1", 1, "PodFailurePolicy"), ("137", 4, "BackoffLimitExceeded")] {
        let mut cluster = cluster();
        let rules =
            json!([{"action": "FailJob", "onExitCodes": {"operator": "NotIn", "values": [137, 143]}}]);
        let spec = json!({"backoffLimit": 3, "podFailurePolicy": {"rules": rules}});
        job(&mut cluster, &spec, &json!({EXIT_CODE: code, ENDS_AFTER_MS: "1000"}));
        after(&mut cluster, 600_000);
        assert_eq!(conditions(&cluster), ends("FailureTarget", "Failed", reason), "{code}");
        assert_eq!(pods(&cluster).len(), pods_expected, "{code}");
    }
}

/// Its pod cannot start, runs for ever, or is started again and again.
#[test]
fn a_job_whose_pod_does_not_end_waits_until_its_deadline() {
    let restarted = json!({"template": {"spec": {"restartPolicy": "OnFailure"}}, "backoffLimit": 1});
    for (spec, annotations, reason) in [
        (json!({"template": {"spec": {"containers": [{"name": "main", "image": "bad"}]}}}), json!({}), None),
        (json!({}), json!({WAITS: "CreateContainerConfigError: no"}), None),
        (json!({}), json!({ENDS_AFTER_MS: NEVER}), None),
        (restarted, json!({EXIT_CODE: "1"}), Some("BackoffLimitExceeded")),
    ] {
        let mut cluster = cluster();
        let mut spec = spec;
        spec["activeDeadlineSeconds"] = json!(3600);
        job(&mut cluster, &spec, &annotations);
        after(&mut cluster, 3_500_000);
        let early = reason.map(|reason| ends("FailureTarget", "Failed", reason));
        assert_eq!(conditions(&cluster), early.clone().unwrap_or_default(), "{spec} {annotations}");
        assert_eq!(status(&cluster)["active"].is_null(), early.is_some());
        after(&mut cluster, 120_000);
        let late = ends("FailureTarget", "Failed", "DeadlineExceeded");
        assert_eq!(conditions(&cluster), early.unwrap_or(late), "{spec} {annotations}");
        assert_eq!((status(&cluster)["failed"].clone(), pods(&cluster).len()), (json!(1), 0));
    }
}

#[test]
fn a_pod_that_is_deleted_has_failed() {
    let mut cluster = cluster();
    job(&mut cluster, &json!({}), &json!({}));
    after(&mut cluster, 1000);
    let pod = Key::of(&pods(&cluster)[0]);
    cluster.store.delete(&pod, &Deletion::default()).unwrap();
    after(&mut cluster, 1000);
    assert_eq!(conditions(&cluster), ends("FailureTarget", "Failed", "BackoffLimitExceeded"));
    assert_eq!(pods(&cluster).len(), 0);
}

#[test]
fn a_refused_pod_is_created_later() {
    let mut cluster = cluster();
    let created = job(&mut cluster, &json!({}), &json!({}));
    let quota = json!({"metadata": {"name": "none", "namespace": NAMESPACE}, "spec": {"hard": {"pods": 0}}});
    let quota = Object::from_value(Resource::ResourceQuotas, quota);
    let quota = Key::of(&cluster.store.create(quota, Mode::Store).unwrap());
    after(&mut cluster, 30_000);
    assert_eq!((pods(&cluster).len(), status(&cluster)["startTime"].is_string()), (0, true));
    let event = cluster.store.list(Resource::Events, Some(NAMESPACE)).next().unwrap().to_value();
    assert_eq!(
        (&event["reason"], &event["involvedObject"]["uid"]),
        (&json!("FailedCreate"), &json!(created.uid()))
    );
    cluster.store.delete(&quota, &Deletion::default()).unwrap();
    after(&mut cluster, 60_000);
    assert_eq!(status(&cluster)["succeeded"], 1);
}

/// `None` names no policy for the pods, which then stay.
#[test]
fn a_deleted_job_takes_its_pods_away_if_that_is_asked_for() {
    for (propagation, left) in [
        (Some(Propagation::Background), 0),
        (Some(Propagation::Foreground), 0),
        (Some(Propagation::Orphan), 1),
        (None, 1),
    ] {
        let mut cluster = cluster();
        let uid = job(&mut cluster, &json!({}), &json!({})).uid().to_owned();
        after(&mut cluster, 500);
        let preconditions = Preconditions { uid: Some(uid), resource_version: None };
        let deletion = Deletion { preconditions, propagation, ..Deletion::default() };
        cluster.store.delete(&key(), &deletion).unwrap();
        after(&mut cluster, 1000);
        assert!(cluster.store.get(&key()).is_none(), "{propagation:?}");
        let pods = pods(&cluster);
        assert_eq!(pods.len(), left, "{propagation:?}");
        assert!(pods.iter().all(|pod| pod.finalizers().count() == 0 && pod.owners().count() == 0));
    }
}

#[test]
fn a_job_goes_some_time_after_its_end_and_with_its_owner() {
    let mut cluster = cluster();
    job(&mut cluster, &json!({"ttlSecondsAfterFinished": 60}), &json!({}));
    after(&mut cluster, 60_000);
    assert_eq!(status(&cluster)["succeeded"], 1);
    after(&mut cluster, 4000);
    assert_eq!((cluster.store.get(&key()), pods(&cluster).len()), (None, 0));

    let labels = json!({"app": "web"});
    let template = json!({"metadata": {"labels": labels}, "spec": {"containers": []}});
    let set = json!({
        "metadata": {"name": "web", "namespace": NAMESPACE},
        "spec": {"replicas": 0, "selector": {"matchLabels": labels}, "template": template},
    });
    let set = cluster.store.create(Object::from_value(Resource::ReplicaSets, set), Mode::Store).unwrap();
    job(&mut cluster, &json!({}), &json!({REFUSED: "not yet"}));
    let owner = json!([{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": set.uid(),
        "controller": true, "blockOwnerDeletion": true}]);
    let patch = Patch::Merge(json!({"metadata": {"ownerReferences": owner}}));
    cluster.store.patch(&key(), &patch, Subresource::Main, Mode::Store).unwrap();
    after(&mut cluster, 1000);
    cluster.store.delete(&Key::of(&set), &Deletion::default()).unwrap();
    after(&mut cluster, 1000);
    assert!(cluster.store.get(&key()).is_none());
}
