//! The control plane that everything is measured on.

use cluster::{Cluster, Options, User};
use serde_json::json;

use crate::failure::Failure;

const CRD: &str = include_str!("../../../crds/deployments.rollwright.dev.yaml");

/// Starts one without a deployment controller, with our kind installed. The operator may do
/// everything: what rights it has does not change what it costs.
pub(crate) async fn start() -> Result<Cluster, Failure> {
    let mut options = Options::unique("bench");
    options.manifests = vec![CRD.to_owned(), rights()];
    Ok(Cluster::start(options).await?)
}

/// The same without kubelet and with room for a hundred thousand objects.
pub(crate) async fn start_large() -> Result<Cluster, Failure> {
    let mut options = Options::unique("bench");
    options.manifests = vec![CRD.to_owned(), rights()];
    options.kubelet = None;
    options.etcd_flags = vec![
        "--quota-backend-bytes=8589934592".to_owned(),
        "--auto-compaction-mode=periodic".to_owned(),
        "--auto-compaction-retention=1m".to_owned(),
    ];
    Ok(Cluster::start(options).await?)
}

/// Stops a cluster or a controller, which takes a while, without holding up anything else.
pub(crate) async fn end<T: Send + 'static>(running: T) -> Result<(), Failure> {
    let ended = tokio::task::spawn_blocking(|| drop(running)).await;
    ended.map_err(|error| Failure::Other(error.to_string()))
}

fn rights() -> String {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "rollwright-bench"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": User::Operator.name()}],
    })
    .to_string()
}
