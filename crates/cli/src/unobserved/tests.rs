use super::*;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap_or_default()
}

/// A change that is five seconds old; everything may be read, and nothing shows life.
fn signs(leases: Leases) -> Signs {
    Signs {
        now: at(1000),
        changed: at(995),
        is_queued: false,
        leases,
        here: None,
        anywhere: None,
        is_whole: true,
    }
}

/// The same, two minutes old.
fn old(leases: Leases) -> Signs {
    Signs { changed: at(880), ..signs(leases) }
}

const ALL: [Leases; 6] =
    [Leases::Settled, Leases::Live, Leases::Dead, Leases::Mixed, Leases::Missing, Leases::Hidden];

fn of_all(signs: impl Fn(Leases) -> Signs) -> [Unobserved; 6] {
    ALL.map(|leases| Unobserved::of(&signs(leases)))
}

#[test]
fn without_a_status_that_was_written_the_lease_decides() {
    use Unobserved::{Absent, Unclear, Unseen, Waiting};
    assert_eq!(of_all(signs), [Waiting, Waiting, Absent, Unclear, Unclear, Unclear]);
    // A controller that has nothing to do would have looked by now.
    assert_eq!(of_all(old), [Unseen, Waiting, Absent, Unclear, Absent, Unclear]);
    // The controller may have to do what the user does not see.
    let partly = |leases| Signs { is_whole: false, ..old(leases) };
    assert_eq!(of_all(partly), [Waiting, Waiting, Absent, Unclear, Unclear, Unclear]);
}

#[test]
fn a_controller_that_is_slow_is_not_called_idle() {
    let slow = Signs { anywhere: Some(at(960)), ..old(Leases::Settled) };
    assert_eq!(Unobserved::of(&slow), Unobserved::Waiting);
    let young = Signs { changed: at(960), ..signs(Leases::Settled) };
    assert_eq!(Unobserved::of(&young), Unobserved::Waiting);
}

#[test]
fn whoever_writes_in_the_namespace_is_alive() {
    let here = |leases| Signs { here: Some(at(990)), anywhere: Some(at(990)), ..old(leases) };
    assert_eq!(of_all(here), [Unobserved::Waiting; 6]);
}

#[test]
fn whoever_writes_elsewhere_is_alive_unless_there_are_others() {
    use Unobserved::{Unclear, Waiting};
    let elsewhere = |leases| Signs { anywhere: Some(at(990)), ..old(leases) };
    assert_eq!(of_all(elsewhere), [Waiting, Waiting, Waiting, Unclear, Waiting, Waiting]);
}

#[test]
fn what_was_written_long_ago_or_before_the_change_is_no_sign() {
    for (changed, written) in [(880, 930), (995, 994)] {
        let stale = |leases| Signs {
            changed: at(changed),
            here: Some(at(written)),
            anywhere: Some(at(written)),
            ..signs(leases)
        };
        let without = |leases| Signs { here: None, anywhere: None, ..stale(leases) };
        assert_eq!(of_all(stale), of_all(without), "{changed} {written}");
    }
}

#[test]
fn a_queued_rollout_is_seen() {
    use Unobserved::{Absent, Unclear, Waiting};
    let queued = |leases| Signs { is_queued: true, ..old(leases) };
    assert_eq!(of_all(queued), [Waiting, Waiting, Absent, Unclear, Absent, Unclear]);
}

#[test]
fn each_api_names_its_controller() {
    let words = |unobserved: Unobserved, flavour| unobserved.sentence(flavour, "The rollout");
    assert_eq!(
        words(Unobserved::Waiting, Flavour::Rollwright),
        "The rollout is waiting in the queue: the operator has not observed this change yet"
    );
    assert_eq!(
        words(Unobserved::Absent, Flavour::AppsV1),
        "The last change has not been observed: the controller of apps/v1 does not run, or does not see it"
    );
}
