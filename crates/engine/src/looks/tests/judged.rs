//! Looks at the pods of a revision that a failure policy judges: they are read while it moves, and are evidence.

use super::*;

/// A revision that a failure policy judges, with all of its pods ready.
fn judged() -> Awaited {
    Awaited {
        ready: 3,
        available: 3,
        is_still: false,
        is_judged: true,
        fallback: "fallback".to_owned(),
        ..awaited()
    }
}

fn restarted(name: &str, owner: &str, count: i64) -> Value {
    let ended = json!({"terminated": {"finishedAt": "2026-04-01T11:59:30Z"}});
    let status = json!({"name": "app", "restartCount": count, "lastState": ended, "state": {"running": {}}});
    let mut pod = pod(name, &json!({"containerStatuses": [status]}));
    pod["metadata"]["creationTimestamp"] = json!("2026-04-01T11:00:00Z");
    pod["metadata"]["ownerReferences"][0]["uid"] = json!(owner);
    pod
}

#[test]
fn pods_of_a_revision_that_is_judged_are_read_while_it_moves() {
    let mut bench = Bench::new();
    let (looked, course) = (bench.now, bench.stands(&judged()));
    assert!(course.question.is_some(), "at once: {course:?}");
    let page = vec![
        restarted("a", "set", 2),
        restarted("b", "fallback", 5),
        restarted("c", "another", 9),
        ready("d"),
    ];
    let more = bench.answered(Ok((page, Some("next".to_owned()))));
    assert_eq!((more.is_evidence, more.again), (false, Some(bench.now)));
    assert_eq!(*bench.evidence(), [], "half a look is no evidence");
    let mut stuck = pulling("e", "no such image");
    stuck["metadata"]["ownerReferences"][0]["uid"] = json!("fallback");
    let course = bench.ask(&judged(), Ok((vec![stuck], None)));
    assert_eq!((course.is_evidence, course.is_news), (true, false), "it is not late");
    let [declared, fallback]: [Evidence; 2] = bench.evidence().to_vec().try_into().unwrap();
    let of = |evidence: &Evidence| evidence.restarts.iter().map(|pod| pod.count).collect::<Vec<_>>();
    assert_eq!((of(&declared), of(&fallback)), (vec![2], vec![5]));
    assert_eq!(fallback.stuck, [("ImagePull".to_owned(), 1)]);
    assert_eq!(fallback.restarts[0].last, Some("2026-04-01T11:59:30Z".parse().unwrap()));
    assert_eq!(fallback.restarts[0].created, "2026-04-01T11:00:00Z".parse().unwrap());
    assert_eq!(bench.stands(&judged()).again, Some(looked + 15 * SECOND));
    // Of a revision that nobody judges, and of another ReplicaSet, nothing is known.
    bench.stands(&awaited());
    assert_eq!(*bench.evidence(), []);
    bench.stands(&judged());
    bench.stands(&Awaited { uid: "other".to_owned(), ..judged() });
    assert_eq!(*bench.evidence(), []);
}

#[test]
fn what_blocks_a_revision_that_is_judged_is_reported_once_it_is_late() {
    let mut bench = Bench::new();
    let still = Awaited { is_judged: true, ..awaited() };
    let course = bench.ask(&still, Ok((vec![ready("a"), ready("b"), pulling("c", "no such image")], None)));
    assert_eq!((course.is_evidence, course.is_news), (true, false));
    assert_eq!(bench.causes(), []);
    assert_eq!(bench.stands(&still).again, Some(bench.now + TEN));
    bench.now += TEN;
    let course = bench.stands(&still);
    assert!(course.is_news, "without another look");
    assert_eq!(bench.causes(), [cause("ImagePull", 1, 3)]);
}

#[test]
fn what_the_operator_may_not_read_is_no_evidence() {
    let mut bench = Bench::new();
    let course = bench.ask(&judged(), Err(denied()));
    assert!(!course.is_evidence, "there is nothing to judge by");
    assert_eq!(*bench.evidence(), []);
    bench.now += 15 * SECOND;
    bench.ask(&judged(), Err(Refusal::new(500, "", "no".to_owned())));
    assert_eq!(*bench.evidence(), []);
}

/// Two pages a look. The rollout moves in between, which is no reason to begin again; another fallback, or another
/// list, is one.
#[test]
fn a_revision_that_moves_all_the_time_is_read_to_the_end() {
    let moved = Awaited { replicas: 4, others: -1, ..judged() };
    let another = Awaited { fallback: "another".to_owned(), ..judged() };
    let list = Awaited { selector: "app=other".to_owned(), ..judged() };
    for (second, is_whole) in [(moved, true), (another, false), (list, false)] {
        let mut bench = Bench::new();
        let page = vec![restarted("a", "set", 2)];
        bench.ask(&judged(), Ok((page.clone(), Some("next".to_owned()))));
        let course = bench.ask(&second, Ok((page, Some("next".to_owned()))));
        assert!(!course.is_evidence);
        let from = |question: &Question| matches!(question, Question::Pods { from: Some(_), .. });
        assert_eq!(bench.questions.last().is_some_and(from), is_whole, "{second:?}");
    }
}

/// The answer was read before the rollout moved last, so it does not show what blocks it now.
#[test]
fn an_old_look_shows_nothing_of_a_rollout_that_is_late() {
    let mut bench = Bench::new();
    let still = Awaited { is_judged: true, ..awaited() };
    bench.ask(&still, Ok((vec![ready("a"), ready("b"), pulling("c", "no such image")], None)));
    bench.now += 9 * SECOND;
    let moved = Awaited { others: -1, ..still.clone() };
    bench.stands(&moved);
    bench.now += TEN;
    let course = bench.stands(&moved);
    assert!(!course.is_news && course.question.is_some(), "{course:?}");
    assert_eq!(bench.causes(), []);
    // What blocked it is over once pods are no longer waited for.
    bench.answered(Ok((vec![ready("a"), ready("b"), pulling("c", "no such image")], None)));
    assert_eq!(bench.causes(), [cause("ImagePull", 1, 3)]);
    bench.stands(&Awaited { is_still: false, ..moved });
    assert_eq!(bench.causes(), []);
}

/// Time passes between the pages of a look: what it shows is as old as its beginning. Pods that go do not count.
#[test]
fn evidence_is_as_old_as_the_beginning_of_its_look() {
    let mut bench = Bench::new();
    let mut going = restarted("b", "set", 9);
    going["metadata"]["deletionTimestamp"] = json!("2026-04-01T11:59:00Z");
    bench.ask(&judged(), Ok((vec![restarted("a", "set", 2), going], Some("next".to_owned()))));
    bench.now += 5 * SECOND;
    bench.ask(&judged(), Ok((vec![], None)));
    let evidence = bench.evidence();
    let first = evidence.first().unwrap();
    assert_eq!(first.read, "2026-04-01T11:59:55Z".parse().unwrap());
    assert_eq!(first.restarts.iter().map(|pod| pod.count).collect::<Vec<_>>(), [2]);
}
