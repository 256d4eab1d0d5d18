//! The tests of the in-memory API server, as one program: what they share is compiled and linked once.

mod audit;
mod definition;
mod service;
mod talk;
