//! What a reconcile decides from, and how its own writes have changed that so far.

use std::sync::Arc;

use plan::intstr::IntOrPercent;
use plan::keys::{DESIRED_REPLICAS, HASH_LABEL, MAX_REPLICAS, ROLLOUT};
use plan::template::Digest;
use plan::{Action, OwnerChange, ReplicaSet, Strategy, Workload, replica_count};

use crate::truth::owns;
use crate::verdict::{self, Running, pin, running};

/// A ReplicaSet as a reconcile sees it.
#[derive(Clone, Debug)]
pub(crate) struct SetView {
    pub(crate) set: Arc<ReplicaSet>,
    /// Its size after the writes so far.
    pub(crate) size: i64,
    /// Whether it is the Deployment's.
    pub(crate) is_owned: bool,
    /// Whether this reconcile wrote it.
    pub(crate) is_written: bool,
}

/// What a reconcile decides from.
#[derive(Clone, Debug)]
pub(crate) struct View {
    pub(crate) workload: Arc<Workload>,
    pub(crate) sets: Vec<SetView>,
    /// Those that it deleted: what it decides from has them.
    deleted: Vec<Arc<ReplicaSet>>,
    /// What the server would make of the template, if it was asked.
    pub(crate) stored: Option<Digest>,
    /// The last live read before adopting: whether it was this Deployment, and not being deleted.
    pub(crate) may_adopt: Option<bool>,
    /// Whether a rollback was carried out.
    pub(crate) is_rolled_back: bool,
    /// Whether a failure was written: then nothing moves (FP-2).
    pub(crate) is_judged: bool,
    /// Whether the epoch of the operator was written: nothing moves before that is stored (HO-1).
    pub(crate) is_recorded: bool,
    /// Whether this reconcile created the new ReplicaSet.
    pub(crate) is_created: bool,
    /// ReplicaSets with pods that run, if the reconcile looked.
    pub(crate) running: Option<Vec<String>>,
    /// The epoch of the operator, as it is recorded.
    pub(crate) epoch: Option<String>,
}

impl SetView {
    /// The size of the Deployment for which it was last scaled.
    pub(crate) fn desired(&self) -> Option<i64> {
        self.set.annotations.get(DESIRED_REPLICAS).and_then(|text| replica_count(text))
    }
}

impl View {
    pub(crate) fn of(workload: Arc<Workload>, sets: Vec<Arc<ReplicaSet>>) -> Self {
        let sets = sets.into_iter().map(|set| SetView {
            size: set.size,
            is_owned: owns(&workload, &set),
            is_written: false,
            set,
        });
        let sets = sets.collect();
        Self {
            workload,
            sets,
            deleted: Vec::new(),
            stored: None,
            may_adopt: None,
            is_rolled_back: false,
            is_judged: false,
            is_recorded: false,
            is_created: false,
            running: None,
            epoch: None,
        }
    }

    pub(crate) fn owned(&self) -> impl Iterator<Item = &SetView> {
        self.sets.iter().filter(|view| view.is_owned)
    }

    pub(crate) fn find(&self, uid: &str) -> Option<&SetView> {
        self.sets.iter().find(|view| view.set.uid == uid)
    }

    /// The oldest ReplicaSet that carries the template, or has it as stored.
    pub(crate) fn new_set(&self) -> Option<&SetView> {
        let fingerprint = &self.workload.template.fingerprint;
        let oldest = |is: &dyn Fn(&ReplicaSet) -> bool| {
            self.owned().filter(|view| is(&view.set)).min_by(|a, b| a.set.age_order(&b.set))
        };
        let stored = |set: &ReplicaSet| self.stored.is_some_and(|stored| stored == set.stored);
        oldest(&|set| set.carries(fingerprint)).or_else(|| oldest(&stored))
    }

    /// The ReplicaSet that should run.
    pub(crate) fn running_set(&self) -> Option<&SetView> {
        let Some(new) = self.new_set() else {
            return self.pinned_set();
        };
        match running(&self.workload, self.owned().map(|view| &*view.set), &new.set) {
            Running::Set(set) => self.find(&set.uid),
            Running::Missing | Running::Held => Some(new),
        }
    }

    /// The ReplicaSet that a pin in force names.
    fn pinned_set(&self) -> Option<&SetView> {
        let pin = pin(&self.workload)?;
        self.owned().find(|view| view.set.labels.get(HASH_LABEL) == Some(&pin.pod_template_hash))
    }

    /// Whether a pin in force names no ReplicaSet (FP-11).
    pub(crate) fn lacks_pinned(&self) -> bool {
        pin(&self.workload).is_some() && self.pinned_set().is_none()
    }

    /// What a revert would run, by the verdicts that are stored.
    pub(crate) fn fallback(&self) -> Option<&ReplicaSet> {
        let new = self.new_set().map(|new| &*new.set);
        verdict::fallback(&self.workload, self.with_deleted().into_iter(), new)
    }

    /// What the reconcile decides from: also the ReplicaSets that it deleted.
    pub(crate) fn with_deleted(&self) -> Vec<&ReplicaSet> {
        self.owned().map(|view| &*view.set).chain(self.deleted.iter().map(|set| &**set)).collect()
    }

    /// Whether another revision may run than the declared one: there is a pin, a policy, or a request to abort.
    pub(crate) fn is_ruled(&self) -> bool {
        self.workload.pin.is_some() || verdict::is_judged(&self.workload)
    }

    /// Whether an earlier revision runs because the declared one failed.
    pub(crate) fn is_reverted(&self) -> bool {
        let (new, running) = (self.new_set(), self.running_set());
        pin(&self.workload).is_none() && new.map(|it| &it.set.uid) != running.map(|it| &it.set.uid)
    }

    /// Whether the declared revision failed, and somebody has to act.
    pub(crate) fn is_held(&self) -> bool {
        self.new_set().is_some_and(|new| {
            let sets = self.owned().map(|view| &*view.set);
            matches!(running(&self.workload, sets, &new.set), Running::Held)
        })
    }

    pub(crate) fn total(&self) -> i64 {
        self.owned().map(|view| view.size).sum()
    }

    pub(crate) fn is_rolling(&self) -> bool {
        matches!(self.workload.strategy, Strategy::RollingUpdate { .. })
    }

    pub(crate) fn floor(&self) -> i64 {
        floor(&self.workload)
    }

    pub(crate) fn cap(&self) -> i64 {
        cap(&self.workload)
    }

    /// The least number of available pods: what may be missing counts in rolling updates only (S9.8).
    pub(crate) fn minimum(&self) -> i64 {
        minimum_of(&self.workload, self.workload.replicas)
    }

    /// Whether the reconcile scales instead of rolling out: not while it reverts, unless it is paused (FP-10).
    pub(crate) fn is_scaling(&self) -> bool {
        self.workload.paused || (self.is_stale() && !self.is_reverted())
    }

    /// Whether a ReplicaSet with pods was last scaled for another size of the Deployment.
    pub(crate) fn is_stale(&self) -> bool {
        let replicas = self.workload.replicas;
        let stale = |view: &SetView| {
            view.set.is_active() && view.desired().is_some_and(|desired| desired != replicas)
        };
        self.owned().any(stale)
    }

    /// Whether the annotations that shares are computed from are numbers.
    pub(crate) fn has_valid_annotations(&self) -> bool {
        let valid = |view: &SetView, key: &str| {
            view.set
                .annotations
                .get(key)
                .and_then(|text| replica_count(text))
                .is_some_and(|number| number > 0)
        };
        self.owned()
            .filter(|view| view.set.is_active())
            .all(|view| valid(view, DESIRED_REPLICAS) && valid(view, MAX_REPLICAS))
    }

    /// Whether the ReplicaSet that runs is as large as it gets and available.
    pub(crate) fn is_saturated(&self) -> bool {
        self.running_set().is_some_and(|view| {
            let desired =
                view.set.annotations.get(DESIRED_REPLICAS).and_then(|text| text.parse::<i64>().ok());
            let replicas = self.workload.replicas;
            view.set.size == replicas && desired == Some(replicas) && view.set.status.available == replicas
        })
    }

    /// Available pods, as the ReplicaSets last reported.
    pub(crate) fn available(&self) -> i64 {
        self.owned().map(|view| view.set.status.available).sum()
    }

    /// Pods of old ReplicaSets that may have been available, and that the sizes have no room for now.
    pub(crate) fn lost(&self) -> i64 {
        let new = self.running_set().map(|view| view.set.uid.clone());
        let olds = self.owned().filter(|view| Some(&view.set.uid) != new.as_ref());
        olds.map(|view| (view.set.status.available.min(view.set.size) - view.size).max(0)).sum()
    }

    /// An action was carried out.
    pub(crate) fn acted(&mut self, action: &Action) {
        match action {
            Action::UpdateReplicaSet(update) => {
                let memory = update.annotations.get(ROLLOUT);
                let known =
                    self.find(&update.target.uid).is_some_and(|view| verdict::says(&view.set, "Failed"));
                self.is_judged |= !known && memory.is_some_and(|text| text.contains("\"Failed\""));
                let own = self.epoch.as_ref().map(|epoch| format!("\"epoch\":\"{epoch}\""));
                let has_own = |text: &String| own.as_ref().is_some_and(|own| text.contains(own));
                let stored = self.find(&update.target.uid).and_then(|view| view.set.annotations.get(ROLLOUT));
                self.is_recorded |= memory.is_some_and(has_own) && !stored.is_some_and(has_own);
                if let Some(view) = self.sets.iter_mut().find(|view| view.set.uid == update.target.uid) {
                    view.size = update.size_to;
                    view.is_written = true;
                }
            }
            Action::DeleteReplicaSet(target) => {
                let gone = self.sets.extract_if(.., |view| view.set.uid == target.uid);
                self.deleted.extend(gone.filter(|view| view.is_owned).map(|view| view.set));
            }
            Action::RollBack(_) => self.is_rolled_back = true,
            _ => {}
        }
    }

    /// A ReplicaSet was created, or turned out to be there.
    pub(crate) fn found(&mut self, set: ReplicaSet) {
        let is_owned = owns(&self.workload, &set);
        let view = SetView { size: set.size, is_owned, is_written: true, set: Arc::new(set) };
        self.sets.retain(|other| other.set.uid != view.set.uid);
        self.sets.push(view);
    }

    /// A change of owner was carried out.
    pub(crate) fn change_owner(&mut self, change: &OwnerChange) {
        let (target, is_owned) = match change {
            OwnerChange::Adopt(target) => (target, true),
            OwnerChange::Release(target) => (target, false),
        };
        if let Some(view) = self.sets.iter_mut().find(|view| view.set.uid == target.uid) {
            view.is_owned = is_owned;
        }
    }
}

/// Surge and how many may be missing: computed here once more, so that a mistake of the planner
/// does not excuse itself.
fn limits(workload: &Workload, replicas: i64) -> (i64, i64) {
    let Strategy::RollingUpdate { max_surge, max_unavailable } = &workload.strategy else {
        return (0, replicas);
    };
    let pods = |limit: &Option<IntOrPercent>, rounding: i64| match limit {
        Some(IntOrPercent::Int(pods)) => *pods,
        Some(IntOrPercent::Text(text)) => {
            let percent = text.strip_suffix('%').and_then(|text| text.parse::<i64>().ok()).unwrap_or(0);
            (percent * replicas + rounding).div_euclid(100)
        }
        None => 0,
    };
    match (pods(max_surge, 99), pods(max_unavailable, 0)) {
        (0, 0) => (0, 1),
        limits => limits,
    }
}

/// Pods that must stay available.
pub(crate) fn floor(workload: &Workload) -> i64 {
    (workload.replicas - limits(workload, workload.replicas).1).max(0)
}

/// The least number of available pods of a Deployment with this many replicas (S6.4).
pub(crate) fn minimum_of(workload: &Workload, replicas: i64) -> i64 {
    let is_rolling = matches!(workload.strategy, Strategy::RollingUpdate { .. });
    if is_rolling { (replicas - limits(workload, replicas).1).max(0) } else { replicas }
}

/// Desired and surge together.
pub(crate) fn cap(workload: &Workload) -> i64 {
    workload.replicas + limits(workload, workload.replicas).0
}
