//! Every state that a small Deployment can get into, visited and checked.
//!
//! The planner and the executor are the production ones. Around them is a model of a cluster that is small enough to be
//! exhausted. It has ReplicaSets with counters in the place of pods, watches that lag by one event, a crash between any
//! two writes, a user, and somebody who scales a ReplicaSet. `docs/internals/exploration.md` lists what is modelled,
//! what is not, and what was found.

mod door;
mod fair;
mod label;
mod rules;
mod scope;
mod search;
mod state;
mod steps;
mod view;

pub use scope::{Breakage, Scope, Strategy};
pub use search::{Counts, Report, Search, Violation};
