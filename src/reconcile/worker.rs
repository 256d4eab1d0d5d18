//! Workers: take a key, reconcile it, and decide when to requeue it.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use engine::index::Key;
use engine::next::{Next, Scheduled};
use engine::reconcile::ReconcileError;
use futures::FutureExt as _;
use tokio::time::Instant;
use tracing::{debug, error, info, warn};

use crate::reconcile::port::Attempt;
use crate::reconcile::reconciler::Reconciler;
use crate::serve::metrics::standard::Reconciled;

/// From this many failures in a row on, a failure is worth a warning.
const FAILURES_NOTABLE: u32 = 3;

/// Works until the queue is closed.
pub(crate) async fn work(reconciler: Arc<Reconciler>) {
    while let Some((key, waited)) = reconciler.queue.pop().await {
        let Some(term) = reconciler.term() else {
            // The operator has just lost the lease, and the queue is about to be paused.
            reconciler.queue.put_back(&key);
            continue;
        };
        reconciler.meters.took(waited);
        let started = Instant::now();
        reconciler.progress.took();
        let stay = reconciler.stay(&key.namespace);
        let port = Attempt { reconciler: &reconciler, key: &key, term, stay };
        let attempt = reconciler.engine.attempt(&port, &key);
        let next = match AssertUnwindSafe(attempt).catch_unwind().await {
            Ok(next) => next,
            Err(payload) => {
                reconciler.meters.panicked();
                let message = format!("panicked: {}", panic_text(payload.as_ref()));
                error!(%key, message, "a reconcile panicked; this Deployment is tried again later");
                Next::Failed(ReconcileError { message, retry: true, conflict: false })
            }
        };
        reconciler.meters.finished(started.elapsed());
        let is_in_charge =
            reconciler.leadership().term() == Some(term) && reconciler.stay(&key.namespace) == stay;
        if matches!(next, Next::Failed(_)) && !is_in_charge {
            // No fault of this Deployment.
            debug!(%key, "a reconcile ended early: this replica no longer leads, or the namespace belongs to another shard");
            reconciler.queue.put_back(&key);
        } else {
            schedule(&reconciler, &key, &next);
        }
        reconciler.progress.finished();
    }
}

fn panic_text(payload: &(dyn std::any::Any + Send)) -> &str {
    let owned = || payload.downcast_ref::<String>().map(String::as_str);
    payload.downcast_ref::<&str>().copied().or_else(owned).unwrap_or("(no message)")
}

fn schedule(reconciler: &Reconciler, key: &Key, next: &Next) {
    let scheduled = reconciler.queue.schedule(key, next);
    let error = match next {
        Next::Failed(error) => error.message.as_str(),
        _ => "",
    };
    let is_conflict = matches!(next, Next::Failed(error) if error.conflict);
    let (result, reconciled) = match scheduled {
        Scheduled::Fine if matches!(next, Next::After(_)) => ("ok", Reconciled::RequeueAfter),
        Scheduled::Fine => ("ok", Reconciled::Success),
        Scheduled::Waits => ("waits", Reconciled::RequeueAfter),
        Scheduled::Yielded => ("yielded", Reconciled::RequeueAfter),
        Scheduled::GivenUp => {
            info!(%key, error, "given up until something changes");
            reconciler.meters.gave_up();
            ("given_up", Reconciled::Error)
        }
        Scheduled::Retry(delay, count) => {
            reconciler.meters.retries();
            if is_conflict || count < FAILURES_NOTABLE {
                debug!(%key, error, count, ?delay, "failed, to be tried again");
            } else {
                warn!(%key, error, count, ?delay, "failed, to be tried again");
            }
            if is_conflict { ("conflict", Reconciled::Requeue) } else { ("error", Reconciled::Error) }
        }
    };
    reconciler.meters.reconciled(reconciled);
    reconciler.metrics.reconciles.with_label_values(&[reconciler.flavour.api_version(), result]).inc();
}
