//! Which Deployments are looked at before the lists of a start have come.
//!
//! With ten thousand Deployments, these lists take half a minute. An operator that counts ReplicaSets which it has not
//! seen would start pods beyond the surge (SU-1), so it waits for the lists. But a live read also shows everything that
//! was written before it began. So the operator acts immediately on what users change, from live reads. They cost the
//! server more than a look into the cache does, so only some Deployments get them.

use std::collections::BTreeMap;

use crate::index::{Index, Key};

/// At most this many at a time, because the server has to answer the lists, too.
const EARLY_MAX: usize = 8;

/// The Deployments that are looked at early.
#[derive(Default)]
pub(crate) struct Early {
    awaits_lists: bool,
    /// And whether they still need that.
    keys: BTreeMap<Key, bool>,
}

impl Early {
    /// Until lists come, the cache may be older than what others have written.
    pub(crate) fn begin(&mut self) {
        *self = Self { awaits_lists: true, keys: BTreeMap::new() };
    }

    /// The lists have come.
    pub(crate) fn end(&mut self) {
        self.awaits_lists = false;
    }

    pub(crate) fn awaits_lists(&self) -> bool {
        self.awaits_lists
    }

    /// Somebody changed a Deployment, as the watch shows.
    pub(crate) fn changed(&mut self, key: &Key) {
        let others = self.keys.iter().filter(|(other, needs_it)| **needs_it && *other != key);
        if self.awaits_lists && others.count() < EARLY_MAX {
            self.keys.insert(key.clone(), true);
        }
    }

    /// Whether this one may be looked at: the lists have come, its watch has shown a change, or its status is about an
    /// earlier generation.
    pub(crate) fn admits(&mut self, key: &Key, index: &Index) -> bool {
        if self.awaits_lists && index.is_unobserved(key) {
            self.changed(key);
        }
        self.reads_live(key) || !self.awaits_lists
    }

    /// Whether it was looked at early, and the cache may not show that yet. No list will ever show what was written and
    /// is gone again.
    pub(crate) fn reads_live(&self, key: &Key) -> bool {
        self.keys.contains_key(key)
    }

    /// The Deployment is complete, and another one may be looked at.
    pub(crate) fn completed(&mut self, key: &Key) {
        if let Some(needs_it) = self.keys.get_mut(key) {
            *needs_it = false;
        }
    }

    /// The cache shows it.
    pub(crate) fn ended(&mut self, key: &Key) {
        self.keys.remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_complete_one_leaves_its_place_to_another() {
        let key = |name: usize| Key { namespace: "ns".to_owned(), name: name.to_string() };
        let index = Index::new(crate::index::Sight::Whole);
        let mut early = Early::default();
        early.begin();
        (0..=EARLY_MAX).for_each(|name| early.changed(&key(name)));
        assert!(early.admits(&key(0), &index) && !early.admits(&key(EARLY_MAX), &index));
        early.completed(&key(0));
        early.changed(&key(EARLY_MAX));
        assert!(early.admits(&key(0), &index) && early.admits(&key(EARLY_MAX), &index));
        early.end();
        assert!(early.reads_live(&key(0)), "the cache may not show it yet");
        early.ended(&key(0));
        assert!(early.admits(&key(0), &index) && !early.reads_live(&key(0)));
    }
}
