//! Golden and unit tests of the CRD.

use serde_json::json;

use super::*;

fn golden(path: &str, text: &str) {
    let path = format!("{}/../../{path}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let stored = std::fs::read_to_string(&path).unwrap();
    assert!(stored == text, "{path} is not what the code makes; run the test with UPDATE=1 and review");
}

#[test]
fn crd_is_the_one_in_crds() {
    golden("crds/deployments.rollwright.dev.yaml", &to_yaml(&crd(None).unwrap()));
}

#[test]
fn yaml_quotes_what_needs_it() {
    let value = json!({"a": "true", "b": "x: y", "c": [], "d": [{"e": 1, "f": [1, [2]]}], "g": "plain text", "1": ""});
    let text =
        "\"1\": \"\"\na: \"true\"\nb: \"x: y\"\nc: []\nd:\n- e: 1\n  f:\n  - 1\n  - - 2\ng: plain text\n";
    assert_eq!(to_yaml(&value), text);
}
