//! `rollwright sandbox` with stock kubectl: what somebody does who tries Rollwright for the first
//! time. Needs kubectl, or Go to build it once, and nothing else of a control plane.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed step is a failed test"
)]

mod alone;
mod bare;
mod causes;
mod held;
mod metrics;
mod place;
mod rust;

// As a program of its own names it.
extern crate api as rollwright_api;

use std::fs;
use std::time::Duration;

use place::{Sandbox, manifest};

/// A Deployment without pods.
const FIRST: &str = r#"{
  "apiVersion": "rollwright.dev/v1", "kind": "Deployment", "metadata": {"name": "one", "namespace": "default"},
  "spec": {"replicas": 0, "template": {"metadata": {"labels": {"app": "one"}},
           "spec": {"containers": [{"name": "web", "image": "nginx:1.28"}]}}}
}"#;

/// Two of two cores may be compiling.
const PATIENCE: &str = "--timeout=60s";

#[tokio::test(flavor = "multi_thread")]
async fn the_main_job() {
    let sandbox = Sandbox::start().await;
    let kubectl = &sandbox.kubectl;
    let mut watch = sandbox.watch(&["get", "rwd", "-w"]);
    // kubectl may take seconds to start. The watch is there once it shows another Deployment.
    let output = kubectl.output(&["apply", "-f", "-"], FIRST).await.unwrap();
    assert!(output.success, "{output:?}");
    watch.shows("one ").await;
    sandbox.ok(&["delete", "rwd/one"]).await;

    assert_eq!(
        sandbox.ok(&["apply", "-f", &manifest("web")]).await,
        "deployment.rollwright.dev/web created\n"
    );
    sandbox.ok(&["wait", "--for=condition=Available", PATIENCE, "rwd/web"]).await;
    sandbox.shows(&["get", "rwd", "web"], "web    4/4     4            4").await;
    let seen = sandbox.ok(&["get", "rwd"]).await;
    assert!(has_columns(&seen), "{seen}");
    let wide = sandbox.ok(&["get", "pods", "-o", "wide"]).await;
    assert!(wide.starts_with("NAME") && wide.contains("NOMINATED NODE   READINESS GATES"), "{wide}");
    assert_eq!(wide.matches("Running").count(), 4, "{wide}");

    sandbox.ok(&["apply", "-f", &manifest("web")]).await;
    sandbox.is_exactly(&["get", "rwd/web", "-o", "jsonpath={.metadata.generation}"], "1").await;
    let dry = sandbox.ok(&["scale", "rwd/web", "--replicas=9", "--dry-run=server"]).await;
    assert_eq!(dry, "deployment.rollwright.dev/web scaled (server dry run)\n");
    assert_eq!(
        sandbox.ok(&["scale", "rwd/web", "--replicas=2"]).await,
        "deployment.rollwright.dev/web scaled\n"
    );
    sandbox.shows(&["get", "rwd", "web"], "web    2/2     2            2").await;

    let image = r#"[{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "web:v2"}]"#;
    sandbox.ok(&["patch", "rwd/web", "--type=json", "-p", image]).await;
    sandbox.shows(&["get", "rs", "-o", "wide"], "web:v2").await;
    sandbox.ok(&["wait", "--for=jsonpath={.status.updatedReplicas}=2", PATIENCE, "rwd/web"]).await;
    sandbox.ok(&["wait", "--for=condition=Available", PATIENCE, "rwd/web"]).await;

    sandbox
        .ok(&["patch", "rwd/web", "--type=merge", "-p", r#"{"spec":{"rollbackTo":{"revision":0}}}"#])
        .await;
    sandbox.ok(&["wait", "--for=jsonpath={.status.rollback.result}=RolledBack", PATIENCE, "rwd/web"]).await;
    let pods = || ["get", "pods", "-o", "jsonpath={.items[*].spec.containers[0].image}"];
    sandbox.is_exactly(&pods(), "nginx:1.28 nginx:1.28").await;

    let described = sandbox.ok(&["describe", "rwd", "web"]).await;
    assert!(
        described.contains("Kind:         Deployment") && described.contains("ScalingReplicaSet"),
        "{described}"
    );
    for kind in ["rs", "pods", "node", "ns/default", "events"] {
        let described = sandbox.ok(&["describe", kind]).await;
        assert!(described.contains("Name:"), "{kind}: {described}");
    }
    assert!(sandbox.ok(&["get", "events"]).await.contains("Scaled up replica set"));
    let refused = kubectl.output(&["logs", "rs/nothing"], "").await.unwrap();
    assert!(!refused.success);

    assert_eq!(
        sandbox.ok(&["delete", "rwd/web"]).await,
        "deployment.rollwright.dev \"web\" deleted from default namespace\n"
    );
    sandbox.is_exactly(&["get", "rs,pods", "-o", "name"], "").await;
    let seen = watch.end().await;
    assert!(has_columns(&seen), "{seen}");
    for row in ["web    0/4", "web    4/4     4            4", "web    2/2     2            2"] {
        assert!(seen.contains(row), "{row} in\n{seen}");
    }
}

/// Whether the first line has the columns of the definition. The last but one is as wide as its widest cell.
fn has_columns(text: &str) -> bool {
    let header = "NAME   READY   UP-TO-DATE   AVAILABLE   AGE   STATUS   ";
    text.lines().next().is_some_and(|line| line.starts_with(header) && line.ends_with("   TARGET"))
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_manifests_are_refused_in_the_words_of_a_real_server() {
    let sandbox = Sandbox::start().await;
    let directory = place::path("tests/invalid");
    let mut count = 0;
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let expected = text.lines().next().and_then(|line| line.strip_prefix("# expect: ")).unwrap();
        let output = sandbox.kubectl.output(&["apply", "-f", "-"], &text).await.unwrap();
        assert!(!output.success && output.stderr.contains(expected), "{}: {output:?}", path.display());
        count += 1;
    }
    assert!(count >= 12, "{count} manifests");
    sandbox.is_exactly(&["get", "rwd", "-o", "name"], "").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_built_in_kind_works_too() {
    let sandbox = Sandbox::start().await;
    sandbox.ok(&["create", "deployment", "shop", "--image=shop:v1", "--replicas=3"]).await;
    sandbox.ok(&["rollout", "status", "deployment/shop", PATIENCE]).await;
    sandbox.ok(&["set", "image", "deployment/shop", "shop=shop:v2"]).await;
    sandbox.ok(&["rollout", "status", "deployment/shop", PATIENCE]).await;
    sandbox.ok(&["rollout", "undo", "deployment/shop"]).await;
    sandbox.ok(&["rollout", "status", "deployment/shop", PATIENCE]).await;
    let pods = ["get", "pods", "-o", "jsonpath={.items[*].spec.containers[0].image}"];
    sandbox.is_exactly(&pods, "shop:v1 shop:v1 shop:v1").await;
    sandbox.shows(&["get", "deployment", "shop"], "shop   3/3     3            3").await;
    sandbox.ok(&["describe", "deployment", "shop"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn namespaces() {
    let sandbox = Sandbox::start().await;
    let missing = ["apply", "-n", "shop", "-f", &manifest("minimal")];
    let output = sandbox.kubectl.output(&missing, "").await.unwrap();
    assert!(output.stderr.contains("namespaces \"shop\" not found"), "{output:?}");
    sandbox.ok(&["create", "namespace", "shop"]).await;
    sandbox.ok(&missing).await;
    sandbox.ok(&["wait", "-n", "shop", "--for=condition=Available", PATIENCE, "rwd/hello"]).await;
    sandbox.shows(&["get", "pods", "-A"], "shop        hello-").await;
    sandbox.ok(&["delete", "namespace", "shop", PATIENCE]).await;
    sandbox.is_exactly(&["get", "rwd,rs,pods", "-A", "-o", "name"], "").await;
}

/// A web page can lead a name of its own to 127.0.0.1; the browser sends that name along.
#[tokio::test(flavor = "multi_thread")]
async fn web_pages_get_nothing() {
    let sandbox = Sandbox::start().await;
    for host in ["127.0.0.1", "localhost:80", "[::1]:6443"] {
        let answer = sandbox.get_as(host).await;
        assert!(answer.starts_with("HTTP/1.1 200 "), "{host}: {answer}");
    }
    let answer = sandbox.get_as("evil.example:6443").await;
    assert!(answer.starts_with("HTTP/1.1 403 ") && answer.contains("answers only requests to"), "{answer}");
    assert!(!answer.contains("PodList"), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn it_ends_with_its_command() {
    let kubectl = cluster::Tool::kubectl("").unwrap();
    let script = format!("{} get namespaces -o name; exit 3", kubectl.program().display());
    let mut command = place::program();
    command.args(["sandbox", "--", "sh", "-c", &script]);
    let output = tokio::time::timeout(Duration::from_secs(60), command.output()).await.unwrap().unwrap();
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("namespace/default"), "{output:?}");
}
