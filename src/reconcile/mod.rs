//! From a key in the queue to an attempt at it: the shell around the `engine` crate.

pub(crate) mod controller;
pub(crate) mod queue;
pub(crate) mod rollouts;
pub(crate) mod worker;
