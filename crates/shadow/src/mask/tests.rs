use super::*;

fn case() -> Value {
    serde_json::from_str(include_str!("tests/case.json")).unwrap()
}

#[test]
fn nothing_of_the_user_stays() {
    let mut masked = case();
    Mask::default().case(&mut masked);
    let text = masked.to_string();
    assert!(!text.to_lowercase().contains("acme"), "{text}");
    for kept in ["RollingUpdate", "25%", "500m", "shadow-7", "u-1", "ReplicaSetUpdated", "S8.12", "\"3\""] {
        assert!(text.contains(kept), "{kept}: {text}");
    }
}

#[test]
fn what_was_equal_stays_equal() {
    let mut masked = case();
    Mask::default().case(&mut masked);
    let at = |pointer: &str| masked.pointer(pointer).cloned().unwrap();
    assert_eq!(at("/input/deployment/metadata/labels"), at("/input/replicaSets/0/metadata/labels"));
    let selected = at("/input/deployment/spec/selector/matchLabels");
    assert_eq!(selected, at("/input/deployment/spec/template/metadata/labels"));
    let set = at("/input/replicaSets/0/metadata/name");
    let set = set.as_str().unwrap();
    let deployment = at("/input/deployment/metadata/name");
    assert_eq!(set, format!("{}-6b5d", deployment.as_str().unwrap()));
    assert!(masked.pointer(&format!("/sequence/0/sets/{set}")).is_some());
    let message = at("/input/deployment/status/conditions/0/message");
    assert_eq!(message, format!("ReplicaSet \"{set}\" is progressing."));
}

#[test]
fn each_run_has_a_key_of_its_own() {
    assert_ne!(Mask::default().word("web"), Mask::default().word("web"));
}
