//! What remains on the screen: a table of the steps, why it failed if it did, and how to continue by hand.

use std::path::Path;
use std::time::Duration;

use cluster::State;

use crate::failure::{Failure, tail};
use crate::ground::Ground;
use crate::ink::{Line, Style, shorten};
use crate::limits::Guard;
use crate::place::{Place, this_program};
use crate::show::Outcome;

/// Errors may be long; they are shown in full below the table.
const COLUMN: usize = 62;
const SECONDS: usize = 7;

const DOWN: &str = "make demo-down";

/// What a person types to continue by hand.
struct Commands {
    list: &'static str,
    back: &'static str,
    read: &'static str,
}

const KUBECTL: Commands = Commands {
    list: "kubectl get rwd,replicasets,pods",
    back: r#"kubectl patch rwd/web --type=merge -p '{"spec":{"rollbackTo":{"revision":1}}}'"#,
    read: "kubectl get rwd/web -o yaml",
};
/// On a machine without kubectl.
const OURS: Commands = Commands {
    list: "kubectl-rollwright get web",
    back: "kubectl-rollwright undo web --to-revision=1",
    read: "kubectl-rollwright get web -o yaml",
};

const fn commands(kubectl: Option<&Path>) -> &'static Commands {
    match kubectl {
        Some(_) => &KUBECTL,
        None => &OURS,
    }
}

/// The table of the steps that ran.
///
/// The limits are left out where there is no room for them.
pub(crate) fn table(outcomes: &[Outcome], total: Duration, room: usize) -> Vec<Line> {
    let width = |text: fn(&Outcome) -> &str, least: usize| {
        outcomes.iter().map(|outcome| text(outcome).chars().count()).max().unwrap_or(0).max(least).min(COLUMN)
    };
    let steps = width(|outcome| outcome.name, 4);
    let expected = width(|outcome| &outcome.expected, 8);
    let seen = width(|outcome| &outcome.seen, 4);
    let limits = |serving: &str, asked_for: &str| format!("{serving:>8}  {asked_for:>9}  ");
    let start = format!("    {:steps$}  {:expected$}  {:seen$}  ", "step", "expected", "seen");
    let has_room = start.chars().count() + limits("", "").len() + SECONDS <= room;
    let limits =
        |serving: &str, asked_for: &str| if has_room { limits(serving, asked_for) } else { String::new() };
    let head = format!("{start}{}{:>SECONDS$}", limits("serving", "asked for"), "seconds");
    let full = head.chars().count();
    let mut lines = vec![Line::new(), Line::of(Style::Dim, head)];
    for outcome in outcomes {
        let (mark, style) = if outcome.reached { ("  ✔ ", Style::Good) } else { ("  ✘ ", Style::Bad) };
        let (serving, asked_for) = held(outcome.guard.as_ref());
        let seen = format!("{:seen$}  ", shorten(&outcome.seen, COLUMN));
        let line = Line::of(style, mark)
            .and(Style::Bold, format!("{:steps$}  ", outcome.name))
            .and(Style::Dim, format!("{:expected$}  ", outcome.expected))
            .and(if outcome.reached { Style::Plain } else { style }, seen)
            .and(Style::Plain, limits(&serving, &asked_for))
            .and(Style::Plain, format!("{:>SECONDS$.1}", outcome.took.as_secs_f64()));
        lines.push(line);
    }
    let total = format!("all, with looking on {:>SECONDS$.1}", total.as_secs_f64());
    lines.push(Line::of(Style::Dim, format!("{total:>full$}")));
    lines.push(Line::new());
    lines
}

/// What was seen of the limits: the fewest pods that served, the most that
/// were asked for, each with what was allowed.
fn held(guard: Option<&Guard>) -> (String, String) {
    match guard {
        Some(Guard { limits, least, most }) if *least != usize::MAX => {
            (format!("{least} (≥{})", limits.floor), format!("{most} (≤{})", limits.ceiling))
        }
        _ => (String::new(), String::new()),
    }
}

/// Why the story ended early.
pub(crate) fn failure(failure: &Failure, outcomes: &[Outcome], log: &Path) -> Vec<Line> {
    let step = outcomes.last().map_or("start", |outcome| outcome.name);
    let mut lines = Vec::new();
    for (number, text) in failure.to_string().lines().enumerate() {
        let text = if number == 0 { format!("Failed at step \"{step}\": {text}") } else { text.to_owned() };
        lines.push(Line::of(Style::Bad, text));
    }
    // An end by itself has the end of its log with it.
    let is_told = matches!(failure, Failure::Cluster(cluster::Error::Exited { .. }));
    if log.exists() && !is_told {
        lines.push(Line::of(Style::Bold, format!("The end of {}:", log.display())));
        lines.extend(tail(log).lines().map(|line| Line::of(Style::Plain, line)));
    }
    lines.push(Line::new());
    lines
}

/// Commands for a cluster that stays.
pub(crate) fn by_hand(state: &State, place: &Place, kubectl: Option<&Path>) -> Vec<Line> {
    let mut lines = vec![Line::of(Style::Bold, "Cluster and operator keep running. To go on by hand:")];
    let mut command = |text: String| lines.push(Line::of(Style::Accent, format!("  {text}")));
    command(format!("export KUBECONFIG={}", state.kubeconfig.display()));
    if let Some(directory) = directory(kubectl) {
        command(format!("export PATH={directory}:$PATH"));
    }
    let Commands { list, back, read } = commands(kubectl);
    for text in [list, back, read] {
        command((*text).to_owned());
    }
    command(format!("tail -f {}", place.operator_log().display()));
    command(DOWN.to_owned());
    lines
}

/// How to get a cluster that stays, and what to do with it.
pub(crate) fn hint(place: &Place, ground: Ground, kubectl: Option<&Path>, succeeded: bool) -> Vec<Line> {
    let mut lines = vec![
        Line::of(Style::Dim, format!("The operator's log is {}.", place.operator_log().display())),
        Line::of(Style::Plain, format!("This was {}; it is stopped. ", ground.name()))
            .and(Style::Accent, format!("KEEP=1 {}make demo", ground.variable()))
            .and(Style::Plain, " leaves it running, to go on by hand."),
    ];
    if succeeded {
        lines.push(Line::of(Style::Plain, "Then, for example, back to 1.28 and later the end:"));
        let commands = [commands(kubectl).back, DOWN];
        lines.extend(commands.map(|command| Line::of(Style::Accent, format!("  {command}"))));
    }
    lines
}

/// Directory of the kubectl that was used, or else of `kubectl-rollwright`, which is built with the
/// demo; none if it is on `PATH` anyway.
fn directory(kubectl: Option<&Path>) -> Option<String> {
    let program = kubectl.map(Path::to_owned).or_else(|| this_program().ok())?;
    let directory = program.parent()?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_on_path = std::env::split_paths(&path).any(|entry| entry == directory);
    (!is_on_path).then(|| directory.display().to_string())
}
