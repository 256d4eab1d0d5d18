//! The control plane that everything is measured on.

use std::fs;
use std::time::Duration;

use cluster::kubelet::{Conventions, KubeletOptions};
use cluster::{Cluster, Component, Options, User};
use serde_json::json;

use crate::failure::Failure;

/// Read when it is needed, so that another definition can be tried without building anything.
const CRD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../crds/deployments.rollwright.dev.yaml");

/// Starts one without a deployment controller, with the definition installed and pods that take so long. The
/// operator may do everything: what rights it has does not change what it costs.
pub(crate) async fn start(
    ready_after: Duration,
    gone_after: Duration,
    definitions: Vec<String>,
) -> Result<Cluster, Failure> {
    let mut options = options()?;
    options.manifests.extend(definitions);
    let pods = Conventions { ready_after, terminate_after: gone_after, ..Conventions::default() };
    options.kubelet = Some(KubeletOptions { pods, ..KubeletOptions::default() });
    Ok(Cluster::start(options).await?)
}

/// The same with room for a hundred thousand objects, and without kubelet and other controllers: nothing of it is for
/// them but the statuses of all the ReplicaSets.
pub(crate) async fn start_large() -> Result<Cluster, Failure> {
    let mut options = options()?;
    options.kubelet = None;
    options.etcd_flags = vec![
        "--quota-backend-bytes=8589934592".to_owned(),
        "--auto-compaction-mode=periodic".to_owned(),
        "--auto-compaction-retention=1m".to_owned(),
    ];
    let cluster = Cluster::start(options).await?;
    cluster.stop(Component::ControllerManager)?;
    Ok(cluster)
}

/// Stops a cluster or a controller, which takes a while, without holding up anything else.
pub(crate) async fn end<T: Send + 'static>(running: T) -> Result<(), Failure> {
    let ended = tokio::task::spawn_blocking(|| drop(running)).await;
    ended.map_err(|error| Failure::Other(error.to_string()))
}

/// Stops a cluster and removes what it leaves: the audit logs of an hour would fill a disk.
pub(crate) async fn clear(cluster: Cluster) -> Result<(), Failure> {
    let directory = cluster.directory().to_owned();
    end(cluster).await?;
    fs::remove_dir_all(&directory).map_err(Failure::io(format!("removing {}", directory.display())))
}

fn options() -> Result<Options, Failure> {
    let crd = fs::read_to_string(CRD).map_err(Failure::io(format!("reading {CRD}")))?;
    let rights = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "rollwright-bench"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": User::Operator.name()}],
    });
    let mut options = Options::unique("bench");
    options.manifests = vec![crd, rights.to_string()];
    // For a person who wants to know what the server does: see docs/internals/benchmarks.md.
    options.apiserver_flags = vec!["--profiling=true".to_owned()];
    Ok(options)
}
