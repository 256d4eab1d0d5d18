//! The operator's metrics. Labels are bounded. Only the series of objects name an object. Only these and the
//! series of rollouts name a namespace. Flags switch both off.
//!
//! Metrics that every controller has use the common names ([`standard`]); the others begin with
//! `rollwright_`. docs/reference/metrics.md lists all of them.

pub(crate) mod rollouts;
pub(crate) mod standard;
pub(crate) mod traffic;

use std::sync::{Arc, Mutex, PoisonError};

use plan::Flavour;
use prometheus::core::Collector;
use prometheus::{
    Encoder, GaugeVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Opts, Registry, TextEncoder,
};

use rollouts::Rollouts;
use standard::Standard;

/// The beginning of the name of every Rollwright metric.
const PREFIX: &str = "rollwright_";

/// What is done to ReplicaSets.
const SET_WRITES: [&str; 7] = ["create", "scale_up", "scale_down", "update", "delete", "adopt", "release"];

type Observer = Box<dyn Fn() + Send + Sync>;

/// All metrics; cheap to clone.
#[derive(Clone)]
pub(crate) struct Metrics {
    registry: Registry,
    observers: Arc<Mutex<Vec<Observer>>>,
    /// What every controller has.
    pub(crate) standard: Standard,
    /// Reconciles by flavour and result.
    pub(crate) reconciles: IntCounterVec,
    /// Requests by verb, kind and status code.
    pub(crate) requests: IntCounterVec,
    /// How rollouts end.
    pub(crate) rollouts: Rollouts,
    /// Writes to ReplicaSets by flavour and kind.
    pub(crate) set_writes: IntCounterVec,
    /// Cached objects by flavour and kind.
    pub(crate) cached: IntGaugeVec,
    /// Deployments that wait, by flavour and reason; see [`engine::waits::Reason`].
    pub(crate) waiting: IntGaugeVec,
    /// Objects that cannot be decoded, by flavour and kind.
    pub(crate) quarantined: IntGaugeVec,
    /// Seconds since a watch last gave a sign of life, by flavour and kind.
    pub(crate) watch_age: GaugeVec,
    /// Namespaces by how they stand to the shard; nothing without one.
    pub(crate) namespaces: IntGaugeVec,
    /// Errors of watches by kind.
    pub(crate) watch_errors: IntCounterVec,
    /// Reconciles put off until the cache shows an earlier write.
    pub(crate) ledger_waits: IntCounter,
    /// Waits that were given up for a live read.
    pub(crate) ledger_overdue: IntCounter,
    /// Times that the operator gave way to another controller, by flavour.
    pub(crate) rivalries: IntCounterVec,
    /// Deployments that were left as they are, since this operator is too old for them, by flavour.
    pub(crate) newer_specs: IntCounterVec,
    /// ReplicaSets with a template that something changed when they were created, by flavour.
    pub(crate) changed_sets: IntCounterVec,
    /// ReplicaSets that got the operator's label back.
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
        let registry = Registry::new();
        let r = &registry;
        register_process(r)?;
        let metrics = Self {
            standard: Standard::new(r)?,
            reconciles: counters(r, "passes_total", "Reconciles of a Deployment.", &["api", "result"])?,
            requests: counters(
                r,
                "client_requests_total",
                "Requests to the API server.",
                &["verb", "kind", "code"],
            )?,
            rollouts: Rollouts::new(r)?,
            set_writes: counters(r, "replicaset_writes_total", "Writes to ReplicaSets.", &["api", "kind"])?,
            cached: gauges(r, "cached_objects", "Objects in the cache.")?,
            waiting: waiting(r)?,
            quarantined: gauges(r, "quarantined_objects", "Objects that cannot be decoded.")?,
            watch_age: ages(r, "watch_age_seconds", "Time since a watch last gave a sign of life.")?,
            namespaces: namespaces(r)?,
            watch_errors: counters(r, "watch_errors_total", "Errors of watches.", &["kind"])?,
            ledger_waits: counter(
                r,
                "ledger_waits_total",
                "Reconciles postponed until the cache shows the last write.",
            )?,
            ledger_overdue: counter(
                r,
                "ledger_overdue_total",
                "Waits for the cache that ended in a live read.",
            )?,
            rivalries: counters(
                r,
                "rivalries_total",
                "Deployments left to another controller that kept undoing the operator's status.",
                &["api"],
            )?,
            newer_specs: newer_specs(r)?,
            changed_sets: counters(
                r,
                "changed_replicasets_total",
                "ReplicaSets whose template was changed when they were created.",
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
            template_schema_lag: gauge(
                r,
                "template_schema_lag_fields",
                "Pod fields that the cluster knows and the installed CRD lacks.",
            )?,
            observers: Arc::default(),
            registry,
        };
        for cause in ["rate", "queue_full", "refused", "standby"] {
            metrics.events_dropped.with_label_values(&[cause]);
        }
        for kind in ["deployments", "replicasets", "pods"] {
            metrics.watch_errors.with_label_values(&[kind]);
        }
        Ok(metrics)
    }

    /// Shows all counters of an API from the start: a rate needs a zero.
    pub(crate) fn begin(&self, flavour: Flavour) {
        self.rollouts.begin(flavour);
        let api = flavour.api_version();
        for kind in SET_WRITES {
            self.set_writes.with_label_values(&[api, kind]);
        }
        self.rivalries.with_label_values(&[api]);
        self.changed_sets.with_label_values(&[api]);
        self.newer_specs.with_label_values(&[api]);
    }

    /// Where further metrics are registered.
    pub(crate) fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Has this done before metrics are read, each time.
    pub(crate) fn before_reading(&self, observer: impl Fn() + Send + Sync + 'static) {
        self.observers.lock().unwrap_or_else(PoisonError::into_inner).push(Box::new(observer));
    }

    /// The text that Prometheus reads.
    pub(crate) fn render(&self) -> Result<Vec<u8>, prometheus::Error> {
        for observe in self.observers.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            observe();
        }
        let mut text = Vec::new();
        TextEncoder::new().encode(&self.registry.gather(), &mut text)?;
        Ok(text)
    }
}

/// CPU, memory and files of this process, and which version it is.
fn register_process(registry: &Registry) -> Result<(), prometheus::Error> {
    #[cfg(target_os = "linux")]
    registry.register(Box::new(prometheus::process_collector::ProcessCollector::for_self()))?;
    let opts = Opts::new(named("build_info"), "1, with the version as label.");
    let info = add(registry, IntGaugeVec::new(opts, &["version"])?)?;
    info.with_label_values(&[env!("CARGO_PKG_VERSION")]).set(1);
    Ok(())
}

/// Of a shard; without one there is nothing to show.
fn namespaces(registry: &Registry) -> Result<IntGaugeVec, prometheus::Error> {
    let opts = Opts::new(named("namespaces"), "Namespaces by how they stand to this shard.");
    add(registry, IntGaugeVec::new(opts, &["standing"])?)
}

fn newer_specs(registry: &Registry) -> Result<IntCounterVec, prometheus::Error> {
    let help = "Times that a Deployment was found to hold what this operator is too old for.";
    counters(registry, "newer_specs_total", help, &["api"])
}

fn waiting(registry: &Registry) -> Result<IntGaugeVec, prometheus::Error> {
    let opts = Opts::new(named("waiting"), "Deployments that wait, by reason.");
    add(registry, IntGaugeVec::new(opts, &["api", "reason"])?)
}

fn named(name: &str) -> String {
    format!("{PREFIX}{name}")
}

fn add<M: Collector + Clone + 'static>(registry: &Registry, metric: M) -> Result<M, prometheus::Error> {
    registry.register(Box::new(metric.clone()))?;
    Ok(metric)
}

fn counter(registry: &Registry, name: &str, help: &str) -> Result<IntCounter, prometheus::Error> {
    add(registry, IntCounter::new(named(name), help)?)
}

fn counters(
    registry: &Registry,
    name: &str,
    help: &str,
    labels: &[&str],
) -> Result<IntCounterVec, prometheus::Error> {
    add(registry, IntCounterVec::new(Opts::new(named(name), help), labels)?)
}

fn gauge(registry: &Registry, name: &str, help: &str) -> Result<IntGauge, prometheus::Error> {
    add(registry, IntGauge::with_opts(Opts::new(named(name), help))?)
}

fn gauges(registry: &Registry, name: &str, help: &str) -> Result<IntGaugeVec, prometheus::Error> {
    add(registry, IntGaugeVec::new(Opts::new(named(name), help), &["api", "kind"])?)
}

fn ages(registry: &Registry, name: &str, help: &str) -> Result<GaugeVec, prometheus::Error> {
    add(registry, GaugeVec::new(Opts::new(named(name), help), &["api", "kind"])?)
}
