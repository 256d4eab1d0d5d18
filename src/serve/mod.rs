//! What people and their tools see of the operator: probes, metrics, its state, and its log.

pub(crate) mod admin;
pub(crate) mod health;
pub(crate) mod logging;
pub(crate) mod metrics;
pub(crate) mod objects;
pub(crate) mod queue;
