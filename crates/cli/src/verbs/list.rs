//! `list`: the Deployments of both APIs in one table.

use diagnosis::{list as list_of, text};
use plan::Flavour;
use serde_json::{Value, json};

use crate::args::ListArguments;
use crate::args::connection::Connection;
use crate::at_step::AtStep;
use crate::cluster::{Cluster, Deployment, label_selector};
use crate::code::Code;
use crate::failure::Failure;
use crate::images;
use crate::output::{document, print, tell};
use crate::pinned;
use crate::rollout;
use crate::state;
use crate::table::{age, line, table};
use crate::tree::counts_document;

pub(crate) async fn list(connection: &Connection, arguments: &ListArguments) -> Result<Code, Failure> {
    let cluster = Cluster::connect(connection).await?;
    let selector = arguments.selector.as_deref();
    let mut found = Vec::new();
    for flavour in [Flavour::Rollwright, Flavour::AppsV1] {
        found.extend(cluster.list(flavour, selector, arguments.all_namespaces).await?);
    }
    found.retain(|deployment| arguments.states.contain(deployment.flavour, &deployment.body));
    found.sort_by(|a, b| (a.namespace(), a.name(), a.flavour).cmp(&(b.namespace(), b.name(), b.flavour)));
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
    let mut lines = vec![line(HEADINGS)];
    lines.extend(found.iter().map(|deployment| row(deployment, now)));
    if !arguments.output.is_wide() {
        lines.iter_mut().for_each(|line| line.truncate(HEADINGS.len() - WIDE));
    }
    if !arguments.all_namespaces {
        for line in &mut lines {
            line.remove(0);
        }
    }
    if arguments.output.no_headers {
        lines.remove(0);
    }
    print(&table(&lines))?;
    Ok(Code::Done)
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
