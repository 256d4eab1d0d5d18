//! The figures of a round, by name, so that sides can be compared one by one.

use std::time::Duration;

use crate::round::{Phase, Round};
use crate::scenario::Operation;

/// A figure of one operation, or of some together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Figure {
    /// Seconds from the first edit until all are complete.
    All,
    /// Seconds from an edit to its being complete, by percentile.
    Time(Percentile),
    /// Seconds from an edit to its first new pod, by percentile.
    FirstPod(Percentile),
    /// Write requests per Deployment, events apart.
    Writes,
    /// Event writes per Deployment.
    Events,
    /// Both.
    WritesAndEvents,
    /// Reads per Deployment, but for watches.
    Reads,
    /// Dry runs per Deployment.
    DryRuns,
    /// Answers 409 per Deployment.
    Conflicts,
    /// Milliseconds of the controller's processor time per Deployment.
    Cpu,
    /// The same of the API server.
    ServerCpu,
    /// Of both together.
    BothCpu,
}

/// A share of all, in percent, that were as quick or quicker.
pub(crate) type Percentile = usize;

impl Figure {
    /// In the order of the tables.
    pub(crate) const ALL: [Self; 12] = [
        Self::All,
        Self::Time(50),
        Self::Time(99),
        Self::FirstPod(50),
        Self::Writes,
        Self::Events,
        Self::WritesAndEvents,
        Self::Reads,
        Self::DryRuns,
        Self::Conflicts,
        Self::Cpu,
        Self::ServerCpu,
    ];

    pub(crate) fn name(self) -> String {
        match self {
            Self::All => "all complete (s)".to_owned(),
            Self::Time(percentile) => format!("time to complete, p{percentile} (s)"),
            Self::FirstPod(percentile) => format!("first new pod, p{percentile} (s)"),
            Self::Writes => "writes each, events apart".to_owned(),
            Self::Events => "event writes each".to_owned(),
            Self::WritesAndEvents => "writes with events each".to_owned(),
            Self::Reads => "reads each".to_owned(),
            Self::DryRuns => "dry runs each".to_owned(),
            Self::Conflicts => "conflicts (409) each".to_owned(),
            Self::Cpu => "CPU of the controller each (ms)".to_owned(),
            Self::ServerCpu => "CPU of kube-apiserver each (ms)".to_owned(),
            Self::BothCpu => "CPU of both each (ms)".to_owned(),
        }
    }

    /// Of all these operations in a round together; none if there was none of them, or it shows nothing.
    pub(crate) fn of(self, round: &Round, operations: &[Operation]) -> Option<f64> {
        let phases = round.phases.iter().filter(|phase| operations.contains(&phase.operation));
        let phases: Vec<&Phase> = phases.collect();
        let each = |count: fn(&Phase) -> u64| {
            let sum = phases.iter().map(|phase| count(phase)).sum();
            ratio(sum, (phases.len() * round.deployments) as u64)
        };
        match self {
            Self::All => percentile(phases.iter().map(|phase| &phase.all), 50),
            Self::Time(share) => percentile(phases.iter().flat_map(|phase| &phase.times), share),
            Self::FirstPod(share) => percentile(phases.iter().flat_map(|phase| &phase.first_pods), share),
            Self::Writes => each(|phase| phase.traffic.writes()),
            Self::Events => each(|phase| phase.traffic.events),
            Self::WritesAndEvents => each(|phase| phase.traffic.writes() + phase.traffic.events),
            Self::Reads => each(|phase| phase.traffic.reads),
            Self::DryRuns => each(|phase| phase.traffic.dry_runs),
            Self::Conflicts => each(|phase| phase.traffic.conflicts),
            Self::Cpu => each(|phase| microseconds(phase.cpu)).map(|cpu| cpu / 1000.0),
            Self::ServerCpu => each(|phase| microseconds(phase.server_cpu)).map(|cpu| cpu / 1000.0),
            Self::BothCpu => each(|phase| microseconds(phase.cpu + phase.server_cpu)).map(|cpu| cpu / 1000.0),
        }
    }
}

fn microseconds(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

#[allow(clippy::cast_precision_loss, reason = "counts of requests are far below 2^53")]
fn ratio(count: u64, of: u64) -> Option<f64> {
    (of > 0).then(|| count as f64 / of as f64)
}

/// In seconds; the nearest rank.
pub(crate) fn percentile<'a>(times: impl Iterator<Item = &'a Duration>, share: Percentile) -> Option<f64> {
    let mut times: Vec<&Duration> = times.collect();
    times.sort();
    let rank = (times.len() * share).div_ceil(100).max(1);
    times.get(rank - 1).map(|time| time.as_secs_f64())
}

/// The middle one of some values, the mean of two if there are two in the middle.
pub(crate) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let high = *sorted.get(sorted.len() / 2)?;
    let low = *sorted.get(sorted.len().saturating_sub(1) / 2)?;
    Some(f64::midpoint(low, high))
}

/// A comparison of two sides, round by round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ratio {
    pub(crate) least: f64,
    pub(crate) median: f64,
    pub(crate) most: f64,
}

impl Ratio {
    /// The ratio of Rollwright's to Kubernetes'; none where Kubernetes' is 0.
    pub(crate) fn of(ours: &[f64], theirs: &[f64]) -> Option<Self> {
        let pairs = ours.iter().zip(theirs).filter(|(_, theirs)| **theirs > 0.0);
        let ratios: Vec<f64> = pairs.map(|(ours, theirs)| ours / theirs).collect();
        Some(Self {
            least: ratios.iter().copied().reduce(f64::min)?,
            median: median(&ratios)?,
            most: ratios.iter().copied().reduce(f64::max)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_nearest_ranks() {
        let times: Vec<Duration> = (1..=200).map(Duration::from_secs).collect();
        assert_eq!(percentile(times.iter(), 50), Some(100.0));
        assert_eq!(percentile(times.iter(), 99), Some(198.0));
        assert_eq!(percentile(times.iter().take(1), 99), Some(1.0));
        assert_eq!(percentile([].iter(), 50), None);
    }

    #[test]
    fn compares_round_by_round() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 2.0]), Some(3.0));
        assert_eq!(median(&[]), None);
        let ratio = Ratio::of(&[1.0, 3.0, 1.0], &[2.0, 3.0, 0.0]).unwrap();
        assert_eq!((ratio.least, ratio.median, ratio.most), (0.5, 0.75, 1.0));
        assert_eq!(Ratio::of(&[1.0], &[0.0]), None);
    }
}
