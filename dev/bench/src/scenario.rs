//! What is done to the Deployments, and how their pods behave.

use std::time::Duration;

use cluster::Limits;

/// One thing that is done to every Deployment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Operation {
    Create,
    /// A new template.
    Roll,
    /// The first template again, with its ReplicaSet still there.
    RollBack,
    /// Twice as many replicas.
    Scale,
}

impl Operation {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Roll => "roll out",
            Self::RollBack => "roll back",
            Self::Scale => "scale",
        }
    }
}

/// Whether all Deployments are edited together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    AllAtOnce,
    /// The next one when the one before is complete.
    OneByOne,
}

/// How long a pod takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pods {
    /// From being scheduled to being ready.
    pub(crate) ready_after: Duration,
    /// From being deleted to being gone.
    pub(crate) gone_after: Duration,
}

/// What stands between the controller and an API server at its best.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    None,
    /// Every answer to the controller comes 50 ms later.
    Slow,
    /// Every tenth request of the controller is answered 429, to be sent again after a second.
    Refusing,
    /// The API server stands still for five seconds in the middle of every operation.
    Stalling,
}

/// A round, before it is known who plays it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scenario {
    pub(crate) deployments: usize,
    pub(crate) replicas: i64,
    pub(crate) operations: &'static [Operation],
    pub(crate) pace: Pace,
    pub(crate) pods: Pods,
    pub(crate) limits: Limits,
    pub(crate) trouble: Trouble,
    /// How often each side plays it, in turns.
    pub(crate) rounds: usize,
}

impl Scenario {
    /// For the command line, CSV files, and headings: `500x2-8s` has 500 Deployments of two pods that are
    /// ready after 8 s.
    pub(crate) fn name(&self) -> String {
        let Self { deployments, replicas, pods, .. } = self;
        let mut name = format!("{deployments}x{replicas}-{}s", pods.ready_after.as_secs_f64());
        name.push_str(match self.trouble {
            Trouble::None => "",
            Trouble::Slow => "-slow",
            Trouble::Refusing => "-refusing",
            Trouble::Stalling => "-stalling",
        });
        if self.pace == Pace::OneByOne {
            name.push_str("-alone");
        }
        if self.limits == Limits::Defaults {
            name.push_str("-defaults");
        }
        name
    }

    /// A sentence for below the heading.
    pub(crate) fn about(&self) -> String {
        let Pods { ready_after, gone_after } = self.pods;
        let mut about = format!(
            "{} Deployments of {} replicas, edited {}, pods ready after {} s and gone after {} s",
            self.deployments,
            self.replicas,
            if self.pace == Pace::OneByOne { "one after another" } else { "all at once" },
            ready_after.as_secs_f64(),
            gone_after.as_secs_f64(),
        );
        about.push_str(match self.trouble {
            Trouble::None => "",
            Trouble::Slow => ", every answer 50 ms later",
            Trouble::Refusing => ", every tenth request answered 429",
            Trouble::Stalling => ", the API server standing still for 5 s in each operation",
        });
        if self.limits == Limits::Defaults {
            about.push_str(", client limits at their defaults");
        }
        about
    }

    /// Whether the targets for many Deployments together are about it.
    pub(crate) fn is_judged(&self) -> bool {
        (self.pace, self.limits, self.trouble) == (Pace::AllAtOnce, Limits::Lifted, Trouble::None)
    }

    pub(crate) fn is_instant(&self) -> bool {
        self.pods == INSTANT
    }
}

pub(crate) const INSTANT: Pods = Pods { ready_after: Duration::from_millis(100), gone_after: Duration::ZERO };
pub(crate) const SECOND: Pods =
    Pods { ready_after: Duration::from_secs(1), gone_after: Duration::from_secs(1) };
const FIVE_SECONDS: Pods = Pods { ready_after: Duration::from_secs(5), gone_after: Duration::from_secs(2) };
const EIGHT_SECONDS: Pods = Pods { ready_after: Duration::from_secs(8), gone_after: Duration::from_secs(3) };

const LIFE: &[Operation] = &[Operation::Create, Operation::Roll, Operation::RollBack, Operation::Scale];
const SHORT_LIFE: &[Operation] = &[Operation::Create, Operation::Roll, Operation::Scale];

const fn at_once(deployments: usize, replicas: i64, pods: Pods) -> Scenario {
    Scenario {
        deployments,
        replicas,
        operations: LIFE,
        pace: Pace::AllAtOnce,
        pods,
        limits: Limits::Lifted,
        trouble: Trouble::None,
        rounds: 3,
    }
}

/// What fits into four minutes on two cores.
pub(crate) fn quick() -> Vec<Scenario> {
    let short = |pods| Scenario { operations: SHORT_LIFE, rounds: 1, ..at_once(50, 2, pods) };
    vec![short(INSTANT), short(EIGHT_SECONDS)]
}

/// What fits into an hour on two cores: both numbers of Deployments, and both numbers of replicas.
pub(crate) fn standard() -> Vec<Scenario> {
    let pods = [INSTANT, EIGHT_SECONDS];
    pods.into_iter().flat_map(|pods| [at_once(100, 5, pods), at_once(500, 2, pods)]).collect()
}

/// The whole matrix, which takes most of a day.
pub(crate) fn full() -> Vec<Scenario> {
    let mut all = Vec::new();
    for pods in [INSTANT, SECOND, EIGHT_SECONDS] {
        for (deployments, replicas) in [(100, 2), (100, 5), (500, 2), (500, 5)] {
            all.push(at_once(deployments, replicas, pods));
        }
    }
    all.push(at_once(300, 2, EIGHT_SECONDS));
    all.push(at_once(40, 20, FIVE_SECONDS));
    for trouble in [Trouble::Slow, Trouble::Refusing, Trouble::Stalling] {
        all.push(Scenario { trouble, rounds: 1, ..at_once(100, 2, SECOND) });
    }
    all.push(Scenario { pace: Pace::OneByOne, operations: SHORT_LIFE, ..at_once(4, 10, INSTANT) });
    all.push(Scenario { limits: Limits::Defaults, operations: SHORT_LIFE, ..at_once(10, 2, INSTANT) });
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_tell_scenarios_apart() {
        for scenarios in [quick(), standard(), full()] {
            let names: BTreeSet<String> = scenarios.iter().map(Scenario::name).collect();
            assert_eq!(names.len(), scenarios.len(), "{names:?}");
        }
        let names: Vec<String> = standard().iter().map(Scenario::name).collect();
        assert_eq!(names, ["100x5-0.1s", "500x2-0.1s", "100x5-8s", "500x2-8s"]);
        assert!(full().iter().any(|scenario| scenario.name() == "100x2-1s-stalling"));
    }
}
