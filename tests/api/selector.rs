//! A selector that is absent at first. `tests/messages/deployments.json` tests that it is fixed once it is set (S1.29).

use serde_json::json;

use crate::suite::{Flavour, Suite, suite};

const REMOVED: &str = "spec.selector cannot be removed once it is set: restore the stored selector";

/// The operator persists the selector with a patch of that field alone.
#[tokio::test(flavor = "multi_thread")]
async fn an_absent_selector_can_be_set() {
    let suite = suite().await;
    let spec = json!({"template": {
        "metadata": {"labels": {"app": "web", "tier": "front"}},
        "spec": {"containers": [{"name": "web", "image": "web:v1"}]},
    }});
    let stored = suite.create(Flavour::Ours, "absent", &spec).await.unwrap();
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
    let manifest = Suite::deployment(Flavour::Ours, "absent", &spec).to_string();
    suite.kubectl.apply(&manifest).await.unwrap();
    let again = suite.get(Flavour::Ours, "absent").await;
    assert_eq!(again["spec"]["selector"], patched["spec"]["selector"]);
}
