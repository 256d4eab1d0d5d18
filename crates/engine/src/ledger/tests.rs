use crate::durations::{CACHE_PATIENCE, CACHE_PATIENCE_WITHOUT_WATCH};

use super::*;
use crate::index::Sight;
use crate::index::tests::{key, set, workload};

fn index() -> Index {
    let mut index = Index::new(Sight::Whole);
    index.apply_workload(workload("web", "w", "web", 10), Instant::now());
    index.apply_set(set("web-1", Some("w"), "web", 11));
    index
}

fn is_waiting(ledger: &mut Ledger, index: &Index, now: Instant) -> bool {
    matches!(ledger.check(CACHE_PATIENCE, &key("web"), index, now), Readiness::Wait(_))
}

#[test]
fn a_write_is_waited_for_until_its_kind_shows_it() {
    let (mut index, mut ledger) = (index(), Ledger::default());
    let now = Instant::now();
    assert_eq!(ledger.check(CACHE_PATIENCE, &key("web"), &index, now), Readiness::Ready);
    ledger.wrote_set("20", now);
    index.apply_workload(workload("web", "w", "web", 30), Instant::now());
    assert!(is_waiting(&mut ledger, &index, now), "versions of another kind say nothing");
    index.apply_set(set("other", None, "other", 21));
    assert_eq!(ledger.check(CACHE_PATIENCE, &key("web"), &index, now), Readiness::Ready);
}

#[test]
fn what_no_cache_will_show_is_not_waited_for() {
    let writes: [fn(&mut Ledger, Instant); 3] = [
        // The request changed nothing.
        |ledger, now| {
            ledger.wrote_workload("10", now);
            ledger.wrote_set("11", now);
        },
        // Its version is no number.
        |ledger, now| ledger.wrote_set("blue", now),
        // The request was not carried out.
        |ledger, now| {
            ledger.doubts("web-2", now);
            ledger.settled("web-2", None, now);
        },
    ];
    for (number, write) in writes.into_iter().enumerate() {
        let (index, mut ledger, now) = (index(), Ledger::default(), Instant::now());
        write(&mut ledger, now);
        assert_eq!(ledger.check(CACHE_PATIENCE, &key("web"), &index, now), Readiness::Ready, "{number}");
    }
}

#[test]
fn a_deletion_is_waited_for() {
    let (mut index, mut ledger) = (index(), Ledger::default());
    let now = Instant::now();
    ledger.deleted_set("uid-web-1", now);
    assert!(is_waiting(&mut ledger, &index, now));
    index.delete_set("ns", "uid-web-1", "22");
    assert_eq!(ledger.check(CACHE_PATIENCE, &key("web"), &index, now), Readiness::Ready);
}

#[test]
fn patience_ends_and_sooner_when_a_watch_is_broken() {
    let (index, mut ledger) = (index(), Ledger::default());
    let start = Instant::now();
    ledger.wrote_workload("20", start);
    let check = |ledger: &mut Ledger, patience, now| ledger.check(patience, &key("web"), &index, now);
    let soon = start + CACHE_PATIENCE_WITHOUT_WATCH;
    assert_eq!(check(&mut ledger, CACHE_PATIENCE_WITHOUT_WATCH, start), Readiness::Wait(soon));
    assert_eq!(check(&mut ledger, CACHE_PATIENCE, soon), Readiness::Wait(start + CACHE_PATIENCE));
    assert_eq!(check(&mut ledger, CACHE_PATIENCE_WITHOUT_WATCH, soon), Readiness::Overdue);
    assert_eq!(check(&mut ledger, CACHE_PATIENCE, start + CACHE_PATIENCE), Readiness::Overdue);
}

#[test]
fn a_write_of_which_nobody_knows_is_looked_at_and_then_waited_for() {
    let (mut index, mut ledger) = (index(), Ledger::default());
    let now = Instant::now();
    assert_eq!(ledger.in_doubt(), None);
    ledger.doubts("web-2", now);
    assert_eq!(ledger.in_doubt(), Some("web-2"));
    ledger.settled("web-2", Some("40"), now);
    assert_eq!(ledger.in_doubt(), None);
    assert!(is_waiting(&mut ledger, &index, now), "the cache lacks what was found");
    index.apply_set(set("web-2", Some("w"), "web", 40));
    assert_eq!(ledger.check(CACHE_PATIENCE, &key("web"), &index, now), Readiness::Ready);
}

/// A reconcile continues after a cut without an answer, and its next write may get no answer either.
#[test]
fn all_writes_of_which_nobody_knows_are_looked_at() {
    let (index, mut ledger) = (index(), Ledger::default());
    let now = Instant::now();
    for set in ["web-1", "web-2", "web-1"] {
        ledger.doubts(set, now);
    }
    assert_eq!(ledger.in_doubt(), Some("web-1"));
    ledger.settled("web-1", Some("40"), now);
    assert_eq!(ledger.in_doubt(), Some("web-2"));
    ledger.settled("web-2", None, now);
    assert_eq!(ledger.in_doubt(), None);
    assert!(is_waiting(&mut ledger, &index, now), "the cache lacks the first one");
}

/// What was written last may be gone again before anything shows it; a list begun later shows that.
#[test]
fn starting_over_leaves_only_what_is_in_doubt() {
    let (index, mut ledger) = (index(), Ledger::default());
    let now = Instant::now();
    let write = |ledger: &mut Ledger| {
        ledger.wrote_workload("20", now);
        ledger.wrote_set("21", now);
        ledger.deleted_set("uid-web-1", now);
    };
    write(&mut ledger);
    ledger.start_over();
    assert!(ledger.waits().is_none());
    write(&mut ledger);
    ledger.doubts("web-2", now);
    assert!(is_waiting(&mut ledger, &index, now));
    ledger.start_over();
    assert_eq!(ledger.in_doubt(), Some("web-2"));
    ledger.settled("web-2", Some("22"), now);
    assert!(is_waiting(&mut ledger, &index, now));
}
