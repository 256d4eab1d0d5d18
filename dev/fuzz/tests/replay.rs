//! The corpus, and variations of it from fixed seeds, through every target.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use fuzz::variation::{Dice, vary};
use fuzz::{TARGETS, Target};

fn corpus(target: &Target) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target.name);
    let files = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    paths.sort();
    paths.into_iter().map(|path| (path.clone(), std::fs::read(path).unwrap())).collect()
}

/// Runs a target, and says on which input it failed.
fn run(target: &Target, input: &[u8], origin: &str) {
    if catch_unwind(AssertUnwindSafe(|| (target.run)(input))).is_err() {
        panic!("{} fails on {origin}: {:?}", target.name, String::from_utf8_lossy(input));
    }
}

fn replay(name: &str) {
    let target = fuzz::target(name).unwrap();
    let corpus = corpus(target);
    assert!(corpus.len() >= 5, "{name} has next to no corpus");
    for (path, input) in &corpus {
        run(target, input, &path.display().to_string());
    }
    run(target, b"", "nothing");
    for seed in 0..target.variations {
        let mut dice = Dice::new(u64::try_from(seed).unwrap());
        let (input, other) = (dice.below(corpus.len()), dice.below(corpus.len()));
        let input = vary(&corpus[input].1, &corpus[other].1, &mut dice);
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

targets! { equality number pass planner quantity replica_set revision selector status template workload }
