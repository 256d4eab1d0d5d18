//! The tests of the in-memory cluster, as one program: what they share is compiled and linked once.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod admission;
mod controllers;
mod garbage_collector;
mod jobs;
mod replica_set_controller;
mod store;
