//! Workers: take a key, make a pass, say when the key comes again.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use dispatch::ledger::{self, Readiness};
use dispatch::next::{Next, Scheduled};
use dispatch::starts::{self, Starts};
use futures::FutureExt as _;
use pass::PassError;
use plan::{ReplicaSet, Why, Workload};
use tokio::time::Instant;
use tracing::{debug, error, info, warn};

use crate::controller::Controller;
use crate::index::Key;
use crate::leadership::in_term;
use crate::lifeline::{listening, rest};
use crate::live::Live;
use crate::metrics::standard::Reconciled;
use crate::{clock, live, scout, shard};

/// From this many failures in a row on, a failure is worth a warning.
const FAILURES_NOTABLE: u32 = 3;

/// Works until the queue is closed.
pub(crate) async fn work(controller: Arc<Controller>) {
    while let Some((key, waited)) = controller.queue.pop().await {
        let Some(term) = controller.term() else {
            // We have just lost it, and the queue is about to be paused.
            controller.queue.put_back(&key);
            continue;
        };
        controller.meters.took(waited);
        let started = Instant::now();
        controller.progress.took();
        let stay = controller.stay(&key.namespace);
        let attempt = shard::during(&key.namespace, stay, listening(attempt(&controller, &key)));
        let attempt = in_term(term, attempt);
        let next = match AssertUnwindSafe(attempt).catch_unwind().await {
            Ok(next) => next,
            Err(payload) => {
                controller.meters.panicked();
                let message = format!("panicked: {}", panic_text(payload.as_ref()));
                error!(%key, message, "a pass panicked; this Deployment is tried again later");
                Next::Failed(PassError { message, retry: true, conflict: false })
            }
        };
        controller.meters.finished(started.elapsed());
        let is_in_charge =
            controller.leadership.term() == Some(term) && controller.stay(&key.namespace) == stay;
        if matches!(next, Next::Failed(_)) && !is_in_charge {
            // No fault of this Deployment.
            debug!(%key, "a pass ended early: this replica leads no more, or the namespace is not ours");
            controller.queue.put_back(&key);
        } else {
            schedule(&controller, &key, &next);
        }
        controller.progress.finished();
    }
}

fn panic_text(payload: &(dyn std::any::Any + Send)) -> &str {
    let owned = || payload.downcast_ref::<String>().map(String::as_str);
    payload.downcast_ref::<&str>().copied().or_else(owned).unwrap_or("(no message)")
}

fn schedule(controller: &Controller, key: &Key, next: &Next) {
    let scheduled = controller.queue.schedule(key, next);
    let error = match next {
        Next::Failed(error) => error.message.as_str(),
        _ => "",
    };
    let is_conflict = matches!(next, Next::Failed(error) if error.conflict);
    let (result, reconciled) = match scheduled {
        Scheduled::Fine if matches!(next, Next::After(_)) => ("ok", Reconciled::RequeueAfter),
        Scheduled::Fine => ("ok", Reconciled::Success),
        Scheduled::Parked => ("parked", Reconciled::RequeueAfter),
        Scheduled::Yielded => ("yielded", Reconciled::RequeueAfter),
        Scheduled::GivenUp => {
            info!(%key, error, "given up until something changes");
            controller.meters.gave_up();
            ("given_up", Reconciled::Error)
        }
        Scheduled::Retry(delay, count) => {
            controller.meters.retries();
            if is_conflict || count < FAILURES_NOTABLE {
                debug!(%key, error, count, ?delay, "failed, to be tried again");
            } else {
                warn!(%key, error, count, ?delay, "failed, to be tried again");
            }
            if is_conflict { ("conflict", Reconciled::Requeue) } else { ("error", Reconciled::Error) }
        }
    };
    controller.meters.reconciled(reconciled);
    controller.metrics.passes.with_label_values(&[controller.flavour.api_version(), result]).inc();
}

/// A pass, unless the server has asked to be spared of it for now.
async fn attempt(controller: &Arc<Controller>, key: &Key) -> Next {
    if controller.stay(&key.namespace).is_none() {
        forget(controller, key);
        return Next::Nothing;
    }
    if !controller.index().covers(&key.namespace) {
        // Its lists are awaited, and wake it.
        return Next::Nothing;
    }
    if let Some(until) = controller.patience().waits_until(key) {
        return Next::Parked(until.into_std());
    }
    let next = pass_over(controller, key).await;
    if let (Next::Failed(_), Some(asked)) = (&next, rest()) {
        controller.patience().wait(key, Instant::now() + asked);
    }
    next
}

async fn pass_over(controller: &Arc<Controller>, key: &Key) -> Next {
    if let Some(until) = controller.rivalry().yields_until(key) {
        return Next::Yielded(until.into_std());
    }
    if let Err(error) = live::settle_doubt(controller, key).await {
        return Next::Failed(error.into());
    }
    let is_overdue = {
        let mut ledger = controller.ledger();
        let patience =
            if controller.watches.are_broken() { ledger::PATIENCE_WITHOUT_WATCH } else { ledger::PATIENCE };
        match ledger.check_within(patience, key, &controller.index(), clock::now()) {
            Readiness::Ready => false,
            Readiness::Wait(until) => {
                controller.metrics.ledger_waits.inc();
                return Next::Parked(until);
            }
            Readiness::Overdue => true,
        }
    };
    if let Err(error) = scout::settle_strays(controller, key).await {
        return Next::Failed(error.into());
    }
    if let Err(error) = scout::look_for_orphans(controller, key).await {
        return Next::Failed(error.into());
    }
    let seen = if is_overdue {
        controller.metrics.ledger_overdue.inc();
        warn!(%key, "the cache does not show our last write; reading live");
        match live::read(controller, key).await {
            // The ledger keeps its entry: the cache is as old as it was, and the next pass must not
            // plan from it either. A set of ours that it does not show would not be counted.
            Ok(seen) => seen,
            Err(error) => return Next::Failed(error.into()),
        }
    } else {
        dispatch::from_cache(&controller.index(), key)
    };
    let Some((workload, sets)) = seen else {
        forget(controller, key);
        return Next::Nothing;
    };
    if sets.iter().all(ReplicaSet::is_served) {
        controller.starts().served(key, clock::now());
    }
    if let Some(until) = controller.queue.rests_until(key)
        && !sets.iter().all(ReplicaSet::is_settled)
    {
        return Next::Parked(until);
    }
    if starts::is_start(&workload, &sets) {
        let turn = controller.starts().ask(key, clock::now());
        controller.queue.wake(turn.others);
        if !turn.is_now {
            return Next::Parked(clock::now() + starts::ASK_AGAIN);
        }
    }
    run(controller, key, workload, sets).await
}

/// It is gone, or ours no more.
fn forget(controller: &Controller, key: &Key) {
    controller.forget(key);
    wake(controller, |starts| starts.ended(key, clock::now()));
}

/// Notes what happened to a rollout, and lets those begin whose turn has come by that.
fn wake(controller: &Controller, note: impl FnOnce(&mut Starts) -> Vec<Key>) {
    let turns = note(&mut controller.starts());
    controller.queue.wake(turns);
}

async fn run(controller: &Arc<Controller>, key: &Key, workload: Workload, sets: Vec<ReplicaSet>) -> Next {
    let uid = workload.uid.clone();
    let observed = dispatch::observed(controller.flavour, &mut controller.memory(), key, workload, sets);
    let cluster = Live { controller, key };
    let now = clock::timestamp();
    let outcome = pass::run(&cluster, observed, now).await;
    dispatch::note(&mut controller.memory(), key, &uid, &outcome, now);
    debug!(%key, writes = outcome.writes, wake = ?outcome.wake, deviations = ?outcome.deviations, "pass");
    say_why(controller, key, &uid, outcome.why.as_ref());
    if dispatch::is_through_with_pods(&outcome) {
        controller.pods.stop(key);
    }
    if outcome.writes > 0 {
        let others = controller.starts().others(key, clock::now());
        controller.queue.rest(key, others);
    }
    if outcome.why.as_ref().map(Why::itself) == Some(&Why::Converged) {
        wake(controller, |starts| starts.ended(key, clock::now()));
    } else if outcome.writes > 0 {
        wake(controller, |starts| starts.moved(key, clock::now()));
    }
    match controller.rivalry().yields_until(key) {
        Some(until) => Next::Yielded(until.into_std()),
        None => Next::after(outcome, clock::timestamp()),
    }
}

/// Decisions at info, each once.
fn say_why(controller: &Controller, key: &Key, uid: &str, why: Option<&Why>) {
    if let Some(why) = why.map(ToString::to_string)
        && controller.memory().note_why(key, uid, &why)
    {
        info!(%key, why, "rollout");
    }
}
