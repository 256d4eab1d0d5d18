use plan::Map;
use serde_json::json;

use super::*;

fn found(labels: &serde_json::Value) -> Found {
    Found {
        name: "web-1".to_owned(),
        uid: "uid".to_owned(),
        labels: serde_json::from_value(labels.clone()).expect("labels"),
        selected: Map::new(),
        controller_uid: None,
        deleting: false,
    }
}

#[test]
fn the_command_hands_the_orphan_over() {
    let selector = serde_json::from_value(json!({ "matchLabels": { "app": "web" } })).expect("selector");
    assert_eq!(
        command("shop", &selector, &found(&json!({ "app": "web", "tier": "front" }))),
        "kubectl label replicaset web-1 -n shop rollwright.dev/managed=true"
    );
    assert_eq!(
        command("shop", &selector, &found(&json!({}))),
        "kubectl label replicaset web-1 -n shop rollwright.dev/managed=true app=web"
    );
}
