//! A failure policy with stock kubectl: an image that cannot be pulled gives way to what ran before, and the
//! next image ends that.

use cluster::{NotYet, free_port, wait_for};
use serde_json::json;

use crate::PATIENCE;
use crate::metrics::get;
use crate::place::{DEADLINE, Sandbox, manifest};

/// What the metrics report meanwhile.
const DIVERGED: &str = "rollwright_deployment_diverged{api=\"rollwright.dev/v1\",namespace=\"default\",\
    deployment=\"web\",because=\"Reverted\"} 1\n";

/// Another image, with seconds in which its pods have to come up.
async fn change(sandbox: &Sandbox, image: &str, seconds: i32) {
    let image = json!({"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": image});
    let deadline = json!({"op": "add", "path": "/spec/progressDeadlineSeconds", "value": seconds});
    let patch = json!([image, deadline]).to_string();
    sandbox.ok(&["patch", "rwd/web", "--type=json", "-p", &patch]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_that_cannot_be_pulled_is_reverted() {
    let sandbox = Sandbox::start_at(&format!("127.0.0.1:{}", free_port().unwrap())).await;
    sandbox.ok(&["apply", "-f", &manifest("web")]).await;
    sandbox.ok(&["wait", "--for=condition=Ready", PATIENCE, "rwd/web"]).await;
    let policy = r#"{"spec":{"failurePolicy":{"action":"Revert"}}}"#;
    sandbox.ok(&["patch", "rwd/web", "--type=merge", "-p", policy]).await;

    change(&sandbox, "web:bad", 3).await;
    sandbox.ok(&["wait", "--for=jsonpath={.status.target.because}=Reverted", PATIENCE, "rwd/web"]).await;
    sandbox.ok(&["wait", "--for=condition=Stalled", PATIENCE, "rwd/web"]).await;
    sandbox.ok(&["wait", "--for=condition=Available", PATIENCE, "rwd/web"]).await;
    // The columns STATUS and TARGET.
    sandbox.shows(&["get", "rwd", "web"], "Reverted   1").await;
    let pods = ["get", "pods", "-o", "jsonpath={.items[*].spec.containers[0].image}"];
    sandbox.is_exactly(&pods, "nginx:1.28 nginx:1.28 nginx:1.28 nginx:1.28").await;
    let template = ["get", "rwd/web", "-o", "jsonpath={.spec.template.spec.containers[0].image}"];
    assert_eq!(sandbox.ok(&template).await, "web:bad", "the template is its author's");
    let words = "revision 1 runs instead of the declared revision 2, which failed";
    sandbox.shows(&["describe", "rwd", "web"], words).await;
    sandbox.shows(&["get", "events"], "Reverted").await;
    sandbox.shows(&["describe", "rs"], r#""verdict":"Failed""#).await;
    let reported = wait_for("the metric of a revert", DEADLINE, async || {
        let text = get(sandbox.bind_address(), "/metrics").await;
        if text.contains(DIVERGED) { Ok(()) } else { Err(NotYet(text)) }
    });
    reported.await.unwrap_or_else(|error| panic!("{error}"));

    change(&sandbox, "web:v3", 600).await;
    sandbox.ok(&["wait", "--for=condition=Ready", PATIENCE, "rwd/web"]).await;
    sandbox.is_exactly(&pods, "web:v3 web:v3 web:v3 web:v3").await;
    sandbox.is_exactly(&["get", "rwd/web", "-o", "jsonpath={.status.target}"], "").await;
    sandbox.shows(&["get", "rwd", "web"], "Complete").await;
}
