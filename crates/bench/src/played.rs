//! A scenario with all its rounds.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use cluster::Cluster;

use crate::failure::Failure;
use crate::figure::Figure;
use crate::round::{self, Round};
use crate::scenario::{Operation, Scenario};
use crate::side::Side;

/// What came of a scenario.
pub(crate) struct Played {
    pub(crate) scenario: Scenario,
    pub(crate) rounds: Vec<Round>,
}

impl Played {
    /// Plays all rounds, the sides in turns (A B C A B C).
    pub(crate) async fn play(
        cluster: &Cluster,
        operator: &Path,
        scenario: Scenario,
        sides: &[Side],
    ) -> Result<Self, Failure> {
        let mut rounds = Vec::new();
        for number in 1..=scenario.rounds {
            for side in sides {
                let started = Instant::now();
                let round = round::play(cluster, operator, &scenario, *side).await?;
                let seconds = started.elapsed().as_secs();
                eprintln!(
                    "{}: round {number} of {}, {}: {seconds} s",
                    scenario.name,
                    scenario.rounds,
                    side.name()
                );
                rounds.push(round);
            }
        }
        Ok(Self { scenario, rounds })
    }

    /// A figure of one side, by round.
    pub(crate) fn values(&self, side: Side, operation: Operation, figure: Figure) -> Vec<f64> {
        self.of(side).filter_map(|round| figure.of(round, operation)).collect()
    }

    /// The rounds of one side.
    pub(crate) fn of(&self, side: Side) -> impl Iterator<Item = &Round> {
        self.rounds.iter().filter(move |round| round.side == side)
    }

    /// Writes per rollout of one side by verb and resource, in all rounds together.
    pub(crate) fn writes_by_kind(&self, side: Side) -> BTreeMap<String, f64> {
        let mut counts = BTreeMap::<String, u64>::new();
        let mut rollouts = 0;
        for round in self.of(side) {
            for phase in round.phases.iter().filter(|phase| phase.operation == Operation::Roll) {
                rollouts += round.deployments;
                for (kind, count) in &phase.writes.by_kind {
                    *counts.entry(kind.clone()).or_default() += count;
                }
            }
        }
        #[allow(clippy::cast_precision_loss, reason = "counts of requests are far below 2^53")]
        let each = |count: u64| count as f64 / rollouts.max(1) as f64;
        counts.into_iter().map(|(kind, count)| (kind, each(count))).collect()
    }
}
