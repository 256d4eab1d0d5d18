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
