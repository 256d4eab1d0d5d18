//! The tests of the in-memory API server, as one program: what they share is compiled and linked once.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod audit;
mod definition;
mod service;
mod talk;
mod writers;
