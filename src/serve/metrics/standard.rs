//! The metrics that every controller has, by the names, labels and buckets of client-go and
//! controller-runtime: dashboards and alerts for these work here too.

use std::time::Duration;

use prometheus::{
    Gauge, GaugeVec, Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge,
    IntGaugeVec, Opts, Registry, exponential_buckets,
};

use super::add;

/// client-go's buckets of a request's latency.
const REQUEST_BUCKETS: [f64; 12] = [0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0];
/// controller-runtime's buckets of a reconcile's time.
const RECONCILE_BUCKETS: [f64; 40] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.25,
    1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0, 25.0, 30.0, 40.0,
    50.0, 60.0,
];

/// Metrics by standard names.
#[derive(Clone)]
pub(crate) struct Standard {
    /// Requests by code, method and host.
    pub(super) requests: IntCounterVec,
    /// Latency of requests by verb and host.
    pub(super) request_seconds: HistogramVec,
    /// Whether this replica leads, by lease; nothing where there is no election.
    pub(crate) leader: IntGaugeVec,
    queue: OfQueue,
    reconciles: OfReconciles,
}

/// client-go's, of a work queue.
#[derive(Clone)]
struct OfQueue {
    depth: IntGaugeVec,
    adds: IntCounterVec,
    retries: IntCounterVec,
    waited_seconds: HistogramVec,
    worked_seconds: HistogramVec,
    unfinished_seconds: GaugeVec,
    longest_seconds: GaugeVec,
}

/// controller-runtime's, of reconciles and those who make them.
#[derive(Clone)]
struct OfReconciles {
    total: IntCounterVec,
    errors: IntCounterVec,
    terminal_errors: IntCounterVec,
    panics: IntCounterVec,
    seconds: HistogramVec,
    workers_max: IntGaugeVec,
    workers: IntGaugeVec,
}

impl OfQueue {
    fn new(r: &Registry) -> Result<Self, prometheus::Error> {
        let name = &["name"];
        let buckets = exponential_buckets(1e-8, 10.0, 10)?;
        Ok(Self {
            depth: gauges(r, "workqueue_depth", "Current depth of workqueue", name)?,
            adds: counters(r, "workqueue_adds_total", "Total number of adds handled by workqueue", name)?,
            retries: counters(
                r,
                "workqueue_retries_total",
                "Total number of retries handled by workqueue",
                name,
            )?,
            waited_seconds: histograms(
                r,
                "workqueue_queue_duration_seconds",
                "How long in seconds an item stays in workqueue before being requested.",
                name,
                &buckets,
            )?,
            worked_seconds: histograms(
                r,
                "workqueue_work_duration_seconds",
                "How long in seconds processing an item from workqueue takes.",
                name,
                &buckets,
            )?,
            unfinished_seconds: ages(
                r,
                "workqueue_unfinished_work_seconds",
                "How many seconds of work has done that is in progress and hasn't been observed by work_duration.",
            )?,
            longest_seconds: ages(
                r,
                "workqueue_longest_running_processor_seconds",
                "How many seconds has the longest running processor for workqueue been running.",
            )?,
        })
    }
}

impl OfReconciles {
    fn new(r: &Registry) -> Result<Self, prometheus::Error> {
        let controller = &["controller"];
        Ok(Self {
            total: counters(
                r,
                "controller_runtime_reconcile_total",
                "Total number of reconciliations per controller",
                &["controller", "result"],
            )?,
            errors: counters(
                r,
                "controller_runtime_reconcile_errors_total",
                "Total number of reconciliation errors per controller",
                controller,
            )?,
            terminal_errors: counters(
                r,
                "controller_runtime_terminal_reconcile_errors_total",
                "Total number of terminal reconciliation errors per controller",
                controller,
            )?,
            panics: counters(
                r,
                "controller_runtime_reconcile_panics_total",
                "Total number of reconciliation panics per controller",
                controller,
            )?,
            seconds: histograms(
                r,
                "controller_runtime_reconcile_time_seconds",
                "Length of time per reconciliation per controller",
                controller,
                &RECONCILE_BUCKETS,
            )?,
            workers_max: gauges(
                r,
                "controller_runtime_max_concurrent_reconciles",
                "Maximum number of concurrent reconciles per controller",
                controller,
            )?,
            workers: gauges(
                r,
                "controller_runtime_active_workers",
                "Number of currently used workers per controller",
                controller,
            )?,
        })
    }
}

impl Standard {
    pub(super) fn new(r: &Registry) -> Result<Self, prometheus::Error> {
        Ok(Self {
            requests: counters(
                r,
                "rest_client_requests_total",
                "Number of HTTP requests, partitioned by status code, method, and host.",
                &["code", "method", "host"],
            )?,
            request_seconds: histograms(
                r,
                "rest_client_request_duration_seconds",
                "Request latency in seconds. Broken down by verb, and host.",
                &["verb", "host"],
                &REQUEST_BUCKETS,
            )?,
            leader: gauges(
                r,
                "leader_election_master_status",
                "Gauge of if the reporting system is master of the relevant lease, 0 indicates backup, 1 indicates master. 'name' is the string used to identify the lease. Please make sure to group by name.",
                &["name"],
            )?,
            queue: OfQueue::new(r)?,
            reconciles: OfReconciles::new(r)?,
        })
    }

    /// The metrics of one controller, all of them shown from the start: a rate needs a zero.
    pub(crate) fn of(&self, controller: &str) -> Meters {
        for result in [Reconciled::Success, Reconciled::Error, Reconciled::Requeue, Reconciled::RequeueAfter]
        {
            self.reconciles.total.with_label_values(&[controller, result.word()]);
        }
        let (queue, reconciles, label) = (&self.queue, &self.reconciles, &[controller]);
        Meters {
            depth: queue.depth.with_label_values(label),
            adds: queue.adds.with_label_values(label),
            retries: queue.retries.with_label_values(label),
            waited_seconds: queue.waited_seconds.with_label_values(label),
            worked_seconds: queue.worked_seconds.with_label_values(label),
            unfinished_seconds: queue.unfinished_seconds.with_label_values(label),
            longest_seconds: queue.longest_seconds.with_label_values(label),
            reconciles: reconciles.total.clone(),
            errors: reconciles.errors.with_label_values(label),
            terminal_errors: reconciles.terminal_errors.with_label_values(label),
            panics: reconciles.panics.with_label_values(label),
            seconds: reconciles.seconds.with_label_values(label),
            workers_max: reconciles.workers_max.with_label_values(label),
            workers: reconciles.workers.with_label_values(label),
            controller: controller.to_owned(),
        }
    }
}

/// How a reconcile ended, in controller-runtime's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reconciled {
    /// The reconcile succeeded.
    Success,
    /// The reconcile failed.
    Error,
    /// The key comes again soon, and there is no error: the cache was behind.
    Requeue,
    /// The key comes again at a time.
    RequeueAfter,
}

impl Reconciled {
    fn word(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Error => "error",
            Self::Requeue => "requeue",
            Self::RequeueAfter => "requeue_after",
        }
    }
}

/// The standard metrics of one controller.
pub(crate) struct Meters {
    controller: String,
    pub(crate) depth: IntGauge,
    pub(crate) adds: IntCounter,
    retries: IntCounter,
    waited_seconds: Histogram,
    worked_seconds: Histogram,
    pub(crate) unfinished_seconds: Gauge,
    pub(crate) longest_seconds: Gauge,
    reconciles: IntCounterVec,
    errors: IntCounter,
    terminal_errors: IntCounter,
    panics: IntCounter,
    seconds: Histogram,
    workers_max: IntGauge,
    workers: IntGauge,
}

impl Meters {
    /// The number of workers.
    pub(crate) fn has_workers(&self, count: u16) {
        self.workers_max.set(count.into());
    }

    /// A worker took a key that had waited so long.
    pub(crate) fn took(&self, waited: Duration) {
        self.waited_seconds.observe(waited.as_secs_f64());
        self.workers.inc();
    }

    /// A worker has finished a key, after this time.
    pub(crate) fn finished(&self, worked: Duration) {
        self.worked_seconds.observe(worked.as_secs_f64());
        self.seconds.observe(worked.as_secs_f64());
        self.workers.dec();
    }

    /// A reconcile ended so.
    pub(crate) fn reconciled(&self, how: Reconciled) {
        self.reconciles.with_label_values(&[self.controller.as_str(), how.word()]).inc();
        if how == Reconciled::Error {
            self.errors.inc();
        }
    }

    /// No retry would help.
    pub(crate) fn gave_up(&self) {
        self.terminal_errors.inc();
    }

    /// A key that failed comes again.
    pub(crate) fn retries(&self) {
        self.retries.inc();
    }

    /// A reconcile panicked.
    pub(crate) fn panicked(&self) {
        self.panics.inc();
    }
}

fn counters(
    r: &Registry,
    name: &str,
    help: &str,
    labels: &[&str],
) -> Result<IntCounterVec, prometheus::Error> {
    add(r, IntCounterVec::new(Opts::new(name, help), labels)?)
}

fn gauges(r: &Registry, name: &str, help: &str, labels: &[&str]) -> Result<IntGaugeVec, prometheus::Error> {
    add(r, IntGaugeVec::new(Opts::new(name, help), labels)?)
}

fn ages(r: &Registry, name: &str, help: &str) -> Result<GaugeVec, prometheus::Error> {
    add(r, GaugeVec::new(Opts::new(name, help), &["name"])?)
}

fn histograms(
    r: &Registry,
    name: &str,
    help: &str,
    labels: &[&str],
    buckets: &[f64],
) -> Result<HistogramVec, prometheus::Error> {
    add(r, HistogramVec::new(HistogramOpts::new(name, help).buckets(buckets.to_vec()), labels)?)
}
