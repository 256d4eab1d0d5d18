//! The Jobs of gates and hooks are watched, so that their Deployments are requeued when one changes. Nothing is kept.

use std::sync::Arc;

use api::job::DEPLOYMENT;
use engine::index::Key;
use kube::Api;
use kube::runtime::watcher;
use plan::keys::{MANAGED_LABEL, MANAGED_VALUE};
use serde_json::Value;
use tokio::task::JoinSet;

use crate::client::object::{Kind, Object};
use crate::reconcile::reconciler::Reconciler;
use crate::watch::renewal::Orders;
use crate::watch::{self, Sink};

/// Starts the watches, one for each watched namespace.
pub(crate) fn start(reconciler: &Arc<Reconciler>, tasks: &mut JoinSet<()>) {
    let label = format!("{MANAGED_LABEL}={MANAGED_VALUE}");
    for pair in &reconciler.watches.pairs {
        let watch = &reconciler.watches.others;
        let api = match &pair.namespace {
            Some(namespace) => Api::namespaced_with(watch.client.clone(), namespace, &Kind::Job),
            None => Api::all_with(watch.client.clone(), &Kind::Job),
        };
        let sink = Jobs(reconciler.clone());
        let config = watch::config(Some(&label));
        tasks.spawn(watch::watch(api, config, watch.pulse.clone(), Orders::none(), sink));
    }
}

struct Jobs(Arc<Reconciler>);

/// The Deployment that a Job names, in the namespace of the Job.
fn key(job: &Object) -> Option<Key> {
    let annotations = job.body.pointer("/metadata/annotations")?;
    let name = annotations.get(DEPLOYMENT).and_then(Value::as_str)?.to_owned();
    Some(Key { namespace: job.namespace().to_owned(), name })
}

impl Sink for Jobs {
    type Item = Key;

    fn read(&self, object: Object) -> Option<Key> {
        key(&object)
    }

    fn reset(&self, items: Vec<Key>) {
        self.0.queue.requeue(items);
    }

    fn apply(&self, item: Key) {
        self.0.queue.requeue([item]);
    }

    fn delete(&self, object: &Object) {
        self.0.queue.requeue(key(object));
    }

    fn failed(&self, error: &watcher::Error, failures: u32) {
        watch::log_failure(&self.0.metrics, "jobs", error, failures);
    }
}
