use std::time::Duration;

use super::*;

const LATER: Duration = Duration::from_secs(1);

fn reason(facts: &Facts) -> Option<Reason> {
    match facts.standing() {
        Standing::Now => None,
        Standing::Wait(wait) => {
            assert_eq!(wait.until, facts.now + LATER);
            Some(wait.reason)
        }
    }
}

#[test]
fn nothing_known_keeps_nothing() {
    assert_eq!(Facts::at(Instant::now()).standing(), Standing::Now);
}

#[test]
fn each_fact_keeps_a_key_until_its_time() {
    let now = Instant::now();
    let none = Facts::at(now);
    let until = Some(now + LATER);
    let mut all = vec![
        (Reason::ServerBusy, Facts { spared_until: until, ..none }),
        (Reason::Rival, Facts { rival_until: until, ..none }),
        (Reason::CacheBehind, Facts { cache: Readiness::Wait(now + LATER), ..none }),
        (Reason::Cooldown, Facts { cooldown_until: until, ..none }),
        (Reason::Queued, Facts { queued_until: until, ..none }),
    ];
    for reason in Reason::ALL {
        let due = Some(Wait { until: now + LATER, reason });
        all.push((reason, Facts { due, ..none }));
    }
    for (expected, facts) in all {
        assert_eq!(reason(&facts), Some(expected));
        assert_eq!(Facts { now: now + LATER, ..facts }.standing(), Standing::Now, "{expected} is over");
    }
}

#[test]
fn the_first_of_the_ladder_is_named() {
    let now = Instant::now();
    let until = Some(now + LATER);
    let mut facts = Facts {
        spared_until: until,
        rival_until: until,
        cache: Readiness::Wait(now + LATER),
        cooldown_until: until,
        queued_until: until,
        ..Facts::at(now)
    };
    assert_eq!(reason(&facts), Some(Reason::ServerBusy));
    facts.spared_until = None;
    assert_eq!(reason(&facts), Some(Reason::Rival));
    facts.rival_until = Some(now);
    assert_eq!(reason(&facts), Some(Reason::CacheBehind));
    // The cache had time enough: the ladder reads live.
    facts.cache = Readiness::Overdue;
    assert_eq!(reason(&facts), Some(Reason::Cooldown));
    facts.is_settled = true;
    assert_eq!(reason(&facts), Some(Reason::Queued));
}
