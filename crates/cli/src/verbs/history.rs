//! `history`: the revisions, one of them, or the difference of two.

use plan::Trigger;
use serde_json::{Value, json};

use crate::args::HistoryArguments;
use crate::cluster::Deployment;
use crate::code::Code;
use crate::failure::Failure;
use crate::history::{Revision, difference, find, listing, outline, revisions, triggers};
use crate::output::{document, print, print_comparison, yaml};
use crate::rollouts::{self, OUTLINE};
use crate::table::{Draw, table};
use crate::verbs::subject::Subject;

pub(crate) async fn history(subject: &Subject, arguments: &HistoryArguments) -> Result<Code, Failure> {
    let Subject { cluster, deployment } = subject;
    let all = revisions(cluster.sets_of(deployment).await?);
    let name = deployment.full_name();
    if let Some([from, to]) = arguments.diff.as_deref() {
        let (from, to) = (find(&all, *from)?, find(&all, *to)?);
        let text = difference(&from.template, &to.template)?;
        print_comparison(if text.is_empty() { "the templates are the same\n" } else { &text })?;
        return Ok(Code::Done);
    }
    if let Some(number) = arguments.revision {
        let revision = find(&all, number)?;
        let shown = revision.document(&[("template", revision.template.clone())]);
        match &arguments.output.format {
            Some(format) => document(format, &shown, &[format!("replicaset.apps/{}", revision.set_name())])?,
            None => {
                print(&format!("{name} with revision #{}\n{}", revision.number, yaml(&revision.template)?))?;
            }
        }
        return Ok(Code::Done);
    }
    let status = deployment.status();
    let has_records = deployment.flavour.has_status_extras();
    let rollouts = if has_records { rollouts::of(&status) } else { Vec::new() };
    match &arguments.output.format {
        Some(format) => {
            let documents: Vec<Value> = all.iter().zip(triggers(&all)).rev().map(described).collect();
            let names: Vec<String> =
                all.iter().rev().map(|revision| format!("replicaset.apps/{}", revision.set_name())).collect();
            let shown = json!({
                "name": name, "isOutline": !has_records, "revisions": documents, "rollouts": rollouts,
            });
            document(format, &shown, &names)?;
        }
        None => print(&text(deployment, &all, jiff::Timestamp::now(), &table))?,
    }
    Ok(Code::Done)
}

/// For people.
pub(crate) fn text(
    deployment: &Deployment,
    all: &[Revision],
    now: jiff::Timestamp,
    draw: Draw<'_>,
) -> String {
    let (status, name) = (deployment.status(), deployment.full_name());
    let (sets, told) = if deployment.flavour.has_status_extras() {
        (listing(all, now, draw), rollouts::listing(&rollouts::of(&status), now, draw))
    } else {
        (outline(all, now, draw), OUTLINE.to_owned())
    };
    let gap = if told.is_empty() { "" } else { "\n" };
    format!("{name}\n{sets}{gap}{told}")
}

/// A revision for programs, with what it changed.
fn described((revision, trigger): (&Revision, Option<Trigger>)) -> Value {
    revision.document(&[("trigger", json!(trigger.map(Trigger::as_str)))])
}
