//! What admission makes of objects in the world.
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};
use world::{
    Behaviour, Defaults, Key, Mode, Object, Patch, PodRules, Quota, REFUSED, Resource, Store, Subresource,
    Webhook,
};

fn store() -> Store {
    Store::new("2026-01-01T00:00:00Z".parse::<Timestamp>().unwrap())
}

fn workload(resource: Resource, name: &str, more: &[(&str, Value)]) -> Object {
    let mut spec = json!({"template": {
        "metadata": {"labels": {"app": "web", "pod-template-hash": "abc"}},
        "spec": {"containers": [{"name": "main", "image": "app:1"}]},
    }});
    for (field, value) in more {
        spec[*field] = value.clone();
    }
    let metadata = json!({"name": name, "namespace": "shop"});
    Object::from_value(resource, json!({"metadata": metadata, "spec": spec}))
}

fn with_defaults() -> Store {
    let mut store = store();
    store.add_admission(Arc::new(Defaults::default()));
    store
}

fn with_webhook(behaviour: Behaviour) -> Store {
    let mut store = store();
    store.add_admission(Arc::new(Webhook { name: "test.example".to_owned(), behaviour }));
    store
}

#[test]
fn a_template_gets_its_defaults() {
    let mut store = with_defaults();
    let set = store.create(workload(Resource::ReplicaSets, "web", &[]), Mode::Store).unwrap();
    assert_eq!(set.spec_number("replicas"), Some(1));
    let template = &set.spec["template"];
    assert_eq!(template["metadata"]["labels"], json!({"app": "web", "pod-template-hash": "abc"}));
    assert_eq!(template["spec"]["restartPolicy"], "Always");
    assert_eq!(template["spec"]["containers"][0]["imagePullPolicy"], "IfNotPresent");
    let patch =
        Patch::Merge(json!({"spec": {"replicas": null, "template": {"spec": {"restartPolicy": null}}}}));
    let key = Key::of(&set);
    let updated = store.patch(&key, &patch, Subresource::Main, Mode::Store).unwrap();
    assert_eq!(updated.spec["template"]["spec"]["restartPolicy"], "Always");
    assert_eq!(updated.spec_number("replicas"), Some(1));
    assert_eq!(updated.generation(), 1, "with its defaults it is as before");
}

#[test]
fn equal_specs_do_not_mix_up_kinds() {
    let mut store = with_defaults();
    let set = workload(Resource::ReplicaSets, "web", &[]);
    let deployment = Object { resource: Resource::AppsDeployments, ..set.clone() };
    let set = store.create(set, Mode::Store).unwrap();
    let deployment = store.create(deployment, Mode::Store).unwrap();
    assert_eq!(set.spec.get("strategy"), None);
    assert_eq!(deployment.spec["revisionHistoryLimit"], 10);
}

#[test]
fn a_deployment_gets_its_defaults() {
    let mut store = with_defaults();
    let made = store.create(workload(Resource::AppsDeployments, "web", &[]), Mode::Store).unwrap();
    assert_eq!(made.spec_number("replicas"), Some(1));
    assert_eq!(made.spec_number("revisionHistoryLimit"), Some(10));
    assert_eq!(made.spec_number("progressDeadlineSeconds"), Some(600));
    let bounds = json!({"maxUnavailable": "25%", "maxSurge": "25%"});
    assert_eq!(made.spec["strategy"], json!({"type": "RollingUpdate", "rollingUpdate": bounds}));
    let given = [
        ("strategy", json!({"rollingUpdate": {"maxSurge": 1}})),
        ("replicas", json!(0)),
        ("progressDeadlineSeconds", json!(5)),
    ];
    let made = store.create(workload(Resource::AppsDeployments, "given", &given), Mode::Store).unwrap();
    assert_eq!(made.spec["strategy"]["rollingUpdate"], json!({"maxUnavailable": "25%", "maxSurge": 1}));
    assert_eq!(
        (made.spec_number("replicas"), made.spec_number("progressDeadlineSeconds")),
        (Some(0), Some(5))
    );
    let recreate = [("strategy", json!({"type": "Recreate"}))];
    let made = store.create(workload(Resource::AppsDeployments, "recreate", &recreate), Mode::Store).unwrap();
    assert_eq!(made.spec["strategy"], json!({"type": "Recreate"}));
}

#[test]
fn a_pod_gets_its_defaults_and_pods_go_on_to_share_them() {
    let mut store = with_defaults();
    let spec = Arc::new(json!({"containers": [{"name": "main", "image": "app"}]}));
    let mut pod = |name: &str| {
        let value = json!({"metadata": {"name": name, "namespace": "shop"}});
        let pod = Object { spec: Arc::clone(&spec), ..Object::from_value(Resource::Pods, value) };
        store.create(pod, Mode::Store).unwrap()
    };
    let (one, other) = (pod("one"), pod("other"));
    assert_eq!(one.spec["containers"][0]["imagePullPolicy"], "Always");
    assert_eq!(one.spec["enableServiceLinks"], true);
    assert!(Arc::ptr_eq(&one.spec, &other.spec));
}

#[test]
fn a_quota_counts_what_is_there() {
    let mut store = store();
    let (name, namespace) = ("few".to_owned(), "shop".to_owned());
    store.add_admission(Arc::new(Quota { name, namespace, resource: Resource::ReplicaSets, hard: 1 }));
    store.create(workload(Resource::ReplicaSets, "one", &[]), Mode::Store).unwrap();
    let refused = store.create(workload(Resource::ReplicaSets, "two", &[]), Mode::DryRun).unwrap_err();
    assert_eq!(refused.code, 403);
    assert_eq!(
        refused.message,
        "replicasets.apps \"two\" is forbidden: exceeded quota: few, requested: count/replicasets.apps=1, used: \
         count/replicasets.apps=1, limited: count/replicasets.apps=1"
    );
    let mut elsewhere = workload(Resource::ReplicaSets, "two", &[]);
    elsewhere.set_metadata("namespace", json!("other"));
    store.create(elsewhere, Mode::Store).unwrap();
}

/// A pod with more in its spec, and with annotations.
fn pod(name: &str, more: &Value, annotations: &Value) -> Object {
    let mut spec = json!({"containers": [{"name": "main", "image": "app:1"}]});
    for (field, value) in more.as_object().unwrap() {
        spec[field] = value.clone();
    }
    let metadata = json!({"name": name, "namespace": "shop", "annotations": annotations});
    Object::from_value(Resource::Pods, json!({"metadata": metadata, "spec": spec}))
}

fn with_pod_rules(level: &str, hard: &Value) -> Store {
    let mut store = store();
    store.add_admission(Arc::new(PodRules));
    let labels = json!({"pod-security.kubernetes.io/enforce": level});
    let namespace = json!({"metadata": {"name": "shop", "labels": labels}});
    store.create(Object::from_value(Resource::Namespaces, namespace), Mode::Store).unwrap();
    let quota = json!({"metadata": {"name": "few", "namespace": "shop"}, "spec": {"hard": hard}});
    store.create(Object::from_value(Resource::ResourceQuotas, quota), Mode::Store).unwrap();
    store
}

#[test]
fn a_pod_is_refused_for_the_level_of_its_namespace() {
    let shares = |name: &str, fields: &[&str]| {
        pod(name, &fields.iter().map(|field| ((*field).to_owned(), json!(true))).collect(), &json!({}))
    };
    let cases: [(&[&str], &str); 3] = [
        (&["hostNetwork"], "hostNetwork=true"),
        (&["hostIPC", "hostPID"], "hostPID=true, hostIPC=true"),
        (&["hostIPC", "hostPID", "hostNetwork"], "hostNetwork=true, hostPID=true, hostIPC=true"),
    ];
    for level in ["baseline", "restricted"] {
        let mut store = with_pod_rules(level, &json!({}));
        for (fields, named) in cases {
            let refused = store.create(shares("one", fields), Mode::Store).unwrap_err();
            let why = format!("violates PodSecurity \"{level}:latest\": host namespaces ({named})");
            assert_eq!(refused.message, format!("pods \"one\" is forbidden: {why}"));
        }
        store.create(pod("two", &json!({"hostNetwork": false}), &json!({})), Mode::Store).unwrap();
    }
    with_pod_rules("privileged", &json!({})).create(shares("one", &["hostNetwork"]), Mode::Store).unwrap();
}

#[test]
fn a_resource_quota_counts_pods() {
    for hard in [json!({"pods": "1"}), json!({"pods": 1})] {
        let mut store = with_pod_rules("", &hard);
        store.create(pod("one", &json!({}), &json!({})), Mode::Store).unwrap();
        let refused = store.create(pod("two", &json!({}), &json!({})), Mode::Store).unwrap_err();
        let why = "pods \"two\" is forbidden: exceeded quota: few, requested: pods=1, used: pods=1, limited: pods=1";
        assert_eq!((refused.code, refused.message.as_str()), (403, why));
        store.create(workload(Resource::ReplicaSets, "web", &[]), Mode::Store).unwrap();
    }
    let mut other = with_pod_rules("", &json!({"cpu": "0"}));
    other.create(pod("one", &json!({}), &json!({})), Mode::Store).unwrap();
}

#[test]
fn a_sign_refuses_a_pod_in_its_own_words() {
    let mut store = with_pod_rules("", &json!({}));
    let signed = |resource| Object { resource, ..pod("one", &json!({}), &json!({REFUSED: "not today"})) };
    let refused = store.create(signed(Resource::Pods), Mode::Store).unwrap_err();
    assert_eq!((refused.code, refused.message.as_str()), (403, "not today"));
    store.create(signed(Resource::ConfigMaps), Mode::Store).unwrap();
}

#[test]
fn webhooks_change_templates() {
    for behaviour in Behaviour::ALL {
        let mut store = with_webhook(behaviour);
        let sent = workload(Resource::ReplicaSets, "web", &[]);
        let made = store.create(sent.clone(), Mode::Store).unwrap();
        assert_ne!(made.spec, sent.spec, "{behaviour:?}");
        // Only those that are not idempotent change the result again.
        let again = Object { spec: Arc::clone(&made.spec), ..workload(Resource::ReplicaSets, "again", &[]) };
        let again = store.create(again, Mode::Store).unwrap();
        let is_idempotent = !matches!(behaviour, Behaviour::RandomAnnotation | Behaviour::AppendEnv);
        assert_eq!(again.spec == made.spec, is_idempotent, "{behaviour:?}");
        // Updates are left alone by all but one.
        let patch = Patch::Merge(json!({"spec": {"replicas": 3}}));
        let updated = store.patch(&Key::of(&made), &patch, Subresource::Main, Mode::Store).unwrap();
        let is_changed = updated.spec["template"] != made.spec["template"];
        assert_eq!(is_changed, behaviour == Behaviour::AppendEnv, "{behaviour:?}");
    }
}

#[test]
fn a_webhook_may_refuse_dry_runs_only() {
    let mut store = with_webhook(Behaviour::RefuseDryRun);
    let refused = store.create(workload(Resource::ReplicaSets, "web", &[]), Mode::DryRun).unwrap_err();
    assert_eq!(
        (refused.code, refused.message.as_str()),
        (400, "admission webhook \"test.example\" does not support dry run")
    );
    let made = store.create(workload(Resource::ReplicaSets, "web", &[]), Mode::Store).unwrap();
    assert_eq!(made.spec["template"]["spec"]["containers"][1]["name"], "injected-sidecar");
}

#[test]
fn a_random_webhook_answers_equal_requests_differently() {
    let mut store = with_webhook(Behaviour::RandomAnnotation);
    let mut ask = || store.create(workload(Resource::ReplicaSets, "web", &[]), Mode::DryRun).unwrap().spec;
    assert_ne!(ask(), ask());
}
