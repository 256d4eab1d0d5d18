//! Many rollouts that are blocked at the same time: how many requests the operator makes to find the causes.

use std::collections::BTreeMap;

use engine::durations::{EVENTS_AGAIN, LOOK_AGAIN, LOOK_INTERVAL};

use super::*;

/// For so long the requests are counted.
const FIVE_MINUTES: Duration = Duration::from_secs(300);

/// The times of all requests of a kind, by what they ask for: pods of one Deployment, events of one pod.
type Asked = BTreeMap<String, Vec<Instant>>;

fn total(asked: &Asked) -> usize {
    asked.values().map(Vec::len).sum()
}

/// The shortest time between two requests for the same.
fn pause(asked: &Asked) -> Option<Duration> {
    asked.values().flat_map(|times| times.windows(2).map(|pair| pair[1] - pair[0])).min()
}

/// The lists of pods and of events within five minutes, with this many blocked rollouts.
async fn asked(blocked: usize) -> (Asked, Asked) {
    // The pods run, and need longer to become ready than the test takes: only their events can show why.
    let rig = Rig::with_pods(Flavour::Rollwright, AN_HOUR, Duration::ZERO);
    for number in 0..blocked {
        rig.create(&format!("web-{number:03}"), 1, "app:v1").await;
    }
    tokio::time::sleep(SOON).await;
    let before = rig.faults.reads().len();
    tokio::time::sleep(FIVE_MINUTES).await;
    let (mut pods, mut events, mut all) = (Asked::new(), Asked::new(), Vec::new());
    for (time, what) in rig.faults.reads().split_off(before) {
        let kind = if what.contains("/pods?") {
            &mut pods
        } else if what.contains("/events?") {
            &mut events
        } else {
            continue;
        };
        kind.entry(what).or_default().push(time);
        all.push(time);
    }
    assert!(all.windows(2).all(|pair| pair[1] - pair[0] >= LOOK_INTERVAL), "more than five in a second");
    (pods, events)
}

#[tokio::test(start_paused = true)]
async fn five_hundred_blocked_rollouts_share_five_requests_a_second() {
    let (pods, events) = asked(500).await;
    let (all, most) = (total(&pods) + total(&events), 5 * 300);
    assert!(all <= most + 1 && all > most * 9 / 10, "{all} requests");
    assert_eq!(pods.len(), 500);
    assert!(pause(&pods) >= Some(LOOK_AGAIN) && pause(&events) >= Some(EVENTS_AGAIN));
}

/// Few of them need less than that: then each has limits of its own.
#[tokio::test(start_paused = true)]
async fn a_blocked_rollout_waits_between_two_requests() {
    let (pods, events) = asked(20).await;
    assert!(pause(&pods) >= Some(LOOK_AGAIN), "{:?}", pause(&pods));
    assert!(pause(&events) >= Some(EVENTS_AGAIN), "{:?}", pause(&events));
    let counts = [total(&pods), total(&events)];
    let most =
        [LOOK_AGAIN, EVENTS_AGAIN].map(|pause| 20 * (300 / usize::try_from(pause.as_secs()).unwrap() + 1));
    assert!(counts[0] <= most[0] && counts[0] > most[0] * 8 / 10, "{counts:?} of {most:?}");
    assert!(counts[1] <= most[1] && counts[1] > most[1] / 2, "{counts:?} of {most:?}");
}
