//! Reconciles over a case until it settles, under the freezing rules of FORMAT.md.

use std::collections::BTreeSet;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use api::decode;
use engine::reconcile::Outcome;
use jiff::Timestamp;
use plan::{Answers, Observed, Requeue};
use serde_json::{Value, json};

use crate::Played;
use crate::case::Case;
use crate::store::Store;

/// A run that does not settle ends after as many reconciles as the recording does.
const RECONCILES_MAX: usize = 12;

/// Reconciles over a case, one after another.
pub(crate) fn run(case: &Case) -> Result<Played, String> {
    let now: Timestamp = case.now.parse().map_err(|error| format!("now: {error}"))?;
    let store = Store::new(case, now);
    let (mut reconciles, mut requests) = (Vec::new(), Vec::new());
    let mut deviations = BTreeSet::new();
    let mut was_idle = false;
    for number in 0..RECONCILES_MAX {
        let before = store.version();
        let observed = observe(case, &store, number == 0)?;
        let outcome = block_on(engine::reconcile::run(&store, observed, now));
        let is_idle = store.version() == before;
        reconciles.push(report(&store, &outcome, now));
        requests.push(store.take_requests());
        deviations.extend(outcome.deviations.iter().copied());
        if is_idle && (outcome.error.is_none() || was_idle) {
            break;
        }
        was_idle = is_idle;
    }
    let output = json!({ "id": case.id, "hash": case.hash, "passes": reconciles, "deviations": deviations });
    Ok(Played { output, requests })
}

/// The snapshot of a reconcile: the cache shows what is stored, and in the first reconcile not the ReplicaSets
/// that the case hides from it.
fn observe(case: &Case, store: &Store<'_>, is_first: bool) -> Result<Observed, String> {
    let flavour = case.flavour();
    let deployment = store.deployment();
    let workload =
        decode::workload(flavour, &deployment, case.defaults()).map_err(|error| error.to_string())?;
    let sets = store.sets(is_first);
    let sets = sets.iter().map(|set| decode::replica_set(flavour, set));
    let sets = sets.collect::<Result<_, _>>().map_err(|error| error.to_string())?;
    Ok(Observed { flavour, workload, sets, answers: Answers::default(), options: case.options() })
}

fn report(store: &Store<'_>, outcome: &Outcome, now: Timestamp) -> Value {
    let requeue = match (outcome.requeue, outcome.requeue.time()) {
        (Requeue::Again, _) => json!(0),
        (_, Some(time)) => json!(time.duration_since(now).as_secs_f64()),
        (_, None) => Value::Null,
    };
    let (writes, events) = store.take_log();
    json!({
        "writes": writes,
        "events": events,
        "requeueAfterSeconds": requeue,
        "error": outcome.error.as_ref().map(|error| error.message.as_str()),
    })
}

/// The store answers immediately, so one poll is enough.
fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
    }
}
