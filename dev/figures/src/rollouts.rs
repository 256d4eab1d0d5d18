//! Write requests per rollout, of the production planner, executor, cache and queue in the simulator.

use std::collections::BTreeMap;

use sim::scenario::{Scenario, Start};
use sim::{Settings, play};

use crate::Failure;
use crate::record::Figures;

/// As many rollouts, without faults; in each pods take their own time.
const SEEDS: u16 = 500;

/// The number of pods.
const REPLICAS: i64 = 10;

/// For both APIs: all of them, and by verb and resource. Events are not among them.
///
/// # Errors
/// If a rollout breaks a rule of the simulator: then what it costs means nothing.
pub fn measure() -> Result<Figures, Failure> {
    let mut figures = Figures::new();
    for (api, is_apps) in [("our kind", false), ("apps/v1", true)] {
        let mut counts = BTreeMap::<&str, f64>::new();
        for seed in 0..SEEDS {
            let plain = Scenario::plain(u64::from(seed));
            let start = Start { replicas: REPLICAS, ..plain.start };
            let scenario = Scenario { is_apps, start, ..plain };
            // Before is what creating it took.
            let since = scenario.steps.first().map_or(0, |step| step.at);
            let report = play(&scenario, &Settings::default());
            if let Some(violation) = report.violation {
                return Err(Failure::Subject(format!(
                    "seed {seed}: {}: {}",
                    violation.check, violation.text
                )));
            }
            for write in report.sent_writes.iter().filter(|write| write.at >= since) {
                *counts.entry(write.what).or_default() += 1.0;
                *counts.entry("all writes").or_default() += 1.0;
            }
        }
        let each = |(what, count)| {
            (format!("per rollout of {REPLICAS} pods, {api}: {what}"), count / f64::from(SEEDS))
        };
        figures.extend(counts.into_iter().map(each));
    }
    Ok(figures)
}
