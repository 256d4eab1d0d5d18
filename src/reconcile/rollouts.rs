//! Counts how rollouts end, and measures how long they take.
//!
//! The status write that closes a record names it ([`plan::StatusWrite::ended`]). The record is counted when that
//! write has succeeded, so it counts once, even if a process restarts in between.
//!
//! apps/v1 has no records. There, a rollout ends by the transition that an action causes ([`plan::transitions`]). The
//! process remembers when a rollout began. After a restart, it uses the age of the ReplicaSet, unless that
//! ReplicaSet is older than the rollout. On both APIs, failures and their ends are such transitions.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use engine::index::Key;
use jiff::Timestamp;
use plan::keys::{REVISION_HISTORY, condition, reason};
use plan::{Action, OwnerChange, ReplicaSet, Transition, Workload, transitions};

use crate::reconcile::reconciler::Reconciler;

/// What this process saw of rollouts, by Deployment.
#[derive(Debug, Default)]
pub(crate) struct Rollouts(Mutex<HashMap<Key, Seen>>);

#[derive(Debug, Default)]
struct Seen {
    uid: String,
    /// When the running rollout began.
    begun: Option<Timestamp>,
    /// When the failure began that has not ended yet.
    failing: Option<Timestamp>,
}

impl Rollouts {
    /// The Deployment is gone.
    pub(crate) fn forget(&self, key: &Key) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }

    /// Another process may act from now on.
    pub(crate) fn forget_all(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Remembers transitions of a Deployment. Returns when their rollout began, and when the failure began
    /// that they end.
    fn transitioned(
        &self,
        key: &Key,
        workload: &Workload,
        transitions: &[Transition],
        now: Timestamp,
    ) -> (Option<Timestamp>, Option<Timestamp>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = all.entry(key.clone()).or_default();
        if seen.uid != workload.uid {
            *seen = Seen { uid: workload.uid.clone(), ..Seen::default() };
        }
        let begun = seen.begun;
        // Another process may have seen it begin.
        seen.failing = seen.failing.or_else(|| late_since(workload));
        if transitions.iter().any(|transition| transition.is_failure()) {
            seen.failing = seen.failing.or(Some(now));
        }
        if transitions.contains(&Transition::Started) {
            seen.begun = Some(now);
        }
        if !transitions.contains(&Transition::Completed) {
            return (begun, None);
        }
        (begun, all.remove(key).and_then(|seen| seen.failing))
    }
}

/// Since when a rollout has missed its deadline.
fn late_since(workload: &Workload) -> Option<Timestamp> {
    let progressing = workload.status.condition(condition::PROGRESSING)?;
    let is_late = progressing.reason == reason::PROGRESS_DEADLINE_EXCEEDED;
    progressing.last_transition_time.filter(|_| is_late)
}

/// An action succeeded.
pub(crate) fn acted(reconciler: &Reconciler, key: &Key, workload: &Workload, action: &Action) {
    let (flavour, metrics) = (reconciler.flavour, &reconciler.metrics);
    if let Some(kind) = kind_of(action) {
        metrics.set_writes.with_label_values(&[flavour.api_version(), kind]).inc();
    }
    if let Action::WriteStatus(write) = action {
        // Oldest first; of rollwright.dev only.
        for record in &write.ended {
            let Some(end) = &record.end else { continue };
            let how = (end.outcome, record.trigger);
            metrics.rollouts.ended(flavour, &key.namespace, how, record.seconds());
        }
    }
    let transitions = transitions(workload, action);
    if !transitions.is_empty() {
        transitioned(reconciler, key, workload, &transitions);
    }
}

/// Transitions happened. Where there are no records, a rollout ends by them, and its trigger is not known.
fn transitioned(reconciler: &Reconciler, key: &Key, workload: &Workload, transitions: &[Transition]) {
    let (flavour, metrics, now) = (reconciler.flavour, &reconciler.metrics.rollouts, reconciler.timestamp());
    let seconds = |since: Timestamp| now.duration_since(since).as_secs_f64().max(0.0);
    let (begun, failing) = reconciler.rollouts.transitioned(key, workload, transitions, now);
    for _ in transitions.iter().filter(|transition| transition.is_failure()) {
        metrics.failed(flavour, &key.namespace);
    }
    if let Some(since) = failing {
        metrics.restored(flavour, &key.namespace, seconds(since));
    }
    if flavour.has_status_extras() {
        return;
    }
    for (transition, outcome) in
        transitions.iter().filter_map(|transition| Some((transition, transition.outcome()?)))
    {
        // The template is already the next one when another rollout takes the place of this one.
        let is_current = matches!(transition, Transition::Completed | Transition::DeadlineExceeded);
        let begun = begun.or_else(|| age_of_set(reconciler, key, workload).filter(|_| is_current));
        metrics.ended(flavour, &key.namespace, (outcome, None), begun.map(seconds));
    }
}

/// Adds time to the causes that block rollouts. Two containers with the same cause are one cause.
pub(crate) fn blocked(reconciler: &Reconciler, time: Duration) {
    if !reconciler.progress.is_running() {
        return;
    }
    let mut all = Vec::new();
    for (key, blockers) in reconciler.engine.state().blocked() {
        let causes: BTreeSet<&str> = blockers.iter().map(|blocker| blocker.cause.as_str()).collect();
        all.extend(causes.into_iter().map(|cause| (key.namespace.clone(), cause.to_owned())));
    }
    for (namespace, cause) in all {
        reconciler.metrics.rollouts.blocked(reconciler.flavour, &namespace, &cause, time);
    }
}

/// A ReplicaSet was adopted or released.
pub(crate) fn owner_changed(reconciler: &Reconciler, change: &OwnerChange) {
    let kind = match change {
        OwnerChange::Adopt(_) => "adopt",
        OwnerChange::Release(_) => "release",
    };
    reconciler.metrics.set_writes.with_label_values(&[reconciler.flavour.api_version(), kind]).inc();
}

/// What is done to a ReplicaSet.
fn kind_of(action: &Action) -> Option<&'static str> {
    Some(match action {
        Action::CreateReplicaSet(_) => "create",
        Action::UpdateReplicaSet(update) if update.size_to > update.size_from => "scale_up",
        Action::UpdateReplicaSet(update) if update.size_to < update.size_from => "scale_down",
        Action::UpdateReplicaSet(_) => "update",
        Action::DeleteReplicaSet(_) => "delete",
        Action::SetSelector(_) | Action::WriteStatus(_) | Action::RollBack(_) => return None,
        Action::CreateJob(_) | Action::DeleteJob { .. } => return None,
    })
}

/// When the new ReplicaSet was made, if it was made for this rollout.
fn age_of_set(reconciler: &Reconciler, key: &Key, workload: &Workload) -> Option<Timestamp> {
    let snapshot = reconciler.index().snapshot(key)?;
    let fingerprint = &workload.template.fingerprint;
    let mut sets = snapshot.sets.iter().filter(|set| set.carries(fingerprint));
    sets.next().filter(|set| is_first_time(set)).map(|set| set.created)
}

fn is_first_time(set: &ReplicaSet) -> bool {
    !set.annotations.contains_key(REVISION_HISTORY)
}
