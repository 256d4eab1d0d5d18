//! What the controller would do next, step by step: the engine's reconciles, over a snapshot that every
//! step changes as the cluster would, with pods that become ready.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use api::decode;
use engine::reconcile::{Answer, Cluster, Outcome, Owner, Refusal};
use futures::FutureExt as _;
use plan::keys::REVISION;
use plan::template::without_hash_label;
use plan::{
    Action, Answers, Ask, DryRun, Event, NewReplicaSet, Observed, Options, OwnerChange, Pace, Pod,
    ReplicaSet, RollBack, SetStatus, Status, UpdateReplicaSet, Why, Workload,
};
use serde_json::Value;

use crate::cluster::Deployment;

/// More steps than any rollout takes that ends: one per pod, up and down, of the largest we show.
const STEPS_MAX: usize = 10_000;

/// Reconciles until the status reports what came of a request: upkeep, a verdict, a step and its report, and one more.
const REPORTED: usize = 4;

/// A ReplicaSet that a step shows: name, revision and size.
pub(crate) type Size = (String, i64, i64);

/// The cluster after a step, before the pods that it asked for are ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    /// By revision, oldest first.
    pub(crate) sizes: Vec<Size>,
    /// The most pods that the ReplicaSets ask for from the step's first action to its last.
    pub(crate) pods: i64,
    /// The fewest pods that are available for certain meanwhile.
    pub(crate) available: i64,
}

/// A rollout as it would go.
#[derive(Clone, Debug)]
pub(crate) struct Projection {
    /// The first is how things stand now.
    pub(crate) rows: Vec<Row>,
    /// What the controller says of the end.
    pub(crate) end: Why,
    /// No fewer pods than this are to be available (S6.4).
    pub(crate) floor: i64,
    /// No more pods than this are to be asked for (S6.3).
    pub(crate) ceiling: i64,
}

impl Projection {
    /// The fewest pods that are available on the way, the first row aside.
    pub(crate) fn lowest(&self) -> i64 {
        self.rows
            .iter()
            .skip(1)
            .map(|row| row.available)
            .min()
            .unwrap_or_else(|| self.first(|row| row.available))
    }

    /// The most pods that are asked for on the way, the first row aside.
    pub(crate) fn highest(&self) -> i64 {
        self.rows.iter().skip(1).map(|row| row.pods).max().unwrap_or_else(|| self.first(|row| row.pods))
    }

    fn first(&self, of: impl Fn(&Row) -> i64) -> i64 {
        self.rows.first().map_or(0, of)
    }
}

/// The snapshot, and what it was read from.
struct World<'a> {
    observed: Observed,
    template: &'a Value,
    templates: BTreeMap<String, Value>,
    /// Pods as they are; without them, as the ReplicaSets' numbers have it.
    pods: Option<Vec<Pod>>,
    version: u64,
    now: jiff::Timestamp,
    /// The most pods that are asked for, and the fewest that are available, in the reconcile under way.
    bounds: Option<(i64, i64)>,
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
    for _ in 0..REPORTED {
        if let Some(error) = imagined.reconcile()?.error {
            return Err(error.message);
        }
    }
    let world = imagined.world();
    Ok(world.observed.workload.status.clone())
}

impl<'a> Imagined<'a> {
    fn play(&self) -> Result<(Vec<Row>, Why), String> {
        let mut rows = vec![self.world().row()];
        for _ in 0..STEPS_MAX {
            self.world().bounds = None;
            let Outcome { error, writes, why, .. } = self.reconcile()?;
            // What has moved is tried again, as the controller does it.
            if let Some(error) = error.filter(|_| writes == 0) {
                return Err(error.message);
            }
            let mut world = self.world();
            let row = world.row();
            let (most, least) = world.bounds.unwrap_or((row.pods, row.available));
            let row = Row { pods: most.max(row.pods), available: least.min(row.available), ..row };
            if rows.last().is_none_or(|last| last.sizes != row.sizes) {
                rows.push(row);
            }
            let has_moved = world.pods_become_ready();
            if writes == 0 && !has_moved {
                return Ok((rows, why.unwrap_or_default()));
            }
        }
        Err(format!("no end after {STEPS_MAX} steps"))
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
impl<'a> World<'a> {
    fn new(
        deployment: &'a Deployment,
        sets: &[Value],
        pods: Option<Vec<Pod>>,
        now: jiff::Timestamp,
    ) -> Result<Self, String> {
        let flavour = deployment.flavour;
        let workload =
            deployment.workload().map_err(|error| format!("the controller cannot read it: {error}"))?;
        let sets_read = sets.iter().filter_map(|set| decode::replica_set(flavour, set).ok()).collect();
        let uid =
            |set: &Value| set.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default().to_owned();
        let template = |set: &Value| set.pointer("/spec/template").cloned().unwrap_or(Value::Null);
        Ok(Self {
            observed: Observed {
                flavour,
                workload,
                sets: sets_read,
                answers: Answers::default(),
                options: Options::new(true, Pace::EachReconcile),
            },
            template: deployment.template(),
            templates: sets.iter().map(|set| (uid(set), template(set))).collect(),
            pods,
            version: 0,
            now,
            bounds: None,
        })
    }

    fn answer(&self, ask: &Ask) -> Answer {
        match ask {
            Ask::Template => Answer::Template(self.template.clone()),
            Ask::DryRun(_) => Answer::DryRun(DryRun::Refused),
            Ask::SetTemplate { uid, .. } => {
                let template = self.templates.get(uid).cloned().unwrap_or(Value::Null);
                Answer::SetTemplate(uid.clone(), template)
            }
            Ask::Pods => {
                let running = self.observed.sets.iter().filter(|set| set.status.replicas > 0);
                let pod = |set: &ReplicaSet| Pod {
                    controller_uid: Some(set.uid.clone()),
                    phase: "Running".to_owned(),
                };
                Answer::Pods(self.pods.clone().unwrap_or_else(|| running.map(pod).collect()))
            }
        }
    }

    fn change_owner(&mut self, change: &OwnerChange) {
        let (target, owner) = match change {
            OwnerChange::Adopt(target) => (target, Some(self.observed.workload.uid.clone())),
            OwnerChange::Release(target) => (target, None),
        };
        for set in self.observed.sets.iter_mut().filter(|set| set.uid == target.uid) {
            set.controller_uid.clone_from(&owner);
        }
    }

    fn act(&mut self, action: &Action) -> Result<(), Refusal> {
        self.version += 1;
        match action {
            Action::SetSelector(selector) => self.observed.workload.selector = Some(selector.clone()),
            Action::CreateReplicaSet(new) => self.create(new)?,
            Action::UpdateReplicaSet(update) => self.update(update),
            Action::DeleteReplicaSet(target) => self.observed.sets.retain(|set| set.uid != target.uid),
            Action::WriteStatus(write) => {
                let workload = &mut self.observed.workload;
                workload.status = write.status.clone();
                if let Some(revision) = &write.revision_annotation {
                    workload.annotations.insert(REVISION.to_owned(), revision.clone());
                }
            }
            Action::RollBack(write) => return self.roll_back(write),
        }
        Ok(())
    }

    fn create(&mut self, new: &NewReplicaSet) -> Result<(), Refusal> {
        if self.observed.sets.iter().any(|set| set.name == new.name) {
            let message = format!("the name {} is taken by a ReplicaSet of another template", new.name);
            return Err(Refusal::new(409, "AlreadyExists", message));
        }
        let flavour = self.observed.flavour;
        let uid = format!("projected-{}", self.version);
        self.templates.insert(uid.clone(), new.template.clone());
        self.observed.sets.push(ReplicaSet {
            name: new.name.clone(),
            uid,
            resource_version: self.version.to_string(),
            generation: 1,
            created: self.now,
            deleting: false,
            labels: new.labels.clone(),
            annotations: new.annotations.clone(),
            controller_uid: Some(self.observed.workload.uid.clone()),
            size: new.size,
            min_ready_seconds: new.min_ready_seconds,
            fingerprints: flavour.fingerprints_of_set(&new.annotations, &new.template),
            stored: flavour.stored_digest(&without_hash_label(&new.template)),
            status: SetStatus::default(),
        });
        Ok(())
    }

    fn update(&mut self, update: &UpdateReplicaSet) {
        let flavour = self.observed.flavour;
        let templates = &self.templates;
        for set in self.observed.sets.iter_mut().filter(|set| set.uid == update.target.uid) {
            set.size = update.size_to;
            if let Some((_, seconds)) = update.min_ready_seconds {
                set.min_ready_seconds = seconds;
            }
            set.annotations.extend(update.annotations.clone());
            if let Some(template) = templates.get(&set.uid) {
                set.fingerprints =
                    flavour.fingerprints_of_set(&set.annotations, &without_hash_label(template));
            }
        }
    }

    /// The template of a revision takes the Deployment's place: a projection ends here, and the
    /// next begins when it is there.
    fn roll_back(&mut self, write: &RollBack) -> Result<(), Refusal> {
        match &write.template {
            None => {
                self.observed.workload.rollback_to = None;
                Ok(())
            }
            Some(_) => {
                let message = "a rollback is asked for: its template is put back first, then it rolls out";
                Err(Refusal::new(0, "", message.to_owned()))
            }
        }
    }

    /// Pods come and go as the ReplicaSets want them. Returns whether anything has changed.
    fn pods_become_ready(&mut self) -> bool {
        let mut has_moved = false;
        for set in &mut self.observed.sets {
            let wanted = SetStatus {
                replicas: set.size,
                ready: set.size,
                available: set.size,
                terminating: set.status.terminating.map(|_| 0),
                observed_generation: set.generation,
                failure: None,
            };
            has_moved |= set.status != wanted;
            set.status = wanted;
        }
        // A second is long enough for pods that are ready at once, and short for any deadline.
        self.now = self.now.checked_add(jiff::SignedDuration::from_secs(1)).unwrap_or(self.now);
        has_moved
    }

    fn row(&self) -> Row {
        let owner = Some(&self.observed.workload.uid);
        let ours = self.observed.sets.iter().filter(|set| set.controller_uid.as_ref() == owner);
        let mut row = Row { sizes: Vec::new(), pods: 0, available: 0 };
        for set in ours {
            let revision = set.annotations.get(REVISION).and_then(|text| text.parse().ok()).unwrap_or(0);
            row.sizes.push((set.name.clone(), revision, set.size));
            row.pods += set.size;
            row.available += set.status.available.min(set.size);
        }
        row.sizes.sort_by(|a, b| (a.1, &a.0).cmp(&(b.1, &b.0)));
        row
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

    fn record(&self, _: &Workload, _: &Event) {}
}

#[cfg(test)]
mod tests;
