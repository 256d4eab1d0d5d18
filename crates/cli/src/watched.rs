//! A Deployment that is watched: its tree, and when to look again.

use futures::{Stream, StreamExt as _, stream};
use kube::runtime::watcher::Error;
use kube::runtime::{WatchStreamExt as _, watcher};
use serde_json::Value;

use crate::cluster::{Cluster, Deployment, label_selector};
use crate::failure::Failure;
use crate::signs;
use crate::tree::Tree;

/// How long a watch lasts before the next one.
const WATCH_SECONDS: u32 = 30;

/// The tree of what was read; asks for the controller where the last change or request has no outcome yet.
pub(crate) async fn grown(
    cluster: &Cluster,
    deployment: Deployment,
    (sets, pods): (Vec<Value>, Option<&[Value]>),
    revisions: usize,
) -> Tree {
    let mut tree = Tree::new(deployment, sets, pods.unwrap_or_default(), revisions);
    if tree.is_awaited
        && let Some(words) = signs::words(cluster, &tree.deployment).await
    {
        tree.rollout.message = words;
    }
    tree
}

/// A watch that the server ends soon: when the client begins the next one, it notices a connection that was lost
/// without a sign.
pub(crate) fn watch_config() -> watcher::Config {
    watcher::Config::default().timeout(WATCH_SECONDS)
}

/// Why a watch was interrupted.
pub(crate) fn failure_of(error: &Error) -> Failure {
    match error {
        Error::InitialListFailed(cause) | Error::WatchStartFailed(cause) | Error::WatchFailed(cause) => {
            Failure::from(cause)
        }
        Error::WatchError(status) => Failure::from(kube::Error::Api(status.clone())),
        Error::NoResourceVersion => Failure::Rollout(error.to_string()),
    }
}

/// An item for each change of a Deployment or of its pods.
pub(crate) fn changes(cluster: &Cluster, deployment: &Deployment) -> impl Stream<Item = ()> + use<> {
    let of_deployment = watch_config().fields(&format!("metadata.name={}", deployment.name()));
    let of_pods = watch_config().labels(&label_selector(&deployment.body));
    let deployments = watcher(cluster.deployments(deployment.flavour), of_deployment).default_backoff();
    let pods = watcher(cluster.pods(), of_pods).default_backoff();
    stream::select(deployments.map(|_| ()), pods.map(|_| ()))
}
