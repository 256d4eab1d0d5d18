//! Pods with several troubles.

use serde_json::{Value, json};

use super::*;
use crate::overdue;

fn pod(name: &str, status: &Value) -> Value {
    json!({"metadata": {"name": name, "namespace": "shop", "uid": name}, "status": status})
}

fn waits(name: &str, container: &str, reason: &str) -> Value {
    let state = json!({"waiting": {"reason": reason, "message": "no."}});
    pod(name, &json!({"containerStatuses": [{"name": container, "image": "app:9", "state": state}]}))
}

fn crashed(reason: &str, message: &str) -> Value {
    let last = json!({"exitCode": 137, "reason": reason, "message": message});
    let waiting = json!({"reason": "CrashLoopBackOff", "message": "back-off"});
    pod(
        "a",
        &json!({"containerStatuses": [{"name": "app", "state": {"waiting": waiting},
                                       "lastState": {"terminated": last}}]}),
    )
}

fn event(reason: &str, message: &str, time: &str) -> Value {
    json!({"reason": reason, "message": message, "involvedObject": {"uid": "a"}, "lastTimestamp": time})
}

#[test]
fn the_heaviest_comes_first_and_the_order_of_pods_does_not_matter() {
    let mut pods = vec![
        waits("a", "app", "CreateContainerConfigError"),
        waits("b", "app", "ImagePullBackOff"),
        waits("c", "app", "ErrImagePull"),
        pod("d", &json!({"conditions": [{"type": "Ready", "status": "True"}]})),
    ];
    let found = blockers(&pods, &[], Words::Withheld);
    let short: Vec<_> = found.iter().map(|found| (found.cause, found.pods, found.of)).collect();
    assert_eq!(short, [(Cause::ImagePull, 2, 4), (Cause::ContainerConfig, 1, 4)]);
    assert_eq!(found[0].key(), (Cause::ImagePull, "app", "ImagePullBackOff"));
    assert_eq!(found[0].message, "cannot pull the image app:9 of container app (ImagePullBackOff: no)");
    pods.reverse();
    assert_eq!(blockers(&pods, &[], Words::Withheld), found);
}

#[test]
fn a_retry_of_the_kubelet_is_no_other_blocker() {
    let first = blockers(&[waits("a", "app", "ErrImagePull")], &[], Words::Withheld);
    let then = blockers(&[waits("a", "app", "ImagePullBackOff")], &[], Words::Withheld);
    assert_eq!(first[0].key(), then[0].key());
    let elsewhere = blockers(&[waits("a", "proxy", "ErrImagePull")], &[], Words::Withheld);
    assert_ne!(first[0].key(), elsewhere[0].key());
}

#[test]
fn at_most_five_are_named() {
    let pods: Vec<Value> =
        (0..9).map(|n| waits(&n.to_string(), &format!("app-{n}"), "ErrImagePull")).collect();
    assert_eq!(blockers(&pods, &[], Words::Withheld).len(), MOST);
}

#[test]
fn a_crash_names_code_and_reason() {
    let found = blockers(&[crashed("OOMKilled", "")], &[], Words::Withheld);
    assert_eq!(found[0].key(), (Cause::CrashLoop, "app", "OOMKilled"));
    let text =
        "cannot keep container app running, last exit code 137 (OOMKilled); its last lines are in the log";
    assert_eq!(found[0].message, text);
}

#[test]
fn last_words_are_repeated_only_on_request_and_not_at_length() {
    let pods = [crashed("Error", &format!("password=hunter2{}", "é".repeat(5000)))];
    for words in [Words::Withheld, Words::OfProbes] {
        let found = blockers(&pods, &[], words);
        assert!(!format!("{found:?}").contains("hunter2"), "{found:?}");
    }
    let found = blockers(&pods, &[], Words::All);
    let (_, said) = found[0].message.split_once("its last words: ").unwrap();
    assert!(said.starts_with("password=hunter2"), "{said}");
    assert_eq!(said.chars().count(), 200);
}

#[test]
fn what_a_probe_printed_is_withheld() {
    let running = json!({"containerStatuses": [{"name": "app", "state": {"running": {}}}]});
    let events = [event("Unhealthy", "Readiness probe failed: password=hunter2", "2026-01-01T00:00:00Z")];
    let found = blockers(&[pod("a", &running)], &events, Words::Withheld);
    assert_eq!(found[0].message, "cannot become ready: Readiness probe failed");
    let shown = blockers(&[pod("a", &running)], &events, Words::OfProbes);
    assert!(shown[0].message.ends_with("password=hunter2"), "{shown:?}");
}

#[test]
fn the_latest_event_counts_wherever_it_stands() {
    let starting = json!({"containerStatuses": [{"name": "app", "state": {"waiting": {
        "reason": "ContainerCreating"}}}]});
    let events = [
        event("FailedMount", "configmap \"new\" not found.", "2026-01-01T00:00:09Z"),
        event("FailedMount", "configmap \"old\" not found", "2026-01-01T00:00:01Z"),
    ];
    let found = blockers(&[pod("a", &starting)], &events, Words::Withheld);
    assert_eq!(found[0].key(), (Cause::Volume, "", "FailedMount"));
    assert_eq!(found[0].message, "cannot mount a volume: configmap \"new\" not found");
    // The events of another pod mean nothing.
    assert_eq!(blockers(&[pod("b", &starting)], &events, Words::Withheld), []);
    // A container that runs has its volumes.
    let running = json!({"containerStatuses": [{"name": "app", "state": {"running": {}}}]});
    assert_eq!(blockers(&[pod("a", &running)], &events, Words::Withheld), []);
}

#[test]
fn a_pod_that_outstays_its_time() {
    let pod = json!({"metadata": {"name": "a", "deletionTimestamp": "2026-01-01T00:00:30Z"}});
    assert!(!overdue(&pod, "2026-01-01T00:00:30Z"));
    assert!(overdue(&pod, "2026-01-01T00:00:31Z"));
    assert!(!overdue(&json!({"metadata": {}}), "2026-01-01T00:00:31Z"));
}

#[test]
fn garbage_is_no_blocker() {
    for garbage in [json!(null), json!([]), json!("x"), json!({"status": 3, "metadata": []})] {
        assert_eq!(blockers(std::slice::from_ref(&garbage), std::slice::from_ref(&garbage), Words::All), []);
    }
    let strange = pod("a", &json!({"containerStatuses": [7, {"lastState": {"terminated": "no"}}]}));
    assert_eq!(blockers(&[strange], &[json!({"involvedObject": 1})], Words::All), []);
}
