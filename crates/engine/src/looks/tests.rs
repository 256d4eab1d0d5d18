mod judged;

use serde_json::json;

use super::*;

const TEN: Duration = Duration::from_secs(10);
const SECOND: Duration = Duration::from_secs(1);

fn looking() -> Looking {
    Looking { after: TEN, words: Words::Withheld, engines: 1 }
}

fn key(name: &str) -> Key {
    Key { namespace: "ns".to_owned(), name: name.to_owned() }
}

/// Two of three pods of a ReplicaSet are ready.
fn awaited() -> Awaited {
    Awaited {
        set: Some("web-1".to_owned()),
        uid: "set".to_owned(),
        selector: "app=web".to_owned(),
        size: 3,
        replicas: 3,
        ready: 2,
        available: 2,
        is_still: true,
        ..Awaited::default()
    }
}

fn pod(name: &str, status: &Value) -> Value {
    json!({
        "metadata": {"name": name, "uid": name, "ownerReferences": [{"controller": true, "uid": "set"}]},
        "status": status,
    })
}

fn ready(name: &str) -> Value {
    pod(name, &json!({"conditions": [{"type": "Ready", "status": "True"}]}))
}

fn pulling(name: &str, message: &str) -> Value {
    let waiting = json!({"reason": "ImagePullBackOff", "message": message});
    pod(name, &json!({"containerStatuses": [{"name": "app", "image": "bad", "state": {"waiting": waiting}}]}))
}

fn running(name: &str) -> Value {
    pod(name, &json!({"containerStatuses": [{"name": "app", "state": {"running": {}}}]}))
}

fn denied() -> Refusal {
    Refusal::new(403, "Forbidden", "pods is forbidden".to_owned())
}

fn looks<'a>(key: &'a Key, look: &'a mut Option<Box<Look>>, line: &'a mut Line) -> Looks<'a> {
    Looks { looking: looking(), key, look, line }
}

/// A rollout, looked at by a test with a clock of its own.
struct Bench {
    look: Option<Box<Look>>,
    line: Line,
    key: Key,
    now: Instant,
    questions: Vec<Question>,
}

impl Bench {
    fn new() -> Self {
        let (line, now) = (Line::default(), Instant::now());
        Self { look: None, line, key: key("web"), now, questions: Vec::new() }
    }

    fn stands(&mut self, awaited: &Awaited) -> Course {
        let course = looks(&self.key, &mut self.look, &mut self.line).stands(Some(awaited), self.now);
        self.questions.extend(course.question.clone());
        course
    }

    fn answered(&mut self, answer: Result<Page, Refusal>) -> Course {
        let time = "2026-04-01T12:00:00Z".parse().unwrap();
        looks(&self.key, &mut self.look, &mut self.line).answered(answer, (self.now, time))
    }

    /// Lets time pass until the next question, and answers it.
    fn ask(&mut self, awaited: &Awaited, answer: Result<Page, Refusal>) -> Course {
        for _ in 0..1000 {
            let course = self.stands(awaited);
            if course.question.is_some() {
                return self.answered(answer);
            }
            self.now = self.now.max(course.again.expect("a time to come again"));
        }
        panic!("no question in a thousand attempts");
    }

    fn findings(&self) -> Option<Findings> {
        self.look.as_ref()?.findings()
    }

    fn evidence(&self) -> Arc<[Evidence]> {
        self.look.as_deref().map_or_else(Arc::default, Look::evidence)
    }

    fn found(&self) -> Vec<Blocker> {
        self.findings().unwrap_or_default().blockers
    }

    fn causes(&self) -> Vec<(String, i64, i64)> {
        self.found().into_iter().map(|found| (found.cause, found.pods, found.of)).collect()
    }
}

fn cause(word: &str, pods: i64, of: i64) -> (String, i64, i64) {
    (word.to_owned(), pods, of)
}

#[test]
fn nobody_looks_before_the_rollout_is_late_or_while_it_moves() {
    let mut bench = Bench::new();
    let start = bench.now;
    assert_eq!(bench.stands(&awaited()).again, Some(start + TEN));
    bench.now += 9 * SECOND;
    let moved = Awaited { ready: 2, available: 2, replicas: 3, others: -1, ..awaited() };
    assert_eq!(bench.stands(&moved).again, Some(bench.now + TEN), "an old pod has gone");
    bench.now += 9 * SECOND;
    let larger = Awaited { size: 4, ..moved };
    assert_eq!(bench.stands(&larger).again, Some(bench.now + TEN), "it grew");
    assert_eq!(bench.questions, []);
    bench.now += TEN;
    assert!(bench.stands(&larger).question.is_some());
}

#[test]
fn pages_are_joined_and_the_next_look_comes_after_a_pause() {
    let mut bench = Bench::new();
    let first = vec![ready("a"), pulling("b", "no"), pod("c", &json!({})), json!({"metadata": {}})];
    let course = bench.ask(&awaited(), Ok((first, Some("next".to_owned()))));
    assert_eq!(course, Course { again: Some(bench.now), ..Course::default() });
    assert_eq!(bench.found(), [], "not before the last page");
    let began = bench.now;
    let course = bench.ask(&awaited(), Ok((vec![pulling("d", "no"), ready("e")], None)));
    // The pod without a status may have events.
    assert_eq!(course.again, Some(bench.now));
    let course = bench.ask(&awaited(), Ok((Vec::new(), None)));
    assert!(course.is_news);
    assert_eq!(bench.causes(), [cause("ImagePull", 2, 5)]);
    assert_eq!(course.again, Some(began + LOOK_AGAIN));
    let pods =
        |from: Option<&str>| Question::Pods { selector: "app=web".to_owned(), from: from.map(str::to_owned) };
    assert_eq!(bench.questions, [pods(None), pods(Some("next")), Question::Events { uid: "c".to_owned() }]);
    let course = bench.ask(&awaited(), Ok((vec![pulling("b", "another text")], None)));
    assert!(bench.now >= began + LOOK_AGAIN);
    assert!(!course.is_news, "texts and counts are no news");
    assert_eq!(bench.causes(), [cause("ImagePull", 1, 1)]);
}

#[test]
fn events_of_one_pod_stand_for_those_that_are_like_it() {
    let mut bench = Bench::new();
    let pods = vec![running("a"), running("b"), pod("c", &json!({})), ready("d")];
    bench.ask(&awaited(), Ok((pods.clone(), None)));
    let event = json!({
        "involvedObject": {"uid": "a"}, "reason": "Unhealthy",
        "message": "Readiness probe failed: password=hunter2",
    });
    bench.ask(&awaited(), Ok((vec![event], None)));
    assert_eq!(bench.causes(), [cause("ReadinessProbe", 2, 4)]);
    assert!(!format!("{:?}", bench.found()).contains("hunter2"));
    let before = bench.questions.len();
    bench.ask(&awaited(), Ok((pods, None)));
    assert_eq!(bench.causes(), [cause("ReadinessProbe", 2, 4)], "known for thirty seconds");
    assert_eq!(bench.questions.len(), before + 1, "and not read again");
}

#[test]
fn without_a_right_the_cause_says_so_once_the_rollout_is_really_late() {
    let mut bench = Bench::new();
    let start = bench.now;
    bench.ask(&awaited(), Err(denied()));
    assert_eq!(bench.found(), [], "it may only be starting");
    while bench.now < start + UNKNOWN_AFTER {
        bench.ask(&awaited(), Err(denied()));
    }
    assert_eq!(bench.causes(), [cause("Unknown", 1, 3)]);
    assert!(bench.found()[0].message.contains("may not list pods"));
    bench.ask(&awaited(), Ok((vec![pulling("a", "no")], None)));
    assert_eq!(bench.causes(), [cause("ImagePull", 1, 1)], "the right was granted");
}

#[test]
fn without_the_right_to_events_only_unclear_pods_are_unknown() {
    let mut bench = Bench::new();
    let start = bench.now;
    while bench.now < start + UNKNOWN_AFTER {
        let pods = vec![running("a"), pulling("b", "no"), pulling("c", "no")];
        if bench.ask(&awaited(), Ok((pods, None))).again == Some(bench.now) {
            bench.ask(&awaited(), Err(denied()));
        }
        let unknown = bench.causes().iter().any(|(cause, ..)| cause == "Unknown");
        assert_eq!(unknown, bench.now >= start + UNKNOWN_AFTER);
    }
    assert_eq!(bench.causes(), [cause("ImagePull", 2, 3), cause("Unknown", 1, 3)]);
    assert!(bench.found()[1].message.contains("may not list events"));
}

#[test]
fn a_failed_look_changes_nothing() {
    let mut bench = Bench::new();
    bench.ask(&awaited(), Ok((vec![pulling("a", "no"), pulling("b", "no")], None)));
    bench.ask(&awaited(), Ok((vec![ready("a")], Some("next".to_owned()))));
    let gone = Refusal::new(410, "Expired", "the continue token is too old".to_owned());
    let course = bench.ask(&awaited(), Err(gone));
    assert!(!course.is_news);
    assert_eq!(bench.causes(), [cause("ImagePull", 2, 2)]);
}

#[test]
fn a_refusal_needs_no_request() {
    let mut bench = Bench::new();
    let refusal = plan::SetFailure {
        status: "True".to_owned(),
        reason: "FailedCreate".to_owned(),
        message: format!("exceeded quota: {}", "x".repeat(8192)),
        last_transition_time: None,
    };
    let refused = Awaited { replicas: 2, refusal: Some(refusal), ..awaited() };
    bench.stands(&refused);
    bench.now += TEN;
    let course = bench.stands(&refused);
    assert_eq!(course, Course { is_news: true, ..Course::default() });
    assert_eq!(bench.causes(), [cause("Quota", 1, 3)]);
    assert_eq!(bench.found()[0].message.chars().count(), 400);
}

#[test]
fn ready_pods_that_come_and_go_are_no_progress() {
    let mut bench = Bench::new();
    let start = bench.now;
    let (down, up) = (awaited(), Awaited { ready: 3, available: 3, ..awaited() });
    for second in 0..11 {
        bench.now = start + SECOND * second;
        bench.stands(if second % 2 == 1 { &up } else { &down });
    }
    bench.now = start + 12 * SECOND;
    assert!(bench.stands(&awaited()).question.is_some());
}

#[test]
fn a_rollout_that_moves_is_blocked_no_more() {
    let mut bench = Bench::new();
    bench.ask(&awaited(), Ok((vec![pulling("a", "no")], None)));
    let better = Awaited { ready: 3, available: 3, ..awaited() };
    assert!(bench.stands(&better).is_news);
    assert_eq!(bench.findings().map(|found| found.blockers), Some(Vec::new()));
    looks(&bench.key, &mut bench.look, &mut bench.line).stands(None, bench.now);
    assert_eq!(bench.findings(), None);
    // Having looked a moment ago, nobody looks again so soon.
    bench.now += SECOND;
    let other = Awaited { uid: "other".to_owned(), ..awaited() };
    bench.stands(&other);
    bench.now += TEN;
    assert_eq!(bench.stands(&other).question, None);
}

#[test]
fn old_pods_are_overdue_after_their_grace_period() {
    let mut bench = Bench::new();
    let old = Awaited { selector: "app=web".to_owned(), others: 2, is_still: true, ..Awaited::default() };
    let terminating = |name: &str, end: &str| json!({"metadata": {"name": name, "uid": name, "deletionTimestamp": end}, "status": {}});
    let pods = vec![terminating("a", "2026-04-01T11:59:00Z"), terminating("b", "2026-04-01T12:01:00Z")];
    bench.ask(&old, Ok((pods, None)));
    assert_eq!(bench.causes(), [cause("Terminating", 1, 2)]);
}

/// Five hundred rollouts are late at the same time. They are looked at in the order in which they came, and requests
/// count, not Deployments.
#[test]
fn all_share_five_requests_a_second() {
    let (mut line, start) = (Line::default(), Instant::now());
    let mut entries: Vec<Option<Box<Look>>> = (0..500).map(|_| None).collect();
    let keys: Vec<Key> = (0..500).map(|number| key(&format!("web-{number:03}"))).collect();
    let mut due: Vec<(Instant, usize)> = (0..keys.len()).map(|at| (start, at)).collect();
    let mut asked: Vec<(Instant, usize)> = Vec::new();
    let end = start + Duration::from_secs(300);
    while let Some((now, at)) = due.iter().min().copied().filter(|(now, _)| *now < end) {
        due.retain(|(_, other)| *other != at);
        let mut course = looks(&keys[at], &mut entries[at], &mut line).stands(Some(&awaited()), now);
        if course.question.is_some() {
            asked.push((now, at));
            let more =
                (asked.iter().filter(|(_, other)| *other == at).count() % 2 == 1).then(|| "n".to_owned());
            let time = "2026-04-01T12:00:00Z".parse().unwrap();
            let answer = Ok((vec![pulling("a", "no"), pulling("b", "no")], more));
            course = looks(&keys[at], &mut entries[at], &mut line).answered(answer, (now, time));
        }
        due.push((course.again.expect("it stays blocked"), at));
    }
    for pair in asked.windows(2) {
        assert!(pair[1].0 - pair[0].0 >= LOOK_INTERVAL, "{pair:?}");
    }
    let limit = 290 * 5;
    assert!(asked.len() <= limit + 1 && asked.len() > limit * 9 / 10, "{} requests", asked.len());
    let each = |at: usize| asked.iter().filter(|(_, other)| *other == at).count();
    let counts: Vec<usize> = (0..keys.len()).map(each).collect();
    let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
    assert!(*least > 0 && most - least <= 2, "{least} to {most}");
}

#[test]
fn a_short_deadline_does_not_end_before_anybody_looks() {
    let mut bench = Bench::new();
    let short = Awaited { deadline: Some(8), ..awaited() };
    let again = bench.stands(&short).again.expect("a time");
    assert_eq!(again - bench.now, 5 * SECOND, "three seconds before the deadline");
    bench.now = again;
    assert!(bench.stands(&short).question.is_some());
    let mut bench = Bench::new();
    let again = bench.stands(&Awaited { deadline: Some(600), ..awaited() }).again.expect("a time");
    assert_eq!(again - bench.now, TEN);
}
