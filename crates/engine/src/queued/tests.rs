use std::time::Duration;

use super::*;

/// Lets these wait from the start, each looked at whenever it asks to be, and returns when each was written.
fn written(queued: &mut Queued, many: usize, start: Instant) -> Vec<Duration> {
    let (mut times, mut tellings) = (Vec::new(), vec![None; many]);
    for millis in (0..60_000).step_by(10) {
        let now = start + Duration::from_millis(millis);
        for telling in &mut tellings {
            if queued.waits(telling, now).is_some_and(|time| time <= now) {
                *telling = Some(Telling::Told);
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
    let (mut queued, mut tellings, start) = (Queued::default(), [None; 3], Instant::now());
    let tells = |queued: &mut Queued, telling: &mut Option<Telling>, now: Instant| {
        queued.waits(telling, now).is_some_and(|time| time <= now)
    };
    let due = start + QUEUED_TOLD_AFTER;
    for telling in &mut tellings {
        queued.waits(telling, start);
        queued.waits(telling, due - Duration::from_millis(1));
    }
    let places = tellings.each_mut().map(|telling| queued.waits(telling, due));
    assert_eq!(places, [0, 1, 2].map(|number| Some(due + number * QUEUED_TELLING_INTERVAL)));
    let late = due + Duration::from_secs(5);
    assert!(tells(&mut queued, &mut tellings[1], late));
    assert!(!tells(&mut queued, &mut tellings[2], late));
    assert!(tells(&mut queued, &mut tellings[2], late + QUEUED_TELLING_INTERVAL));
}

#[test]
fn a_write_that_failed_gets_another_place() {
    let (mut queued, mut telling, start) = (Queued::default(), None, Instant::now());
    queued.waits(&mut telling, start);
    let due = start + QUEUED_TOLD_AFTER;
    assert_eq!(queued.waits(&mut telling, due), Some(due));
    assert_eq!(queued.waits(&mut telling, due), Some(due + QUEUED_TELLING_INTERVAL));
    telling = Some(Telling::Told);
    assert_eq!(queued.waits(&mut telling, due), None);
}

#[test]
fn who_waits_again_has_not_waited_yet() {
    let (mut queued, mut telling, start) = (Queued::default(), None, Instant::now());
    queued.waits(&mut telling, start);
    telling = None;
    let again = start + Duration::from_secs(9);
    assert_eq!(queued.waits(&mut telling, again), Some(again + QUEUED_TOLD_AFTER));
}
