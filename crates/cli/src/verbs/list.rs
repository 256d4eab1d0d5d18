//! `list`: the Deployments of both APIs in one table.

use std::collections::{BTreeMap, BTreeSet};

use diagnosis::{list as list_of, text};
use futures::StreamExt as _;
use plan::Flavour;
use serde_json::{Value, json};

use crate::args::ListArguments;
use crate::args::connection::Connection;
use crate::at_step::AtStep;
use crate::cluster::{Cluster, Deployment, FLAVOURS, Place, label_selector};
use crate::code::Code;
use crate::failure::Failure;
use crate::images;
use crate::live::{self, Change};
use crate::output::{document, event, print};
use crate::pinned;
use crate::reach::contact::Interruption;
use crate::rollout;
use crate::state;
use crate::table::{age, line, table};
use crate::terminal::tell;

pub(crate) async fn list(connection: &Connection, arguments: &ListArguments) -> Result<Code, Failure> {
    let cluster = Cluster::connect(connection).await?;
    if arguments.watch {
        if arguments.output.document().is_none() && live::is_possible() {
            return live::watch_all(&cluster, arguments).await;
        }
        return follow(&cluster, arguments).await;
    }
    let mut found = cluster.list(None, arguments.selector.as_deref(), arguments.all_namespaces).await?;
    found.retain(|deployment| arguments.states.contain(state::of(deployment)));
    found.sort_by_key(Deployment::place);
    if let Some(format) = arguments.output.document() {
        let names: Vec<String> = found.iter().map(Deployment::full_name).collect();
        let items: Vec<Value> = found.iter().map(item).collect();
        document(&format, &json!({ "items": items }), &names)?;
        return Ok(Code::Done);
    }
    if found.is_empty() {
        // As kubectl: a script that reads the table finds none.
        let is_served = cluster.serves(Flavour::Rollwright).await.unwrap_or(true);
        let more = if is_served { "" } else { " The API server does not know rollwright.dev/v1." };
        tell(&format!("No Deployments found.{more}"));
        return Ok(Code::Done);
    }
    let now = jiff::Timestamp::now();
    let rows = found.iter().map(|deployment| (deployment.place(), row(deployment, now))).collect();
    print(&whole_table(&rows, Shape::of(arguments)))?;
    Ok(Code::Done)
}

/// Prints the table, and a line for each change of one of its lines.
async fn follow(cluster: &Cluster, arguments: &ListArguments) -> Result<Code, Failure> {
    let (format, shape) = (arguments.output.document(), Shape::of(arguments));
    let mut rows = BTreeMap::new();
    let (mut whole, mut interruption) = (BTreeSet::new(), Interruption::default());
    let mut changes = Box::pin(live::changes(cluster, arguments));
    while let Some(change) = changes.next().await {
        let was_whole = whole.len() == FLAVOURS.len();
        match change {
            Change::There(deployment) if arguments.states.contain(state::of(&deployment)) => {
                let (place, row) = (deployment.place(), row(&deployment, jiff::Timestamp::now()));
                let before = rows.insert(place.clone(), row.clone());
                if before.is_some_and(|before| is_same(&before, &row)) {
                    continue;
                }
                match &format {
                    Some(format) => event(format, &item(&deployment), &[deployment.full_name()])?,
                    None if was_whole => print(&line_of(&rows, &place, shape))?,
                    None => {}
                }
            }
            Change::There(deployment) | Change::Gone(deployment) => {
                rows.remove(&deployment.place());
            }
            Change::Whole(flavour, _) => {
                whole.insert(flavour);
                let is_new = !was_whole && whole.len() == FLAVOURS.len();
                if is_new && format.is_none() && !rows.is_empty() {
                    print(&whole_table(&rows, shape))?;
                }
            }
            Change::Lost(_, failure) if failure.is_final() => return Err(failure),
            Change::Lost(_, failure) => interruption.note(&failure),
        }
    }
    Err(Failure::Rollout("the watch has ended; try again".to_owned()))
}

/// What of the table is shown.
#[derive(Clone, Copy, Default)]
struct Shape {
    has_namespaces: bool,
    is_wide: bool,
    has_headings: bool,
}

impl Shape {
    fn of(arguments: &ListArguments) -> Self {
        let output = &arguments.output;
        Self {
            has_namespaces: arguments.all_namespaces,
            is_wide: output.is_wide(),
            has_headings: !output.no_headers,
        }
    }
}

fn whole_table(rows: &BTreeMap<Place, Vec<String>>, shape: Shape) -> String {
    let headings = shape.has_headings.then(|| line(HEADINGS));
    let lines = headings.into_iter().chain(rows.values().cloned());
    let (skipped, narrow) = (usize::from(!shape.has_namespaces), HEADINGS.len() - WIDE);
    let shown = if shape.is_wide { HEADINGS.len() } else { narrow };
    let cells = |line: Vec<String>| line.into_iter().take(shown).skip(skipped).collect();
    table(&lines.map(cells).collect::<Vec<_>>())
}

/// The line of one Deployment, below the columns of the table.
fn line_of(rows: &BTreeMap<Place, Vec<String>>, place: &Place, shape: Shape) -> String {
    let above = rows.keys().take_while(|known| *known < place).count() + usize::from(shape.has_headings);
    let table = whole_table(rows, shape);
    table.lines().nth(above).map_or_else(String::new, |line| format!("{line}\n"))
}

/// Whether two lines differ in nothing but the age.
fn is_same(before: &[String], row: &[String]) -> bool {
    let is_age = |column: usize| HEADINGS.get(column) == Some(&"AGE");
    before.iter().zip(row).enumerate().all(|(column, (a, b))| a == b || is_age(column))
}

/// The columns; the last ones are those of the wide table only.
const HEADINGS: [&str; 10] = [
    "NAMESPACE",
    "NAME",
    "STATUS",
    "READY",
    "UP-TO-DATE",
    "AVAILABLE",
    "AGE",
    "IMAGES",
    "CONTAINERS",
    "SELECTOR",
];
const WIDE: usize = 2;

fn row(deployment: &Deployment, now: jiff::Timestamp) -> Vec<String> {
    let rollout = rollout::of(deployment.flavour, deployment.name(), &deployment.body);
    let counts = rollout.counts;
    line([
        deployment.namespace(),
        &deployment.full_name(),
        &state::words(deployment),
        &format!("{}/{}", counts.ready, counts.desired),
        &counts.updated.to_string(),
        &counts.available.to_string(),
        &age(deployment.text("/metadata/creationTimestamp"), now),
        &images::of(deployment.template()).join(","),
        &list_of(deployment.template(), "/spec/containers")
            .iter()
            .map(|it| text(it, "/name"))
            .collect::<Vec<_>>()
            .join(","),
        &label_selector(&deployment.body),
    ])
}

fn item(deployment: &Deployment) -> Value {
    let rollout = rollout::of(deployment.flavour, deployment.name(), &deployment.body);
    json!({
        "name": deployment.full_name(),
        "namespace": deployment.namespace(),
        "phase": rollout.phase.word(),
        "message": rollout.message,
        "replicas": rollout.counts,
        "step": rollout.at_step.as_ref().map(AtStep::document),
        "images": images::of(deployment.template()),
        "target": pinned::target(&deployment.body),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pinned::samples;

    #[test]
    fn a_change_stands_below_the_columns_and_an_age_is_none() {
        let lines = |names: [&str; 2]| -> BTreeMap<Place, Vec<String>> {
            let lines = names.iter().map(|name| {
                let cells = line(["shop", name, "Complete", "1/1", "1", "1", "5s", "app:1"]);
                (("shop".to_owned(), (*name).to_owned(), Flavour::AppsV1), cells)
            });
            lines.collect()
        };
        let rows = lines(["a-long-name", "web"]);
        let place = rows.keys().next_back().unwrap();
        let expected = "web           Complete   1/1     1            1           5s    app:1\n";
        let mut shape = Shape { has_headings: true, ..Shape::default() };
        assert_eq!(line_of(&rows, place, shape), expected);
        shape.has_namespaces = true;
        assert_eq!(line_of(&rows, place, shape), format!("shop        {expected}"));
        shape.has_headings = false;
        assert_eq!(
            line_of(&rows, place, shape),
            "shop   web           Complete   1/1   1   1   5s   app:1\n"
        );
        let mut older = rows[place].clone();
        older[6] = "6s".to_owned();
        assert!(is_same(&rows[place], &older));
        older[3] = "0/1".to_owned();
        assert!(!is_same(&rows[place], &older));
    }

    #[test]
    fn programs_learn_what_runs_and_why() {
        for (deployment, reason) in [(samples::pinned(), "Pinned"), (samples::reverted(), "Reverted")] {
            let item = item(&deployment);
            assert_eq!((&item["target"]["revision"], &item["target"]["reason"]), (&json!(6), &json!(reason)));
            assert_eq!(item["phase"], "Failed");
        }
    }

    #[test]
    fn the_wide_table_has_a_cell_for_each_heading() {
        let mut deployment = samples::pinned();
        deployment.body["spec"]["selector"] = json!({"matchLabels": {"app": "web"}});
        let cells = row(&deployment, jiff::Timestamp::UNIX_EPOCH);
        assert_eq!(cells.len(), HEADINGS.len());
        let cell = |heading: &str| HEADINGS.iter().position(|it| *it == heading).map(|at| cells[at].as_str());
        assert_eq!(cell("IMAGES"), Some("app:7"));
        assert_eq!(cell("CONTAINERS"), Some("app"));
        assert_eq!(cell("SELECTOR"), Some("app=web"));
        assert_eq!(HEADINGS[HEADINGS.len() - WIDE], "CONTAINERS");
    }
}
