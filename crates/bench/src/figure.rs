//! The figures of a round, by name, so that sides can be compared one by one.

use std::time::Duration;

use crate::round::{Phase, Round};
use crate::scenario::Operation;

/// What is told of one operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Figure {
    /// Seconds from an edit to its being complete, by percentile.
    Time(Percentile),
    /// Seconds from the first edit until all are complete.
    All,
    /// Milliseconds of processor time per Deployment.
    Cpu,
    /// Write requests per Deployment, events apart.
    Writes,
    /// Event writes per Deployment.
    Events,
    /// Answers 409 per Deployment.
    Conflicts,
    /// Milliseconds from news of a ReplicaSet to the write that follows from it.
    Reaction(Percentile),
}

/// A share of all, in percent, that were as quick or quicker.
pub(crate) type Percentile = usize;

impl Figure {
    pub(crate) const ALL: [Self; 10] = [
        Self::Time(50),
        Self::Time(90),
        Self::Time(99),
        Self::All,
        Self::Reaction(50),
        Self::Reaction(99),
        Self::Writes,
        Self::Events,
        Self::Conflicts,
        Self::Cpu,
    ];

    pub(crate) fn name(self) -> String {
        match self {
            Self::Time(percentile) => format!("time to complete, p{percentile} (s)"),
            Self::All => "all complete (s)".to_owned(),
            Self::Cpu => "CPU each (ms)".to_owned(),
            Self::Writes => "writes each, events apart".to_owned(),
            Self::Events => "event writes each".to_owned(),
            Self::Conflicts => "conflicts (409) each".to_owned(),
            Self::Reaction(percentile) => format!("reaction, p{percentile} (ms)"),
        }
    }

    /// Of all phases of a round with this operation; none if it was not done, or shows nothing.
    pub(crate) fn of(self, round: &Round, operation: Operation) -> Option<f64> {
        let phases: Vec<&Phase> = round.phases.iter().filter(|phase| phase.operation == operation).collect();
        if phases.is_empty() {
            return None;
        }
        let each = |count: u64| ratio(count, (phases.len() * round.deployments) as u64);
        let sum = |count: fn(&Phase) -> u64| each(phases.iter().map(|phase| count(phase)).sum());
        match self {
            Self::Time(share) => percentile(phases.iter().flat_map(|phase| &phase.times), share),
            Self::All => percentile(phases.iter().map(|phase| &phase.all), 50),
            Self::Cpu => {
                sum(|phase| u64::try_from(phase.cpu.as_micros()).unwrap_or(u64::MAX)).map(|cpu| cpu / 1000.0)
            }
            Self::Writes => sum(|phase| phase.writes.total()),
            Self::Events => sum(|phase| phase.writes.events),
            Self::Conflicts => sum(|phase| phase.writes.conflicts),
            Self::Reaction(share) => {
                let reactions = phases.iter().flat_map(|phase| &phase.writes.reactions);
                percentile(reactions, share).map(|seconds| seconds * 1000.0)
            }
        }
    }
}

#[allow(clippy::cast_precision_loss, reason = "counts of requests are far below 2^53")]
fn ratio(count: u64, of: u64) -> Option<f64> {
    (of > 0).then(|| count as f64 / of as f64)
}

/// In seconds; the nearest rank.
fn percentile<'a>(times: impl Iterator<Item = &'a Duration>, share: Percentile) -> Option<f64> {
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
    /// Of ours to theirs; none where theirs is 0.
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
