//! Metrics of a queue and of the cache, which have them whenever somebody reads metrics.

use std::collections::BTreeSet;
use std::sync::Weak;

use super::Metrics;
use crate::reconcile::controller::Controller;

/// Reads the queue and the namespaces of a controller whenever metrics are read.
pub(crate) fn watch(metrics: &Metrics, controller: Weak<Controller>) {
    metrics.before_reading(move || {
        let Some(controller) = controller.upgrade() else { return };
        let (reading, meters) = (controller.queue.reading(), &controller.meters);
        let api = controller.flavour.api_version();
        for (reason, keys) in controller.queue.waiting() {
            let gauge = controller.metrics.waiting.with_label_values(&[api, reason.as_str()]);
            gauge.set(i64::try_from(keys).unwrap_or(i64::MAX));
        }
        meters.depth.set(i64::try_from(reading.depth).unwrap_or(i64::MAX));
        meters.adds.inc_by(reading.added.saturating_sub(meters.adds.get()));
        meters.unfinished_seconds.set(reading.unfinished.as_secs_f64());
        meters.longest_seconds.set(reading.longest.as_secs_f64());
        controller.metrics.rollouts.observe(controller.flavour, &namespaces(&controller));
    });
}

/// Those with Deployments.
fn namespaces(controller: &Controller) -> BTreeSet<String> {
    controller.index().namespaces().cloned().collect()
}
