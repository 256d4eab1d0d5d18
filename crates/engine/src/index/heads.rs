//! What is read of packed objects to keep them in order: their first fields.

use std::borrow::Cow;
use std::sync::Arc;

use plan::selector::LabelSelector;
use plan::{ReplicaSet, SetStatus, Status, Workload};

use crate::packed::{Pack, Packed, Reader, packed, text};
use crate::uid::Uid;

/// A ReplicaSet and its namespace.
#[derive(Clone, Debug)]
pub struct Placed {
    /// `metadata.namespace`.
    pub namespace: String,
    /// The ReplicaSet.
    pub set: Arc<ReplicaSet>,
}

packed!(Placed { namespace, set });

impl From<Placed> for Packed<Placed> {
    fn from(placed: Placed) -> Self {
        Self::new(&placed)
    }
}

impl From<Workload> for Packed<Workload> {
    fn from(workload: Workload) -> Self {
        Self::new(&workload)
    }
}

/// What a packed ReplicaSet begins with; all that is read to keep it in order, unless it is an orphan.
pub(crate) struct SetHead<'a> {
    pub(crate) namespace: Cow<'a, str>,
    pub(super) owner: Option<Uid>,
    pub(crate) resource_version: Cow<'a, str>,
    pub(super) deleting: bool,
    pub(super) uid: Uid,
    pub(super) name: Cow<'a, str>,
}

impl Packed<Placed> {
    pub(crate) fn head(&self) -> SetHead<'_> {
        read_set_head(&mut self.reader())
    }

    /// Whether its controller has done what it was asked to do; see [`ReplicaSet::is_settled`].
    pub(super) fn is_settled(&self) -> bool {
        let from = &mut self.reader();
        read_set_head(from);
        let (generation, size) = (i64::unpack(from), i64::unpack(from));
        SetStatus::unpack(from).is_settled(generation, size)
    }

    /// Its size and its status.
    pub(super) fn pods(&self) -> (i64, SetStatus) {
        let from = &mut self.reader();
        read_set_head(from);
        let (_generation, size) = (i64::unpack(from), i64::unpack(from));
        (size, SetStatus::unpack(from))
    }

    /// The ReplicaSet alone.
    pub(super) fn set(&self) -> ReplicaSet {
        let from = &mut self.reader();
        text(from);
        Pack::unpack(from)
    }
}

fn read_set_head<'a>(from: &mut Reader<'a>) -> SetHead<'a> {
    SetHead {
        namespace: text(from).into(),
        owner: bool::unpack(from).then(|| text(from).into()),
        resource_version: text(from).into(),
        deleting: bool::unpack(from),
        uid: text(from).into(),
        name: text(from).into(),
    }
}

/// What the status reported to people.
pub(super) struct Told {
    /// This very generation.
    pub(super) is_observed: bool,
    /// Whether the status reports that the rollout of this very generation is complete.
    pub(super) is_complete: bool,
    /// How many pods there should be.
    pub(super) replicas: i64,
}

/// What a packed Deployment begins with.
pub(crate) struct WorkloadHead<'a> {
    pub(super) uid: Uid,
    pub(super) deleting: bool,
    pub(crate) namespace: Cow<'a, str>,
    pub(super) name: Cow<'a, str>,
    pub(crate) resource_version: Cow<'a, str>,
    pub(super) generation: i64,
}

impl Packed<Workload> {
    pub(crate) fn head(&self) -> WorkloadHead<'_> {
        read_head(&mut self.reader())
    }

    /// What its status reports of its pods.
    pub(super) fn told(&self) -> Told {
        let from = &mut self.reader();
        let generation = read_head(from).generation;
        _ = Option::<LabelSelector>::unpack(from);
        let replicas = i64::unpack(from);
        let mut number = || i64::unpack(from);
        let counts = Status {
            observed_generation: number(),
            replicas: number(),
            updated_replicas: number(),
            ready_replicas: number(),
            available_replicas: number(),
            ..Status::default()
        };
        let is_observed = counts.observed_generation == generation;
        Told { is_observed, is_complete: counts.is_complete(replicas, generation), replicas }
    }

    /// Whether its selector names something, and that matches (S2.2).
    pub(super) fn wants(&self, set: &ReplicaSet) -> bool {
        let from = &mut self.reader();
        read_head(from);
        wants(Option::<LabelSelector>::unpack(from).as_ref(), set)
    }
}

fn read_head<'a>(from: &mut Reader<'a>) -> WorkloadHead<'a> {
    WorkloadHead {
        uid: text(from).into(),
        deleting: bool::unpack(from),
        namespace: text(from).into(),
        name: text(from).into(),
        resource_version: text(from).into(),
        generation: i64::unpack(from),
    }
}

/// Whether a selector names something, and that matches (S2.2).
pub(super) fn wants(selector: Option<&LabelSelector>, set: &ReplicaSet) -> bool {
    selector.is_some_and(|selector| !selector.is_empty() && selector.matches(&set.labels))
}

/// Whether `known` is newer than `other`; false if that is unknown.
pub(super) fn is_newer(known: &SetHead<'_>, other: &SetHead<'_>) -> bool {
    match (known.resource_version.parse::<u64>(), other.resource_version.parse::<u64>()) {
        (Ok(known), Ok(other)) => known > other,
        _ => false,
    }
}
