//! What metrics count of rollouts: each once, when the write that reports its end has succeeded.

use std::time::Duration;

use plan::Flavour;
use serde_json::json;

use super::faults::{Fault, On};
use super::rig::Rig;
use super::{AN_HOUR, BOTH, SOON, is_quiet, up};

/// The values of a metric in the series of the Deployments' namespace with this label.
fn values(rig: &Rig, name: &str, label: &str) -> Vec<String> {
    let start = format!("rollwright_{name}{{");
    let api = format!("api=\"{}\"", rig.flavour.api_version());
    let expected = [api.as_str(), "namespace=\"default\"", label];
    let text = rig.metrics();
    let series = text.lines().filter_map(|line| line.strip_prefix(&start)?.split_once("} "));
    let ours = series.filter(|(labels, _)| expected.iter().all(|label| labels.contains(label)));
    ours.map(|(_, value)| value.to_owned()).collect()
}

fn count(rig: &Rig, name: &str, label: &str) -> u64 {
    values(rig, name, label).iter().map(|value| value.parse::<u64>().unwrap()).sum()
}

fn seconds(rig: &Rig, name: &str, label: &str) -> f64 {
    values(rig, name, label).iter().map(|value| value.parse::<f64>().unwrap()).sum()
}

/// How many rollouts ended so, whatever their trigger; and for how many of them the duration is known.
fn ended(rig: &Rig, outcome: &str) -> (u64, u64) {
    let label = format!("outcome=\"{outcome}\"");
    (count(rig, "rollouts_total", &label), count(rig, "rollout_duration_seconds_count", &label))
}

/// How many changes failed, and how many of these failures are over.
fn failures(rig: &Rig) -> (u64, u64) {
    (count(rig, "change_failures_total", ""), count(rig, "restore_duration_seconds_count", ""))
}

/// Nothing has been counted.
fn is_clear(rig: &Rig) {
    for outcome in ["Succeeded", "Failed", "Superseded", "Cancelled"] {
        assert_eq!(ended(rig, outcome), (0, 0), "{outcome}");
    }
    assert_eq!(failures(rig), (0, 0));
}

/// Waits until some pods are new, and the status has reported the rollout, so that its record is open.
async fn is_open(rig: &Rig) {
    rig.half_way("web").await;
    let begin = tokio::time::Instant::now();
    loop {
        let object = rig.object("web").await;
        if object.pointer("/status/observedGeneration") == object.pointer("/metadata/generation") {
            return;
        }
        assert!(begin.elapsed() < SOON, "{object}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_refused_report_of_the_end_counts_nothing_and_its_retry_counts_once() {
    for flavour in BOTH {
        let rig = up(flavour).await;
        assert_eq!(ended(&rig, "Succeeded"), (1, 1), "the first one");
        for (number, fault) in [(2, Fault::Refuse(500)), (3, Fault::Refuse(409)), (4, Fault::Drop)] {
            rig.set_image("web", &format!("app:v{number}")).await;
            is_open(&rig).await;
            let before = ended(&rig, "Succeeded").0;
            assert_eq!(before, number - 1);
            rig.faults.arm(On::Write("deployments"), fault, u32::MAX);
            tokio::time::sleep(SOON).await;
            assert_eq!(rig.ready_in_sets("web"), 10, "all pods are new");
            assert_eq!(ended(&rig, "Succeeded").0, before, "{fault:?}");
            assert!(rig.faults.heal() > 3, "it was tried again and again");
            rig.settle("web", SOON).await;
            tokio::time::sleep(AN_HOUR).await;
            assert_eq!(ended(&rig, "Succeeded").0, number, "{fault:?}");
        }
        let trigger = if flavour == Flavour::Rollwright { "NewImage" } else { "" };
        let label = format!("outcome=\"Succeeded\",trigger=\"{trigger}\"");
        assert!(count(&rig, "rollouts_total", &label) >= 3);
        assert_eq!(ended(&rig, "Succeeded").1, 4, "durations");
        assert_eq!((ended(&rig, "Superseded"), failures(&rig)), ((0, 0), (0, 0)));
    }
}

#[tokio::test(start_paused = true)]
async fn a_restart_counts_no_rollout_again() {
    for flavour in BOTH {
        let mut rig = up(flavour).await;
        rig.set_image("web", "app:v2").await;
        is_open(&rig).await;
        rig.restart().await;
        rig.settle("web", SOON).await;
        tokio::time::sleep(SOON).await;
        assert_eq!(ended(&rig, "Succeeded"), (1, 1), "{flavour:?}");
        rig.restart().await;
        is_quiet(&rig).await;
        is_clear(&rig);
    }
}

#[tokio::test(start_paused = true)]
async fn replaced_rollouts_have_their_outcomes() {
    for flavour in BOTH {
        let rig = up(flavour).await;
        for image in ["app:v2", "app:v3"] {
            rig.set_image("web", image).await;
            is_open(&rig).await;
        }
        rig.roll_out("web", "app:v1", SOON).await;
        // Without `spec.rollbackTo`, a record shows no rollback.
        let (superseded, cancelled) = if flavour == Flavour::Rollwright { (2, 0) } else { (1, 1) };
        assert_eq!(ended(&rig, "Superseded").0, superseded, "{flavour:?}");
        assert_eq!(ended(&rig, "Cancelled").0, cancelled, "{flavour:?}");
        assert_eq!(ended(&rig, "Succeeded").0, 2, "{flavour:?}");
        assert_eq!(failures(&rig), (1, 1), "the one that v1 replaced");
    }
}

/// The failure lasts from the deadline to the end of the rollout that mends it. The first rollout is blocked meanwhile.
#[tokio::test(start_paused = true)]
async fn a_failure_lasts_until_the_next_rollout_is_complete() {
    for (flavour, restarts) in BOTH.into_iter().flat_map(|flavour| [(flavour, false), (flavour, true)]) {
        let mut rig = up(flavour).await;
        rig.patch("web", json!({ "spec": { "progressDeadlineSeconds": 100 } })).await;
        rig.set_image("web", "app:bad").await;
        tokio::time::sleep(Duration::from_secs(50)).await;
        let before = blocked(&rig);
        assert!((20.0..45.0).contains(&before), "{before} s");
        tokio::time::sleep(Duration::from_secs(350)).await;
        let after = blocked(&rig);
        assert!((after - before - 350.0).abs() < 5.0, "{before} s, {after} s");
        assert_eq!((ended(&rig, "Failed"), failures(&rig)), ((1, 1), (1, 0)), "{flavour:?}");
        if restarts {
            rig.restart().await;
        }
        rig.roll_out("web", "app:v2", SOON).await;
        tokio::time::sleep(SOON).await;
        let lasted = seconds(&rig, "restore_duration_seconds_sum", "");
        assert!((300.0..310.0).contains(&lasted), "{flavour:?}: {lasted} s");
        let once = u64::from(!restarts);
        assert_eq!((failures(&rig), ended(&rig, "Succeeded").0), ((once, 1), 1 + once), "{flavour:?}");
        let before = blocked(&rig);
        tokio::time::sleep(AN_HOUR).await;
        assert!(blocked(&rig) - before < 1.0, "blocked no more");
        assert_eq!(failures(&rig), (once, 1));
    }
}

/// For how long rollouts were blocked by what the pods of a bad image report.
fn blocked(rig: &Rig) -> f64 {
    seconds(rig, "rollout_blocked_seconds_total", "cause=\"ImagePull\"")
}
