use std::sync::Arc;

use plan::ReplicaSet;
use serde_json::json;

use super::*;
use crate::queue::Cause;

pub(crate) fn workload(name: &str, uid: &str, app: &str, version: u64) -> Workload {
    let object = json!({
        "metadata": {
            "namespace": "ns", "name": name, "uid": uid, "resourceVersion": version.to_string(),
            "generation": 1,
        },
        "spec": {
            "selector": { "matchLabels": { "app": app } },
            "template": { "metadata": { "labels": { "app": app } } },
        },
    });
    let flavour = plan::Flavour::Rollwright;
    api::decode::workload(flavour, &object, api::decode::Defaults::of(flavour)).expect("workload")
}

pub(crate) fn set(name: &str, owner: Option<&str>, app: &str, version: u64) -> Placed {
    let mut object = json!({
        "metadata": {
            "namespace": "ns", "name": name, "uid": format!("uid-{name}"),
            "resourceVersion": version.to_string(), "labels": { "app": app },
        },
        "spec": {},
    });
    if let Some(owner) = owner {
        object["metadata"]["ownerReferences"] = json!([{ "uid": owner, "controller": true }]);
    }
    let set = api::decode::replica_set(plan::Flavour::Rollwright, &object).expect("set");
    Placed { namespace: "ns".to_owned(), set: Arc::new(set) }
}

pub(crate) fn key(name: &str) -> Key {
    Key { namespace: "ns".to_owned(), name: name.to_owned() }
}

/// `web` with the ReplicaSets `web-1` and `web-2`, and `api`, of another app.
fn filled(sight: Sight) -> Index {
    let mut index = Index::new(sight);
    index.reset_workloads(
        None,
        vec![workload("web", "w", "web", 1), workload("api", "a", "api", 2)],
        Instant::now(),
    );
    index.reset_sets(None, vec![set("web-1", Some("w"), "web", 3), set("web-2", Some("w"), "web", 4)]);
    index
}

fn names(index: &Index, name: &str) -> Vec<String> {
    let snapshot = index.snapshot(&key(name)).expect("snapshot");
    let mut names: Vec<_> = snapshot.sets.iter().map(|set| set.name.clone()).collect();
    names.sort();
    names
}

#[test]
fn any_change_of_a_set_requeues_its_owner() {
    let mut index = filled(Sight::Whole);
    assert_eq!(index.apply_set(set("web-1", Some("w"), "web", 5)), [key("web")]);
    assert_eq!(index.apply_set(set("web-1", Some("w"), "web", 5)), [], "nothing changed");
    assert_eq!(index.apply_set(set("web-3", Some("nobody"), "web", 6)), []);
    assert_eq!(names(&index, "web"), ["web-1", "web-2"]);
}

#[test]
fn a_change_of_owner_requeues_both() {
    let mut index = filled(Sight::Whole);
    assert_eq!(index.apply_set(set("web-1", Some("a"), "web", 5)), [key("web"), key("api")]);
    assert_eq!(names(&index, "web"), ["web-2"]);
    assert_eq!(names(&index, "api"), ["web-1"]);
}

#[test]
fn an_owner_that_does_not_control_a_set_has_no_part_in_it() {
    let mut object = json!({
        "metadata": { "namespace": "ns", "name": "web-3", "uid": "uid-web-3", "resourceVersion": "5" },
        "spec": {},
    });
    object["metadata"]["ownerReferences"] = json!([{ "uid": "a" }, { "uid": "w", "controller": true }]);
    let set = api::decode::replica_set(plan::Flavour::Rollwright, &object).expect("set");
    let mut index = filled(Sight::Whole);
    index.apply_set(Placed { namespace: "ns".to_owned(), set: Arc::new(set) });
    assert_eq!(names(&index, "web"), ["web-1", "web-2", "web-3"]);
    assert_eq!(names(&index, "api"), [""; 0]);
}

#[test]
fn an_orphan_requeues_those_that_select_it() {
    let mut index = filled(Sight::Whole);
    index.apply_workload(workload("web-too", "w2", "web", 5), Instant::now());
    assert_eq!(index.apply_set(set("lone", None, "web", 6)), [key("web"), key("web-too")]);
    assert_eq!(names(&index, "web"), ["lone", "web-1", "web-2"]);
    assert_eq!(names(&index, "api"), Vec::<String>::new());
    // S2.3: neither labels nor owner changed.
    assert_eq!(index.apply_set(set("lone", None, "web", 7)), []);
    assert_eq!(index.apply_set(set("lone", None, "api", 8)), [key("api")]);
    // S2.4: the deletion of an orphan requeues no Deployment.
    assert_eq!(index.delete_set("ns", "uid-lone", "9"), []);
}

#[test]
fn a_released_set_requeues_its_old_owner_and_its_suitors() {
    let mut index = filled(Sight::Whole);
    assert_eq!(index.apply_set(set("web-1", None, "api", 5)), [key("web"), key("api")]);
}

#[test]
fn a_relist_finds_what_was_deleted_meanwhile() {
    let mut index = filled(Sight::Whole);
    assert_eq!(index.reset_sets(None, vec![set("web-2", Some("w"), "web", 4)]), [key("web")]);
    assert_eq!(names(&index, "web"), ["web-2"]);
    let requeued = index.reset_workloads(None, vec![workload("api", "a", "api", 2)], Instant::now());
    assert_eq!(requeued, [key("api"), key("web")]);
    assert!(index.snapshot(&key("web")).is_none());
    assert_eq!(index.key_of("ns", "w"), None);
}

#[test]
fn a_deployment_created_anew_does_not_inherit() {
    let mut index = filled(Sight::Whole);
    index.delete_workload(key("web"), "5");
    index.apply_workload(workload("web", "other", "web", 6), Instant::now());
    assert_eq!(names(&index, "web"), Vec::<String>::new());
    assert_eq!(index.apply_set(set("web-1", Some("w"), "web", 7)), []);
}

#[test]
fn a_set_that_leaves_a_label_watch_is_a_stray_unless_we_deleted_it() {
    let mut index = filled(Sight::ByLabel);
    index.expect_gone("ns", "uid-web-1");
    assert_eq!(index.delete_set("ns", "uid-web-1", "5"), [key("web")]);
    assert_eq!(index.strays(&key("web")), []);
    assert_eq!(index.delete_set("ns", "uid-web-2", "6"), [key("web")]);
    let stray = Stray { name: "web-2".to_owned(), uid: "uid-web-2".to_owned() };
    assert_eq!(index.strays(&key("web")), [stray]);
    index.settle_stray(&key("web"), "uid-web-2");
    assert_eq!(index.strays(&key("web")), []);
}

#[test]
fn a_relist_makes_strays_too() {
    let mut index = filled(Sight::ByLabel);
    index.reset_sets(None, Vec::<Placed>::new());
    assert_eq!(index.strays(&key("web")).len(), 2);
    index.delete_workload(key("web"), "7");
    assert_eq!(index.strays(&key("web")), []);
}

#[test]
fn an_older_version_does_not_replace_a_newer_one() {
    let mut index = filled(Sight::ByLabel);
    index.put_set(set("web-1", Some("w"), "web", 9));
    assert_eq!(index.apply_set(set("web-1", None, "web", 8)), []);
    assert_eq!(names(&index, "web"), ["web-1", "web-2"]);
}

#[test]
fn a_list_replaces_even_newer_versions() {
    let mut index = filled(Sight::Whole);
    index.apply_set(set("web-1", Some("w"), "web", 900));
    let restored = vec![set("web-1", None, "web", 5), set("web-2", Some("w"), "web", 4)];
    assert_eq!(index.reset_sets(None, restored), [key("web")]);
    assert!(index.snapshot(&key("web")).expect("web").sets.iter().any(|set| set.resource_version == "5"));
}

#[test]
fn a_list_of_one_namespace_says_nothing_about_others() {
    let mut index = Index::watched(Sight::Whole, Extent::Namespace);
    let now = Instant::now();
    let elsewhere = |mut workload: Workload| {
        workload.namespace = "elsewhere".to_owned();
        workload
    };
    index.reset_workloads(Some("ns"), vec![workload("web", "w", "web", 2)], now);
    index.reset_workloads(Some("elsewhere"), vec![elsewhere(workload("api", "a", "api", 50))], now);
    index.reset_sets(Some("ns"), vec![set("web-1", Some("w"), "web", 3)]);
    let placed = Placed { namespace: "elsewhere".to_owned(), ..set("api-1", Some("a"), "api", 51) };
    index.reset_sets(Some("elsewhere"), vec![placed]);
    assert_eq!(index.sizes(), (2, 2));
    // What the watch of one has shown is not what the other has shown.
    assert!(index.newest_set.has_reached("ns", 3) && !index.newest_set.has_reached("ns", 4));
    assert!(index.newest_set.has_reached("elsewhere", 51));
    assert!(!index.newest_workload.has_reached("ns", 50) && !index.newest_set.has_reached("third", 1));

    index.reset_workloads(Some("elsewhere"), Vec::<Workload>::new(), now);
    index.reset_sets(Some("elsewhere"), Vec::<Placed>::new());
    assert_eq!(index.sizes(), (1, 1));
    assert!(index.snapshot(&key("web")).is_some_and(|snapshot| snapshot.sets.len() == 1));
}

/// Its ReplicaSet `x` of another namespace.
fn foreign(owner: Option<&str>, version: u64) -> Placed {
    Placed { namespace: "elsewhere".to_owned(), ..set("x", owner, "web", version) }
}

/// S2.12: who may write in one namespace chooses the uid in an owner reference, and gains nothing in another.
#[test]
fn a_set_that_names_an_owner_of_another_namespace_is_nobodys() {
    let mut index = filled(Sight::ByLabel);
    let fakes = |index: &mut Index, owner: Option<&str>, version: u64| {
        let came = index.set_came(foreign(owner, version));
        assert_eq!((came, names(index, "web")), (vec![], vec!["web-1".to_owned(), "web-2".to_owned()]));
    };
    fakes(&mut index, Some("w"), 11);
    assert_eq!(index.key_of("elsewhere", "w"), None);
    // Neither an orphan that the selector matches, nor one that was owned.
    fakes(&mut index, None, 12);
    fakes(&mut index, Some("w"), 13);
    assert_eq!(index.reset_sets(Some("elsewhere"), vec![foreign(Some("w"), 14)]), []);
    assert_eq!(index.put_set(foreign(Some("w"), 15)), []);
    // The later changes of a deleted ReplicaSet are no news, and nobody looks for it.
    index.expect_gone("ns", "uid-x");
    assert!(!index.shows_gone("elsewhere", "uid-x") && index.shows_gone("ns", "uid-x"));
    assert_eq!(index.set_left("ns", "uid-x", "16"), [], "not of that namespace");
    assert_eq!(index.sizes(), (2, 3));
    assert_eq!(index.set_left("elsewhere", "uid-x", "17"), []);
    assert_eq!((index.sizes(), index.strays(&key("web"))), ((2, 2), vec![]));
}

/// Pods of such a ReplicaSet neither complete a Deployment nor refute that it is complete.
#[test]
fn pods_of_another_namespace_are_no_news() {
    let mut index = single();
    let mut web = workload("web", "w", "web", 10);
    (web.replicas, web.status.observed_generation) = (3, 1);
    (web.status.replicas, web.status.updated_replicas) = (3, 3);
    (web.status.ready_replicas, web.status.available_replicas) = (3, 3);
    index.workload_came(web, Instant::now());
    index.set_came(report(11, 3, [3, 3, 3]));
    let mut fake = ReplicaSet::clone(&foreign(Some("w"), 12).set);
    (fake.size, fake.status.replicas) = (5, 5);
    index.set_came(Placed { namespace: "elsewhere".to_owned(), set: Arc::new(fake) });
    assert_eq!(index.set_came(report(13, 3, [3, 3, 3])), [(key("web"), Cause::Settled)]);
}

/// The server's data was restored from a backup: what was shown before means nothing for what is written now.
#[test]
fn versions_fall_with_those_of_the_server() {
    use crate::territory::Kind;
    let mut index = filled(Sight::Whole);
    index.apply_set(set("web-1", Some("w"), "web", 900));
    assert_eq!(index.newest(Kind::Sets, None), Some(900));
    index.falls_to(Kind::Sets, None, 500);
    assert!(index.newest_set.has_reached("ns", 500) && !index.newest_set.has_reached("ns", 501));
    index.falls_to(Kind::Sets, None, 700);
    assert_eq!(index.newest(Kind::Sets, None), Some(500), "it only falls");
    assert_eq!(Index::new(Sight::Whole).newest(Kind::Sets, None), None, "nothing was shown");
}

#[test]
fn only_another_generation_is_an_edit() {
    let mut index = Index::new(Sight::Whole);
    let mut web = workload("web", "w", "web", 1);
    let mut came = |web: &Workload| index.workload_came(web.clone(), Instant::now());
    assert_eq!(came(&web), [(key("web"), Cause::Edited)], "a new one");
    web.resource_version = "2".to_owned();
    assert_eq!(came(&web), [(key("web"), Cause::Changed)], "a status");
    web.generation += 1;
    assert_eq!(came(&web), [(key("web"), Cause::Edited)], "a spec");
}

#[test]
fn a_deployment_is_settled_when_all_its_sets_are() {
    let mut index = filled(Sight::Whole);
    let report = |name: &str, version, pods| {
        let mut set = ReplicaSet::clone(&set(name, Some("w"), "web", version).set);
        (set.generation, set.size, set.status.observed_generation) = (1, 3, 1);
        (set.status.replicas, set.status.ready, set.status.available) = (3, 3, pods);
        Placed { namespace: "ns".to_owned(), set: Arc::new(set) }
    };
    index.apply_set(report("web-1", 11, 3));
    let came = index.set_came(report("web-2", 12, 2));
    assert_eq!(came, [(key("web"), Cause::Advanced)], "a pod of web-2 is not available");
    assert_eq!(index.set_came(report("web-2", 13, 3)), [(key("web"), Cause::Settled)]);
}

/// `web` with one ReplicaSet.
fn single() -> Index {
    let mut index = Index::new(Sight::Whole);
    index.reset_workloads(None, vec![workload("web", "w", "web", 1)], Instant::now());
    index.reset_sets(None, vec![set("web-1", Some("w"), "web", 3)]);
    index
}

/// The ReplicaSet `web-1` of this size, with these numbers of pods, ready ones and available ones.
fn report(version: u64, size: i64, [pods, ready, available]: [i64; 3]) -> Placed {
    let mut set = ReplicaSet::clone(&set("web-1", Some("w"), "web", version).set);
    (set.generation, set.size, set.status.observed_generation) = (1, size, 1);
    (set.status.replicas, set.status.ready, set.status.available) = (pods, ready, available);
    Placed { namespace: "ns".to_owned(), set: Arc::new(set) }
}

#[test]
fn pods_that_are_lost_are_bad_news_and_those_that_are_cut_are_not() {
    let mut index = single();
    let mut came =
        |size, pods, version| index.set_came(report(version, size, pods)).pop().map(|(_, cause)| cause);
    came(3, [3, 3, 3], 11);
    assert_eq!(came(3, [3, 2, 2], 12), Some(Cause::TakenBack), "a pod is not ready any more");
    assert_eq!(came(3, [3, 2, 2], 13), Some(Cause::Advanced), "and nothing else");
    assert_eq!(came(3, [3, 3, 2], 14), Some(Cause::Advanced), "it is back");
    assert_eq!(came(3, [3, 3, 1], 15), Some(Cause::TakenBack), "another one is not available");
    assert_eq!(came(3, [3, 3, 3], 16), Some(Cause::Settled));
    assert_eq!(came(1, [3, 3, 3], 17), Some(Cause::Advanced), "it is to be smaller");
    assert_eq!(came(1, [2, 2, 2], 18), Some(Cause::Advanced), "it gets smaller");
    assert_eq!(came(1, [0, 0, 0], 19), Some(Cause::TakenBack), "it gets too small");
    let left = |index: &mut Index, version| index.set_left("ns", "uid-web-1", version).pop();
    assert_eq!(left(&mut index, "20"), Some((key("web"), Cause::Changed)), "it had no pods");
    index.set_came(report(21, 3, [3, 3, 3]));
    assert_eq!(left(&mut index, "22"), Some((key("web"), Cause::TakenBack)));
}

#[test]
fn a_complete_deployment_that_is_not_is_bad_news_whichever_event_comes_first() {
    let told = |pods: i64, version: u64| {
        let mut web = workload("web", "w", "web", version);
        web.replicas = 3;
        let status = &mut web.status;
        status.observed_generation = 1;
        (status.replicas, status.updated_replicas) = (pods, pods);
        (status.ready_replicas, status.available_replicas) = (pods, pods);
        web
    };
    let mut index = single();
    index.workload_came(told(3, 10), Instant::now());
    assert_eq!(index.set_came(report(11, 3, [3, 3, 3])), [(key("web"), Cause::Settled)]);
    let smaller = index.set_came(report(12, 2, [2, 2, 2]));
    assert_eq!(smaller, [(key("web"), Cause::TakenBack)], "somebody else made the set smaller");
    // The status is older than what the ReplicaSet reports, and comes later.
    index.workload_came(told(2, 13), Instant::now());
    assert_eq!(index.set_came(report(14, 2, [2, 2, 2])), [(key("web"), Cause::Settled)]);
    let came = index.workload_came(told(3, 15), Instant::now());
    assert_eq!(came, [(key("web"), Cause::TakenBack)], "it says that it is complete");
    assert_eq!(index.workload_came(told(2, 16), Instant::now()), [(key("web"), Cause::Changed)]);
}
