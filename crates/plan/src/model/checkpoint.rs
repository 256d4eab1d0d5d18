//! Points of a rollout at which a Job has to succeed: the gate of a step, and the hooks before and after the rollout
//! (GA-1; rollwright.dev only).

use std::hash::Hasher as _;

use fnv::FnvHasher;
use jiff::{SignedDuration, Timestamp};

use crate::model::observed::Workload;
use crate::model::steps::Steps;

/// A point of a rollout at which a Job has to succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checkpoint {
    /// `spec.strategy.hooks.before`: before the first pod of a revision.
    Before,
    /// The gate of a step of `spec.strategy.rollingUpdate.steps`, counted from 0.
    Step(usize),
    /// `spec.strategy.custom`: the process that lets the rollout go further and further (CU-1).
    Process,
    /// `spec.strategy.hooks.after`: once the rollout is complete.
    After,
}

/// The Job that the spec has for a checkpoint, without its template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobSpec {
    /// By what an edited template is recognized.
    pub digest: String,
    /// For how many seconds its pod may run.
    pub timeout_seconds: i64,
}

impl JobSpec {
    /// From a pod template, as text.
    #[must_use]
    pub fn of(template: &str, timeout_seconds: i64) -> Self {
        let mut hasher = FnvHasher::default();
        hasher.write(template.as_bytes());
        Self { digest: format!("{:016x}", hasher.finish()), timeout_seconds }
    }

    /// When a Job that runs since then has taken too long.
    pub(crate) fn limit(&self, since: Timestamp) -> Timestamp {
        // `since` lacks the fraction of its second.
        let limit = SignedDuration::from_secs(self.timeout_seconds.saturating_add(1));
        since.checked_add(limit).unwrap_or(Timestamp::MAX)
    }

    /// Why it failed then.
    pub(crate) fn too_long(&self) -> String {
        format!("it ran for longer than {} s (timeoutSeconds)", self.timeout_seconds)
    }
}

/// A Job as a live read shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// `metadata.uid`.
    pub uid: String,
    /// uid of the owner reference with `controller: true`.
    pub controller_uid: Option<String>,
    /// The digest of the template that it was created from; empty if nobody noted it.
    pub digest: String,
    /// How far it is.
    pub state: JobState,
}

/// How far a Job is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobState {
    /// Its pod does not run; why, if somebody knows.
    Waiting(Option<String>),
    /// Its pod runs.
    Running,
    /// The Job is complete.
    Succeeded,
    /// The Job failed, for this reason.
    Failed(String),
    /// Somebody deletes it.
    Deleting,
}

/// The Job with this name: there, gone, or in the server's words why nobody can know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundJob {
    /// Its name.
    pub name: String,
    /// What the server answered.
    pub job: Result<Option<Job>, String>,
}

/// A Job to create.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewJob {
    /// `metadata.name`; no other attempt has the same.
    pub name: String,
    /// Which template of the spec it runs.
    pub at: Checkpoint,
    /// The digest of that template.
    pub digest: String,
    /// Name of the ReplicaSet that owns it.
    pub set: String,
    /// Its uid.
    pub set_uid: String,
    /// What its containers get: names and values.
    pub environment: Vec<(&'static str, String)>,
}

impl Checkpoint {
    /// As names and annotations have it: `before`, the number of a step, `custom`, or `after`.
    #[must_use]
    pub fn text(self) -> String {
        match self {
            Self::Before => "before".to_owned(),
            Self::Step(step) => step.saturating_add(1).to_string(),
            Self::Process => "custom".to_owned(),
            Self::After => "after".to_owned(),
        }
    }

    /// The same, read.
    pub(crate) fn read(text: &str) -> Option<Self> {
        match text {
            "before" => Some(Self::Before),
            "custom" => Some(Self::Process),
            "after" => Some(Self::After),
            number => Some(Self::Step(number.parse::<usize>().ok()?.checked_sub(1)?)),
        }
    }

    /// For people.
    #[must_use]
    pub fn words(self) -> String {
        match self {
            Self::Before => "the hook before the rollout".to_owned(),
            Self::Step(step) => format!("the gate of step {}", step.saturating_add(1)),
            Self::Process => "the deployment process".to_owned(),
            Self::After => "the hook after the rollout".to_owned(),
        }
    }

    /// The step that lasts until its Job succeeds.
    pub(crate) fn step(self) -> Option<usize> {
        match self {
            Self::Step(step) => Some(step),
            Self::Process => Some(0),
            Self::Before | Self::After => None,
        }
    }
}

impl Workload {
    /// The Job that the spec has for a checkpoint.
    #[must_use]
    pub fn job_at(&self, at: Checkpoint) -> Option<&JobSpec> {
        match at {
            Checkpoint::Before => self.before_hook.as_ref(),
            Checkpoint::Step(step) => self.steps.get(step).filter(|it| !it.is_process())?.gate.as_ref(),
            Checkpoint::Process => self.steps.first().filter(|it| it.is_process())?.gate.as_ref(),
            Checkpoint::After => self.after_hook.as_ref(),
        }
    }

    /// Its hooks, before and after its rollouts.
    pub(crate) fn hooks(&self) -> Vec<Checkpoint> {
        let both = [Checkpoint::Before, Checkpoint::After].into_iter();
        both.filter(|at| self.job_at(*at).is_some()).collect()
    }

    /// Whether it has any.
    pub(crate) fn has_hooks(&self) -> bool {
        self.before_hook.is_some() || self.after_hook.is_some()
    }

    /// Whether its strategy is `Custom` (CU-1).
    #[must_use]
    pub fn is_custom(&self) -> bool {
        Steps(&self.steps).is_custom()
    }

    /// What a step lasts for.
    pub(crate) fn checkpoint(&self, step: usize) -> Checkpoint {
        if self.is_custom() { Checkpoint::Process } else { Checkpoint::Step(step) }
    }

    /// All checkpoints that have a Job, in the order in which a rollout comes to them.
    pub fn checkpoints(&self) -> impl Iterator<Item = Checkpoint> {
        let steps = (0..self.steps.len()).map(|step| self.checkpoint(step));
        let all = [Checkpoint::Before].into_iter().chain(steps).chain([Checkpoint::After]);
        all.filter(|at| self.job_at(*at).is_some())
    }
}

/// What is known of the Job of a checkpoint that has to succeed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Outlook {
    /// The operator creates it.
    #[default]
    Due,
    /// The pod of the Job does not run; why, if somebody knows.
    Waiting(Option<String>),
    /// The pod runs since then.
    Running(Timestamp),
    /// Nobody knows how it is, for this reason.
    Unknown(String),
    /// The Job failed, for this reason.
    Failed(String),
}

impl Outlook {
    /// The end of "rests": what of this Job has to come.
    pub(crate) fn words(&self, name: &str, at: Checkpoint) -> String {
        let verb = if at == Checkpoint::Process { "allows more, or succeeds" } else { "succeeds" };
        let until = format!("until Job {name} {verb}");
        match self {
            Self::Due => until,
            Self::Waiting(None) => format!("{until} (its pod does not run yet)"),
            Self::Waiting(Some(why)) => format!("{until} (its pod does not run: {why})"),
            Self::Running(since) => format!("{until} (running since {since})"),
            Self::Unknown(why) => format!("{until} (unknown: {why})"),
            Self::Failed(why) => format!("because Job {name} failed ({why})"),
        }
    }
}
