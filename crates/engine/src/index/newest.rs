//! How far the watches have come.

use std::collections::HashMap;

/// How much of the cluster one watch shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// All of it.
    Cluster,
    /// One namespace; there is a watch for each. What one has shown means nothing for another.
    Namespace,
}

/// The newest resourceVersion that a watch has shown.
#[derive(Clone, Debug)]
pub struct Newest {
    extent: Extent,
    by_watch: HashMap<String, u64>,
}

impl Newest {
    pub(super) fn new(extent: Extent) -> Self {
        Self { extent, by_watch: HashMap::new() }
    }

    fn watch_of<'a>(&self, namespace: &'a str) -> &'a str {
        match self.extent {
            Extent::Cluster => "",
            Extent::Namespace => namespace,
        }
    }

    pub(super) fn saw(&mut self, namespace: &str, version: &str) {
        // Versions that are no numbers cannot be compared; nobody waits for them then.
        let Ok(version) = version.parse::<u64>() else { return };
        let watch = self.watch_of(namespace);
        match self.by_watch.get_mut(watch) {
            Some(newest) => *newest = version.max(*newest),
            None => _ = self.by_watch.insert(watch.to_owned(), version),
        }
    }

    pub(super) fn of(&self, namespace: &str) -> Option<u64> {
        self.by_watch.get(self.watch_of(namespace)).copied()
    }

    pub(super) fn falls_to(&mut self, namespace: &str, version: u64) {
        if let Some(newest) = self.by_watch.get_mut(self.watch_of(namespace)) {
            *newest = version.min(*newest);
        }
    }

    /// Whether the watch of this namespace has shown this version or a later one.
    #[must_use]
    pub fn has_reached(&self, namespace: &str, version: u64) -> bool {
        self.of(namespace).is_some_and(|newest| newest >= version)
    }
}
