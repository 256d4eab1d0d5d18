//! libFuzzer's way in: the variable `FUZZ_TARGET` names the target.

#![no_main]

use std::sync::LazyLock;

use fuzz::Target;

static TARGET: LazyLock<&'static Target> = LazyLock::new(|| {
    let name = std::env::var("FUZZ_TARGET").unwrap_or_default();
    fuzz::target(&name).unwrap_or_else(|| {
        eprintln!("FUZZ_TARGET is none of the targets: {name:?}");
        std::process::exit(2)
    })
});

libfuzzer_sys::fuzz_target!(|data: &[u8]| (TARGET.run)(data));
