//! What the store does as the API server does it.
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use world::{
    ChangeKind, Deletion, Key, Mode, Object, Patch, Preconditions, Propagation, Resource, Store, Subresource,
};

fn store() -> Store {
    Store::new("2026-01-01T00:00:00.5Z".parse::<Timestamp>().unwrap())
}

fn key(resource: Resource, name: &str) -> Key {
    Key::new(resource, "shop", name)
}

fn object(resource: Resource, name: &str, more: Value) -> Object {
    let mut value = json!({"metadata": {"name": name, "namespace": "shop"}});
    json_merge(&mut value, more);
    Object::from_value(resource, value)
}

fn json_merge(target: &mut Value, more: Value) {
    match (target, more) {
        (Value::Object(target), Value::Object(more)) => {
            for (name, value) in more {
                json_merge(target.entry(name).or_insert(Value::Null), value);
            }
        }
        (target, more) => *target = more,
    }
}

fn set(name: &str) -> Object {
    object(
        Resource::ReplicaSets,
        name,
        json!({"spec": {"replicas": 2, "selector": {"matchLabels": {"a": "b"}}}}),
    )
}

fn create(store: &mut Store, object: Object) -> Object {
    store.create(object, Mode::Store).unwrap()
}

fn merge(store: &mut Store, key: &Key, patch: Value) -> Object {
    store.patch(key, &Patch::Merge(patch), Subresource::Main, Mode::Store).unwrap()
}

fn strategic(store: &mut Store, key: &Key, patch: Value) -> Object {
    store.patch(key, &Patch::Strategic(patch), Subresource::Main, Mode::Store).unwrap()
}

#[test]
fn a_new_object_is_stamped() {
    let mut store = store();
    let sent = object(
        Resource::ReplicaSets,
        "web",
        json!({"metadata": {"uid": "mine", "generation": 7, "deletionTimestamp": "2026-01-01T00:00:00Z"},
            "status": {"replicas": 9}}),
    );
    let made = create(&mut store, sent);
    assert_ne!(made.uid(), "mine");
    assert_eq!(made.generation(), 1);
    assert!(!made.is_deleting());
    assert_eq!(made.metadata["creationTimestamp"], "2026-01-01T00:00:00Z");
    assert_eq!(*made.status, json!({"replicas": 0}));
    assert_eq!(made.version(), store.version());
    let refused = store.create(set("web"), Mode::Store).unwrap_err();
    assert_eq!((refused.code, refused.message.as_str()), (409, "replicasets.apps \"web\" already exists"));
}

#[test]
fn a_generated_name_keeps_its_prefix_and_differs() {
    let mut store = store();
    let pod = |prefix: &str| {
        let metadata = json!({"namespace": "shop", "generateName": prefix});
        Object::from_value(Resource::Pods, json!({"metadata": metadata}))
    };
    let (one, other) = (create(&mut store, pod("web-")), create(&mut store, pod("web-")));
    assert!(one.name().starts_with("web-") && one.name().len() == 9, "{}", one.name());
    assert_ne!(one.name(), other.name());
    let long = create(&mut store, pod(&"x".repeat(80)));
    assert_eq!(long.name().len(), 63);
    assert_eq!(store.create(pod(""), Mode::Store).unwrap_err().code, 422);
}

#[test]
fn an_old_version_or_another_uid_is_refused() {
    let mut store = store();
    let first = create(&mut store, set("web"));
    let key = key(Resource::ReplicaSets, "web");
    merge(&mut store, &key, json!({"metadata": {"labels": {"a": "b"}}}));
    let refused = store.replace(first.clone(), Subresource::Main, Mode::Store).unwrap_err();
    assert_eq!((refused.code, refused.reason.as_str()), (409, "Conflict"));
    assert_eq!(
        refused.message,
        "Operation cannot be fulfilled on replicasets.apps \"web\": the object has been modified; please apply \
         your changes to the latest version and try again"
    );
    let other = Patch::Merge(json!({"metadata": {"uid": "other"}, "spec": {"replicas": 3}}));
    assert_eq!(store.patch(&key, &other, Subresource::Main, Mode::Store).unwrap_err().code, 409);
    let preconditions = Preconditions {
        uid: Some(first.uid().to_owned()),
        resource_version: Some(first.version().to_string()),
    };
    let deletion = Deletion { preconditions, ..Deletion::default() };
    assert_eq!(store.delete(&key, &deletion).unwrap_err().code, 409);
    assert_eq!(store.get(&key).unwrap().spec_number("replicas"), Some(2));
}

#[test]
fn only_a_new_spec_raises_the_generation() {
    let mut store = store();
    create(&mut store, set("web"));
    let key = key(Resource::ReplicaSets, "web");
    assert_eq!(merge(&mut store, &key, json!({"metadata": {"labels": {"a": "b"}}})).generation(), 1);
    assert_eq!(merge(&mut store, &key, json!({"spec": {"replicas": 3}})).generation(), 2);
    let status = Patch::Merge(json!({"status": {"replicas": 1}, "spec": {"replicas": 8}}));
    let written = store.patch(&key, &status, Subresource::Status, Mode::Store).unwrap();
    assert_eq!((written.generation(), written.spec_number("replicas")), (2, Some(3)));
    assert_eq!(written.status_number("replicas"), Some(1));
    let both = merge(&mut store, &key, json!({"spec": {"replicas": 4}, "status": {"replicas": 5}}));
    assert_eq!((both.generation(), both.status_number("replicas")), (3, Some(1)));
}

#[test]
fn what_changes_nothing_is_no_write() {
    let mut store = store();
    create(&mut store, set("web"));
    let before = store.version();
    merge(&mut store, &key(Resource::ReplicaSets, "web"), json!({"spec": {"replicas": 2}}));
    assert_eq!(store.version(), before);
}

#[test]
fn a_size_is_read_and_written_through_scale() {
    let mut store = store();
    create(&mut store, set("web"));
    let key = key(Resource::ReplicaSets, "web");
    let mut scale = store.scale(&key).unwrap();
    assert_eq!(scale["spec"]["replicas"], 2);
    assert_eq!(scale["status"], json!({"replicas": 0, "selector": "a=b"}));
    scale["spec"]["replicas"] = json!(5);
    let scaled = store.replace_scale(&key, &scale, Mode::Store).unwrap();
    assert_eq!((scaled.spec_number("replicas"), scaled.generation()), (Some(5), 2));
    assert_eq!(store.replace_scale(&key, &scale, Mode::Store).unwrap_err().code, 409);
    let negative = json!({"spec": {"replicas": -1}});
    assert_eq!(store.replace_scale(&key, &negative, Mode::Store).unwrap_err().code, 422);
    let patch = Patch::Merge(json!({"spec": {"replicas": 1}}));
    let scaled = store.patch(&key, &patch, Subresource::Scale, Mode::Store).unwrap();
    assert_eq!(scaled.spec_number("replicas"), Some(1));
}

#[test]
fn a_dry_run_answers_and_stores_nothing() {
    let mut store = store();
    let answer = store.create(set("web"), Mode::DryRun).unwrap();
    assert!(!answer.uid().is_empty());
    assert!(store.get(&key(Resource::ReplicaSets, "web")).is_none());
    create(&mut store, set("web"));
    let key = key(Resource::ReplicaSets, "web");
    let version = store.version();
    let patch = Patch::Merge(json!({"spec": {"replicas": 9}}));
    let answer = store.patch(&key, &patch, Subresource::Main, Mode::DryRun).unwrap();
    assert_eq!((answer.spec_number("replicas"), answer.generation()), (Some(9), 2));
    store.delete(&key, &Deletion { mode: Mode::DryRun, ..Deletion::default() }).unwrap();
    assert_eq!((store.version(), store.kept_changes()), (version, 1));
    assert_eq!(store.get(&key).unwrap().spec_number("replicas"), Some(2));
    assert_eq!(store.create(set("web"), Mode::DryRun).unwrap_err().reason, "AlreadyExists");
}

#[test]
fn a_finalizer_holds_an_object_until_it_is_taken_off() {
    let mut store = store();
    create(&mut store, object(Resource::ReplicaSets, "web", json!({"metadata": {"finalizers": ["a/b"]}})));
    let key = key(Resource::ReplicaSets, "web");
    let marked = store.delete(&key, &Deletion::default()).unwrap();
    assert!(marked.is_deleting());
    assert_eq!(marked.generation(), 2);
    let version = store.version();
    store.delete(&key, &Deletion::default()).unwrap();
    assert_eq!(store.version(), version, "the second deletion changes nothing");
    merge(&mut store, &key, json!({"metadata": {"labels": {"a": "b"}}}));
    assert!(store.get(&key).is_some());
    merge(&mut store, &key, json!({"metadata": {"finalizers": null}}));
    assert!(store.get(&key).is_none());
    let last = store.changes(Resource::ReplicaSets, version).unwrap().last().unwrap();
    assert_eq!(
        (last.kind, last.version, last.object.version()),
        (ChangeKind::Deleted, store.version(), store.version())
    );
}

#[test]
fn a_propagation_is_a_finalizer() {
    let mut store = store();
    for (propagation, finalizer) in
        [(Propagation::Foreground, "foregroundDeletion"), (Propagation::Orphan, "orphan")]
    {
        create(&mut store, set(finalizer));
        let key = key(Resource::ReplicaSets, finalizer);
        let marked =
            store.delete(&key, &Deletion { propagation: Some(propagation), ..Deletion::default() }).unwrap();
        assert_eq!(marked.finalizers().collect::<Vec<_>>(), [finalizer]);
        assert!(marked.is_deleting());
        // A deletion without a policy changes nothing.
        let version = store.version();
        let again = store.delete(&key, &Deletion::default()).unwrap();
        assert_eq!(again.finalizers().collect::<Vec<_>>(), [finalizer]);
        assert_eq!(store.version(), version);
        let background = Some(Propagation::Background);
        store.delete(&key, &Deletion { propagation: background, ..Deletion::default() }).unwrap();
        assert!(store.get(&key).is_none());
    }
}

#[test]
fn a_pod_gets_its_grace_where_something_may_run() {
    let mut store = store();
    let pod = |name: &str| object(Resource::Pods, name, json!({"spec": {"containers": []}}));
    create(&mut store, pod("idle"));
    store.delete(&key(Resource::Pods, "idle"), &Deletion::default()).unwrap();
    assert!(store.get(&key(Resource::Pods, "idle")).is_none(), "a pod without a node goes at once");
    create(&mut store, pod("busy"));
    let key = key(Resource::Pods, "busy");
    let bound = store.bind(&key, "node").unwrap();
    assert_eq!(bound.spec["nodeName"], "node");
    assert_eq!(bound.status["conditions"][0]["type"], "PodScheduled");
    let refused = store.bind(&key, "other").unwrap_err();
    assert!(refused.message.ends_with("pod busy is already assigned to node \"node\""), "{refused}");
    let marked = store.delete(&key, &Deletion::default()).unwrap();
    assert_eq!(marked.metadata["deletionTimestamp"], "2026-01-01T00:00:30Z");
    assert_eq!(marked.metadata["deletionGracePeriodSeconds"], 30);
    let sooner = Deletion { grace_seconds: Some(5), ..Deletion::default() };
    assert_eq!(store.delete(&key, &sooner).unwrap().metadata["deletionGracePeriodSeconds"], 5);
    let later = store.delete(&key, &Deletion::default()).unwrap();
    assert_eq!(later.metadata["deletionGracePeriodSeconds"], 5);
    store.delete(&key, &Deletion { grace_seconds: Some(0), ..Deletion::default() }).unwrap();
    assert!(store.get(&key).is_none());
}

#[test]
fn a_pod_with_a_finalizer_waits_for_both() {
    let mut store = store();
    create(&mut store, object(Resource::Pods, "web", json!({"metadata": {"finalizers": ["a/b"]}})));
    let key = key(Resource::Pods, "web");
    store.bind(&key, "node").unwrap();
    store.delete(&key, &Deletion::default()).unwrap();
    let at_once = Deletion { grace_seconds: Some(0), ..Deletion::default() };
    store.delete(&key, &at_once).unwrap();
    assert!(store.get(&key).is_some());
    merge(&mut store, &key, json!({"metadata": {"finalizers": null}}));
    assert!(store.get(&key).is_none());
}

#[test]
fn the_log_is_read_from_a_version_and_forgets() {
    let mut store = store();
    let begin = store.version();
    let first = create(&mut store, set("web"));
    create(&mut store, object(Resource::Pods, "pod", json!({})));
    let key = key(Resource::ReplicaSets, "web");
    merge(&mut store, &key, json!({"spec": {"replicas": 3}}));
    store.delete(&key, &Deletion::default()).unwrap();
    let seen = |after: u64| {
        let changes = store.changes(Resource::ReplicaSets, after).unwrap();
        changes.map(|change| (change.kind, change.version)).collect::<Vec<_>>()
    };
    assert_eq!(
        seen(begin),
        [(ChangeKind::Added, begin + 1), (ChangeKind::Modified, begin + 3), (ChangeKind::Deleted, begin + 4),]
    );
    assert_eq!(seen(first.version()).len(), 2);
    assert_eq!(store.all_changes(begin).unwrap().count(), 4);
    let change = store.changes(Resource::ReplicaSets, begin + 1).unwrap().next().unwrap();
    assert_eq!(change.before.as_ref().unwrap().version(), first.version());
    store.compact(begin + 2);
    let expired = store.changes(Resource::ReplicaSets, begin + 1).map(|_| ()).unwrap_err();
    assert_eq!((expired.asked, expired.floor), (begin + 1, begin + 2));
    assert_eq!(store.changes(Resource::ReplicaSets, begin + 2).unwrap().count(), 2);
}

#[test]
fn a_list_is_of_one_kind_and_namespace() {
    let mut store = store();
    create(&mut store, set("b"));
    create(&mut store, set("a"));
    create(&mut store, object(Resource::Pods, "p", json!({})));
    create(&mut store, object(Resource::ReplicaSets, "c", json!({"metadata": {"namespace": "other"}})));
    let names = |namespace: Option<&str>| {
        store.list(Resource::ReplicaSets, namespace).map(Object::name).collect::<Vec<_>>()
    };
    assert_eq!(names(Some("shop")), ["a", "b"]);
    assert_eq!(names(None), ["c", "a", "b"]);
    assert!(names(Some("sho")).is_empty());
}

#[test]
fn owner_references_merge_by_uid_in_strategic_patches_only() {
    let mut store = store();
    create(&mut store, set("web"));
    let key = key(Resource::ReplicaSets, "web");
    let owner = |uid: &str| json!({"uid": uid, "name": uid, "kind": "Deployment", "apiVersion": "apps/v1"});
    strategic(&mut store, &key, json!({"metadata": {"ownerReferences": [owner("one")]}}));
    strategic(&mut store, &key, json!({"metadata": {"ownerReferences": [owner("two")]}}));
    let uids = |store: &Store| store.get(&key).unwrap().owner_uids().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(uids(&store), ["one", "two"]);
    let change = json!({"uid": "one", "controller": true});
    let changed = strategic(&mut store, &key, json!({"metadata": {"ownerReferences": [change]}}));
    assert_eq!(changed.controller_uid(), Some("one"));
    assert_eq!(changed.metadata["ownerReferences"][0]["name"], "one");
    let gone = json!({"$patch": "delete", "uid": "one"});
    strategic(&mut store, &key, json!({"metadata": {"ownerReferences": [gone]}}));
    assert_eq!(uids(&store), ["two"]);
    assert_eq!(store.owned_by("", "two").map(Object::name).collect::<Vec<_>>(), ["web"]);
    assert_eq!(store.owned_by("", "one").count(), 0);
    merge(&mut store, &key, json!({"metadata": {"ownerReferences": [owner("three")]}}));
    assert_eq!(uids(&store), ["three"]);
    store.delete(&key, &Deletion::default()).unwrap();
    assert_eq!(store.owned_by("", "three").count(), 0);
}

#[test]
fn a_strategic_patch_merges_containers_by_name() {
    let mut store = store();
    let spec = json!({"template": {"spec": {"containers": [{"name": "a", "image": "a:1"}, {"name": "b", "image": "b:1"}]}}});
    create(&mut store, object(Resource::ReplicaSets, "web", json!({"spec": spec})));
    let key = key(Resource::ReplicaSets, "web");
    let change = json!([{"name": "b", "image": "b:2"}, {"name": "a", "$patch": "delete"}, {"name": "c", "image": "c:1"}]);
    let changed =
        strategic(&mut store, &key, json!({"spec": {"template": {"spec": {"containers": change}}}}));
    assert_eq!(
        changed.spec["template"]["spec"]["containers"],
        json!([{"name": "b", "image": "b:2"}, {"name": "c", "image": "c:1"}])
    );
}

#[test]
fn a_json_patch_is_all_or_nothing() {
    let mut store = store();
    create(&mut store, set("web"));
    let key = key(Resource::ReplicaSets, "web");
    let patch = |operations: Value| Patch::Json(operations);
    let good = patch(json!([{"op": "test", "path": "/spec/replicas", "value": 2},
        {"op": "replace", "path": "/spec/replicas", "value": 6}]));
    let changed = store.patch(&key, &good, Subresource::Main, Mode::Store).unwrap();
    assert_eq!((changed.spec_number("replicas"), changed.generation()), (Some(6), 2));
    let bad = patch(json!([{"op": "replace", "path": "/spec/replicas", "value": 7},
        {"op": "test", "path": "/metadata/name", "value": "other"}]));
    assert_eq!(store.patch(&key, &bad, Subresource::Main, Mode::Store).unwrap_err().code, 422);
    assert_eq!(store.get(&key).unwrap().spec_number("replicas"), Some(6));
    let none = patch(json!({"op": "replace"}));
    assert_eq!(store.patch(&key, &none, Subresource::Main, Mode::Store).unwrap_err().code, 400);
}

#[test]
fn copies_do_not_see_each_other() {
    let mut store = store();
    create(&mut store, set("web"));
    let mut copy = store.clone();
    let key = key(Resource::ReplicaSets, "web");
    merge(&mut copy, &key, json!({"spec": {"replicas": 7}}));
    assert_eq!(store.get(&key).unwrap().spec_number("replicas"), Some(2));
    assert_eq!(copy.get(&key).unwrap().spec_number("replicas"), Some(7));
    copy.set_now(store.now() + SignedDuration::from_secs(5));
    assert_ne!(store.now(), copy.now());
}
