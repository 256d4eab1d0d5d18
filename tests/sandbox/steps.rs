//! The example with steps, by stock kubectl: it rests at one pod, and at three, until somebody promotes it.

use serde_json::json;

use crate::PATIENCE;
use crate::place::{Sandbox, manifest};

/// How many pods have the new image, and how many the old one.
async fn runs(sandbox: &Sandbox, new: usize, old: usize) {
    let images = ["get", "pods", "-o", "jsonpath={.items[*].spec.containers[0].image}"];
    sandbox
        .until(&images, &format!("{new} new and {old} old"), |output| {
            let count = |wanted: &str| output.split(' ').filter(|image| *image == wanted).count();
            (count("nginx:1.29"), count("nginx:1.28")) == (new, old)
        })
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_example_is_promoted_by_hand() {
    let sandbox = Sandbox::start().await;
    sandbox.ok(&["apply", "-f", &manifest("steps")]).await;
    sandbox.ok(&["wait", "--for=condition=Ready", PATIENCE, "rwd/shop"]).await;
    let image =
        json!([{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "nginx:1.29"}]);
    sandbox.ok(&["patch", "rwd/shop", "--type=json", "-p", &image.to_string()]).await;

    let said = |words: &'static str| ["get", "rwd/shop", "-o", words];
    let message = said("jsonpath={.status.conditions[?(@.type==\"Reconciling\")].message}");
    sandbox.is_exactly(&message, "step 1 of 4: 1 of 10 updated, rests until somebody promotes it").await;
    runs(&sandbox, 1, 9).await;
    sandbox.shows(&["get", "rwd", "shop"], "10/10   1            10").await;
    sandbox.shows(&["get", "rwd", "shop"], "Resting").await;
    let rollout = said("jsonpath={.status.rollout.step}/{.status.rollout.of} {.status.rollout.want}");
    sandbox.is_exactly(&rollout, "1/4 1").await;
    sandbox.shows(&["describe", "rwd", "shop"], "StepReached").await;

    sandbox.ok(&["annotate", "rwd/shop", "rollwright.dev/promote=2/25%"]).await;
    sandbox.shows(&message, "step 2 of 4: 3 of 10 updated, rests until ").await;
    runs(&sandbox, 3, 7).await;
    sandbox.ok(&["annotate", "--overwrite", "rwd/shop", "rollwright.dev/promote=2/50%"]).await;
    runs(&sandbox, 10, 0).await;
    sandbox.ok(&["wait", "--for=condition=Ready", PATIENCE, "rwd/shop"]).await;
    sandbox.shows(&["get", "rwd", "shop"], "Complete").await;

    // Back to what is known to be good there is no rest.
    let back = r#"{"spec":{"rollbackTo":{"revision":1}}}"#;
    sandbox.ok(&["patch", "rwd/shop", "--type=merge", "-p", back]).await;
    sandbox.ok(&["wait", "--for=jsonpath={.status.rollback.result}=RolledBack", PATIENCE, "rwd/shop"]).await;
    runs(&sandbox, 0, 10).await;
    let reached =
        ["get", "events", "--field-selector=reason=StepReached", "-o", "jsonpath={.items[*].message}"];
    let events = sandbox.ok(&reached).await;
    assert_eq!(events.matches("Revision 2 has reached step").count(), 3, "{events}");
    assert!(!events.contains("Revision 3"), "{events}");
}
