//! The program `rollwright`; all of it is in the library.

use std::process::ExitCode;

/// Gives free memory back: lists and many events together come and go, and what a pod may use is limited. Musl's own
/// allocator, which the image would have, is slow besides. The allocator has no huge pages (`no_thp`), which would make
/// ten megabytes more of it resident.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    rollwright::main()
}
