use std::sync::Arc;

use super::*;
use crate::index::tests::{key, set, workload};

fn moved<T>(items: Vec<T>, version: u64) -> Listed<T> {
    Listed { items, version }
}

fn sets(index: &Index) -> Vec<(String, String)> {
    let snapshot = index.snapshot(&key("web")).expect("snapshot");
    let mut sets: Vec<_> =
        snapshot.sets.iter().map(|set| (set.name.clone(), set.resource_version.clone())).collect();
    sets.sort();
    sets
}

/// A shard with the namespace `ns`, with `web` and its ReplicaSet, as listed at version 10.
fn joined() -> Index {
    let mut index = Index::of_shard(Sight::ByLabel);
    index.begin(Kind::Workloads);
    index.begin(Kind::Sets);
    assert_eq!(index.reset_workloads(None, vec![workload("web", "w", "web", 1)], Instant::now()), []);
    assert_eq!(index.reset_sets(None, vec![set("web-1", Some("w"), "web", 2)]), []);
    assert_eq!(index.sizes(), (0, 0), "nothing is kept of other namespaces");
    index.take_in("ns");
    let ticket = index.unlisted().remove(0);
    let (workloads, sets) = (vec![workload("web", "w", "web", 9)], vec![set("web-1", Some("w"), "web", 8)]);
    let requeued = index.fill(&ticket, moved(workloads, 10), moved(sets, 10), Instant::now());
    assert_eq!(requeued, Some(vec![key("web")]));
    assert!(index.covers("ns"));
    index
}

/// The watch lags behind the list, and must not take the cache back.
#[test]
fn a_watch_that_lags_changes_nothing() {
    let mut index = joined();
    assert_eq!(index.apply_set(set("web-1", Some("w"), "web", 5)), []);
    assert_eq!(index.apply_set(set("web-0", Some("w"), "web", 6)), [], "it was deleted since");
    assert_eq!(index.delete_set("ns", "uid-web-1", "7"), []);
    assert_eq!(index.delete_workload(key("web"), "8"), []);
    assert_eq!(sets(&index), [("web-1".to_owned(), "8".to_owned())]);
    assert_eq!(index.apply_set(set("web-1", Some("w"), "web", 11)), [key("web")]);
    assert_eq!(sets(&index), [("web-1".to_owned(), "11".to_owned())]);
}

/// What happens while the lists are made counts when they have come.
#[test]
fn changes_during_the_list_are_not_lost() {
    let mut index = joined();
    assert_eq!(index.let_go("ns"), [key("web")]);
    assert_eq!((index.sizes(), index.admits("ns")), ((0, 0), false));
    index.take_in("ns");
    let ticket = index.unlisted().remove(0);
    index.apply_set(set("web-1", Some("w"), "web", 19));
    index.apply_set(set("web-1", Some("w"), "web", 21));
    index.delete_set("ns", "uid-web-2", "22");
    index.apply_workload(workload("web", "w", "web", 23), Instant::now());
    assert_eq!(index.sizes(), (0, 0));
    let listed = vec![set("web-1", Some("w"), "web", 20), set("web-2", Some("w"), "web", 20)];
    let workloads = moved(vec![workload("web", "w", "web", 18), workload("api", "a", "api", 18)], 20);
    index.fill(&ticket, workloads, moved(listed, 20), Instant::now()).expect("awaited");
    assert_eq!(sets(&index), [("web-1".to_owned(), "21".to_owned())]);
    let (web, _) = index.first_seen(&key("web")).expect("web");
    assert_eq!(web.resource_version, "23");
    // A second list for the same ticket comes too late.
    let (workloads, listed) = (moved(Vec::<Workload>::new(), 30), moved(Vec::<Placed>::new(), 30));
    assert_eq!(index.fill(&ticket, workloads, listed, Instant::now()), None);
}

/// A list of the cluster that was under way when the namespace came means nothing for it, and has it listed again: the
/// watch continues from that list.
#[test]
fn a_list_of_the_cluster_that_was_under_way() {
    let mut index = Index::of_shard(Sight::ByLabel);
    index.begin(Kind::Sets);
    index.take_in("ns");
    let ticket = index.unlisted().remove(0);
    let (workloads, listed) = (vec![workload("web", "w", "web", 9)], vec![set("web-1", Some("w"), "web", 8)]);
    index.fill(&ticket, moved(workloads, 10), moved(listed, 10), Instant::now()).expect("awaited");
    assert_eq!(index.reset_sets(None, vec![set("web-1", Some("w"), "web", 3)]), []);
    assert!(!index.covers("ns") && index.admits("ns"));
    assert_eq!(sets(&index), [("web-1".to_owned(), "8".to_owned())]);
    let again = index.unlisted().remove(0);
    let (workloads, listed) =
        (vec![workload("web", "w", "web", 9)], vec![set("web-1", Some("w"), "web", 12)]);
    index.fill(&again, moved(workloads, 14), moved(listed, 14), Instant::now()).expect("awaited");
    assert!(index.covers("ns"));
    assert_eq!(sets(&index), [("web-1".to_owned(), "12".to_owned())]);
}

/// At the start the lists of the cluster are those of the namespaces, too; the second one requeues all.
#[test]
fn lists_of_the_cluster_fill_what_was_taken_in_before() {
    let mut index = Index::of_shard(Sight::Whole);
    index.take_in("ns");
    index.begin(Kind::Workloads);
    index.begin(Kind::Sets);
    let elsewhere = || {
        let mut other = workload("api", "a", "api", 3);
        other.namespace = "elsewhere".to_owned();
        other
    };
    index.reset_workloads(None, vec![workload("web", "w", "web", 2), elsewhere()], Instant::now());
    assert!(!index.covers("ns"));
    let other =
        Placed { namespace: "elsewhere".to_owned(), set: Arc::clone(&set("api-1", Some("a"), "api", 4).set) };
    assert_eq!(index.reset_sets(None, vec![other]), [key("web")], "it has no set that would requeue it");
    assert_eq!(index.sizes(), (1, 0));
    assert!(index.covers("ns") && index.unlisted().is_empty());
    assert!(index.newest_set.has_reached("ns", 4), "what is not kept was shown all the same");
}

/// A cache of everything knows nothing of all this.
#[test]
fn without_a_shard_every_namespace_is_covered() {
    let mut index = Index::new(Sight::Whole);
    assert!(index.admits("ns") && index.covers("ns") && index.unlisted().is_empty());
    index.begin(Kind::Sets);
    assert_eq!(
        index.reset_workloads(None, vec![workload("web", "w", "web", 2)], Instant::now()),
        [key("web")]
    );
}
