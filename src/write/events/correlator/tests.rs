use plan::Event;

use super::*;
use crate::write::events::About;

fn scaled(uid: &str, message: &str) -> Recorded {
    let about = About {
        flavour: Flavour::Rollwright,
        namespace: "ns".to_owned(),
        name: "web".to_owned(),
        uid: uid.to_owned(),
        resource_version: "1".to_owned(),
    };
    Recorded { about, event: Event::normal("ScalingReplicaSet", message.to_owned()) }
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_000_000 + seconds).expect("time")
}

fn message(verdict: Verdict) -> Option<String> {
    match verdict {
        Verdict::Drop => None,
        Verdict::Create { message, .. } | Verdict::Repeat { message, .. } => Some(message),
    }
}

#[test]
fn the_same_event_again_is_counted() {
    let mut correlator = Correlator::default();
    let Verdict::Create { name, .. } = correlator.consider(&scaled("w", "a"), at(0)) else { panic!("new") };
    assert!(name.starts_with("web."), "{name}");
    for count in 2..5 {
        let expected = Verdict::Repeat { name: name.clone(), message: "a".to_owned(), count };
        assert_eq!(correlator.consider(&scaled("w", "a"), at(1)), expected);
    }
    let other = correlator.consider(&scaled("x", "a"), at(1));
    assert!(matches!(other, Verdict::Create { .. }), "another object: {other:?}");
}

#[test]
fn different_messages_are_different_events() {
    let mut correlator = Correlator::default();
    for text in ["to 3", "to 5"] {
        let verdict = correlator.consider(&scaled("w", text), at(0));
        assert!(matches!(&verdict, Verdict::Create { message, .. } if message == text), "{verdict:?}");
    }
}

#[test]
fn many_similar_messages_become_one_event() {
    let mut correlator = Correlator::default();
    for n in 1..SIMILAR_MAX {
        let text = format!("to {n}");
        assert_eq!(message(correlator.consider(&scaled("w", &text), at(0))), Some(text));
    }
    let first = correlator.consider(&scaled("w", "to 10"), at(1));
    assert_eq!(message(first.clone()).as_deref(), Some("(combined from similar events): to 10"));
    assert!(matches!(first, Verdict::Create { .. }));
    let second = correlator.consider(&scaled("w", "to 11"), at(2));
    assert!(matches!(&second, Verdict::Repeat { count: 2, message, .. } if message.ends_with("to 11")));
    let later = correlator.consider(&scaled("w", "to 12"), at(700));
    assert_eq!(message(later).as_deref(), Some("to 12"));
}

#[test]
fn an_object_has_a_budget() {
    let mut correlator = Correlator::default();
    for _ in 0..25 {
        assert_ne!(correlator.consider(&scaled("w", "a"), at(0)), Verdict::Drop);
    }
    assert_eq!(correlator.consider(&scaled("w", "a"), at(0)), Verdict::Drop);
    assert_ne!(correlator.consider(&scaled("x", "a"), at(0)), Verdict::Drop);
    assert_ne!(correlator.consider(&scaled("w", "a"), at(301)), Verdict::Drop);
    assert_eq!(correlator.consider(&scaled("w", "a"), at(301)), Verdict::Drop);
}

#[test]
fn what_is_remembered_is_bounded() {
    let mut correlator = Correlator::default();
    for n in 0..3 * REMEMBERED_MAX {
        correlator.consider(&scaled(&format!("uid-{n}"), "a"), at(0));
    }
    assert!(correlator.written.len() <= REMEMBERED_MAX);
    assert!(correlator.similar.len() <= REMEMBERED_MAX);
    assert!(correlator.budgets.len() <= REMEMBERED_MAX);
}

#[test]
fn a_warning_comes_through_after_many_normal_events_on_rollwright_dev() {
    for (flavour, comes) in [(Flavour::Rollwright, true), (Flavour::AppsV1, false)] {
        let mut correlator = Correlator::default();
        let of = |event| Recorded { about: About { flavour, ..scaled("w", "").about }, event };
        for n in 0..30 {
            correlator.consider(&of(Event::normal("StepReached", n.to_string())), at(0));
        }
        let warning = of(Event::warning("JobFailed", "exit code 1".to_owned()));
        assert_eq!(message(correlator.consider(&warning, at(1))).is_some(), comes, "{flavour:?}");
    }
}
