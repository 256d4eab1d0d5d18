//! The one node: registered once, ready for ever, large enough for all pods.

use std::pin::pin;

use futures::StreamExt as _;
use k8s_openapi::api::core::v1::Node;
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::watch_object;
use serde_json::json;
use tokio::sync::watch;

use crate::error::Error;
use crate::kubelet::{KubeletOptions, NODE_NAME};

pub(super) async fn register(client: &kube::Client) -> Result<(), Error> {
    let nodes: Api<Node> = Api::all(client.clone());
    let node: Node = serde_json::from_value(json!({
        "metadata": {"name": NODE_NAME, "labels": {
            "kubernetes.io/hostname": NODE_NAME,
            "kubernetes.io/os": "linux",
            "kubernetes.io/arch": "amd64",
        }},
    }))?;
    match nodes.create(&PostParams::default(), &node).await {
        Ok(_) => {}
        Err(kube::Error::Api(status)) if status.is_already_exists() => {}
        Err(error) => return Err(error.into()),
    }
    let capacity = json!({"cpu": "10k", "memory": "100Ti", "ephemeral-storage": "100Ti", "pods": "100k"});
    let version = client.apiserver_version().await?.git_version;
    // Whole seconds, as Kubernetes stores times.
    let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let patch = json!({
        // Without this the taint "not ready" of new nodes would stay.
        "spec": {"taints": null},
        "status": {
            "capacity": capacity,
            "allocatable": capacity,
            "conditions": [{
                "type": "Ready", "status": "True", "reason": "KubeletReady", "message": "fake kubelet",
                "lastHeartbeatTime": now, "lastTransitionTime": now,
            }],
            "nodeInfo": {
                "kubeletVersion": version, "operatingSystem": "linux", "architecture": "amd64",
                "bootID": "", "machineID": "", "systemUUID": "", "kernelVersion": "fake", "osImage": "fake",
                "containerRuntimeVersion": "fake://1", "kubeProxyVersion": "",
            },
        },
    });
    let params = PatchParams::default();
    nodes.patch(NODE_NAME, &params, &Patch::Merge(&patch)).await?;
    nodes.patch_status(NODE_NAME, &params, &Patch::Merge(&patch)).await?;
    Ok(())
}

/// Takes over from the node whether it is cordoned, for ever.
pub(super) async fn watch(client: kube::Client, options: watch::Sender<KubeletOptions>) {
    let mut versions = pin!(watch_object(Api::<Node>::all(client), NODE_NAME).default_backoff());
    while let Some(version) = versions.next().await {
        // The watch backs off and reads the node again by itself.
        let Ok(Some(node)) = version else { continue };
        let cordoned = node.spec.and_then(|spec| spec.unschedulable).unwrap_or(false);
        options.send_if_modified(|options| std::mem::replace(&mut options.cordoned, cordoned) != cordoned);
    }
}
