//! The way back of a Deployment with steps.

use super::*;

fn facts_with_steps() -> Facts {
    let mut facts = returning([0, 0, 3]);
    let limits = json!({"maxSurge": 1, "steps": [{"updated": 1}], "skipStepsFor": "Nothing"});
    facts.source.as_mut().expect("ours").body["spec"]["strategy"] =
        json!({"type": "RollingUpdate", "rollingUpdate": limits});
    facts
}

#[test]
fn no_copy_has_steps_and_somebody_is_told() {
    let mut facts = facts_with_steps();
    assert_eq!(problems(&facts, &neighbours()), Vec::<String>::new());
    let found = warnings(&facts, &neighbours());
    let words = "spec.strategy.rollingUpdate.steps of deployment.rollwright.dev/web is left out, since apps/v1 has no \
                 steps";
    assert!(found.iter().any(|line| line == words), "{found:?}");
    let limits = json!({"maxSurge": 1});
    assert_eq!(migrated(&mut facts)["strategy"], json!({"type": "RollingUpdate", "rollingUpdate": limits}));
}

#[test]
fn no_copy_has_a_process_hooks_or_a_resume_policy_and_somebody_is_told() {
    let mut facts = returning([0, 0, 3]);
    let spec = &mut facts.source.as_mut().expect("ours").body["spec"];
    spec["resumePolicy"] = json!("Manual");
    let job = json!({"job": {"template": {}}});
    spec["strategy"] = json!({"type": "Custom", "custom": {"image": "i"}, "hooks": {"after": job}});
    let found = warnings(&facts, &neighbours());
    for field in ["resumePolicy", "strategy.hooks", "strategy.custom"] {
        let words = format!("spec.{field} of deployment.rollwright.dev/web is left out");
        assert!(found.iter().any(|line| line.starts_with(&words)), "{field}: {found:?}");
    }
    let copy = migrated(&mut facts);
    assert_eq!((&copy["strategy"], &copy["resumePolicy"]), (&json!({"type": "RollingUpdate"}), &Value::Null));
}
