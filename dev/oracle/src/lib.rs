//! A recorded case through the production planner and executor, over an in-memory cluster.
//!
//! `dev/law` compares what [`play`] returns for two trees. So it is text in and JSON out: no type of
//! the planner shows here.

#![expect(clippy::indexing_slicing, reason = "JSON of recorded cases: a missing member reads as null")]

mod case;
mod runner;
mod store;
mod writes;

use serde_json::Value;

/// What Rollwright's reconciles made of a case.
#[derive(Clone, Debug)]
pub struct Played {
    /// The line that tests/oracle/compare.py judges.
    pub output: Value,
    /// For each reconcile, every request to the API server with its body, in order: reads, writes and
    /// events.
    pub requests: Vec<Value>,
}

/// Runs a case, one line of tests/oracle/FORMAT.md, until it settles.
///
/// # Errors
/// When the line is not a case.
pub fn play(line: &str) -> Result<Played, String> {
    runner::run(&case::Case::read(line)?)
}
