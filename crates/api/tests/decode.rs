//! Objects that no API server would send, decoded all the same.

use plan::intstr::IntOrPercent;
use plan::{Flavour, Until};
use rollwright_api::decode::{self, Defaults};
use serde_json::{Value, json};

/// An object with one field set.
fn with(field: &str, value: i64) -> Value {
    let (part, field) = field.split_once('.').unwrap();
    json!({ part: { field: value } })
}

/// The planner adds counts up; found by fuzzing.
#[test]
fn counts_beyond_32_bits_are_refused_by_field() {
    for wide in [i64::MAX, i64::MIN, i64::from(i32::MAX) + 1] {
        for field in ["spec.replicas", "spec.minReadySeconds", "status.replicas", "status.availableReplicas"]
        {
            let rejected = decode::replica_set(Flavour::Rollwright, &with(field, wide)).unwrap_err();
            assert_eq!(rejected.field, field);
        }
        for field in ["spec.replicas", "spec.revisionHistoryLimit", "spec.progressDeadlineSeconds"] {
            let object = with(field, wide);
            let rejected = decode::workload(Flavour::Rollwright, &object, Defaults::Apply).unwrap_err();
            assert_eq!(rejected.field, field);
        }
    }
    let widest = decode::replica_set(Flavour::AppsV1, &with("spec.replicas", i64::from(i32::MAX))).unwrap();
    assert_eq!(widest.size, i64::from(i32::MAX));
    let generation = with("status.observedGeneration", i64::MAX);
    let set = decode::replica_set(Flavour::AppsV1, &generation).unwrap();
    assert_eq!(set.status.observed_generation, i64::MAX);
}

/// A Deployment's status is written again anyway, so garbage in it stops nothing.
#[test]
fn counts_in_a_status_are_cut_to_32_bits() {
    for (stored, read) in [(i64::MAX, i32::MAX), (i64::MIN, i32::MIN), (7, 7)] {
        let object = with("status.updatedReplicas", stored);
        let workload = decode::workload(Flavour::Rollwright, &object, Defaults::Apply).unwrap();
        assert_eq!(workload.status.updated_replicas, i64::from(read));
    }
}

/// The field that is wrong stands in the error, however deep.
#[test]
fn errors_name_the_field() {
    let spec = |spec: Value| decode::spec(&spec).unwrap_err().field;
    assert_eq!(spec(json!({"paused": "yes"})), "spec.paused");
    assert_eq!(
        spec(json!({"strategy": {"rollingUpdate": {"maxSurge": true}}})),
        "spec.strategy.rollingUpdate.maxSurge"
    );
    let terms = json!({"selector": {"matchExpressions": [{"key": "a", "operator": "Exists"}, {"key": 1}]}});
    assert_eq!(spec(terms), "spec.selector.matchExpressions[1].key");
    let status = decode::status(&json!({"conditions": [{"type": "a"}]})).unwrap_err();
    assert_eq!(status.field, "status.conditions[0]");
    assert_eq!(decode::status(&json!("none")).unwrap_err().field, "status");
}

/// The definition may be newer than the program: what the API server keeps, the program may not know.
#[test]
fn the_first_unknown_field_of_a_spec_is_noted() {
    let unknown = |flavour, spec: Value| {
        decode::workload(flavour, &json!({ "spec": spec }), Defaults::of(flavour)).unwrap().unknown_field
    };
    let ours = |spec| unknown(Flavour::Rollwright, spec);
    let newer = json!({"failurePolicy": {"action": "Revert", "when": {"latency": "1s"}}});
    assert_eq!(ours(newer).as_deref(), Some("spec.failurePolicy.when.latency"));
    let gates =
        json!({"strategy": {"rollingUpdate": {"steps": [{"updated": 1}, {"updated": 2, "gates": []}]}}});
    assert_eq!(ours(gates.clone()).as_deref(), Some("spec.strategy.rollingUpdate.steps.1.gates"));
    assert_eq!(unknown(Flavour::AppsV1, gates), None, "the field of another API");
    let known = json!({"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "rollbackTo": {"revision": 1},
                       "template": {"spec": {"newField": 1}}, "paused": null});
    assert_eq!(ours(known), None);
}

/// A null is an absent value, and the template is never read.
#[test]
fn nulls_and_templates_are_passed_over() {
    let spec = json!({"replicas": null, "paused": null, "selector": null, "strategy": null, "rollbackTo": null,
                      "template": ["anything"]});
    assert_eq!(decode::spec(&spec).unwrap(), Default::default());
    assert_eq!(decode::spec(&Value::Null).unwrap(), Default::default());
}

/// A null is no condition that is absent, and a word of a newer version waits.
#[test]
fn steps_are_read_as_they_are_written() {
    let of = |flavour, limits: Value| {
        let object = json!({"spec": {"strategy": {"rollingUpdate": limits}}});
        decode::workload(flavour, &object, Defaults::of(flavour))
            .map(|workload| (workload.steps, workload.good_skips_steps))
    };
    let ours = |limits| of(Flavour::Rollwright, limits);
    let written = json!({"steps": [
        {"updated": 1, "approval": "Required"},
        {"updated": "25%", "waitSeconds": 600},
        {"updated": "50%"},
        {"updated": "60%", "approval": "Dawn", "waitSeconds": 60},
    ]});
    let (steps, good_skips_steps) = ours(written.clone()).unwrap();
    let waits: Vec<_> = steps.iter().map(|step| &*step.until).collect();
    let both = [Until::Promoted, Until::Seconds(60)];
    assert_eq!(waits, [&[Until::Promoted][..], &[Until::Seconds(600)], &[], &both]);
    let updated: Vec<_> = steps.iter().map(|step| step.updated.to_string()).collect();
    assert_eq!((updated.join(" ").as_str(), good_skips_steps), ("1 25% 50% 60%", true));
    for (word, skips) in [("GoodRevisions", true), ("Nothing", false), ("Some", false)] {
        let (_, good_skips_steps) = ours(json!({"skipStepsFor": word, "steps": [{"updated": 1}]})).unwrap();
        assert_eq!(good_skips_steps, skips, "{word}");
    }
    for field in ["approval", "waitSeconds"] {
        let null = ours(json!({"steps": [{"updated": 1, field: null}]})).unwrap_err();
        assert_eq!(null.field, format!("spec.strategy.rollingUpdate.steps[0].{field}"));
    }
    for none in [json!({"steps": []}), json!({"steps": null}), json!(null)] {
        assert_eq!(ours(none), Ok((Vec::new(), true)));
    }
    assert_eq!(of(Flavour::AppsV1, written), Ok((Vec::new(), true)));
}

/// What is not written has its default, whatever else is written: the deadline, and one pod.
#[test]
fn a_failure_policy_has_its_defaults() {
    let policy = |policy: Value| {
        let object = json!({"spec": {"failurePolicy": policy}});
        let workload = decode::workload(Flavour::Rollwright, &object, Defaults::Apply).unwrap();
        workload.failure_policy.unwrap()
    };
    let stuck = json!({"deadlineExceeded": false, "stuckSeconds": 120, "minPods": "50%"});
    for (written, deadline, stuck_seconds, min_pods) in [
        (json!({}), true, None, IntOrPercent::Int(1)),
        (json!({"when": {"stuckSeconds": 60, "minPods": 2}}), true, Some(60), IntOrPercent::Int(2)),
        (json!({"when": stuck}), false, Some(120), IntOrPercent::Text("50%".to_owned())),
    ] {
        let read = policy(written.clone());
        assert_eq!(
            (read.deadline, read.stuck_seconds, read.min_pods),
            (deadline, stuck_seconds, min_pods),
            "{written}"
        );
    }
    let apps = json!({"spec": {"failurePolicy": {"action": "Revert"}}});
    let workload = decode::workload(Flavour::AppsV1, &apps, Defaults::Literal).unwrap();
    assert_eq!(workload.failure_policy, None);
}
