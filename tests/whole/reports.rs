//! What users of Kubernetes' Deployments reported, played in virtual time.

use std::time::Duration;

use serde_json::json;

use super::{BOTH, HALF_OPEN, is_quiet, up};

/// How many pods may have failed without anybody's notice.
const FAILED: usize = 1000;

/// The operator takes a watch for dead that was silent for 95 s. Here `/livez` waits for less, or it would have nothing
/// to report.
const STALLED_AFTER: Duration = Duration::from_secs(85);
const SILENT_FOR: Duration = Duration::from_secs(90);

/// kubernetes#125579: pods that have failed stay until somebody deletes them. Neither strategy waits for them, and the
/// operator reads them page by page, if it does at all.
#[tokio::test(start_paused = true)]
async fn a_thousand_failed_pods_hold_up_nothing() {
    for flavour in BOTH {
        let rig = up(flavour).await;
        rig.add_failed_pods("web", FAILED).await;
        for (strategy, version) in [("RollingUpdate", 2), ("Recreate", 3)] {
            let spec = json!({ "strategy": { "type": strategy, "rollingUpdate": null } });
            rig.patch("web", json!({ "spec": spec })).await;
            tokio::time::sleep(Duration::from_secs(60)).await;
            let before = rig.faults.reads().len();
            rig.roll_out("web", &format!("app:v{version}"), Duration::from_secs(5)).await;
            assert_eq!(rig.sizes("web").iter().sum::<i64>(), 10, "{flavour:?}, {strategy}");
            let reads = rig.faults.reads().len() - before;
            assert!(reads <= 20, "{flavour:?}, {strategy}: {reads} reads");
        }
        is_quiet(&rig).await;
    }
}

/// kubernetes#129795, #117008: the watch of one kind brings nothing for minutes, and nothing ends it. The operator
/// knows by a write of its own that the watch is late, and by the time without any news that it is dead. A probe that
/// waits for less than that reports this watch, and no other.
#[tokio::test(start_paused = true)]
async fn a_watch_of_one_kind_falls_silent() {
    for flavour in BOTH {
        for kind in ["deployments", "replicasets"] {
            let rig = up(flavour).await;
            rig.faults.freeze_those_of(Some(kind));
            rig.set_image("web", "app:v2").await;
            tokio::time::sleep(SILENT_FOR).await;
            let complaints = rig.complaints(STALLED_AFTER);
            let named: Vec<_> = complaints.lines().filter_map(|line| line.split(' ').nth(3)).collect();
            assert_eq!(named, [kind], "{flavour:?}: {complaints}");
            rig.settle("web", HALF_OPEN - SILENT_FOR).await;
            // The rollout may have settled before, by a read.
            tokio::time::sleep(HALF_OPEN - SILENT_FOR).await;
            assert_eq!(rig.complaints(STALLED_AFTER), "");
            assert_eq!(rig.sizes("web"), [10, 0], "{flavour:?}, {kind}");
            is_quiet(&rig).await;
        }
    }
}
