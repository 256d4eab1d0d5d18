//! What blocks a rollout: pure, from pods of the new ReplicaSet, their events, and refusals of the server.
//!
//! It describes and decides nothing: no plan may depend on what this crate finds. The caller chooses how
//! many objects it reads. A part that is missing or malformed counts as absent.
//!
//! The output of a container may hold a secret: its termination message, or the output of a probe that runs
//! in it. [`Words`] limits how much of that a text may repeat. By default, that is nothing.

mod blockers;
mod cause;
mod event;
mod pod;
mod read;
mod words;

pub use blockers::{Blocker, MOST, blockers};
pub use cause::Cause;
pub use pod::{brief, is_ready, is_unclear, like, overdue};
pub use read::{controller_of, list, text};
pub use words::Words;
