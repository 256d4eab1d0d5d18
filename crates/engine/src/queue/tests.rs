use super::*;

/// A queue and its time.
struct Bench {
    queue: Queue<u32>,
    now: Instant,
}

impl Bench {
    fn new() -> Self {
        let now = Instant::now();
        Self { queue: Queue::new(now), now }
    }

    fn advance(&mut self, by: Duration) {
        self.now += by;
    }

    fn requeue(&mut self, key: u32) {
        self.queue.requeue([key], self.now);
    }

    /// What comes within ten milliseconds.
    fn take(&mut self) -> Option<u32> {
        if let Some(key) = self.queue.take(self.now) {
            return Some(key);
        }
        self.advance(Duration::from_millis(10));
        self.queue.take(self.now)
    }

    /// Waits for a key as long as it takes, and works on it.
    fn work(&mut self) -> Option<u32> {
        if self.queue.depth() == 0 {
            self.now = self.now.max(self.queue.next_due()?);
        }
        let key = self.queue.take(self.now)?;
        self.queue.done(&key);
        Some(key)
    }

    fn fail(&mut self, key: u32) -> (Duration, u32) {
        self.queue.add_failed(key, self.now)
    }
}

#[test]
fn keys_come_in_order_and_once() {
    let mut bench = Bench::new();
    bench.requeue(1);
    bench.advance(Duration::from_millis(1));
    bench.queue.requeue([3, 2, 1, 3], bench.now);
    assert_eq!(bench.take(), Some(1));
    assert_eq!(bench.take(), Some(3));
    assert_eq!(bench.take(), Some(2));
    assert_eq!(bench.take(), None);
    assert!(bench.queue.is_empty());
}

#[test]
fn events_that_arrive_together_make_one_reconcile() {
    let mut bench = Bench::new();
    for _ in 0..5 {
        bench.requeue(7);
        bench.advance(Duration::from_micros(500));
    }
    assert_eq!(bench.take(), Some(7));
    assert!(!bench.queue.done(&7));
    assert_eq!(bench.take(), None);
}

#[test]
fn the_first_event_is_acted_upon_at_once_and_those_that_follow_are_joined() {
    let mut bench = Bench::new();
    for _ in 0..2 {
        bench.requeue(7);
        assert_eq!(bench.queue.take(bench.now), Some(7), "it was quiet");
        bench.queue.done(&7);
        bench.advance(COALESCE / 2);
        bench.requeue(7);
        bench.advance(COALESCE / 2);
        bench.requeue(7);
        assert_eq!(bench.queue.take(bench.now), None);
        bench.advance(COALESCE);
        assert_eq!(bench.queue.take(bench.now), Some(7));
        bench.queue.done(&7);
        bench.advance(COALESCE);
    }
    // Of pods, others are about to follow.
    bench.queue.heed([(7, Cause::Advanced)], bench.now);
    assert_eq!(bench.queue.take(bench.now), None);
    assert_eq!(bench.queue.next_due(), Some(bench.now + COALESCE));
}

#[test]
fn many_that_are_heard_of_are_not_kept_for_ever() {
    let mut bench = Bench::new();
    for key in 0..1000 {
        bench.requeue(key);
    }
    for key in (0..1000).chain(0..100) {
        bench.requeue(key);
        assert_eq!(bench.queue.take(bench.now), Some(key));
        bench.queue.done(&key);
        bench.advance(COALESCE);
    }
    let (known, room) = (bench.queue.items.len(), bench.queue.items.capacity());
    assert!(known <= 2 * ITEMS_MANY && room <= 8 * ITEMS_MANY, "{known} of {room}");
}

#[test]
fn events_that_arrive_together_are_acted_upon_when_they_end_or_last_for_long() {
    let mut bench = Bench::new();
    bench.requeue(7);
    assert_eq!(bench.take(), Some(7));
    bench.queue.done(&7);
    bench.advance(Duration::from_millis(6));
    let started = bench.now;
    bench.requeue(7);
    bench.advance(Duration::from_millis(6));
    bench.requeue(7);
    assert_eq!(bench.queue.next_due(), Some(started + Duration::from_millis(16)));
    // The events never stop.
    while bench.queue.take(bench.now).is_none() {
        bench.advance(Duration::from_millis(4));
        bench.requeue(7);
    }
    assert_eq!(bench.now - started, GATHER_MAX);
    // What comes after it is another one.
    bench.queue.done(&7);
    bench.advance(Duration::from_millis(1));
    bench.requeue(7);
    assert_eq!(bench.queue.next_due(), Some(bench.now + COALESCE));
}

#[test]
fn a_key_that_has_written_cools_down() {
    let mut bench = Bench::new();
    bench.requeue(7);
    assert_eq!(bench.take(), Some(7));
    // One event while it is in work, one afterwards.
    bench.requeue(7);
    bench.advance(Duration::from_millis(11));
    assert_eq!(bench.queue.take(bench.now), None);
    bench.queue.cool_down(&7, 0, bench.now);
    assert!(!bench.queue.done(&7));
    bench.requeue(7);
    assert_eq!(bench.queue.next_due(), Some(bench.now + COOLDOWN));
    bench.advance(COOLDOWN);
    assert_eq!(bench.queue.take(bench.now), Some(7));
    assert_eq!(bench.queue.cooldown_until(&7, bench.now), None);
    // A reconcile that wrote nothing starts no cooldown.
    bench.queue.done(&7);
    bench.requeue(7);
    assert_eq!(bench.queue.take(bench.now), Some(7));
}

#[test]
fn a_cooldown_is_longer_while_others_are_under_way() {
    let mut bench = Bench::new();
    for (others, longest) in [(0, COOLDOWN), (1, COOLDOWN + COOLDOWN_FOR_OTHERS), (1000, COOLDOWN_MAX)] {
        bench.requeue(7);
        assert_eq!(bench.take(), Some(7));
        let written = bench.now;
        bench.queue.cool_down(&7, others, written);
        bench.queue.done(&7);
        // A key that cools down is taken all the same, to see whether what it waits for is there.
        bench.requeue(7);
        assert_eq!(bench.queue.next_due(), Some(written + COOLDOWN));
        bench.advance(COOLDOWN);
        assert_eq!(bench.queue.take(bench.now), Some(7));
        let until = bench.queue.cooldown_until(&7, bench.now);
        assert_eq!(until, Some(written + longest).filter(|_| others > 0));
        bench.queue.done(&7);
        bench.advance(COOLDOWN_MAX);
        assert_eq!(bench.queue.cooldown_until(&7, bench.now), None);
    }
}

#[test]
fn the_last_of_events_that_arrive_together_is_acted_upon_at_once() {
    let mut bench = Bench::new();
    bench.queue.heed([(7, Cause::Advanced)], bench.now);
    assert_eq!(bench.queue.take(bench.now), None);
    bench.queue.heed([(7, Cause::Edited)], bench.now);
    assert_eq!(bench.queue.take(bench.now), Some(7));
    // A key that has just written cools down all the same: edits may come one after the other.
    bench.queue.cool_down(&7, 3, bench.now);
    bench.queue.done(&7);
    bench.queue.heed([(7, Cause::Edited)], bench.now);
    assert_eq!(bench.queue.take(bench.now), None);
    assert_eq!(bench.queue.next_due(), Some(bench.now + COOLDOWN));
    // Unless nothing more is about to follow.
    bench.queue.heed([(7, Cause::Settled)], bench.now);
    assert_eq!(bench.queue.take(bench.now), Some(7));
    bench.queue.done(&7);
    // And it came for all of these events.
    bench.advance(COOLDOWN_MAX);
    assert_eq!(bench.queue.take(bench.now), None);
}

#[test]
fn bad_news_waits_for_nothing() {
    let mut bench = Bench::new();
    bench.requeue(7);
    assert_eq!(bench.take(), Some(7));
    bench.queue.cool_down(&7, 3, bench.now);
    bench.queue.done(&7);
    bench.queue.heed([(7, Cause::TakenBack)], bench.now);
    assert_eq!(bench.queue.take(bench.now), Some(7), "it rested");
    assert!(bench.queue.is_hurried(&7));
    assert_eq!(bench.queue.cooldown_until(&7, bench.now), None);
    // More bad news comes, while the first is reported.
    bench.queue.heed([(7, Cause::TakenBack)], bench.now);
    bench.queue.cool_down(&7, 3, bench.now);
    assert!(bench.queue.done(&7));
    assert_eq!(bench.queue.take(bench.now), Some(7), "it had written in between");
    assert_eq!(bench.queue.cooldown_until(&7, bench.now), None);
    bench.queue.cool_down(&7, 3, bench.now);
    bench.queue.done(&7);
    // Once the news is reported, the key cools down as any other.
    bench.queue.heed([(7, Cause::Advanced)], bench.now);
    assert_eq!(bench.queue.next_due(), Some(bench.now + COOLDOWN));
    bench.advance(COOLDOWN);
    assert_eq!(bench.queue.take(bench.now), Some(7));
    assert!(!bench.queue.is_hurried(&7));
}

#[test]
fn bad_news_that_could_not_be_told_is_told_at_the_next_event() {
    for is_behind in [true, false] {
        let mut bench = Bench::new();
        bench.queue.heed([(7, Cause::TakenBack)], bench.now);
        assert_eq!(bench.queue.take(bench.now), Some(7));
        if is_behind {
            let until = bench.now + Duration::from_secs(30);
            bench.queue.wait(7, Wait { until, reason: Reason::CacheBehind });
        } else {
            bench.queue.add_failed(7, bench.now);
        }
        bench.queue.done(&7);
        assert_eq!(bench.queue.take(bench.now), None);
        bench.queue.heed([(7, Cause::Advanced)], bench.now);
        assert_eq!(bench.queue.take(bench.now), Some(7));
        assert!(bench.queue.is_hurried(&7));
    }
}

#[test]
fn a_key_that_keeps_failing_is_not_hastened() {
    let mut bench = Bench::new();
    for _ in 0..FAILURES_MANY {
        let (delay, _) = bench.queue.add_failed(7, bench.now);
        bench.advance(delay);
    }
    assert_eq!(bench.queue.take(bench.now), Some(7));
    bench.queue.add_failed(7, bench.now);
    bench.queue.done(&7);
    bench.queue.heed([(7, Cause::Edited), (7, Cause::TakenBack)], bench.now);
    assert_eq!(bench.queue.take(bench.now), None);
    bench.advance(HEED_AFTER);
    assert_eq!(bench.queue.take(bench.now), Some(7));
}

#[test]
fn a_key_in_work_comes_again_afterwards() {
    let mut bench = Bench::new();
    bench.requeue(7);
    assert_eq!(bench.take(), Some(7));
    bench.requeue(7);
    assert_eq!(bench.take(), None);
    assert!(bench.queue.done(&7));
    assert_eq!(bench.take(), Some(7));
}

#[test]
fn an_event_overtakes_a_delay() {
    let mut bench = Bench::new();
    bench.queue.wait(7, Wait { until: bench.now + Duration::from_secs(600), reason: Reason::Deadline });
    assert_eq!(bench.take(), None);
    bench.requeue(7);
    assert_eq!(bench.take(), Some(7));
    bench.queue.done(&7);
    bench.advance(Duration::from_secs(700));
    assert_eq!(bench.take(), None);
}

#[test]
fn failures_double_the_delay_up_to_the_cap_and_never_drop() {
    let mut bench = Bench::new();
    let mut last = Duration::ZERO;
    for attempt in 1..40 {
        let (delay, count) = bench.fail(7);
        assert_eq!(count, attempt);
        assert!(delay >= last && delay <= BACKOFF_MAX, "{delay:?} after {last:?}");
        last = delay;
        assert_eq!(bench.work(), Some(7));
    }
    assert_eq!(last, BACKOFF_MAX);
    bench.queue.succeeded(&7);
    assert_eq!(bench.fail(7), (BACKOFF_BASE, 1));
}

#[test]
fn an_event_during_backoff_does_not_lengthen_it() {
    let mut bench = Bench::new();
    for _ in 0..5 {
        bench.fail(7);
        assert_eq!(bench.work(), Some(7));
    }
    let (delay, count) = bench.fail(7);
    bench.advance(COALESCE);
    bench.requeue(7);
    assert_eq!(bench.work(), Some(7));
    let (again, same) = bench.fail(7);
    assert_eq!(same, count);
    assert!(again < delay);
}

#[test]
fn retries_of_many_keys_share_a_bucket() {
    let mut bench = Bench::new();
    let delays: Vec<Duration> = (0..5000).map(|key| bench.fail(key).0).collect();
    assert_eq!(delays[0], BACKOFF_BASE);
    assert_eq!(delays[199], Duration::from_secs(10));
    assert_eq!(delays[4999], BUCKET_DEBT_MAX);
}

#[test]
fn events_requeue_a_key_that_keeps_failing_once_a_second() {
    let mut bench = Bench::new();
    for _ in 0..14 {
        bench.fail(7);
        assert_eq!(bench.work(), Some(7));
    }
    let (delay, _) = bench.fail(7);
    assert!(delay > Duration::from_secs(60), "{delay:?}");
    // Each attempt makes an event, as one that writes before it fails does.
    let start = bench.now;
    for _ in 0..10 {
        bench.requeue(7);
        assert_eq!(bench.work(), Some(7));
        bench.fail(7);
    }
    assert_eq!(bench.now.duration_since(start), 10 * HEED_AFTER);
}

#[test]
fn each_wait_has_its_reason() {
    let start = Instant::now();
    let mut queue = Queue::new(start);
    let reason = |queue: &Queue<u32>, key: u32| queue.waiting().get(&key).map(|wait| wait.reason);
    queue.heed([(1, Cause::Advanced)], start);
    assert_eq!(reason(&queue, 1), Some(Reason::Gathering));
    queue.wait(2, Wait { until: start + Duration::from_secs(9), reason: Reason::Deadline });
    assert_eq!(reason(&queue, 2), Some(Reason::Deadline));
    queue.wait(3, Wait { until: start + Duration::from_secs(9), reason: Reason::Queued });
    assert_eq!(reason(&queue, 3), Some(Reason::Queued));
    queue.add_failed(4, start);
    assert_eq!(reason(&queue, 4), Some(Reason::BackingOff));
    queue.cool_down(&5, 0, start);
    queue.requeue([5], start);
    assert_eq!(reason(&queue, 5), Some(Reason::Cooldown));
    // An event ends a wait, and is its reason.
    queue.heed([(3, Cause::Advanced)], start);
    assert_eq!(reason(&queue, 3), Some(Reason::Gathering));
    let later = start + Duration::from_millis(100);
    while queue.take(later).is_some() {}
    assert_eq!(queue.waiting().into_keys().copied().collect::<Vec<_>>(), [2]);
}
