use super::*;
use crate::index::tests::{set, workload};

fn gone(version: &str) -> Change {
    Change::SetGone { namespace: "ns".to_owned(), uid: "uid-web-1".to_owned(), version: version.to_owned() }
}

#[test]
fn what_is_told_before_the_list_waits_for_it() {
    let mut territory = Territory::default();
    assert!(territory.observe(gone("1")).is_none() && !territory.admits("ns"));
    territory.take_in("ns");
    assert!(territory.admits("ns") && !territory.covers("ns"));
    for change in [Change::Set(set("web-1", None, "web", 5).into()), gone("7"), gone("no number")] {
        assert!(territory.observe(change).is_none());
    }
    let told = territory.fill(Kind::Sets, "ns", 6).expect("awaited");
    let versions: Vec<_> = told.iter().map(Change::version).collect();
    assert_eq!(versions, ["7", "no number"]);
    assert!(!territory.covers("ns"), "the Deployments are missing");
    assert!(territory.fill(Kind::Workloads, "ns", 9).is_some());
    assert!(territory.covers("ns"));
    // A watch that lags shows what the list has shown, and more.
    let told = |version| Change::Workload(workload("web", "w", "web", version).into(), Instant::now());
    assert!(territory.observe(told(9)).is_none());
    assert!(territory.observe(told(10)).is_some());
    territory.let_go("ns");
    assert!(territory.observe(told(11)).is_none());
}

#[test]
fn a_list_of_the_cluster_counts_if_it_began_after_the_namespace_came() {
    let mut territory = Territory::default();
    territory.take_in("ns");
    assert_eq!(territory.meaning(Kind::Sets, "ns"), Meaning::Nothing);
    assert_eq!(territory.meaning(Kind::Sets, "other"), Meaning::Foreign);
    for kind in [Kind::Workloads, Kind::Sets] {
        territory.begin(kind);
        assert_eq!(territory.meaning(kind, "ns"), Meaning::Counts);
    }
    assert_eq!(territory.reset(Kind::Workloads), [""; 0]);
    assert_eq!(territory.reset(Kind::Sets), ["ns"]);
    assert!(territory.covers("ns") && territory.unlisted().is_empty());
    assert_eq!(territory.reset(Kind::Sets), [""; 0], "it was whole before");
}

#[test]
fn a_list_that_began_before_has_the_namespace_listed_anew() {
    let mut territory = Territory::default();
    territory.begin(Kind::Sets);
    territory.take_in("ns");
    let early = territory.unlisted().remove(0);
    territory.fill(Kind::Workloads, "ns", 1).expect("awaited");
    territory.fill(Kind::Sets, "ns", 1).expect("awaited");
    territory.filled("ns");
    assert!(territory.covers("ns") && !territory.takes(&early));
    assert_eq!(territory.reset(Kind::Sets), [""; 0]);
    assert!(!territory.covers("ns"));
    let late = territory.unlisted().remove(0);
    assert!(territory.takes(&late) && !territory.takes(&early));
}
