//! What must hold in every state and for every write. The names are those of docs/internals/invariants.md;
//! AV-2 is the availability that is kept over time.

use plan::keys::{condition, reason};
use plan::{Action, Purpose, Status, Strategy, UpdateReplicaSet};

use crate::state::{Reported, Set, State, Verdict};
use crate::view::{self, View};

/// R − maxUnavailable.
fn minimum(strategy: &Strategy, replicas: u8) -> u8 {
    u8::try_from(strategy.min_available(i64::from(replicas))).unwrap_or(0)
}

/// AV-2: once as many pods are available as must be, that is the floor.
///
/// Pods that a ReplicaSet has no room for do not count, they are as good as gone. And the floor is that
/// of the smallest number of replicas that the operator may still act on: its cache, or a reconcile on
/// its way, may not know the present one yet.
pub(crate) fn note_floor(state: &mut State, view: Option<&View>, strategy: &Strategy) {
    let seen = view.map_or(u8::MAX, |view| view.deployment.replicas);
    let replicas = state.deployment.replicas.min(state.cached_deployment().replicas).min(seen);
    let minimum = minimum(strategy, replicas);
    let safe: u8 = state.sets.iter().map(|set| set.ready.min(set.size)).sum();
    if safe >= minimum {
        state.floor = state.floor.max(minimum);
    }
}

/// AV-2 is kept by what the ReplicaSets report, and a ReplicaSet that was cut reports the pods of its earlier size
/// for a while: of an earlier generation, or more than it has room for. A cut that counts on such a report
/// may go too far (docs/internals/exploration.md has the shortest way to it), so it takes the floor away
/// until enough pods are there again.
pub(crate) fn note_cut(state: &mut State, view: &View, action: &Action) -> bool {
    let Action::UpdateReplicaSet(update) = action else { return false };
    let counts_on_old_report = view.sets.iter().any(|set| {
        let is_target = view::uid_text(set.uid) == update.target.uid;
        let Reported { available, is_observed, .. } = set.reported;
        !is_target && (!is_observed && available > 0 || available > set.size)
    });
    let is_trusting = update.size_to < update.size_from && counts_on_old_report;
    if is_trusting {
        state.floor = 0;
    }
    is_trusting
}

/// AV-2: another number of replicas can lower the floor immediately, and raise it later.
pub(crate) fn lower_floor(state: &mut State, strategy: &Strategy) {
    state.floor = state.floor.min(minimum(strategy, state.deployment.replicas));
}

/// What must hold in every state.
pub(crate) fn broken(state: &State) -> Option<String> {
    let (available, floor, losses) = (state.available(), state.floor, state.losses);
    if available + losses < floor {
        return Some(format!(
            "AV-2: {available} pods are available, {floor} were and should be, and others took {losses}"
        ));
    }
    let twins = state
        .sets
        .iter()
        .any(|set| state.sets.iter().any(|other| other.uid != set.uid && other.template == set.template));
    twins.then(|| "UN-1: two sets of one template".to_owned())
}

/// The template of the newest good ReplicaSet, the declared one aside (FP-9).
pub(crate) fn fallback(sets: &[Set], declared: u8) -> Option<u8> {
    let good = sets.iter().filter(|set| set.template != declared && set.verdict() == Some(Verdict::Good));
    good.max_by_key(|set| set.revision).map(|set| set.template)
}

/// Whether a status reports that no revision is good (FP-6).
pub(crate) fn lacks_good(status: &Status) -> bool {
    status.condition(condition::STALLED).is_some_and(|stalled| stalled.reason == reason::NO_GOOD_REVISION)
}

/// A write that the server accepted.
#[derive(Debug)]
pub(crate) struct Write<'a> {
    pub(crate) view: &'a View,
    pub(crate) before: &'a State,
    pub(crate) after: &'a State,
    /// As it is, whatever the planner gets.
    pub(crate) strategy: &'a Strategy,
}

impl Write<'_> {
    /// What must hold for a write.
    pub(crate) fn broken(&self, action: &Action) -> Option<String> {
        let paused = self.view.deployment.paused;
        let own = match action {
            Action::CreateReplicaSet(_) if paused => Some("PA-1: a set is created while paused".to_owned()),
            // One without pods, beside the pinned one, disturbs nobody.
            Action::CreateReplicaSet(new) if new.size == 0 => None,
            Action::CreateReplicaSet(_) => self.overlap(),
            Action::UpdateReplicaSet(update) if update.purpose == Purpose::ScaleDownOld && paused => {
                Some("PA-1: an old set is cut while paused".to_owned())
            }
            Action::UpdateReplicaSet(update) => self.update(update),
            Action::DeleteReplicaSet(target) => self.delete(&target.uid),
            Action::WriteStatus(write) => self.status(&write.status),
            Action::SetSelector(_) | Action::RollBack(_) => Some(format!("nobody asked for {action:?}")),
        };
        own.or_else(|| self.surge())
    }

    fn seen(&self, uid: &str) -> Option<&Set> {
        self.view.sets.iter().find(|set| view::uid_text(set.uid) == *uid)
    }

    /// SU-1, by the number of replicas that the reconcile saw.
    fn surge(&self) -> Option<String> {
        let (before, after) = (self.before.total(), self.after.total());
        let replicas = i64::from(self.view.deployment.replicas);
        let cap = replicas + self.strategy.max_surge(replicas);
        let is_over = after > before && i64::from(after) > cap && !self.before.is_scale_up_unseen;
        is_over.then(|| format!("SU-1: the sizes go from {before} to {after}, and {cap} are allowed"))
    }

    /// AV-4: under Recreate no new ReplicaSet while pods of another one are there.
    fn overlap(&self) -> Option<String> {
        let is_over = !self.view.with_pods.is_empty();
        is_over.then(|| "AV-4: a set is created while old pods are there".to_owned())
    }

    /// FP-2 and FP-10, by what the reconcile saw.
    fn failure(&self, seen: &Set, update: &UpdateReplicaSet) -> Option<String> {
        let now = self.after.set(seen.uid).and_then(Set::verdict);
        // Under a pin, or paused, sizes follow R, whatever the verdict is.
        let acts = !self.view.deployment.paused && self.view.deployment.pin.is_none();
        if acts
            && now == Some(Verdict::Aborted)
            && seen.verdict() != now
            && update.size_to != update.size_from
        {
            return Some("FP-2: a size changes with the verdict".to_owned());
        }
        let is_declared = seen.template == self.view.deployment.template;
        let grows = is_declared && update.size_to > update.size_from;
        let has_good = fallback(&self.view.sets, self.view.deployment.template).is_some();
        // A new number voids the verdict in the same write.
        let is_broken = grows && now == Some(Verdict::Aborted) && has_good;
        is_broken.then(|| "FP-10: a revision that failed grows".to_owned())
    }

    fn update(&self, update: &UpdateReplicaSet) -> Option<String> {
        let seen = self.seen(&update.target.uid)?;
        if let Some(broken) = self.failure(seen, update) {
            return Some(broken);
        }
        if self.before.set(seen.uid).map(|set| set.object()) != Some(*seen) {
            return Some("OW-2: a set was written over that was not as it was seen".to_owned());
        }
        if update.purpose != Purpose::ScaleDownOld {
            return None;
        }
        // AV-1, by what the ReplicaSets reported.
        let available: u8 = self.view.sets.iter().map(|set| set.reported.available).sum();
        let size = self.after.set(seen.uid).map_or(0, |set| set.size);
        let lost = seen.reported.available.min(seen.size).saturating_sub(size);
        let minimum = minimum(self.strategy, self.view.deployment.replicas);
        let is_broken = lost > 0 && available.saturating_sub(lost) < minimum;
        is_broken.then(|| format!("AV-1: of {available} available pods {lost} go, and {minimum} must stay"))
    }

    fn delete(&self, uid: &str) -> Option<String> {
        let seen = self.seen(uid)?;
        let stored = self.before.set(seen.uid)?;
        let is_idle = stored.size == 0 && stored.pods() == 0 && stored.reported == stored.true_report();
        let is_new = seen.template == self.view.deployment.template;
        let is_pinned = self.view.deployment.pin == Some(seen.template);
        let is_fallback = fallback(&self.view.sets, self.view.deployment.template) == Some(seen.template);
        (!is_idle || is_new || is_pinned || is_fallback).then(|| format!("HC-1, FP-9: {stored:?} is deleted"))
    }

    fn status(&self, status: &Status) -> Option<String> {
        let counters = [status.replicas, status.updated_replicas, status.available_replicas];
        let is_sane = counters.iter().all(|count| *count >= 0)
            && status.updated_replicas <= status.replicas
            && status.observed_generation <= i64::from(self.before.deployment.generation);
        if !is_sane {
            return Some(format!("ST-1: {status:?}"));
        }
        let (seen, stored) = (&self.view.deployment, &self.before.deployment);
        let is_other = seen.generation != stored.generation;
        is_other.then(|| "OW-2: a status was written to a Deployment that was not as it was seen".to_owned())
    }
}
