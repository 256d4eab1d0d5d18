//! Carries out one reconcile: asks, plans, acts. It is generic over the cluster that it acts on.
//!
//! It decides nothing: [`plan::plan`] decides what to do, and [`plan::after_failure`] what follows from a
//! refusal. Every caller (operator, oracle, simulator) uses [`run`], over a [`Cluster`] of its own.

mod cluster;
mod ownership;

use std::collections::BTreeSet;

use jiff::Timestamp;
use plan::{Aftermath, Ask, Awaited, Observed, Plan, ReplicaSet, Requeue, Step, Verdict, Why};

pub use cluster::{Answer, Cluster, Owner, Refusal};

/// How often a reconcile may plan again. Questions (template, dry run, a ReplicaSet's template, pods, Jobs), one round
/// of changes of owner, and one name that an owned ReplicaSet turned out to have, are eight; the rest is room.
const STEPS_MAX: usize = 12;

/// The outcome of a reconcile.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Why it ended early, if it did.
    pub error: Option<ReconcileError>,
    /// When to look again without an event.
    pub requeue: Requeue,
    /// Why the rollout is where it is; `None` when planning did not get that far.
    pub why: Option<Why>,
    /// Write requests that were accepted.
    pub writes: usize,
    /// Whether one of them was of the Deployment's status.
    pub wrote_status: bool,
    /// Whether there is news for the status that waits.
    pub status_waits: bool,
    /// What the rollout waits for, if it moves only when pods do.
    pub awaited: Option<Box<Awaited>>,
    /// Rules from which a branch deviated on purpose.
    pub deviations: BTreeSet<&'static str>,
}

/// Why a reconcile ended early.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ReconcileError {
    /// In the server's words, with the object's name.
    pub message: String,
    /// Whether to try again with backoff; not when the namespace is going away (S14.3).
    pub retry: bool,
    /// Whether a precondition failed: the snapshot was out of date.
    pub conflict: bool,
}

impl ReconcileError {
    fn retry(message: String) -> Self {
        Self { message, retry: true, conflict: false }
    }
}

impl From<Refusal> for ReconcileError {
    fn from(refusal: Refusal) -> Self {
        let conflict = refusal.is_conflict();
        let retry = !refusal.namespace_terminating;
        Self { message: refusal.message, retry, conflict }
    }
}

/// One reconcile over one Deployment, from a snapshot to its last action.
pub async fn run<C: Cluster>(cluster: &C, observed: Observed, now: Timestamp) -> Outcome {
    let mut reconcile = Reconcile {
        cluster,
        observed,
        now,
        writes: 0,
        wrote_status: false,
        deviations: BTreeSet::new(),
        refused: None,
    };
    let result = reconcile.steps().await;
    let (error, requeue, why, status_waits, awaited) = match result {
        Ok(plan) => (None, plan.requeue, Some(plan.why), plan.status_waits, plan.awaited),
        Err((error, why)) => (Some(error), Requeue::OnChange, why, false, None),
    };
    let Reconcile { writes, wrote_status, deviations, .. } = reconcile;
    Outcome { error, requeue, why, writes, wrote_status, status_waits, awaited, deviations }
}

struct Reconcile<'a, C> {
    cluster: &'a C,
    observed: Observed,
    now: Timestamp,
    writes: usize,
    wrote_status: bool,
    deviations: BTreeSet<&'static str>,
    /// What the reconcile ends with, having been planned again without what was refused.
    refused: Option<ReconcileError>,
}

/// What follows when a plan has been carried out as far as it could be.
enum Then {
    End,
    /// Plan again with this ReplicaSet, which belongs to the Deployment.
    With(Box<ReplicaSet>),
    /// Plan again, now that the answers have what was refused, and end with this.
    Without(ReconcileError),
}

type Ended = (ReconcileError, Option<Why>);

impl<C: Cluster> Reconcile<'_, C> {
    async fn steps(&mut self) -> Result<Plan, Ended> {
        for _ in 0..STEPS_MAX {
            match plan::plan(&self.observed, self.now) {
                Step::Ask(ask) => self.ask(&ask).await.map_err(|error| (error, None))?,
                Step::ChangeOwners(changes) => {
                    self.change_owners(changes).await.map_err(|error| (error, None))?;
                }
                Step::Act(plan) => {
                    self.deviations.extend(plan.deviations.iter().copied());
                    match self.act(&plan).await {
                        Ok(Then::End) => return self.end(*plan),
                        Ok(Then::With(set)) => self.observed.sets.push(*set),
                        Ok(Then::Without(error)) => {
                            // Ended with an error, the reconcile is repeated late: its report does not wait.
                            self.observed.options = self.observed.options.unpaced();
                            self.refused = Some(error);
                        }
                        Err(error) => return Err((error, Some(plan.why))),
                    }
                }
            }
        }
        Err((ReconcileError::retry(format!("no end after {STEPS_MAX} steps")), None))
    }

    fn end(&mut self, plan: Plan) -> Result<Plan, Ended> {
        match self.refused.take() {
            Some(error) => Err((error, Some(plan.why))),
            None => Ok(plan),
        }
    }

    async fn ask(&mut self, ask: &Ask) -> Result<(), ReconcileError> {
        let answers = &mut self.observed.answers;
        match self.cluster.ask(&self.observed.workload, ask).await? {
            Answer::Template(template) => answers.template = Some(template),
            Answer::DryRun(dry_run) => answers.dry_run = Some(dry_run),
            Answer::SetTemplate(uid, template) => answers.set_template = Some((uid, template)),
            Answer::Pods(pods) => answers.pods = Some(pods),
            Answer::Job(found) => answers.job = Some(found),
            Answer::JobsChecked(checked) => answers.jobs_checked = Some(checked),
        }
        Ok(())
    }

    /// Carries a plan out.
    async fn act(&mut self, plan: &Plan) -> Result<Then, ReconcileError> {
        for event in &plan.events {
            self.cluster.record(&self.observed.workload, event);
        }
        for (index, planned) in plan.actions.iter().enumerate() {
            let Err(refusal) = self.perform(planned).await else { continue };
            match self.after(plan, index, refusal).await {
                (_, Verdict::Continue) => {}
                (_, Verdict::End) => return Ok(Then::End),
                (_, Verdict::PlanAgain(set)) => return Ok(Then::With(set)),
                (error, Verdict::PlanWithoutCuts(message)) => {
                    self.observed.answers.refuses_cuts = true;
                    return Ok(Then::Without(ReconcileError { message, ..error }));
                }
                (error, Verdict::PlanWithoutCreation(message)) => {
                    self.observed.answers.refuses_creation = true;
                    return Ok(Then::Without(ReconcileError { message, ..error }));
                }
                (error, Verdict::PlanWithoutJob(message)) => {
                    self.observed.answers.job_refused = Some(message.clone());
                    return Ok(Then::Without(ReconcileError { message, ..error }));
                }
                (error, Verdict::Retry(message)) => return Err(ReconcileError { message, ..error }),
                (error, Verdict::GiveUp(message)) => {
                    return Err(ReconcileError { message, retry: false, ..error });
                }
            }
        }
        match &plan.error {
            None => Ok(Then::End),
            Some(error) => Err(ReconcileError::retry(error.clone())),
        }
    }

    async fn perform(&mut self, planned: &plan::Planned) -> Result<(), Refusal> {
        let written = self.cluster.act(&self.observed.workload, &planned.action).await?;
        self.writes += 1;
        self.wrote_status |= matches!(planned.action, plan::Action::WriteStatus(_));
        // S4.5: the version that a write to the Deployment returned is carried forward.
        if let Some(version) = written {
            self.observed.workload.resource_version = version;
        }
        for event in &planned.events {
            self.cluster.record(&self.observed.workload, event);
        }
        Ok(())
    }

    /// What follows from a refusal, carried out as far as it can be (S14.7).
    async fn after(&mut self, plan: &Plan, index: usize, refusal: Refusal) -> (ReconcileError, Verdict) {
        let failure = match self.explain(plan, index, &refusal).await {
            Ok(failure) => failure,
            Err(second) => return (second.clone().into(), Verdict::Retry(second.message)),
        };
        let Aftermath { actions, events, verdict, deviation } =
            plan::after_failure(&self.observed, plan, index, &failure, self.now);
        self.deviations.extend(deviation);
        for planned in &actions {
            // The first refusal is the one that counts; this one is only logged by the cluster.
            let _ignored = self.perform(planned).await;
        }
        for event in &events {
            self.cluster.record(&self.observed.workload, event);
        }
        (refusal.into(), verdict)
    }

    async fn explain(&self, plan: &Plan, index: usize, refusal: &Refusal) -> Result<plan::Failure, Refusal> {
        if refusal.is_not_sent() {
            // Nothing was refused, and there is nothing to report: the reconcile ends here.
            return Err(refusal.clone());
        }
        if refusal.namespace_terminating {
            return Ok(plan::Failure::NamespaceTerminating(refusal.message.clone()));
        }
        let created = match plan.actions.get(index).map(|planned| &planned.action) {
            Some(plan::Action::CreateReplicaSet(set)) if refusal.is_already_exists() => Some(&set.name),
            _ => None,
        };
        if let Some(plan::Action::CreateJob(_)) = plan.actions.get(index).map(|planned| &planned.action)
            && refusal.is_already_exists()
        {
            return Ok(plan::Failure::NameTaken(None));
        }
        if let Some(name) = created {
            let live = self.cluster.replica_set(&self.observed.workload, name).await?;
            return Ok(plan::Failure::NameTaken(live.map(Box::new)));
        }
        let text = refusal.message.clone();
        Ok(match refusal {
            refusal if refusal.is_not_found() => plan::Failure::NotFound(text),
            refusal if refusal.is_invalid() => plan::Failure::Invalid(text),
            refusal if refusal.is_conflict() => plan::Failure::Conflict(text),
            refusal if refusal.is_unanswered() => plan::Failure::Unanswered(text),
            _ => plan::Failure::Refused(text),
        })
    }
}
