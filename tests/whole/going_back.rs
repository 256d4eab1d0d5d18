//! Rollbacks and aborts, which write what no other rollout does: an earlier template, a verdict, and the report of a
//! revert. These writes meet what may happen to a request.

use plan::keys::{ABORT, ROLLBACK_TO};

use super::*;

/// How many writes in a row meet it: the one that goes back, and the next one.
const TIMES: u32 = 2;
const LOOK: Duration = Duration::from_millis(50);

/// Waits until the fault has been met, and then until something holds. Returns how long the latter took.
async fn recovers(rig: &Rig, on: On, fault: Fault, mut holds: impl AsyncFnMut() -> bool) -> Duration {
    is_met(rig, on, fault, TIMES).await;
    let begin = Instant::now();
    while !holds().await {
        let object = rig.object("web").await;
        assert!(begin.elapsed() <= SOON, "{fault:?} on {on:?}: {object}");
        tokio::time::sleep(LOOK).await;
    }
    begin.elapsed()
}

#[tokio::test(start_paused = true)]
async fn rollbacks_whose_writes_fail() {
    let on = On::Write("deployments");
    for (flavour, fault) in BOTH.into_iter().flat_map(|flavour| OF_REQUESTS.map(|fault| (flavour, fault))) {
        let rig = up(flavour).await;
        rig.roll_out("web", "app:v2", SOON).await;
        rig.faults.take_writes();
        rig.faults.arm(on, fault, TIMES);
        let request = match flavour {
            Flavour::Rollwright => json!({ "spec": { "rollbackTo": { "revision": 1 } } }),
            Flavour::AppsV1 => json!({ "metadata": { "annotations": { ROLLBACK_TO: "1" } } }),
        };
        rig.patch("web", request).await;
        let took = recovers(&rig, on, fault, async || {
            let containers = &rig.object("web").await["spec"]["template"]["spec"]["containers"];
            containers[0]["image"] == "app:v1"
        })
        .await;
        let writes = rig.faults.take_writes();
        let first = writes.iter().find(|write| write.contains("/deployments/"));
        assert!(
            first.is_some_and(|write| write.ends_with("/deployments/web")),
            "the rollback met it: {writes:#?}"
        );
        rig.settle("web", SOON.saturating_sub(took)).await;
        assert_eq!(rig.sizes("web"), [10, 0], "{flavour:?}, {fault:?}");
    }
}

/// FP-2, FP-12. Somebody aborts a rollout with pods that do not start: the verdict is stored before anything moves, and
/// the status reports the revert.
#[tokio::test(start_paused = true)]
async fn aborts_whose_writes_fail() {
    let all = [On::Write("replicasets"), On::Write("deployments")];
    for (on, fault) in all.into_iter().flat_map(|on| OF_REQUESTS.map(|fault| (on, fault))) {
        let rig = up(Flavour::Rollwright).await;
        rig.patch("web", json!({ "spec": { "failurePolicy": { "action": "Revert" } } })).await;
        // By then, the first revision is good, and no other verdict is due.
        tokio::time::sleep(SOON).await;
        rig.set_image("web", "app:bad").await;
        tokio::time::sleep(SOON).await;
        assert_eq!(rig.sizes("web"), [8, 5], "{fault:?} on {on:?}");
        rig.faults.arm(on, fault, TIMES);
        rig.patch("web", json!({ "metadata": { "annotations": { ABORT: "2" } } })).await;
        recovers(&rig, on, fault, async || {
            let status = &rig.object("web").await["status"];
            let is_told = status["target"]["reason"] == "Aborted" && status["availableReplicas"] == 10;
            is_told && rig.sizes("web") == [10, 0]
        })
        .await;
    }
}
