//! How far the watches have come.

use std::collections::HashMap;

/// How much of the cluster one watch shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// All of it.
    Cluster,
    /// One namespace; there is a watch for each. What one has shown says nothing about another.
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

    /// The server has only come this far. Says whether the watch of this namespace, or of all, has shown a later
    /// version: then the server's data was restored from a backup, and what was shown since counts no more.
    pub(super) fn falls_to(&mut self, namespace: Option<&str>, version: u64) -> bool {
        let watch = self.watch_of(namespace.unwrap_or_default()).to_owned();
        let newest = self.by_watch.get_mut(&watch).filter(|newest| **newest > version);
        let has_fallen = newest.is_some();
        if let Some(newest) = newest {
            *newest = version;
        }
        has_fallen
    }

    /// Whether the watch of this namespace has shown this version or a later one.
    #[must_use]
    pub fn has_reached(&self, namespace: &str, version: u64) -> bool {
        self.by_watch.get(self.watch_of(namespace)).is_some_and(|newest| *newest >= version)
    }
}
