//! What the program does: a module for each subcommand.

pub(crate) mod crd;
pub(crate) mod print;
pub(crate) mod probe;
pub(crate) mod run;
#[cfg(feature = "sandbox")]
pub(crate) mod sandbox;
#[cfg(not(feature = "sandbox"))]
#[path = "without_sandbox.rs"]
pub(crate) mod sandbox;
pub(crate) mod shadow;
