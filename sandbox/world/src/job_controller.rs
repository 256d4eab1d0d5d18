//! The Job controller, and the one that deletes finished Jobs: creates the pods of a Job, counts how they end, and
//! writes its status.
//!
//! Its driver shows it the changes. Before it acts, it reads each object again. As upstream, pods carry a finalizer
//! until they are counted, so that none is counted twice or missed. Suspended and indexed Jobs are not here, nor are
//! policies of success and replacement, or of failure by conditions of pods; and no pod is deleted because
//! `parallelism` has shrunk.

mod status;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::kubelet::event;
use crate::log::{Change, ChangeKind, Expired};
use crate::object::Object;
use crate::refusal::Refused;
use crate::replica_set_controller::pods::{self, Blueprint};
use crate::resource::Resource;
use crate::status::Phase;
use crate::store::Store;
use crate::store::key::Key;
use crate::write::{Deletion, Mode, Preconditions, Propagation, Subresource};
use status::JobStatus;

/// The finalizer of a pod that is not counted yet.
const TRACKING: &str = "batch.kubernetes.io/job-tracking";

/// First and longest pause after a refusal.
const REFUSED: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));
/// First and longest pause after a pod that failed.
const FAILED: (Duration, Duration) = (Duration::from_secs(10), Duration::from_secs(600));

/// The outcome of a look at a Job or at one of its pods.
#[derive(Clone, Debug, Default)]
pub struct JobStep {
    /// When to look again without an event.
    pub again: Option<Timestamp>,
    /// The first refusal.
    pub refused: Option<Refused>,
}

/// What the controller remembers of a Job.
#[derive(Clone, Debug, Default)]
struct Memory {
    /// Pods that failed since one succeeded, and when the last was counted.
    failures: (i64, Timestamp),
    /// Refused steps in a row.
    refusals: i64,
}

/// The controller of all Jobs.
#[derive(Clone, Debug, Default)]
pub struct JobController {
    version: u64,
    memory: BTreeMap<String, Memory>,
    changed: BTreeSet<Key>,
}

impl JobController {
    /// A controller that has just started and seen nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Shows it what happened up to a version of the cluster.
    ///
    /// # Errors
    /// When that history is not kept any more; then [`Self::relist`].
    pub fn observe(&mut self, store: &Store, through: u64) -> Result<(), Expired> {
        for change in store.all_changes(self.version)?.take_while(|change| change.version <= through) {
            self.note(store, change);
        }
        self.version = self.version.max(through);
        Ok(())
    }

    /// Shows it everything there is, as after a start.
    pub fn relist(&mut self, store: &Store) {
        let jobs = store.list(Resource::Jobs, None);
        let orphans = store.list(Resource::Pods, None).filter(|pod| is_orphan(store, pod));
        self.changed = jobs.chain(orphans).map(Key::of).collect();
        self.version = store.version();
    }

    fn note(&mut self, store: &Store, change: &Change) {
        let object = &change.object;
        match object.resource {
            Resource::Jobs => {
                self.changed.insert(Key::of(object));
                if change.kind == ChangeKind::Deleted {
                    self.memory.remove(object.uid());
                    let owned = store.owned_by(object.namespace(), object.uid());
                    self.changed.extend(owned.filter(|one| one.resource == Resource::Pods).map(Key::of));
                }
            }
            Resource::Pods => {
                let versions = change.before.iter().chain([object]);
                self.changed.extend(versions.filter_map(job_of).cloned());
                if is_orphan(store, object) {
                    self.changed.insert(Key::of(object));
                }
            }
            _ => {}
        }
    }

    /// The Jobs that changed, or have pods that did, since their last step, and pods that no Job counts.
    pub fn changed(&self) -> impl Iterator<Item = &Key> {
        self.changed.iter()
    }

    /// The first of [`Self::changed`], which is not listed there any more.
    pub fn next_changed(&mut self) -> Option<Key> {
        self.changed.pop_first()
    }

    /// One look at one Job, or at one pod that no Job counts.
    pub fn step(&mut self, store: &mut Store, key: &Key) -> JobStep {
        self.changed.remove(key);
        let Some(object) = store.get(key).cloned() else { return JobStep::default() };
        if object.resource == Resource::Pods {
            let refused = if is_orphan(store, &object) { release(store, &object).err() } else { None };
            return JobStep { again: None, refused };
        }
        if status::is_finished(&object) {
            return expire(store, &object);
        }
        let mut memory = self.memory.remove(object.uid()).unwrap_or_default();
        let mut step = sync(store, &object, &mut memory);
        if step.refused.is_some() {
            let retry = later(store.now(), pause(REFUSED, memory.refusals));
            step.again = Some(step.again.map_or(retry, |again| again.min(retry)));
            memory.refusals = memory.refusals.saturating_add(1);
        } else {
            memory.refusals = 0;
        }
        self.memory.insert(object.uid().to_owned(), memory);
        step
    }
}

fn sync(store: &mut Store, job: &Object, memory: &mut Memory) -> JobStep {
    let mut status = JobStatus::of(job, store.now());
    let again = status.deadline(job).filter(|deadline| *deadline > store.now());
    let mut step = JobStep { again, refused: None };
    match status::new_ends(&pods_of(store, job)) {
        [0, 0] => {}
        [0, failed] => memory.failures = (memory.failures.0.saturating_add(failed), store.now()),
        _ => memory.failures.0 = 0,
    }
    let mut end = status.end(job, &pods_of(store, job), store.now());
    if end.is_some() {
        step.refused = delete_active(store, job).err();
    } else {
        if !job.is_deleting() {
            manage(store, job, &status, memory, &mut step);
        }
        end = status.success(job, &pods_of(store, job));
    }
    // What still runs has to be marked as going before the Job is at its end.
    end = end.filter(|_| step.refused.is_none());
    let mut pods = pods_of(store, job);
    status.note(job, &pods, end.as_ref());
    pods.retain(|pod| is_tracked(pod) && (has_ended(pod) || end.is_some() || job.is_deleting()));
    let written = status.write(store, job).and_then(|()| {
        pods.iter().try_for_each(|pod| release(store, pod))?;
        status.count(&pods, end.as_ref());
        status.write(store, job)
    });
    step.refused = step.refused.or(written.err());
    step
}

/// Creates the pods that are missing, some time after one that failed.
fn manage(store: &mut Store, job: &Object, status: &JobStatus, memory: &Memory, step: &mut JobStep) {
    let missing = status.missing(job, &pods_of(store, job));
    let (failures, last) = memory.failures;
    let ready_at = later(last, pause(FAILED, failures.saturating_sub(1)));
    if missing > 0 && failures > 0 && store.now() < ready_at {
        step.again = Some(step.again.map_or(ready_at, |again| again.min(ready_at)));
    } else {
        step.refused = create(store, job, missing).err();
    }
}

/// The pods that a Job controls, as they are now.
fn pods_of(store: &Store, job: &Object) -> Vec<Object> {
    let owned = store.owned_by(job.namespace(), job.uid());
    let is_pod = |one: &&Object| one.resource == Resource::Pods && one.controller_uid() == Some(job.uid());
    owned.filter(is_pod).cloned().collect()
}

/// The Job that controls a pod, by the name that the pod knows it by.
fn job_of(pod: &Object) -> Option<&Key> {
    let key = pod.metadata.facts().controller.as_ref()?.key.as_ref();
    key.filter(|key| key.resource == Resource::Jobs)
}

fn is_tracked(pod: &Object) -> bool {
    pod.finalizers().any(|finalizer| finalizer == TRACKING)
}

/// A pod that has gone before its end has failed, too.
fn is_failed(pod: &Object) -> bool {
    let phase = pod.status.pod().phase;
    phase == Phase::Failed || pod.is_deleting() && phase != Phase::Succeeded
}

fn has_ended(pod: &Object) -> bool {
    pod.status.pod().phase == Phase::Succeeded || is_failed(pod)
}

/// Whether a pod waits to be counted by a Job that does not count any more.
fn is_orphan(store: &Store, pod: &Object) -> bool {
    let job = || job_of(pod).and_then(|key| store.get(key));
    let counts = |job: &Object| Some(job.uid()) == pod.controller_uid() && !status::is_finished(job);
    is_tracked(pod) && !job().is_some_and(counts)
}

fn create(store: &mut Store, job: &Object, missing: usize) -> Result<(), Refused> {
    let blueprint = Blueprint::of(job, None);
    for _ in 0..missing {
        let mut pod = blueprint.pod();
        let finalizers: Vec<Value> = pod.finalizers().chain([TRACKING]).map(Value::from).collect();
        pod.set_metadata("finalizers", json!(finalizers));
        match store.create(pod, Mode::Store) {
            Err(refused) if !refused.is_namespace_terminating() => {
                let message = format!("Error creating: {}", refused.message);
                event::warn(store, job, "FailedCreate", &message, ("job-controller", ""));
                return Err(refused);
            }
            _ => {}
        }
    }
    Ok(())
}

fn delete_active(store: &mut Store, job: &Object) -> Result<(), Refused> {
    for pod in pods_of(store, job).iter().filter(|pod| pods::is_active(pod)) {
        or_gone(store.delete(&Key::of(pod), &Deletion::default()))?;
    }
    Ok(())
}

/// Lets a pod go that is counted.
fn release(store: &mut Store, pod: &Object) -> Result<(), Refused> {
    let Some(mut live) = store.get(&Key::of(pod)).filter(|live| live.uid() == pod.uid()).cloned() else {
        return Ok(());
    };
    let rest: Vec<Value> = live.finalizers().filter(|one| *one != TRACKING).map(Value::from).collect();
    live.set_metadata("finalizers", if rest.is_empty() { Value::Null } else { json!(rest) });
    or_gone(store.replace(live, Subresource::Main, Mode::Store))
}

/// Deletes a finished Job when its time is over.
fn expire(store: &mut Store, job: &Object) -> JobStep {
    let at = status::finished_at(job).zip(job.spec_number("ttlSecondsAfterFinished"));
    let at = at.and_then(|(at, seconds)| Some(later(at, Duration::from_secs(seconds.try_into().ok()?))));
    let Some(at) = at.filter(|_| !job.is_deleting()) else { return JobStep::default() };
    if store.now() < at {
        return JobStep { again: Some(at), refused: None };
    }
    let preconditions = Preconditions { uid: Some(job.uid().to_owned()), resource_version: None };
    let propagation = Some(Propagation::Foreground);
    let deletion = Deletion { preconditions, propagation, ..Deletion::default() };
    let refused = or_gone(store.delete(&Key::of(job), &deletion)).err();
    let again = refused.is_some().then(|| later(store.now(), REFUSED.0));
    JobStep { again, refused }
}

fn or_gone<T>(done: Result<T, Refused>) -> Result<(), Refused> {
    match done {
        Err(refused) if refused.code != 404 => Err(refused),
        _ => Ok(()),
    }
}

/// A pause that doubles with each time before.
fn pause((first, longest): (Duration, Duration), before: i64) -> Duration {
    first.saturating_mul(1 << before.clamp(0, 16)).min(longest)
}

fn later(time: Timestamp, pause: Duration) -> Timestamp {
    time.saturating_add(pause).unwrap_or(Timestamp::MAX)
}
