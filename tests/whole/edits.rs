//! What users write: ten times a second, while nobody is there, and at the limits of a number.

use super::takeover::{Member, SETTLED};
use super::*;

/// Per edit: a ReplicaSet made or found, some grown or cut, and the status along with them.
const WRITES_PER_EDIT: usize = 15;
const EDITS: usize = 50;

/// Template, size, and annotations change for five seconds. The writes stay in proportion, there is one ReplicaSet for
/// each template, and the last edit wins.
#[tokio::test(start_paused = true)]
async fn ten_edits_a_second() {
    for flavour in BOTH {
        let rig = up(flavour).await;
        rig.faults.take_writes();
        for edit in 0..EDITS {
            let metadata = json!({ "annotations": { "example.com/edit": edit.to_string() } });
            rig.patch("web", json!({ "metadata": metadata, "spec": { "replicas": 8 + edit % 3 } })).await;
            rig.set_image("web", &format!("app:v{}", 1 + edit % 4)).await;
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        rig.patch("web", json!({ "spec": { "replicas": 9 } })).await;
        rig.roll_out("web", "app:last", SOON).await;
        let sizes = rig.sizes("web");
        assert!(sizes.len() <= 5 && sizes[..2] == [9, 0], "{flavour:?}: {sizes:?}");
        let writes = rig.faults.take_writes().len();
        assert!(writes <= EDITS * WRITES_PER_EDIT, "{flavour:?}: {writes} writes");
        is_quiet(&rig).await;
    }
}

/// A Deployment gets two templates and another size, one is deleted, one is created, and one is replaced by another of
/// the same name. Of the template that nobody saw there is no ReplicaSet.
#[tokio::test(start_paused = true)]
async fn edits_while_nobody_is_there() {
    for flavour in BOTH {
        let rig = Rig::without_operator(flavour);
        let gone = Member::of(&rig);
        gone.wins().await;
        for name in ["edited", "deleted", "replaced"] {
            rig.create(name, 2, "app:v1").await;
            rig.settle(name, SETTLED).await;
        }
        gone.kill();
        rig.set_image("edited", "app:v2").await;
        rig.set_image("edited", "app:v3").await;
        rig.patch("edited", json!({ "spec": { "replicas": 5 } })).await;
        rig.delete("deleted").await;
        rig.delete("replaced").await;
        rig.create("replaced", 1, "app:v4").await;
        rig.create("created", 1, "app:v1").await;
        let next = Member::of(&rig);
        next.wins().await;
        for (name, sizes) in [("edited", vec![5, 0]), ("replaced", vec![1]), ("created", vec![1])] {
            rig.settle(name, SOON).await;
            assert_eq!(rig.sizes(name), sizes, "{flavour:?}: {name}");
        }
        assert_eq!(rig.sizes("deleted"), [0; 0], "{flavour:?}");
    }
}

/// The largest numbers that the API takes change nothing but what they are about, and no timer overflows.
#[tokio::test(start_paused = true)]
async fn numbers_at_the_limits() {
    for flavour in BOTH {
        let rig = up(flavour).await;
        let max = i32::MAX;
        let bounds = json!({ "maxSurge": format!("{max}%"), "maxUnavailable": "100%" });
        let spec = json!({ "strategy": { "rollingUpdate": bounds }, "revisionHistoryLimit": max,
                           "progressDeadlineSeconds": max });
        rig.patch("web", json!({ "spec": spec })).await;
        rig.roll_out("web", "app:v2", SOON).await;
        let bounds = json!({ "maxSurge": max, "maxUnavailable": max });
        rig.patch("web", json!({ "spec": { "strategy": { "rollingUpdate": bounds } } })).await;
        rig.roll_out("web", "app:v3", SOON).await;
        rig.patch("web", json!({ "spec": { "replicas": 11, "minReadySeconds": max - 1 } })).await;
        tokio::time::sleep(AN_HOUR).await;
        let status = &rig.object("web").await["status"];
        let available = status["availableReplicas"].as_i64().unwrap_or(0);
        assert_eq!((status["readyReplicas"].as_i64(), available), (Some(11), 0), "{flavour:?}: {status}");
        is_quiet(&rig).await;
    }
}

/// A second owner of a ReplicaSet has no part in it, and stays an owner through the operator's writes.
#[tokio::test(start_paused = true)]
async fn two_owners_of_a_set() {
    for flavour in BOTH {
        let rig = up(flavour).await;
        rig.create("other", 1, "app:v1").await;
        rig.settle("other", SOON).await;
        rig.share_sets("web", "other").await;
        rig.patch("web", json!({ "spec": { "replicas": 9 } })).await;
        rig.set_image("web", "app:v2").await;
        rig.patch("other", json!({ "spec": { "replicas": 2 } })).await;
        for (name, sizes) in [("web", vec![9, 0]), ("other", vec![2])] {
            rig.settle(name, SOON).await;
            assert_eq!(rig.sizes(name), sizes, "{flavour:?}: {name}");
        }
        let mut owners = rig.owners_of_sets("web").await;
        owners.sort_unstable();
        assert_eq!(owners, [1, 2], "{flavour:?}");
    }
}
