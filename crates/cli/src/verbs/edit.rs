//! `pause`, `resume`, `restart`, `unpin`, `retry`, `abort`, `promote`, `scale`.

use kube::api::Patch;
use serde_json::{Value, json};

use crate::args::promote::PromoteArguments;
use crate::args::writing::Writing;
use crate::args::{EditArguments, ScaleArguments};
use crate::cluster::Deployment;
use crate::code::Code;
use crate::failure::Failure;
use crate::history::revisions;
use crate::output::{document, print};
use crate::promotion::{self, Gates, Promotion};
use crate::terminal::tell;
use crate::verbs::subject::Subject;
use crate::{edits, goal, newer, pinned, requests};

/// Prints what was done, or the object as it is now.
pub(crate) fn report(deployment: &Deployment, done: &str, writing: &Writing) -> Result<Code, Failure> {
    let name = deployment.full_name();
    match &writing.output.format {
        None => print(&format!("{name} {done}\n"))?,
        Some(format) => document(format, &deployment.body, &[name])?,
    }
    Ok(Code::Done)
}

/// Patches, and prints what was done.
pub(crate) async fn apply(
    subject: &Subject,
    patch: &Patch<Value>,
    done: &str,
    writing: &Writing,
) -> Result<Code, Failure> {
    patched(subject, patch, done, writing).await.map(|_| Code::Done)
}

/// The same. Returns the Deployment as it is then.
async fn patched(
    subject: &Subject,
    patch: &Patch<Value>,
    done: &str,
    writing: &Writing,
) -> Result<Deployment, Failure> {
    let patched = subject.patch(patch, writing).await?;
    report(&patched, &format!("{done}{}", writing.dry_run.mark()), writing)?;
    Ok(patched)
}

/// The same with a patch of the template. Warns if the new template does not run now.
pub(crate) async fn apply_to_template(
    subject: &Subject,
    patch: &Patch<Value>,
    done: &str,
    writing: &Writing,
) -> Result<Code, Failure> {
    let patched = patched(subject, patch, done, writing).await?;
    if let Some(newer) = newer::left(&patched.status()) {
        tell(&format!("warning: the new template does not run yet: {newer}"));
    } else if let Some(kept) = pinned::kept(&patched) {
        tell(&format!("warning: {kept}"));
    }
    Ok(Code::Done)
}

pub(crate) async fn pause(subject: &Subject, arguments: &EditArguments) -> Result<Code, Failure> {
    apply(subject, &edits::pause(&subject.deployment)?, "paused", &arguments.writing).await
}

pub(crate) async fn resume(subject: &Subject, arguments: &EditArguments) -> Result<Code, Failure> {
    let Subject { cluster, deployment } = subject;
    let is_held = requests::is_held(deployment);
    let all = if is_held { revisions(cluster.sets_of(deployment).await?) } else { Vec::new() };
    let (done, patch) = requests::resume(deployment, &all)?;
    apply(subject, &patch, &done, &arguments.writing).await
}

pub(crate) async fn restart(subject: &Subject, arguments: &EditArguments) -> Result<Code, Failure> {
    let patch = edits::restart(&subject.deployment, jiff::Timestamp::now())?;
    apply_to_template(subject, &patch, "restarted", &arguments.writing).await
}

pub(crate) async fn unpin(subject: &Subject, arguments: &EditArguments) -> Result<Code, Failure> {
    apply(subject, &edits::unpin(&subject.deployment)?, "unpinned", &arguments.writing).await
}

pub(crate) async fn retry(subject: &Subject, arguments: &EditArguments) -> Result<Code, Failure> {
    let Subject { cluster, deployment } = subject;
    let all = revisions(cluster.sets_of(deployment).await?);
    let (number, patch) = requests::retry(deployment, &all, jiff::Timestamp::now())?;
    apply(subject, &patch, &format!("retry of revision {number} requested"), &arguments.writing).await
}

pub(crate) async fn abort(subject: &Subject, arguments: &EditArguments) -> Result<Code, Failure> {
    let Subject { cluster, deployment } = subject;
    let all = revisions(cluster.sets_of(deployment).await?);
    let (said, patch) = requests::abort(deployment, &all, jiff::Timestamp::now())?;
    apply(subject, &patch, &said, &arguments.writing).await
}

pub(crate) async fn promote(subject: &Subject, arguments: &PromoteArguments) -> Result<Code, Failure> {
    let Subject { cluster, deployment } = subject;
    let all = revisions(cluster.sets_of(deployment).await?);
    let to = if arguments.full { Some(goal::ALL) } else { arguments.to.as_deref() };
    let gates = if arguments.force { Gates::Passed } else { Gates::Awaited };
    match promotion::promote(deployment, &all, to, gates, jiff::Timestamp::now())? {
        Promotion::Nothing(words) => report(deployment, &words, &arguments.writing),
        Promotion::Request(done, patch) => apply(subject, &patch, &done, &arguments.writing).await,
    }
}

/// `scale`, through `spec.replicas`: who may edit the Deployment needs no other right.
pub(crate) async fn scale(subject: &Subject, arguments: &ScaleArguments) -> Result<Code, Failure> {
    let deployment = &subject.deployment;
    let now = deployment.body.pointer("/spec/replicas").and_then(Value::as_i64).unwrap_or(1);
    let replicas = arguments.replicas;
    let patch = match arguments.current_replicas {
        None => Patch::Merge(json!({"spec": {"replicas": replicas}})),
        Some(expected) if expected != now => {
            return Err(Failure::Rollout(format!("expected {expected} replicas and found {now}")));
        }
        Some(_) => {
            let replace = json!({"op": "add", "path": "/spec/replicas", "value": replicas});
            edits::unless_changed(deployment, vec![replace])?
        }
    };
    apply(subject, &patch, "scaled", &arguments.writing).await
}
