//! Figures by name, so that sides can be compared one by one.

use std::time::Duration;

/// What was measured of one side in one round.
#[derive(Clone, Debug)]
pub(crate) struct Figure {
    /// What was done to the Deployments, or empty.
    pub(crate) operation: &'static str,
    /// With its unit.
    pub(crate) name: String,
    values: Vec<f64>,
    /// The percentile of the values, if there are many; then those of all rounds count together.
    share: Option<usize>,
}

impl Figure {
    pub(crate) fn new(operation: &'static str, name: impl Into<String>, value: f64) -> Self {
        Self { operation, name: name.into(), values: vec![value], share: None }
    }

    /// A percentile of times.
    pub(crate) fn pooled(
        operation: &'static str,
        name: impl Into<String>,
        times: &[Duration],
        share: usize,
    ) -> Self {
        Self { operation, name: name.into(), values: seconds(times), share: Some(share) }
    }

    /// The figure of its round.
    pub(crate) fn value(&self) -> f64 {
        Self::of_all(&[self]).unwrap_or_default()
    }

    /// The figure of some rounds together; none without a value.
    pub(crate) fn of_all(rounds: &[&Self]) -> Option<f64> {
        let values: Vec<f64> = rounds.iter().flat_map(|figure| &figure.values).copied().collect();
        match rounds.first()?.share {
            Some(share) => percentile(values, share),
            None => median(&values),
        }
    }
}

pub(crate) fn seconds(times: &[Duration]) -> Vec<f64> {
    times.iter().map(Duration::as_secs_f64).collect()
}

pub(crate) fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

#[allow(clippy::cast_precision_loss, reason = "counts of requests are far below 2^53")]
pub(crate) fn count(count: usize) -> f64 {
    count as f64
}

#[allow(clippy::cast_precision_loss, reason = "sizes of processes are far below 2^53")]
pub(crate) fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// A share of all, in percent, is as small or smaller: the nearest rank.
pub(crate) fn percentile(mut values: Vec<f64>, share: usize) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let rank = (values.len() * share).div_ceil(100).max(1);
    values.get(rank - 1).copied()
}

/// The middle one of some values, the mean of two if there are two in the middle.
fn median(values: &[f64]) -> Option<f64> {
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
    pub(crate) fn of(ours: &[&Figure], theirs: &[&Figure]) -> Option<Self> {
        let pairs = ours.iter().zip(theirs).map(|(ours, theirs)| (ours.value(), theirs.value()));
        let ratios: Vec<f64> =
            pairs.filter(|(_, theirs)| *theirs > 0.0).map(|(ours, theirs)| ours / theirs).collect();
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
        let times: Vec<f64> = (1..=200).map(f64::from).collect();
        assert_eq!(percentile(times.clone(), 50), Some(100.0));
        assert_eq!(percentile(times, 99), Some(198.0));
        assert_eq!(percentile(vec![1.0], 99), Some(1.0));
        assert_eq!(percentile(Vec::new(), 50), None);
    }

    #[test]
    fn rounds_count_by_their_median_or_together() {
        let of = |values: &[f64]| -> Vec<Figure> {
            values.iter().map(|value| Figure::new("", "x", *value)).collect()
        };
        let all = |figures: &[Figure]| Figure::of_all(&figures.iter().collect::<Vec<_>>());
        assert_eq!(all(&of(&[3.0, 1.0, 2.0])), Some(2.0));
        assert_eq!(all(&of(&[4.0, 2.0])), Some(3.0));
        assert_eq!(all(&[]), None);
        let pooled = |times: [u64; 3]| Figure::pooled("", "x", &times.map(Duration::from_secs), 99);
        assert_eq!(all(&[pooled([1, 2, 3]), pooled([1, 9, 1])]), Some(9.0));
    }

    #[test]
    fn compares_round_by_round() {
        let of = |values: [f64; 3]| values.map(|value| Figure::new("", "x", value));
        let (ours, theirs) = (of([1.0, 3.0, 1.0]), of([2.0, 3.0, 0.0]));
        let ratio = Ratio::of(&ours.each_ref(), &theirs.each_ref()).unwrap();
        assert_eq!((ratio.least, ratio.median, ratio.most), (0.5, 0.75, 1.0));
        assert_eq!(Ratio::of(&ours.each_ref(), &of([0.0; 3]).each_ref()), None);
    }
}
