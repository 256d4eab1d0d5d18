//! What the program does: a module for each subcommand.

pub(crate) mod crd;
pub(crate) mod lint;
pub(crate) mod probe;
pub(crate) mod run;
pub(crate) mod sandbox;
