//! Signs of life: whether the watches and the dispatchers still move. What `/livez` answers.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use crate::client::pulse::Pulse;
use crate::serve::metrics::Metrics;

/// How the workers of an API get on.
#[derive(Debug)]
pub(crate) struct Progress {
    pulse: Pulse,
    is_running: AtomicBool,
    under_way: AtomicUsize,
}

impl Progress {
    pub(crate) fn new() -> Self {
        Self { pulse: Pulse::new(), is_running: AtomicBool::new(false), under_way: AtomicUsize::new(0) }
    }

    /// The workers have been started.
    pub(crate) fn start(&self) {
        self.pulse.beat();
        self.is_running.store(true, Ordering::SeqCst);
    }

    /// Whether the workers have been started, and may work.
    pub(crate) fn is_running(&self) -> bool {
        self.is_running.load(Ordering::SeqCst)
    }

    /// Nothing is expected of the workers: another replica leads.
    pub(crate) fn stand_by(&self) {
        self.is_running.store(false, Ordering::SeqCst);
    }

    /// A worker has taken a key.
    pub(crate) fn took(&self) {
        self.under_way.fetch_add(1, Ordering::SeqCst);
        self.pulse.beat();
    }

    /// A worker is through with a key.
    pub(crate) fn finished(&self) {
        self.under_way.fetch_sub(1, Ordering::SeqCst);
        self.pulse.beat();
    }

    /// For how long nothing has moved although there was something to do; `overdue` is how long
    /// the queue's next key has been due.
    fn stalled_for(&self, overdue: Duration) -> Duration {
        if !self.is_running.load(Ordering::SeqCst) {
            return Duration::ZERO;
        }
        let in_reconciles =
            if self.under_way.load(Ordering::SeqCst) > 0 { self.pulse.age() } else { Duration::ZERO };
        in_reconciles.max(overdue)
    }
}

/// A watch, by API and kind.
pub(crate) struct WatchPulse {
    pub(crate) api: &'static str,
    pub(crate) kind: &'static str,
    /// Where; `None` for everywhere.
    pub(crate) namespace: Option<String>,
    pub(crate) pulse: Arc<Pulse>,
}

/// The workers of an API.
pub(crate) struct Dispatcher {
    pub(crate) api: &'static str,
    pub(crate) progress: Arc<Progress>,
    /// How long the queue's next key has been due.
    pub(crate) overdue: Box<dyn Fn() -> Duration + Send + Sync>,
}

/// All that must move.
pub(crate) struct Health {
    pub(crate) stalled_after: Duration,
    pub(crate) watches: Vec<WatchPulse>,
    pub(crate) dispatchers: Vec<Dispatcher>,
}

impl Health {
    /// What has not moved for too long, a line each; empty if all is well.
    pub(crate) fn complaints(&self) -> String {
        let mut text = String::new();
        for WatchPulse { api, kind, namespace, pulse } in &self.watches {
            let age = pulse.age();
            if age > self.stalled_after {
                let place = namespace.as_ref().map(|name| format!(" in {name}")).unwrap_or_default();
                let age = age.as_secs();
                let _ = writeln!(text, "the watch of {kind} ({api}){place} has been silent for {age} s");
            }
        }
        for Dispatcher { api, progress, overdue } in &self.dispatchers {
            let stalled = progress.stalled_for(overdue());
            if stalled > self.stalled_after {
                let _ = writeln!(text, "the workers ({api}) have not moved for {} s", stalled.as_secs());
            }
        }
        text
    }

    /// Brings the metrics about ages up to date.
    pub(crate) fn observe(&self, metrics: &Metrics) {
        // Of several watches of a kind, one for each namespace, the oldest counts.
        let mut ages = BTreeMap::new();
        for WatchPulse { api, kind, pulse, .. } in &self.watches {
            let age: &mut Duration = ages.entry((api, kind)).or_default();
            *age = pulse.age().max(*age);
        }
        for ((api, kind), age) in ages {
            metrics.watch_age.with_label_values(&[api, kind]).set(age.as_secs_f64());
        }
    }
}

#[cfg(test)]
mod tests;
