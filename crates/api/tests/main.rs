//! The tests of the API, as one program: what they share is compiled and linked once.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod decode;
mod definition;
mod encode;
mod history;
mod names;
mod reference;
