//! The tests of what a server accepts, as one program: what they share is compiled and linked once.

mod changes;
mod manifests;
mod messages;
