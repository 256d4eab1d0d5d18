//! The corpus, and variations of it from fixed seeds, through every target.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use fuzz::variation::{Dice, vary};
use fuzz::{TARGETS, Target};

/// One input a line.
fn corpus(target: &Target) -> Vec<Vec<u8>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(format!("{}.base64", target.name));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines().map(|line| BASE64_STANDARD.decode(line).unwrap()).collect()
}

/// Runs a target, and reports on which input it failed.
fn run(target: &Target, input: &[u8], origin: &str) {
    if catch_unwind(AssertUnwindSafe(|| (target.run)(input))).is_err() {
        panic!("{} fails on {origin}: {:?}", target.name, String::from_utf8_lossy(input));
    }
}

fn replay(name: &str) {
    let target = fuzz::target(name).unwrap();
    let corpus = corpus(target);
    assert!(corpus.len() >= 5, "{name} has next to no corpus");
    for (index, input) in corpus.iter().enumerate() {
        run(target, input, &format!("line {}", index + 1));
    }
    run(target, b"", "nothing");
    for seed in 0..target.variations {
        let mut dice = Dice::new(u64::try_from(seed).unwrap());
        let (input, other) = (dice.below(corpus.len()), dice.below(corpus.len()));
        let input = vary(&corpus[input], &corpus[other], &mut dice);
        run(target, &input, &format!("seed {seed}"));
    }
}

macro_rules! targets {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            replay(stringify!($name));
        })*

        #[test]
        fn every_target_is_replayed() {
            let names: Vec<_> = TARGETS.iter().map(|target| target.name).collect();
            assert_eq!(names, [$(stringify!($name)),*]);
        }
    };
}

targets! { equality number quantity reconcile replica_set revision selector status template workload }
