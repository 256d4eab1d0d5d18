//! Fuzz targets: every parser of what others write.
//!
//! A target takes bytes and panics when something does not hold. `make fuzz` feeds it with
//! what libFuzzer finds, `tests/replay.rs` with the corpus and variations of it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a target reports by panicking")]
#![allow(clippy::indexing_slicing, reason = "a target reports by panicking")]

mod equality;
mod input;
mod number;
mod quantity;
mod reconcile;
mod replica_set;
mod revision;
mod selector;
mod status;
mod template;
pub mod variation;
mod workload;

/// Something that takes any bytes.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Name of the target, and of its folder in the corpus.
    pub name: &'static str,
    /// Panics when something does not hold.
    pub run: fn(&[u8]),
    /// How many variations of its corpus a normal test tries: what takes about a second.
    pub variations: usize,
}

/// All of them.
pub const TARGETS: &[Target] = &[
    Target { name: "equality", run: equality::run, variations: 1500 },
    Target { name: "number", run: number::run, variations: 20_000 },
    Target { name: "quantity", run: quantity::run, variations: 20_000 },
    Target { name: "reconcile", run: reconcile::run, variations: 700 },
    Target { name: "replica_set", run: replica_set::run, variations: 4000 },
    Target { name: "revision", run: revision::run, variations: 20_000 },
    Target { name: "selector", run: selector::run, variations: 20_000 },
    Target { name: "status", run: status::run, variations: 5000 },
    Target { name: "template", run: template::run, variations: 4000 },
    Target { name: "workload", run: workload::run, variations: 2000 },
];

/// The target of a name.
#[must_use]
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}
