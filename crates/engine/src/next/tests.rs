use super::*;

fn outcome(error: Option<PassError>, wake: Wake) -> Outcome {
    Outcome {
        error,
        wake,
        why: None,
        writes: 0,
        wrote_status: false,
        holds_status: false,
        deviations: std::collections::BTreeSet::new(),
    }
}

fn error(retry: bool) -> PassError {
    PassError { message: "no".to_owned(), retry, conflict: false }
}

#[test]
fn an_error_counts_more_than_a_wish() {
    let now = Timestamp::UNIX_EPOCH;
    assert_eq!(Next::after(outcome(Some(error(true)), Wake::Again), now), Next::Failed(error(true)));
    assert_eq!(Next::after(outcome(None, Wake::OnChange), now), Next::Nothing);
    assert_eq!(Next::after(outcome(None, Wake::Again), now), Next::After(AGAIN));
}

#[test]
fn a_time_that_has_passed_is_soon() {
    let now = Timestamp::UNIX_EPOCH;
    let at = |seconds| Wake::At(now + jiff::SignedDuration::from_secs(seconds));
    assert_eq!(Next::after(outcome(None, at(5)), now), Next::After(Duration::from_secs(5)));
    assert_eq!(Next::after(outcome(None, at(-5)), now), Next::After(AGAIN));
}

#[test]
fn only_success_and_giving_up_end_a_row_of_failures() {
    let now = Instant::now();
    let mut queue = Queue::new(now);
    let mut apply = |next: Next| next.apply(&mut queue, &7, now);
    let first = Scheduled::Retry(Duration::from_millis(5), 1);
    assert_eq!(apply(Next::Failed(error(true))), first);
    assert_eq!(apply(Next::Wait(Wait { until: now, reason: Reason::CacheBehind })), Scheduled::Parked);
    // Within the delay of the first failure it is still that one.
    assert_eq!(apply(Next::Failed(error(true))), first);
    assert_eq!(apply(Next::Failed(error(false))), Scheduled::GivenUp);
    assert_eq!(queue.next_due(), Some(now));
    assert_eq!(queue.take(now), Some(7));
}
