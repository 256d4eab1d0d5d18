//! A scenario with all its rounds.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use crate::csv::Csv;
use crate::failure::Failure;
use crate::figure::Figure;
use crate::round::{self, Round};
use crate::scenario::{Operation, Scenario};
use crate::side::Side;

/// The outcome of a scenario.
pub(crate) struct Played {
    pub(crate) scenario: Scenario,
    pub(crate) rounds: Vec<Round>,
}

impl Played {
    /// Plays all rounds, the sides in turns (A B C A B C).
    pub(crate) async fn play(
        operator: &Path,
        scenario: Scenario,
        sides: &[Side],
        csv: &mut Csv,
    ) -> Result<Self, Failure> {
        let (name, mut rounds) = (scenario.name(), Vec::new());
        for number in 1..=scenario.rounds {
            for side in sides {
                let started = Instant::now();
                let round = round::play(operator, &scenario, *side).await?;
                let seconds = started.elapsed().as_secs();
                eprintln!("{name}: round {number} of {}, {}: {seconds} s", scenario.rounds, side.name());
                csv.add(&name, number, &round)?;
                rounds.push(round);
            }
        }
        Ok(Self { scenario, rounds })
    }

    /// A figure of one side, by round, of these operations together.
    pub(crate) fn values(&self, side: Side, operations: &[Operation], figure: Figure) -> Vec<f64> {
        self.of(side).filter_map(|round| figure.of(round, operations)).collect()
    }

    /// The rounds of one side.
    pub(crate) fn of(&self, side: Side) -> impl Iterator<Item = &Round> {
        self.rounds.iter().filter(move |round| round.side == side)
    }

    /// Writes per Deployment of one side by verb and resource, in all rounds together.
    pub(crate) fn writes_by_kind(&self, side: Side, operation: Operation) -> BTreeMap<String, f64> {
        let mut counts = BTreeMap::<String, u64>::new();
        let mut edits = 0;
        for round in self.of(side) {
            for phase in round.phases.iter().filter(|phase| phase.operation == operation) {
                edits += round.deployments;
                for (kind, count) in &phase.traffic.by_kind {
                    *counts.entry(kind.clone()).or_default() += count;
                }
            }
        }
        #[allow(clippy::cast_precision_loss, reason = "counts of requests are far below 2^53")]
        let each = |count: u64| count as f64 / edits.max(1) as f64;
        counts.into_iter().map(|(kind, count)| (kind, each(count))).collect()
    }
}

#[cfg(test)]
impl Played {
    /// One round per side of a scenario; operation number n of a side takes n times the `seconds`, and as many writes
    /// of a kind of its own.
    pub(crate) fn made_up(scenario: Scenario, seconds: [(Side, u64); 3]) -> Self {
        use std::time::Duration;

        let phase = |operation, side: Side, seconds: u64| round::Phase {
            operation,
            times: vec![Duration::from_secs(seconds); scenario.deployments],
            first_pods: vec![Duration::from_secs(seconds); scenario.deployments],
            all: Duration::from_secs(seconds),
            cpu: Duration::from_secs(seconds),
            server_cpu: Duration::from_secs(10),
            traffic: crate::traffic::Traffic {
                by_kind: [(format!("patch {}", side.short()), seconds * scenario.deployments as u64)].into(),
                ..Default::default()
            },
        };
        let phases = |side, seconds| {
            let operations = scenario.operations.iter().copied().zip(1..);
            operations.map(|(operation, number)| phase(operation, side, number * seconds)).collect()
        };
        let round = |(side, seconds)| Round {
            side,
            deployments: scenario.deployments,
            start_up: Duration::from_secs(1),
            phases: phases(side, seconds),
            usage: crate::usage::Usage::default(),
        };
        Self { scenario, rounds: seconds.map(round).into() }
    }
}
