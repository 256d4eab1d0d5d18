//! What the watches bring, and how soon a reconcile follows.

use std::time::Instant;

use plan::Workload;

use super::namespace::Namespace;
use super::{Index, Key, Placed};
use crate::packed::Packed;
use crate::queue::Cause;
use crate::uid::Uid;

impl Index {
    /// As [`Self::apply_workload`], with the reason for which each Deployment is requeued.
    pub fn workload_came(
        &mut self,
        workload: impl Into<Packed<Workload>>,
        now: Instant,
    ) -> Vec<(Key, Cause)> {
        let workload = workload.into();
        let is_edit = self.is_edit(&workload);
        let requeued = self.apply_workload(workload, now);
        let cause = |key: &Key| match is_edit {
            true => Cause::Edited,
            false if self.is_refuted(key) => Cause::TakenBack,
            false => Cause::Changed,
        };
        requeued.into_iter().map(|key| (key.clone(), cause(&key))).collect()
    }

    /// As [`Self::apply_set`], with the reason for which each Deployment is requeued.
    pub fn set_came(&mut self, placed: impl Into<Packed<Placed>>) -> Vec<(Key, Cause)> {
        let placed = placed.into();
        let head = placed.head();
        let before = self.set(&head.namespace, &head.uid).map(Packed::pods);
        let has_lost = before.is_some_and(|(_, before)| {
            let (size, after) = placed.pods();
            after.has_lost(size, &before)
        });
        let requeued = self.apply_set(placed);
        let cause = |key: &Key| {
            if has_lost || self.is_refuted(key) {
                Cause::TakenBack
            } else if self.is_settled(key) {
                Cause::Settled
            } else {
                Cause::Advanced
            }
        };
        requeued.into_iter().map(|key| (key.clone(), cause(&key))).collect()
    }

    /// As [`Self::delete_set`], with the reason for which each Deployment is requeued.
    pub fn set_left(&mut self, namespace: &str, uid: &str, version: &str) -> Vec<(Key, Cause)> {
        let had_pods = self.set(namespace, &Uid::from(uid)).is_some_and(|known| known.pods().1.replicas > 0);
        let cause = if had_pods { Cause::TakenBack } else { Cause::Changed };
        self.delete_set(namespace, uid, version).into_iter().map(|key| (key, cause)).collect()
    }

    /// Whether this is another generation than the one that is known: somebody has edited it.
    fn is_edit(&self, workload: &Packed<Workload>) -> bool {
        let head = workload.head();
        let key = Key { namespace: head.namespace.into_owned(), name: head.name.into_owned() };
        self.workload(&key).is_none_or(|known| known.head().generation != head.generation)
    }

    /// Whether no status reports its generation yet: somebody has edited it.
    pub(crate) fn is_unobserved(&self, key: &Key) -> bool {
        self.workload(key).is_some_and(|workload| !workload.told().is_observed)
    }

    /// Whether its status reports that it is complete, and its ReplicaSets show that it is not.
    fn is_refuted(&self, key: &Key) -> bool {
        let Some((known, workload)) = self.found(key) else { return false };
        let told = workload.told();
        if !told.is_complete {
            return false;
        }
        let (mut pods, mut available) = (0_i64, 0_i64);
        for status in known.statuses(&workload.head().uid) {
            pods = pods.saturating_add(status.replicas);
            available = available.saturating_add(status.available);
        }
        pods != told.replicas || available < told.replicas
    }

    /// Whether the controllers of all its ReplicaSets have done what they were asked to do: nothing more is
    /// about to happen.
    fn is_settled(&self, key: &Key) -> bool {
        self.found(key)
            .is_some_and(|(known, workload)| known.owned(&workload.head().uid).all(Packed::is_settled))
    }

    /// A Deployment, and what else there is in its namespace.
    fn found(&self, key: &Key) -> Option<(&Namespace, &Packed<Workload>)> {
        let known = self.namespaces.get(&key.namespace)?;
        Some((known, known.workload(&key.name)?))
    }
}
