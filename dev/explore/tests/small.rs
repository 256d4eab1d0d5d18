//! Small worlds, whole; and that a broken rule is found.

#![allow(clippy::unwrap_used, reason = "a test")]

use explore::{Breakage, Report, Scope, Search, Strategy};

const STATES_MAX: usize = 200_000;

fn two_replicas() -> Scope {
    Scope { replicas: 2, ..Scope::small() }
}

fn rolling(surge: u8, unavailable: u8) -> Strategy {
    Strategy::RollingUpdate { surge, unavailable }
}

fn explore(scope: Scope) -> Report {
    Search::new(scope, STATES_MAX).run()
}

/// The rule that is broken and the steps to it.
fn found(scope: Scope) -> (String, Vec<String>) {
    let violation = explore(scope).violation.unwrap();
    (violation.rule, violation.trace)
}

#[test]
fn every_state_of_a_rollout_with_a_crash_is_right() {
    for strategy in [rolling(1, 0), rolling(0, 1), rolling(1, 1), Strategy::Recreate] {
        let report = explore(Scope { strategy, crashes: 1, ..two_replicas() });
        assert!(report.violation.is_none(), "{strategy:?}: {:#?}", report.violation);
        let counts = report.counts;
        assert!(counts.is_complete && counts.states > 500, "{strategy:?}: {counts:?}");
        let [accepted, conflicts, _] = counts.writes;
        assert!(accepted > 100 && conflicts > 5, "{strategy:?}: {counts:?}");
    }
}

#[test]
fn every_state_of_an_abort_is_right() {
    for strategy in [rolling(1, 0), rolling(0, 1), Strategy::Recreate] {
        let report = explore(Scope { strategy, replicas: 1, edits: 2, reverts: true, ..two_replicas() });
        assert!(report.violation.is_none(), "{strategy:?}: {:#?}", report.violation);
        let counts = report.counts;
        assert!(
            counts.is_complete && counts.reverts.iter().all(|count| *count > 20),
            "{strategy:?}: {counts:?}"
        );
    }
}

#[test]
fn a_planner_that_skips_the_floor_is_found() {
    let (rule, trace) = found(Scope { breakage: Breakage::Floor, ..two_replicas() });
    assert!(rule.starts_with("AV-1") || rule.starts_with("AV-2"), "{rule}");
    assert!(trace.iter().any(|line| line.contains("scales A from 2 to")), "{trace:#?}");
}

#[test]
fn a_planner_with_too_much_surge_is_found() {
    let (rule, _) = found(Scope { breakage: Breakage::Surge, ..two_replicas() });
    assert!(rule.starts_with("SU-1"), "{rule}");
}

#[test]
fn a_planner_that_rolls_while_paused_is_found() {
    let scope = Scope { strategy: rolling(0, 1), edits: 2, breakage: Breakage::Pause, ..two_replicas() };
    let (rule, _) = found(scope);
    assert!(rule.starts_with("PA-1"), "{rule}");
}

#[test]
fn a_server_without_preconditions_is_found() {
    let scope = Scope { edits: 2, breakage: Breakage::Preconditions, ..two_replicas() };
    let (rule, _) = found(scope);
    assert!(rule.starts_with("OW-2"), "{rule}");
}

/// The way to less than the floor that docs/internals/exploration.md describes.
#[test]
fn a_cut_may_count_on_a_report_of_an_earlier_size() {
    let scope = Scope { edits: 2, is_strict: true, ..two_replicas() };
    let (rule, _) = found(scope);
    assert!(rule.starts_with("AV-2"), "{rule}");
}

#[test]
fn every_state_of_a_pin_with_a_crash_is_right() {
    for strategy in [rolling(1, 0), Strategy::Recreate] {
        let scope = Scope { strategy, pins: true, edits: 2, replicas: 1, ..Scope::small() };
        let report = explore(scope);
        assert!(report.violation.is_none(), "{strategy:?}: {:#?}", report.violation);
        assert!(report.counts.is_complete, "{strategy:?}: {:?}", report.counts);
    }
}
