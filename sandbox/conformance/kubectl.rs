//! What stock kubectl prints.

use std::fs;
use std::path::Path;

use cluster::Release;
use serde_json::{Value, json};

use crate::talk::{Scenario, Talk, scenario};
use crate::writing::deployment;

pub(crate) fn all() -> Vec<Scenario> {
    vec![
        scenario!(invalid_manifests),
        scenario!(columns_of_deployments),
        scenario!(columns_of_sets_and_pods),
        scenario!(columns_of_what_else_there_is),
        scenario!(descriptions),
        scenario!(everyday_commands),
    ]
}

/// Every manifest of `tests/invalid` is refused with the same message.
async fn invalid_manifests(talk: &mut Talk<'_>) {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/invalid");
    let mut paths: Vec<_> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(paths.len() >= 12, "{} manifests", paths.len());
    for path in paths {
        let text = fs::read_to_string(&path).unwrap();
        talk.kubectl(&["create", "--dry-run=server", "-f", "-"], &text).await;
    }
}

/// A table without its ages.
pub(crate) async fn table(talk: &mut Talk<'_>, arguments: &[&str]) {
    let tool = talk.server.kubectl.in_namespace(&talk.namespace);
    let output = tool.run(arguments).await.unwrap();
    let mut lines = output.lines();
    let header = lines.next().unwrap_or_default().to_owned();
    let words = |line: &str| {
        line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).map(str::to_owned).collect::<Vec<_>>()
    };
    let names = words(&header);
    talk.note(&format!("{arguments:?}: {names:?}"));
    for line in lines {
        let cells = words(line);
        let kept = names.iter().zip(&cells).filter(|(name, _)| {
            !matches!(name.as_str(), "AGE" | "LAST SEEN" | "FIRST SEEN" | "CREATED AT" | "DURATION" | "IP")
        });
        let kept: Vec<_> = kept.map(|(_, cell)| cell.replace(&talk.namespace, "NS")).collect();
        talk.note(&format!("{kept:?}"));
    }
}

async fn columns_of_deployments(talk: &mut Talk<'_>) {
    let web = deployment("web").to_string();
    talk.kubectl(&["apply", "-f", "-"], &web).await;
    let status = json!({ "status": { "display": { "ready": "1/2", "containers": "main", "images": "main:v1" }, "updatedReplicas": 2, "availableReplicas": 1, "selector": "app=web" } });
    talk.patch("merge-patch", &talk.ours("/web/status"), &status).await;
    let apps = web.replace("rollwright.dev/v1", "apps/v1");
    talk.kubectl(&["apply", "-f", "-"], &apps).await;
    for kind in ["rwd", "deployments.apps"] {
        table(talk, &["get", kind]).await;
        table(talk, &["get", kind, "-o", "wide"]).await;
        table(talk, &["get", kind, "web", "--show-labels"]).await;
    }
}

/// A ReplicaSet with pods that are ready or pull an image that is not there.
async fn sets(talk: &mut Talk<'_>) {
    for (name, image, size) in [("fine", "main:v1", 1), ("broken", "bad:v1", 1)] {
        let mut set = deployment(name);
        set["apiVersion"] = json!("apps/v1");
        set["kind"] = json!("ReplicaSet");
        set["spec"]["replicas"] = json!(size);
        set["spec"]["template"]["spec"]["containers"][0]["image"] = json!(image);
        talk.kubectl(&["create", "-f", "-"], &set.to_string()).await;
    }
    let tool = talk.server.kubectl.in_namespace(&talk.namespace);
    tool.run(&["wait", "--for=jsonpath={.status.readyReplicas}=1", "--timeout=40s", "rs/fine"])
        .await
        .unwrap();
    let reason = "--for=jsonpath={.status.containerStatuses[0].state.waiting.reason}=ImagePullBackOff";
    tool.run(&["wait", reason, "--timeout=40s", "pods", "-l", "app=broken"]).await.unwrap();
}

async fn columns_of_sets_and_pods(talk: &mut Talk<'_>) {
    sets(talk).await;
    table(talk, &["get", "rs"]).await;
    table(talk, &["get", "rs", "-o", "wide"]).await;
    // Pods have names of chance.
    for wide in [&["get", "pods"][..], &["get", "pods", "-o", "wide"]] {
        let tool = talk.server.kubectl.in_namespace(&talk.namespace);
        let output = tool.run(wide).await.unwrap();
        let mut lines: Vec<Vec<String>> = output.lines().map(cells_of_pod).collect();
        lines.sort();
        talk.note(&format!("{lines:?}"));
    }
}

/// The cells of a row of pods but name, age and address.
fn cells_of_pod(line: &str) -> Vec<String> {
    if line.starts_with("NAME") {
        return vec![line.split_whitespace().collect::<Vec<_>>().join(" ")];
    }
    let cells: Vec<&str> = line.split_whitespace().collect();
    let kept = cells.iter().enumerate().filter(|(index, _)| !matches!(index, 0 | 4 | 5));
    kept.map(|(_, cell)| (*cell).to_owned()).collect()
}

async fn columns_of_what_else_there_is(talk: &mut Talk<'_>) {
    let lease = json!({ "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": { "name": "l" }, "spec": { "holderIdentity": "me" } });
    talk.kubectl(&["create", "-f", "-"], &lease.to_string()).await;
    talk.kubectl(&["create", "configmap", "c", "--from-literal=a=1", "--from-literal=b=2"], "").await;
    let event = json!({
        "apiVersion": "v1", "kind": "Event", "metadata": { "name": "e" }, "type": "Warning", "reason": "Because",
        "message": "of this", "involvedObject": { "kind": "Pod", "name": "p", "namespace": talk.namespace },
        "source": { "component": "tests" }, "firstTimestamp": "2026-01-01T00:00:00Z",
        "lastTimestamp": "2026-01-01T00:00:00Z", "count": 3,
    });
    let events = talk.core("events");
    talk.ask("POST", &events, &event).await;
    for kind in [
        &["get", "leases"][..],
        &["get", "configmaps", "c"],
        &["get", "events"],
        &["get", "events", "-o", "wide"],
    ] {
        table(talk, kind).await;
    }
    // The world has the columns of the reference, and nodes state its version.
    if Release::selected().unwrap().is_reference() {
        for kind in ["nodes", "crd"] {
            table(talk, &["get", kind]).await;
            table(talk, &["get", kind, "-o", "wide"]).await;
        }
    }
    let namespace = talk.namespace.clone();
    table(talk, &["get", "namespace", &namespace]).await;
}

/// The names of what kubectl describes: the left column of its output.
async fn described(talk: &mut Talk<'_>, arguments: &[&str]) {
    let tool = talk.server.kubectl.in_namespace(&talk.namespace);
    let output = tool.run(arguments).await.unwrap();
    let names = output.lines().filter(|line| !line.starts_with(' ')).filter_map(|line| line.split_once(':'));
    let names: Vec<&str> = names.map(|(name, _)| name).collect();
    talk.note(&format!("{arguments:?}: {names:?}"));
}

async fn descriptions(talk: &mut Talk<'_>) {
    talk.kubectl(&["create", "-f", "-"], &deployment("web").to_string()).await;
    sets(talk).await;
    for arguments in [
        &["describe", "rwd", "web"][..],
        &["describe", "rs", "fine"],
        &["describe", "pods", "-l", "app=fine"],
    ] {
        described(talk, arguments).await;
    }
}

async fn everyday_commands(talk: &mut Talk<'_>) {
    let web = deployment("web").to_string();
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": [deployment("a"), deployment("b")] });
    let list = list.to_string();
    for (arguments, input) in [
        (&["apply", "-f", "-"][..], list.as_str()),
        (&["apply", "-f", "-"], &list),
        (&["delete", "-f", "-"], &list),
        (&["apply", "-f", "-"], &web),
        (&["apply", "-f", "-"], &web),
        (&["scale", "rwd/web", "--replicas=3"], ""),
        (&["scale", "rwd/web", "--replicas=-3"], ""),
        (&["scale", "rwd/nobody", "--replicas=3"], ""),
        (&["label", "rwd/web", "tier=front"], ""),
        (&["annotate", "rwd/web", "why=because"], ""),
        (&["patch", "rwd/web", "--type=merge", "-p", r#"{"spec":{"replicas":"many"}}"#], ""),
        (&["get", "rwd/web", "-o", "jsonpath={.spec.replicas} {.metadata.generation}"], ""),
        (&["get", "rwd", "-l", "tier=front", "-o", "name"], ""),
        (&["get", "rwd", "nobody"], ""),
        (&["get", "nonsense"], ""),
        (&["apply", "--server-side", "--force-conflicts", "-f", "-"], &web),
        (&["delete", "rwd/web", "--dry-run=server"], ""),
        (&["delete", "rwd/web"], ""),
        (&["delete", "rwd/web"], ""),
        (&["get", "rwd"], ""),
    ] {
        talk.kubectl(arguments, input).await;
    }
    let gone: Value = talk.ask("GET", &talk.ours("/web"), &Value::Null).await;
    assert_eq!(gone["code"], 404);
}
