//! The targets for Rollwright.

use crate::side::Side;

/// The most that is allowed of a figure. The first target that fits is the one that counts.
pub(crate) struct Target {
    /// Which scenarios it is about: those with this in their names.
    scenario: &'static str,
    operation: &'static str,
    /// The figures with this in their names.
    figure: &'static str,
    /// For a share of what Kubernetes' controller needs in the same round: the ratio is rounded to this many digits
    /// before it is compared.
    digits: Option<usize>,
    ours: f64,
    apps: f64,
}

type Names = [&'static str; 3];

const fn share([scenario, operation, figure]: Names, digits: usize, ours: f64, apps: f64) -> Target {
    Target { scenario, operation, figure, digits: Some(digits), ours, apps }
}

const fn most([scenario, operation, figure]: Names, most: f64) -> Target {
    Target { scenario, operation, figure, digits: None, ours: most, apps: most }
}

const COMPLETE: &str = "all complete";
const P50: &str = "time to complete, p50";
const P99: &str = "time to complete, p99";
const WRITES: &str = "writes with events";

const TARGETS: [Target; 23] = [
    share(["500x2-0.1s", "create", COMPLETE], 1, 1.1, 1.0),
    share(["", "create", COMPLETE], 1, 1.0, 1.0),
    share(["", "roll out", COMPLETE], 1, 1.0, 1.0),
    share(["", "roll back", COMPLETE], 1, 1.0, 1.0),
    share(["", "scale", COMPLETE], 1, 1.0, 1.0),
    share(["500x2-0.1s", "roll out", P50], 2, 0.55, 0.45),
    share(["500x2-0.1s", "roll out", P99], 2, 0.95, 0.8),
    share(["300x2-", "roll out", P50], 2, 0.8, 0.8),
    share(["300x2-", "roll out", P99], 2, 0.95, 0.95),
    share(["", "roll out", "first new pod, p50"], 2, 0.6, 0.6),
    share(["", "create", WRITES], 2, 0.6, 0.6),
    share(["-0.1s", "scale", WRITES], 2, 0.8, 0.8),
    share(["", "scale", WRITES], 2, 0.7, 0.7),
    share(["-0.1s", "roll out", WRITES], 2, 0.5, 0.5),
    share(["", "roll out", WRITES], 2, 0.6, 0.6),
    share(["", "all", "CPU of the controller"], 2, 0.25, 0.25),
    share(["", "all", "CPU of both"], 2, 1.0, 0.8),
    most(["news", "one of 100", "p99"], 1.0),
    most(["news", "500 of 2", "p99"], 3.0),
    most(["idle", "", "an edit during it"], 5.0),
    most(["idle-10000", "", "most memory"], 64.0),
    most(["idle-10000", "", "idle (MiB)"], 48.0),
    most(["idle", "", "requests while idle"], 0.0),
];

/// The target of a figure, if it has one.
pub(crate) fn of(scenario: &str, operation: &str, figure: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| {
        scenario.contains(target.scenario) && operation == target.operation && figure.contains(target.figure)
    })
}

impl Target {
    /// Whether a side misses it, with this value and this ratio.
    pub(crate) fn is_missed(&self, side: Side, value: f64, ratio: Option<f64>) -> bool {
        let most = match side {
            Side::Upstream | Side::ArgoRollouts => return false,
            Side::OurKind => self.ours,
            Side::AppsV1 => self.apps,
        };
        match self.digits {
            None => value > most,
            Some(digits) => ratio
                .is_some_and(|ratio| format!("{ratio:.digits$}").parse::<f64>().is_ok_and(|it| it > most)),
        }
    }

    /// For the table.
    pub(crate) fn text(&self) -> String {
        let unit = if self.digits.is_some() { " ×" } else { "" };
        let apps = if self.apps < self.ours { format!(" (apps/v1 {})", self.apps) } else { String::new() };
        format!("≤ {}{unit}{apps}", self.ours)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_rounded_before_they_are_compared() {
        let complete = of("500x2-8s", "roll out", "all complete (s)").unwrap();
        let is_missed = |ratio| complete.is_missed(Side::OurKind, 9.0, Some(ratio));
        assert!(!is_missed(1.049) && is_missed(1.051));
        assert!(!complete.is_missed(Side::Upstream, 9.0, Some(2.0)));
        let idle = of("idle-10000", "", "most memory (MiB)").unwrap();
        assert!(idle.is_missed(Side::AppsV1, 64.1, None) && !idle.is_missed(Side::AppsV1, 64.0, Some(2.0)));
    }

    #[test]
    fn the_target_of_a_burst_is_its_own() {
        let text = |scenario| of(scenario, "create", "all complete (s)").map(Target::text);
        assert_eq!(text("500x2-0.1s").as_deref(), Some("≤ 1.1 × (apps/v1 1)"));
        assert_eq!(text("500x2-8s").as_deref(), Some("≤ 1 ×"));
        assert!(of("100x5-8s", "roll out", "time to complete, p50 (s)").is_none());
    }
}
