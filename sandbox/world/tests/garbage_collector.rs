//! What goes when its owner goes, and what goes with a namespace.
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use world::{
    Cluster, Deletion, Key, Mode, Object, Patch, Propagation, Resource, Subresource, TERMINATE_AFTER_MS,
};

fn cluster() -> Cluster {
    Cluster::new("2026-01-01T00:00:00Z".parse::<Timestamp>().unwrap())
}

fn key(resource: Resource, name: &str) -> Key {
    Key::new(resource, "shop", name)
}

fn reference(owner: &Object) -> Value {
    json!({"apiVersion": owner.resource.api_version(), "kind": owner.resource.kind(), "name": owner.name(),
        "uid": owner.uid(), "controller": true, "blockOwnerDeletion": true})
}

/// An object with owners, each as its reference.
fn create(cluster: &mut Cluster, resource: Resource, name: &str, owners: &[Value]) -> Object {
    let metadata = json!({"name": name, "namespace": "shop", "ownerReferences": owners});
    let object = Object::from_value(resource, json!({"metadata": metadata, "spec": {"replicas": 0}}));
    cluster.store.create(object, Mode::Store).unwrap()
}

/// A Deployment, its ReplicaSet of one pod that takes 5 s to end, and that pod.
fn family(cluster: &mut Cluster) -> (Key, Key, Key) {
    let deployment = create(cluster, Resource::Deployments, "web", &[]);
    let labels = json!({"app": "web"});
    let set = Object::from_value(
        Resource::ReplicaSets,
        json!({
            "metadata": {"name": "web-1", "namespace": "shop", "ownerReferences": [reference(&deployment)]},
            "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": {
                "metadata": {"labels": labels, "annotations": {TERMINATE_AFTER_MS: "5000"}},
                "spec": {"containers": [{"name": "main", "image": "app:1"}]},
            }},
        }),
    );
    let set = cluster.store.create(set, Mode::Store).unwrap();
    advance(cluster, 1);
    let pod = cluster.store.list(Resource::Pods, Some("shop")).next().unwrap();
    (Key::of(&deployment), Key::of(&set), Key::of(pod))
}

fn advance(cluster: &mut Cluster, seconds: i64) {
    let now = cluster.store.now() + SignedDuration::from_secs(seconds);
    cluster.advance_to(now);
}

fn delete(cluster: &mut Cluster, key: &Key, propagation: Propagation) {
    let deletion = Deletion { propagation: Some(propagation), ..Deletion::default() };
    cluster.store.delete(key, &deletion).unwrap();
    cluster.settle();
}

fn exists(cluster: &Cluster, key: &Key) -> bool {
    cluster.store.get(key).is_some()
}

#[test]
fn background_is_from_the_top() {
    let mut cluster = cluster();
    let (deployment, set, pod) = family(&mut cluster);
    delete(&mut cluster, &deployment, Propagation::Background);
    assert!(!exists(&cluster, &deployment) && !exists(&cluster, &set));
    assert!(cluster.store.get(&pod).unwrap().is_deleting());
    advance(&mut cluster, 5);
    assert!(!exists(&cluster, &pod));
}

#[test]
fn foreground_is_from_the_bottom() {
    let mut cluster = cluster();
    let (deployment, set, pod) = family(&mut cluster);
    delete(&mut cluster, &deployment, Propagation::Foreground);
    for waiting in [&deployment, &set] {
        let waiting = cluster.store.get(waiting).unwrap();
        assert_eq!(waiting.finalizers().collect::<Vec<_>>(), ["foregroundDeletion"]);
    }
    assert!(cluster.store.get(&pod).unwrap().is_deleting());
    advance(&mut cluster, 4);
    assert!(exists(&cluster, &deployment) && exists(&cluster, &set) && exists(&cluster, &pod));
    advance(&mut cluster, 1);
    assert!(!exists(&cluster, &deployment) && !exists(&cluster, &set) && !exists(&cluster, &pod));
}

#[test]
fn foreground_does_not_wait_for_what_does_not_block() {
    let mut cluster = cluster();
    let owner = create(&mut cluster, Resource::Deployments, "web", &[]);
    let mut loose = reference(&owner);
    loose["blockOwnerDeletion"] = json!(false);
    create(&mut cluster, Resource::ConfigMaps, "loose", &[loose]);
    let held = key(Resource::ConfigMaps, "loose");
    let patch = Patch::Merge(json!({"metadata": {"finalizers": ["a/b"]}}));
    cluster.store.patch(&held, &patch, Subresource::Main, Mode::Store).unwrap();
    delete(&mut cluster, &Key::of(&owner), Propagation::Foreground);
    assert!(!exists(&cluster, &Key::of(&owner)));
    assert!(cluster.store.get(&held).unwrap().is_deleting());
}

#[test]
fn orphans_stay_without_owner() {
    let mut cluster = cluster();
    let (deployment, set, pod) = family(&mut cluster);
    delete(&mut cluster, &deployment, Propagation::Orphan);
    advance(&mut cluster, 60);
    assert!(!exists(&cluster, &deployment));
    let set = cluster.store.get(&set).unwrap();
    assert_eq!(set.owners().count(), 0);
    assert!(!set.is_deleting());
    assert!(exists(&cluster, &pod));
}

#[test]
fn one_owner_left_is_enough() {
    let mut cluster = cluster();
    let one = create(&mut cluster, Resource::Deployments, "one", &[]);
    let other = create(&mut cluster, Resource::AppsDeployments, "other", &[]);
    create(&mut cluster, Resource::ConfigMaps, "both", &[reference(&one), reference(&other)]);
    let both = key(Resource::ConfigMaps, "both");
    delete(&mut cluster, &Key::of(&one), Propagation::Background);
    let uids: Vec<_> = cluster.store.get(&both).unwrap().owner_uids().collect();
    assert_eq!(uids, [other.uid()]);
    delete(&mut cluster, &Key::of(&other), Propagation::Background);
    assert!(!exists(&cluster, &both));
}

#[test]
fn an_owner_is_its_uid_and_not_its_name() {
    let mut cluster = cluster();
    let first = create(&mut cluster, Resource::Deployments, "web", &[]);
    delete(&mut cluster, &Key::of(&first), Propagation::Background);
    let second = create(&mut cluster, Resource::Deployments, "web", &[]);
    create(&mut cluster, Resource::ConfigMaps, "of-first", &[reference(&first)]);
    create(&mut cluster, Resource::ConfigMaps, "of-second", &[reference(&second)]);
    cluster.settle();
    assert!(!exists(&cluster, &key(Resource::ConfigMaps, "of-first")));
    assert!(exists(&cluster, &key(Resource::ConfigMaps, "of-second")));
}

#[test]
fn an_owner_of_an_unknown_kind_is_not_judged() {
    let mut cluster = cluster();
    let owner = json!({"apiVersion": "other.example/v1", "kind": "Thing", "name": "t", "uid": "u"});
    create(&mut cluster, Resource::ConfigMaps, "kept", &[owner]);
    cluster.settle();
    assert!(exists(&cluster, &key(Resource::ConfigMaps, "kept")));
}

#[test]
fn a_namespace_is_emptied_and_then_gone() {
    let mut cluster = cluster();
    let namespace = json!({"metadata": {"name": "shop"}});
    let made =
        cluster.store.create(Object::from_value(Resource::Namespaces, namespace), Mode::Store).unwrap();
    assert_eq!(made.spec["finalizers"], json!(["kubernetes"]));
    let (deployment, set, pod) = family(&mut cluster);
    let shop = Key::new(Resource::Namespaces, "", "shop");
    delete(&mut cluster, &shop, Propagation::Background);
    assert_eq!(cluster.store.get(&shop).unwrap().status["phase"], "Terminating");
    assert!(!exists(&cluster, &deployment) && !exists(&cluster, &set) && exists(&cluster, &pod));
    let patch = Patch::Merge(json!({"metadata": {"labels": {"a": "b"}}}));
    cluster.store.patch(&shop, &patch, Subresource::Main, Mode::Store).unwrap();
    assert!(exists(&cluster, &shop), "a write does not end it early");
    let new = json!({"metadata": {"name": "new", "namespace": "shop"}});
    let refused =
        cluster.store.create(Object::from_value(Resource::ConfigMaps, new), Mode::Store).unwrap_err();
    assert!(refused.is_namespace_terminating());
    advance(&mut cluster, 5);
    assert!(!exists(&cluster, &pod) && !exists(&cluster, &shop));
}

#[test]
fn an_empty_namespace_goes_at_once() {
    let mut cluster = cluster();
    let namespace = json!({"metadata": {"name": "shop"}});
    cluster.store.create(Object::from_value(Resource::Namespaces, namespace), Mode::Store).unwrap();
    let shop = Key::new(Resource::Namespaces, "", "shop");
    delete(&mut cluster, &shop, Propagation::Background);
    assert!(!exists(&cluster, &shop));
}

#[test]
fn what_is_refused_is_tried_again() {
    use std::sync::Arc;
    use world::{Admission, Operation, Refused, Request, Store};

    struct NoDeletion;
    impl Admission for NoDeletion {
        fn admit(&self, _: &Store, request: &Request<'_>, _: &mut Object) -> Result<(), Refused> {
            let is_child = request.operation == Operation::Delete && request.resource == Resource::ConfigMaps;
            if is_child { Err(Refused::new(500, "InternalError", "not now")) } else { Ok(()) }
        }
    }

    let mut cluster = cluster();
    let owner = create(&mut cluster, Resource::Deployments, "web", &[]);
    create(&mut cluster, Resource::ConfigMaps, "child", &[reference(&owner)]);
    cluster.store.add_admission(Arc::new(NoDeletion));
    delete(&mut cluster, &Key::of(&owner), Propagation::Background);
    let child = key(Resource::ConfigMaps, "child");
    assert!(exists(&cluster, &child));
    assert_eq!(cluster.next_due(), Some(cluster.store.now() + SignedDuration::from_secs(1)));
    cluster.store.clear_admission();
    advance(&mut cluster, 1);
    assert!(!exists(&cluster, &child));
    assert_eq!(cluster.next_due(), None);
}
