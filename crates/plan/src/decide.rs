//! The decisions around the sizes: which ReplicaSets are ours, what the reconcile is about, what the declared ReplicaSet
//! takes over, how it is created, which template comes back, which ReplicaSets go, and the writes of all that.

pub(crate) mod collision;
pub(crate) mod creation;
pub(crate) mod decisions;
pub(crate) mod deletions;
pub(crate) mod identify;
pub(crate) mod old_pods;
pub(crate) mod ownership;
pub(crate) mod policy;
pub(crate) mod rollback;
pub(crate) mod upkeep;
pub(crate) mod writes;
