//! An in-memory Kubernetes cluster.
//!
//! One store holds every object, as versions of JSON, and one log records every change. It has no clock and
//! no randomness: the driver sets [`Store::set_now`] and chooses. There are two ways in. The direct one is
//! this crate's API, synchronous and fast, for the simulator. The other is the Kubernetes HTTP API over the
//! same store, for the sandbox.
//!
//! The store does what the API server does: resource versions over all kinds, optimistic locking,
//! generations, status and scale subresources, finalizers, dry runs, patches. The other parts of a cluster
//! (ReplicaSet controller, kubelets, garbage collector, admission) have a file each.

mod admission;
mod chance;
mod cluster;
mod garbage_collector;
mod informer;
mod job_controller;
mod kubelet;
mod log;
mod metadata;
mod object;
mod patch;
mod refusal;
mod replica_set_controller;
mod resource;
mod stamp;
mod status;
mod store;
mod strategic;
mod write;

pub use admission::defaults::Defaults;
pub use admission::pod_rules::{PodRules, REFUSED};
pub use admission::quota::Quota;
pub use admission::webhook::{Behaviour, Webhook};
pub use admission::{Admission, Operation, Request};
pub use chance::{Chance, First};
pub use cluster::{Cluster, Controllers, NODE_NAME};
pub use garbage_collector::GarbageCollector;
pub use informer::Informer;
pub use job_controller::{JobController, JobStep};
pub use kubelet::{
    Conventions, Course, ENDS_AFTER_MS, EXIT_CODE, Fate, Kubelets, LAST_WORDS, Life, NEVER, NEVER_READY,
    Next, PodStep, Policy, READY_AFTER_MS, Shown, TERMINATE_AFTER_MS, UNREADY_AFTER_MS, WAITS,
};
pub use log::{Change, ChangeKind, Expired};
pub use metadata::Metadata;
pub use object::Object;
pub use patch::Patch;
pub use refusal::Refused;
pub use replica_set_controller::{ReplicaSetController, SetStep};
pub use resource::Resource;
pub use status::{Phase, PodState, Status};
pub use store::Store;
pub use store::key::Key;
pub use write::{Deletion, Mode, Preconditions, Propagation, Subresource};

/// The release of Kubernetes that the cluster behaves as, and states.
pub const KUBERNETES: &str = "v1.37.2";
