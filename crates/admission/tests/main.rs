//! The tests of what a server accepts, as one program: what they share is compiled and linked once.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

#[path = "../../../tests/messages/cases.rs"]
mod cases;
mod changes;
mod manifests;
mod messages;
