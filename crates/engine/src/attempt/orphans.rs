//! ReplicaSets that never had the operator's label and that a Deployment could own.
//!
//! One list finds them, once for each Deployment and leadership term. It also finds ReplicaSets that lost
//! the label before the watch began. Deployments of a namespace share a list.

use std::sync::Arc;
use std::time::Instant;

use plan::keys::{MANAGED_LABEL, MANAGED_VALUE};
use plan::selector::LabelSelector;
use plan::{Event, Workload};
use serde_json::Value;

use super::listings::Found;
use super::{Attempt, live};
use crate::port::{Labels, Note, Object, Port};
use crate::reconcile::Refusal;
use crate::state::Adoption;

/// Reason of the event that names an orphan.
const UNLABELLED: &str = "UnlabelledReplicaSet";
/// An event each for this many orphans; the log names all.
const EVENTS_MAX: usize = 5;

impl<P: Port> Attempt<'_, P> {
    /// Looks for ReplicaSets without the operator's label that this Deployment could have, once.
    pub(super) async fn look_for_orphans(&self) -> Result<(), Refusal> {
        let Some((workload, since)) = self.unscouted() else { return Ok(()) };
        let Some(selector) = workload.selector.as_ref().filter(|selector| !selector.is_empty()) else {
            return Ok(());
        };
        let found = self.unlabelled(since).await?;
        let orphans = match self.take_in(&workload, selector, &found).await {
            Ok(orphans) => orphans,
            Err(refusal) => {
                // The next attempt looks again: something there is not as the list has it.
                self.engine.listings.forget(&self.key.namespace);
                return Err(refusal);
            }
        };
        let names = orphans.iter().map(|set| set.name.clone()).collect();
        self.engine.state().entry(self.key).of(&workload.uid).memory.note_scouted(names);
        self.report(&workload, selector, &orphans);
        Ok(())
    }

    /// The Deployment, and since when it is known, if nobody has looked for its orphans.
    fn unscouted(&self) -> Option<(Workload, Instant)> {
        let engine = self.engine;
        engine.flavour.set_labels()?;
        let uid = engine.cache().uid_of(self.key)?;
        if engine.state().entry(self.key).of(&uid).memory.has_scouted() {
            return None;
        }
        let known = engine.cache().first_seen(self.key)?;
        Some(known).filter(|(workload, _)| !workload.deleting)
    }

    /// The ReplicaSets without the operator's label in this namespace, from a list that is younger than `since`.
    async fn unlabelled(&self, since: Instant) -> Result<Arc<Vec<Found>>, Refusal> {
        let slot = self.engine.listings.slot(&self.key.namespace);
        let mut slot = slot.lock().await;
        if let Some((taken, found)) = &*slot
            && *taken >= since
        {
            return Ok(found.clone());
        }
        let taken = self.port.now();
        let describe = |object: &P::Object| describe(self.engine, object);
        let found = Arc::new(self.list_sets(Labels::Unmanaged, None, describe).await?);
        *slot = Some((taken, found.clone()));
        Ok(found)
    }

    /// Brings back what is this Deployment's, labels what may be adopted; returns the rest that matches.
    async fn take_in<'f>(
        &self,
        workload: &Workload,
        selector: &LabelSelector,
        found: &'f [Found],
    ) -> Result<Vec<&'f Found>, Refusal> {
        let adoption = self.engine.settings.adoption;
        let mut orphans = Vec::new();
        for set in found.iter().filter(|set| !set.deleting) {
            match &set.controller_uid {
                Some(uid) if *uid == workload.uid => self.bring_back(&set.name, &set.uid).await?,
                Some(_) => {}
                None if adoption == Adoption::Any && selector.matches(&set.labels) => self.take(set).await?,
                None if selector.matches(&set.labels) || selector.matches(&set.selected) => orphans.push(set),
                None => {}
            }
        }
        Ok(orphans)
    }

    /// Labels an orphan, so that the reconcile adopts it (S2.15).
    async fn take(&self, found: &Found) -> Result<(), Refusal> {
        let set = self.set_with_uid(&found.name, &found.uid).await?;
        let Some(set) = set.filter(|set| set.controller_uid.is_none()) else { return Ok(()) };
        self.port.note(Note::LabelsOrphan(&set.name));
        self.label(&set).await
    }

    fn report(&self, workload: &Workload, selector: &LabelSelector, orphans: &[&Found]) {
        for (index, set) in orphans.iter().enumerate() {
            let command = command(&self.key.namespace, selector, set);
            self.port.note(Note::Orphan(&set.name, &command));
            if index < EVENTS_MAX {
                let message = format!(
                    "ReplicaSet {} has no owner and matches this Deployment, but is not labelled for \
                     Rollwright. To hand it over: {command}",
                    set.name
                );
                self.port.note(Note::Event(workload, &Event::warning(UNLABELLED, message)));
            }
        }
    }
}

fn describe(engine: &crate::Engine, object: &impl Object) -> Option<Found> {
    let set = live::set(engine.flavour, object).ok()?;
    let selected = object.parts().spec.pointer("/selector/matchLabels").and_then(Value::as_object);
    let selected = selected.into_iter().flatten();
    Some(Found {
        name: set.name,
        uid: set.uid,
        labels: set.labels,
        selected: selected
            .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
            .collect(),
        controller_uid: set.controller_uid,
        deleting: set.deleting,
    })
}

/// The command that hands an orphan over; with the labels of the selector if it lacks them.
fn command(namespace: &str, selector: &LabelSelector, set: &Found) -> String {
    let mut command =
        format!("kubectl label replicaset {} -n {namespace} {MANAGED_LABEL}={MANAGED_VALUE}", set.name);
    let lacking = selector.match_labels.iter().filter(|(key, value)| set.labels.get(*key) != Some(value));
    for (key, value) in lacking {
        command.push_str(&format!(" {key}={value}"));
    }
    command
}

#[cfg(test)]
mod tests;
