//! The program `rollwright`; all of it is in the library.

use std::process::ExitCode;

/// Gives memory back that is free: lists and bursts come and go, and what a pod may use is limited.
/// Musl's own allocator, which the image would have, is slow besides. Without huge pages (`no_thp`),
/// which would make ten megabytes more of it resident.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    rollwright::main()
}
