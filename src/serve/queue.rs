//! Metrics of a queue and of the cache, which have them whenever somebody reads metrics.

use std::collections::BTreeSet;
use std::sync::Weak;

use crate::reconcile::reconciler::Reconciler;
use crate::serve::metrics::Metrics;

/// Reads the queue and the namespaces of a reconciler whenever metrics are read.
pub(crate) fn watch(metrics: &Metrics, reconciler: Weak<Reconciler>) {
    metrics.before_reading(move || {
        let Some(reconciler) = reconciler.upgrade() else { return };
        let (reading, meters) = (reconciler.queue.reading(), &reconciler.meters);
        let api = reconciler.flavour.api_version();
        for (reason, keys) in reconciler.queue.waiting() {
            let gauge = reconciler.metrics.waiting.with_label_values(&[api, reason.as_str()]);
            gauge.set(i64::try_from(keys).unwrap_or(i64::MAX));
        }
        meters.depth.set(i64::try_from(reading.depth).unwrap_or(i64::MAX));
        meters.adds.inc_by(reading.added.saturating_sub(meters.adds.get()));
        meters.unfinished_seconds.set(reading.unfinished.as_secs_f64());
        meters.longest_seconds.set(reading.longest.as_secs_f64());
        reconciler.metrics.rollouts.observe(reconciler.flavour, &namespaces(&reconciler));
    });
}

/// Those with Deployments.
fn namespaces(reconciler: &Reconciler) -> BTreeSet<String> {
    reconciler.index().namespaces().cloned().collect()
}
