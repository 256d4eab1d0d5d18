use super::*;

async fn pop_now(queue: &Queue<u32>) -> Option<u32> {
    tokio::time::timeout(Duration::from_millis(10), queue.pop()).await.ok().flatten()
}

#[tokio::test(start_paused = true)]
async fn keys_come_in_order_and_once() {
    let queue = Queue::new();
    queue.wake([1]);
    tokio::time::advance(Duration::from_millis(1)).await;
    queue.wake([3, 2, 1, 3]);
    assert_eq!(pop_now(&queue).await, Some(1));
    assert_eq!(pop_now(&queue).await, Some(2));
    assert_eq!(pop_now(&queue).await, Some(3));
    assert_eq!(pop_now(&queue).await, None);
}

#[tokio::test(start_paused = true)]
async fn a_burst_makes_one_pass() {
    let queue = Queue::new();
    for _ in 0..5 {
        queue.wake([7]);
        tokio::time::advance(Duration::from_micros(500)).await;
    }
    assert_eq!(pop_now(&queue).await, Some(7));
    queue.done(&7);
    assert_eq!(pop_now(&queue).await, None);
}

#[tokio::test(start_paused = true)]
async fn a_key_in_work_comes_again_afterwards() {
    let queue = Queue::new();
    queue.wake([7]);
    assert_eq!(pop_now(&queue).await, Some(7));
    queue.wake([7]);
    assert_eq!(pop_now(&queue).await, None);
    queue.done(&7);
    assert_eq!(pop_now(&queue).await, Some(7));
}

#[tokio::test(start_paused = true)]
async fn an_event_overtakes_a_delay() {
    let queue = Queue::new();
    queue.add_after(7, Duration::from_secs(600));
    assert_eq!(pop_now(&queue).await, None);
    queue.wake([7]);
    assert_eq!(pop_now(&queue).await, Some(7));
    queue.done(&7);
    tokio::time::advance(Duration::from_secs(700)).await;
    assert_eq!(pop_now(&queue).await, None);
}

#[tokio::test(start_paused = true)]
async fn failures_double_the_delay_up_to_the_cap_and_never_drop() {
    let queue = Queue::new();
    let mut last = Duration::ZERO;
    for attempt in 1..40 {
        let (delay, count) = queue.add_failed(7);
        assert_eq!(count, attempt);
        assert!(delay >= last && delay <= BACKOFF_MAX, "{delay:?} after {last:?}");
        last = delay;
        assert_eq!(queue.pop().await, Some(7));
        queue.done(&7);
    }
    assert_eq!(last, BACKOFF_MAX);
    queue.forget(&7);
    assert_eq!(queue.add_failed(7), (BACKOFF_BASE, 1));
}

#[tokio::test(start_paused = true)]
async fn an_event_during_backoff_does_not_lengthen_it() {
    let queue = Queue::new();
    for _ in 0..5 {
        queue.add_failed(7);
        assert_eq!(queue.pop().await, Some(7));
        queue.done(&7);
    }
    let (delay, count) = queue.add_failed(7);
    queue.wake([7]);
    assert_eq!(pop_now(&queue).await, Some(7));
    queue.done(&7);
    let (again, same) = queue.add_failed(7);
    assert_eq!(same, count);
    assert!(again < delay);
}

#[tokio::test(start_paused = true)]
async fn retries_of_many_keys_share_a_bucket() {
    let queue = Queue::new();
    let delays: Vec<Duration> = (0..5000).map(|key| queue.add_failed(key).0).collect();
    assert_eq!(delays[0], BACKOFF_BASE);
    assert_eq!(delays[199], Duration::from_secs(10));
    assert_eq!(delays[4999], BUCKET_DEBT_MAX);
}

#[tokio::test(start_paused = true)]
async fn a_closed_queue_ends_its_workers() {
    let queue = std::sync::Arc::new(Queue::<u32>::new());
    let worker = tokio::spawn({
        let queue = queue.clone();
        async move { queue.pop().await }
    });
    tokio::task::yield_now().await;
    queue.close();
    assert_eq!(worker.await.expect("worker"), None);
}

#[tokio::test(start_paused = true)]
async fn somebody_watches_the_clock_while_others_work() {
    let queue = std::sync::Arc::new(Queue::new());
    queue.wake([1]);
    queue.add_after(2, Duration::from_secs(1));
    assert_eq!(pop_now(&queue).await, Some(1));
    let second = tokio::spawn({
        let queue = queue.clone();
        async move { queue.pop().await }
    });
    assert_eq!(second.await.expect("worker"), Some(2));
}

#[tokio::test(start_paused = true)]
async fn events_wake_a_key_that_keeps_failing_once_a_second() {
    let queue = Queue::new();
    for _ in 0..14 {
        queue.add_failed(7);
        assert_eq!(queue.pop().await, Some(7));
        queue.done(&7);
    }
    let (delay, _) = queue.add_failed(7);
    assert!(delay > Duration::from_secs(60), "{delay:?}");
    // Each attempt makes an event, as one that writes before it fails does.
    let start = Instant::now();
    for _ in 0..10 {
        queue.wake([7]);
        assert_eq!(queue.pop().await, Some(7));
        queue.add_failed(7);
        queue.done(&7);
    }
    assert_eq!(start.elapsed(), 10 * HEED_AFTER);
}
