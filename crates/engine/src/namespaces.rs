//! Which namespaces belong to a shard: by their labels, and by what another shard may still do.
//!
//! A namespace with changed labels may have belonged to another shard until now, and that shard's requests may still be
//! under way. So it joins only when some time has passed since the operator observed the change. One that was created
//! with the shard's labels never belonged to another shard, and joins immediately.

use std::collections::HashMap;
use std::time::Instant;

use crate::durations::HANDOVER;

/// A namespace as a list or a watch shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sighting {
    /// `metadata.name`.
    pub name: String,
    /// `metadata.resourceVersion`.
    pub version: String,
    /// Whether its labels are those of the operator's shard.
    pub is_selected: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// The namespace does not belong to this operator.
    Elsewhere,
    /// The namespace belongs to this operator from then on.
    Joining(Instant),
    /// The namespace belongs to this operator, for the stay with this number.
    Ours(u64),
}

#[derive(Debug)]
struct Namespace {
    version: String,
    standing: Standing,
}

/// How many namespaces stand how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Managed.
    pub ours: usize,
    /// Selected, and not yet managed.
    pub joining: usize,
    /// Not selected.
    pub elsewhere: usize,
}

/// All namespaces of the cluster.
#[derive(Debug, Default)]
pub struct Namespaces {
    all: HashMap<String, Namespace>,
    stays: u64,
}

impl Namespaces {
    /// A watch shows a namespace, having missed none of its changes. True if it leaves this operator.
    pub fn apply(&mut self, sighting: Sighting, now: Instant) -> bool {
        let Sighting { name, version, is_selected } = sighting;
        let Some(known) = self.all.get_mut(&name) else {
            // The namespace has just been created.
            let standing = if is_selected { Standing::Joining(now) } else { Standing::Elsewhere };
            self.all.insert(name, Namespace { version, standing });
            return false;
        };
        known.version = version;
        known.labelled(is_selected, now)
    }

    /// The namespace is gone. True if it belonged to this operator.
    pub fn delete(&mut self, name: &str) -> bool {
        self.all.remove(name).is_some_and(|known| known.is_ours())
    }

    /// All that exist were listed, and nobody knows what has happened meanwhile. A changed one may have been another
    /// shard's in between. Returns those that leave this operator.
    pub fn reset(&mut self, listed: Vec<Sighting>, now: Instant) -> Vec<String> {
        let mut before = std::mem::take(&mut self.all);
        let mut left = Vec::new();
        for Sighting { name, version, is_selected } in listed {
            let known = before.remove(&name);
            let mut namespace = match known {
                Some(known) if known.version == version => known,
                known => {
                    left.extend(known.filter(Namespace::is_ours).map(|_| name.clone()));
                    Namespace { version, standing: Standing::Elsewhere }
                }
            };
            namespace.labelled(is_selected, now);
            self.all.insert(name, namespace);
        }
        left.extend(before.into_iter().filter(|(_, gone)| gone.is_ours()).map(|(name, _)| name));
        left
    }

    /// Takes the namespaces in that have been left alone for long enough.
    pub fn settle(&mut self, now: Instant) -> Vec<String> {
        let mut settled = Vec::new();
        for (name, namespace) in &mut self.all {
            if matches!(namespace.standing, Standing::Joining(due) if due <= now) {
                self.stays += 1;
                namespace.standing = Standing::Ours(self.stays);
                settled.push(name.clone());
            }
        }
        settled.sort();
        settled
    }

    /// When the next one has been.
    #[must_use]
    pub fn next_due(&self) -> Option<Instant> {
        let due = |namespace: &Namespace| match namespace.standing {
            Standing::Joining(due) => Some(due),
            _ => None,
        };
        self.all.values().filter_map(due).min()
    }

    /// The number of a namespace's stay with this operator; another one after it has left.
    #[must_use]
    pub fn stay(&self, name: &str) -> Option<u64> {
        match self.all.get(name)?.standing {
            Standing::Ours(stay) => Some(stay),
            _ => None,
        }
    }

    /// Whether the operator has seen this version of a namespace, as a live read shows it.
    #[must_use]
    pub fn knows(&self, name: &str, version: &str) -> bool {
        let Some(known) = self.all.get(name) else { return false };
        let number = |version: &str| version.parse::<u64>().ok();
        let is_later = number(&known.version).zip(number(version)).is_some_and(|(known, live)| known > live);
        known.version == version || is_later
    }

    /// How many stand how.
    #[must_use]
    pub fn count(&self) -> Count {
        let mut count = Count::default();
        for namespace in self.all.values() {
            match namespace.standing {
                Standing::Elsewhere => count.elsewhere += 1,
                Standing::Joining(_) => count.joining += 1,
                Standing::Ours(_) => count.ours += 1,
            }
        }
        count
    }
}

impl Namespace {
    fn is_ours(&self) -> bool {
        matches!(self.standing, Standing::Ours(_))
    }

    /// The labels of a namespace are such now. True if it leaves this operator.
    fn labelled(&mut self, is_selected: bool, now: Instant) -> bool {
        let was_ours = self.is_ours();
        match (is_selected, self.standing) {
            (true, Standing::Elsewhere) => self.standing = Standing::Joining(now + HANDOVER),
            (true, _) => {}
            (false, _) => self.standing = Standing::Elsewhere,
        }
        was_ours && !is_selected
    }
}

#[cfg(test)]
mod tests;
