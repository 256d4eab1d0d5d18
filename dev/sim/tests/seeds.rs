//! Scenarios that once failed, and a few that are worth playing each time.

use std::path::Path;

use sim::{Scenario, Settings};

/// Seeds that every test run plays; `make sim` and `make sim-crashes` play many more.
const SEEDS: u64 = 100;

#[test]
fn scenarios_that_failed_once_do_not_fail_again() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds");
    let mut files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|end| end == "json"));
    files.sort();
    assert!(!files.is_empty(), "no scenarios in {}", folder.display());
    for path in files {
        let scenario: Scenario = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let report = sim::play(&scenario, &Settings::default());
        assert_eq!(report.violation, None, "{}", path.display());
    }
}

#[test]
fn seeds_hold_and_are_repeatable() {
    for seed in 0..SEEDS {
        let report = sim::run(seed, &Settings::default());
        assert_eq!(report.violation, None, "seed {seed}: make sim SEED={seed} shows it");
        if seed % 10 == 0 {
            assert_eq!(report.hash, sim::run(seed, &Settings::default()).hash, "seed {seed} differs");
        }
    }
}

#[test]
fn a_crash_around_any_write_changes_nothing() {
    for row in sim::matrix::every(5) {
        assert!(row.writes > 3, "{}: {} writes are none to crash around", row.name, row.writes);
        // On apps/v1, no status has records.
        let least = if row.is_apps { 0 } else { usize::try_from(row.kills).unwrap() };
        assert!(row.records >= least, "{}: {} records after {} kills", row.name, row.records, row.kills);
        assert!(row.failures.is_empty(), "{} (apps/v1: {}): {:#?}", row.name, row.is_apps, row.failures);
    }
}
