//! A scenario: one Deployment, what its users do, and what goes wrong. Plain data, so that it
//! can be printed, shrunk and kept; a seed makes one.

mod draw;
mod faults;
mod jobs;
mod stages;

use plan::Flavour;
use serde::{Deserialize, Serialize};

use crate::chance::Dice;
pub use crate::fleet::{Fleet, Member};
pub(crate) use draw::{start, steps};
pub use faults::{LookFault, WriteFault};
pub use jobs::{Doing, JobAct, Probe};
pub use stages::{Stage, Target};

/// Milliseconds of virtual time.
pub type Millis = u64;

/// One Deployment, what is done to it, and what goes wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scenario {
    /// Whether it is an apps/v1 Deployment.
    pub is_apps: bool,
    /// What all smaller choices follow from: delays, victims.
    pub salt: u64,
    /// The Deployment as it is created.
    pub start: Start,
    /// How slow pods are.
    pub pods: Pods,
    /// What users and other controllers do.
    pub steps: Vec<Step>,
    /// What goes wrong.
    pub faults: Vec<Fault>,
    /// What the operator has besides; without it, it begins every rollout immediately, has no cooldown, and gives way
    /// to nobody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fleet: Option<Fleet>,
    /// Whether the operator runs no Jobs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lacks_jobs: bool,
}

/// The Deployment as it is created.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Start {
    /// `spec.replicas`.
    pub replicas: i64,
    /// `spec.strategy`.
    pub strategy: Rollout,
    /// `spec.minReadySeconds`.
    pub min_ready_seconds: i64,
    /// `spec.revisionHistoryLimit`.
    pub history_limit: i64,
    /// `spec.progressDeadlineSeconds`.
    pub deadline_seconds: i64,
}

/// `spec.strategy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Rollout {
    /// Pods or percent that may be more, and that may be missing.
    Rolling(Share, Share),
    /// All old pods first.
    Recreate,
}

/// `spec.failurePolicy.action`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Failing {
    /// There is no policy.
    None,
    /// The rollout continues.
    Continue,
    /// Nothing is rolled out.
    Stop,
    /// The newest good revision runs.
    Revert,
}

/// `spec.failurePolicy.when`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Criteria {
    /// `deadlineExceeded`.
    pub deadline: bool,
    /// `restarts`.
    pub restarts: Option<i64>,
    /// `stuckSeconds`.
    pub stuck_seconds: Option<i64>,
    /// `minPods`.
    pub min_pods: Share,
}

impl Default for Criteria {
    fn default() -> Self {
        Self { deadline: true, restarts: None, stuck_seconds: None, min_pods: Share::Pods(1) }
    }
}

/// A number of pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Share {
    /// This many.
    Pods(i64),
    /// This many of a hundred.
    Percent(i64),
}

/// How slow pods are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pods {
    /// Longest time until ready.
    pub ready_max: Millis,
    /// Longest time until gone.
    pub gone_max: Millis,
    /// Of a hundred pods this many become unready again.
    pub flaky_percent: u64,
    /// Nodes.
    pub nodes: usize,
}

/// Something that somebody else does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// When.
    pub at: Millis,
    /// What.
    pub act: Act,
}

/// What somebody else does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Act {
    /// Another template. From 8 on no pod becomes ready, from 16 on every other one, and from 24 on none for long.
    /// From 32 on containers restart again and again, and from 40 on without ever being ready.
    Template(u8),
    /// Another size.
    Scale(i64),
    /// Both in one edit.
    TemplateAndScale(u8, i64),
    /// `spec.paused`.
    Pause(bool),
    /// Back to a revision; 0 is the last one.
    RollBack(i64),
    /// Another strategy.
    Strategy(Rollout),
    /// `spec.revisionHistoryLimit`.
    HistoryLimit(i64),
    /// `spec.minReadySeconds`.
    MinReady(i64),
    /// An annotation of the Deployment, with this many as its value.
    Annotate(u8),
    /// The Deployment is deleted and its ReplicaSets orphaned; soon after it is created again.
    OrphanAndReturn,
    /// Somebody sets the size of a ReplicaSet: which, and to what.
    ScaleSet(u8, i64),
    /// Somebody writes garbage into an annotation of a ReplicaSet: which, and which garbage.
    Garbage(u8, u8),
    /// Somebody takes a label off a ReplicaSet, so that the selector does not match.
    Unlabel(u8),
    /// Somebody takes the operator's label off a ReplicaSet.
    Unmark(u8),
    /// Somebody takes the owner off a ReplicaSet.
    Disown(u8),
    /// Somebody deletes a ReplicaSet.
    DeleteSet(u8),
    /// Somebody deletes a pod.
    DeletePod(u8),
    /// Somebody's ReplicaSet gets the name that the ReplicaSet of this template would get: nobody's, another
    /// owner's, or another owner's that is labeled as one of this template.
    TakeName(u8, u8),
    /// A container restarts.
    Restart(u8),
    /// `spec.pin` names a ReplicaSet: which, and whether for the current template only.
    Pin(u8, bool),
    /// `spec.pin` names no ReplicaSet.
    PinNothing,
    /// Somebody deletes the ReplicaSet that `spec.pin` names.
    DeletePinned,
    /// `spec.pin` goes.
    Unpin,
    /// `spec.failurePolicy`: what follows a failure, for how long a revision bakes, and when it fails.
    Policy(Failing, i64, Criteria),
    /// A request to retry the declared revision; the number makes it another request.
    Retry(u8),
    /// A request to give up the declared revision.
    Abort(u8),
    /// Whether all pods lack something, and so none is ready.
    Lack(bool),
    /// Whether all pods crash again and again.
    Crash(bool),
    /// The steps of rollouts, and whether a revision that is known to be good has none.
    Stages(Vec<Stage>, bool),
    /// The declared revision is promoted; the number makes it another request.
    Promote(Target, u8),
    /// Somebody removes from the declared ReplicaSet what it remembers of its steps.
    Forget,
    /// `spec.resumePolicy`: whether it is Manual.
    Hold(bool),
    /// The word that continues a rollout, as it is recorded.
    Continue,
    /// What the pods of the template as it is now do from here on, although they were ready.
    Spoil(Spoiled),
    /// Something about gates and hooks.
    Jobs(JobAct),
}

/// The fate of pods that were ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Spoiled {
    /// The pods are ready again.
    No,
    /// The pods are not ready any more.
    Unready,
    /// The pods crash again and again.
    Crashing,
}

impl Step {
    /// Whether a policy comes that judges by what pods show.
    pub(crate) fn judges_by_pods(&self) -> bool {
        let is_by_pods =
            |criteria: &Criteria| criteria.restarts.is_some() || criteria.stuck_seconds.is_some();
        matches!(&self.act, Act::Policy(_, _, criteria) if is_by_pods(criteria))
    }
}

/// Something that goes wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fault {
    /// To the n-th write request of operators.
    Write(u32, WriteFault),
    /// To the n-th read request: this code.
    Read(u32, u16),
    /// To the n-th request of operators that looks at pods.
    Look(u32, LookFault),
    /// From a time on, for so long.
    During(Millis, Millis, Trouble),
}

/// What goes wrong for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Trouble {
    /// The watch of Deployments stands still.
    WorkloadLag,
    /// The watch of ReplicaSets stands still.
    SetLag,
    /// Both watches break; then they list again.
    Disconnect,
    /// History is compacted while the watches stand still (410).
    Expired,
    /// Every request is answered with this code.
    Outage(u16),
    /// The operator's wall clock is off by this many seconds.
    Clock(i64),
    /// No more pods than there are.
    PodQuota,
    /// No more ReplicaSets.
    SetQuota,
    /// A webhook changes every ReplicaSet that is created.
    Webhook,
    /// A webhook takes the operator's annotation off every ReplicaSet that is created, and changes its template, each
    /// time in another way.
    Stripping,
    /// A node is lost.
    NodeLoss(u8),
    /// The ReplicaSet controller does nothing.
    SlowSets,
    /// The controller does nothing about one ReplicaSet: which.
    SlowSet(u8),
    /// A second operator runs as well.
    Twin,
    /// The operator is killed, and returns at the end.
    Down,
    /// The operator is killed, and returns with what was true this many versions ago.
    TimeTravel(u64),
    /// Another controller writes the status of one Deployment: which.
    Rival(u8),
    /// Every request is refused, and the server asks for no request for this many seconds.
    Overload(u64),
    /// The operator is killed, and another one takes over at the end.
    Takeover,
    /// Every write is carried out, but answered with 504.
    Unanswered,
    /// No Job is created.
    JobQuota,
    /// Nobody may read a Job.
    JobsUnreadable,
}

impl Scenario {
    /// The flavour of the Deployment.
    #[must_use]
    pub fn flavour(&self) -> Flavour {
        if self.is_apps { Flavour::AppsV1 } else { Flavour::Rollwright }
    }

    /// By how many seconds the clock of operators is off at the most.
    pub(crate) fn clock_off(&self) -> u64 {
        self.faults.iter().fold(0, |off, fault| match fault {
            Fault::During(_, _, Trouble::Clock(seconds)) => off.max(seconds.unsigned_abs()),
            _ => off,
        })
    }

    /// When nothing more is done and nothing is wrong any more.
    #[must_use]
    pub fn end(&self) -> Millis {
        let steps = self.steps.iter().map(|step| step.at);
        let faults = self.faults.iter().map(|fault| match fault {
            Fault::During(at, duration, _) => at + duration,
            _ => 0,
        });
        let others = self.others().iter().filter_map(Member::end);
        steps.chain(faults).chain(others).max().unwrap_or(0)
    }

    /// How many rollouts its users ask for.
    #[must_use]
    pub fn rollouts(&self) -> u64 {
        let starts = |step: &&Step| {
            matches!(
                step.act,
                Act::Template(_) | Act::TemplateAndScale(..) | Act::RollBack(_) | Act::OrphanAndReturn
            )
        };
        let asked = |steps: &[Step]| 1 + steps.iter().filter(starts).count() as u64;
        asked(&self.steps) + self.others().iter().map(|member| asked(&member.steps)).sum::<u64>()
    }

    /// The scenario of a seed.
    #[must_use]
    pub fn of(seed: u64) -> Self {
        let mut dice = Dice::new(seed, 1);
        let start = start(&mut dice);
        let mut steps = steps(&mut dice, &start);
        steps.sort_by_key(|step| step.at);
        let end = steps.last().map_or(20_000, |step| step.at + 20_000);
        let mut faults = faults::all(&mut dice, end);
        let pods = Pods {
            ready_max: dice.one_of(&[200, 1000, 5000, 20_000], 1000),
            gone_max: dice.one_of(&[0, 500, 5000, 30_000], 500),
            flaky_percent: if dice.percent(20) { dice.between(1, 20) } else { 0 },
            nodes: 3,
        };
        let is_apps = dice.percent(25);
        // Upstream creates ReplicaSet after ReplicaSet under a webhook, and so does Rollwright on apps/v1 (S4.15).
        faults.retain(|fault| !is_apps || !matches!(fault, Fault::During(_, _, Trouble::Webhook)));
        Self { is_apps, salt: dice.draw(), start, pods, steps, faults, fleet: None, lacks_jobs: false }
    }

    /// A plain rollout of ten pods, to measure speed.
    #[must_use]
    pub fn plain(seed: u64) -> Self {
        let quarter = Share::Percent(25);
        Self {
            is_apps: false,
            salt: seed,
            start: Start {
                replicas: 10,
                strategy: Rollout::Rolling(quarter, quarter),
                min_ready_seconds: 0,
                history_limit: 10,
                deadline_seconds: 600,
            },
            pods: Pods { ready_max: 1000, gone_max: 500, flaky_percent: 0, nodes: 3 },
            steps: vec![Step { at: 10_000, act: Act::Template(1) }],
            faults: Vec::new(),
            fleet: None,
            lacks_jobs: false,
        }
    }
}
