//! A whole in-memory cluster: its first objects, and the controllers that keep it running.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use world::{
    Cluster, Controllers, Defaults, First, Mode, Object, PodRules, Policy, Refused, Resource, Store,
};

use crate::definition::establish;
use crate::holder::Shared;

/// Namespaces that every cluster has.
const NAMESPACES: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];
/// Changes that are kept for watches that return, at least; at most twice as many.
const HISTORY: u64 = 1000;
/// Timers count in milliseconds; what is not yet due would be looked at in vain.
const TICK: Duration = Duration::from_millis(1);

/// A cluster with its namespaces, one node and a definition, at the present time. [`live`] keeps
/// it going.
///
/// # Errors
/// When the definition is refused.
pub fn embed(definition: Value, policy: Box<dyn Policy + Send>) -> Result<Arc<Shared<Cluster>>, Refused> {
    embed_at(Timestamp::now(), definition, policy)
}

/// The same at another time, from where it passes by tokio's clock.
///
/// # Errors
/// As [`embed`].
pub fn embed_at(
    now: Timestamp,
    definition: Value,
    policy: Box<dyn Policy + Send>,
) -> Result<Arc<Shared<Cluster>>, Refused> {
    let mut controllers = Controllers::new(policy, Box::new(First));
    let mut store = Store::new(now);
    store.add_admission(Arc::new(Defaults::default()));
    store.add_admission(Arc::new(PodRules));
    for name in NAMESPACES {
        let namespace = json!({
            "metadata": { "name": name, "labels": { "kubernetes.io/metadata.name": name } },
            "spec": { "finalizers": ["kubernetes"] },
        });
        store.create(Object::from_value(Resource::Namespaces, namespace), Mode::Store)?;
    }
    establish(&mut store, definition, Mode::Store)?;
    controllers.kubelets().register(&mut store)?;
    // Versions that nobody can have seen have expired.
    store.compact(store.version());
    Ok(Shared::new(Cluster { store, controllers }))
}

/// Lets controllers and kubelets act, for ever: when something has changed, and when something
/// falls due.
pub async fn live(cluster: Arc<Shared<Cluster>>) {
    let mut versions = cluster.versions();
    loop {
        versions.borrow_and_update();
        let due = cluster.act(|cluster| {
            let now = cluster.store.now();
            cluster.advance_to(now);
            forget(&mut cluster.store);
            cluster.next_due()
        });
        let later = due.map(|due| cluster.instant(due));
        tokio::select! {
            changed = versions.changed() => if changed.is_err() { return },
            () = until(later) => {}
        }
    }
}

async fn until(time: Option<tokio::time::Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time + TICK).await,
        None => std::future::pending().await,
    }
}

fn forget(store: &mut Store) {
    if u64::try_from(store.kept_changes()).is_ok_and(|kept| kept > 2 * HISTORY) {
        store.compact(store.version().saturating_sub(HISTORY));
    }
}
