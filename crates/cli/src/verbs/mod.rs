//! One verb each: read, decide, print or patch.

mod diff;
mod edit;
pub(crate) mod get;
pub(crate) mod history;
mod list;
mod own;
pub(crate) mod plan;
mod set;
pub(crate) mod status;
mod subject;
pub(crate) mod undo;
pub(crate) mod why;

use crate::args::connection::Connection;
use crate::args::{Arguments, MoveVerb, RevisionVerb, RolloutVerb, SpecVerb, Verb};
use crate::code::Code;
use crate::failure::Failure;
use crate::{migrate, rolling_update};
use subject::open;

/// Carries out a command line.
pub(crate) async fn carry_out(arguments: &Arguments) -> Result<Code, Failure> {
    let connection = &arguments.connection;
    match &arguments.verb {
        Verb::Rollout(verb) | Verb::Stock { verb } => rollout(connection, verb).await,
        Verb::Get(arguments) => get::get(&open(connection, &arguments.target).await?, arguments).await,
        Verb::Why(arguments) => why::why(&open(connection, &arguments.target).await?, arguments).await,
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
        SpecVerb::Scale(arguments) => {
            edit::scale(&open(connection, &arguments.target).await?, arguments).await
        }
        SpecVerb::Set { field } => set::set(connection, field).await,
    }
}

async fn revision(connection: &Connection, verb: &RevisionVerb) -> Result<Code, Failure> {
    match verb {
        RevisionVerb::Diff(arguments) => diff::diff(&open(connection, &arguments.target).await?).await,
        RevisionVerb::Unpin(arguments) => {
            edit::unpin(&open(connection, &arguments.target).await?, arguments).await
        }
        RevisionVerb::Retry(arguments) => {
            edit::retry(&open(connection, &arguments.target).await?, arguments).await
        }
        RevisionVerb::Abort(arguments) => {
            edit::abort(&open(connection, &arguments.target).await?, arguments).await
        }
        RevisionVerb::Promote(arguments) => {
            edit::promote(&open(connection, &arguments.target).await?, arguments).await
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
        RolloutVerb::Status(arguments) => {
            status::status(&open(connection, &arguments.target).await?, arguments).await
        }
        RolloutVerb::History(arguments) => {
            history::history(&open(connection, &arguments.target).await?, arguments).await
        }
        RolloutVerb::Undo(arguments) => {
            undo::undo(&open(connection, &arguments.target).await?, arguments).await
        }
        RolloutVerb::Pause(arguments) => {
            edit::pause(&open(connection, &arguments.target).await?, arguments).await
        }
        RolloutVerb::Resume(arguments) => {
            edit::resume(&open(connection, &arguments.target).await?, arguments).await
        }
        RolloutVerb::Restart(arguments) => {
            edit::restart(&open(connection, &arguments.target).await?, arguments).await
        }
    }
}
