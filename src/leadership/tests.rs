use std::time::Duration;

use super::*;

fn lead(term: u64, seconds: u64) -> Option<Lead> {
    let now = clock::now();
    Some(Lead {
        term,
        until: now + Duration::from_secs(seconds),
        expires: now + Duration::from_secs(seconds + 5),
    })
}

#[tokio::test(start_paused = true)]
async fn without_an_election_everything_is_permitted() {
    let leadership = Leadership::unneeded();
    assert_eq!(leadership.permit(None), Ok(None));
    assert_eq!(leadership.won().await, leadership.term().expect("always"));
}

#[tokio::test(start_paused = true)]
async fn leadership_ends_by_itself() {
    let (announcer, leadership) = Leadership::elected();
    assert!(leadership.permit(None).is_err_and(|refusal| refusal.is_not_sent()));
    announcer.send_replace(lead(1, 10));
    let expires = leadership.permit(None).expect("permitted").expect("bounded");
    assert_eq!(expires - clock::now(), Duration::from_secs(15));
    tokio::time::advance(Duration::from_millis(9_999)).await;
    assert!(leadership.permit(None).is_ok());
    tokio::time::advance(Duration::from_millis(1)).await;
    assert!(leadership.permit(None).is_err(), "and nobody had to tell");
    assert_eq!(leadership.term(), None);
}

#[tokio::test(start_paused = true)]
async fn work_of_an_earlier_term_is_refused() {
    let (announcer, leadership) = Leadership::elected();
    announcer.send_replace(lead(1, 10));
    assert!(leadership.permit(Some(1)).is_ok());
    announcer.send_replace(None);
    announcer.send_replace(lead(2, 10));
    assert!(leadership.permit(Some(1)).is_err_and(|refusal| refusal.is_not_sent()));
    assert!(leadership.permit(Some(2)).is_ok());
}

#[tokio::test(start_paused = true)]
async fn gains_and_losses_are_waited_for() {
    let (announcer, leadership) = Leadership::elected();
    let waiting = tokio::spawn({
        let leadership = leadership.clone();
        async move {
            let term = leadership.won().await;
            leadership.lost(term).await;
            (term, clock::now())
        }
    });
    tokio::task::yield_now().await;
    announcer.send_replace(lead(3, 10));
    tokio::time::sleep(Duration::from_secs(5)).await;
    // Renewed in between, so that the first end means nothing.
    announcer.send_replace(lead(3, 10));
    let end = clock::now() + Duration::from_secs(10);
    let (term, at) = waiting.await.expect("a task");
    assert_eq!(term, 3);
    assert!(at >= end && at < end + Duration::from_millis(10));
}
