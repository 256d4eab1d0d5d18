//! `undo`: back to an earlier revision.

use api::{Rollback, RollbackResult};
use kube::api::Patch;
use serde_json::Value;

use crate::args::{DryRun, Goal, UndoArguments, limit};
use crate::cluster::Deployment;
use crate::code::Code;
use crate::edits::{self, Undo};
use crate::failure::Failure;
use crate::history::{Revision, difference, find, revisions};
use crate::output::print;
use crate::rollout;
use crate::verbs::status;
use crate::verbs::subject::Subject;

/// `undo`.
pub(crate) async fn undo(subject: &Subject, arguments: &UndoArguments) -> Result<Code, Failure> {
    let Subject { cluster, deployment } = subject;
    let all = revisions(cluster.sets_of(deployment).await?);
    let revision = find(&all, arguments.to_revision)?;
    let name = deployment.full_name();
    let patch = match edits::undo(deployment, revision)? {
        Undo::Patch(patch) => patch,
        Undo::Nothing => {
            let number = revision.number;
            print(&format!(
                "{name} skipped rollback (current template already matches revision {number})\n"
            ))?;
            return Ok(Code::Done);
        }
    };
    if arguments.dry_run != DryRun::None {
        return show(subject, &all, revision, &patch, arguments.dry_run).await;
    }
    let before = deployment.status().rollback;
    let patched = cluster.patch(deployment, &patch, false).await?;
    print(&format!("{name} rolled back\n"))?;
    if !arguments.wait {
        return Ok(Code::Done);
    }
    let mut lines = status::Lines::new();
    let code = status::wait(cluster, &patched, Goal::Complete, limit(arguments.timeout), &mut lines).await?;
    refused(&cluster.read_again(&patched).await?, before).map_or(Ok(code), Err)
}

/// What would change, and whether the server takes it.
async fn show(
    subject: &Subject,
    all: &[Revision],
    revision: &Revision,
    patch: &Patch<Value>,
    dry_run: DryRun,
) -> Result<Code, Failure> {
    let Subject { cluster, deployment } = subject;
    let mut place = "client dry run";
    if dry_run == DryRun::Server {
        cluster.patch(deployment, patch, true).await?;
        place = "server dry run";
    }
    let text = difference(current(deployment, all), &revision.template)?;
    print(&format!(
        "{text}{} rolled back to revision {} ({place})\n",
        deployment.full_name(),
        revision.number
    ))?;
    Ok(Code::Done)
}

/// The template that runs now: as the server stored it in the newest revision, so that its defaults
/// are no differences; as the Deployment has it if the controller has not seen that yet.
fn current<'a>(deployment: &'a Deployment, all: &'a [Revision]) -> &'a Value {
    match all.first() {
        Some(newest) if rollout::is_observed(&deployment.body) => &newest.template,
        _ => deployment.body.pointer("/spec/template").unwrap_or(&Value::Null),
    }
}

/// What came of the request on our kind, if it was not carried out.
fn refused(deployment: &Deployment, before: Option<Rollback>) -> Option<Failure> {
    let rollback = deployment.status().rollback?;
    let is_ours = rollback.time != before.and_then(|before| before.time);
    let result = rollback.result?;
    let is_done = matches!(result, RollbackResult::RolledBack | RollbackResult::TemplateUnchanged);
    (is_ours && !is_done).then(|| {
        let message = rollback.message.unwrap_or_default();
        let text = format!("the rollback was not carried out: {result} {message}").trim_end().to_owned();
        if result == RollbackResult::RevisionNotFound {
            Failure::Missing(text)
        } else {
            Failure::Rollout(text)
        }
    })
}
