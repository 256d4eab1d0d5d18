//! The ReplicaSet controller: creates and deletes the pods of a ReplicaSet, and writes its status.
//!
//! It reads the cluster through two caches of its own, and its driver decides how old they are. It never
//! acts on a cache that does not show its own last writes yet (S9.22). So, however old the caches are, it
//! creates no pod twice.

pub(crate) mod pods;
mod status;
mod victims;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use crate::chance::Chance;
use crate::informer::Informer;
use crate::log::{Change, Expired};
use crate::object::Object;
use crate::refusal::Refused;
use crate::resource::Resource;
use crate::store::Store;
use crate::store::key::Key;
use crate::write::{Deletion, Mode, Subresource};
use pods::Blueprint;

/// Most creations or deletions of one step (S9.22).
const BURST: usize = 500;
/// Pause after the first failure; it doubles with each.
const BACKOFF_FIRST: Duration = Duration::from_millis(5);
/// The longest pause after failures.
const BACKOFF_LAST: Duration = Duration::from_secs(1000);

/// The outcome of a step.
#[derive(Clone, Debug, Default)]
pub struct SetStep {
    /// Writes that were accepted.
    pub writes: usize,
    /// Whether nothing was done because the caches do not show the last writes yet. The ReplicaSet is
    /// reported as changed again when they do.
    pub waits: bool,
    /// When to look again without an event.
    pub again: Option<Timestamp>,
    /// The first refusal.
    pub refused: Option<Refused>,
}

/// What the controller remembers of a ReplicaSet.
#[derive(Clone, Debug, Default)]
struct Memory {
    /// Version of the last write to the ReplicaSet itself.
    set_written: u64,
    /// Version of the last write to one of its pods.
    pods_written: u64,
    /// Failed steps in a row.
    failures: u32,
    blueprint: Option<Blueprint>,
}

impl Memory {
    /// Whether the caches show the last writes.
    fn is_shown_by(&self, sets: &Informer, pods: &Informer) -> bool {
        sets.version() >= self.set_written && pods.version() >= self.pods_written
    }
}

/// The controller of all ReplicaSets.
#[derive(Clone, Debug)]
pub struct ReplicaSetController {
    sets: Informer,
    pods: Informer,
    memory: BTreeMap<String, Memory>,
    changed: BTreeSet<Key>,
    /// ReplicaSets for which the last step found the caches too old.
    waiting: BTreeSet<Key>,
}

impl Default for ReplicaSetController {
    fn default() -> Self {
        Self::new()
    }
}

impl ReplicaSetController {
    /// A controller that has just started and seen nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self {
            sets: Informer::new(Resource::ReplicaSets),
            pods: Informer::new(Resource::Pods),
            memory: BTreeMap::new(),
            changed: BTreeSet::new(),
            waiting: BTreeSet::new(),
        }
    }

    /// Shows it the ReplicaSets up to a version of the cluster.
    ///
    /// # Errors
    /// When that history is not kept any more; then [`Self::relist`].
    pub fn observe_sets(&mut self, store: &Store, through: u64) -> Result<(), Expired> {
        let Self { sets, memory, changed, .. } = self;
        sets.advance(store, through, |change| {
            if change.kind == crate::log::ChangeKind::Deleted {
                memory.remove(change.object.uid());
            }
            changed.insert(Key::of(&change.object));
        })?;
        self.end_waits();
        Ok(())
    }

    /// Shows it the pods up to a version of the cluster.
    ///
    /// # Errors
    /// When that history is not kept any more; then [`Self::relist`].
    pub fn observe_pods(&mut self, store: &Store, through: u64) -> Result<(), Expired> {
        let Self { pods, changed, .. } = self;
        pods.advance(store, through, |change: &Change| {
            note(changed, set_of(&change.object));
            let before = change.before.as_ref();
            if let Some(before) = before
                && !Arc::ptr_eq(&before.metadata, &change.object.metadata)
                && before.controller_uid() != change.object.controller_uid()
            {
                note(changed, set_of(before));
            }
        })?;
        self.end_waits();
        Ok(())
    }

    /// ReplicaSets need another look once the caches show their last writes. The events of those writes need not name
    /// them: a pod that was let go meanwhile names no ReplicaSet any more.
    fn end_waits(&mut self) {
        let Self { sets, pods, memory, changed, waiting } = self;
        waiting.retain(|key| {
            let memory = sets.get(key).and_then(|set| memory.get(set.uid()));
            let is_over = memory.is_none_or(|memory| memory.is_shown_by(sets, pods));
            if is_over {
                changed.insert(key.clone());
            }
            !is_over
        });
    }

    /// Shows it everything there is, as after a start.
    pub fn relist(&mut self, store: &Store) {
        let Self { sets, pods, memory, changed, waiting } = self;
        waiting.clear();
        sets.relist(store, |gone| _ = memory.remove(gone.uid()));
        pods.relist(store, |_| {});
        changed.clear();
        changed.extend(sets.objects().map(|(key, _)| key.clone()));
    }

    /// The versions of its caches: ReplicaSets, pods.
    #[must_use]
    pub fn seen(&self) -> (u64, u64) {
        (self.sets.version(), self.pods.version())
    }

    /// The ReplicaSets that changed, or have pods that did, since their last step.
    pub fn changed(&self) -> impl Iterator<Item = &Key> {
        self.changed.iter()
    }

    /// The first of [`Self::changed`], which is not listed there any more.
    pub fn next_changed(&mut self) -> Option<Key> {
        self.changed.pop_first()
    }

    /// One look at one ReplicaSet: pods are created or deleted, and the status is written.
    pub fn step(&mut self, store: &mut Store, key: &Key, chance: &mut dyn Chance) -> SetStep {
        self.changed.remove(key);
        let Some(set) = self.sets.get(key).cloned() else { return SetStep::default() };
        let mut memory = self.memory.remove(set.uid()).unwrap_or_default();
        let step = if memory.is_shown_by(&self.sets, &self.pods) {
            self.sync(store, &set, &mut memory, chance)
        } else {
            self.waiting.insert(key.clone());
            SetStep { waits: true, ..SetStep::default() }
        };
        self.memory.insert(set.uid().to_owned(), memory);
        step
    }

    fn sync(&self, store: &mut Store, set: &Object, memory: &mut Memory, chance: &mut dyn Chance) -> SetStep {
        let mut step = SetStep::default();
        // Most pods were made from the template as it still is.
        memory.blueprint = memory.blueprint.take().map(|blueprint| Blueprint::of(set, Some(blueprint)));
        let pods = self.pods.controlled_by(set.namespace(), set.uid()).map(|(_, pod)| pod);
        let census = pods::count(set, memory.blueprint.as_ref(), pods, store.now());
        // A ReplicaSet that is being deleted is left to the garbage collector.
        let error = if set.is_deleting() {
            None
        } else {
            self.manage(store, set, &census, memory, chance, &mut step)
        };
        let status = status::next(set, &census, error.as_ref(), store.now());
        let written = status.map_or(Ok(()), |status| write_status(store, set, status, memory, &mut step));
        step.again = census.next_available;
        step.refused = error.map(|failure| failure.refused).or(written.err());
        if step.refused.is_some() {
            let pause = BACKOFF_FIRST.saturating_mul(1 << memory.failures.min(20)).min(BACKOFF_LAST);
            memory.failures = memory.failures.saturating_add(1);
            let retry = store.now().saturating_add(pause).unwrap_or(Timestamp::MAX);
            step.again = Some(step.again.map_or(retry, |again| again.min(retry)));
        } else {
            memory.failures = 0;
        }
        step
    }

    /// Creates what is missing or deletes what is too much.
    fn manage(
        &self,
        store: &mut Store,
        set: &Object,
        census: &pods::Census<'_>,
        memory: &mut Memory,
        chance: &mut dyn Chance,
        step: &mut SetStep,
    ) -> Option<status::Failure> {
        let wanted = usize::try_from(set.spec_number("replicas").unwrap_or(1)).unwrap_or(0);
        let present = census.active.len();
        if present < wanted {
            let missing = (wanted - present).min(BURST);
            let refused = create(store, set, missing, memory, step).err()?;
            return Some(status::Failure { reason: "FailedCreate", refused });
        }
        if present == wanted {
            return None;
        }
        let surplus = (present - wanted).min(BURST);
        let neighbours = self.neighbours(set, census, surplus);
        let victims = victims::choose(&census.active, &neighbours, surplus, store.now(), chance);
        let refused = delete(store, &victims, memory, step).err()?;
        Some(status::Failure { reason: "FailedDelete", refused })
    }

    /// How many active pods of this ReplicaSet and its siblings each node has; nothing when no choice
    /// depends on it.
    fn neighbours<'a>(
        &'a self,
        set: &'a Object,
        census: &pods::Census<'a>,
        surplus: usize,
    ) -> BTreeMap<&'a str, usize> {
        let mut neighbours = BTreeMap::new();
        if surplus >= census.active.len() {
            return neighbours;
        }
        let namespace = set.namespace();
        let siblings =
            set.controller_uid().into_iter().flat_map(|uid| self.sets.controlled_by(namespace, uid));
        for (_, pod) in siblings.flat_map(|(_, sibling)| self.pods.controlled_by(namespace, sibling.uid())) {
            if pods::is_active(pod) {
                *neighbours.entry(pods::node(pod)).or_insert(0) += 1;
            }
        }
        neighbours
    }
}

/// The ReplicaSet that controls a pod, by the name that the pod knows it by.
fn set_of(pod: &Object) -> Option<&Key> {
    let key = pod.metadata.facts().controller.as_ref()?.key.as_ref();
    key.filter(|key| key.resource == Resource::ReplicaSets)
}

fn note(changed: &mut BTreeSet<Key>, set: Option<&Key>) {
    if let Some(set) = set
        && !changed.contains(set)
    {
        changed.insert(set.clone());
    }
}

/// Slow start: batches of 1, 2, 4 and so on; a batch with a failure is the last.
fn create(
    store: &mut Store,
    set: &Object,
    missing: usize,
    memory: &mut Memory,
    step: &mut SetStep,
) -> Result<(), Refused> {
    let blueprint = Blueprint::of(set, memory.blueprint.take());
    let blueprint = memory.blueprint.insert(blueprint);
    let (mut rest, mut batch) = (missing, 1);
    while rest > 0 {
        let size = batch.min(rest);
        let mut failure = None;
        for _ in 0..size {
            match store.create(blueprint.pod(), Mode::Store) {
                Ok(pod) => {
                    memory.pods_written = pod.version();
                    step.writes += 1;
                }
                // Whatever is created in a namespace that goes away would fail: no failure of the ReplicaSet's.
                Err(refused) if refused.is_namespace_terminating() => {}
                Err(refused) => failure = failure.or(Some(refused)),
            }
        }
        if let Some(refused) = failure {
            return Err(refused);
        }
        rest -= size;
        batch *= 2;
    }
    Ok(())
}

fn delete(
    store: &mut Store,
    victims: &[&Object],
    memory: &mut Memory,
    step: &mut SetStep,
) -> Result<(), Refused> {
    let mut failure = None;
    for pod in victims {
        match store.delete(&Key::of(pod), &Deletion::default()) {
            Ok(pod) => {
                memory.pods_written = memory.pods_written.max(pod.version());
                step.writes += 1;
            }
            // Gone already; the cache will show it.
            Err(refused) if refused.code == 404 => {}
            Err(refused) => failure = failure.or(Some(refused)),
        }
    }
    failure.map_or(Ok(()), Err)
}

/// Writes a status. After a conflict it is written once more over the ReplicaSet as it is now; it still has the
/// generation that it was computed from.
fn write_status(
    store: &mut Store,
    set: &Object,
    status: Value,
    memory: &mut Memory,
    step: &mut SetStep,
) -> Result<(), Refused> {
    let status = Arc::new(status.into());
    let sent = Object { status: Arc::clone(&status), ..set.clone() };
    let mut written = store.replace(sent, Subresource::Status, Mode::Store);
    if written.as_ref().is_err_and(|refused| refused.code == 409)
        && let Some(live) = store.get(&Key::of(set)).filter(|live| live.uid() == set.uid())
    {
        let sent = Object { status, ..live.clone() };
        written = store.replace(sent, Subresource::Status, Mode::Store);
    }
    match written {
        Ok(object) => {
            memory.set_written = object.version();
            step.writes += 1;
            Ok(())
        }
        Err(refused) if refused.code == 404 => Ok(()),
        Err(refused) => Err(refused),
    }
}
