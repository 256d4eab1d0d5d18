//! `resume --parallel` of several rollouts that a restart of the operator holds.

use std::time::Duration;

use cluster::Tool;
use serde_json::{Value, json};

use crate::place::Sandbox;

/// Its rollout takes three seconds for each pod.
fn deployment(name: &str, image: &str) -> Value {
    json!({
        "apiVersion": "rollwright.dev/v1", "kind": "Deployment", "metadata": {"name": name},
        "spec": {
            "replicas": 2, "resumePolicy": "Manual", "selector": {"matchLabels": {"app": name}},
            "strategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
            "template": {
                "metadata": {"labels": {"app": name}, "annotations": {"fake.rollwright.dev/ready-after-ms": "3000"}},
                "spec": {"containers": [{"name": "web", "image": image}]},
            },
        },
    })
}

async fn apply(sandbox: &Sandbox, image: &str) {
    let items: Vec<Value> = ["a", "b", "c", "d", "e"].map(|name| deployment(name, image)).into();
    let list = json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string();
    let output = sandbox.kubectl.output(&["apply", "-f", "-"], &list).await.unwrap();
    assert!(output.success, "{output:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn held_rollouts_continue_a_few_at_a_time_until_one_fails() {
    let sandbox = Sandbox::start().await;
    let tool = Tool::at(env!("CARGO_BIN_EXE_kubectl-rollwright").into(), sandbox.kubeconfig());
    apply(&sandbox, "nginx:1.28").await;
    sandbox.ok(&["wait", "--for=condition=Ready", crate::PATIENCE, "rwd", "--all"]).await;
    apply(&sandbox, "nginx:1.29").await;
    let sizes = ["get", "rs", "-o", "jsonpath={.items[*].spec.replicas}"];
    sandbox.until(&sizes, "rollouts of all", |sizes| sizes.split(' ').count() == 10).await;
    sandbox.ok(&["annotate", "node", "fake-node", "fake.rollwright.dev/restart-operator=1"]).await;
    let all = ["get", "rwd", "-o", "jsonpath={.items[*].status.display.summary}"];
    sandbox.is_exactly(&all, "Held Held Held Held Held").await;
    // The pods of this one come too late.
    sandbox.ok(&["patch", "rwd", "d", "--type=merge", "-p", "spec: {progressDeadlineSeconds: 1}"]).await;

    let command = tool.clone();
    let resume =
        tokio::spawn(async move { command.output(&["resume", "--all", "--parallel=2"], "").await.unwrap() });
    let mut most = 0;
    while !resume.is_finished() {
        let shown = sandbox.ok(&all).await;
        let moving = 5 - shown.split(' ').filter(|it| ["Held", "Complete"].contains(it)).count();
        assert!(moving <= 2, "{shown}");
        most = most.max(moving);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let output = resume.await.unwrap();
    assert_eq!((output.code, most), (Some(1), 2), "{output:?}");
    assert!(output.stderr.contains("\"d\""), "{output:?}");
    let shown = sandbox.ok(&all).await;
    assert!(shown.starts_with("Complete Complete ") && shown.ends_with(" Held"), "{shown}");

    let output = tool.output(&["resume", "nobody", "e", "--parallel=2"], "").await.unwrap();
    assert!(output.code == Some(1) && output.stderr.contains("\"nobody\" not found"), "{output:?}");
    assert!(output.stdout.contains("deployment \"e\" successfully rolled out"), "{output:?}");
}
