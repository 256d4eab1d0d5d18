//! All figures: a table for each scenario in Markdown, and a file with a line for each figure of each round.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;

use crate::failure::Failure;
use crate::figure::{Figure, Ratio};
use crate::scenario::Scenario;
use crate::side::Side;
use crate::target;

const NONE: &str = "–";
const HEAD: &str = "scenario,round,side,operation,figure,value";

/// Everything that was measured in a scenario. **Bold** misses its target.
pub(crate) fn table(scenario: Scenario, rounds: usize, played: &[(Side, Vec<Figure>)]) -> String {
    let peer = played.iter().map(|(side, _)| *side).find(|side| *side == Side::ArgoRollouts);
    let (heads, rules) = peer.map_or(("", ""), |_| (" Argo Rollouts | ratio |", "---|---|"));
    let mut text = format!(
        "### `{scenario}`\n\n{} Rounds per side: {rounds}.\n\n\
         | | Kubernetes | Rollwright | ratio | on apps/v1 | ratio |{heads} target |\n\
         |---|---|---|---|---|---|{rules}---|\n",
        scenario.about(),
    );
    let figures = || played.iter().flat_map(|(_, figures)| figures);
    let (mut operations, mut names) = (Vec::new(), Vec::new());
    for Figure { operation, name, .. } in figures() {
        if !operations.contains(operation) {
            operations.push(*operation);
        }
        if !names.contains(&(*operation, name.as_str())) {
            names.push((*operation, name.as_str()));
        }
    }
    // What only some sides have comes with the rest of its operation.
    names.sort_by_key(|(operation, _)| operations.iter().position(|one| one == operation));
    for (operation, name) in names {
        let is_it = |figure: &&Figure| (figure.operation, figure.name.as_str()) == (operation, name);
        let of = |side| {
            let rounds = played.iter().filter(|(by, _)| *by == side);
            (side, rounds.filter_map(|(_, all)| all.iter().find(is_it)).collect())
        };
        let sides: Vec<(Side, Vec<&Figure>)> = Side::ALL.into_iter().chain(peer).map(of).collect();
        text.push_str(&row(&scenario.to_string(), operation, name, &sides));
    }
    text
}

/// None if there was nothing of it.
fn row(scenario: &str, operation: &str, name: &str, sides: &[(Side, Vec<&Figure>)]) -> String {
    let target = target::of(scenario, operation, name);
    let mut values = sides.iter().filter_map(|(_, rounds)| Figure::of_all(rounds));
    if target.is_none() && !values.any(|value| value > 0.0) {
        return String::new();
    }
    let colon = if operation.is_empty() { "" } else { ": " };
    let mut text = format!("| {operation}{colon}{name} |");
    let theirs = sides.first().map(|(_, rounds)| rounds.as_slice()).unwrap_or_default();
    for (side, rounds) in sides {
        let (side, value) = (*side, Figure::of_all(rounds));
        let ratio = if side == Side::Upstream { None } else { Ratio::of(rounds, theirs) };
        let median = ratio.map(|ratio| ratio.median);
        let is_missed = |value| target.is_some_and(|target| target.is_missed(side, value, median));
        let bold = if value.is_some_and(is_missed) { "**" } else { "" };
        let value = value.map_or(NONE.to_owned(), |value| format!("{bold}{}{bold}", number(value)));
        text.push_str(&format!(" {value} |"));
        if side == Side::Upstream {
            continue;
        }
        let ratio = ratio.map_or(NONE.to_owned(), |Ratio { least, median, most }| {
            let range = if rounds.len() > 1 { format!(" ({least:.2}–{most:.2})") } else { String::new() };
            format!("{bold}{median:.2}{bold}{range}")
        });
        text.push_str(&format!(" {ratio} |"));
    }
    let target = target.map(target::Target::text).unwrap_or_default();
    format!("{text} {target} |\n")
}

fn number(value: f64) -> String {
    if value >= 10.0 { format!("{value:.1}") } else { format!("{value:.2}") }
}

/// A file of figures, or none. It is written as they come: a run of hours that is broken off keeps what it had.
#[derive(Default)]
pub(crate) struct Csv {
    file: Option<File>,
}

impl Csv {
    /// `<date>.csv` in this directory. Runs of one day add to the same file.
    pub(crate) fn open(directory: &Path) -> Result<Self, Failure> {
        let date = jiff::Timestamp::now().strftime("%Y-%m-%d");
        let path = directory.join(format!("{date}.csv"));
        let opened = fs::create_dir_all(directory)
            .and_then(|()| File::options().create(true).append(true).open(&path))
            .and_then(|file| Ok((file.metadata()?.len(), file)));
        let (length, file) = opened.map_err(Failure::io(format!("opening {}", path.display())))?;
        let mut csv = Self { file: Some(file) };
        if length == 0 {
            csv.line(HEAD)?;
        }
        Ok(csv)
    }

    /// Everything of a round.
    pub(crate) fn add(
        &mut self,
        scenario: Scenario,
        round: usize,
        side: Side,
        figures: &[Figure],
    ) -> Result<(), Failure> {
        figures.iter().try_for_each(|figure| {
            let (Figure { operation, name, .. }, value) = (figure, figure.value());
            self.line(&format!("{scenario},{round},{},{operation},\"{name}\",{value:.4}", side.short()))
        })
    }

    fn line(&mut self, line: &str) -> Result<(), Failure> {
        let Some(file) = &mut self.file else { return Ok(()) };
        writeln!(file, "{line}").map_err(Failure::io("writing the figures"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_the_medians_of_all_sides_and_what_misses_its_target() {
        let round = |side, seconds, kind: &str| {
            let figures = vec![
                Figure::new("create", "all complete (s)", seconds),
                Figure::new("create", "reads each", 0.0),
                Figure::new("create", kind, 2.0),
                Figure::new("", "start-up (s)", 1.0),
            ];
            (side, figures)
        };
        let played = [
            round(Side::Upstream, 10.0, "update x each"),
            round(Side::OurKind, 20.0, "patch x each"),
            round(Side::AppsV1, 5.0, "patch x each"),
        ];
        let text = table("50x2-8s".parse().unwrap(), 1, &played);
        let rows = "\
            | create: all complete (s) | 10.0 | **20.0** | **2.00** | 5.00 | 0.50 | ≤ 1 × |\n\
            | create: update x each | 2.00 | – | – | – | – |  |\n\
            | create: patch x each | – | 2.00 | – | 2.00 | – |  |\n\
            | start-up (s) | 1.00 | 1.00 | 1.00 | 1.00 | 1.00 |  |\n";
        assert!(
            text.starts_with("### `50x2-8s`\n\n50 Deployments of 2 replicas") && text.ends_with(rows),
            "{text}"
        );
        let peer = round(Side::ArgoRollouts, 30.0, "patch y each");
        let text = table("50x2-8s".parse().unwrap(), 1, &[&played[..], &[peer]].concat());
        let row =
            "| create: all complete (s) | 10.0 | **20.0** | **2.00** | 5.00 | 0.50 | 30.0 | 3.00 | ≤ 1 × |\n";
        assert!(text.contains(row), "{text}");
    }
}
