//! Which namespaces a cache holds, if it does not hold all: those of a shard.
//!
//! A namespace that joins is listed by itself, while the watches of the whole cluster continue. Their
//! events for it are held until its list has arrived, and are applied after the list. Events older than the
//! list are dropped. So the cache never falls back behind the list, however far a watch lags.

use std::borrow::Cow;
use std::collections::HashMap;
use std::time::Instant;

use plan::Workload;

use crate::index::heads::Placed;
use crate::index::key::Key;
use crate::packed::Packed;

/// What a watch shows, or a list stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Deployments.
    Workloads,
    /// ReplicaSets.
    Sets,
}

/// What a watch has shown of an object.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    /// And when that was.
    Workload(Packed<Workload>, Instant),
    WorkloadGone {
        key: Key,
        version: String,
    },
    Set(Packed<Placed>),
    SetGone {
        namespace: String,
        uid: String,
        version: String,
    },
}

impl Change {
    pub(crate) fn kind(&self) -> Kind {
        match self {
            Self::Workload(..) | Self::WorkloadGone { .. } => Kind::Workloads,
            Self::Set(_) | Self::SetGone { .. } => Kind::Sets,
        }
    }

    pub(crate) fn namespace(&self) -> Cow<'_, str> {
        match self {
            Self::Workload(workload, _) => workload.head().namespace,
            Self::WorkloadGone { key, .. } => key.namespace.as_str().into(),
            Self::Set(placed) => placed.head().namespace,
            Self::SetGone { namespace, .. } => namespace.into(),
        }
    }

    pub(crate) fn version(&self) -> Cow<'_, str> {
        match self {
            Self::Workload(workload, _) => workload.head().resource_version,
            Self::Set(placed) => placed.head().resource_version,
            Self::WorkloadGone { version, .. } | Self::SetGone { version, .. } => version.into(),
        }
    }
}

/// A namespace that has to be listed. A list that was asked for by an older one is of no use.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ticket {
    /// The namespace.
    pub namespace: String,
    number: u64,
}

/// How much of one kind in one namespace the cache shows.
#[derive(Debug)]
enum Shown {
    /// Nothing before its list comes; what the watch shows meanwhile.
    Awaited(Vec<Change>),
    /// All up to this version, and what the watch has shown since.
    From(u64),
}

impl Default for Shown {
    fn default() -> Self {
        Self::Awaited(Vec::new())
    }
}

impl Shown {
    fn is_there(&self) -> bool {
        matches!(self, Self::From(_))
    }
}

#[derive(Debug)]
struct Part {
    /// When it was taken in or last listed by itself; see [`Territory::now`].
    since: u64,
    workloads: Shown,
    sets: Shown,
}

impl Part {
    fn of(&mut self, kind: Kind) -> &mut Shown {
        match kind {
            Kind::Workloads => &mut self.workloads,
            Kind::Sets => &mut self.sets,
        }
    }

    fn is_whole(&self) -> bool {
        self.workloads.is_there() && self.sets.is_there()
    }
}

/// What a list of the whole cluster means for a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// The list shows what there is.
    Counts,
    /// The list began before the namespace was taken in: what is known stays until its own list comes.
    Nothing,
    /// The namespace is foreign.
    Foreign,
}

/// The namespaces of a shard.
#[derive(Debug, Default)]
pub(crate) struct Territory {
    parts: HashMap<String, Part>,
    /// Counts up with every event that has to stay in order.
    now: u64,
    /// When the list of the whole cluster began that is read, or was read last: of each kind.
    workloads_begun: u64,
    sets_begun: u64,
}

impl Territory {
    fn tick(&mut self) -> u64 {
        self.now += 1;
        self.now
    }

    /// Whether objects of this namespace are kept.
    pub(crate) fn admits(&self, namespace: &str) -> bool {
        self.parts.contains_key(namespace)
    }

    /// Whether the cache shows all of it.
    pub(crate) fn covers(&self, namespace: &str) -> bool {
        self.parts.get(namespace).is_some_and(Part::is_whole)
    }

    /// Objects of this namespace are kept from now on.
    pub(crate) fn take_in(&mut self, namespace: &str) {
        let since = self.tick();
        let part = || Part { since, workloads: Shown::default(), sets: Shown::default() };
        self.parts.entry(namespace.to_owned()).or_insert_with(part);
    }

    /// Objects of this namespace are not kept any more.
    pub(crate) fn let_go(&mut self, namespace: &str) {
        self.parts.remove(namespace);
    }

    /// The namespaces that have to be listed.
    pub(crate) fn unlisted(&self) -> Vec<Ticket> {
        let unlisted = self.parts.iter().filter(|(_, part)| !part.is_whole());
        unlisted.map(|(name, part)| Ticket { namespace: name.clone(), number: part.since }).collect()
    }

    /// Returns a change that has to be carried out now; nothing if it waits for the list, or is known already.
    pub(crate) fn observe(&mut self, change: Change) -> Option<Change> {
        match self.parts.get_mut(&*change.namespace())?.of(change.kind()) {
            Shown::Awaited(told) => {
                told.push(change);
                None
            }
            Shown::From(floor) => is_newer(&change, *floor).then_some(change),
        }
    }

    /// Whether a list that this ticket asked for is of use.
    pub(crate) fn takes(&self, ticket: &Ticket) -> bool {
        self.parts.get(&ticket.namespace).is_some_and(|part| part.since == ticket.number && !part.is_whole())
    }

    /// A list of one namespace has come, which shows all up to this version. Returns what the watch has shown since;
    /// nothing if what the list shows is there already.
    pub(crate) fn fill(&mut self, kind: Kind, namespace: &str, version: u64) -> Option<Vec<Change>> {
        let part = self.parts.get_mut(namespace)?;
        match std::mem::replace(part.of(kind), Shown::From(version)) {
            Shown::Awaited(mut told) => {
                told.retain(|change| is_newer(change, version));
                Some(told)
            }
            // By a list of the whole cluster.
            there @ Shown::From(_) => {
                *part.of(kind) = there;
                None
            }
        }
    }

    /// Both lists of a namespace have come. Lists of the whole cluster that began before may be older.
    pub(crate) fn filled(&mut self, namespace: &str) {
        let now = self.tick();
        if let Some(part) = self.parts.get_mut(namespace) {
            part.since = now;
        }
    }

    /// A list of the whole cluster begins.
    pub(crate) fn begin(&mut self, kind: Kind) {
        let now = self.tick();
        match kind {
            Kind::Workloads => self.workloads_begun = now,
            Kind::Sets => self.sets_begun = now,
        }
    }

    /// What the list of the whole cluster that comes now means for a namespace.
    pub(crate) fn meaning(&self, kind: Kind, namespace: &str) -> Meaning {
        let begun = match kind {
            Kind::Workloads => self.workloads_begun,
            Kind::Sets => self.sets_begun,
        };
        match self.parts.get(namespace) {
            Some(part) if part.since < begun => Meaning::Counts,
            Some(_) => Meaning::Nothing,
            None => Meaning::Foreign,
        }
    }

    /// The list of the cluster has come. Returns the namespaces that are whole by it, and were not.
    ///
    /// Those that it means nothing for have to be listed again: from here on the watch continues behind this list, and
    /// what it showed of them before may never have arrived.
    pub(crate) fn reset(&mut self, kind: Kind) -> Vec<String> {
        let names: Vec<String> = self.parts.keys().cloned().collect();
        let mut whole = Vec::new();
        for name in names {
            let meaning = self.meaning(kind, &name);
            let now = self.tick();
            let Some(part) = self.parts.get_mut(&name) else { continue };
            if meaning == Meaning::Counts {
                let was_whole = part.is_whole();
                *part.of(kind) = Shown::From(0);
                if part.is_whole() && !was_whole {
                    whole.push(name);
                }
            } else {
                *part = Part { since: now, workloads: Shown::default(), sets: Shown::default() };
            }
        }
        whole
    }
}

/// Versions that are no numbers cannot be compared: such a change counts.
fn is_newer(change: &Change, floor: u64) -> bool {
    change.version().parse::<u64>().map_or(true, |version| version > floor)
}

#[cfg(test)]
mod tests;
