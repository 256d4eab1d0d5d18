use std::time::Duration;

use super::*;

fn seen(name: &str, version: u64, is_selected: bool) -> Sighting {
    Sighting { name: name.to_owned(), version: version.to_string(), is_selected }
}

/// `a` is selected, `b` is not.
fn started(now: Instant) -> Namespaces {
    let mut namespaces = Namespaces::default();
    assert_eq!(namespaces.reset(vec![seen("a", 1, true), seen("b", 2, false)], now), [""; 0]);
    namespaces
}

/// The same, and `a` belongs to this operator.
fn settled(now: Instant) -> Namespaces {
    let mut namespaces = started(now);
    assert_eq!(namespaces.settle(now + HANDOVER), ["a"]);
    namespaces
}

#[test]
fn what_is_there_at_the_start_may_just_have_been_moved() {
    let now = Instant::now();
    let mut namespaces = started(now);
    assert_eq!(namespaces.next_due(), Some(now + HANDOVER));
    assert_eq!(namespaces.settle(now + HANDOVER - Duration::from_millis(1)), [""; 0]);
    assert_eq!(namespaces.stay("a"), None);
    assert_eq!(namespaces.settle(now + HANDOVER), ["a"]);
    assert!(namespaces.stay("a").is_some());
    assert_eq!((namespaces.stay("b"), namespaces.next_due()), (None, None));
    assert_eq!(namespaces.count(), Count { ours: 1, joining: 0, elsewhere: 1 });
}

#[test]
fn one_that_is_moved_to_us_is_left_alone_for_a_while() {
    let now = Instant::now();
    let mut namespaces = started(now);
    let moved = now + Duration::from_secs(100);
    namespaces.settle(moved);
    assert!(!namespaces.apply(seen("b", 3, true), moved));
    assert_eq!(namespaces.settle(moved), [""; 0]);
    assert_eq!(namespaces.count(), Count { ours: 1, joining: 1, elsewhere: 0 });
    // A further change does not restart the wait.
    assert!(!namespaces.apply(seen("b", 4, true), moved + Duration::from_secs(10)));
    assert_eq!(namespaces.settle(moved + HANDOVER), ["b"]);
}

#[test]
fn one_that_is_created_for_us_was_never_anybody_elses() {
    let now = Instant::now();
    let mut namespaces = started(now);
    namespaces.settle(now + HANDOVER);
    let later = now + Duration::from_secs(100);
    assert!(!namespaces.apply(seen("new", 5, true), later));
    assert_eq!(namespaces.settle(later), ["new"]);
    // If its labels come a moment later it may have been.
    assert!(!namespaces.apply(seen("newer", 6, false), later));
    assert!(!namespaces.apply(seen("newer", 7, true), later));
    assert_eq!(namespaces.settle(later), [""; 0]);
}

#[test]
fn one_that_leaves_is_ours_no_more_at_once() {
    let now = Instant::now();
    let mut namespaces = settled(now);
    let stay = namespaces.stay("a");
    let later = now + Duration::from_secs(100);
    assert!(namespaces.apply(seen("a", 3, false), later));
    assert_eq!(namespaces.stay("a"), None);
    // And when the namespace returns, it is another stay.
    assert!(!namespaces.apply(seen("a", 4, true), later));
    assert_eq!(namespaces.settle(later + HANDOVER), ["a"]);
    assert!(namespaces.stay("a").is_some() && namespaces.stay("a") != stay);
    assert!(namespaces.delete("a"));
    assert!(!namespaces.delete("a") && !namespaces.delete("b"));
}

#[test]
fn what_has_changed_unseen_may_have_been_away() {
    let now = Instant::now();
    let mut namespaces = settled(now);
    let stay = namespaces.stay("a");
    let later = now + Duration::from_secs(100);
    assert_eq!(namespaces.reset(vec![seen("a", 1, true), seen("b", 2, false)], later), [""; 0]);
    assert_eq!(namespaces.stay("a"), stay);
    assert_eq!(namespaces.reset(vec![seen("a", 9, true), seen("b", 2, false)], later), ["a"]);
    assert_eq!(namespaces.stay("a"), None);
    assert_eq!(namespaces.settle(later + HANDOVER), ["a"]);
    assert_eq!(namespaces.reset(vec![seen("b", 2, false)], later), ["a"]);
}

#[test]
fn a_live_read_must_show_what_we_have_seen() {
    let now = Instant::now();
    let mut namespaces = settled(now);
    assert!(namespaces.knows("a", "1"));
    assert!(!namespaces.knows("a", "3"), "it has changed, and nobody has told us how");
    assert!(!namespaces.apply(seen("a", 3, true), now));
    assert!(namespaces.knows("a", "3") && namespaces.knows("a", "1"));
    assert!(!namespaces.knows("c", "1"));
    assert!(!namespaces.apply(seen("a", 0, true), now) && namespaces.apply(seen("a", 10, false), now));
}
