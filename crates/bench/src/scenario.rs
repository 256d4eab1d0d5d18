//! What is done to the Deployments, and how often.

use std::time::Duration;

use cluster::Limits;

/// One thing that is done to every Deployment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Operation {
    Create,
    /// A new template.
    Roll,
    /// Twice as many replicas.
    Scale,
    /// The first template again, whose ReplicaSet is still there.
    RollBack,
    Delete,
}

impl Operation {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Roll => "roll",
            Self::Scale => "scale",
            Self::RollBack => "roll back",
            Self::Delete => "delete",
        }
    }
}

/// Whether the Deployments are edited all at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    AllAtOnce,
    /// The next one when the one before is complete.
    OneByOne,
}

/// A round, before it is known who plays it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) deployments: usize,
    pub(crate) replicas: i64,
    pub(crate) operations: &'static [Operation],
    pub(crate) pace: Pace,
    /// From scheduling a pod to its being ready.
    pub(crate) ready_after: Duration,
    pub(crate) limits: Limits,
    /// How often each side plays it, in turns.
    pub(crate) rounds: usize,
}

const LIFE: &[Operation] = &[
    Operation::Create,
    Operation::Roll,
    Operation::Roll,
    Operation::Scale,
    Operation::RollBack,
    Operation::Delete,
];

pub(crate) const ALONE: Scenario = Scenario {
    name: "alone",
    about: "one Deployment of 10 replicas after another, nothing else going on, pods ready at once",
    deployments: 4,
    replicas: 10,
    operations: &[Operation::Create, Operation::Roll, Operation::Roll, Operation::Delete],
    pace: Pace::OneByOne,
    ready_after: Duration::ZERO,
    limits: Limits::Lifted,
    rounds: 2,
};

pub(crate) const FLEET: Scenario = Scenario {
    name: "fleet",
    about: "100 Deployments of 5 replicas, all edited at once, pods ready after 100 ms",
    deployments: 100,
    replicas: 5,
    operations: LIFE,
    pace: Pace::AllAtOnce,
    ready_after: Duration::from_millis(100),
    limits: Limits::Lifted,
    rounds: 1,
};

pub(crate) const BURST: Scenario = Scenario {
    name: "burst",
    about: "500 Deployments of 2 replicas, all edited at once, pods ready after 100 ms",
    deployments: 500,
    replicas: 2,
    operations: &[Operation::Create, Operation::Roll, Operation::Delete],
    pace: Pace::AllAtOnce,
    ready_after: Duration::from_millis(100),
    limits: Limits::Lifted,
    rounds: 1,
};

pub(crate) const DEFAULTS: Scenario = Scenario {
    name: "defaults",
    about: "10 Deployments of 2 replicas, all edited at once, everybody with the limits they come with",
    deployments: 10,
    replicas: 2,
    operations: &[Operation::Create, Operation::Roll, Operation::Delete],
    pace: Pace::AllAtOnce,
    ready_after: Duration::from_millis(100),
    limits: Limits::Defaults,
    rounds: 1,
};

/// The same in small, to see in three minutes whether something is off.
pub(crate) const QUICK: [Scenario; 2] = [
    Scenario { deployments: 3, rounds: 1, about: "the same with 3 Deployments", ..ALONE },
    Scenario { deployments: 30, rounds: 1, about: "the same with 30 Deployments", ..FLEET },
];

/// So many rounds as fit into a quarter of an hour on two cores, with those at rest.
pub(crate) const STANDARD: [Scenario; 4] = [ALONE, FLEET, BURST, DEFAULTS];

/// More rounds of the same.
pub(crate) const FULL: [Scenario; 4] = [
    Scenario { rounds: 5, ..ALONE },
    Scenario { rounds: 5, ..FLEET },
    Scenario { rounds: 5, ..BURST },
    Scenario { rounds: 3, ..DEFAULTS },
];
