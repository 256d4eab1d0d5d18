//! `spec.resumePolicy: Manual`: after a crash, a handover, a restart, and in another shard, no size moves before the word,
//! and then all ends as ever (HO-1 to HO-5).

use std::time::Duration;

use apiserver::ApiServer;
use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use kube::api::DeleteParams;
use plan::Flavour;
use plan::keys::{RESUME, ROLLOUT};
use serde_json::{Value, json};

use super::faults::Faulty;
use super::rig::Rig;
use super::takeover::{Member, SETTLED, two};

/// Longer than anybody needs to take over, from a crash or from another shard.
const LONG: Duration = Duration::from_secs(60);
/// More writes to ReplicaSets than the rollout needs.
const WRITES: u32 = 20;

async fn manual(rig: &Rig) {
    rig.patch("web", json!({ "spec": { "resumePolicy": "Manual" } })).await;
}

async fn is_held(rig: &Rig) -> bool {
    let [stalled, progressing] =
        [rig.condition("web", "Stalled").await, rig.condition("web", "Progressing").await];
    let is_held = stalled["reason"] == "HeldAfterRestart";
    assert_eq!(progressing["reason"] == "HeldAfterRestart", is_held, "{progressing}");
    is_held
}

/// The word that releases what is held.
fn word(rig: &Rig) -> Option<String> {
    let memories = rig.annotation_of_sets("web", ROLLOUT).into_iter().flatten();
    let memories = memories.map(|text| serde_json::from_str::<Value>(&text).unwrap());
    let mut words = memories.filter_map(|it| Some(format!("{}/{}", it["revision"], it["epoch"].as_str()?)));
    words.next()
}

async fn says(rig: &Rig, word: &str) {
    rig.patch("web", json!({ "metadata": { "annotations": { RESUME: word } } })).await;
}

/// Nothing has moved since, however long nobody gives the word; then the rollout ends.
async fn waits_for_the_word(rig: &Rig, sizes: &[i64], what: &str) {
    for _ in 0..3 {
        tokio::time::sleep(LONG).await;
        assert_eq!(rig.sizes("web"), sizes, "{what}");
    }
    assert!(is_held(rig).await, "{what}: {sizes:?}");
    says(rig, &word(rig).unwrap()).await;
    rig.settle("web", LONG).await;
    tokio::time::sleep(SETTLED).await;
    assert!(word(rig).is_none() && !is_held(rig).await, "{what}");
}

/// Rolls another image out, and holds everything after this write to a ReplicaSet. Returns whether there was such a write.
async fn cut(rig: &Rig, faults: &Faulty, image: &str, writes: u32) -> bool {
    faults.hold_after(writes);
    rig.set_image("web", image).await;
    tokio::time::timeout(LONG, faults.held()).await.is_ok()
}

#[tokio::test(start_paused = true)]
async fn a_leader_killed_after_each_write() {
    let mut held = 0;
    for writes in 1..=WRITES {
        let (rig, leader, other) = two(Flavour::Rollwright, 10).await;
        manual(&rig).await;
        if !cut(&rig, &leader.faults, "app:v2", writes).await {
            assert!(held > 3 && writes > 5, "{held} of {writes}");
            return;
        }
        let sizes = rig.sizes("web");
        leader.kill();
        other.wins().await;
        if sizes == [10, 0] {
            rig.settle("web", LONG).await;
            assert!(!is_held(&rig).await);
            continue;
        }
        held += 1;
        waits_for_the_word(&rig, &sizes, &format!("killed after {writes} writes")).await;
        // The word of before means nothing for the next one.
        let third = Member::of(&rig);
        tokio::time::sleep(SETTLED).await;
        assert!(cut(&rig, &other.faults, "app:v3", 2).await);
        let sizes = rig.sizes("web");
        other.kill();
        third.wins().await;
        tokio::time::sleep(LONG).await;
        // A second crash in a row.
        let fourth = Member::of(&rig);
        tokio::time::sleep(SETTLED).await;
        third.kill();
        fourth.wins().await;
        waits_for_the_word(&rig, &sizes, "two in a row").await;
    }
    panic!("more than {WRITES} writes");
}

/// Nobody crashes: a release is a change of leader as well. A template that is declared after it proceeds.
#[tokio::test(start_paused = true)]
async fn a_leader_that_hands_over() {
    let (rig, leader, other) = two(Flavour::Rollwright, 10).await;
    manual(&rig).await;
    rig.set_image("web", "app:bad").await;
    tokio::time::sleep(SETTLED).await;
    let sizes = rig.sizes("web");
    assert_eq!(sizes, [8, 5]);
    leader.end().await;
    other.wins().await;
    tokio::time::sleep(LONG).await;
    assert!(is_held(&rig).await && rig.sizes("web") == sizes);
    rig.roll_out("web", "app:v2", LONG).await;
}

/// The Lease is deleted, and counts its transitions from the beginning.
#[tokio::test(start_paused = true)]
async fn a_lease_that_is_deleted() {
    let (rig, leader, other) = two(Flavour::Rollwright, 10).await;
    manual(&rig).await;
    assert!(cut(&rig, &leader.faults, "app:v2", 2).await);
    let sizes = rig.sizes("web");
    let leases: Api<Lease> =
        Api::default_namespaced(kube::Client::new(ApiServer::new(&rig.cluster), "default"));
    for lease in leases.list(&kube::api::ListParams::default()).await.unwrap() {
        let _ = leases.delete(&lease.metadata.name.unwrap(), &DeleteParams::default()).await.unwrap();
    }
    leader.kill();
    other.wins().await;
    waits_for_the_word(&rig, &sizes, "without its Lease").await;
}

/// A restart without an election, in order.
#[tokio::test(start_paused = true)]
async fn a_restart() {
    let mut rig = Rig::new(Flavour::Rollwright);
    rig.create("web", 10, "app:v1").await;
    manual(&rig).await;
    rig.settle("web", SETTLED).await;
    rig.set_image("web", "app:bad").await;
    tokio::time::sleep(SETTLED).await;
    for sizes in [[8, 5], [15, 10]] {
        rig.restart().await;
        tokio::time::sleep(LONG).await;
        assert!(is_held(&rig).await);
        assert_eq!(rig.sizes("web"), sizes);
        // Sizes follow R, and both revisions get their pods again.
        rig.patch("web", json!({ "spec": { "replicas": 20 } })).await;
        tokio::time::sleep(SETTLED).await;
        rig.delete_pods("web", 4).await;
        tokio::time::sleep(SETTLED).await;
    }
}

/// A namespace goes to another shard in the middle of a rollout, and returns.
#[tokio::test(start_paused = true)]
async fn a_namespace_that_moves() {
    let rig = Rig::without_operator(Flavour::Rollwright);
    rig.put_into_shard("default", Some("a")).await;
    let _shards = [rig.shard("shard=a"), rig.shard("shard=b")];
    rig.create("web", 10, "app:v1").await;
    manual(&rig).await;
    rig.settle("web", LONG).await;
    rig.set_image("web", "app:bad").await;
    tokio::time::sleep(LONG).await;
    let sizes = rig.sizes("web");
    for shard in ["b", "a"] {
        rig.put_into_shard("default", Some(shard)).await;
        tokio::time::sleep(LONG).await;
        assert!(is_held(&rig).await && rig.sizes("web") == sizes, "{shard}");
    }
    says(&rig, &word(&rig).unwrap()).await;
    tokio::time::sleep(LONG).await;
    assert!(!is_held(&rig).await);
    // The operator has been here before, in another stay.
    rig.put_into_shard("default", None).await;
    tokio::time::sleep(LONG).await;
    rig.put_into_shard("default", Some("a")).await;
    tokio::time::sleep(LONG).await;
    assert!(is_held(&rig).await && rig.sizes("web") == sizes);
}
