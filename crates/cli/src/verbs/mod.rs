//! One verb each: read, decide, print or patch.

mod diff;
mod edit;
pub(crate) mod get;
pub(crate) mod history;
mod list;
mod own;
pub(crate) mod plan;
mod resume;
mod set;
mod several;
pub(crate) mod status;
mod subject;
pub(crate) mod undo;
pub(crate) mod why;

use crate::args::connection::Connection;
use crate::args::writing::DryRun;
use crate::args::{Arguments, MoveVerb, RevisionVerb, RolloutVerb, SpecVerb, Verb};
use crate::code::Code;
use crate::deadline::Deadline;
use crate::failure::Failure;
use crate::{migrate, rolling_update};
use several::{each, each_headed, each_within, one_if};
use subject::Subject;
#[cfg(test)]
pub(crate) use {diff::compared, plan::summary};

/// Carries out a command line.
pub(crate) async fn carry_out(arguments: &Arguments) -> Result<Code, Failure> {
    let connection = &arguments.connection;
    match &arguments.verb {
        Verb::Rollout(verb) | Verb::Stock { verb } => rollout(connection, verb).await,
        Verb::Get(it) => {
            let how = "-w keeps one Deployment open; leave it out, or watch several with list -w";
            one_if(it.watch, &it.targets, how)?;
            each(connection, &it.targets, async |subject| get::get(subject, it).await).await
        }
        Verb::Why(it) => {
            let is_text = it.output.format.is_none();
            each_headed(connection, &it.targets, is_text, async |subject| why::why(subject, it).await).await
        }
        Verb::Plan(arguments) => plan::plan(connection, arguments).await,
        Verb::List(arguments) => list::list(connection, arguments).await,
        Verb::Revision(verb) => revision(connection, verb).await,
        Verb::Move(verb) => take_over(connection, verb).await,
        Verb::Spec(verb) => change(connection, verb).await,
        Verb::Own(verb) => own::carry_out(verb).await,
    }
}

async fn change(connection: &Connection, verb: &SpecVerb) -> Result<Code, Failure> {
    match verb {
        SpecVerb::Scale(it) => {
            each(connection, &it.targets, async |subject| edit::scale(subject, it).await).await
        }
        SpecVerb::Set { field } => set::set(connection, field).await,
    }
}

async fn revision(connection: &Connection, verb: &RevisionVerb) -> Result<Code, Failure> {
    match verb {
        RevisionVerb::Diff(it) => each_headed(connection, &it.targets, true, diff::diff).await,
        RevisionVerb::Unpin(it) => {
            each(connection, &it.targets, async |subject| edit::unpin(subject, it).await).await
        }
        RevisionVerb::Retry(it) => {
            each(connection, &it.targets, async |subject| edit::retry(subject, it).await).await
        }
        RevisionVerb::Abort(it) => {
            each(connection, &it.targets, async |subject| edit::abort(subject, it).await).await
        }
        RevisionVerb::Promote(it) => {
            each(connection, &it.targets, async |subject| edit::promote(subject, it).await).await
        }
    }
}

async fn take_over(connection: &Connection, verb: &MoveVerb) -> Result<Code, Failure> {
    match verb {
        MoveVerb::Migrate(arguments) => migrate::migrate(connection, arguments).await,
        MoveVerb::RollingUpdate(arguments) => rolling_update::update(connection, arguments).await,
    }
}

async fn rollout(connection: &Connection, verb: &RolloutVerb) -> Result<Code, Failure> {
    match verb {
        RolloutVerb::Status(it) => {
            let deadline = Deadline::after(it.timeout);
            each_within(connection, &it.targets, deadline, async |subject| {
                status::status(subject, it, deadline).await
            })
            .await
        }
        RolloutVerb::History(it) => {
            each(connection, &it.targets, async |subject| history::history(subject, it).await).await
        }
        RolloutVerb::Undo(it) => {
            let how = "--wait takes one Deployment; leave it out, and run status with the same names";
            one_if(it.wait, &it.targets, how)?;
            let deadline = Deadline::after(it.timeout);
            each_within(connection, &it.targets, deadline, async |subject| {
                undo::undo(subject, it, deadline).await
            })
            .await
        }
        RolloutVerb::Pause(it) => {
            each(connection, &it.targets, async |subject| edit::pause(subject, it).await).await
        }
        RolloutVerb::Resume(it) => match it.parallel.filter(|_| it.edit.writing.dry_run == DryRun::None) {
            Some(most) => resume::in_parallel(connection, it, most.into()).await,
            None => {
                let verb = async |subject: &Subject| edit::resume(subject, &it.edit).await;
                each(connection, &it.edit.targets, verb).await
            }
        },
        RolloutVerb::Restart(it) => {
            each(connection, &it.targets, async |subject| edit::restart(subject, it).await).await
        }
    }
}
