use super::*;

fn outcome(error: Option<ReconcileError>, requeue: Requeue) -> Outcome {
    Outcome {
        error,
        requeue,
        why: None,
        writes: 0,
        wrote_status: false,
        status_waits: false,
        awaited: None,
        deviations: std::collections::BTreeSet::new(),
    }
}

fn error(retry: bool) -> ReconcileError {
    ReconcileError { message: "no".to_owned(), retry, conflict: false }
}

#[test]
fn an_error_counts_more_than_a_wish() {
    let now = Instant::now();
    let after = |error, requeue| Next::after(outcome(error, requeue), Timestamp::UNIX_EPOCH, now);
    assert_eq!(after(Some(error(true)), Requeue::Again), Next::Failed(error(true)));
    assert_eq!(after(None, Requeue::OnChange), Next::Nothing);
    let soon = Wait { until: now + DEADLINE_AGAIN, reason: Reason::Deadline };
    assert_eq!(after(None, Requeue::Again), Next::After(soon));
}

#[test]
fn a_time_has_its_reason_and_is_soon_once_it_has_passed() {
    let (now, timestamp) = (Instant::now(), Timestamp::UNIX_EPOCH);
    let at = |seconds| timestamp + jiff::SignedDuration::from_secs(seconds);
    let after = |requeue| Next::after(outcome(None, requeue), timestamp, now);
    for (requeue, late, reason) in [
        (Requeue::Deadline(at(5)), Requeue::Deadline(at(-5)), Reason::Deadline),
        (Requeue::StatusPaced(at(5)), Requeue::StatusPaced(at(-5)), Reason::StatusPaced),
        (Requeue::NamesTaken(at(5)), Requeue::NamesTaken(at(-5)), Reason::NamesTaken),
    ] {
        assert_eq!(after(requeue), Next::After(Wait { until: now + Duration::from_secs(5), reason }));
        assert_eq!(after(late), Next::After(Wait { until: now + DEADLINE_AGAIN, reason }));
    }
}

#[test]
fn only_success_and_giving_up_end_a_row_of_failures() {
    let now = Instant::now();
    let mut queue = Queue::new(now);
    let mut apply = |next: Next| next.apply(&mut queue, &7, now);
    let first = Scheduled::Retry(Duration::from_millis(5), 1);
    assert_eq!(apply(Next::Failed(error(true))), first);
    assert_eq!(apply(Next::Wait(Wait { until: now, reason: Reason::CacheBehind })), Scheduled::Waits);
    // Within the delay of the first failure it is still that one.
    assert_eq!(apply(Next::Failed(error(true))), first);
    assert_eq!(apply(Next::Failed(error(false))), Scheduled::GivenUp);
    assert_eq!(queue.next_due(), Some(now));
    assert_eq!(queue.take(now), Some(7));
}
