//! The tests of the planner, as one program: what they share is compiled and linked once.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod blockers;
mod flavour;
mod golden;
mod pace;
mod properties;
mod rollwright;
mod shape;
mod structure;
mod trigger;
mod world;
mod writes;
