use std::time::Duration;

use super::*;

async fn pop(queue: &Queue<u32>) -> Option<u32> {
    queue.pop().await.map(|(key, _)| key)
}

async fn pop_now(queue: &Queue<u32>) -> Option<u32> {
    tokio::time::timeout(Duration::from_millis(10), pop(queue)).await.ok().flatten()
}

#[tokio::test(start_paused = true)]
async fn a_key_is_waited_for() {
    let queue = Queue::new();
    assert_eq!(pop_now(&queue).await, None);
    queue.wake([7]);
    assert_eq!(pop_now(&queue).await, Some(7));
    queue.wake([7]);
    assert_eq!(pop_now(&queue).await, None, "in work");
    assert_eq!(queue.schedule(&7, &Next::Nothing), Scheduled::Fine);
    assert_eq!(pop_now(&queue).await, Some(7));
    queue.schedule(&7, &Next::After(Duration::from_secs(60)));
    assert_eq!(pop_now(&queue).await, None);
    assert_eq!(pop(&queue).await, Some(7));
}

#[tokio::test(start_paused = true)]
async fn a_closed_queue_ends_its_workers() {
    let queue = std::sync::Arc::new(Queue::<u32>::new());
    let worker = tokio::spawn({
        let queue = queue.clone();
        async move { pop(&queue).await }
    });
    tokio::task::yield_now().await;
    queue.close();
    assert_eq!(worker.await.expect("worker"), None);
}

#[tokio::test(start_paused = true)]
async fn somebody_watches_the_clock_while_others_work() {
    let queue = std::sync::Arc::new(Queue::new());
    queue.wake([1]);
    queue.lock().add_after(2, Duration::from_secs(1), clock::now());
    assert_eq!(pop_now(&queue).await, Some(1));
    let second = tokio::spawn({
        let queue = queue.clone();
        async move { pop(&queue).await }
    });
    assert_eq!(second.await.expect("worker"), Some(2));
}

#[tokio::test(start_paused = true)]
async fn it_tells_how_it_stands() {
    let second = Duration::from_secs(1);
    let queue = Queue::new();
    queue.wake([1, 2, 2]);
    tokio::time::advance(second).await;
    let reading = queue.reading();
    assert_eq!((reading.depth, reading.added, reading.longest), (2, 0, Duration::ZERO), "nobody looked yet");
    let (key, waited) = queue.pop().await.expect("a key");
    assert_eq!(key, 1);
    assert!(waited > second / 2 && waited <= second, "{waited:?} since it was due");
    tokio::time::advance(second).await;
    assert_eq!(pop(&queue).await, Some(2));
    tokio::time::advance(second).await;
    let expected = Reading { depth: 0, added: 2, unfinished: second * 3, longest: second * 2 };
    assert_eq!(queue.reading(), expected);
    queue.schedule(&1, &Next::Nothing);
    assert_eq!(queue.reading(), Reading { unfinished: second, longest: second, ..expected });
}

#[tokio::test(start_paused = true)]
async fn a_paused_queue_collects_and_is_never_overdue() {
    let queue = std::sync::Arc::new(Queue::new());
    queue.pause();
    queue.wake([1, 2]);
    assert_eq!(pop_now(&queue).await, None);
    tokio::time::advance(Duration::from_secs(600)).await;
    assert_eq!(queue.overdue(), Duration::ZERO);
    let worker = tokio::spawn({
        let queue = queue.clone();
        async move { pop(&queue).await }
    });
    tokio::task::yield_now().await;
    queue.resume();
    assert_eq!(worker.await.expect("worker"), Some(1));
    assert_eq!(pop_now(&queue).await, Some(2));
}

#[tokio::test(start_paused = true)]
async fn a_key_that_was_put_back_comes_again_without_a_failure() {
    let queue = Queue::new();
    queue.wake([1]);
    assert_eq!(pop(&queue).await, Some(1));
    queue.put_back(&1);
    assert_eq!(pop(&queue).await, Some(1));
    let failed = Next::Failed(pass::PassError { message: String::new(), retry: true, conflict: false });
    assert!(matches!(queue.schedule(&1, &failed), Scheduled::Retry(_, 1)), "the first failure");
}

#[tokio::test(start_paused = true)]
async fn a_paused_queue_ends_its_workers_when_it_is_closed() {
    let queue = std::sync::Arc::new(Queue::<u32>::new());
    queue.pause();
    let worker = tokio::spawn({
        let queue = queue.clone();
        async move { pop(&queue).await }
    });
    tokio::task::yield_now().await;
    queue.close();
    assert_eq!(worker.await.expect("worker"), None);
}
