//! `/debug/state`: the state of queue, watches, and ledger, for people who want to know why nothing
//! happens. It names Deployments, so it is off by default.

use std::sync::{Arc, Weak};
use std::time::Instant;

use serde_json::{Value, json};

use crate::clock;
use crate::reconcile::reconciler::Reconciler;
use crate::serve::admin::More;
use crate::serve::health::Health;

/// Entries of each list; the page also shows how many there are.
const LISTED_MAX: usize = 100;

/// What the page shows.
#[derive(Clone)]
pub(crate) struct State {
    reconcilers: Vec<Weak<Reconciler>>,
    health: Arc<Health>,
}

impl State {
    pub(crate) fn of(reconcilers: &[Arc<Reconciler>], health: &Arc<Health>) -> Self {
        Self { reconcilers: reconcilers.iter().map(Arc::downgrade).collect(), health: health.clone() }
    }

    pub(crate) fn page(self) -> More {
        Arc::new(move |path| (path == "/debug/state").then(|| format!("{:#}", self.document())))
    }

    fn document(&self) -> Value {
        let watches = self.health.watches.iter().map(|watch| {
            json!({
                "api": watch.api,
                "kind": watch.kind,
                "namespace": watch.namespace,
                "silentSeconds": watch.pulse.age().as_secs_f64(),
                "state": if watch.pulse.is_broken() { "broken" } else { "well" },
            })
        });
        let complaints = self.health.complaints();
        let complaints: Vec<&str> = complaints.lines().collect();
        let reconcilers = self.reconcilers.iter().filter_map(Weak::upgrade);
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "time": jiff::Timestamp::now().to_string(),
            "stalled": complaints,
            "watches": watches.collect::<Vec<_>>(),
            "controllers": reconcilers.map(|reconciler| of_reconciler(&reconciler)).collect::<Vec<_>>(),
        })
    }
}

fn of_reconciler(reconciler: &Reconciler) -> Value {
    let now = clock::now();
    let (deployments, replica_sets) = reconciler.index().sizes();
    json!({
        "api": reconciler.flavour.api_version(),
        "atWork": reconciler.progress.is_running(),
        "awaitsLists": reconciler.engine.awaits_lists(),
        // Without an election everybody leads; with one, a term has a number.
        "leads": reconciler.leadership().term().is_some(),
        "term": reconciler.leadership().term().filter(|_| reconciler.leadership().is_elected()),
        "cached": {"deployments": deployments, "replicaSets": replica_sets},
        "queue": reconciler.queue.document(now),
        "ledger": ledger(reconciler, now),
    })
}

fn ledger(reconciler: &Reconciler, now: Instant) -> Value {
    let state = reconciler.engine.state();
    let waits = state.unseen();
    let listed = waits.iter().take(LISTED_MAX).map(|(key, (since, what))| {
        let seconds = now.saturating_duration_since(*since).as_secs_f64();
        json!({"deployment": key.to_string(), "forSeconds": seconds, "waitsFor": what})
    });
    json!({"count": waits.len(), "waits": listed.collect::<Vec<_>>()})
}

impl crate::reconcile::queue::Queue {
    /// How it stands: what is in work, and what comes when, the next first.
    fn document(&self, now: Instant) -> Value {
        let reading = self.reading();
        self.read(|state| {
            let (queue, starts) = (&state.queue, &state.starts);
            let in_work = queue.in_work();
            let in_work = in_work.iter().take(LISTED_MAX).map(|(key, since)| {
                let seconds = now.saturating_duration_since(*since).as_secs_f64();
                json!({"deployment": key.to_string(), "forSeconds": seconds})
            });
            let in_work: Vec<_> = in_work.collect();
            let mut due: Vec<_> = state.waits(now).into_iter().collect();
            due.sort_unstable_by_key(|(key, wait)| (wait.until, *key));
            let listed = due.iter().take(LISTED_MAX).map(|(key, wait)| {
                json!({
                    "deployment": key.to_string(),
                    "inSeconds": wait.until.saturating_duration_since(now).as_secs_f64(),
                    "waitsFor": wait.reason.as_str(),
                    "rolloutsBefore": starts.before(key),
                    "failures": queue.failures(key),
                })
            });
            json!({
                "depth": reading.depth,
                "added": reading.added,
                "inWork": in_work,
                "delayedCount": due.len(),
                "delayed": listed.collect::<Vec<_>>(),
            })
        })
    }
}
