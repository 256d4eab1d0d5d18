//! What works: from a key in the queue to an attempt at it, the shell around the `engine` crate.

mod port;
pub(crate) mod queue;
pub(crate) mod reconciler;
pub(crate) mod rollouts;
pub(crate) mod worker;
