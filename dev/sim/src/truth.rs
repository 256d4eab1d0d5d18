//! How things really are, kept up change by change: what no cache shows in time.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use plan::keys::{HASH_LABEL, RETRY};
use plan::{ReplicaSet, Workload};
use world::{Change, ChangeKind, Object};

use crate::actor::Actor;
use crate::checks::steps::says_resting;
use crate::jobs::Jobs;
use crate::shown::Shown;
use crate::signs::Signs;
use crate::verdict::{Running, memory, pin, revision, running, says};
use crate::walk::Bounds;

/// After this long the controller of a ReplicaSet has seen a pod.
const HEARD_AFTER: SignedDuration = SignedDuration::from_millis(25);

/// A ReplicaSet as it is.
#[derive(Clone, Debug)]
pub(crate) struct SetTruth {
    pub(crate) set: Arc<ReplicaSet>,
    /// Whether it is the Deployment's.
    is_owned: bool,
    /// uid of the Deployment that it was created for.
    pub(crate) made_for: Option<String>,
    /// When its revision was declared or retried, and with which version.
    pub(crate) since: Timestamp,
    pub(crate) begun: u64,
    /// Pods that are neither finished nor terminating.
    pub(crate) active: i64,
    /// Those that are available.
    pub(crate) available: i64,
    /// By how much others than operators made it smaller and its controller has not acted yet.
    foreign_cut: i64,
}

/// A pod as it is.
#[derive(Clone, Debug)]
struct PodTruth {
    set: String,
    is_active: bool,
    ready_since: Option<Timestamp>,
    available_from: Option<Timestamp>,
    is_available: bool,
}

impl PodTruth {
    /// Whether the controller of its ReplicaSet takes it for available before it sees what happens to the pod now.
    fn is_nearly_available(&self, now: Timestamp) -> bool {
        let heard = now.checked_add(HEARD_AFTER).unwrap_or(now);
        self.available_from.is_some_and(|from| from <= heard)
    }

    /// Whether it is available, if that takes this many seconds.
    fn judge(&mut self, lasting: i64, now: Timestamp) {
        let since = self.ready_since.filter(|_| self.is_active);
        self.available_from =
            since.and_then(|since| since.checked_add(SignedDuration::from_secs(lasting)).ok());
        self.is_available = self.available_from.is_some_and(|from| lasting == 0 || from <= now);
    }
}

/// An available pod that was lost through no write of an operator.
#[derive(Clone, Debug)]
pub(crate) struct Loss {
    pub(crate) set: String,
    pub(crate) version: u64,
}

/// The cluster as it is.
#[derive(Debug, Default)]
pub(crate) struct Truth {
    pub(crate) workload: Option<Arc<Workload>>,
    pub(crate) sets: BTreeMap<String, SetTruth>,
    pods: BTreeMap<String, PodTruth>,
    pub(crate) losses: Vec<Loss>,
    /// Pods that are going to be available without anything being written.
    expectant: usize,
    /// The last versions of the Deployment and of any of its ReplicaSets.
    pub(crate) changed: (u64, u64),
    /// What the declared revision has shown, under a failure policy.
    pub(crate) shown: Option<Shown>,
    /// How far the declared revision may go among its steps.
    pub(crate) bounds: Bounds,
    /// What pods showed, if a policy may judge by them.
    pub(crate) signs: Signs,
    pub(crate) reads_signs: bool,
    pub(crate) jobs: Jobs,
}

impl Truth {
    pub(crate) fn new(reads_signs: bool, is_untimed: bool, jobs: Jobs) -> Self {
        let bounds = Bounds::new(is_untimed);
        Self { reads_signs, bounds, jobs, ..Self::default() }
    }

    /// The ReplicaSets of the Deployment (𝓡).
    pub(crate) fn owned(&self) -> impl Iterator<Item = &SetTruth> {
        self.sets.values().filter(|truth| truth.is_owned)
    }

    /// The oldest ReplicaSet that carries the template.
    pub(crate) fn new_set(&self) -> Option<&SetTruth> {
        let fingerprint = &self.workload.as_ref()?.template.fingerprint;
        self.owned().filter(|truth| truth.set.carries(fingerprint)).min_by(|a, b| a.set.age_order(&b.set))
    }

    /// The ReplicaSet that is pinned, if one is; `None` inside if it is gone.
    pub(crate) fn pinned(&self) -> Option<Option<&SetTruth>> {
        let pin = pin(self.workload.as_ref()?)?;
        Some(self.owned().find(|truth| truth.set.labels.get(HASH_LABEL) == Some(&pin.pod_template_hash)))
    }

    /// Whether another revision runs because the declared one failed, and nobody has asked to retry that.
    pub(crate) fn stays_reverted(&self) -> bool {
        let (Some(workload), Some(new)) = (&self.workload, self.new_set()) else { return false };
        let running = running(workload, self.owned().map(|truth| &*truth.set), &new.set);
        let heard = memory(&new.set).and_then(|memory| memory.get("retry")?.as_str().map(str::to_owned));
        let is_retried = workload.annotations.get(RETRY).is_some_and(|text| Some(text) != heard.as_ref());
        matches!(running, Running::Set(set) if set.uid != new.set.uid)
            && pin(workload).is_none()
            && !is_retried
    }

    /// Available pods of the Deployment.
    pub(crate) fn available(&self) -> i64 {
        self.owned().map(|truth| truth.available).sum()
    }

    /// Those that their own ReplicaSet reports: a report of pods that are gone stands for no pods of another.
    pub(crate) fn confirmed(&self) -> i64 {
        self.owned().map(|truth| truth.available.min(truth.set.status.available)).sum()
    }

    /// Pods that are there and that the sizes have no room for.
    pub(crate) fn condemned(&self) -> i64 {
        self.owned().map(|truth| (truth.active - truth.set.size).max(0)).sum()
    }

    /// Sizes together.
    pub(crate) fn total(&self) -> i64 {
        self.owned().map(|truth| truth.set.size).sum()
    }

    /// A Deployment was written.
    pub(crate) fn note_workload(&mut self, workload: &Arc<Workload>, is_deleted: bool, version: u64) {
        self.changed.0 = version;
        self.workload = (!is_deleted).then(|| workload.clone());
        for (uid, truth) in &mut self.sets {
            let was_owned = truth.is_owned;
            truth.is_owned = !is_deleted && owns(workload, &truth.set);
            if was_owned && !truth.is_owned {
                note_leaver(&mut self.losses, uid, truth.available, version);
            }
        }
    }

    /// A ReplicaSet was written.
    pub(crate) fn note_set(
        &mut self,
        set: &Arc<ReplicaSet>,
        is_deleted: bool,
        version: u64,
        actor: Actor,
        now: Timestamp,
    ) {
        self.changed.1 = version;
        let before = self.sets.get(&set.uid);
        let lasting = before.map(|truth| truth.set.min_ready_seconds);
        let owned = before.filter(|truth| truth.is_owned).map(|truth| truth.available);
        let is_owned = self.workload.as_ref().is_some_and(|workload| owns(workload, set));
        if is_deleted {
            self.sets.remove(&set.uid);
        } else {
            let truth = self.sets.entry(set.uid.clone()).or_insert_with(|| SetTruth {
                set: set.clone(),
                is_owned,
                made_for: set.controller_uid.clone(),
                since: now,
                begun: version,
                active: 0,
                available: 0,
                foreign_cut: 0,
            });
            let cut = truth.set.size - set.size;
            if cut > 0 && !actor.is_operator() {
                truth.foreign_cut += cut;
            }
            if set.size >= truth.active {
                truth.foreign_cut = 0;
            }
            if begins_anew(&truth.set, set) {
                (truth.since, truth.begun) = (now, version);
            }
            truth.set = set.clone();
            truth.is_owned = is_owned;
        }
        if !is_deleted && lasting != Some(set.min_ready_seconds) {
            self.judge_anew(&set.uid, version, now);
        }
        if let Some(available) = owned.filter(|_| is_deleted || !is_owned) {
            note_leaver(&mut self.losses, &set.uid, available, version);
        }
    }

    /// The Deployment or one of its ReplicaSets was written: what has the declared revision shown?
    pub(crate) fn judge(&mut self, now: Timestamp) {
        self.judge_jobs(now);
        self.note_bounds(now);
        let known = self.shown.take();
        let Some(workload) = self.workload.clone().filter(|workload| workload.failure_policy.is_some())
        else {
            return;
        };
        let sets: Vec<&ReplicaSet> = self.owned().map(|truth| &*truth.set).collect();
        let declared = self.new_set().map(|truth| &*truth.set);
        self.shown = declared.and_then(|declared| Shown::next(known, &workload, (&sets, declared), now));
    }

    fn note_bounds(&mut self, now: Timestamp) {
        let Some(workload) = self.workload.clone() else {
            self.bounds.forget();
            return;
        };
        let mut bounds = std::mem::take(&mut self.bounds);
        let sets: Vec<&ReplicaSet> = self.owned().map(|truth| &*truth.set).collect();
        let opens = |set: &str, step: usize| self.opens(set, step);
        bounds.next(&workload, (&sets, self.new_set().map(|truth| &*truth.set)), now, &opens);
        self.bounds = bounds;
    }

    /// Whether its status reports that it waits at a step.
    pub(crate) fn rests(&self) -> bool {
        self.workload.as_ref().is_some_and(|workload| says_resting(&workload.status))
    }

    /// A pod was written.
    pub(crate) fn note_pod(&mut self, change: &Change, actor: Actor, now: Timestamp) {
        let uid = change.object.uid();
        if self.reads_signs {
            let is_there = change.kind != ChangeKind::Deleted && !change.object.is_deleting();
            let is_active = is_there && !change.object.status.pod().phase.is_finished();
            self.signs.note(&change.object, is_active, now);
        }
        let before = self.pods.remove(uid);
        let after =
            (change.kind != ChangeKind::Deleted).then(|| self.read_pod(&change.object, now)).flatten();
        if let Some(before) = &before {
            self.expectant -= usize::from(is_expectant(before));
            self.count(&before.set, before, -1);
        }
        let was_available =
            before.as_ref().is_some_and(|pod| pod.is_available || pod.is_nearly_available(now));
        let is_available = after.as_ref().is_some_and(|pod| pod.is_available);
        if let (true, false, Some(before)) = (was_available, is_available, &before) {
            self.note_loss(before, after.as_ref().is_some_and(|pod| pod.is_active), actor, change.version);
        }
        if let Some(after) = after {
            self.expectant += usize::from(is_expectant(&after));
            self.count(&after.set.clone(), &after, 1);
            self.pods.insert(uid.to_owned(), after);
        }
    }

    fn note_loss(&mut self, pod: &PodTruth, is_active: bool, actor: Actor, version: u64) {
        let loss = Loss { set: pod.set.clone(), version };
        let is_cut = actor == Actor::SetController && !is_active;
        let Some(truth) = self.sets.get_mut(&pod.set).filter(|_| is_cut) else {
            self.losses.push(loss);
            return;
        };
        // A pod that is not available could have gone instead: the victim was badly chosen
        // (S9.21), which no size can prevent.
        let had_choice = truth.active > truth.available && truth.set.min_ready_seconds > 0;
        if truth.foreign_cut > 0 || had_choice {
            truth.foreign_cut = (truth.foreign_cut - 1).max(0);
            self.losses.push(loss);
        }
    }

    fn count(&mut self, set: &str, pod: &PodTruth, by: i64) {
        if let Some(truth) = self.sets.get_mut(set) {
            truth.active += by * i64::from(pod.is_active);
            truth.available += by * i64::from(pod.is_available);
        }
    }

    fn read_pod(&self, pod: &Object, now: Timestamp) -> Option<PodTruth> {
        let set = pod.controller_uid()?.to_owned();
        let state = pod.status.pod();
        let is_active = !pod.is_deleting() && !state.phase.is_finished();
        let lasting = self.sets.get(&set).map_or(0, |truth| truth.set.min_ready_seconds);
        let ready_since = state.ready_since.filter(|_| state.is_ready);
        let mut pod = PodTruth { set, is_active, ready_since, available_from: None, is_available: false };
        pod.judge(lasting, now);
        Some(pod)
    }

    /// A pod of this ReplicaSet needs more or fewer seconds now until it is available.
    fn judge_anew(&mut self, set: &str, version: u64, now: Timestamp) {
        let Some(truth) = self.sets.get_mut(set) else { return };
        let lasting = truth.set.min_ready_seconds;
        for pod in self.pods.values_mut().filter(|pod| pod.set == set) {
            let (was_expectant, was_available) = (is_expectant(pod), pod.is_available);
            pod.judge(lasting, now);
            self.expectant -= usize::from(was_expectant);
            self.expectant += usize::from(is_expectant(pod));
            truth.available += i64::from(pod.is_available) - i64::from(was_available);
            if was_available && !pod.is_available {
                self.losses.push(Loss { set: set.to_owned(), version });
            }
        }
    }

    /// Time passes: pods become available without a write.
    pub(crate) fn tick(&mut self, now: Timestamp) {
        if self.expectant == 0 {
            return;
        }
        let due: Vec<String> = self
            .pods
            .iter()
            .filter(|(_, pod)| is_expectant(pod) && pod.available_from.is_some_and(|from| from <= now))
            .map(|(uid, _)| uid.clone())
            .collect();
        for uid in due {
            let Some(pod) = self.pods.get_mut(&uid) else { continue };
            pod.is_available = true;
            self.expectant -= 1;
            if let Some(truth) = self.sets.get_mut(&pod.set) {
                truth.available += 1;
            }
        }
    }
}

/// Whether a ReplicaSet has another revision than before, or a failure of it is void.
fn begins_anew(before: &ReplicaSet, set: &ReplicaSet) -> bool {
    before.annotations != set.annotations
        && (revision(before) != revision(set) || says(before, "Failed") && !says(set, "Failed"))
}

/// A ReplicaSet that does not belong to the Deployment any more takes its pods along.
fn note_leaver(losses: &mut Vec<Loss>, set: &str, available: i64, version: u64) {
    let loss = Loss { set: set.to_owned(), version };
    losses.extend(std::iter::repeat_n(loss, usize::try_from(available).unwrap_or(0)));
}

fn is_expectant(pod: &PodTruth) -> bool {
    pod.available_from.is_some() && !pod.is_available
}

/// Whether a Deployment controls a ReplicaSet that its selector matches.
pub(crate) fn owns(workload: &Workload, set: &ReplicaSet) -> bool {
    set.controller_uid.as_deref() == Some(workload.uid.as_str())
        && workload.selector.as_ref().is_some_and(|selector| selector.matches(&set.labels))
}
