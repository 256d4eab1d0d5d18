//! The tests of the in-memory cluster, as one program: what they share is compiled and linked once.

mod admission;
mod controllers;
mod garbage_collector;
mod replica_set_controller;
mod store;
