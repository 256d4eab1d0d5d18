//! How large the world is that is explored.

use plan::intstr::IntOrPercent;

/// `spec.strategy` of the Deployment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// With these limits, in pods.
    RollingUpdate {
        /// `maxSurge`.
        surge: u8,
        /// `maxUnavailable`.
        unavailable: u8,
    },
    /// All old pods go before the first new one comes.
    Recreate,
}

/// A rule that is broken on purpose, to see that it is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Breakage {
    /// None.
    #[default]
    None,
    /// The planner believes that all pods may be unavailable.
    Floor,
    /// The planner believes in one more pod of surge.
    Surge,
    /// The planner does not see that the Deployment is paused.
    Pause,
    /// The server does not look at preconditions.
    Preconditions,
    /// The operator plans before its cache shows what it wrote.
    Ledger,
}

/// What there is, and how often what may happen.
#[derive(Clone, Copy, Debug)]
pub struct Scope {
    /// `spec.replicas` at first, and the largest that the user asks for.
    pub replicas: u8,
    /// How many templates the user has.
    pub templates: u8,
    /// `spec.strategy`.
    pub strategy: Strategy,
    /// `spec.revisionHistoryLimit`.
    pub history: u8,
    /// Edits of the user: another template, another number of replicas, pause or resume.
    pub edits: u8,
    /// Crashes of the operator.
    pub crashes: u8,
    /// ReplicaSets that somebody else scales.
    pub scales: u8,
    /// Pods that fail.
    pub failures: u8,
    /// Whether an edit may also pin the ReplicaSet of a template, or take the pin back.
    pub pins: bool,
    /// Whether the Deployment has a failure policy with Revert, and an edit may also abort the declared revision.
    pub reverts: bool,
    /// Whether AV-2 must hold where a cut counts on a report of an earlier size, too. It does not.
    pub is_strict: bool,
    /// What is broken.
    pub breakage: Breakage,
}

impl Scope {
    /// Three replicas, two templates, one edit, and nothing that goes wrong.
    #[must_use]
    pub fn small() -> Self {
        Self {
            replicas: 3,
            templates: 2,
            strategy: Strategy::RollingUpdate { surge: 1, unavailable: 0 },
            history: 0,
            edits: 1,
            crashes: 0,
            scales: 0,
            failures: 0,
            pins: false,
            reverts: false,
            is_strict: false,
            breakage: Breakage::None,
        }
    }

    /// The worlds of `make explore`: each strategy, with one thing of a kind that goes wrong.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let rolling = |surge, unavailable| Strategy::RollingUpdate { surge, unavailable };
        let small = Self::small();
        let few = |strategy| Self { replicas: 2, strategy, ..small };
        let mut worlds = Vec::new();
        for strategy in [rolling(1, 0), rolling(0, 1), rolling(1, 1), Strategy::Recreate] {
            let world = Self { strategy, ..small };
            worlds.extend([Self { crashes: 1, ..world }, Self { failures: 1, ..world }]);
        }
        for strategy in [rolling(1, 0), rolling(0, 1), Strategy::Recreate] {
            worlds.push(Self { edits: 2, ..few(strategy) });
        }
        worlds.push(Self { scales: 1, ..few(rolling(1, 0)) });
        for strategy in [rolling(1, 0), Strategy::Recreate] {
            worlds.push(Self { pins: true, edits: 2, crashes: 1, ..few(strategy) });
            worlds.push(Self { reverts: true, edits: 2, crashes: 1, ..few(strategy) });
        }
        worlds
    }

    /// The strategy as it is.
    pub(crate) fn strategy(&self) -> plan::Strategy {
        strategy(self.strategy)
    }

    /// The strategy as the planner gets it.
    pub(crate) fn told_strategy(&self) -> plan::Strategy {
        strategy(match (self.strategy, self.breakage) {
            (Strategy::RollingUpdate { surge, .. }, Breakage::Floor) => {
                Strategy::RollingUpdate { surge, unavailable: u8::MAX }
            }
            (Strategy::RollingUpdate { surge, unavailable }, Breakage::Surge) => {
                Strategy::RollingUpdate { surge: surge + 1, unavailable }
            }
            (as_it_is, _) => as_it_is,
        })
    }
}

fn strategy(strategy: Strategy) -> plan::Strategy {
    let pods = |count: u8| Some(IntOrPercent::Int(i64::from(count)));
    match strategy {
        Strategy::RollingUpdate { surge, unavailable } => {
            plan::Strategy::RollingUpdate { max_surge: pods(surge), max_unavailable: pods(unavailable) }
        }
        Strategy::Recreate => plan::Strategy::Recreate,
    }
}
