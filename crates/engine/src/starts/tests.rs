use std::collections::{HashSet, VecDeque};
use std::time::Duration;

use plan::intstr::IntOrPercent;
use plan::keys::{HASH_LABEL, REVISION, ROLLOUT};
use plan::{Answers, FailureAction, FailurePolicy, Flavour, Options, Pace, Pin, SetFailure, Workload};
use serde_json::json;

use super::*;
use crate::durations::{ASK_AGAIN, SLOTS_LOOK};
use crate::index::tests::{set, workload};

fn key(text: &str) -> Key {
    let (namespace, name) = text.split_once('/').unwrap();
    Key { namespace: namespace.to_owned(), name: name.to_owned() }
}

fn names(keys: &[Key]) -> Vec<String> {
    keys.iter().map(ToString::to_string).collect()
}

/// This many may be under way at a time.
fn limited(rollouts: usize) -> Starts {
    Starts::new(Limit::fixed(rollouts))
}

/// Asks for one of these, and writes its ReplicaSet if it may begin.
fn begins(starts: &mut Starts, text: &str, now: Instant) -> bool {
    let is_now = starts.ask(&key(text), now).is_now;
    if is_now {
        starts.moved(&key(text), now);
    }
    is_now
}

/// Asks for all of these, and returns which may begin.
fn begun(starts: &mut Starts, keys: &[&str], now: Instant) -> Vec<String> {
    let begun = keys.iter().filter(|text| begins(starts, text, now));
    begun.map(|text| (*text).to_owned()).collect()
}

#[test]
fn the_next_one_begins_when_one_is_over() {
    let (mut starts, now) = (limited(2), Instant::now());
    assert_eq!(begun(&mut starts, &["a/1", "a/2", "a/3", "a/4"], now), ["a/1", "a/2"]);
    // A rollout under way may continue, however often it asks.
    assert!(starts.ask(&key("a/1"), now).is_now);
    assert!(!starts.ask(&key("a/3"), now).is_now);
    assert_eq!(names(&starts.ended(&key("a/2"), now)), ["a/3"]);
    assert!(starts.ask(&key("a/3"), now).is_now);
    assert_eq!(names(&starts.ended(&key("a/1"), now)), ["a/4"]);
    assert_eq!(names(&starts.ended(&key("a/3"), now)), [""; 0]);
}

#[test]
fn namespaces_take_slots_in_rotation() {
    let (mut starts, now) = (limited(1), Instant::now());
    begun(&mut starts, &["a/1", "a/2", "a/3", "a/4", "c/1", "b/1", "c/2"], now);
    let before = ["b/1", "c/1", "a/2", "c/2", "a/3", "a/4"].map(|waits| starts.before(&key(waits)));
    assert_eq!(before, [0, 1, 2, 3, 4, 5].map(Some));
    assert_eq!(["a/1", "d/1"].map(|other| starts.before(&key(other))), [None, None]);
    let mut order = vec!["a/1".to_owned()];
    while let Some(next) = names(&starts.ended(&key(order.last().unwrap()), now)).pop() {
        order.push(next);
    }
    assert_eq!(order, ["a/1", "b/1", "c/1", "a/2", "c/2", "a/3", "a/4"]);
}

#[test]
fn one_that_waits_for_its_pods_makes_room() {
    let (mut starts, start) = (limited(1), Instant::now());
    let at = |millis| start + Duration::from_millis(millis);
    assert_eq!(begun(&mut starts, &["a/hangs", "a/2"], start), ["a/hangs"]);
    assert_eq!(names(&starts.moved(&key("a/hangs"), at(400))), [""; 0]);
    starts.served(&key("a/hangs"), at(500));
    // However often that is seen.
    starts.served(&key("a/hangs"), at(900));
    assert!(!starts.ask(&key("a/2"), at(999)).is_now);
    assert!(starts.ask(&key("a/2"), at(1001)).is_now);
    // The rollout moves again: what has begun is held up by nobody, and takes no room that others have.
    assert_eq!(names(&starts.moved(&key("a/hangs"), at(1050))), [""; 0]);
    assert_eq!(begun(&mut starts, &["a/3"], at(1060)), [""; 0]);
}

#[test]
fn one_that_waits_for_a_busy_server_is_waited_for() {
    let (mut starts, start) = (limited(1), Instant::now());
    assert_eq!(begun(&mut starts, &["a/1", "a/2"], start), ["a/1"]);
    starts.served(&key("a/1"), start);
    let moved = start + STILL_AFTER / 2;
    // Its next pods are not there yet.
    assert_eq!(names(&starts.moved(&key("a/1"), moved)), [""; 0]);
    assert_eq!(names(&starts.grant(moved + STUCK_AFTER - SLOTS_LOOK)), [""; 0]);
    assert_eq!(names(&starts.grant(moved + STUCK_AFTER)), ["a/2"]);
}

#[test]
fn pods_that_are_there_are_served_ready_or_not() {
    let mut asked = ReplicaSet::clone(&set("web-1", Some("w"), "web", 2).set);
    (asked.generation, asked.size) = (2, 3);
    assert!(!asked.is_served(), "nothing is reported yet");
    (asked.status.observed_generation, asked.status.replicas) = (1, 3);
    assert!(!asked.is_served(), "the report is of a former size");
    asked.status.observed_generation = 2;
    assert!(asked.is_served(), "all are there, and none is ready");
    asked.status.replicas = 4;
    assert!(!asked.is_served(), "one is to be deleted");
    asked.status.replicas = 2;
    assert!(!asked.is_served(), "one is to be made");
    let refused = |status: &str| {
        let [reason, message] = ["FailedCreate", "exceeded quota"].map(str::to_owned);
        Some(SetFailure { status: status.to_owned(), reason, message, last_transition_time: None })
    };
    asked.status.failure = refused("False");
    assert!(!asked.is_served(), "it was refused once");
    asked.status.failure = refused("True");
    assert!(asked.is_served(), "it is refused: the server is not what it waits for");
}

#[test]
fn who_waits_is_told_even_if_another_asks() {
    let (mut starts, start) = (limited(1), Instant::now());
    begun(&mut starts, &["a/1", "a/2", "a/3"], start);
    starts.served(&key("a/1"), start);
    let grant = starts.ask(&key("a/3"), start + Duration::from_secs(2));
    assert_eq!(grant, Grant { is_now: false, others: vec![key("a/2")] });
}

#[test]
fn who_waits_is_told_when_nothing_moves() {
    let (mut starts, start) = (limited(2), Instant::now());
    begun(&mut starts, &["a/1", "a/2", "a/3", "b/1", "a/4"], start);
    assert_eq!(names(&starts.grant(start + STUCK_AFTER - SLOTS_LOOK)), [""; 0]);
    assert_eq!(names(&starts.grant(start + STUCK_AFTER)), ["b/1", "a/3"]);
    assert_eq!(starts.others(&key("a/3"), start + STUCK_AFTER), 1);
    assert_eq!(names(&starts.grant(start + 2 * STUCK_AFTER)), ["a/4"]);
    assert_eq!(starts.others(&key("a/3"), start + 3 * STUCK_AFTER), 0);
}

#[test]
fn a_rollout_that_begins_no_more_keeps_no_other_one_waiting() {
    let (mut starts, now) = (Starts::new(Limit::fixed(1)), Instant::now());
    begun(&mut starts, &["a/1", "a/2", "a/3", "b/1"], now);
    // The rollout is paused while it waits.
    assert_eq!(names(&starts.declines(&key("b/1"), now)), [""; 0]);
    assert_eq!(starts.before(&key("b/1")), None);
    // The rollout got a slot, and meanwhile it is paused.
    assert_eq!(names(&starts.ended(&key("a/1"), now)), ["a/2"]);
    assert_eq!(names(&starts.declines(&key("a/2"), now)), ["a/3"]);
    // A rollout that has begun, with pods of both templates, is no start anymore either.
    assert!(begins(&mut starts, "a/3", now));
    starts.declines(&key("a/3"), now);
    assert_eq!(begun(&mut starts, &["a/4"], now), [""; 0]);
}

#[test]
fn a_deployment_that_is_deleted_while_it_waits_uses_up_no_slot() {
    let (mut starts, now) = (Starts::new(Limit::fixed(1)), Instant::now());
    begun(&mut starts, &["a/1", "a/2", "a/3"], now);
    starts.ended(&key("a/2"), now);
    assert_eq!(starts.before(&key("a/2")), None);
    assert_eq!(names(&starts.ended(&key("a/1"), now)), ["a/3"]);
}

#[test]
fn everybody_comes_to_begin_whatever_happens_to_the_others() {
    let mut starts = limited(3);
    let keys: Vec<Key> = (0..40).map(|n| key(&format!("{}/{n}", n % 4))).collect();
    let (mut now, mut begun) = (Instant::now(), HashSet::new());
    // Nobody ever ends, and nobody is requeued: all only ask again.
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

fn is_start(workload: Workload, sets: &[ReplicaSet]) -> bool {
    let options = Options::new(true, Pace::EachReconcile);
    let (flavour, sets) = (Flavour::Rollwright, sets.to_vec());
    let observed = Observed { flavour, workload, sets, answers: Answers::default(), options };
    super::is_start(&observed, "2026-01-01T00:00:00Z".parse().expect("time"))
}

/// Another template, for three replicas.
fn edited() -> Workload {
    let mut edited = workload("web", "w", "web", 1);
    (edited.generation, edited.replicas) = (2, 3);
    edited
}

fn old() -> ReplicaSet {
    let mut old = ReplicaSet::clone(&set("web-1", Some("w"), "web", 2).set);
    (old.size, old.fingerprints) = (3, Vec::new());
    old
}

/// The ReplicaSet of the edited template.
fn same(size: i64) -> ReplicaSet {
    let fingerprints = vec![edited().template.fingerprint];
    ReplicaSet { size, fingerprints, name: "web-2".to_owned(), uid: "uid-web-2".to_owned(), ..old() }
}

fn pin() -> Pin {
    Pin { pod_template_hash: "1".to_owned(), template_fingerprint: None, reason: None }
}

#[test]
fn only_a_template_without_pods_that_replaces_others_makes_a_start() {
    assert!(is_start(edited(), &[old()]), "another template");
    assert!(is_start(edited(), &[old(), same(0)]), "one that comes back");
    assert!(!is_start(edited(), &[]), "the first template");
    let idle = ReplicaSet { size: 0, ..old() };
    assert!(!is_start(edited(), &[idle, same(0)]), "no pod has to go");
    assert!(!is_start(edited(), &[same(2)]), "a size");
    for change in [
        |workload: &mut Workload| workload.status.observed_generation = 2,
        |workload: &mut Workload| workload.replicas = 0,
        |workload: &mut Workload| workload.deleting = true,
        |workload: &mut Workload| workload.paused = true,
        |workload: &mut Workload| workload.rollback_to = Some(0),
        |workload: &mut Workload| workload.pin = Some(pin()),
    ] {
        let mut changed = edited();
        change(&mut changed);
        assert!(!is_start(changed, &[old()]));
    }
    // Found by the simulator, seed 1156.
    let mut pinned = edited();
    let declared = ReplicaSet { labels: [(HASH_LABEL.to_owned(), "1".to_owned())].into(), ..same(0) };
    pinned.pin = Some(pin());
    assert!(!is_start(pinned, &[old(), declared]), "a pin of the declared revision");
}

/// A pin that ends leaves a `status.target` of its own, and none reports yet that the declared revision is reverted.
#[test]
fn what_failed_begins_nothing_and_what_is_declared_anew_does() {
    let with = |action| {
        let mut edited = edited();
        edited.failure_policy = Some(FailurePolicy {
            action,
            deadline: true,
            restarts: None,
            stuck_seconds: None,
            min_pods: IntOrPercent::Int(1),
            bake_seconds: 0,
        });
        edited
    };
    let noted = |set: ReplicaSet, revision: i64, verdict: &str| {
        let memory = json!({ "version": 1, "revision": revision, "verdict": verdict });
        let notes = [(REVISION, revision.to_string()), (ROLLOUT, memory.to_string())];
        let annotations = notes.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        ReplicaSet { annotations, ..set }
    };
    let (good, failed) = (|| noted(old(), 1, "Good"), || noted(same(0), 2, "Failed"));
    assert!(!is_start(with(FailureAction::Revert), &[good(), failed()]), "it is reverted");
    assert!(!is_start(with(FailureAction::Stop), &[good(), failed()]), "it is held");
    assert!(is_start(with(FailureAction::Continue), &[good(), failed()]), "it continues");
    let newer = noted(old(), 3, "Good");
    assert!(is_start(with(FailureAction::Revert), &[newer, failed()]), "it is tried again");
}

/// A cluster that makes the first pods of as many rollouts at a time as it has lanes, in 100 ms each. Its pods take
/// eight seconds to be ready.
struct Cluster {
    lanes: usize,
    /// Until when each lane is busy, and with what.
    busy: Vec<(Instant, Key)>,
    queue: VecDeque<Key>,
}

/// How long it takes until this many rollouts that are requested together have their first pods, and how many were
/// under way at most.
fn play(mut starts: Starts, lanes: usize, rollouts: usize) -> (Duration, usize) {
    let begin = Instant::now();
    let mut cluster = Cluster { lanes, busy: Vec::new(), queue: VecDeque::new() };
    let keys: Vec<Key> = (0..rollouts).map(|n| key(&format!("{}/{n}", n % 7))).collect();
    for key in &keys {
        let is_now = begins(&mut starts, &key.to_string(), begin);
        cluster.queue.extend(is_now.then(|| key.clone()));
    }
    let (mut now, mut done, mut most) = (begin, 0, 0);
    while done < rollouts {
        now += Duration::from_millis(10);
        assert!(now < begin + Duration::from_secs(3600), "{done} of {rollouts} are done");
        let (over, busy): (Vec<_>, _) = cluster.busy.into_iter().partition(|(until, _)| *until <= now);
        cluster.busy = busy;
        let mut granted = starts.grant(now);
        for (_, key) in over {
            done += 1;
            granted.extend(starts.served(&key, now));
        }
        for key in granted {
            assert!(begins(&mut starts, &key.to_string(), now));
            cluster.queue.push_back(key);
        }
        while cluster.busy.len() < cluster.lanes
            && let Some(next) = cluster.queue.pop_front()
        {
            cluster.busy.push((now + Duration::from_millis(100), next));
        }
        most = most.max(cluster.busy.len() + cluster.queue.len());
    }
    (now - begin, most)
}

#[test]
fn a_cluster_that_does_ten_times_as_much_is_given_ten_times_as_much() {
    let seconds = |(took, _): (Duration, usize)| took.as_secs_f64();
    let narrow = play(Starts::new(Limit::default()), 16, 2000);
    assert!(seconds(narrow) < 1.1 * seconds(play(limited(16), 16, 2000)), "{narrow:?}");
    assert!(narrow.1 <= 64, "no long queue: {narrow:?}");
    let wide = play(Starts::new(Limit::default()), 160, 2000);
    assert!(seconds(play(limited(16), 160, 2000)) > 5.0 * seconds(wide), "{wide:?}");
    assert!((160..=480).contains(&wide.1), "{wide:?}");
}

#[test]
fn slow_pods_cost_no_place() {
    let (mut starts, start) = (limited(1), Instant::now());
    let names: Vec<String> = (0..40).map(|n| format!("a/{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    begun(&mut starts, &names, start);
    let (mut now, mut granted) = (start, vec![key("a/0")]);
    while let Some(next) = granted.pop() {
        assert!(begins(&mut starts, &next.to_string(), now));
        // Its pods are made, and then take their time.
        granted.extend(starts.served(&next, now));
        while granted.is_empty() && starts.before(&key("a/39")).is_some() {
            now += Duration::from_millis(1);
            granted.extend(starts.grant(now));
        }
    }
    // The first ones are waited for, since their pods might have been quick.
    assert!(now - start < 4 * STILL_AFTER, "{:?}", now - start);
}

/// Pods are slow, so that nothing waits for a rollout that has them; and those of the template to replace are there all
/// the time.
#[test]
fn pods_of_the_old_template_use_up_no_slot() {
    let (mut starts, now) = (limited(1), Instant::now());
    starts.still_after = Duration::ZERO;
    assert_eq!(begun(&mut starts, &["a/1", "a/2", "a/3"], now), ["a/1"]);
    assert_eq!(names(&starts.ended(&key("a/1"), now)), ["a/2"]);
    assert_eq!(names(&starts.served(&key("a/2"), now)), [""; 0]);
    assert!(starts.ask(&key("a/2"), now).is_now);
    // Its reconcile fails before anything is written.
    assert_eq!(names(&starts.served(&key("a/2"), now)), [""; 0]);
    assert_eq!(names(&starts.failed(&key("a/2"), now)), ["a/3"]);
    assert!(begins(&mut starts, "a/3", now));
    // One that has begun and fails later keeps what it has.
    assert_eq!(names(&starts.failed(&key("a/3"), now)), [""; 0]);
    assert!(!starts.ask(&key("a/2"), now).is_now);
    assert_eq!(names(&starts.served(&key("a/3"), now)), ["a/2"]);
}

#[test]
fn quick_pods_are_waited_for_again() {
    let (mut starts, start) = (limited(1), Instant::now());
    starts.still_after = Duration::ZERO;
    begun(&mut starts, &["a/1", "a/2", "a/3"], start);
    assert_eq!(names(&starts.served(&key("a/1"), start)), ["a/2"]);
    starts.moved(&key("a/1"), start + STILL_AFTER / 5);
    assert_eq!(starts.still_after, STILL_AFTER);
    assert_eq!(names(&starts.served(&key("a/2"), start + STILL_AFTER / 5)), [""; 0]);
    assert_eq!(names(&starts.ended(&key("a/2"), start + STILL_AFTER / 4)), ["a/3"]);
}

#[test]
fn a_server_that_refuses_is_given_less_and_never_nothing() {
    let (mut starts, start) = (Starts::new(Limit::default()), Instant::now());
    let at = |seconds| start + Duration::from_secs(seconds);
    let mut limits = Vec::new();
    for second in 0..5 {
        // One stall refuses many.
        (0..100).for_each(|_| starts.refused(at(second)));
        limits.push(starts.limit.rollouts());
    }
    assert_eq!(limits, [32, 16, 8, 4, 4]);
}
