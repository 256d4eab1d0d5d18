//! Clocks that jump: that of the operator's machine, and that of the server.

use super::*;

const DEADLINE: u64 = 600;

/// How the rollout of a revision ended, and what runs then.
async fn outcome(rig: &Rig) -> (String, Vec<i64>) {
    let progressing = rig.condition("web", "Progressing").await;
    (progressing["reason"].as_str().unwrap_or_default().to_owned(), rig.sizes("web"))
}

/// Half of a rollout with pods that take a minute to become ready. It may take ten minutes without progress.
async fn half_way(flavour: Flavour) -> Rig {
    let rig = Rig::with_pods(flavour, Duration::from_secs(60), Duration::from_secs(1));
    rig.create("web", 10, "app:v1").await;
    rig.settle("web", Duration::from_secs(200)).await;
    let mut spec = json!({ "progressDeadlineSeconds": DEADLINE });
    if flavour == Flavour::Rollwright {
        spec["failurePolicy"] = json!({ "action": "Revert" });
    }
    rig.patch("web", json!({ "spec": spec })).await;
    rig.set_image("web", "app:v2").await;
    tokio::time::sleep(Duration::from_secs(90)).await;
    rig
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_jumps_fails_no_rollout() {
    for is_server in [false, true] {
        let rig = half_way(Flavour::Rollwright).await;
        if is_server {
            rig.faults.jump(AN_HOUR);
        } else {
            clock::jump(AN_HOUR);
        }
        rig.settle("web", Duration::from_secs(300)).await;
        assert_eq!(outcome(&rig).await, ("NewReplicaSetAvailable".to_owned(), vec![10, 0]));
    }
}

/// S9.12: on apps/v1 the clock of the machine counts, as upstream's does. The rollout continues all the same.
#[tokio::test(start_paused = true)]
async fn on_apps_a_jump_is_told_as_the_deadline() {
    let rig = half_way(Flavour::AppsV1).await;
    clock::jump(AN_HOUR);
    rig.faults.cut();
    let begin = Instant::now();
    while outcome(&rig).await.0 != "ProgressDeadlineExceeded" {
        assert!(begin.elapsed() < Duration::from_secs(60), "{:?}", outcome(&rig).await);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    rig.settle("web", Duration::from_secs(300)).await;
}

/// Returns how long something lasts that takes twenty minutes, while both clocks jump in the middle of it, and the
/// operator looks.
async fn lasts(rig: &Rig, pointer: &str) -> u64 {
    let begin = Instant::now();
    let goes_on = async || rig.object("web").await.pointer(pointer).is_some_and(|value| !value.is_null());
    tokio::time::sleep(Duration::from_secs(300)).await;
    assert!(goes_on().await, "{}", rig.object("web").await["status"]);
    clock::jump(AN_HOUR);
    rig.faults.jump(AN_HOUR);
    rig.patch("web", json!({ "metadata": { "annotations": { "team": "red" } } })).await;
    while goes_on().await {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    begin.elapsed().as_secs()
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_jumps_ends_no_bake() {
    let rig = up(Flavour::Rollwright).await;
    rig.patch("web", json!({ "spec": { "failurePolicy": { "action": "Revert", "bakeSeconds": 1200 } } }))
        .await;
    rig.roll_out("web", "app:v2", Duration::from_secs(60)).await;
    let took = lasts(&rig, "/status/memory/bake").await;
    assert!((1190..1215).contains(&took), "{took} s");
}

/// A rollout that waits at a step for twenty minutes.
async fn at_a_step() -> Rig {
    let rig = up(Flavour::Rollwright).await;
    let steps = json!([{ "updated": 1, "waitSeconds": 1200 }]);
    rig.patch("web", json!({ "spec": { "strategy": { "rollingUpdate": { "steps": steps } } } })).await;
    rig.set_image("web", "app:v2").await;
    tokio::time::sleep(Duration::from_secs(10)).await;
    rig
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_jumps_ends_no_step() {
    let rig = at_a_step().await;
    let took = lasts(&rig, "/status/rollout/restStartTime").await;
    assert!((1180..1215).contains(&took), "{took} s");
}

/// Operators that live for twenty seconds each still judge in time.
#[tokio::test(start_paused = true)]
async fn restarts_do_not_prolong_a_deadline() {
    let mut rig = up(Flavour::Rollwright).await;
    let policy = json!({ "action": "Revert" });
    rig.patch("web", json!({ "spec": { "progressDeadlineSeconds": DEADLINE, "failurePolicy": policy } }))
        .await;
    rig.set_image("web", "app:bad").await;
    let begin = Instant::now();
    while outcome(&rig).await.1.last() != Some(&0) {
        assert!(begin.elapsed() < Duration::from_secs(DEADLINE + 60), "{:?}", outcome(&rig).await);
        tokio::time::sleep(Duration::from_secs(20)).await;
        rig.restart().await;
    }
    assert!(begin.elapsed() > Duration::from_secs(DEADLINE - 10), "{:?}", begin.elapsed());
}

/// Nor do they shorten or prolong a step.
#[tokio::test(start_paused = true)]
async fn restarts_leave_the_time_of_a_step() {
    let mut rig = at_a_step().await;
    let begin = Instant::now();
    let rests = async |rig: &Rig| rig.object("web").await.pointer("/status/rollout/restStartTime").is_some();
    while rests(&rig).await {
        tokio::time::sleep(Duration::from_secs(20)).await;
        rig.restart().await;
    }
    let took = begin.elapsed().as_secs();
    assert!((1180..1235).contains(&took), "{took} s");
    rig.settle("web", SOON).await;
}
