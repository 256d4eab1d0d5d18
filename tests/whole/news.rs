//! Bad news is reported immediately: no event, cooldown or pace holds it up.

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use super::rig::Rig;
use super::{BOTH, up};

/// A round trip takes no time here, and the test looks this often.
const GLANCE: Duration = Duration::from_millis(1);

/// Waits until something holds, and returns when that was.
async fn until(mut holds: impl AsyncFnMut() -> bool) -> Instant {
    let begin = Instant::now();
    while !holds().await {
        assert!(begin.elapsed() < Duration::from_secs(60), "it never holds");
        tokio::time::sleep(GLANCE).await;
    }
    Instant::now()
}

/// How many pods are ready by the status.
async fn told(rig: &Rig) -> i64 {
    rig.object("web").await.pointer("/status/readyReplicas").and_then(serde_json::Value::as_i64).unwrap_or(0)
}

/// Returns how much later than the ReplicaSets' statuses the Deployment's shows that pods are gone.
async fn delay(rig: &Rig) -> Duration {
    let before = told(rig).await;
    rig.delete_pods("web", 3).await;
    let lost = until(async || rig.ready_in_sets("web") < before).await;
    let ready = rig.ready_in_sets("web");
    until(async || told(rig).await <= ready).await - lost
}

#[tokio::test(start_paused = true)]
async fn pods_that_are_lost_are_told_at_once() {
    for flavour in BOTH {
        let rig = up(flavour).await;
        tokio::time::sleep(Duration::from_secs(20)).await;
        assert!(delay(&rig).await <= 2 * GLANCE, "at rest");
        rig.settle("web", Duration::from_secs(5)).await;
        assert!(delay(&rig).await <= 2 * GLANCE, "right after a completion");
        // The operator has just written, and others roll out at the same time.
        for number in 0..8 {
            let name = format!("other-{number}");
            rig.create(&name, 4, "app:v1").await;
            rig.settle(&name, Duration::from_secs(5)).await;
            rig.set_image(&name, "app:v2").await;
        }
        rig.settle("web", Duration::from_secs(5)).await;
        rig.patch("web", json!({ "metadata": { "annotations": { "team": "red" } } })).await;
        until(async || rig.annotation_of_sets("web", "team").contains(&Some("red".to_owned()))).await;
        assert!(delay(&rig).await <= 2 * GLANCE, "during a cooldown");
    }
}
