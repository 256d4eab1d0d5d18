//! `rollwright sandbox` in a program that was built without it, such as that of the image.

use std::future::{Ready, ready};
use std::process::ExitCode;

use crate::args::SandboxArguments;

/// Why there is no sandbox.
#[derive(Debug, thiserror::Error)]
#[error(
    "sandbox: this program was built without it, as the operator's image is; download the program of a release, \
     or build it with: cargo install --locked --path ."
)]
pub(crate) struct SandboxError;

/// Prints where the sandbox is.
pub(crate) fn run(_: &SandboxArguments) -> Ready<Result<ExitCode, SandboxError>> {
    ready(Err(SandboxError))
}
