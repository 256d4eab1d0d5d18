//! What the watches bring, and how soon it is to be acted upon.

use std::time::Instant;

use plan::Workload;

use super::{Index, Key, Placed};
use crate::packed::Packed;
use crate::queue::Cause;

impl Index {
    /// As [`Self::apply_workload`], with the reason for which each Deployment is woken.
    pub fn workload_came(
        &mut self,
        workload: impl Into<Packed<Workload>>,
        now: Instant,
    ) -> Vec<(Key, Cause)> {
        let workload = workload.into();
        let cause = if self.is_edit(&workload) { Cause::Edited } else { Cause::Changed };
        self.apply_workload(workload, now).into_iter().map(|key| (key, cause)).collect()
    }

    /// As [`Self::apply_set`], with the reason for which each Deployment is woken.
    pub fn set_came(&mut self, placed: impl Into<Packed<Placed>>) -> Vec<(Key, Cause)> {
        let woken = self.apply_set(placed);
        let cause = |key: &Key| if self.is_settled(key) { Cause::Settled } else { Cause::Changed };
        woken.into_iter().map(|key| (key.clone(), cause(&key))).collect()
    }

    /// Whether this is another generation than the one that is known: somebody has edited it.
    fn is_edit(&self, workload: &Packed<Workload>) -> bool {
        let head = workload.head();
        let key = Key { namespace: head.namespace.into_owned(), name: head.name.into_owned() };
        self.workloads.get(&key).is_none_or(|known| known.workload.head().generation != head.generation)
    }

    /// Whether the controllers of all its sets have done what they were asked to do: nothing more is
    /// about to happen.
    fn is_settled(&self, key: &Key) -> bool {
        let Some(known) = self.workloads.get(key) else { return false };
        let mut owned = self.owned.get(&known.workload.head().uid).into_iter().flatten();
        owned.all(|uid| self.sets.get(uid).is_none_or(Packed::is_settled))
    }
}
