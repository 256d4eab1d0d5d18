//! Counts the transitions of rollouts, and measures how long rollouts take.
//!
//! The planner names the transition that an action causes ([`plan::turns`]). It is counted once the action
//! has succeeded. The process remembers when a rollout began. After a restart it uses the age of the
//! ReplicaSet, unless that ReplicaSet is older than the rollout.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use plan::keys::REVISION_HISTORY;
use plan::{Action, Claim, ReplicaSet, Turn, Workload, turns};

use crate::index::Key;
use crate::reconcile::controller::Controller;

/// The rollouts under way that began under our eyes.
#[derive(Debug, Default)]
pub(crate) struct Rollouts(Mutex<HashMap<Key, Begun>>);

#[derive(Debug)]
struct Begun {
    uid: String,
    at: Timestamp,
}

impl Rollouts {
    /// The Deployment is gone.
    pub(crate) fn forget(&self, key: &Key) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }

    fn begin(&self, key: &Key, uid: &str, at: Timestamp) {
        let begun = Begun { uid: uid.to_owned(), at };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(key.clone(), begun);
    }

    /// When it began, if that was seen.
    fn end(&self, key: &Key, uid: &str) -> Option<Timestamp> {
        let begun = self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(key)?;
        (begun.uid == uid).then_some(begun.at)
    }
}

/// An action succeeded.
pub(crate) fn acted(controller: &Controller, key: &Key, workload: &Workload, action: &Action) {
    let api = controller.flavour.api_version();
    if let Some(kind) = kind_of(action) {
        controller.metrics.set_writes.with_label_values(&[api, kind]).inc();
    }
    for turn in turns(workload, action) {
        controller.metrics.rollouts.with_label_values(&[api, turn.as_str()]).inc();
        match turn {
            Turn::Started => controller.rollouts.begin(key, &workload.uid, Timestamp::now()),
            Turn::Completed => {
                let begun = controller.rollouts.end(key, &workload.uid);
                if let Some(begun) = begun.or_else(|| age_of_set(controller, key, workload)) {
                    let seconds = Timestamp::now().duration_since(begun).as_secs_f64().max(0.0);
                    controller.metrics.rollout_seconds.with_label_values(&[api]).observe(seconds);
                }
            }
            Turn::DeadlineExceeded | Turn::Superseded | Turn::RolledBack => {}
        }
    }
}

/// A ReplicaSet was adopted or released.
pub(crate) fn claimed(controller: &Controller, claim: &Claim) {
    let kind = match claim {
        Claim::Adopt(_) => "adopt",
        Claim::Release(_) => "release",
    };
    controller.metrics.set_writes.with_label_values(&[controller.flavour.api_version(), kind]).inc();
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
    })
}

/// When the new set was made, if it was made for this rollout.
fn age_of_set(controller: &Controller, key: &Key, workload: &Workload) -> Option<Timestamp> {
    let snapshot = controller.index().snapshot(key)?;
    let fingerprint = &workload.template.fingerprint;
    let mut sets = snapshot.sets.iter().filter(|set| set.carries(fingerprint));
    sets.next().filter(|set| is_first_time(set)).map(|set| set.created)
}

fn is_first_time(set: &ReplicaSet) -> bool {
    !set.annotations.contains_key(REVISION_HISTORY)
}
