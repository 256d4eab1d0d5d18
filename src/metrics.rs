//! What the operator counts. Labels are bounded: no object names.

use prometheus::{
    Encoder, Gauge, GaugeVec, Histogram, HistogramOpts, IntCounter, IntCounterVec, IntGauge, IntGaugeVec,
    Opts, Registry, TextEncoder,
};

/// All metrics; cheap to clone.
#[derive(Clone)]
pub(crate) struct Metrics {
    registry: Registry,
    /// Passes by flavour and result.
    pub(crate) passes: IntCounterVec,
    /// Time from a pass's start to its end.
    pub(crate) pass_seconds: Histogram,
    /// Passes that panicked.
    pub(crate) panics: IntCounter,
    /// Requests by verb, kind and status code.
    pub(crate) requests: IntCounterVec,
    /// Keys waiting for a worker, by flavour.
    pub(crate) queue_depth: IntGaugeVec,
    /// Attempts that failed and come again.
    pub(crate) retries: IntCounter,
    /// Cached objects by flavour and kind.
    pub(crate) cached: IntGaugeVec,
    /// Objects that cannot be decoded, by flavour and kind.
    pub(crate) quarantined: IntGaugeVec,
    /// Seconds since a watch last gave a sign of life, by flavour and kind.
    pub(crate) watch_age: GaugeVec,
    /// Errors of watches by kind.
    pub(crate) watch_errors: IntCounterVec,
    /// Passes put off until the cache shows an earlier write.
    pub(crate) ledger_waits: IntCounter,
    /// Waits that were given up for a live read.
    pub(crate) ledger_overdue: IntCounter,
    /// Times that we gave way to another controller, by flavour.
    pub(crate) rivalries: IntCounterVec,
    /// ReplicaSets that got our label back.
    pub(crate) relabelled: IntCounter,
    /// Orphans that could be adopted and are not labelled.
    pub(crate) orphans_reported: IntCounter,
    /// Events that were dropped, by cause.
    pub(crate) events_dropped: IntCounterVec,
    /// Pod fields of the cluster that the installed CRD lacks.
    pub(crate) template_schema_lag: IntGauge,
}

impl Metrics {
    /// Registers all metrics.
    pub(crate) fn new() -> Result<Self, prometheus::Error> {
        let registry = Registry::new_custom(Some("rollwright".to_owned()), None)?;
        let r = &registry;
        let pass_buckets = vec![0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0];
        let pass_seconds =
            HistogramOpts::new("pass_duration_seconds", "Duration of a pass over one Deployment.")
                .buckets(pass_buckets);
        let metrics = Self {
            passes: counters(r, "passes_total", "Passes over a Deployment.", &["api", "result"])?,
            pass_seconds: add(r, Histogram::with_opts(pass_seconds)?)?,
            panics: counter(r, "pass_panics_total", "Passes that panicked.")?,
            requests: counters(
                r,
                "client_requests_total",
                "Requests to the API server.",
                &["verb", "kind", "code"],
            )?,
            queue_depth: gauges(r, "workqueue_depth", "Deployments that wait for a worker.", &["api"])?,
            retries: counter(r, "workqueue_retries_total", "Passes that failed and are tried again.")?,
            cached: gauges(r, "cached_objects", "Objects in the cache.", &["api", "kind"])?,
            quarantined: gauges(
                r,
                "quarantined_objects",
                "Objects that cannot be decoded.",
                &["api", "kind"],
            )?,
            watch_age: ages(r, "watch_age_seconds", "Time since a watch last gave a sign of life.")?,
            watch_errors: counters(r, "watch_errors_total", "Errors of watches.", &["kind"])?,
            ledger_waits: counter(
                r,
                "ledger_waits_total",
                "Passes put off until the cache shows our last write.",
            )?,
            ledger_overdue: counter(
                r,
                "ledger_overdue_total",
                "Waits for the cache that ended in a live read.",
            )?,
            rivalries: counters(
                r,
                "rivalries_total",
                "Deployments left to another controller that kept undoing our status.",
                &["api"],
            )?,
            relabelled: counter(r, "relabelled_replicasets_total", "ReplicaSets that got their label back.")?,
            orphans_reported: counter(
                r,
                "orphans_reported_total",
                "ReplicaSets that await a label to be adopted.",
            )?,
            events_dropped: counters(
                r,
                "events_dropped_total",
                "Events that were not recorded.",
                &["cause"],
            )?,
            template_schema_lag: add(
                r,
                IntGauge::with_opts(Opts::new(
                    "template_schema_lag_fields",
                    "Pod fields that the cluster knows and the installed CRD lacks.",
                ))?,
            )?,
            registry,
        };
        Ok(metrics)
    }

    /// Registers a further counter.
    pub(crate) fn counters(
        &self,
        name: &str,
        help: &str,
        labels: &[&str],
    ) -> Result<IntCounterVec, prometheus::Error> {
        counters(&self.registry, name, help, labels)
    }

    /// Registers a further gauge.
    pub(crate) fn gauge(&self, name: &str, help: &str) -> Result<Gauge, prometheus::Error> {
        add(&self.registry, Gauge::new(name, help)?)
    }

    /// The text that Prometheus reads.
    pub(crate) fn render(&self) -> Result<Vec<u8>, prometheus::Error> {
        let mut text = Vec::new();
        TextEncoder::new().encode(&self.registry.gather(), &mut text)?;
        Ok(text)
    }
}

fn add<M: prometheus::core::Collector + Clone + 'static>(
    registry: &Registry,
    metric: M,
) -> Result<M, prometheus::Error> {
    registry.register(Box::new(metric.clone()))?;
    Ok(metric)
}

fn counter(registry: &Registry, name: &str, help: &str) -> Result<IntCounter, prometheus::Error> {
    add(registry, IntCounter::new(name, help)?)
}

fn counters(
    registry: &Registry,
    name: &str,
    help: &str,
    labels: &[&str],
) -> Result<IntCounterVec, prometheus::Error> {
    add(registry, IntCounterVec::new(Opts::new(name, help), labels)?)
}

fn gauges(
    registry: &Registry,
    name: &str,
    help: &str,
    labels: &[&str],
) -> Result<IntGaugeVec, prometheus::Error> {
    add(registry, IntGaugeVec::new(Opts::new(name, help), labels)?)
}

fn ages(registry: &Registry, name: &str, help: &str) -> Result<GaugeVec, prometheus::Error> {
    add(registry, GaugeVec::new(Opts::new(name, help), &["api", "kind"])?)
}
