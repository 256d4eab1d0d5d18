//! `list`: the Deployments of both APIs in one table.

use std::collections::{BTreeMap, BTreeSet};

use futures::StreamExt as _;
use plan::Flavour;
use serde_json::{Value, json};

use crate::args::ListArguments;
use crate::args::connection::Connection;
use crate::at_step::AtStep;
use crate::cluster::{Cluster, Deployment};
use crate::code::Code;
use crate::failure::Failure;
use crate::images;
use crate::live::{self, Change};
use crate::output::{document, print, tell};
use crate::pinned;
use crate::rollout;
use crate::state;
use crate::table::{age, line, table};
use crate::tree::counts_document;

pub(crate) async fn list(connection: &Connection, arguments: &ListArguments) -> Result<Code, Failure> {
    let cluster = Cluster::connect(connection).await?;
    if arguments.watch {
        if arguments.output.format.is_none() && live::is_possible() {
            return live::watch_all(&cluster, arguments).await;
        }
        return follow(&cluster, arguments).await;
    }
    let selector = arguments.selector.as_deref();
    let mut found = Vec::new();
    for flavour in FLAVOURS {
        found.extend(cluster.list(flavour, selector, arguments.all_namespaces).await?);
    }
    found.retain(|deployment| arguments.states.contain(deployment.flavour, &deployment.body));
    found.sort_by_key(place);
    if let Some(format) = arguments.output.format {
        let names: Vec<String> = found.iter().map(Deployment::full_name).collect();
        let items: Vec<Value> = found.iter().map(item).collect();
        document(format, &json!({ "items": items }), &names)?;
        return Ok(Code::Done);
    }
    if found.is_empty() {
        // As kubectl: a script that reads the table finds none.
        tell("No Deployments found.");
        return Ok(Code::Done);
    }
    let now = jiff::Timestamp::now();
    let rows = found.iter().map(|deployment| (place(deployment), row(deployment, now))).collect();
    print(&whole_table(&rows, arguments.all_namespaces))?;
    Ok(Code::Done)
}

const FLAVOURS: [Flavour; 2] = [Flavour::Rollwright, Flavour::AppsV1];
const HEADING: [&str; 8] =
    ["NAMESPACE", "NAME", "STATUS", "READY", "UP-TO-DATE", "AVAILABLE", "AGE", "IMAGES"];

/// Prints the table, and a line for each change of one of its lines.
async fn follow(cluster: &Cluster, arguments: &ListArguments) -> Result<Code, Failure> {
    let mut rows = BTreeMap::new();
    let mut whole = BTreeSet::new();
    let mut changes = Box::pin(live::changes(cluster, arguments));
    while let Some(change) = changes.next().await {
        let was_whole = whole.len() == FLAVOURS.len();
        match change {
            Change::There(deployment) if arguments.states.contain(deployment.flavour, &deployment.body) => {
                let (place, row) = (place(&deployment), row(&deployment, jiff::Timestamp::now()));
                let before = rows.insert(place.clone(), row.clone());
                if before.is_some_and(|before| is_same(&before, &row)) {
                    continue;
                }
                match arguments.output.format {
                    Some(format) => document(format, &item(&deployment), &[deployment.full_name()])?,
                    None if was_whole => print(&line_of(&rows, &place, arguments.all_namespaces))?,
                    None => {}
                }
            }
            Change::There(deployment) | Change::Gone(deployment) => {
                rows.remove(&place(&deployment));
            }
            Change::Whole(flavour, _) => {
                whole.insert(flavour);
                let is_new = !was_whole && whole.len() == FLAVOURS.len();
                if is_new && arguments.output.format.is_none() && !rows.is_empty() {
                    print(&whole_table(&rows, arguments.all_namespaces))?;
                }
            }
            Change::Lost(_, failure @ Failure::Forbidden(_)) => return Err(failure),
            Change::Lost(_, why) => {
                tell(&format!("the watch was interrupted and is tried again: {why}"));
            }
        }
    }
    Err(Failure::Rollout("the watch has ended; try again".to_owned()))
}

/// Namespace, name, and API: the order of the lines.
type Place = (String, String, Flavour);

fn place(deployment: &Deployment) -> Place {
    (deployment.namespace().to_owned(), deployment.name().to_owned(), deployment.flavour)
}

/// The table, with the namespaces where they differ.
fn whole_table(rows: &BTreeMap<Place, Vec<String>>, all_namespaces: bool) -> String {
    let lines = [line(HEADING)].into_iter().chain(rows.values().cloned());
    let skipped = usize::from(!all_namespaces);
    table(&lines.map(|line| line.into_iter().skip(skipped).collect()).collect::<Vec<_>>())
}

/// The line of one Deployment, below the columns of the table.
fn line_of(rows: &BTreeMap<Place, Vec<String>>, place: &Place, all_namespaces: bool) -> String {
    let position = rows.keys().take_while(|known| *known < place).count() + 1;
    let table = whole_table(rows, all_namespaces);
    table.lines().nth(position).map_or_else(String::new, |line| format!("{line}\n"))
}

/// Whether two lines differ in nothing but the age.
fn is_same(before: &[String], row: &[String]) -> bool {
    let is_age = |column: usize| HEADING.get(column) == Some(&"AGE");
    before.iter().zip(row).enumerate().all(|(column, (a, b))| a == b || is_age(column))
}

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
    ])
}

fn item(deployment: &Deployment) -> Value {
    let rollout = rollout::of(deployment.flavour, deployment.name(), &deployment.body);
    json!({
        "name": deployment.full_name(),
        "namespace": deployment.namespace(),
        "phase": rollout.phase.word(),
        "message": rollout.message,
        "replicas": counts_document(&rollout),
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
    fn a_pin_is_a_state_of_its_own() {
        let status = |deployment: &Deployment| row(deployment, jiff::Timestamp::UNIX_EPOCH)[2].clone();
        assert_eq!(status(&samples::pinned()), "Pinned");
        assert_eq!(status(&samples::missing()), "Blocked: PinTargetMissing");
        assert_eq!(item(&samples::pinned())["target"]["revision"], 6);
        let mut paused = samples::pinned();
        paused.body["spec"]["paused"] = json!(true);
        assert_eq!(status(&paused), "Paused");
    }

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
        assert_eq!(line_of(&rows, place, false), expected);
        assert_eq!(line_of(&rows, place, true), format!("shop        {expected}"));
        let mut older = rows[place].clone();
        older[6] = "6s".to_owned();
        assert!(is_same(&rows[place], &older));
        older[3] = "0/1".to_owned();
        assert!(!is_same(&rows[place], &older));
    }

    #[test]
    fn a_failure_has_the_words_of_the_column_status() {
        let status = |deployment: &Deployment| row(deployment, jiff::Timestamp::UNIX_EPOCH)[2].clone();
        assert_eq!(status(&samples::reverted()), "Reverted");
        assert_eq!(item(&samples::reverted())["target"]["reason"], "Reverted");
        for reason in ["RolloutFailed", "NoGoodRevision"] {
            let mut held = samples::held(reason);
            assert_eq!(status(&held), format!("Blocked: {reason}"));
            assert_eq!(item(&held)["phase"], "Failed");
            held.body["status"]["blockers"] = json!([{"cause": "ImagePull"}]);
            assert_eq!(status(&held), "Blocked: ImagePull");
        }
    }
}
