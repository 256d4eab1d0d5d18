//! The tables, in Markdown.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::figure::{Figure, Ratio, median};
use crate::played::Played;
use crate::side::Side;
use crate::target::{Outcome, Verdict};

const NONE: &str = "–";

/// Targets and whether they are met.
pub(crate) fn targets(verdicts: &[Verdict]) -> String {
    let mut text =
        "| figure | target | Rollwright | | on apps/v1 | |\n|---|---|---|---|---|---|\n".to_owned();
    for Verdict { what, target, results: [ours, apps] } in verdicts {
        let _ = writeln!(text, "| {what} | {target} | {} | {} |", outcome(ours), outcome(apps));
    }
    text
}

fn outcome(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Met(text) => format!("{text} | met"),
        Outcome::NotMet(text) => format!("{text} | **not met**"),
        Outcome::NotMeasured => format!("{NONE} | not measured"),
    }
}

/// Everything about one scenario.
pub(crate) fn scenario(played: &Played) -> String {
    let scenario = &played.scenario;
    let mut text = format!(
        "### `{}`\n\n{}; rounds per side: {}.\n\n",
        scenario.name(),
        scenario.about(),
        scenario.rounds
    );
    text.push_str("| | Kubernetes | Rollwright | ratio | on apps/v1 | ratio |\n|---|---|---|---|---|---|\n");
    for operation in scenario.operations {
        for figure in Figure::ALL {
            let values = Side::ALL.map(|side| played.values(side, &[*operation], figure));
            if values.iter().flatten().any(|value| *value > 0.0) {
                text.push_str(&row(&format!("{}: {}", operation.name(), figure.name()), &values));
            }
        }
    }
    let of_rounds =
        |figure: fn(&crate::round::Round) -> f64| Side::ALL.map(|side| played.of(side).map(figure).collect());
    text.push_str(&row(
        "start-up until a Deployment is seen to (s)",
        &of_rounds(|round| round.start_up.as_secs_f64()),
    ));
    text.push_str(&row("resident at most (MiB)", &of_rounds(|round| mebibytes(round.usage.peak))));
    text
}

/// Which writes the operations of a scenario are made of.
pub(crate) fn writes(played: &Played) -> String {
    let mut text = "| writes each | Kubernetes | Rollwright | on apps/v1 |\n|---|---|---|---|\n".to_owned();
    for operation in played.scenario.operations {
        let counts = Side::ALL.map(|side| played.writes_by_kind(side, *operation));
        let kinds: BTreeSet<&String> = counts.iter().flat_map(BTreeMap::keys).collect();
        for kind in kinds {
            let of = |counts: &BTreeMap<String, f64>| {
                counts.get(kind).map_or(NONE.to_owned(), |count| format!("{count:.2}"))
            };
            let [upstream, ours, apps] = counts.each_ref().map(of);
            let _ = writeln!(text, "| {}: {kind} | {upstream} | {ours} | {apps} |", operation.name());
        }
    }
    text
}

fn row(name: &str, values: &[Vec<f64>; 3]) -> String {
    let [upstream, ours, apps] = values;
    let value = |values: &[f64]| median(values).map_or(NONE.to_owned(), number);
    let ratio = |values: &[f64]| {
        Ratio::of(values, upstream).map_or(NONE.to_owned(), |Ratio { least, median, most }| {
            if values.len() > 1 {
                format!("{median:.2} ({least:.2}–{most:.2})")
            } else {
                format!("{median:.2}")
            }
        })
    };
    let (theirs, of_ours, of_apps) = (value(upstream), value(ours), value(apps));
    format!("| {name} | {theirs} | {of_ours} | {} | {of_apps} | {} |\n", ratio(ours), ratio(apps))
}

fn number(value: f64) -> String {
    if value >= 100.0 {
        format!("{value:.0}")
    } else if value >= 10.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.2}")
    }
}

#[allow(clippy::cast_precision_loss, reason = "sizes of processes are far below 2^53")]
pub(crate) fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_has_its_rows() {
        let scenario = crate::scenario::quick()[1];
        let sides = [(Side::Upstream, 10), (Side::OurKind, 20), (Side::AppsV1, 5)];
        let played = Played::made_up(scenario, sides);
        let text = super::scenario(&played);
        for part in [
            "### `50x2-8s`\n",
            "pods ready after 8 s and gone after 3 s; rounds per side: 1.",
            "| create: all complete (s) | 10.0 | 20.0 | 2.00 | 5.00 | 0.50 |\n",
            "| scale: first new pod, p50 (s) | 30.0 | 60.0 | 2.00 | 15.0 | 0.50 |\n",
            "| roll out: CPU of kube-apiserver each (ms) | 200 | 200 | 1.00 | 200 | 1.00 |\n",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains("dry runs"), "{text}");
        assert!(
            writes(&played).contains("| roll out: patch apps | – | – | 10.00 |\n"),
            "{}",
            writes(&played)
        );
    }
}
