//! The tests of the simulator, as one program: what they share is compiled and linked once.

mod bugs;
mod seeds;
mod tenant;
