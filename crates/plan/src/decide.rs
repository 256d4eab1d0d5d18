//! The decisions around the sizes: which ReplicaSets the Deployment owns, what the reconcile is about, and what the
//! declared ReplicaSet takes over. Also how it is created, which template is restored, which ReplicaSets go, and the
//! writes of all that.

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
