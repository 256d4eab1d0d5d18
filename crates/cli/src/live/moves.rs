//! What the keys change: by the functions of the verbs, which decide whether and how.

use jiff::Timestamp;
use kube::api::Patch;
use serde_json::Value;

use crate::args::writing::{DryRun, Writing};
use crate::cluster::{Cluster, Deployment};
use crate::edits::{self, Undo};
use crate::failure::Failure;
use crate::history::{Revision, revisions};
use crate::projection::Projection;
use crate::promotion::{self, Gates, Promotion};
use crate::requests;
use crate::verbs::{plan, undo};

/// A verb with a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Move {
    Promote,
    Pause,
    Resume,
    Undo,
    Abort,
    Retry,
}

/// A change that somebody is asked about.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Question {
    pub(super) verb: Move,
    /// What it does, in the words of the verb.
    pub(super) outcome: String,
    /// The rollout that follows, in the words of `plan`.
    pub(super) plan: String,
    patch: Patch<Value>,
}

impl Move {
    pub(super) const ALL: [Self; 6] =
        [Self::Promote, Self::Pause, Self::Resume, Self::Undo, Self::Abort, Self::Retry];

    pub(super) fn of_key(key: char) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.key() == key)
    }

    pub(super) fn key(self) -> char {
        match self {
            Self::Promote => 'm',
            Self::Pause => 'p',
            Self::Resume => 'r',
            Self::Undo => 'u',
            Self::Abort => 'a',
            Self::Retry => 't',
        }
    }

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Promote => "promote",
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Undo => "undo",
            Self::Abort => "abort",
            Self::Retry => "retry",
        }
    }

    /// Its line on the page of the keys.
    pub(super) fn about(self) -> &'static str {
        match self {
            Self::Promote => "end the wait at a step",
            Self::Pause => "hold the rollout",
            Self::Resume => "end a pause or a hold",
            Self::Undo => "roll back to the previous revision",
            Self::Abort => "go back to the last good revision",
            Self::Retry => "run a failed revision again",
        }
    }

    /// What the verb does without flags, and what to write.
    fn change(
        self,
        deployment: &Deployment,
        all: &[Revision],
        now: Timestamp,
    ) -> Result<(String, Patch<Value>), Failure> {
        let full = deployment.full_name();
        match self {
            Self::Pause => Ok(("paused".to_owned(), edits::pause(deployment)?)),
            Self::Resume => requests::resume(deployment, all),
            Self::Abort => requests::abort(deployment, all, now),
            Self::Retry => {
                let (number, patch) = requests::retry(deployment, all, now)?;
                Ok((format!("retry of revision {number} requested"), patch))
            }
            Self::Promote => match promotion::promote(deployment, all, None, Gates::Awaited, now)? {
                Promotion::Nothing(words) => Err(Failure::Rollout(format!("{full} {words}"))),
                Promotion::Request(done, patch) => Ok((done, patch)),
            },
            Self::Undo => match undo::change(deployment, all)? {
                (_, Undo::Nothing(words)) => Err(Failure::Rollout(format!("{full}: the {words} it"))),
                (planned, Undo::Patch(patch)) => Ok((planned, patch)),
            },
        }
    }
}

/// Finds out what a verb would do. The server checks the change without storing it.
pub(super) async fn ask(cluster: &Cluster, deployment: &Deployment, verb: Move) -> Result<Question, Failure> {
    let deployment = cluster.read_again(deployment).await?;
    let all = revisions(cluster.sets_of(&deployment).await?);
    let (outcome, patch) = verb.change(&deployment, &all, Timestamp::now())?;
    let changed = cluster.patch(&deployment, &patch, &Writing::of(DryRun::Server)).await?;
    let after = put_back(deployment, changed, &all);
    let planned = plan::projected(cluster, &after).await;
    // What cannot be foreseen is no reason not to ask.
    let plan = planned.map_or_else(|failure| failure.to_string(), |projection| summary(&after, &projection));
    Ok(Question { verb, outcome, plan, patch })
}

/// The plan in a line, with the first step at which it stops.
fn summary(deployment: &Deployment, projection: &Projection) -> String {
    let summary = plan::summary(deployment, projection);
    let stop = projection.rows.iter().skip(1).find_map(|row| row.stops.first());
    stop.map_or(summary.clone(), |stop| format!("{summary}; first to {stop}"))
}

/// The Deployment once the operator has put the template of a rollback back, with which the rollout begins.
fn put_back(before: Deployment, changed: Deployment, all: &[Revision]) -> Deployment {
    let wanted = changed.spec().rollback_to.and_then(|it| it.revision);
    let Some(revision) = all.iter().find(|revision| Some(revision.number) == wanted) else { return changed };
    let mut after = before;
    if let Some(template) = after.body.pointer_mut("/spec/template") {
        template.clone_from(&revision.template);
    }
    after
}

/// Does what was asked about, and returns what was done.
pub(super) async fn carry_out(
    cluster: &Cluster,
    deployment: &Deployment,
    question: &Question,
) -> Result<String, Failure> {
    let patched = cluster.patch(deployment, &question.patch, &Writing::of(DryRun::None)).await?;
    Ok(format!("{} {}", patched.full_name(), question.outcome))
}

/// A question with an empty change, for tests.
#[cfg(test)]
pub(super) fn question(verb: Move, outcome: &str, plan: &str) -> Question {
    let (outcome, plan) = (outcome.to_owned(), plan.to_owned());
    Question { verb, outcome, plan, patch: Patch::Merge(Value::Null) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pinned::samples;

    #[test]
    fn the_plan_of_a_rollback_begins_with_its_template() {
        let (mut before, all) = (samples::held("RolloutFailed"), samples::revisions());
        before.body["spec"]["failurePolicy"] = Value::Null;
        let (_, undo) = undo::change(&before, &all).unwrap();
        let Undo::Patch(Patch::Merge(patch)) = undo else { panic!("{undo:?}") };
        let mut changed = before.clone();
        json_patch::merge(&mut changed.body, &patch);
        let after = put_back(before.clone(), changed.clone(), &all);
        assert_eq!(after.body["spec"]["template"]["spec"]["containers"][0]["image"], "app:6");
        let without = put_back(before.clone(), before, &all);
        assert_eq!(without.body["spec"]["template"]["spec"]["containers"][0]["image"], "app:7");
    }
}
