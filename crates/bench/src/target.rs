//! What we want to be, against Kubernetes' controller in the same run.

use crate::figure::{Figure, Ratio, median};
use crate::played::Played;
use crate::scenario::Operation;
use crate::side::Side;

/// The most that is allowed.
#[derive(Clone, Copy, Debug)]
enum Limit {
    /// As a share of what Kubernetes' controller needs.
    Ratio(f64),
    /// As such.
    Value(f64),
}

struct Target {
    what: &'static str,
    scenario: &'static str,
    figure: Figure,
    limit: Limit,
}

/// All are about rollouts.
const TARGETS: [Target; 8] = [
    Target {
        what: "write requests per rollout, events apart",
        scenario: "fleet",
        figure: Figure::Writes,
        limit: Limit::Ratio(0.5),
    },
    Target {
        what: "event writes per rollout",
        scenario: "fleet",
        figure: Figure::Events,
        limit: Limit::Ratio(0.5),
    },
    Target {
        what: "conflicts (409) per rollout",
        scenario: "fleet",
        figure: Figure::Conflicts,
        limit: Limit::Value(0.02),
    },
    Target {
        what: "conflicts (409) per rollout, 500 at once",
        scenario: "burst",
        figure: Figure::Conflicts,
        limit: Limit::Value(0.02),
    },
    Target {
        what: "time to complete when 500 roll at once, p50",
        scenario: "burst",
        figure: Figure::Time(50),
        limit: Limit::Ratio(0.6),
    },
    Target {
        what: "time to complete when 500 roll at once, p99",
        scenario: "burst",
        figure: Figure::Time(99),
        limit: Limit::Ratio(1.0),
    },
    Target {
        what: "time to complete of a single rollout, p50",
        scenario: "alone",
        figure: Figure::Time(50),
        limit: Limit::Ratio(0.9),
    },
    Target { what: "CPU per rollout", scenario: "fleet", figure: Figure::Cpu, limit: Limit::Ratio(0.3) },
];

/// What came of a target.
#[derive(Clone, Debug)]
pub(crate) struct Verdict {
    pub(crate) what: String,
    pub(crate) target: String,
    /// For Rollwright on its own kind and on apps/v1.
    pub(crate) results: [Outcome; 2],
}

/// What was measured on one side.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Outcome {
    Met(String),
    NotMet(String),
    NotMeasured,
}

/// The verdicts on everything that was played.
pub(crate) fn judge(played: &[Played]) -> Vec<Verdict> {
    TARGETS.iter().map(|target| target.judge(played)).collect()
}

impl Target {
    fn judge(&self, played: &[Played]) -> Verdict {
        let target = match self.limit {
            Limit::Ratio(limit) => format!("≤ {limit} ×"),
            Limit::Value(limit) => format!("≤ {limit}"),
        };
        let results = [Side::OurKind, Side::AppsV1].map(|side| self.outcome(played, side));
        Verdict { what: self.what.to_owned(), target, results }
    }

    fn outcome(&self, played: &[Played], side: Side) -> Outcome {
        let Some(played) = played.iter().find(|played| played.scenario.name == self.scenario) else {
            return Outcome::NotMeasured;
        };
        let values = |side| played.values(side, Operation::Roll, self.figure);
        let ours = values(side);
        let measured = match self.limit {
            Limit::Ratio(limit) => Ratio::of(&ours, &values(Side::Upstream)).map(|ratio| {
                let text = format!("{:.2} × ({:.2}–{:.2})", ratio.median, ratio.least, ratio.most);
                (ratio.median <= limit, text)
            }),
            Limit::Value(limit) => median(&ours).map(|value| (value <= limit, format!("{value:.3}"))),
        };
        match measured {
            Some((true, text)) => Outcome::Met(text),
            Some((false, text)) => Outcome::NotMet(text),
            None => Outcome::NotMeasured,
        }
    }
}
