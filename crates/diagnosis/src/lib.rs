//! What blocks a rollout: pure, from pods of the new ReplicaSet, their events, and refusals of the server.
//!
//! It describes and decides nothing: no pass of the planner may depend on what this crate finds. Whoever
//! reads the objects chooses how many they read; a part that is missing or malformed counts as absent.
//!
//! What a container itself has said may hold a secret: its termination message, or the output of a probe
//! that runs in it. [`Words`] says how much of that a text may repeat. By default it is nothing.

mod blockers;
mod cause;
mod event;
mod pod;
mod read;

pub use blockers::{Blocker, MOST, blockers};
pub use cause::Cause;
pub use pod::overdue;
pub use read::{list, text};

/// How much a text may repeat of what a container itself has said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Words {
    /// Nothing.
    #[default]
    Withheld,
    /// What its probes report.
    OfProbes,
    /// That, and the first 200 characters of its termination message.
    All,
}
