//! `resume --parallel`: after an incident, held rollouts continue a few at a time.

use std::cell::RefCell;
use std::time::Duration;

use futures::{StreamExt as _, TryStreamExt as _, stream};

use crate::args::ResumeArguments;
use crate::args::connection::Connection;
use crate::args::target::Targets;
use crate::cluster::Cluster;
use crate::code::Code;
use crate::deadline::Deadline;
use crate::failure::Failure;
use crate::history::revisions;
use crate::output::print;
use crate::requests;
use crate::rollout::{self, Phase};
use crate::verbs::edit;
use crate::verbs::several::{all, choice};
use crate::verbs::subject::Subject;

const PAUSE: Duration = Duration::from_secs(1);
/// How often the status may show a hold that the operator has released.
const LOOKS_MAX: u8 = 10;

/// Continues what is held, this many at a time. A rollout that fails is the last one: what is held then stays so.
pub(super) async fn in_parallel(
    connection: &Connection,
    arguments: &ResumeArguments,
    most: usize,
) -> Result<Code, Failure> {
    let (mut held, code) = found(connection, &arguments.edit.targets).await?;
    held.retain(|subject| requests::is_held(&subject.deployment));
    if held.is_empty() {
        print("No rollout is held.\n")?;
        return Ok(code);
    }
    let each = held.iter().map(|subject| one(subject, arguments));
    stream::iter(each).buffer_unordered(most).try_for_each(|()| async { Ok(()) }).await?;
    Ok(code)
}

/// The Deployments that the command line chooses, and the way to each.
async fn found(connection: &Connection, targets: &Targets) -> Result<(Vec<Subject>, Code), Failure> {
    let (subjects, choice) = (RefCell::new(Vec::new()), choice(&targets.words, &targets.several)?);
    let cluster = Cluster::connect(connection).await?;
    let deadline = Deadline::after(Duration::ZERO);
    let subjects_of = async |subject: &Subject| {
        let Subject { cluster, deployment } = subject;
        let found = Subject { cluster: cluster.clone(), deployment: deployment.clone() };
        subjects.borrow_mut().push(found);
        Ok(Code::Done)
    };
    let code = all(&cluster, connection.namespace.as_deref(), (choice, deadline), subjects_of).await?;
    Ok((subjects.into_inner(), code))
}

/// Continues one, and waits until it needs no more room.
async fn one(subject: &Subject, arguments: &ResumeArguments) -> Result<(), Failure> {
    let Subject { cluster, deployment } = subject;
    edit::resume(subject, &arguments.edit).await?;
    let mut looks = 0;
    loop {
        tokio::time::sleep(PAUSE).await;
        let now = match cluster.read_again(deployment).await {
            Err(failure) if failure.is_temporary() => continue,
            now => now?,
        };
        let rollout = rollout::of(now.flavour, now.name(), &now.body);
        let is_awaited = || async {
            let all = revisions(cluster.sets_of(&now).await?);
            Ok::<_, Failure>(requests::due(&now, &all).is_some())
        };
        match rollout.phase {
            Phase::Progressing => {}
            Phase::Held if is_awaited().await? => {}
            Phase::Held if looks < LOOKS_MAX => looks += 1,
            Phase::Complete | Phase::Paused | Phase::Resting => {
                return print(&format!("{}: {}\n", now.full_name(), rollout.message));
            }
            Phase::Held | Phase::Failed => return Err(Failure::Rollout(rollout.message)),
        }
    }
}
