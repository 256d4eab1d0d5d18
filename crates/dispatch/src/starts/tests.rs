use super::*;
use crate::index::tests::{set, workload};

fn key(text: &str) -> Key {
    let (namespace, name) = text.split_once('/').unwrap();
    Key { namespace: namespace.to_owned(), name: name.to_owned() }
}

fn names(keys: &[Key]) -> Vec<String> {
    keys.iter().map(ToString::to_string).collect()
}

/// Asks for all of these, and tells which may begin.
fn begun(starts: &mut Starts, keys: &[&str], now: Instant) -> Vec<String> {
    let begun = keys.iter().filter(|text| starts.ask(&key(text), now).is_now);
    begun.map(|text| (*text).to_owned()).collect()
}

#[test]
fn the_next_one_begins_when_one_is_over() {
    let (mut starts, now) = (Starts::new(2), Instant::now());
    assert_eq!(begun(&mut starts, &["a/1", "a/2", "a/3", "a/4"], now), ["a/1", "a/2"]);
    // Who is under way may go on, however often it asks.
    assert!(starts.ask(&key("a/1"), now).is_now);
    assert!(!starts.ask(&key("a/3"), now).is_now);
    assert_eq!(names(&starts.ended(&key("a/2"), now)), ["a/3"]);
    assert!(starts.ask(&key("a/3"), now).is_now);
    assert_eq!(names(&starts.ended(&key("a/1"), now)), ["a/4"]);
    assert_eq!(names(&starts.ended(&key("a/3"), now)), [""; 0]);
}

#[test]
fn namespaces_take_turns() {
    let (mut starts, now) = (Starts::new(1), Instant::now());
    begun(&mut starts, &["a/1", "a/2", "a/3", "a/4", "c/1", "b/1", "c/2"], now);
    let mut order = vec!["a/1".to_owned()];
    while let Some(next) = names(&starts.ended(&key(order.last().unwrap()), now)).pop() {
        order.push(next);
    }
    assert_eq!(order, ["a/1", "b/1", "c/1", "a/2", "c/2", "a/3", "a/4"]);
}

#[test]
fn one_that_waits_for_its_pods_makes_room() {
    let (mut starts, start) = (Starts::new(1), Instant::now());
    let at = |millis| start + Duration::from_millis(millis);
    assert_eq!(begun(&mut starts, &["a/hangs", "a/2"], start), ["a/hangs"]);
    assert_eq!(names(&starts.moved(&key("a/hangs"), at(400))), [""; 0]);
    assert!(!starts.ask(&key("a/2"), at(899)).is_now);
    assert!(starts.ask(&key("a/2"), at(901)).is_now);
    // It wakes up: what has begun is held up by nobody, and takes no room that others have.
    assert_eq!(names(&starts.moved(&key("a/hangs"), at(950))), [""; 0]);
    assert_eq!(begun(&mut starts, &["a/3"], at(960)), [""; 0]);
}

#[test]
fn who_waits_is_told_even_if_another_asks() {
    let (mut starts, start) = (Starts::new(1), Instant::now());
    begun(&mut starts, &["a/1", "a/2", "a/3"], start);
    let turn = starts.ask(&key("a/3"), start + Duration::from_secs(2));
    assert_eq!(turn, Turn { is_now: false, others: vec![key("a/2")] });
}

#[test]
fn who_waits_is_told_when_nothing_moves() {
    let (mut starts, start) = (Starts::new(2), Instant::now());
    begun(&mut starts, &["a/1", "a/2", "a/3", "b/1", "a/4"], start);
    assert_eq!(names(&starts.turns(start + STILL_AFTER - LOOK)), [""; 0]);
    assert_eq!(names(&starts.turns(start + STILL_AFTER)), ["b/1", "a/3"]);
    assert_eq!(starts.others(&key("a/3"), start + STILL_AFTER), 1);
    assert_eq!(names(&starts.turns(start + 2 * STILL_AFTER)), ["a/4"]);
    assert_eq!(starts.others(&key("a/3"), start + 3 * STILL_AFTER), 0);
}

#[test]
fn everybody_comes_to_begin_whatever_happens_to_the_others() {
    let mut starts = Starts::new(3);
    let keys: Vec<Key> = (0..40).map(|n| key(&format!("{}/{n}", n % 4))).collect();
    let (mut now, mut begun) = (Instant::now(), HashSet::new());
    // Nobody ever ends, and nobody is woken: all only ask again.
    for _ in 0..20 {
        for key in &keys {
            if starts.ask(key, now).is_now {
                begun.insert(key.clone());
            }
        }
        now += ASK_AGAIN + Duration::from_millis(1);
    }
    assert_eq!(begun.len(), keys.len());
}

#[test]
fn only_a_template_without_pods_makes_a_start() {
    let edited = || {
        let mut edited = workload("web", "w", "web", 1);
        (edited.generation, edited.replicas) = (2, 3);
        edited
    };
    let old = || {
        let mut old = ReplicaSet::clone(&set("web-1", Some("w"), "web", 2).set);
        (old.size, old.fingerprints) = (3, Vec::new());
        old
    };
    let same = |size| {
        let fingerprints = vec![edited().template.fingerprint];
        ReplicaSet { size, fingerprints, ..old() }
    };
    assert!(is_start(&edited(), &[]), "the first template");
    assert!(is_start(&edited(), &[old()]), "another template");
    assert!(is_start(&edited(), &[old(), same(0)]), "one that comes back");
    assert!(!is_start(&edited(), &[same(2)]), "a size");
    for change in [
        |workload: &mut Workload| workload.status.observed_generation = 2,
        |workload: &mut Workload| workload.replicas = 0,
        |workload: &mut Workload| workload.deleting = true,
        |workload: &mut Workload| workload.paused = true,
        |workload: &mut Workload| workload.rollback_to = Some(0),
    ] {
        let mut changed = edited();
        change(&mut changed);
        assert!(!is_start(&changed, &[old()]), "{changed:?}");
    }
}
