//! How rollouts end, how long they take, and how long they are blocked, by namespace.
//!
//! A flag switches the label `namespace` off, and a limit bounds it: further namespaces share the series of
//! [`OTHERS`]. The series of a namespace go when its last Deployment has gone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use diagnosis::Cause;
use plan::{Flavour, Outcome, Trigger};
use prometheus::{CounterVec, HistogramOpts, HistogramVec, IntCounterVec, IntGaugeVec, Opts, Registry};

use super::{add, counters, named};

/// Stands for all namespaces beyond the limit. No namespace has such a name.
const OTHERS: &str = "_other";
/// Rollouts take from seconds to hours.
const ROLLOUT_BUCKETS: [f64; 11] =
    [5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1200.0, 1800.0, 3600.0, 7200.0];
/// What a person restores takes from minutes to days.
const RESTORE_BUCKETS: [f64; 10] =
    [60.0, 300.0, 900.0, 1800.0, 3600.0, 7200.0, 14400.0, 43200.0, 86400.0, 259_200.0];
/// The trigger of a rollout without one in its record, and of all rollouts of apps/v1.
const NO_TRIGGER: &str = "";

/// The metrics of rollouts; cheap to clone.
#[derive(Clone)]
pub(crate) struct Rollouts {
    ended: IntCounterVec,
    seconds: HistogramVec,
    failures: IntCounterVec,
    restores: HistogramVec,
    blocked: CounterVec,
    omitted: IntGaugeVec,
    places: Arc<Mutex<Places>>,
}

/// Which namespaces have series of their own.
#[derive(Default)]
struct Places {
    /// How many may have them, of each API; `None` without the label.
    limit: Option<usize>,
    /// By API, and whether they had no Deployment when metrics were last read.
    taken: BTreeMap<&'static str, BTreeMap<String, bool>>,
}

impl Rollouts {
    pub(super) fn new(r: &Registry) -> Result<Self, prometheus::Error> {
        let histogram = |name: &str, help: &str, buckets: &[f64], labels: &[&str]| {
            let opts = HistogramOpts::new(named(name), help).buckets(buckets.to_vec());
            add(r, HistogramVec::new(opts, labels)?)
        };
        let blocked = Opts::new(named("rollout_blocked_seconds_total"), "Time that rollouts were blocked.");
        let omitted = Opts::new(
            named("namespace_metrics_omitted"),
            "Namespaces without series of their own, for --namespace-metrics-limit.",
        );
        let (place, help) = (["api", "namespace"], "Time from a failure to the end of a rollout.");
        Ok(Self {
            ended: counters(
                r,
                "rollouts_total",
                "Rollouts that ended.",
                &["api", "namespace", "outcome", "trigger"],
            )?,
            seconds: histogram(
                "rollout_duration_seconds",
                "Time from the start of a rollout to its end.",
                &ROLLOUT_BUCKETS,
                &["api", "namespace", "outcome"],
            )?,
            failures: counters(
                r,
                "change_failures_total",
                "Rollouts that failed or were rolled back.",
                &place,
            )?,
            restores: histogram("restore_duration_seconds", help, &RESTORE_BUCKETS, &place)?,
            blocked: add(r, CounterVec::new(blocked, &["api", "namespace", "cause"])?)?,
            omitted: add(r, IntGaugeVec::new(omitted, &["api"])?)?,
            places: Arc::default(),
        })
    }

    /// How many namespaces of each API have series of their own; `None` switches the label off.
    pub(crate) fn label_namespaces(&self, limit: Option<usize>) {
        self.places().limit = limit;
    }

    /// Shows all counters of an API from the start.
    pub(super) fn begin(&self, flavour: Flavour) {
        let rest = self.places().rest();
        self.show(flavour, rest);
        for cause in Cause::ALL {
            self.blocked.with_label_values(&[flavour.api_version(), rest, cause.as_str()]);
        }
    }

    /// A rollout ended, after this many seconds if that is known.
    pub(crate) fn ended(
        &self,
        flavour: Flavour,
        namespace: &str,
        (outcome, trigger): (Outcome, Option<Trigger>),
        seconds: Option<f64>,
    ) {
        let (api, outcome) = (flavour.api_version(), outcome.as_str());
        let namespace = self.label(flavour, namespace);
        let trigger = trigger.map_or(NO_TRIGGER, Trigger::as_str);
        self.ended.with_label_values(&[api, &namespace, outcome, trigger]).inc();
        if let Some(seconds) = seconds {
            self.seconds.with_label_values(&[api, &namespace, outcome]).observe(seconds);
        }
    }

    /// A change has failed: its rollout did, or it was rolled back.
    pub(crate) fn failed(&self, flavour: Flavour, namespace: &str) {
        let namespace = self.label(flavour, namespace);
        self.failures.with_label_values(&[flavour.api_version(), &namespace]).inc();
    }

    /// A rollout has succeeded, this many seconds after a failure.
    pub(crate) fn restored(&self, flavour: Flavour, namespace: &str, seconds: f64) {
        let namespace = self.label(flavour, namespace);
        self.restores.with_label_values(&[flavour.api_version(), &namespace]).observe(seconds);
    }

    /// A rollout has been blocked by this cause for so long.
    pub(crate) fn blocked(&self, flavour: Flavour, namespace: &str, cause: &str, time: Duration) {
        let namespace = self.label(flavour, namespace);
        let labels = [flavour.api_version(), &namespace, cause];
        self.blocked.with_label_values(&labels).inc_by(time.as_secs_f64());
    }

    /// Metrics are about to be read, and these namespaces have Deployments. A namespace that has none for the
    /// second time loses its series: its last figures have been read by then.
    pub(crate) fn observe(&self, flavour: Flavour, namespaces: &BTreeSet<String>) {
        if self.places().limit.is_none() {
            return;
        }
        let mut gone = Vec::new();
        self.places().taken.entry(flavour.api_version()).or_default().retain(|namespace, was_gone| {
            let is_gone = !namespaces.contains(namespace);
            let stays = !(is_gone && *was_gone);
            *was_gone = is_gone;
            if !stays {
                gone.push(namespace.clone());
            }
            stays
        });
        gone.iter().for_each(|namespace| self.forget(flavour, namespace));
        let omitted = namespaces.iter().filter(|name| self.label(flavour, name) == OTHERS).count();
        self.omitted
            .with_label_values(&[flavour.api_version()])
            .set(i64::try_from(omitted).unwrap_or(i64::MAX));
    }

    /// The label of a namespace, which takes a place if there is one.
    fn label(&self, flavour: Flavour, namespace: &str) -> String {
        let mut places = self.places();
        let rest = places.rest();
        let Some(limit) = places.limit else { return rest.to_owned() };
        let taken = places.taken.entry(flavour.api_version()).or_default();
        if !taken.contains_key(namespace) {
            if taken.len() >= limit {
                return rest.to_owned();
            }
            taken.insert(namespace.to_owned(), false);
            drop(places);
            self.show(flavour, namespace);
        }
        namespace.to_owned()
    }

    /// A rate needs a zero.
    fn show(&self, flavour: Flavour, namespace: &str) {
        let api = flavour.api_version();
        self.failures.with_label_values(&[api, namespace]);
        self.restores.with_label_values(&[api, namespace]);
        let triggers: &[&str] =
            if flavour.has_status_extras() { &Trigger::ALL.map(Trigger::as_str) } else { &[NO_TRIGGER] };
        for outcome in Outcome::ALL {
            for trigger in triggers {
                self.ended.with_label_values(&[api, namespace, outcome.as_str(), trigger]);
            }
        }
    }

    /// Removes the series of a namespace. One that is not there is no error.
    fn forget(&self, flavour: Flavour, namespace: &str) {
        let api = flavour.api_version();
        let triggers = Trigger::ALL.map(Trigger::as_str).into_iter().chain([NO_TRIGGER]);
        for outcome in Outcome::ALL.map(Outcome::as_str) {
            let _ = self.seconds.remove_label_values(&[api, namespace, outcome]);
            for trigger in triggers.clone() {
                let _ = self.ended.remove_label_values(&[api, namespace, outcome, trigger]);
            }
        }
        for cause in Cause::ALL {
            let _ = self.blocked.remove_label_values(&[api, namespace, cause.as_str()]);
        }
        let _ = self.failures.remove_label_values(&[api, namespace]);
        let _ = self.restores.remove_label_values(&[api, namespace]);
    }

    fn places(&self) -> MutexGuard<'_, Places> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Places {
    /// The label of namespaces without a place.
    fn rest(&self) -> &'static str {
        if self.limit.is_some() { OTHERS } else { "" }
    }
}

#[cfg(test)]
mod tests;
