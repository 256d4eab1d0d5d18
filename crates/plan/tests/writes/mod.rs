//! The order of writes in a reconcile, as a table: situation × API → questions and writes in order.
//!
//! The rows are real plans. `UPDATE=1` writes the table again; a row that changes is another order of writes in users'
//! clusters.

mod refusals;
mod situations;

use crate::world::{World, render, render_action};
use plan::{Action, Flavour, Plan, Status, Step};

const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/writes.txt");
const HEAD: &str = "\
# The order of writes, by situation and API: questions, claims and writes of one pass, each in a line.
# Made by crates/plan/tests/writes; UPDATE=1 cargo test -p plan writes writes it anew.
";

/// A named situation, on either API.
type Situation = (&'static str, fn(Flavour) -> World);

/// What a reconcile asks and writes, a line each.
fn steps(world: &mut World) -> (Vec<String>, Plan) {
    let mut lines = Vec::new();
    let plan = world.plan_and_tell(|world, step| match step {
        Step::Act(plan) => lines.extend(plan.actions.iter().map(|planned| line(world, &planned.action))),
        other => lines.extend(render(world, other)),
    });
    lines.extend(plan.error.iter().map(|error| format!("error: {error}")));
    (lines, plan)
}

/// A write in a line. For a status it also shows whether its counters are new.
fn line(world: &World, write: &Action) -> String {
    let line = render_action(world, write);
    match write {
        Action::WriteStatus(write) => {
            let is_counted = counts(&write.status) != counts(&world.observed.workload.status);
            let revision = write.revision_annotation.iter().map(|it| format!(" annotation revision={it}"));
            let counted = if is_counted { " counters" } else { "" };
            line + counted + &revision.collect::<String>()
        }
        Action::UpdateReplicaSet(update) => {
            let seconds = update.min_ready_seconds.map(|(from, to)| format!(" minReadySeconds {from}->{to}"));
            line + &seconds.unwrap_or_default()
        }
        _ => line,
    }
}

fn counts(status: &Status) -> [i64; 6] {
    let Status { replicas, updated_replicas, ready_replicas, available_replicas, .. } = status;
    let Status { observed_generation, unavailable_replicas, .. } = status;
    [
        *observed_generation,
        *replicas,
        *updated_replicas,
        *ready_replicas,
        *available_replicas,
        *unavailable_replicas,
    ]
}

/// The rows of a situation.
fn rows(name: &str, lines: impl Fn(Flavour) -> Vec<String>) -> String {
    let mut text = format!("\n{name}\n");
    for flavour in [Flavour::Rollwright, Flavour::AppsV1] {
        text += &format!("  {}\n", flavour.api_version());
        let lines = lines(flavour);
        let none = lines.is_empty().then(|| "nothing".to_owned());
        for line in lines.into_iter().chain(none) {
            text += &format!("    {line}\n");
        }
    }
    text
}

#[test]
fn the_order_of_writes_is_that_of_the_table() {
    let mut table = HEAD.to_owned();
    for (name, situation) in situations::all() {
        table += &rows(name, |flavour| steps(&mut situation(flavour)).0);
    }
    for refusal in refusals::all() {
        table += &rows(refusal.name, |flavour| refusal.lines(flavour));
    }
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(GOLDEN, &table).unwrap();
    }
    let golden = std::fs::read_to_string(GOLDEN).unwrap_or_default();
    let differs = |(now, before): &(&str, &str)| now != before;
    if let Some((now, before)) = table.split("\n\n").zip(golden.split("\n\n")).find(differs) {
        panic!("another order of writes.\nnow:\n{now}\n\nin {GOLDEN}:\n{before}");
    }
    assert_eq!(table.len(), golden.len(), "rows were added or removed: {GOLDEN}");
}
