//! Lists namespaces that join, one by one, while the watches run.

use std::sync::Arc;
use std::time::Duration;

use api::decode::{self, Defaults};
use engine::index::{Listed, Placed};
use engine::packed::Packed;
use engine::reconcile::Refusal;
use engine::territory::Ticket;
use futures::StreamExt as _;
use kube::Api;
use kube::api::ListParams;
use plan::Workload;
use tracing::{debug, info, warn};

use super::Shard;
use crate::client::object::{Kind, Object};
use crate::reconcile::reconciler::Reconciler;
use crate::watch::caches::{self, Cache};

/// As of the watches.
const PAGE_SIZE: u32 = 100;
/// Namespaces that are listed at a time.
const AT_A_TIME: usize = 8;
const BACKOFF_BASE: Duration = Duration::from_millis(200);
const BACKOFF_MAX: Duration = Duration::from_secs(30);

/// Lists what has to be listed, until the task is dropped.
pub(super) async fn take_in(shard: Arc<Shard>, reconciler: Arc<Reconciler>, caches: Vec<Cache>) {
    // What is there from the start is in the first lists of the cluster.
    caches::all_filled(&caches).await;
    let mut lists = shard.lists.subscribe();
    let mut failures = 0;
    loop {
        lists.mark_unchanged();
        let tickets = reconciler.index().unlisted();
        if tickets.is_empty() {
            if lists.changed().await.is_err() {
                return;
            }
            continue;
        }
        let all = futures::stream::iter(tickets).map(|ticket| list(&reconciler, &caches, ticket));
        let failed = all.buffer_unordered(AT_A_TIME).filter(|filled| std::future::ready(!filled));
        if failed.count().await == 0 {
            failures = 0;
        } else {
            let factor = 1_u32.checked_shl(failures).unwrap_or(u32::MAX);
            failures += 1;
            tokio::time::sleep(BACKOFF_BASE.saturating_mul(factor).min(BACKOFF_MAX)).await;
        }
    }
}

/// Lists one namespace. False if that failed.
async fn list(reconciler: &Arc<Reconciler>, caches: &[Cache], ticket: Ticket) -> bool {
    let (api, namespace) = (reconciler.flavour.api_version(), ticket.namespace.as_str());
    let lists =
        futures::try_join!(workloads(reconciler, caches, namespace), sets(reconciler, caches, namespace));
    match lists {
        Ok((workloads, sets)) => {
            let (deployments, replicasets) = (workloads.items.len(), sets.items.len());
            // Before reconciles get to see them: the index holds them only once this is done.
            let is_of_use = reconciler.queue.feed(|engine, now| engine.filled(&ticket, workloads, sets, now));
            if is_of_use {
                info!(api, namespace, deployments, replicasets, "namespace is listed");
            } else {
                debug!(api, namespace, "it has to be listed once more, or has left");
            }
            true
        }
        Err(refusal) => {
            warn!(api, namespace, error = refusal.message, "namespace cannot be listed; to be tried again");
            false
        }
    }
}

async fn workloads(
    reconciler: &Reconciler,
    caches: &[Cache],
    namespace: &str,
) -> Result<Listed<Packed<Workload>>, Refusal> {
    let flavour = reconciler.flavour;
    let api = reconciler.writer.server.objects(Kind::Deployment(flavour), namespace);
    pages(reconciler, &api, "deployments", ListParams::default(), |mut object| {
        decode::slim(&mut object.body);
        let decoded = decode::workload(flavour, object.parts(), Defaults::of(flavour));
        judge(caches, "deployments", &object, decoded.as_ref().err());
        decoded.ok().map(Packed::from)
    })
    .await
}

async fn sets(
    reconciler: &Reconciler,
    caches: &[Cache],
    namespace: &str,
) -> Result<Listed<Packed<Placed>>, Refusal> {
    let api = reconciler.writer.server.objects(Kind::ReplicaSet, namespace);
    let params = match reconciler.flavour.set_labels() {
        Some((label, value)) => ListParams::default().labels(&format!("{label}={value}")),
        None => ListParams::default(),
    };
    pages(reconciler, &api, "replicasets", params, |object| {
        let decoded = decode::replica_set(reconciler.flavour, object.parts());
        judge(caches, "replicasets", &object, decoded.as_ref().err());
        Some(Placed { namespace: object.namespace().to_owned(), set: Arc::new(decoded.ok()?) }.into())
    })
    .await
}

/// S17.3
fn judge(caches: &[Cache], kind: &str, object: &Object, problem: Option<&decode::Rejected>) {
    if let Some(cache) = caches.iter().find(|cache| cache.kind == kind) {
        cache.quarantine.judge(object, problem);
    }
}

/// All pages of a list, which are of one version.
async fn pages<T>(
    reconciler: &Reconciler,
    api: &Api<Object>,
    kind: &'static str,
    params: ListParams,
    read: impl Fn(Object) -> Option<T>,
) -> Result<Listed<T>, Refusal> {
    let mut params = params.limit(PAGE_SIZE);
    let mut listed = Listed { items: Vec::new(), version: 0 };
    loop {
        let page = reconciler.writer.server.send("list", kind, api.list(&params)).await?;
        let version = page.metadata.resource_version.and_then(|version| version.parse().ok());
        listed.version = version.unwrap_or(listed.version);
        listed.items.extend(page.items.into_iter().filter_map(&read));
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => params.continue_token = Some(token),
            None => return Ok(listed),
        }
    }
}
