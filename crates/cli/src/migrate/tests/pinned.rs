//! The way back of a Deployment that is pinned.

use super::*;

/// Pinned to its second revision.
fn facts_of_pin() -> Facts {
    let mut facts = returning([0, 3, 0]);
    facts.source.as_mut().expect("ours").body["spec"]["pin"] = json!({"podTemplateHash": "h2"});
    facts
}

#[test]
fn the_declared_revision_is_not_rolled_out_without_consent() {
    let mut facts = facts_of_pin();
    let found = problems(&facts, &neighbours());
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(found[0].contains("spec.pin names (pod-template-hash h2)"), "{found:?}");
    assert!(found[0].contains("apps/v1 has no pin") && found[0].contains("--accept-declared"), "{found:?}");
    assert!(matches!(next(&facts), Next::Stuck(reason) if reason == found[0]));
    facts.accepts_declared = true;
    assert_eq!(problems(&facts, &neighbours()), Vec::<String>::new());
}

#[test]
fn with_consent_the_pin_goes_first_and_no_copy_has_it() {
    let mut facts = Facts { accepts_declared: true, ..facts_of_pin() };
    let lines = preview(facts.clone()).expect("a way");
    assert_eq!(
        lines[..2],
        [
            "remove spec.pin from deployment.rollwright.dev/web, so that its declared revision rolls out",
            "create deployment.apps/web, paused",
        ]
    );
    assert_eq!(migrated(&mut facts).get("pin"), None);
}

#[test]
fn a_pin_of_the_declared_revision_is_only_named() {
    let mut facts = facts_of_pin();
    facts.source.as_mut().expect("ours").body["spec"]["pin"]["podTemplateHash"] = json!("h3");
    resize(&mut facts, [0, 0, 3]);
    assert_eq!(problems(&facts, &neighbours()), Vec::<String>::new());
    let found = warnings(&facts, &neighbours());
    assert!(found.iter().any(|line| line.contains("is left out, since apps/v1 has no pin")), "{found:?}");
}
