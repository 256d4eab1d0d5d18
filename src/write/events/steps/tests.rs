use plan::{Event, Flavour};

use super::*;
use crate::write::events::About;

fn about(uid: &str) -> About {
    let (namespace, name) = ("ns".to_owned(), "web".to_owned());
    About { flavour: Flavour::AppsV1, namespace, name, uid: uid.to_owned(), resource_version: "1".to_owned() }
}

fn event(uid: &str, reason: &'static str, message: &str) -> Recorded {
    Recorded { about: about(uid), event: Event::normal(reason, message.to_owned()) }
}

fn scaled(uid: &str, message: &str) -> Recorded {
    event(uid, reason::SCALING_REPLICA_SET, &format!("Scaled {message}"))
}

fn told(events: Vec<Recorded>) -> Vec<String> {
    events.into_iter().map(|recorded| recorded.event.message).collect()
}

#[test]
fn steps_that_follow_each_other_are_one() {
    let (mut steps, start) = (Steps::default(), Instant::now());
    let at = |millis| start + Duration::from_millis(millis);
    for (millis, text) in [
        (0, "up replica set web-b from 0 to 2"),
        (100, "down replica set web-a from 5 to 4"),
        (800, "up replica set web-b from 2 to 3"),
        (1000, "down replica set web-a from 4 to 1"),
        (1500, "up replica set web-b from 3 to 5"),
    ] {
        assert_eq!(told(steps.take(scaled("u", text), at(millis))), [""; 0]);
    }
    assert_eq!(told(steps.due(at(2999))), [""; 0]);
    assert_eq!(told(steps.due(at(3000))), ["Scaled down replica set web-a from 5 to 1"]);
    assert_eq!(told(steps.due(at(3500))), ["Scaled up replica set web-b from 0 to 5"]);
    assert!(steps.is_empty());
}

#[test]
fn a_change_of_direction_is_told() {
    let (mut steps, now) = (Steps::default(), Instant::now());
    assert_eq!(told(steps.take(scaled("u", "up replica set web-b from 0 to 4"), now)), [""; 0]);
    let reversed = steps.take(scaled("u", "down replica set web-b from 4 to 0"), now);
    assert_eq!(told(reversed), ["Scaled up replica set web-b from 0 to 4"]);
    // Somebody else has scaled in between.
    let jumped = steps.take(scaled("u", "down replica set web-b from 2 to 1"), now);
    assert_eq!(told(jumped), ["Scaled down replica set web-b from 4 to 0"]);
    assert_eq!(told(steps.all()), ["Scaled down replica set web-b from 2 to 1"]);
}

#[test]
fn other_news_of_the_same_deployment_come_after_its_steps() {
    let (mut steps, now) = (Steps::default(), Instant::now());
    steps.take(scaled("u", "up replica set web-b from 0 to 4"), now);
    steps.take(scaled("v", "up replica set web-b from 0 to 7"), now);
    let complete = event("u", reason::NEW_REPLICA_SET_AVAILABLE, "done");
    assert_eq!(told(steps.take(complete, now)), ["Scaled up replica set web-b from 0 to 4", "done"]);
    assert_eq!(told(steps.all()), ["Scaled up replica set web-b from 0 to 7"]);
}

#[test]
fn no_step_waits_for_ever() {
    let (mut steps, start) = (Steps::default(), Instant::now());
    for second in 0..10 {
        let now = start + Duration::from_millis(second * 900);
        let text = format!("up replica set web-b from {second} to {}", second + 1);
        steps.take(scaled("u", &text), now);
        assert_eq!(told(steps.due(now)), [""; 0]);
    }
    assert_eq!(told(steps.due(start + LATEST)), ["Scaled up replica set web-b from 0 to 10"]);
}

#[test]
fn what_is_no_step_is_passed_on() {
    let (mut steps, now) = (Steps::default(), Instant::now());
    assert_eq!(told(steps.take(scaled("u", "to some size"), now)), ["Scaled to some size"]);
}
