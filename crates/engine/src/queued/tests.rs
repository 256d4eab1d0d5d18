use std::time::Duration;

use super::*;

fn key(number: usize) -> Key {
    Key { namespace: "ns".to_owned(), name: number.to_string() }
}

/// Lets these wait from the start, each looked at whenever it asks to be, and tells when each was written.
fn written(queued: &mut Queued, many: usize, start: Instant) -> Vec<Duration> {
    let mut times = Vec::new();
    for millis in (0..60_000).step_by(10) {
        let now = start + Duration::from_millis(millis);
        for number in 0..many {
            if queued.waits(&key(number), now).is_some_and(|time| time <= now) {
                queued.told(&key(number));
                times.push(now - start);
            }
        }
    }
    times
}

#[test]
fn each_is_told_once_and_not_early() {
    let times = written(&mut Queued::default(), 1, Instant::now());
    assert_eq!(times, [QUEUED_TOLD_AFTER]);
}

#[test]
fn five_a_second_are_told() {
    let times = written(&mut Queued::default(), 100, Instant::now());
    assert_eq!(times.len(), 100);
    assert!(times.windows(2).all(|pair| pair[1] - pair[0] >= QUEUED_TELLING_INTERVAL), "{times:?}");
    assert_eq!(times.last(), Some(&(QUEUED_TOLD_AFTER + 99 * QUEUED_TELLING_INTERVAL)));
}

#[test]
fn those_who_come_late_do_not_come_together() {
    let (mut queued, start) = (Queued::default(), Instant::now());
    let tells = |queued: &mut Queued, number: usize, now: Instant| {
        queued.waits(&key(number), now).is_some_and(|time| time <= now)
    };
    let due = start + QUEUED_TOLD_AFTER;
    for number in 0..3 {
        queued.waits(&key(number), start);
        queued.waits(&key(number), due - Duration::from_millis(1));
    }
    let places = [0, 1, 2].map(|number| queued.waits(&key(number), due));
    assert_eq!(places, [0, 1, 2].map(|number| Some(due + number * QUEUED_TELLING_INTERVAL)));
    let late = due + Duration::from_secs(5);
    assert!(tells(&mut queued, 1, late));
    assert!(!tells(&mut queued, 2, late));
    assert!(tells(&mut queued, 2, late + QUEUED_TELLING_INTERVAL));
}

#[test]
fn a_write_that_failed_gets_another_place() {
    let (mut queued, start) = (Queued::default(), Instant::now());
    queued.waits(&key(1), start);
    let due = start + QUEUED_TOLD_AFTER;
    assert_eq!(queued.waits(&key(1), due), Some(due));
    assert_eq!(queued.waits(&key(1), due), Some(due + QUEUED_TELLING_INTERVAL));
    queued.told(&key(1));
    assert_eq!(queued.waits(&key(1), due), None);
}

#[test]
fn who_waits_again_has_not_waited_yet() {
    let (mut queued, start) = (Queued::default(), Instant::now());
    queued.waits(&key(1), start);
    queued.ended(&key(1));
    let again = start + Duration::from_secs(9);
    assert_eq!(queued.waits(&key(1), again), Some(again + QUEUED_TOLD_AFTER));
}
