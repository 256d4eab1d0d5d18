//! Starts a real control plane and checks that pods, users, audit log,
//! restarts and clean-up work. Needs the binaries, or Go to build them once.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test, in functions that tests share too")]

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use cluster::{Cluster, Component, Error, NotYet, Options, State, User, audit, kubelet, wait_for};
use jiff::Timestamp;
use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams};
use rustix::process::{Pid, test_kill_process};
use serde_json::json;

const SOON: Duration = Duration::from_secs(20);

fn replica_set(name: &str, replicas: u32, image: &str, annotations: &serde_json::Value) -> String {
    json!({
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}, "annotations": annotations},
                "spec": {"containers": [{"name": "app", "image": image}]},
            },
        },
    })
    .to_string()
}

async fn wait_ready(sets: &Api<ReplicaSet>, name: &str, expected: i32) {
    wait_for(&format!("{expected} ready pods of {name}"), SOON, async || {
        let status = sets.get(name).await?.status.unwrap_or_default();
        let (seen, ready) = (status.replicas, status.ready_replicas.unwrap_or_default());
        if ready == expected { Ok(()) } else { Err(NotYet(format!("{ready} of {seen} pods are ready"))) }
    })
    .await
    .unwrap();
}

async fn waiting_reason(pods: &Api<Pod>, app: &str) -> Result<(String, i32), NotYet> {
    let list = pods.list(&ListParams::default().labels(&format!("app={app}"))).await?;
    let status = list.items.first().and_then(|pod| pod.status.clone()).unwrap_or_default();
    let container = status.container_statuses.unwrap_or_default().into_iter().next();
    let container = container.ok_or_else(|| NotYet("no container status".to_owned()))?;
    let waiting = container.state.and_then(|state| state.waiting).and_then(|waiting| waiting.reason);
    Ok((waiting.ok_or_else(|| NotYet("the container does not wait".to_owned()))?, container.restart_count))
}

#[tokio::test(flavor = "multi_thread")]
async fn pods_run_and_requests_are_audited() {
    let start = Instant::now();
    let cluster = Cluster::start(Options::unique("control-plane")).await.unwrap();
    println!("ready after {:?}", start.elapsed());
    let since = Timestamp::now();
    let namespace = cluster.create_namespace("pods").await.unwrap();
    let kubectl = cluster.kubectl(User::Admin).unwrap().in_namespace(&namespace);
    let client = cluster.client(User::Admin).await.unwrap();
    let sets: Api<ReplicaSet> = Api::namespaced(client.clone(), &namespace);
    let pods: Api<Pod> = Api::namespaced(client, &namespace);

    let applied = Instant::now();
    kubectl.apply(&replica_set("web", 3, "app:1", &json!({}))).await.unwrap();
    wait_ready(&sets, "web", 3).await;
    println!("three pods ready after {:?}", applied.elapsed());

    kubectl.apply(&replica_set("pull", 1, "bad:1", &json!({}))).await.unwrap();
    kubectl.apply(&replica_set("loop", 1, "crash:1", &json!({}))).await.unwrap();
    let never = json!({kubelet::NEVER_READY: "true"});
    kubectl.apply(&replica_set("never", 1, "app:1", &never)).await.unwrap();
    let pull = wait_for("a pull error", SOON, async || waiting_reason(&pods, "pull").await).await.unwrap();
    assert_eq!(pull, ("ImagePullBackOff".to_owned(), 0));
    let (reason, restarts) =
        wait_for("a crash", SOON, async || waiting_reason(&pods, "loop").await).await.unwrap();
    assert_eq!(reason, "CrashLoopBackOff");
    assert!(restarts >= 1);
    wait_ready(&sets, "never", 0).await;

    flip(&pods, &sets).await;
    hold(&cluster, &kubectl, &sets).await;
    cordon(&kubectl, &sets).await;

    sets.delete("web", &DeleteParams::background()).await.unwrap();
    wait_for("the pods going", SOON, async || {
        let left = pods.list(&ListParams::default().labels("app=web")).await?.items.len();
        if left == 0 { Ok(()) } else { Err(NotYet(format!("{left} pods are left"))) }
    })
    .await
    .unwrap();

    let writes = audit::writes(&cluster.audit_log(), since, "admin").unwrap();
    assert!(writes.iter().any(|request| request.verb == "delete"
        && request.resource == "replicasets"
        && request.name == "web"
        && request.namespace == namespace
        && request.code == 200));
    assert_eq!(audit::writes(&cluster.audit_log(), since, "operator").unwrap(), []);
}

/// A ready pod becomes unready on request, and ready again.
async fn flip(pods: &Api<Pod>, sets: &Api<ReplicaSet>) {
    let list = pods.list(&ListParams::default().labels("app=web")).await.unwrap();
    let name = list.items.first().unwrap().metadata.name.clone().unwrap();
    for (value, ready) in [(json!("true"), 2), (json!(null), 3)] {
        let patch = json!({"metadata": {"annotations": {kubelet::NEVER_READY: value}}});
        pods.patch(&name, &PatchParams::default(), &Patch::Merge(&patch)).await.unwrap();
        wait_ready(sets, "web", ready).await;
    }
}

/// No pod becomes ready while the whole kubelet holds them.
async fn hold(cluster: &Cluster, kubectl: &cluster::Tool, sets: &Api<ReplicaSet>) {
    let kubelet = cluster.kubelet().unwrap();
    kubelet.configure(|options| options.pods.never_ready = true);
    wait_ready(sets, "web", 0).await;
    kubectl.run(&["scale", "replicaset/web", "--replicas=4"]).await.unwrap();
    kubelet.configure(|options| options.pods.never_ready = false);
    wait_ready(sets, "web", 4).await;
}

/// A cordoned node gets no new pod.
async fn cordon(kubectl: &cluster::Tool, sets: &Api<ReplicaSet>) {
    kubectl.run(&["cordon", kubelet::NODE_NAME]).await.unwrap();
    kubectl.run(&["scale", "replicaset/web", "--replicas=5"]).await.unwrap();
    let created = ["wait", "replicaset/web", "--for=jsonpath={.status.replicas}=5", "--timeout=20s"];
    kubectl.run(&created).await.unwrap();
    let ready = ["wait", "replicaset/web", "--for=jsonpath={.status.readyReplicas}=5", "--timeout=2s"];
    assert!(kubectl.run(&ready).await.is_err());
    kubectl.run(&["uncordon", kubelet::NODE_NAME]).await.unwrap();
    wait_ready(sets, "web", 5).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn components_restart_and_users_have_their_rights() {
    let cluster = Cluster::start(Options::unique("restarts")).await.unwrap();
    let namespace = cluster.create_namespace("rights").await.unwrap();

    let operator = cluster.kubectl(User::Operator).unwrap().in_namespace(&namespace);
    let refused = operator.output(&["get", "pods"], "").await.unwrap();
    assert!(!refused.success);
    assert!(refused.stderr.contains("User \"operator\" cannot list resource \"pods\""), "{}", refused.stderr);

    let admin = cluster.kubectl(User::Admin).unwrap().in_namespace(&namespace);
    let client = cluster.client(User::Admin).await.unwrap();
    let sets: Api<ReplicaSet> = Api::namespaced(client, &namespace);
    cluster.kill(Component::ApiServer).unwrap();
    assert!(cluster.pid(Component::ApiServer).is_none());
    assert!(admin.run(&["get", "pods"]).await.is_err());
    cluster.restart(Component::ApiServer).await.unwrap();
    cluster.restart(Component::ControllerManager).await.unwrap();
    admin.apply(&replica_set("web", 2, "app:1", &json!({}))).await.unwrap();
    wait_ready(&sets, "web", 2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_left_behind() {
    let options = Options::unique("leftovers");
    let cluster = Cluster::start(options.clone()).await.unwrap();
    let pids: Vec<u32> = Component::ALL.into_iter().filter_map(|component| cluster.pid(component)).collect();
    assert_eq!(pids.len(), 3);
    let second = Cluster::start(options.clone()).await;
    assert!(matches!(second, Err(Error::InUse { .. })), "a living cluster was disturbed");
    drop(cluster);
    for pid in pids {
        assert!(!is_alive(pid), "process {pid} is left");
    }
    std::fs::remove_dir_all(options.directory).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_survives_a_killed_owner() {
    let options = Options::unique("orphans");
    let mut owner = Command::new(env!("CARGO_BIN_EXE_rollwright-cluster"))
        .arg("run")
        .arg(format!("--dir={}", options.directory.display()))
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // Longer than a control plane gives its own components to become ready.
    let state = wait_for("the cluster coming up", Duration::from_secs(180), async || {
        State::read(&options.directory)
            .filter(|state| state.ready)
            .ok_or_else(|| NotYet("not ready".to_owned()))
    })
    .await
    .unwrap();
    owner.kill().unwrap();
    owner.wait().unwrap();
    wait_for("the components ending", Duration::from_secs(30), async || {
        let left: Vec<u32> = state.processes.values().copied().filter(|pid| is_alive(*pid)).collect();
        if left.is_empty() { Ok(()) } else { Err(NotYet(format!("{left:?} are alive"))) }
    })
    .await
    .unwrap();
    // What the owner could not clean up does not stand in the way.
    drop(Cluster::start(options.clone()).await.unwrap());
    std::fs::remove_dir_all(options.directory).unwrap();
}

/// Whether this process runs. One that has ended keeps its pid until its parent
/// asks for its status, and the init process of some containers does not ask.
fn is_alive(pid: u32) -> bool {
    let exists =
        i32::try_from(pid).ok().and_then(Pid::from_raw).is_some_and(|pid| test_kill_process(pid).is_ok());
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    exists && !status.lines().any(|line| line.starts_with("State:\tZ"))
}
