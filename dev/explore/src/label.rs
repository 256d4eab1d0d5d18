//! States and steps as text, for traces.

use plan::Action;

use crate::door::Reply;
use crate::state::{Set, State};
use crate::steps::{Model, Step};
use crate::view;

/// Place of a reply among the counts.
pub(crate) fn kind(reply: &Reply) -> usize {
    match reply {
        Reply::Done => 0,
        Reply::Conflict => 1,
        Reply::NotFound | Reply::Taken(_) => 2,
    }
}

fn letter(template: u8) -> char {
    char::from(b'A' + template)
}

/// The state as lines: the Deployment, and each ReplicaSet.
pub(crate) fn state(model: &Model, state: &State) -> Vec<String> {
    let deployment = &state.deployment;
    let status = model.reconciles.statuses.get(deployment.status);
    let sets = state.sets.iter().map(|set| {
        let Set { size, unready, ready, reported, .. } = set;
        let verdict = set.verdict().map_or_else(String::new, |verdict| format!(" {verdict:?}"));
        let stale = if reported.is_observed { "" } else { " (of an earlier size)" };
        format!(
            "{}{verdict} size {size}, pods {ready} available + {unready} not, reports {} of {}{stale}",
            letter(set.template),
            reported.available,
            reported.replicas
        )
    });
    let lags = [("Deployment", state.deployment_lag.is_some()), ("sets", state.set_lag.is_some())];
    let lags = lags.iter().filter(|(_, lags)| *lags).map(|(name, _)| format!("cache behind: {name}"));
    let paused = if deployment.paused { ", paused" } else { "" };
    let wanted = format!(
        "wanted {} × {}{paused}, status {} available of {}",
        deployment.replicas,
        letter(deployment.template),
        status.available_replicas,
        status.replicas
    );
    let parts: Vec<_> = [wanted].into_iter().chain(sets).chain(lags).collect();
    vec![format!("        {}", parts.join(" | "))]
}

/// A step and the state that it led to.
pub(crate) fn line(model: &Model, step: Step, to: &State, write: Option<&(Action, Reply)>) -> Vec<String> {
    let name = |uid: u8| to.set(uid).map_or('?', |set| letter(set.template));
    let text = match step {
        Step::Begin => "operator  a reconcile takes its snapshot".to_owned(),
        Step::Write => write.map_or_else(String::new, |(action, reply)| {
            let reply = match reply {
                Reply::Done => "",
                Reply::Conflict => ": 409 Conflict",
                Reply::NotFound => ": 404 NotFound",
                Reply::Taken(_) => ": 409 AlreadyExists",
            };
            format!("operator  {}{reply}", self::write(to, action))
        }),
        Step::Crash => "operator  crashes in the middle of the pass, and starts anew".to_owned(),
        Step::DeliverDeployment => "watch     brings the Deployment".to_owned(),
        Step::DeliverSet => "watch     brings the ReplicaSet".to_owned(),
        Step::Manage(uid) => format!("sets      {}: pods are made or deleted", name(uid)),
        Step::Report(uid) => format!("sets      {}: the status is written", name(uid)),
        Step::Ready(uid) => format!("pods      {}: one becomes ready", name(uid)),
        Step::Fail(uid) => format!("pods      {}: one fails", name(uid)),
        Step::EditTemplate(template) => format!("user      writes template {}", letter(template)),
        Step::EditReplicas(replicas) => format!("user      wants {replicas} replicas"),
        Step::EditPause if to.deployment.paused => "user      pauses".to_owned(),
        Step::EditPause => "user      resumes".to_owned(),
        Step::EditPin(Some(template)) => format!("user      pins {}", letter(template)),
        Step::Abort(revision) => format!("user      asks to abort revision {revision}"),
        Step::EditPin(None) => "user      removes the pin".to_owned(),
        Step::ScaleSet(uid, size) => format!("somebody  scales {} to {size}", name(uid)),
    };
    let mut lines = vec![text];
    lines.extend(state(model, to));
    lines
}

fn write(to: &State, action: &Action) -> String {
    let name = |text: &str| {
        let found = to.sets.iter().find(|set| view::set_name(set.template, set.collisions) == text);
        found.map_or_else(|| text.to_owned(), |set| letter(set.template).to_string())
    };
    match action {
        Action::CreateReplicaSet(new) => {
            format!("creates {} of size {}", letter(view::template_number(&new.template.tree())), new.size)
        }
        Action::UpdateReplicaSet(update) if update.size_from == update.size_to => {
            format!("annotates {}", name(&update.target.name))
        }
        Action::UpdateReplicaSet(update) => {
            format!("scales {} from {} to {}", name(&update.target.name), update.size_from, update.size_to)
        }
        Action::DeleteReplicaSet(target) => format!("deletes {}", target.name),
        Action::WriteStatus(_) => "writes the status".to_owned(),
        Action::SetSelector(_) | Action::RollBack(_) => format!("{action:?}"),
    }
}
