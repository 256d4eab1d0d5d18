//! What an operator does before everything is listed.

use std::time::Duration;

use plan::Flavour;
use serde_json::json;
use tokio::time::Instant;

use super::faults::{Fault, On};
use super::rig::Rig;
use super::takeover::{Member, SETTLED, two};
use super::{AN_HOUR, BOTH};

/// An operator that leads, and a Deployment that it has rolled out.
async fn led(flavour: Flavour) -> (Rig, Member) {
    let rig = Rig::without_operator(flavour);
    let leader = Member::of(&rig);
    leader.wins().await;
    rig.create("web", 2, "app:v1").await;
    rig.settle("web", SETTLED).await;
    (rig, leader)
}

/// With many Deployments it takes half a minute until everything is listed. What users edit does not wait for that, and
/// the rollout continues although no watch shows its pods.
#[tokio::test(start_paused = true)]
async fn an_edit_before_the_lists_come() {
    for flavour in BOTH {
        let (rig, leader, other) = two(flavour, 10).await;
        // Only the list of the whole cluster, not that of a namespace.
        other.faults.arm(On::List("v1/replicasets"), Fault::Late(AN_HOUR), 1);
        leader.kill();
        other.wins().await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(other.faults.take_first_write(), None, "nothing was edited");
        rig.set_image("web", "app:v2").await;
        other.writes(Instant::now(), Duration::from_secs(2)).await;
        let took = rig.settle("web", SETTLED * 2).await;
        assert_eq!((other.faults.met(), rig.sizes("web")), (1, vec![10, 0]), "after {took:?}");
    }
}

/// A free lease is won before the first lists begin, so nothing is listed twice.
#[tokio::test(start_paused = true)]
async fn a_start_lists_everything_once() {
    for flavour in BOTH {
        let (_rig, leader) = led(flavour).await;
        let reads = leader.faults.reads();
        let lists =
            |kind: &str| reads.iter().filter(|(_, read)| read.contains(&format!("v1/{kind}?"))).count();
        assert_eq!((lists("replicasets"), lists("deployments")), (1, 1), "{reads:?}");
    }
}

/// The larger list of the ReplicaSets would delay that of the Deployments, and an edited Deployment must be known
/// before the operator acts on it.
#[tokio::test(start_paused = true)]
async fn a_start_lists_the_deployments_first() {
    for flavour in BOTH {
        let rig = Rig::without_operator(flavour);
        let leader = Member::of(&rig);
        leader.faults.arm(On::List("v1/deployments"), Fault::Late(SETTLED), 1);
        leader.wins().await;
        let is_read = |kind: &str| leader.faults.reads().iter().any(|(_, read)| read.contains(kind));
        tokio::time::sleep(SETTLED / 2).await;
        assert!(is_read("v1/deployments?") && !is_read("v1/replicasets?"));
        tokio::time::sleep(SETTLED).await;
        assert!(is_read("v1/replicasets?"));
    }
}

/// An orphan with the template of the Deployment is adopted, also by what is decided before the lists come.
#[tokio::test(start_paused = true)]
async fn an_orphan_is_adopted_before_the_lists_come() {
    for flavour in BOTH {
        let (rig, leader) = led(flavour).await;
        leader.kill();
        rig.orphan_sets("web").await;
        let flags = if flavour == Flavour::Rollwright { &["--adopt=any"][..] } else { &[] };
        let other = Member::with(&rig, flags);
        other.faults.arm(On::List("v1/replicasets"), Fault::Late(AN_HOUR), 1);
        other.wins().await;
        rig.patch("web", json!({ "spec": { "replicas": 3 } })).await;
        rig.settle("web", SETTLED * 2).await;
        assert_eq!((other.faults.met(), rig.sizes("web")), (1, vec![3]));
        let is_labelled = rig.labels_of_sets("web").iter().all(Option::is_some);
        assert_eq!(is_labelled, flavour == Flavour::Rollwright);
    }
}

/// The operator looks for ReplicaSets without the label once more after it has listed those with the label, so it finds
/// one that loses the label in between. Until then, live reads count the pods of such a ReplicaSet.
#[tokio::test(start_paused = true)]
async fn a_label_that_is_lost_before_the_lists_come() {
    let (rig, leader) = led(Flavour::Rollwright).await;
    leader.kill();
    let other = Member::of(&rig);
    // The first list, and that under the lease.
    other.faults.arm(On::List("v1/replicasets"), Fault::Late(SETTLED), 2);
    other.wins().await;
    rig.set_image("web", "app:v2").await;
    other.writes(Instant::now(), Duration::from_secs(2)).await;
    rig.label_sets("web", None).await;
    tokio::time::sleep(SETTLED * 3).await;
    assert_eq!(other.faults.met(), 2);
    assert!(rig.labels_of_sets("web").iter().all(Option::is_some), "{:?}", rig.labels_of_sets("web"));
    assert_eq!(rig.sizes("web"), [2, 0]);
}
