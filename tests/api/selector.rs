//! The selector: optional at first, fixed once it is set.

use serde_json::{Value, json};

use crate::suite::{Flavour, Suite, suite};

const REMOVED: &str = "spec.selector cannot be removed once it is set: restore the stored selector";
const CHANGED: &str = "spec.selector: Invalid value: is immutable: restore the stored selector";

fn spec(selector: &Value) -> Value {
    let mut spec = json!({"template": {
        "metadata": {"labels": {"app": "web", "tier": "front"}},
        "spec": {"containers": [{"name": "web", "image": "web:v1"}]},
    }});
    if !selector.is_null() {
        spec["selector"] = selector.clone();
    }
    spec
}

async fn change(suite: &Suite, stored: &Value, selector: &Value) -> Result<Value, String> {
    let mut object = stored.clone();
    object["spec"] = spec(selector);
    suite.replace(Flavour::Ours, &object, "?dryRun=All").await
}

/// S1.29, with nil and empty lists equal.
#[tokio::test(flavor = "multi_thread")]
async fn a_selector_is_fixed_once_set() {
    let suite = suite().await;
    let labels = json!({"matchLabels": {"app": "web"}});
    let stored = suite.create(Flavour::Ours, "labels", &spec(&labels)).await.unwrap();
    change(&suite, &stored, &json!({"matchLabels": {"app": "web"}, "matchExpressions": []})).await.unwrap();
    for other in [
        json!({"matchLabels": {"app": "web", "tier": "front"}}),
        json!({"matchExpressions": [{"key": "app", "operator": "In", "values": ["web"]}]}),
    ] {
        let message = change(&suite, &stored, &other).await.unwrap_err();
        assert!(message.contains(CHANGED), "{message}");
    }
    let message = change(&suite, &stored, &Value::Null).await.unwrap_err();
    assert!(message.contains(REMOVED), "{message}");

    let term = |values: Value| json!({"key": "app", "operator": "In", "values": values});
    let exists = json!({"key": "tier", "operator": "Exists"});
    let terms = json!({"matchExpressions": [exists, term(json!(["web", "wep"]))]});
    let stored = suite.create(Flavour::Ours, "terms", &spec(&terms)).await.unwrap();
    let empty = json!({"key": "tier", "operator": "Exists", "values": []});
    let same = json!({"matchLabels": {}, "matchExpressions": [empty, term(json!(["web", "wep"]))]});
    change(&suite, &stored, &same).await.unwrap();
    let other = json!({"matchExpressions": [exists, term(json!(["web"]))]});
    let message = change(&suite, &stored, &other).await.unwrap_err();
    assert!(message.contains(CHANGED), "{message}");
}

/// The operator persists the selector with a patch of that field alone.
#[tokio::test(flavor = "multi_thread")]
async fn an_absent_selector_can_be_set() {
    let suite = suite().await;
    let stored = suite.create(Flavour::Ours, "absent", &spec(&Value::Null)).await.unwrap();
    assert!(stored["spec"].get("selector").is_none(), "{stored}");
    let labels = &stored["spec"]["template"]["metadata"]["labels"];
    let patch = json!({
        "metadata": {"resourceVersion": stored["metadata"]["resourceVersion"]},
        "spec": {"selector": {"matchLabels": labels}},
    });
    let patched = suite.merge(Flavour::Ours, "absent", "", &patch).await.unwrap();
    let removal = json!({"spec": {"selector": null}});
    let message = suite.merge(Flavour::Ours, "absent", "", &removal).await.unwrap_err();
    assert!(message.contains(REMOVED), "{message}");
    assert_eq!(patched["spec"]["selector"]["matchLabels"], *labels);
    // A manifest without a selector can be applied again.
    let manifest = Suite::deployment(Flavour::Ours, "absent", &spec(&Value::Null)).to_string();
    suite.kubectl.apply(&manifest).await.unwrap();
    let again = suite.get(Flavour::Ours, "absent").await;
    assert_eq!(again["spec"]["selector"], patched["spec"]["selector"]);
}
