//! Figures that are the same on every machine: the earlier ones are in docs/internals/benchmarks.json, and [`record`]
//! compares. `make bench-check` measures them; docs/internals/benchmarks.md explains what they mean.

pub mod cache;
pub mod callgrind;
mod failure;
pub mod record;
pub mod rollouts;
pub mod snapshots;

pub use failure::Failure;
