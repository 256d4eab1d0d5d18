//! `status`: how a rollout stands, and waiting for its end.

use api::{ConditionStatus, Target};
use futures::StreamExt as _;
use kube::api::DynamicObject;
use kube::runtime::watcher::Event;
use kube::runtime::{WatchStreamExt as _, watcher as watch};
use plan::keys::condition;
use serde_json::{Value, json};

use crate::args::output::Format;
use crate::args::{Goal, StatusArguments};
use crate::at_step::{self, AtStep, Rest};
use crate::bar::bar;
use crate::cluster::{Cluster, Deployment, body};
use crate::code::Code;
use crate::deadline::Deadline;
use crate::failure::Failure;
use crate::history::{Revision, revisions};
use crate::output::{Drawn, document, is_lively, print};
use crate::pinned;
use crate::reach::contact::Interruption;
use crate::reported;
use crate::requests;
use crate::rollout::{self, Phase, Rollout};
use crate::signs::{self, LOOK_AGAIN};
use crate::terminal::tell;
use crate::verbs::subject::Subject;
use crate::watched::{failure_of, watch_config};

/// What is left undone when the time is over.
const UNFINISHED: &str = "the rollout has not ended";

/// The time is for all Deployments that were named.
pub(crate) async fn status(
    subject: &Subject,
    arguments: &StatusArguments,
    deadline: Deadline,
) -> Result<Code, Failure> {
    let Subject { cluster, deployment } = subject;
    let format = arguments.output.format.clone();
    let mut lines = Lines { format, is_once: !arguments.watch, ..Lines::default() };
    // With several names, one may have taken all the time; the others have ended or not.
    let is_over = deadline.is_over();
    if arguments.watch && !is_over {
        return wait(cluster, deployment, arguments.goal, deadline, &mut lines).await;
    }
    let stand = Stand::find(cluster, deployment, arguments.goal);
    let stand = if is_over { stand.await } else { deadline.hold_or(&cluster.unanswered(), stand).await }?;
    lines.show(deployment, &stand)?;
    if is_over && stand.end.is_none() {
        lines.mark(Code::Unfinished);
        lines.end()?;
        return Err(deadline.late(UNFINISHED));
    }
    // What has not ended has not failed either: the text shows how far it is.
    let code = stand.end.or(stand.rest().map(Rest::code)).unwrap_or(Code::Done);
    lines.mark(code);
    lines.end()?;
    Ok(code)
}

/// How a rollout stands towards what is waited for.
struct Stand {
    rollout: Rollout,
    message: String,
    /// Available pods of the revision that is waited for.
    done: i64,
    /// How the process ends, if this is the end.
    end: Option<Code>,
}

impl Stand {
    /// The wait at a step, if what is waited for comes after it.
    fn rest(&self) -> Option<&Rest> {
        self.rollout.rest().filter(|_| self.message == self.rollout.message)
    }

    /// Reads the stand from the Deployment. Asks for the ReplicaSets only where the rollout seems to have failed, or
    /// somebody asked for a retry or to abort. Asks for the controller only where the last change or request has no
    /// outcome yet.
    async fn find(cluster: &Cluster, deployment: &Deployment, goal: Goal) -> Result<Self, Failure> {
        let mut stand = Self::of(deployment, goal, &[]);
        if goal == Goal::Running
            && stand.end == Some(Code::Failed)
            && let Some(target) = by_pin(deployment)
        {
            let all = revisions(cluster.sets_of(deployment).await?);
            stand = Self::towards_pin(deployment, &target, &all);
            if stand.end.is_none() {
                stand.message = reported::added_to(&stand.message, &deployment.body);
            }
            return Ok(stand);
        }
        let mut all = Vec::new();
        let is_asked = !rollout::is_yet_to_begin(&deployment.body)
            && deployment.workload().is_ok_and(|it| it.has_request());
        if is_asked || stand.end == Some(Code::Failed) {
            all = match cluster.sets_of(deployment).await {
                Ok(sets) => revisions(sets),
                // The Deployment itself shows nearly all of it.
                Err(Failure::Forbidden(_)) => Vec::new(),
                Err(failure) => return Err(failure),
            };
            stand = Self::of(deployment, goal, &all);
        }
        if stand.end.is_none()
            && requests::is_awaited(deployment, &all)
            && let Some(words) = signs::words(cluster, deployment).await
        {
            stand.message = words;
        }
        if matches!(stand.end, None | Some(Code::Failed)) {
            stand.message = reported::added_to(&stand.message, &deployment.body);
        }
        Ok(stand)
    }

    fn of(deployment: &Deployment, goal: Goal, newest_first: &[Revision]) -> Self {
        let newest = newest_first.first().map(Revision::set_name);
        let rollout = rollout::of_set(deployment.flavour, deployment.name(), &deployment.body, newest);
        let rollout = requests::awaited(deployment, newest_first, rollout);
        if goal == Goal::Available {
            return Self::towards_availability(deployment, rollout);
        }
        let end = Some(rollout.code()).filter(|code| *code != Code::Unfinished);
        Self { message: rollout.message.clone(), done: rollout.counts.new_available(), rollout, end }
    }

    fn towards_availability(deployment: &Deployment, rollout: Rollout) -> Self {
        let status = deployment.status();
        let available = status.condition(condition::AVAILABLE);
        let is_available = available.is_some_and(|found| found.status == ConditionStatus::True);
        let name = deployment.name();
        if rollout::is_observed(&deployment.body) && is_available {
            let message = format!("deployment \"{name}\" has minimum availability");
            return Self { done: rollout.counts.available, rollout, message, end: Some(Code::Done) };
        }
        let counts = rollout.counts;
        let message = format!(
            "Waiting for deployment \"{name}\" to be available: {} of {} replicas are available...",
            counts.available, counts.desired
        );
        // Pods of the revision that runs instead become available like any others.
        let has_failed = rollout.phase == Phase::Failed && instead(deployment).is_none();
        Self { done: counts.available, rollout, message, end: has_failed.then_some(Code::Failed) }
    }

    /// The declared revision does not run, and that is what was asked for.
    fn towards_pin(deployment: &Deployment, target: &Target, all: &[Revision]) -> Self {
        let name = deployment.name();
        let rollout = rollout::of(deployment.flavour, name, &deployment.body);
        let pods = pinned::pods(target, all.iter());
        let replicas = all.iter().map(|revision| revision.status().replicas).sum();
        let left = pinned::left(rollout.counts, &pods, replicas);
        let runs = target.revision.map_or_else(String::new, |number| format!(" {number}"));
        let (message, end) = match left {
            Some(left) => (format!("Waiting for deployment \"{name}\" rollout to finish: {left}..."), None),
            None => (format!("deployment \"{name}\" runs the pinned revision{runs}"), Some(Code::Done)),
        };
        Self { rollout, message, done: pods.available, end }
    }
}

/// What runs by a pin instead of the declared revision.
fn by_pin(deployment: &Deployment) -> Option<Target> {
    instead(deployment).filter(pinned::is_pinned)
}

/// What runs instead of the declared revision.
fn instead(deployment: &Deployment) -> Option<Target> {
    pinned::target(&deployment.body).filter(pinned::runs_another)
}

/// Waits for the end of a rollout, and prints on the way how it proceeds.
pub(crate) async fn wait(
    cluster: &Cluster,
    deployment: &Deployment,
    goal: Goal,
    deadline: Deadline,
    lines: &mut Lines,
) -> Result<Code, Failure> {
    let ended = deadline.hold(follow(cluster, deployment, goal, lines)).await;
    let ended = ended.unwrap_or_else(|| {
        // What was read last may be over.
        let late = cluster.lost().map_or_else(|| deadline.late(UNFINISHED), |lost| deadline.unserved(&lost));
        lines.mark(late.code());
        Err(late)
    });
    lines.end()?;
    ended
}

async fn follow(
    cluster: &Cluster,
    deployment: &Deployment,
    goal: Goal,
    lines: &mut Lines,
) -> Result<Code, Failure> {
    let (flavour, name, uid) = (deployment.flavour, deployment.name(), deployment.text("/metadata/uid"));
    let config = watch_config().fields(&format!("metadata.name={name}"));
    let mut events = Box::pin(watch(cluster.deployments(flavour), config).default_backoff());
    let (mut is_listed, mut last, mut interruption) = (false, None, Interruption::default());
    loop {
        match tokio::time::timeout(LOOK_AGAIN, events.next()).await {
            Ok(Some(Err(error))) => {
                let failure = failure_of(&error);
                if failure.is_final() {
                    return Err(failure);
                }
                interruption.note(&failure);
                continue;
            }
            Ok(Some(Ok(event))) => match shown(event, &mut is_listed, name)? {
                Some(object) => {
                    interruption.end();
                    last = Some(Deployment { flavour, body: body(object) });
                }
                None => continue,
            },
            Ok(None) => return Err(Failure::Rollout("the watch has ended; try again".to_owned())),
            // While nobody writes to the Deployment, its controller may end, or begin to run.
            Err(_) => {}
        }
        let Some(now) = &last else { continue };
        if now.text("/metadata/uid") != uid {
            return Err(Failure::Rollout(format!("deployment \"{name}\" was deleted and created again")));
        }
        let stand = match Stand::find(cluster, now, goal).await {
            Err(failure) if failure.is_temporary() => {
                interruption.note(&failure);
                continue;
            }
            stand => stand?,
        };
        lines.show(now, &stand)?;
        if let Some(code) = stand.end {
            return Ok(code);
        }
    }
}

/// The Deployment that an event shows, if it shows one; a failure once the Deployment is gone.
fn shown(
    event: Event<DynamicObject>,
    is_listed: &mut bool,
    name: &str,
) -> Result<Option<DynamicObject>, Failure> {
    let gone = || Failure::Missing(format!("deployment \"{name}\" was deleted"));
    match event {
        Event::Init => *is_listed = false,
        Event::InitApply(object) | Event::Apply(object) => {
            *is_listed = true;
            return Ok(Some(object));
        }
        Event::InitDone if *is_listed => {}
        Event::InitDone | Event::Delete(_) => return Err(gone()),
    }
    Ok(None)
}

/// What is printed while waiting: a bar on a terminal, elsewhere a line per change.
#[derive(Default)]
pub(crate) struct Lines {
    format: Option<Format>,
    is_once: bool,
    last: String,
    drawn: Drawn,
    /// What programs get at the end.
    result: Option<(String, Value)>,
}

impl Lines {
    fn show(&mut self, deployment: &Deployment, stand: &Stand) -> Result<(), Failure> {
        // A line for each change has a time that stays.
        let left = stand.rest().filter(|_| self.is_once || is_lively());
        let left = left.map_or_else(String::new, |rest| rest.left(jiff::Timestamp::now()));
        let message = format!("{}{left}", stand.message);
        if message == self.last {
            return Ok(());
        }
        self.last.clone_from(&message);
        match self.format {
            Some(_) => {
                let name = deployment.full_name();
                self.result = Some((name.clone(), stand_document(&name, stand)));
                Ok(())
            }
            None if stand.end == Some(Code::Failed) => {
                self.end()?;
                tell(&format!("error: {message}"));
                Ok(())
            }
            None if stand.end.is_none() && is_lively() => {
                let desired = stand.rollout.counts.desired;
                let bar = bar(stand.done, desired, &at_step::marks(deployment));
                self.drawn.redraw(&format!("{bar} {}", short(&message)))
            }
            None => {
                self.end()?;
                print(&format!("{message}\n"))
            }
        }
    }

    /// Takes the bar away. Programs get the one document of the wait.
    fn end(&mut self) -> Result<(), Failure> {
        if let (Some(format), Some((name, result))) = (&self.format, self.result.take()) {
            return document(format, &result, &[name]);
        }
        self.drawn.erase()
    }

    /// Gives the result another exit code than its stand has.
    fn mark(&mut self, code: Code) {
        if let Some(known) = self.result.as_mut().and_then(|(_, result)| result.get_mut("exitCode")) {
            *known = code.number().into();
        }
    }
}

fn stand_document(name: &str, stand: &Stand) -> Value {
    json!({
        "name": name,
        "phase": stand.rollout.phase.word(),
        "message": stand.message,
        "replicas": stand.rollout.counts,
        "step": stand.rollout.at_step.as_ref().map(AtStep::document),
        "exitCode": stand.end.map(Code::number),
    })
}

/// A message without what the author of the command knows.
pub(crate) fn short(message: &str) -> &str {
    message.split_once("rollout to finish: ").map_or(message, |(_, rest)| rest)
}

#[cfg(test)]
mod tests;
