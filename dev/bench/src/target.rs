//! The targets for Rollwright, against Kubernetes' controller in the same round.

use crate::figure::{Figure, Ratio};
use crate::news::News;
use crate::played::Played;
use crate::scenario::Operation::{self, Create, Roll, RollBack, Scale};
use crate::scenario::Scenario;
use crate::side::Side;

/// The most that is allowed of a figure, as a share of what Kubernetes' controller needs.
struct Target {
    what: &'static str,
    figure: Figure,
    /// Which scenarios it is about, of those with many Deployments together and no trouble.
    about: fn(&Scenario) -> bool,
    /// The ratio is rounded to this many digits before it is compared.
    digits: usize,
    limits: &'static [Limit],
}

struct Limit {
    /// Judged together.
    operations: &'static [Operation],
    ours: f64,
    apps: f64,
}

const fn same(operations: &'static [Operation], limit: f64) -> Limit {
    Limit { operations, ours: limit, apps: limit }
}

const EVERYTHING: &[Operation] = &[Create, Roll, RollBack, Scale];

fn is_burst(scenario: &Scenario) -> bool {
    scenario.deployments == 500 && scenario.replicas == 2 && scenario.is_instant()
}

const TARGETS: [Target; 9] = [
    Target {
        what: "all complete",
        figure: Figure::All,
        about: |scenario| !is_burst(scenario),
        digits: 1,
        limits: &[same(&[Create], 1.0), same(&[Roll], 1.0), same(&[RollBack], 1.0), same(&[Scale], 1.0)],
    },
    Target {
        what: "all complete",
        figure: Figure::All,
        about: is_burst,
        digits: 1,
        limits: &[
            Limit { operations: &[Create], ours: 1.1, apps: 1.0 },
            same(&[Roll], 1.0),
            same(&[RollBack], 1.0),
            same(&[Scale], 1.0),
        ],
    },
    Target {
        what: "time to complete, p50",
        figure: Figure::Time(50),
        about: is_burst,
        digits: 2,
        limits: &[Limit { operations: &[Roll], ours: 0.55, apps: 0.45 }],
    },
    Target {
        what: "time to complete, p99",
        figure: Figure::Time(99),
        about: is_burst,
        digits: 2,
        limits: &[Limit { operations: &[Roll], ours: 0.95, apps: 0.8 }],
    },
    Target {
        what: "time to complete, p50",
        figure: Figure::Time(50),
        about: |scenario| scenario.deployments == 300,
        digits: 2,
        limits: &[same(&[Roll], 0.8)],
    },
    Target {
        what: "time to complete, p99",
        figure: Figure::Time(99),
        about: |scenario| scenario.deployments == 300,
        digits: 2,
        limits: &[same(&[Roll], 0.95)],
    },
    Target {
        what: "first new pod, p50",
        figure: Figure::FirstPod(50),
        about: |_| true,
        digits: 2,
        limits: &[same(&[Roll], 0.6)],
    },
    Target {
        what: "writes with events",
        figure: Figure::WritesAndEvents,
        about: Scenario::is_instant,
        digits: 2,
        limits: &[same(&[Create], 0.6), same(&[Scale], 0.8), same(&[Roll], 0.5)],
    },
    Target {
        what: "writes with events",
        figure: Figure::WritesAndEvents,
        about: |scenario| !scenario.is_instant(),
        digits: 2,
        limits: &[same(&[Create], 0.6), same(&[Scale], 0.7), same(&[Roll], 0.6)],
    },
];

/// These are about all operations together.
const CPU_TARGETS: [Target; 2] = [
    Target {
        what: "CPU of the controller",
        figure: Figure::Cpu,
        about: |_| true,
        digits: 2,
        limits: &[same(EVERYTHING, 0.25)],
    },
    Target {
        what: "CPU of controller and kube-apiserver",
        figure: Figure::BothCpu,
        about: |_| true,
        digits: 2,
        limits: &[Limit { operations: EVERYTHING, ours: 1.0, apps: 0.8 }],
    },
];

/// The outcome of a target.
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

impl Outcome {
    pub(crate) fn of(is_met: bool, text: String) -> Self {
        if is_met { Self::Met(text) } else { Self::NotMet(text) }
    }
}

/// The verdicts on everything that was played.
pub(crate) fn judge(played: &[Played], news: Option<&News>) -> Vec<Verdict> {
    let judged = || played.iter().filter(|played| played.scenario.is_judged());
    let targets = TARGETS.iter().chain(&CPU_TARGETS);
    let verdicts = targets.flat_map(|target| {
        judged().filter(|played| (target.about)(&played.scenario)).map(|played| target.judge(played))
    });
    verdicts.chain(news.into_iter().flat_map(News::verdicts)).collect()
}

impl Target {
    fn judge(&self, played: &Played) -> Verdict {
        let limits: Vec<String> = self.limits.iter().map(Limit::text).collect();
        Verdict {
            what: format!("{}: {}", played.scenario.name(), self.what),
            target: limits.join(", "),
            results: [Side::OurKind, Side::AppsV1].map(|side| self.outcome(played, side)),
        }
    }

    fn outcome(&self, played: &Played, side: Side) -> Outcome {
        let (mut texts, mut is_met) = (Vec::new(), true);
        for limit in self.limits {
            let values = |side| played.values(side, limit.operations, self.figure);
            let Some(ratio) = Ratio::of(&values(side), &values(Side::Upstream)) else { continue };
            let most = if side == Side::AppsV1 { limit.apps } else { limit.ours };
            let (is_within, text) = within(ratio.median, most, self.digits);
            is_met &= is_within;
            texts.push(format!("{}{text}", limit.name()));
        }
        if texts.is_empty() { Outcome::NotMeasured } else { Outcome::of(is_met, texts.join(", ")) }
    }
}

impl Limit {
    /// Which operation it is about, unless it is about all.
    fn name(&self) -> String {
        match self.operations {
            [operation] => format!("{} ", operation.name()),
            _ => String::new(),
        }
    }

    fn text(&self) -> String {
        let name = self.name();
        if (self.ours - self.apps).abs() < f64::EPSILON {
            format!("{name}≤ {} ×", self.ours)
        } else {
            format!("{name}≤ {} × (apps/v1 {})", self.ours, self.apps)
        }
    }
}

/// Whether a ratio, rounded, is allowed; as text, in bold if not.
pub(crate) fn within(ratio: f64, most: f64, digits: usize) -> (bool, String) {
    let text = format!("{ratio:.digits$}");
    let is_within = text.parse::<f64>().is_ok_and(|rounded| rounded <= most);
    (is_within, if is_within { format!("{text} ×") } else { format!("**{text} ×**") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_rounded_before_they_are_compared() {
        assert_eq!(within(1.049, 1.0, 1), (true, "1.0 ×".to_owned()));
        assert_eq!(within(1.051, 1.0, 1), (false, "**1.1 ×**".to_owned()));
        assert_eq!(within(0.254, 0.25, 2), (true, "0.25 ×".to_owned()));
        assert!(!within(f64::NAN, 1.0, 2).0);
    }

    #[test]
    fn every_standard_scenario_has_targets_for_all_of_the_table() {
        for scenario in crate::scenario::standard() {
            let targets = TARGETS.iter().chain(&CPU_TARGETS).filter(|target| (target.about)(&scenario));
            let expected = if is_burst(&scenario) { 7 } else { 5 };
            assert_eq!(targets.count(), expected, "{}", scenario.name());
        }
    }

    #[test]
    fn a_target_is_missed_if_one_operation_misses_it() {
        let scenario = crate::scenario::standard()[1];
        assert!(is_burst(&scenario));
        let sides = [(Side::Upstream, 100), (Side::OurKind, 109), (Side::AppsV1, 50)];
        let verdicts = judge(&[Played::made_up(scenario, sides)], None);
        let of = |what: &str| verdicts.iter().find(|verdict| verdict.what.ends_with(what)).unwrap();
        let Verdict { what, target, results: [ours, apps] } = of("all complete");
        assert_eq!(what, "500x2-0.1s: all complete");
        assert_eq!(target, "create ≤ 1.1 × (apps/v1 1), roll out ≤ 1 ×, roll back ≤ 1 ×, scale ≤ 1 ×");
        let text = "create 1.1 ×, roll out **1.1 ×**, roll back **1.1 ×**, scale **1.1 ×**";
        assert_eq!(*ours, Outcome::NotMet(text.to_owned()));
        assert!(matches!(apps, Outcome::Met(_)), "{apps:?}");
        let Verdict { results: [ours, apps], .. } = of("CPU of controller and kube-apiserver");
        assert_eq!(*ours, Outcome::NotMet("**1.09 ×**".to_owned()));
        assert_eq!(*apps, Outcome::Met("0.52 ×".to_owned()));
    }

    #[test]
    fn trouble_is_measured_and_not_judged() {
        let troubled = |scenario: &Scenario| scenario.trouble != crate::scenario::Trouble::None;
        let scenario = crate::scenario::full().into_iter().find(troubled).unwrap();
        let sides = Side::ALL.map(|side| (side, 1));
        assert!(judge(&[Played::made_up(scenario, sides)], None).is_empty());
    }
}
