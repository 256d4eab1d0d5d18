mod server;

use super::*;
use server::Fate::{AnswerLost, Answered, NotCarriedOut};
use server::{Server, candidate, seconds, two};

#[test]
fn a_missing_lease_is_created() {
    let (mut server, mut a) = (Server::new(), candidate("a"));
    let sent = server.run(&mut a, Answered);
    assert!(matches!(sent.as_slice(), [Request::Read, Request::Create(_)]), "{sent:?}");
    let record = server.record();
    assert_eq!((record.holder.as_str(), record.duration_seconds, record.transitions), ("a", 15, 0));
    assert_eq!(record.acquired, record.renewed);
    assert_eq!(a.lead(server.now).map(|lead| lead.term), Some(1));
}

#[test]
fn a_holder_renews_every_retry_period_by_one_request() {
    let (mut server, mut a, _) = two();
    let acquired = server.record().acquired.clone();
    for _ in 0..5 {
        assert_eq!(a.next(server.now, server.wall, 1.0), Todo::Sleep(server.now + seconds(2)), "no jitter");
        server.advance(seconds(2));
        let sent = server.run(&mut a, Answered);
        assert!(matches!(sent.as_slice(), [Request::Replace { .. }]), "{sent:?}");
    }
    assert_eq!((&server.record().acquired, server.record().transitions), (&acquired, 0));
    assert_ne!(server.record().renewed, acquired);
    assert_eq!(a.lead(server.now).map(|lead| lead.term), Some(1));
}

#[test]
fn a_candidate_asks_between_one_and_two_and_a_fifth_retry_periods() {
    for (chance, milliseconds) in [(0.0, 2000), (0.5, 3200), (1.0, 4400), (7.0, 4400)] {
        let (mut server, _, _) = two();
        let mut c = candidate("c");
        while let Todo::Send(request) = c.next(server.now, server.wall, chance) {
            let reply = server.carry_out(request);
            c.answered(server.now, server.now, reply);
        }
        let due = server.now + Duration::from_millis(milliseconds);
        assert_eq!(c.next(server.now, server.wall, chance), Todo::Sleep(due), "{chance}");
    }
}

#[test]
fn a_lease_is_taken_when_it_was_not_seen_to_change_for_its_duration() {
    let (mut server, a, mut b) = two();
    let mut last = Vec::new();
    while !server.leads(&b) {
        server.advance(Duration::from_millis(500));
        last = server.run(&mut b, Answered);
        assert!(server.elapsed() < seconds(30), "nobody takes over");
    }
    assert!((seconds(15)..=seconds(18)).contains(&server.elapsed()), "{:?}", server.elapsed());
    assert!(matches!(last.as_slice(), [Request::Read, Request::Replace { .. }]), "{last:?}");
    assert_eq!((server.record().holder.as_str(), server.record().transitions), ("b", 1));
    assert!(!server.leads(&a), "the old one has given up long ago, without being told");
}

#[test]
fn the_clock_of_the_holder_means_nothing() {
    for years in [-100_i64, 100] {
        let (mut server, mut a, mut b) = two();
        // The holder's clock is wrong, and it renews all the same.
        for _ in 0..20 {
            server.advance(seconds(2));
            let right = server.wall;
            server.wall += jiff::SignedDuration::from_hours(years * 365 * 24);
            server.run(&mut a, Answered);
            server.wall = right;
            server.run(&mut b, Answered);
            assert!(server.leads(&a) && !server.leads(&b), "{years} years");
        }
    }
}

#[test]
fn ones_own_wall_clock_may_jump() {
    let (mut server, mut a, mut b) = two();
    for hours in [1_i64, -3, 1000, -1000] {
        server.wall += jiff::SignedDuration::from_hours(hours);
        server.advance(seconds(2));
        server.run(&mut b, Answered);
        server.run(&mut a, Answered);
        assert!(server.leads(&a) && !server.leads(&b), "{hours}");
    }
}

#[test]
fn an_old_renewal_is_waited_for_as_a_new_one() {
    // All candidates are new, and the lease shows that it was renewed an hour ago.
    let (mut server, _, _) = two();
    server.advance(seconds(3600));
    let mut c = candidate("c");
    server.run(&mut c, Answered);
    server.advance(Duration::from_millis(14_900));
    server.run(&mut c, Answered);
    assert!(!server.leads(&c));
    server.advance(seconds(3));
    server.run(&mut c, Answered);
    assert!(server.leads(&c));
}

#[test]
fn who_cannot_renew_gives_up_before_others_may_take_over() {
    let (mut server, mut a, mut b) = two();
    server.advance(Duration::from_millis(9_999));
    server.run(&mut a, NotCarriedOut);
    assert!(server.leads(&a));
    server.advance(Duration::from_millis(1));
    assert!(!server.leads(&a), "the renew deadline has passed");
    server.run(&mut b, Answered);
    assert!(!server.leads(&b), "and the lease has not");
    // The server is back before anybody took the lease: the same holder, in a new term.
    server.advance(seconds(2));
    server.run(&mut a, Answered);
    assert_eq!(a.lead(server.now).map(|lead| lead.term), Some(2));
    assert_eq!(server.record().transitions, 0);
}

#[test]
fn a_renewal_counts_from_when_it_was_sent() {
    let (mut server, mut a, _) = two();
    server.advance(seconds(2));
    let sent = server.now;
    let Todo::Send(request) = a.next(sent, server.wall, 0.0) else { panic!("a renewal is due") };
    let reply = server.carry_out(request);
    server.advance(seconds(9));
    a.answered(sent, server.now, reply);
    assert_eq!(a.lead(server.now).map(|lead| lead.until), Some(sent + seconds(10)));
}

#[test]
fn a_stolen_lease_is_noticed_by_the_conflict() {
    let (mut server, mut a, _) = two();
    let thief = Record { holder: "thief".to_owned(), transitions: 7, ..server.record().clone() };
    server.put(thief);
    server.advance(seconds(2));
    let sent = server.run(&mut a, Answered);
    assert!(matches!(sent.as_slice(), [Request::Replace { .. }, Request::Read]), "{sent:?}");
    assert!(!server.leads(&a));
    assert_eq!(a.holder(), Some("thief"));
}

#[test]
fn a_conflict_over_a_label_costs_nothing() {
    let (mut server, mut a, _) = two();
    server.version += 1;
    server.advance(seconds(2));
    let sent = server.run(&mut a, Answered);
    assert_eq!(sent.len(), 3, "{sent:?}");
    assert_eq!(a.lead(server.now).map(|lead| (lead.term, lead.until)), Some((1, server.now + seconds(10))));
}

#[test]
fn a_label_is_no_sign_of_life() {
    let (mut server, _, mut b) = two();
    for _ in 0..9 {
        server.advance(seconds(2));
        server.version += 1;
        server.run(&mut b, Answered);
    }
    assert!(server.leads(&b));
}

#[test]
fn a_lost_answer_of_a_renewal_is_read() {
    let (mut server, mut a, mut b) = two();
    server.advance(seconds(2));
    server.run(&mut a, AnswerLost);
    assert_eq!(a.lead(server.now).map(|lead| lead.until), Some(server.now + seconds(8)), "not extended");
    server.advance(seconds(2));
    server.run(&mut b, Answered);
    server.run(&mut a, Answered);
    assert_eq!(a.lead(server.now).map(|lead| (lead.term, lead.until)), Some((1, server.now + seconds(10))));
    assert_eq!(server.record().transitions, 0);
}

#[test]
fn a_lost_answer_of_a_takeover_is_no_lead_until_it_is_confirmed() {
    let (mut server, _, mut b) = two();
    server.advance(seconds(15));
    // The read is answered, the takeover is not.
    let Todo::Send(Request::Read) = b.next(server.now, server.wall, 0.0) else { panic!("a read") };
    b.answered(server.now, server.now, server.reply());
    let Todo::Send(take) = b.next(server.now, server.wall, 0.0) else { panic!("a takeover") };
    server.carry_out(take);
    b.answered(server.now, server.now, Reply::Failed);
    assert_eq!(server.record().holder, "b");
    assert!(!server.leads(&b));
    server.advance(seconds(5));
    server.run(&mut b, Answered);
    assert!(server.leads(&b));
    assert_eq!(server.record().transitions, 1, "counted once");
}

#[test]
fn of_two_that_take_it_at_once_one_gets_it() {
    let (mut server, _, mut b) = two();
    let mut c = candidate("c");
    server.run(&mut c, Answered);
    server.advance(seconds(20));
    let read = |elector: &mut Elector, server: &Server| {
        let Todo::Send(Request::Read) = elector.next(server.now, server.wall, 0.0) else { panic!("a read") };
        elector.answered(server.now, server.now, server.reply());
    };
    read(&mut b, &server);
    read(&mut c, &server);
    server.run(&mut b, Answered);
    server.run(&mut c, Answered);
    assert!(server.leads(&b) && !server.leads(&c));
    assert_eq!(server.record().transitions, 1);
}

#[test]
fn a_released_lease_is_taken_at_once() {
    let (mut server, mut a, mut b) = two();
    server.advance(seconds(1));
    a.resign();
    assert!(!server.leads(&a), "from this moment on, whatever comes of the release");
    let sent = server.run(&mut a, Answered);
    assert!(matches!(sent.as_slice(), [Request::Read, Request::Replace { .. }]), "{sent:?}");
    let record = server.record();
    assert_eq!((record.holder.as_str(), record.duration_seconds, record.transitions), ("", 1, 0));
    assert_eq!(a.next(server.now, server.wall, 0.0), Todo::Done);
    // The candidate learns of the release from its watch.
    assert_eq!(server.run(&mut b, Answered), []);
    b.observe(server.now, server.reply());
    server.run(&mut b, Answered);
    assert!(server.leads(&b));
    assert_eq!(server.record().transitions, 1);
}

#[test]
fn a_renewal_under_way_does_not_undo_the_release() {
    for is_carried_out in [true, false] {
        let (mut server, mut a, _) = two();
        server.advance(seconds(2));
        let Todo::Send(renewal) = a.next(server.now, server.wall, 0.0) else { panic!("a renewal") };
        if is_carried_out {
            server.carry_out(renewal.clone());
        }
        a.resign();
        server.run(&mut a, Answered);
        assert_eq!(server.record().holder, "");
        assert_eq!(server.carry_out(renewal), Reply::Failed, "late, and for another version");
    }
}

#[test]
fn who_stands_by_takes_nothing_when_it_ends() {
    let (mut server, _, mut b) = two();
    b.resign();
    assert_eq!(server.run(&mut b, Answered), []);
    // Even a candidate in the middle of a takeover only gives back.
    let (mut server, _, mut b) = two();
    server.advance(seconds(20));
    let Todo::Send(Request::Read) = b.next(server.now, server.wall, 0.0) else { panic!("a read") };
    b.resign();
    assert_eq!(server.run(&mut b, Answered), [Request::Read]);
    assert_eq!(server.record().holder, "a");
}

#[test]
fn a_deleted_lease_is_made_anew() {
    let (mut server, mut a, _) = two();
    server.lease = None;
    server.advance(seconds(2));
    server.run(&mut a, Answered);
    assert!(server.leads(&a));
    assert_eq!(server.record().holder, "a");
}

#[test]
fn who_stands_by_looks_when_the_lease_expires() {
    let (mut server, _, mut b) = two();
    // Its retry period and jitter would let it look at 13.2 s and 17.6 s.
    while let Todo::Send(request) = {
        server.advance(seconds(1));
        b.next(server.now, server.wall, 1.0)
    } {
        let reply = server.carry_out(request);
        b.answered(server.now, server.now, reply);
    }
    let mut looked = Vec::new();
    while !server.leads(&b) {
        match b.next(server.now, server.wall, 1.0) {
            Todo::Sleep(until) => server.advance(until - server.now),
            Todo::Send(request) => {
                looked.push(server.elapsed());
                let reply = server.carry_out(request);
                b.answered(server.now, server.now, reply);
            }
            Todo::Done => panic!("it has not resigned"),
        }
    }
    assert_eq!(server.elapsed(), seconds(15), "{looked:?}");
}

#[test]
fn what_a_watch_shows_is_a_sign_of_life() {
    let (mut server, mut a, mut b) = two();
    server.advance(seconds(2));
    server.run(&mut a, Answered);
    b.observe(server.now, server.reply());
    // Were it not for the watch, b would count from the start, or from when it reads next.
    server.advance(seconds(14));
    server.run(&mut b, Answered);
    assert!(!server.leads(&b));
    server.advance(seconds(1));
    server.run(&mut b, Answered);
    assert!(server.leads(&b));
}

#[test]
fn a_watch_that_lags_costs_nobody_the_lease() {
    let (mut server, mut a, mut b) = two();
    let old = server.reply();
    for _ in 0..20 {
        server.advance(seconds(2));
        server.run(&mut a, Answered);
        a.observe(server.now, old.clone());
        a.observe(server.now, Reply::Missing);
        server.run(&mut a, Answered);
        b.observe(server.now, old.clone());
        server.run(&mut b, Answered);
        assert!(server.leads(&a) && !server.leads(&b));
    }
    assert_eq!(a.lead(server.now).map(|lead| lead.term), Some(1));
}

#[test]
fn a_holder_is_told_of_a_theft_by_its_watch() {
    let (mut server, mut a, _) = two();
    let thief = Record { holder: "thief".to_owned(), ..server.record().clone() };
    let shown = server.put(thief);
    a.observe(server.now, shown);
    server.run(&mut a, Answered);
    assert!(!server.leads(&a), "without waiting for the next renewal");
}

#[test]
fn a_zombie_reads_before_it_leads() {
    let (mut server, mut a, mut b) = two();
    // a is stopped for 20 s; b takes over.
    for _ in 0..10 {
        server.advance(seconds(2));
        server.run(&mut b, Answered);
    }
    assert!(server.leads(&b));
    assert!(!server.leads(&a), "at its very first moment");
    let sent = server.run(&mut a, Answered);
    assert_eq!(sent, [Request::Read]);
    assert!(!server.leads(&a));
    assert_eq!(a.holder(), Some("b"));
}
