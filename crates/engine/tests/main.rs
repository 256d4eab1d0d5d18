//! The tests of the engine, as one program: what they share is compiled and linked once.

mod circles;
mod durations;
mod ladder;
mod refused;
mod waits;
