use api::decode::{self, Defaults};
use plan::Flavour;
use serde_json::{Value, json};

use super::*;

fn shown(status: &Value) -> String {
    shown_of(&json!({"replicas": 10, "template": {}}), status)
}

fn shown_of(spec: &Value, status: &Value) -> String {
    let body = json!({
        "metadata": {
            "namespace": "shop", "name": "web", "uid": "u", "generation": 3,
            "creationTimestamp": "2026-04-01T12:00:00Z",
        },
        "spec": spec,
        "status": status,
    });
    let workload = decode::workload(Flavour::Rollwright, &body, Defaults::Apply).expect("a Deployment");
    let mut text = Vec::new();
    let (workloads, blocked) = (vec![workload.into()], BTreeMap::new());
    render(&[Shown { api: "rollwright.dev/v1", workloads, blocked, omitted: 7 }], &mut text);
    String::from_utf8(text).expect("text")
}

const WEB: &str = r#"api="rollwright.dev/v1",namespace="shop",deployment="web""#;

#[test]
fn shapes_are_those_of_kube_state_metrics() {
    let text = shown(&json!({
        "observedGeneration": 2, "replicas": 11, "updatedReplicas": 4, "readyReplicas": 9,
        "availableReplicas": 8, "unavailableReplicas": 3, "terminatingReplicas": 1,
    }));
    for (name, value) in [
        ("created", 1_775_044_800),
        ("metadata_generation", 3),
        ("spec_paused", 0),
        ("spec_replicas", 10),
        ("spec_strategy_rollingupdate_max_surge", 3),
        ("spec_strategy_rollingupdate_max_unavailable", 2),
        ("status_observed_generation", 2),
        ("status_replicas", 11),
        ("status_replicas_available", 8),
        ("status_replicas_ready", 9),
        ("status_replicas_unavailable", 3),
        ("status_replicas_updated", 4),
        ("status_terminating_replicas", 1),
    ] {
        let line = format!("\nrollwright_deployment_{name}{{{WEB}}} {value}\n");
        assert!(text.contains(&line), "{line} in\n{text}");
    }
    assert!(text.contains("\n# TYPE rollwright_deployment_spec_replicas gauge\n"));
    assert!(text.contains("\nrollwright_object_metrics_omitted{api=\"rollwright.dev/v1\"} 7\n"));
}

#[test]
fn a_condition_has_a_series_for_each_status_it_could_have() {
    let text = shown(&json!({"conditions": [
        {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"},
        {"type": "Progressing", "status": "True", "reason": "ProgressDeadlineExceeded"},
        {"type": "example.com/Foreign", "status": "True", "reason": "Whatever"},
        {"type": "Available", "status": "True", "reason": "not a \"word\"\n"},
    ]}));
    let of = |condition: &str, reason: &str, status: &str, value: u8| {
        format!(
            "rollwright_deployment_status_condition{{{WEB},condition=\"{condition}\",reason=\"{reason}\",status=\"{status}\"}} {value}"
        )
    };
    let lines: Vec<_> =
        text.lines().filter(|line| line.starts_with("rollwright_deployment_status_condition{")).collect();
    let (available, progressing) = ("Available", "Progressing");
    let late = "ProgressDeadlineExceeded";
    let expected = [
        of(available, "", "true", 1),
        of(available, "", "false", 0),
        of(available, "", "unknown", 0),
        of(progressing, late, "true", 0),
        of(progressing, late, "false", 1),
        of(progressing, late, "unknown", 0),
    ];
    assert_eq!(lines, expected);
}

#[test]
fn a_deployment_has_a_series_while_another_revision_runs() {
    let target = |reason: &str| json!({"revision": 6, "reason": reason, "declaredRevision": 7});
    let lines = |target: &Value| -> Vec<String> {
        let text = shown(&json!({"target": target}));
        let found = text.lines().filter(|line| line.starts_with("rollwright_deployment_diverged{"));
        found.map(str::to_owned).collect()
    };
    for reason in ["Pinned", "PinTargetMissing", "Reverted", "Aborted"] {
        let series = format!("rollwright_deployment_diverged{{{WEB},reason=\"{reason}\"}} 1");
        assert_eq!(lines(&target(reason)), [series]);
    }
    for other in [Value::Null, json!({}), json!("garbage"), target("not a \"word\"\n")] {
        assert!(lines(&other).is_empty(), "{other}");
    }
}

#[test]
fn a_rollout_has_a_series_while_it_waits_for_a_promotion() {
    let lines = |replicas: i64, step: i64, since: &Value| -> Vec<String> {
        let steps = json!([{"updated": 1, "approval": "Required"}, {"updated": 3, "waitSeconds": 600}]);
        let spec =
            json!({"replicas": replicas, "strategy": {"rollingUpdate": {"steps": steps}}, "template": {}});
        let rollout = json!({"id": 2, "revision": 2, "step": step, "steps": 3, "restStartTime": since});
        let text = shown_of(&spec, &json!({"rollout": rollout}));
        let found = text.lines().filter(|line| line.starts_with("rollwright_rollout_awaits_promotion{"));
        found.map(str::to_owned).collect()
    };
    let noon = json!("2026-04-01T12:00:00Z");
    assert_eq!(lines(10, 1, &noon), [format!("rollwright_rollout_awaits_promotion{{{WEB}}} 1")]);
    for (replicas, step, since) in [(10, 1, &Value::Null), (10, 2, &noon), (10, 3, &noon), (0, 1, &noon)] {
        assert!(lines(replicas, step, since).is_empty(), "{replicas} {step}");
    }
}

#[test]
fn a_cause_has_one_series_and_no_words_of_a_container() {
    let blocker = |cause: &str, container: &str| json!({"cause": cause, "container": container, "pods": 2, "totalPods": 4, "message": "password=hunter2"});
    let blockers = [
        blocker("CrashLoop", "a"),
        blocker("CrashLoop", "b"),
        blocker("ImagePull", "a"),
        blocker("not a \"word\"\n", "a"),
        json!("garbage"),
    ];
    let text = shown(&json!({"blockers": blockers}));
    let lines: Vec<_> = text.lines().filter(|line| line.starts_with("rollwright_rollout_blocked{")).collect();
    let of = |cause: &str, pods: u8| format!("rollwright_rollout_blocked{{{WEB},cause=\"{cause}\"}} {pods}");
    assert_eq!(lines, [of("CrashLoop", 4), of("ImagePull", 2)]);
    assert!(!text.contains("hunter2"));
}
