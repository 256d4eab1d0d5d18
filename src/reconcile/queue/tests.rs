use std::time::Duration;

use engine::index::{Index, Sight};
use engine::waits::Wait;
use plan::Flavour;

use super::*;

fn queue() -> Queue {
    let cache = Index::new(Sight::ByLabel);
    Queue::new(Arc::new(Engine::new(Flavour::Rollwright, engine::Settings::default(), cache, clock::now())))
}

fn key(number: u32) -> Key {
    Key { namespace: "ns".to_owned(), name: number.to_string() }
}

fn deadline_in(seconds: u64) -> Wait {
    Wait { until: clock::now() + Duration::from_secs(seconds), reason: Reason::Deadline }
}

async fn pop(queue: &Queue) -> Option<u32> {
    queue.pop().await.and_then(|(key, _)| key.name.parse().ok())
}

async fn pop_now(queue: &Queue) -> Option<u32> {
    tokio::time::timeout(Duration::from_millis(10), pop(queue)).await.ok().flatten()
}

#[tokio::test(start_paused = true)]
async fn a_key_is_waited_for() {
    let queue = queue();
    assert_eq!(pop_now(&queue).await, None);
    queue.requeue([7].map(key));
    assert_eq!(pop_now(&queue).await, Some(7));
    queue.requeue([7].map(key));
    assert_eq!(pop_now(&queue).await, None, "in work");
    assert_eq!(queue.schedule(&key(7), &Next::Nothing), Scheduled::Fine);
    assert_eq!(pop_now(&queue).await, Some(7));
    queue.schedule(&key(7), &Next::After(deadline_in(60)));
    assert_eq!(pop_now(&queue).await, None);
    assert_eq!(pop(&queue).await, Some(7));
}

#[tokio::test(start_paused = true)]
async fn a_closed_queue_ends_its_workers() {
    let queue = std::sync::Arc::new(queue());
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
    let queue = std::sync::Arc::new(queue());
    queue.requeue([1].map(key));
    queue.engine.state().queue.wait(key(2), deadline_in(1));
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
    let queue = queue();
    queue.requeue([1, 2, 2].map(key));
    tokio::time::advance(second).await;
    let reading = queue.reading();
    assert_eq!((reading.depth, reading.added, reading.longest), (2, 2, Duration::ZERO), "none is in work");
    let (first, waited) = queue.pop().await.expect("a key");
    assert_eq!(first, key(1));
    assert!(waited > second / 2 && waited <= second, "{waited:?} since it was due");
    tokio::time::advance(second).await;
    assert_eq!(pop(&queue).await, Some(2));
    tokio::time::advance(second).await;
    let expected = Reading { depth: 0, added: 2, unfinished: second * 3, longest: second * 2 };
    assert_eq!(queue.reading(), expected);
    queue.schedule(&key(1), &Next::Nothing);
    assert_eq!(queue.reading(), Reading { unfinished: second, longest: second, ..expected });
}

#[tokio::test(start_paused = true)]
async fn a_paused_queue_collects_and_is_never_overdue() {
    let queue = std::sync::Arc::new(queue());
    queue.pause();
    queue.requeue([1, 2].map(key));
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
    let queue = queue();
    queue.requeue([1].map(key));
    assert_eq!(pop(&queue).await, Some(1));
    queue.put_back(&key(1));
    assert_eq!(pop(&queue).await, Some(1));
    let failed = Next::Failed(engine::reconcile::ReconcileError {
        message: String::new(),
        retry: true,
        conflict: false,
    });
    assert!(matches!(queue.schedule(&key(1), &failed), Scheduled::Retry(_, 1)), "the first failure");
}

#[tokio::test(start_paused = true)]
async fn a_paused_queue_ends_its_workers_when_it_is_closed() {
    let queue = std::sync::Arc::new(queue());
    queue.pause();
    let worker = tokio::spawn({
        let queue = queue.clone();
        async move { pop(&queue).await }
    });
    tokio::task::yield_now().await;
    queue.close();
    assert_eq!(worker.await.expect("worker"), None);
}
