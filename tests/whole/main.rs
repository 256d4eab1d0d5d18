//! The whole operator over an in-memory cluster, in virtual time: the watches, client, workers, and events that
//! `rollwright run` starts. A layer between them and the server injects faults. What takes hours on a real
//! cluster takes milliseconds here.
//!
//! The clock is tokio's, paused: it moves when every task waits. So a wait that nothing ends is an hour that passes in
//! no time, and a test detects what takes too long, however fast the machine is.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

mod blocked;
mod clock;
mod clocks;
mod counted;
mod edits;
mod faults;
mod figures;
mod going_back;
mod holding;
mod law;
mod news;
mod queueing;
mod reports;
mod rig;
mod shards;
mod shut_out;
mod slow;
mod starting;
mod takeover;

use std::time::Duration;

use plan::Flavour;
use serde_json::json;
use tokio::time::Instant;

use faults::{Fault, On};
use rig::Rig;

/// The bounds of docs/internals/reliability.md.
const SOON: Duration = Duration::from_secs(35);
const HALF_OPEN: Duration = Duration::from_secs(210);
const AN_HOUR: Duration = Duration::from_secs(3600);
const BOTH: [Flavour; 2] = [Flavour::Rollwright, Flavour::AppsV1];

/// A rig with a Deployment of ten pods that has come up.
async fn up(flavour: Flavour) -> Rig {
    let rig = Rig::new(flavour);
    rig.create("web", 10, "app:v1").await;
    rig.settle("web", Duration::from_secs(5)).await;
    rig
}

/// By then, the last events and statuses are written.
const QUIET_AFTER: Duration = Duration::from_secs(30);

/// Nothing is written for an hour.
async fn is_quiet(rig: &Rig) {
    tokio::time::sleep(QUIET_AFTER).await;
    rig.faults.take_writes();
    tokio::time::sleep(AN_HOUR).await;
    assert_eq!(rig.faults.take_writes(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn rollouts_and_then_quiet() {
    for flavour in BOTH {
        let rig = up(flavour).await;
        for version in 2..6 {
            rig.roll_out("web", &format!("app:v{version}"), Duration::from_secs(5)).await;
        }
        rig.patch("web", json!({ "spec": { "replicas": 3 } })).await;
        rig.settle("web", Duration::from_secs(5)).await;
        assert_eq!(rig.sizes("web"), [3, 0, 0, 0, 0]);
        is_quiet(&rig).await;
    }
}

/// A reconcile each hour for each Deployment, although nothing happens: the safety net of S2.8.
#[tokio::test(start_paused = true)]
async fn every_deployment_is_looked_at_once_an_hour() {
    let rig = up(Flavour::Rollwright).await;
    for number in 0..20 {
        rig.create(&format!("idle-{number}"), 0, "app:v1").await;
    }
    tokio::time::sleep(Duration::from_secs(60)).await;
    let before = rig.reconciles();
    tokio::time::sleep(AN_HOUR).await;
    assert_eq!(rig.reconciles() - before, 21);
}

/// What a planner decides by the time, it decides at that time.
#[tokio::test(start_paused = true)]
async fn hours_go_by_for_the_planner_too() {
    let rig = up(Flavour::Rollwright).await;
    rig.patch("web", json!({ "spec": { "minReadySeconds": 1800, "progressDeadlineSeconds": 7200 } })).await;
    rig.set_image("web", "app:v2").await;
    // Five at a time: three above, and two that may be missing. Objects hold whole seconds.
    let took = rig.settle("web", 2 * AN_HOUR).await.as_secs();
    assert!((3590..3610).contains(&took), "{took} s");
    rig.patch("web", json!({ "spec": { "minReadySeconds": 0, "progressDeadlineSeconds": 3600 } })).await;
    rig.set_image("web", "app:bad").await;
    let begin = Instant::now();
    while rig.condition("web", "Progressing").await["reason"] != "ProgressDeadlineExceeded" {
        assert!(begin.elapsed() < 2 * AN_HOUR, "it never gives up");
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    let after = begin.elapsed().as_secs();
    assert!((3600..3610).contains(&after), "given up after {after} s");
}

/// A fault meets a rollout half way, and the template changes once more. Returns how long after the last of it all is
/// as asked.
async fn meet(rig: &Rig, number: u32, on: On, fault: Fault, times: u32, bound: Duration) -> Duration {
    rig.begin("web", &format!("app:v{}", 2 * number)).await;
    rig.faults.arm(on, fault, times);
    if matches!(on, On::Watch(_) | On::List(_)) {
        rig.faults.cut();
    }
    rig.set_image("web", &format!("app:v{}", 2 * number + 1)).await;
    is_met(rig, on, fault, times).await;
    rig.settle("web", bound).await
}

/// Waits until this many requests have met the fault that is armed, and ends it.
async fn is_met(rig: &Rig, on: On, fault: Fault, times: u32) {
    let begin = Instant::now();
    while rig.faults.met() < times {
        let met = rig.faults.met();
        assert!(begin.elapsed() < Duration::from_secs(120), "{fault:?} on {on:?} is met {met} times");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    rig.faults.heal();
}

/// Two rollouts of ten pods have made at most 50 writes each, events aside, and three more for each fault.
fn is_modest(rig: &Rig, times: u32) {
    let writes = rig.faults.take_writes().into_iter().filter(|write| !write.contains("/events"));
    let writes: Vec<_> = writes.collect();
    assert!(writes.len() <= 2 * 50 + 3 * times as usize, "{} writes: {writes:#?}", writes.len());
}

/// What may happen to a request.
const OF_REQUESTS: [Fault; 12] = [
    Fault::Refuse(409),
    Fault::Refuse(500),
    Fault::Refuse(503),
    Fault::Refuse(504),
    Fault::RefuseFor(429, 3),
    Fault::RefuseFor(503, 3),
    Fault::RefuseAfter(504),
    Fault::Lose,
    Fault::Swallow,
    Fault::Drop,
    Fault::Hang,
    Fault::Late(Duration::from_secs(2)),
];

#[tokio::test(start_paused = true)]
async fn requests_that_fail() {
    // What was carried out is not asked for a second time: there is one create and at least one delete in a rollout.
    let all = [
        (On::Write("replicasets"), 2),
        (On::Write("deployments"), 2),
        (On::Request, 2),
        (On::Create("replicasets"), 1),
        (On::Delete("replicasets"), 1),
    ];
    for flavour in BOTH {
        let rig = up(flavour).await;
        rig.patch("web", json!({ "spec": { "revisionHistoryLimit": 0 } })).await;
        let mut number = 1;
        for fault in OF_REQUESTS {
            for (on, times) in all {
                meet(&rig, number, on, fault, times, SOON).await;
                is_modest(&rig, times);
                number += 1;
            }
        }
        is_quiet(&rig).await;
        assert_eq!(rig.sizes("web"), [10], "the others are deleted");
    }
}

#[tokio::test(start_paused = true)]
async fn watches_that_fail() {
    let all = [
        Fault::Refuse(500),
        Fault::Refuse(503),
        Fault::RefuseFor(429, 3),
        Fault::Drop,
        Fault::Late(Duration::from_secs(2)),
    ];
    for flavour in BOTH {
        let rig = up(flavour).await;
        let mut number = 1;
        for fault in all {
            for kind in ["deployments", "replicasets"] {
                // A late start is a start: there is no second one.
                let times = if matches!(fault, Fault::Late(_)) { 1 } else { 3 };
                meet(&rig, number, On::Watch(kind), fault, times, SOON).await;
                is_modest(&rig, times);
                number += 1;
            }
        }
        is_quiet(&rig).await;
    }
}

/// However long nothing works, backoffs stay as short as they are promised to be.
#[tokio::test(start_paused = true)]
async fn a_server_that_is_away_for_an_hour() {
    for flavour in BOTH {
        let rig = up(flavour).await;
        rig.begin("web", "app:v2").await;
        for on in [On::Request, On::Watch("deployments"), On::Watch("replicasets")] {
            rig.faults.arm(on, Fault::Drop, u32::MAX);
        }
        rig.faults.cut();
        rig.set_image("web", "app:v3").await;
        tokio::time::sleep(AN_HOUR).await;
        assert!(rig.faults.heal() > 100);
        rig.settle("web", SOON).await;
        is_quiet(&rig).await;
    }
}

/// While the versions are gone that the watches have seen, there are only lists to go by.
#[tokio::test(start_paused = true)]
async fn a_history_that_is_gone() {
    for flavour in BOTH {
        let rig = up(flavour).await;
        for number in 2..6 {
            rig.begin("web", &format!("app:v{number}")).await;
            rig.cluster.act(|cluster| cluster.store.compact(cluster.store.version()));
            rig.faults.cut();
            rig.settle("web", SOON).await;
        }
        // As an answer to the start of a watch, which is another way in the client.
        for (number, kind) in [(6, "deployments"), (8, "replicasets")] {
            rig.begin("web", &format!("app:v{number}")).await;
            rig.faults.arm(On::Watch(kind), Fault::Expire, u32::MAX);
            rig.faults.cut();
            rig.roll_out("web", &format!("app:v{}", number + 1), SOON).await;
            assert_eq!(rig.faults.heal(), 1, "{kind}");
        }
        is_quiet(&rig).await;
    }
}

/// Nobody knows what was in a line that cannot be read.
#[tokio::test(start_paused = true)]
async fn watches_that_bring_no_json() {
    for flavour in BOTH {
        let rig = up(flavour).await;
        for number in [2, 4] {
            rig.begin("web", &format!("app:v{number}")).await;
            let before = rig.faults.reads().len();
            rig.faults.garble();
            rig.roll_out("web", &format!("app:v{}", number + 1), SOON).await;
            let reads = rig.faults.reads();
            for list in ["v1/deployments?", "v1/replicasets?"] {
                assert!(
                    reads[before..].iter().any(|(_, read)| read.contains(list)),
                    "no new {list}: {reads:?}"
                );
            }
        }
        is_quiet(&rig).await;
    }
}

#[tokio::test(start_paused = true)]
async fn connections_that_are_open_and_dead() {
    for flavour in BOTH {
        let rig = up(flavour).await;
        let mut number = 2;
        let mut change = async || {
            rig.set_image("web", &format!("app:v{number}")).await;
            number += 1;
        };
        // All watches, without a byte or with some.
        for fall_silent in [faults::Faulty::freeze, faults::Faulty::trickle] {
            change().await;
            rig.half_way("web").await;
            fall_silent(&rig.faults);
            change().await;
            let took = rig.settle("web", HALF_OPEN).await;
            assert!(took > Duration::from_secs(30), "nobody missed the watches: {took:?}");
        }
        // The start of a watch, and a list.
        for on in [On::Watch("deployments"), On::Watch("replicasets")] {
            change().await;
            rig.half_way("web").await;
            rig.faults.arm(on, Fault::Hang, 1);
            rig.faults.cut();
            change().await;
            rig.settle("web", HALF_OPEN).await;
            assert_eq!(rig.faults.heal(), 1, "{on:?}");
        }
        for kind in ["deployments", "replicasets"] {
            change().await;
            rig.half_way("web").await;
            rig.faults.arm(On::Watch(kind), Fault::Expire, 1);
            rig.faults.arm(On::List(kind), Fault::Hang, 1);
            rig.faults.cut();
            change().await;
            rig.settle("web", HALF_OPEN).await;
            assert_eq!(rig.faults.heal(), 2, "{kind}");
        }
        is_quiet(&rig).await;
    }
}

/// The server asks for rest, and gets it; the others are not held up.
#[tokio::test(start_paused = true)]
async fn a_server_that_asks_to_be_spared() {
    let rig = up(Flavour::Rollwright).await;
    rig.create("other", 2, "app:v1").await;
    rig.settle("other", SOON).await;
    rig.faults.arm(On::Write("replicasets"), Fault::RefuseFor(429, 60), 1);
    rig.set_image("web", "app:v2").await;
    while rig.faults.met() == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    rig.faults.take_writes();
    rig.roll_out("other", "app:v2", Duration::from_secs(5)).await;
    tokio::time::sleep(Duration::from_secs(50)).await;
    let writes = rig.faults.take_writes();
    assert!(writes.iter().any(|write| write.contains("/other")), "{writes:#?}");
    assert!(!writes.iter().any(|write| write.contains("/web")), "{writes:#?}");
    rig.settle("web", Duration::from_secs(15)).await;
}

/// After a conflict the operator waits for its cache, which may be behind in more than that ReplicaSet.
#[tokio::test(start_paused = true)]
async fn a_conflict_shows_that_the_cache_is_behind() {
    for flavour in BOTH {
        let rig = up(flavour).await;
        rig.faults.freeze_those_of(Some("replicasets"));
        // The status of the ReplicaSet changes.
        rig.delete_pods("web", 1).await;
        tokio::time::sleep(Duration::from_secs(5)).await;
        rig.faults.take_writes();
        rig.patch("web", json!({ "spec": { "replicas": 9 } })).await;
        tokio::time::sleep(Duration::from_secs(20)).await;
        let writes = rig.faults.take_writes();
        let of_sets: Vec<_> = writes.iter().filter(|write| write.contains("replicasets/")).collect();
        assert_eq!(of_sets.len(), 1, "{writes:#?}");
        rig.settle("web", HALF_OPEN).await;
        is_quiet(&rig).await;
    }
}

/// What happens in some rollouts with faults: every request that would write, with its time.
async fn story() -> Vec<String> {
    let rig = up(Flavour::Rollwright).await;
    meet(&rig, 1, On::Request, Fault::Lose, 3, SOON).await;
    meet(&rig, 2, On::Watch("replicasets"), Fault::Refuse(500), 5, SOON).await;
    meet(&rig, 3, On::Write("replicasets"), Fault::Hang, 1, SOON).await;
    rig.faults.freeze();
    rig.roll_out("web", "app:last", HALF_OPEN).await;
    tokio::time::sleep(AN_HOUR).await;
    rig.faults.take_writes()
}

/// A failure that cannot be seen again cannot be mended.
#[test]
fn the_same_happens_each_time() {
    let tell = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
        // A thread of its own, for its clock.
        std::thread::spawn(|| runtime.unwrap().block_on(story())).join().unwrap()
    };
    let first = tell();
    assert!(first.len() > 50, "{} writes", first.len());
    assert_eq!(tell(), first);
}
