//! One verb each: read, decide, print or patch.

mod edit;
mod get;
mod history;
mod list;
mod own;
mod plan;
mod pod;
mod set;
mod status;
mod undo;
mod why;

use std::time::Duration;

use crate::args::{Arguments, Connection, MoveVerb, RolloutVerb, Target, Verb};
use crate::cluster::{Cluster, Deployment};
use crate::code::Code;
use crate::failure::Failure;
use crate::{migrate, name, rolling_update};

/// Carries out a command line.
pub(crate) async fn carry_out(arguments: &Arguments) -> Result<Code, Failure> {
    let connection = &arguments.connection;
    match &arguments.verb {
        Verb::Rollout(verb) | Verb::Stock { verb } => rollout(connection, verb).await,
        Verb::Get(arguments) => get::get(&open(connection, &arguments.target).await?, arguments).await,
        Verb::Why(arguments) => why::why(&open(connection, &arguments.target).await?, arguments).await,
        Verb::Plan(arguments) => plan::plan(connection, arguments).await,
        Verb::List(arguments) => list::list(connection, arguments).await,
        Verb::Move(verb) => take_over(connection, verb).await,
        Verb::Scale(arguments) => edit::scale(&open(connection, &arguments.target).await?, arguments).await,
        Verb::Set { field } => set::set(connection, field).await,
        Verb::Pod(verb) => pod::carry_out(connection, verb).await,
        Verb::Own(verb) => own::carry_out(verb).await,
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

/// A Deployment that was named and found, and the cluster it is in.
pub(crate) struct Subject {
    pub(crate) cluster: Cluster,
    pub(crate) deployment: Deployment,
}

/// Names are read before the cluster is asked, so that a typing error needs no connection.
async fn open(connection: &Connection, target: &Target) -> Result<Subject, Failure> {
    let named = name::parse(&target.words)?;
    let cluster = Cluster::connect(connection).await?;
    let deployment = cluster.find(&named).await?;
    Ok(Subject { cluster, deployment })
}

/// No limit is written as 0.
pub(crate) fn limit(timeout: Duration) -> Option<Duration> {
    (timeout > Duration::ZERO).then_some(timeout)
}
