//! `list`: the Deployments of both APIs in one table.

use std::collections::BTreeMap;

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
    for flavour in [Flavour::Rollwright, Flavour::AppsV1] {
        found.extend(cluster.list(flavour, selector, arguments.all_namespaces).await?);
    }
    found.retain(|deployment| arguments.states.contain(deployment.flavour, &deployment.body));
    found.sort_by(|a, b| (a.namespace(), a.name(), a.flavour).cmp(&(b.namespace(), b.name(), b.flavour)));
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
    let heading = line(HEADING);
    let rows = found.iter().map(|deployment| row(deployment, now));
    print(&shown([heading].into_iter().chain(rows).collect(), arguments.all_namespaces))?;
    Ok(Code::Done)
}

const HEADING: [&str; 8] =
    ["NAMESPACE", "NAME", "STATUS", "READY", "UP-TO-DATE", "AVAILABLE", "AGE", "IMAGES"];

/// The table, with the namespaces where they differ.
fn shown(mut lines: Vec<Vec<String>>, all_namespaces: bool) -> String {
    if !all_namespaces {
        for line in &mut lines {
            line.remove(0);
        }
    }
    table(&lines)
}

/// Prints a line for each Deployment, and for each change of one that the line shows.
async fn follow(cluster: &Cluster, arguments: &ListArguments) -> Result<Code, Failure> {
    let mut last: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut changes = Box::pin(live::changes(cluster, arguments));
    while let Some(change) = changes.next().await {
        let deployment = match change {
            Change::There(deployment) => deployment,
            Change::Gone(_) | Change::Whole(..) => continue,
            Change::Lost(_, failure @ Failure::Forbidden(_)) => return Err(failure),
            Change::Lost(_, why) => {
                tell(&format!("the watch was interrupted and is tried again: {why}"));
                continue;
            }
        };
        if !arguments.states.contain(deployment.flavour, &deployment.body) {
            continue;
        }
        let (full, row) = (deployment.full_name(), row(&deployment, jiff::Timestamp::now()));
        // An age is no change.
        let told = row.iter().enumerate().filter(|(column, _)| HEADING.get(*column) != Some(&"AGE"));
        let told: Vec<String> = told.map(|(_, cell)| cell.clone()).collect();
        let is_first = last.is_empty();
        if last.insert(format!("{}/{full}", deployment.namespace()), told.clone()) == Some(told) {
            continue;
        }
        match arguments.output.format {
            Some(format) => document(format, &item(&deployment), &[full])?,
            None if is_first => print(&shown(vec![line(HEADING), row], arguments.all_namespaces))?,
            None => print(&shown(vec![row], arguments.all_namespaces))?,
        }
    }
    Err(Failure::Rollout("the watch has ended; try again".to_owned()))
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
