//! Workers: take a key, make a pass, say when the key comes again.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use jiff::Timestamp;
use pass::{Outcome, PassError};
use plan::{Observed, ReplicaSet, Wake, Why, Workload};
use tokio::time::Instant;
use tracing::{debug, error, info, warn};

use crate::controller::Controller;
use crate::index::Key;
use crate::ledger::Readiness;
use crate::live::Live;
use crate::{live, scout};

/// Delay of [`Wake::Again`], asked for within the last second before a deadline.
const AGAIN: Duration = Duration::from_millis(100);
/// From this many failures in a row on, a failure is worth a warning.
const FAILURES_NOTABLE: u32 = 3;

/// When a key comes again, if nothing happens before.
enum Next {
    /// When something happens.
    Nothing,
    /// After this time.
    After(Duration),
    /// After its backoff.
    Failed(PassError),
    /// When the cache shows what we wrote, or at this time.
    Parked(Instant),
    /// When the controller that we give way to has been silent for long enough.
    Yielded(Instant),
}

/// Works until the queue is closed.
pub(crate) async fn work(controller: Arc<Controller>) {
    let depth = controller.metrics.queue_depth.with_label_values(&[controller.flavour.api_version()]);
    while let Some(key) = controller.queue.pop().await {
        depth.set(i64::try_from(controller.queue.depth()).unwrap_or(i64::MAX));
        let started = Instant::now();
        let next = match AssertUnwindSafe(pass_over(&controller, &key)).catch_unwind().await {
            Ok(next) => next,
            Err(payload) => {
                controller.metrics.panics.inc();
                let message = format!("panicked: {}", panic_text(payload.as_ref()));
                error!(%key, message, "a pass panicked; this Deployment is tried again later");
                Next::Failed(PassError { message, retry: true, conflict: false })
            }
        };
        controller.metrics.pass_seconds.observe(started.elapsed().as_secs_f64());
        schedule(&controller, &key, next);
        controller.queue.done(&key);
    }
}

fn panic_text(payload: &(dyn std::any::Any + Send)) -> &str {
    let owned = || payload.downcast_ref::<String>().map(String::as_str);
    payload.downcast_ref::<&str>().copied().or_else(owned).unwrap_or("(no message)")
}

fn schedule(controller: &Controller, key: &Key, next: Next) {
    let queue = &controller.queue;
    let result = match next {
        Next::Nothing => {
            queue.forget(key);
            "ok"
        }
        Next::After(delay) => {
            queue.forget(key);
            queue.add_after(key.clone(), delay);
            "ok"
        }
        Next::Parked(until) => {
            queue.add_after(key.clone(), until.saturating_duration_since(Instant::now()));
            "parked"
        }
        Next::Yielded(until) => {
            queue.forget(key);
            queue.add_after(key.clone(), until.saturating_duration_since(Instant::now()));
            "yielded"
        }
        // S14.3
        Next::Failed(error) if !error.retry => {
            info!(%key, error = error.message, "given up until something changes");
            queue.forget(key);
            "given_up"
        }
        Next::Failed(error) => {
            controller.metrics.retries.inc();
            let (delay, count) = queue.add_failed(key.clone());
            if error.conflict || count < FAILURES_NOTABLE {
                debug!(%key, error = error.message, count, ?delay, "failed, to be tried again");
            } else {
                warn!(%key, error = error.message, count, ?delay, "failed, to be tried again");
            }
            if error.conflict { "conflict" } else { "error" }
        }
    };
    controller.metrics.passes.with_label_values(&[controller.flavour.api_version(), result]).inc();
}

async fn pass_over(controller: &Arc<Controller>, key: &Key) -> Next {
    if let Some(until) = controller.rivalry().yields_until(key) {
        return Next::Yielded(until);
    }
    let is_overdue = {
        let mut ledger = controller.ledger();
        match ledger.check(key, &controller.index()) {
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
            Ok(seen) => {
                controller.ledger().clear(key);
                seen
            }
            Err(error) => return Next::Failed(error.into()),
        }
    } else {
        from_cache(controller, key)
    };
    let Some((workload, sets)) = seen else {
        controller.memory().forget(key);
        controller.rivalry().forget(key);
        controller.ledger().clear(key);
        controller.pods.stop(key);
        return Next::Nothing;
    };
    run(controller, key, workload, sets).await
}

fn from_cache(controller: &Controller, key: &Key) -> Option<(Workload, Vec<ReplicaSet>)> {
    let snapshot = controller.index().snapshot(key)?;
    let sets = snapshot.sets.iter().map(|set| ReplicaSet::clone(set)).collect();
    Some((Workload::clone(&snapshot.workload), sets))
}

async fn run(controller: &Arc<Controller>, key: &Key, workload: Workload, sets: Vec<ReplicaSet>) -> Next {
    let uid = workload.uid.clone();
    // One that was labelled meanwhile is no orphan any more.
    let mut orphans = controller.memory().orphans(key, &uid);
    orphans.retain(|name| sets.iter().all(|set| set.name != *name));
    let observed = Observed {
        flavour: controller.flavour,
        workload,
        sets,
        answers: plan::Answers { orphans, ..plan::Answers::default() },
        options: plan::Options::default(),
    };
    let cluster = Live { controller, key };
    let outcome = pass::run(&cluster, observed, Timestamp::now()).await;
    debug!(%key, writes = outcome.writes, wake = ?outcome.wake, deviations = ?outcome.deviations, "pass");
    say_why(controller, key, &uid, outcome.why.as_ref());
    if outcome.why.as_ref().map(Why::itself) != Some(&Why::WaitingForTermination) {
        controller.pods.stop(key);
    }
    match controller.rivalry().yields_until(key) {
        Some(until) => Next::Yielded(until),
        None => next(outcome),
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

fn next(outcome: Outcome) -> Next {
    match (outcome.error, outcome.wake) {
        (Some(error), _) => Next::Failed(error),
        (None, Wake::OnChange) => Next::Nothing,
        (None, Wake::Again) => Next::After(AGAIN),
        (None, Wake::At(time)) => {
            let delay = time.duration_since(Timestamp::now());
            Next::After(Duration::try_from(delay).unwrap_or(AGAIN))
        }
    }
}
