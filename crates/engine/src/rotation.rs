//! Deployments that wait in line. Namespaces alternate, so that many in one delay no other; within a namespace, the
//! first come is the first served.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::ops::Bound;

use crate::index::Key;

/// Who waits, in which order.
#[derive(Default)]
pub(crate) struct Rotation {
    /// Names in the order in which they came, by namespace.
    waiting: BTreeMap<String, VecDeque<String>>,
    is_waiting: HashSet<Key>,
    /// The namespace that had the last turn.
    last: String,
}

impl Rotation {
    /// The key waits from now on, unless it does already.
    pub(crate) fn enter(&mut self, key: &Key) {
        if self.is_waiting.insert(key.clone()) {
            self.waiting.entry(key.namespace.clone()).or_default().push_back(key.name.clone());
        }
    }

    /// The key does not wait anymore.
    pub(crate) fn leave(&mut self, key: &Key) {
        if self.is_waiting.remove(key)
            && let Some(names) = self.waiting.get_mut(&key.namespace)
        {
            names.retain(|name| *name != key.name);
            if names.is_empty() {
                self.waiting.remove(&key.namespace);
            }
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.is_waiting.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// How many are before a key that waits, if nobody else comes: those of its namespace that came sooner, and those
    /// of other namespaces. `None` if it does not wait.
    pub(crate) fn before(&self, key: &Key) -> Option<usize> {
        let own = self.waiting.get(&key.namespace)?.iter().position(|name| *name == key.name)?;
        // In a round, those after the namespace that had the last turn come first.
        let place = |namespace: &str| (namespace <= self.last.as_str(), namespace.to_owned());
        let is_sooner = |namespace: &str| place(namespace) < place(&key.namespace);
        let others = self.waiting.iter().filter(|(namespace, _)| **namespace != key.namespace);
        let theirs =
            others.map(|(namespace, names)| names.len().min(own + usize::from(is_sooner(namespace))));
        Some(own + theirs.sum::<usize>())
    }

    /// The first key of the namespace after the one that came last.
    fn first(&self) -> Option<Key> {
        let after = (Bound::Excluded(self.last.as_str()), Bound::Unbounded);
        let (namespace, names) =
            self.waiting.range::<str, _>(after).next().or_else(|| self.waiting.iter().next())?;
        Some(Key { namespace: namespace.clone(), name: names.front()?.clone() })
    }

    /// The first one leaves the line.
    pub(crate) fn pop(&mut self) -> Option<Key> {
        let key = self.first()?;
        self.take(&key);
        Some(key)
    }

    /// This one leaves the line.
    pub(crate) fn take(&mut self, key: &Key) {
        self.leave(key);
        self.last.clone_from(&key.namespace);
    }
}
