//! What the controller would do next, step by step: the engine's reconciles, over a snapshot that every
//! step changes as the cluster would, with pods that become ready.

use std::sync::{Mutex, MutexGuard, PoisonError};

use api::decode;
use engine::reconcile::{Answer, Cluster, Outcome, Owner, Refusal};
use futures::FutureExt as _;
use plan::keys::reason;
use plan::{Action, Ask, Event, OwnerChange, ReplicaSet, Status, Why, Workload};
use serde_json::Value;

use crate::cluster::Deployment;
use stops::Passed;
pub(crate) use stops::Stop;
use world::World;

mod stops;
mod world;

/// More steps than any rollout takes that ends: one per pod, up and down, of the largest that is shown.
const STEPS_MAX: usize = 10_000;

/// Reconciles until the status reports the outcome of a request: upkeep, a verdict, a step and its report, and one
/// more.
const REPORTED: usize = 4;

/// A ReplicaSet that a step shows: name, revision and size.
pub(crate) type Size = (String, i64, i64);

/// The cluster after a step, before the pods that it asked for are ready.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Row {
    /// By revision, oldest first.
    pub(crate) sizes: Vec<Size>,
    /// The most pods that the ReplicaSets ask for from the step's first action to its last.
    pub(crate) pods: i64,
    /// The fewest pods that are available for certain meanwhile.
    pub(crate) available: i64,
    /// The steps of the Deployment that are reached then.
    pub(crate) stops: Vec<Stop>,
}

/// A rollout as it would go.
#[derive(Clone, Debug)]
pub(crate) struct Projection {
    /// The first is how things stand now.
    pub(crate) rows: Vec<Row>,
    /// What the controller reports of the end.
    pub(crate) end: Why,
    /// No fewer pods than this should be available (S6.4).
    pub(crate) floor: i64,
    /// No more pods than this may be asked for (S6.3).
    pub(crate) ceiling: i64,
}

impl Projection {
    /// The fewest pods that are available once the rollout begins.
    pub(crate) fn lowest(&self) -> i64 {
        let available = |row: &Row| row.available;
        let steps = self.rows.iter().skip(1).map(available).min();
        steps.or(self.rows.first().map(available)).unwrap_or_default()
    }

    /// The most pods that are asked for, from now on.
    pub(crate) fn highest(&self) -> i64 {
        self.rows.iter().map(|row| row.pods).max().unwrap_or_default()
    }
}

/// The cluster that the reconciles are made over.
struct Imagined<'a>(Mutex<World<'a>>);

/// Plays the rollout of a Deployment to its end.
///
/// # Errors
/// When the Deployment cannot be decoded, or the rollout does not end.
pub(crate) fn project(
    deployment: &Deployment,
    sets: &[Value],
    now: jiff::Timestamp,
) -> Result<Projection, String> {
    let world = World::new(deployment, sets, None, now)?;
    let (strategy, replicas) = (world.observed.workload.strategy.clone(), world.observed.workload.replicas);
    let (rows, end) = Imagined(Mutex::new(world)).play()?;
    Ok(Projection {
        rows,
        end,
        floor: strategy.min_available(replicas),
        ceiling: replicas.saturating_add(strategy.max_surge(replicas)),
    })
}

/// What the controller waits for now, in the planner's own words.
///
/// # Errors
/// When the Deployment cannot be decoded: then the controller sets it aside, too.
pub(crate) fn why(
    deployment: &Deployment,
    sets: &[Value],
    pods: &[Value],
    now: jiff::Timestamp,
) -> Result<Why, String> {
    let pods = pods.iter().map(decode::pod).collect();
    let world = World::new(deployment, sets, Some(pods), now)?;
    let Outcome { why, error, .. } = Imagined(Mutex::new(world)).reconcile()?;
    why.ok_or_else(|| error.map_or_else(String::new, |error| error.message))
}

/// The status after a few reconciles in which no pod changes: what the operator makes of a request.
///
/// # Errors
/// When the Deployment cannot be decoded, or the controller does not come that far.
pub(crate) fn status(
    deployment: &Deployment,
    sets: &[Value],
    now: jiff::Timestamp,
) -> Result<Status, String> {
    let imagined = Imagined(Mutex::new(World::new(deployment, sets, None, now)?));
    imagined.report()?;
    let world = imagined.world();
    Ok(world.observed.workload.status.clone())
}

/// Why the operator refuses the promotion that the Deployment asks for; `None` if it does not.
///
/// # Errors
/// As for [`status`].
pub(crate) fn refusal(
    deployment: &Deployment,
    sets: &[Value],
    now: jiff::Timestamp,
) -> Result<Option<String>, String> {
    let imagined = Imagined(Mutex::new(World::new(deployment, sets, None, now)?));
    imagined.report()?;
    let mut world = imagined.world();
    Ok(world.refusal.take())
}

impl<'a> Imagined<'a> {
    fn play(&self) -> Result<(Vec<Row>, Why), String> {
        let mut rows = vec![self.world().row()];
        let mut passed = Passed::of(&self.world());
        for _ in 0..STEPS_MAX {
            self.world().bounds = None;
            let Outcome { error, writes, why, .. } = self.reconcile()?;
            // What has moved is tried again, as the controller does it.
            if let Some(error) = error.filter(|_| writes == 0) {
                return Err(error.message);
            }
            let mut world = self.world();
            passed.note(&world, &mut rows);
            let row = world.row();
            let (most, least) = world.bounds.unwrap_or((row.pods, row.available));
            let row = Row { pods: most.max(row.pods), available: least.min(row.available), ..row };
            if rows.last().is_none_or(|last| last.sizes != row.sizes) {
                rows.push(row);
            }
            let has_moved = world.pods_become_ready();
            if writes == 0 && !has_moved && !passed.go_on(&mut world, &mut rows) {
                return Ok((rows, why.unwrap_or_default()));
            }
        }
        Err(format!("no end after {STEPS_MAX} steps"))
    }

    /// A few reconciles.
    fn report(&self) -> Result<(), String> {
        for _ in 0..REPORTED {
            if let Some(error) = self.reconcile()?.error {
                return Err(error.message);
            }
        }
        Ok(())
    }

    fn reconcile(&self) -> Result<Outcome, String> {
        let (observed, now) = {
            let world = self.world();
            (world.observed.clone(), world.now)
        };
        let reconcile = engine::reconcile::run(self, observed, now).now_or_never();
        reconcile.ok_or_else(|| "the reconcile waits for something; this is a bug".to_owned())
    }

    fn world(&self) -> MutexGuard<'_, World<'a>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Cluster for Imagined<'_> {
    async fn owner(&self, workload: &Workload) -> Result<Option<Owner>, Refusal> {
        Ok(Some(Owner { uid: workload.uid.clone(), deleting: workload.deleting }))
    }

    async fn change_owner(&self, _: &Workload, change: &OwnerChange) -> Result<String, Refusal> {
        let mut world = self.world();
        world.change_owner(change);
        Ok(world.version.to_string())
    }

    async fn ask(&self, _: &Workload, ask: &Ask) -> Result<Answer, Refusal> {
        Ok(self.world().answer(ask))
    }

    async fn replica_set(&self, _: &Workload, name: &str) -> Result<Option<ReplicaSet>, Refusal> {
        Ok(self.world().observed.sets.iter().find(|set| set.name == name).cloned())
    }

    async fn act(&self, _: &Workload, action: &Action) -> Result<Option<String>, Refusal> {
        let mut world = self.world();
        world.act(action)?;
        let row = world.row();
        let (most, least) = world.bounds.unwrap_or((row.pods, row.available));
        world.bounds = Some((most.max(row.pods), least.min(row.available)));
        Ok(None)
    }

    fn record(&self, _: &Workload, event: &Event) {
        if event.reason == reason::PROMOTION_REFUSED {
            self.world().refusal = Some(event.message.clone());
        }
    }
}

#[cfg(test)]
mod tests;
