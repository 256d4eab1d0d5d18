//! The server refuses watch and list of one kind: what the other watches show is still acted on.

use super::*;

/// Longer than the other watches need to start again after a cut.
const A_WHILE: Duration = Duration::from_secs(5);
/// How late the reaction to a healthy watch may be.
const UNAFFECTED: Duration = Duration::from_secs(1);

/// Neither the watch nor the list of a kind is let in. (`list` may leave out those of one namespace.)
async fn shut_out(rig: &Rig, watch: &'static str, list: &'static str) {
    for on in [On::Watch(watch), On::List(list)] {
        rig.faults.arm(on, Fault::Refuse(503), u32::MAX);
    }
    rig.faults.cut();
    tokio::time::sleep(A_WHILE).await;
}

#[tokio::test(start_paused = true)]
async fn without_deployments_a_changed_set_is_mended() {
    for flavour in BOTH {
        let rig = up(flavour).await;
        shut_out(&rig, "deployments", "v1/deployments").await;
        rig.patch_sets("web", json!({ "spec": { "replicas": 12 } })).await;
        tokio::time::sleep(UNAFFECTED).await;
        assert_eq!(rig.sizes("web"), [10], "{flavour:?}");
        rig.set_image("web", "app:v2").await;
        tokio::time::sleep(A_WHILE).await;
        assert!(rig.faults.heal() > 2, "it was tried again and again");
        rig.settle("web", SOON).await;
    }
}

#[tokio::test(start_paused = true)]
async fn without_sets_a_new_deployment_gets_one() {
    for flavour in BOTH {
        let rig = up(flavour).await;
        rig.begin("web", "app:v2").await;
        shut_out(&rig, "replicasets", "v1/replicasets").await;
        rig.create("other", 1, "app:v1").await;
        tokio::time::sleep(UNAFFECTED).await;
        assert_eq!(rig.sizes("other"), [1], "{flavour:?}");
        tokio::time::sleep(A_WHILE).await;
        assert!(rig.faults.heal() > 2, "it was tried again and again");
        for name in ["web", "other"] {
            rig.settle(name, SOON).await;
        }
    }
}

/// Only a Recreate has to know the pods.
#[tokio::test(start_paused = true)]
async fn without_pods_a_rolling_update_goes_on() {
    for flavour in BOTH {
        let rig = up(flavour).await;
        rig.create("anew", 1, "app:v1").await;
        rig.patch("anew", json!({ "spec": { "strategy": { "type": "Recreate", "rollingUpdate": null } } }))
            .await;
        rig.settle("anew", SOON).await;
        shut_out(&rig, "pods", "pods").await;
        rig.set_image("anew", "app:v2").await;
        rig.roll_out("web", "app:v2", A_WHILE).await;
        let new = rig.sizes("anew").iter().sum::<i64>();
        assert_eq!(new, 0, "a Recreate waits until it knows the pods");
        assert!(rig.faults.heal() > 0, "nobody asked for pods");
        rig.settle("anew", SOON).await;
    }
}
