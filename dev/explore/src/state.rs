//! A state of the whole: the cluster, what the operator's cache shows of it, and how far a reconcile
//! has come.

use plan::{HistoryHead, Status};

use crate::scope::Scope;

/// A ReplicaSet. Pods are counters: which of the equal ones goes makes no difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Set {
    /// Counts the ReplicaSets that were ever made; identity, and age.
    pub(crate) uid: u8,
    /// The collision count that its name was made with.
    pub(crate) collisions: u8,
    /// Which template it was made from.
    pub(crate) template: u8,
    /// `spec.replicas`.
    pub(crate) size: u8,
    /// The annotations `revision`, `desired-replicas` and `max-replicas`.
    pub(crate) revision: u8,
    pub(crate) desired: Option<u8>,
    pub(crate) max: Option<u8>,
    /// The annotation `rollout`.
    pub(crate) memory: Option<Memory>,
    /// Pods that run and are not ready, and those that are.
    pub(crate) unready: u8,
    pub(crate) ready: u8,
    /// `status`, which may be behind the pods.
    pub(crate) reported: Reported,
    /// Pods go because somebody else took the size down.
    pub(crate) is_foreign_cut: bool,
}

/// What a ReplicaSet remembers of a rollout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Memory {
    /// The revision that it is about.
    pub(crate) revision: u8,
    pub(crate) verdict: Option<Verdict>,
    /// The revision that the last request to abort named.
    pub(crate) abort: Option<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Verdict {
    Good,
    /// Nothing else than an abort fails a revision here.
    Aborted,
}

/// `status` of a ReplicaSet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Reported {
    pub(crate) replicas: u8,
    pub(crate) available: u8,
    /// Whether it belongs to the present spec.
    pub(crate) is_observed: bool,
}

impl Set {
    pub(crate) fn pods(&self) -> u8 {
        self.unready + self.ready
    }

    /// The verdict on its revision.
    pub(crate) fn verdict(&self) -> Option<Verdict> {
        self.memory.filter(|memory| memory.revision == self.revision)?.verdict
    }

    /// The object itself: pods are others.
    pub(crate) fn object(self) -> Self {
        Self { unready: 0, ready: 0, is_foreign_cut: false, ..self }
    }

    /// The status that belongs to the pods of this moment.
    pub(crate) fn true_report(&self) -> Reported {
        Reported { replicas: self.pods(), available: self.ready, is_observed: true }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Deployment {
    pub(crate) template: u8,
    pub(crate) replicas: u8,
    pub(crate) paused: bool,
    /// The template with the pinned ReplicaSet.
    pub(crate) pin: Option<u8>,
    /// The revision that somebody asked to abort last.
    pub(crate) abort: Option<u8>,
    pub(crate) generation: u8,
    /// Number of a stored status, see [`Statuses`].
    pub(crate) status: u16,
}

/// What the cache shows in the place of the newest version of one object.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Lag<T> {
    pub(crate) shown: T,
    /// Whether the change that it does not show yet was the operator's.
    pub(crate) is_own: bool,
}

/// One ReplicaSet's event that the watch has not brought yet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SetEvent {
    pub(crate) uid: u8,
    /// The version before; none when the ReplicaSet is new.
    pub(crate) before: Option<Set>,
    /// Its place among the ReplicaSets, if it is gone.
    pub(crate) place: u8,
}

/// A reconcile on its way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Flight {
    /// Number of the snapshot that it began with.
    pub(crate) view: u32,
    /// Number of the list of answers that it got to its writes so far.
    pub(crate) answers: u32,
    /// The objects that the snapshot shows in their newest version.
    pub(crate) is_deployment_fresh: bool,
    pub(crate) fresh_sets: Vec<u8>,
}

/// How often what may still happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Budget {
    pub(crate) edits: u8,
    pub(crate) crashes: u8,
    pub(crate) scales: u8,
    pub(crate) failures: u8,
}

/// Everything.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct State {
    pub(crate) deployment: Deployment,
    /// Oldest first.
    pub(crate) sets: Vec<Set>,
    pub(crate) created: u8,
    pub(crate) deployment_lag: Option<Lag<Deployment>>,
    pub(crate) set_lag: Option<Lag<SetEvent>>,
    pub(crate) flight: Option<Flight>,
    pub(crate) budget: Budget,
    /// The floor that is established: E of AV-2.
    pub(crate) floor: u8,
    /// Available pods that others took away.
    pub(crate) losses: u8,
    /// Somebody scaled a ReplicaSet up, and no reconcile has begun since that could have seen it.
    pub(crate) is_scale_up_unseen: bool,
}

impl State {
    /// Idle, with the first template.
    pub(crate) fn first(scope: &Scope) -> Self {
        let pods = scope.replicas;
        let set = Set {
            uid: 0,
            collisions: 0,
            template: 0,
            size: pods,
            revision: 1,
            desired: Some(pods),
            max: None,
            memory: None,
            unready: 0,
            ready: pods,
            reported: Reported { replicas: pods, available: pods, is_observed: true },
            is_foreign_cut: false,
        };
        let Scope { edits, crashes, scales, failures, .. } = *scope;
        Self {
            deployment: Deployment {
                template: 0,
                replicas: pods,
                paused: false,
                pin: None,
                abort: None,
                generation: 1,
                status: 0,
            },
            sets: vec![set],
            created: 1,
            deployment_lag: None,
            set_lag: None,
            flight: None,
            budget: Budget { edits, crashes, scales, failures },
            floor: 0,
            losses: 0,
            is_scale_up_unseen: false,
        }
    }

    pub(crate) fn available(&self) -> u8 {
        self.sets.iter().map(|set| set.ready).sum()
    }

    pub(crate) fn total(&self) -> u8 {
        self.sets.iter().map(|set| set.size).sum()
    }

    pub(crate) fn set(&self, uid: u8) -> Option<&Set> {
        self.sets.iter().find(|set| set.uid == uid)
    }

    /// The ReplicaSet of the present template.
    pub(crate) fn declared(&self) -> Option<&Set> {
        self.sets.iter().find(|set| set.template == self.deployment.template)
    }

    /// Changes a ReplicaSet; the cache shows it later, and has seen everything before.
    pub(crate) fn write_set(&mut self, uid: u8, is_own: bool, change: impl FnOnce(&mut Set)) {
        let Some(place) = self.sets.iter().position(|set| set.uid == uid) else { return };
        let Some(set) = self.sets.get_mut(place) else { return };
        let before = Some(*set);
        change(set);
        self.lag_set(uid, before, place, is_own);
    }

    pub(crate) fn lag_set(&mut self, uid: u8, before: Option<Set>, place: usize, is_own: bool) {
        let before = before.map(Set::object);
        let place = u8::try_from(place).unwrap_or(u8::MAX);
        self.set_lag = Some(Lag { shown: SetEvent { uid, before, place }, is_own });
        if let (Some(flight), false) = (&mut self.flight, is_own) {
            flight.fresh_sets.retain(|fresh| *fresh != uid);
        }
    }

    pub(crate) fn write_deployment(&mut self, is_own: bool, change: impl FnOnce(&mut Deployment)) {
        let shown = self.deployment.clone();
        change(&mut self.deployment);
        self.deployment_lag = Some(Lag { shown, is_own });
        if let (Some(flight), false) = (&mut self.flight, is_own) {
            flight.is_deployment_fresh = false;
        }
    }

    /// The Deployment as the cache shows it.
    pub(crate) fn cached_deployment(&self) -> &Deployment {
        self.deployment_lag.as_ref().map_or(&self.deployment, |lag| &lag.shown)
    }

    /// The ReplicaSets as the cache shows them.
    pub(crate) fn cached_sets(&self) -> Vec<Set> {
        let mut sets: Vec<_> = self.sets.iter().copied().map(Set::object).collect();
        let Some(Lag { shown, .. }) = &self.set_lag else { return sets };
        let at = sets.iter().position(|set| set.uid == shown.uid);
        match (at, &shown.before) {
            (Some(at), Some(before)) => {
                if let Some(set) = sets.get_mut(at) {
                    *set = *before;
                }
            }
            (Some(at), None) => drop(sets.remove(at)),
            (None, Some(before)) => sets.insert(usize::from(shown.place).min(sets.len()), *before),
            (None, None) => {}
        }
        sets
    }
}

/// Statuses by number: the same status is the same number.
#[derive(Debug, Default)]
pub(crate) struct Statuses {
    all: Vec<Status>,
}

impl Statuses {
    /// The number of a status. Its past rollouts decide nothing, and its counters never return.
    pub(crate) fn number(&mut self, status: &Status) -> u16 {
        let mut status = status.clone();
        (status.ours.rollout, status.ours.history) = (None, HistoryHead::default());
        let known = self.all.iter().position(|other| *other == status);
        let index = known.unwrap_or_else(|| {
            self.all.push(status);
            self.all.len() - 1
        });
        u16::try_from(index).unwrap_or(u16::MAX)
    }

    /// The status of a number.
    pub(crate) fn get(&self, number: u16) -> Status {
        self.all.get(usize::from(number)).cloned().unwrap_or_default()
    }
}
