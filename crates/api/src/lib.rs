//! The API of Rollwright as Rust types.
//!
//! [`Deployment`] and its parts are the one source of the API: the definition, its reference in the
//! documentation, what the operator reads and writes, and what a client uses.
//!
//! ```
//! use rollwright_api::{Deployment, DeploymentSpec, PodTemplate};
//!
//! let template = serde_json::json!({
//!     "metadata": {"labels": {"app": "web"}},
//!     "spec": {"containers": [{"name": "web", "image": "nginx:1.28"}]},
//! });
//! let spec = DeploymentSpec { replicas: Some(3), template: template.into(), ..Default::default() };
//! let web = Deployment::new("web", spec);
//! assert_eq!(serde_json::to_value(&web)?["apiVersion"], "rollwright.dev/v1");
//! # Ok::<(), serde_json::Error>(())
//! ```

#[cfg(feature = "planner")]
pub mod authors;
mod blocker;
pub mod crd;
#[cfg(feature = "planner")]
pub mod decode;
#[cfg(feature = "planner")]
pub mod encode;
#[cfg(feature = "planner")]
pub mod history;
#[cfg(feature = "planner")]
pub mod job;
mod jobs;
mod memory;
mod numbers;
#[cfg(feature = "planner")]
mod planner;
pub mod renamed;
mod resume;
mod rollback;
mod rollout;
mod rules;
mod selector;
mod spec;
#[cfg(feature = "planner")]
mod state;
mod status;
mod steps;
mod stored;
mod strategy;
mod target;
mod words;

pub use blocker::{BLOCKER_MESSAGE_MAX, Blocker};
pub use jobs::{Custom, Hooks, JobOf, RequiredJob};
pub use memory::Memory;
pub use resume::ResumePolicy;
pub use rollback::RollbackTo;
pub use rollout::{Author, LastScale, Promotion, Rollout};
pub use spec::{Deployment, DeploymentSpec, FailureAction, FailureCriteria, FailurePolicy, Pin, PodTemplate};
#[cfg(feature = "planner")]
pub use state::state;
pub use status::{Condition, ConditionStatus, DeploymentStatus, Display, Rollback, RollbackResult};
pub use steps::{SkipStepsFor, StepApproval, UpdateStep};
pub use strategy::{RollingUpdate, Strategy, StrategyType};
pub use target::{Fallback, Target};
