//! Broken rollouts. The page has each cause; here is what is no cause, and which of two comes first.

use plan::Flavour;
use serde_json::{Value, json};

use super::*;
use crate::cluster::Deployment;
use crate::history::revisions;
use crate::pinned::samples;

mod page;

fn pod(status: &Value) -> Value {
    json!({"metadata": {"name": "web-h7-x", "namespace": "shop", "uid": "p"}, "status": status})
}

fn container(state: &Value) -> Value {
    let mut status = json!({"name": "app", "image": "app:9"});
    json_patch::merge(&mut status, state);
    json!({"phase": "Pending", "containerStatuses": [status]})
}

#[track_caller]
pub(super) fn is(diagnosis: &Diagnosis, verdict: Verdict, cause: &str, text: &str, next: &str) {
    assert_eq!((diagnosis.verdict, &*diagnosis.cause), (verdict, cause), "{diagnosis:?}");
    assert!(diagnosis.text.contains(text), "{diagnosis:?}");
    assert!(diagnosis.next.as_deref().unwrap_or_default().contains(next), "{diagnosis:?}");
}

/// A Deployment of the samples, with such a reason of the planner, where such signs of life are found.
pub(super) fn diagnosed(deployment: &Deployment, why: Why, unobserved: Option<Unobserved>) -> Diagnosis {
    let revisions = samples::revisions();
    diagnose(&Facts {
        deployment,
        revisions: &revisions,
        running: crate::pinned::running(deployment, &revisions),
        new_pods: &[],
        overdue: &[],
        events: &[],
        unread: Unread::default(),
        budgets: &[],
        unobserved,
        why: Ok(why),
        now: "2026-04-01T12:05:00Z".parse().unwrap(),
    })
}

#[test]
fn a_hold_waits_for_somebody() {
    let held = diagnosed(&samples::held("HeldAfterRestart"), Why::Stepping, None);
    is(
        &held,
        Verdict::Paused,
        "HeldAfterRestart",
        "The declared revision 7",
        "resume deployment.rollwright.dev/web",
    );
}

#[test]
fn a_pause_comes_before_a_pin_and_after_a_pin_of_nothing() {
    let paused = |mut deployment: Deployment| {
        deployment.body["spec"]["paused"] = json!(true);
        diagnosed(&deployment, Why::Paused, None)
    };
    is(&paused(samples::pinned()), Verdict::Paused, "Paused", "until someone resumes it", "resume");
    is(
        &paused(samples::missing()),
        Verdict::Blocked,
        "PinTargetMissing",
        "There are: h7 (revision 7)",
        "unpin",
    );
}
