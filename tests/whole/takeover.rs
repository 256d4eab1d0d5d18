//! Two operators, and one of them leads: what the other does when it takes over, above all when its watches have shown
//! it less than the last leader did.

use std::time::Duration;

use engine::index::Key;
use plan::Flavour;
use plan::keys::MANAGED_VALUE;
use rollwright::Operator;
use serde_json::json;
use tokio::time::Instant;

use world::UNREADY_AFTER_MS;

use super::faults::{Fault, Faulty, On};
use super::rig::Rig;
use super::{AN_HOUR, BOTH, SOON};

/// After the leader is gone without a word, until the other one writes.
const TAKEOVER: Duration = Duration::from_secs(20);
/// After it ended in order.
const HANDOVER: Duration = Duration::from_secs(2);
/// Longer than a standby needs to fill its caches.
pub(super) const SETTLED: Duration = Duration::from_secs(10);
/// How often the tests look.
const GLANCE: Duration = Duration::from_millis(5);

/// An operator, and its way to the server.
pub(super) struct Member {
    operator: Operator,
    pub(super) faults: Faulty,
}

impl Member {
    pub(super) fn of(rig: &Rig) -> Self {
        Self::with(rig, &[])
    }

    pub(super) fn with(rig: &Rig, flags: &[&str]) -> Self {
        let (operator, faults) = rig.candidate(flags);
        Self { operator, faults }
    }

    fn leads(&self) -> bool {
        self.operator.leads()
    }

    /// Waits until it leads.
    pub(super) async fn wins(&self) {
        let begin = Instant::now();
        while !self.leads() {
            assert!(begin.elapsed() <= TAKEOVER, "it does not lead after {:?}", begin.elapsed());
            tokio::time::sleep(GLANCE).await;
        }
    }

    /// Waits until it writes, and returns how long after this time that was.
    pub(super) async fn writes(&self, since: Instant, at_most: Duration) -> Duration {
        loop {
            if let Some(at) = self.faults.take_first_write() {
                let took = at.duration_since(since);
                assert!(took <= at_most, "it writes after {took:?}");
                return took;
            }
            assert!(since.elapsed() <= at_most, "it has not written after {:?}", since.elapsed());
            tokio::time::sleep(GLANCE).await;
        }
    }

    /// Ends it in order: it gives the lease back.
    pub(super) async fn end(self) {
        self.operator.end().await;
    }

    /// Its process is killed: nothing that it was about to do is done.
    pub(super) fn kill(self) -> Instant {
        self.faults.hold();
        drop(self.operator);
        Instant::now()
    }
}

/// A leader, and one that stands by, with a Deployment that has come up. Three more pods may be there
/// than asked for, and two may be missing.
pub(super) async fn two(flavour: Flavour, replicas: i64) -> (Rig, Member, Member) {
    let rig = Rig::without_operator(flavour);
    let leader = Member::of(&rig);
    leader.wins().await;
    let other = Member::of(&rig);
    rig.create("web", replicas, "app:v1").await;
    let limits = json!({ "maxSurge": 3, "maxUnavailable": 2 });
    rig.patch("web", json!({ "spec": { "strategy": { "rollingUpdate": limits } } })).await;
    rig.settle("web", SETTLED).await;
    tokio::time::sleep(SETTLED).await;
    assert!(leader.leads() && !other.leads());
    assert_eq!(other.faults.take_first_write(), None);
    (rig, leader, other)
}

/// Writes that the edit was observed, as the leader does if it lives a moment longer. Otherwise, the new one acts on
/// the edit before its lists come.
async fn observed(rig: &Rig) {
    let generation = rig.object("web").await["metadata"]["generation"].clone();
    rig.patch_status("web", json!({ "status": { "observedGeneration": generation } })).await;
}

/// The other one takes over after a kill, and ends what was begun.
async fn takes_over(rig: &Rig, killed: Instant, other: &Member) {
    let took = other.writes(killed, TAKEOVER).await;
    assert!(took > Duration::from_secs(10), "the lease had not expired after {took:?}");
    rig.settle("web", TAKEOVER).await;
}

/// SU-1. A rollout is stuck, and its author continues with the next template. An operator that has not seen the stuck
/// one believes that there is room for pods; and what is created has no version that would show otherwise.
#[tokio::test(start_paused = true)]
async fn a_standby_that_has_not_seen_the_last_set() {
    for flavour in BOTH {
        for lags in [Some("replicasets"), None] {
            let (rig, leader, other) = two(flavour, 10).await;
            other.faults.freeze_those_of(lags);
            rig.set_image("web", "app:bad").await;
            tokio::time::sleep(SETTLED).await;
            assert_eq!(rig.sizes("web"), [8, 5]);
            let killed = leader.kill();
            rig.set_image("web", "app:v2").await;
            takes_over(&rig, killed, &other).await;
        }
    }
}

/// AV-1. New pods fail while a rollout is paused, and it is resumed when its leader dies. An operator that has seen
/// them well believes that old ones may go, because their ReplicaSet has not changed.
#[tokio::test(start_paused = true)]
async fn a_standby_that_counts_on_pods_that_have_failed() {
    for flavour in BOTH {
        let (rig, leader, other) = two(flavour, 10).await;
        let fail =
            |after: serde_json::Value| json!({ "metadata": { "annotations": { UNREADY_AFTER_MS: after } } });
        rig.patch("web", json!({ "spec": { "template": fail("8000".into()) } })).await;
        rig.half_way("web").await;
        rig.patch("web", json!({ "spec": { "paused": true } })).await;
        tokio::time::sleep(Duration::from_secs(3)).await;
        let half_way = rig.sizes("web");
        assert_eq!(half_way.iter().filter(|size| **size > 0).count(), 2, "{half_way:?}");
        other.faults.freeze_those_of(Some("replicasets"));
        tokio::time::sleep(SETTLED).await;
        let killed = leader.kill();
        rig.patch("web", json!({ "spec": { "paused": false } })).await;
        other.writes(killed, TAKEOVER).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        rig.patch("web", json!({ "spec": { "template": fail(json!(null)) } })).await;
        rig.settle("web", TAKEOVER).await;
    }
}

/// The leader is killed after each of its writes, and the standby has seen none of the rollout, or
/// only how the Deployment changed.
#[tokio::test(start_paused = true)]
async fn a_leader_killed_after_each_write() {
    for flavour in BOTH {
        for (writes, lags) in
            (1..=9).zip([Some("replicasets"), None, Some("deployments")].into_iter().cycle())
        {
            let (rig, leader, other) = two(flavour, 10).await;
            other.faults.freeze_those_of(lags);
            leader.faults.hold_after(writes);
            rig.set_image("web", "app:v2").await;
            if writes > 3 {
                rig.half_way("web").await;
                rig.set_image("web", "app:v3").await;
            }
            leader.faults.held().await;
            takes_over(&rig, leader.kill(), &other).await;
        }
    }
}

/// A leader that ends in order is followed immediately, with all that it has done.
#[tokio::test(start_paused = true)]
async fn a_leader_that_hands_over() {
    for flavour in BOTH {
        let (rig, leader, other) = two(flavour, 10).await;
        rig.begin("web", "app:v2").await;
        other.faults.freeze_those_of(Some("replicasets"));
        rig.begin("web", "app:v3").await;
        let told = Instant::now();
        leader.operator.end().await;
        other.writes(told, HANDOVER).await;
        rig.settle("web", SETTLED).await;
    }
}

/// A leader that is stopped for longer than its lease, and then continues: nothing that it was about to write is
/// written. It stands by, and leads again when the other one ends, and then it knows what the other one did.
#[tokio::test(start_paused = true)]
async fn a_leader_that_is_stopped_and_goes_on() {
    for flavour in BOTH {
        for writes in 1..=3 {
            let (rig, leader, other) = two(flavour, 10).await;
            leader.faults.hold_after(writes);
            rig.set_image("web", "app:v2").await;
            leader.faults.held().await;
            takes_over(&rig, Instant::now(), &other).await;
            leader.faults.take_first_write();
            leader.faults.let_go();
            rig.roll_out("web", "app:v3", SETTLED).await;
            assert_eq!(leader.faults.take_first_write(), None);
            // What its watches bring lags again.
            leader.faults.freeze_those_of(Some("replicasets"));
            rig.patch("web", json!({ "spec": { "replicas": 5 } })).await;
            rig.settle("web", SETTLED).await;
            rig.patch("web", json!({ "spec": { "replicas": 10 } })).await;
            rig.settle("web", SETTLED).await;
            let told = Instant::now();
            other.operator.end().await;
            rig.set_image("web", "app:v2").await;
            leader.writes(told, HANDOVER).await;
            rig.settle("web", SETTLED).await;
        }
    }
}

/// A leader that reaches everything but the Lease stops when its lead ends, and not before; the other one continues
/// when the lease has expired.
#[tokio::test(start_paused = true)]
async fn a_leader_that_cannot_renew() {
    for flavour in BOTH {
        let (rig, leader, other) = two(flavour, 10).await;
        rig.patch("web", json!({ "spec": { "minReadySeconds": 8 } })).await;
        tokio::time::sleep(SETTLED).await;
        leader.faults.arm(On::All("leases"), Fault::Drop, u32::MAX);
        leader.faults.cut();
        let begin = Instant::now();
        rig.set_image("web", "app:v2").await;
        let mut last = begin;
        while leader.leads() {
            last = leader.faults.take_first_write().unwrap_or(last);
            tokio::time::sleep(GLANCE).await;
        }
        let led = begin.elapsed();
        assert!(led > Duration::from_secs(7) && led <= Duration::from_secs(10), "{led:?}");
        assert!(last > begin, "it wrote nothing while it led");
        leader.faults.take_first_write();
        other.writes(begin, TAKEOVER).await;
        rig.settle("web", 2 * TAKEOVER).await;
        assert_eq!(leader.faults.take_first_write(), None);
        // The former leader takes part again once it can.
        leader.faults.heal();
        tokio::time::sleep(SETTLED).await;
        let told = Instant::now();
        other.operator.end().await;
        rig.set_image("web", "app:v3").await;
        leader.writes(told, HANDOVER).await;
        rig.settle("web", 2 * TAKEOVER).await;
    }
}

/// Lists that fail hold a takeover up, for however long; nothing is written before they have come,
/// and nobody takes it for a stall.
#[tokio::test(start_paused = true)]
async fn lists_that_fail_while_taking_over() {
    for (flavour, kind) in [(Flavour::Rollwright, "replicasets"), (Flavour::AppsV1, "deployments")] {
        let (rig, leader, other) = two(flavour, 10).await;
        rig.begin("web", "app:v2").await;
        for fault in [Fault::Refuse(500), Fault::Hang] {
            other.faults.arm(On::List(kind), fault, 3);
        }
        leader.kill();
        observed(&rig).await;
        other.wins().await;
        while other.faults.met() < 6 {
            assert_eq!(other.faults.take_first_write(), None, "{kind}");
            assert_eq!(other.operator.complaints(Duration::from_secs(180)), "");
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        assert!(other.leads());
        other.faults.heal();
        other.writes(Instant::now(), SOON).await;
        rig.settle("web", SETTLED).await;
    }
}

/// A standby with a watch that has failed for so long that it is hardly tried any more lists immediately when it takes
/// over.
#[tokio::test(start_paused = true)]
async fn a_standby_whose_watch_is_in_its_backoff() {
    for flavour in BOTH {
        let (rig, leader, other) = two(flavour, 10).await;
        other.faults.arm(On::Watch("replicasets"), Fault::Refuse(500), u32::MAX);
        other.faults.cut();
        tokio::time::sleep(Duration::from_secs(600)).await;
        rig.begin("web", "app:v2").await;
        leader.operator.end().await;
        // The new leader may have nothing to write before it is shown something.
        tokio::time::sleep(HANDOVER).await;
        assert!(other.operator.works());
        other.faults.heal();
        rig.settle("web", SOON).await;
    }
}

/// The machine that all of it runs on stands still for a while: the one that leads after that writes, and nobody else.
#[tokio::test(start_paused = true)]
async fn everything_stands_still_for_a_while() {
    for seconds in [9, 12, 16, 60] {
        let (rig, _leader, _other) = two(Flavour::Rollwright, 10).await;
        rig.begin("web", "app:v2").await;
        tokio::time::advance(Duration::from_secs(seconds)).await;
        rig.settle("web", TAKEOVER + SETTLED).await;
    }
}

/// Who loses the lease before its lists have come writes nothing when they come.
#[tokio::test(start_paused = true)]
async fn a_term_that_ends_before_the_lists_come() {
    for flavour in BOTH {
        let (rig, leader, second) = two(flavour, 10).await;
        rig.begin("web", "app:v2").await;
        second.faults.arm(On::List("replicasets"), Fault::Late(Duration::from_secs(25)), 1);
        leader.kill();
        observed(&rig).await;
        second.wins().await;
        let third = Member::of(&rig);
        second.faults.arm(On::All("leases"), Fault::Drop, u32::MAX);
        second.faults.cut();
        third.wins().await;
        assert!(!second.leads());
        rig.settle("web", TAKEOVER).await;
        tokio::time::sleep(AN_HOUR).await;
        assert_eq!(second.faults.take_first_write(), None);
    }
}

/// The next leader finds a ReplicaSet that loses the operator's label while nobody leads. Of those that the leader
/// deletes, a standby keeps no list, which would grow for as long as it stands by.
#[tokio::test(start_paused = true)]
async fn sets_that_leave_the_watch_of_a_standby() {
    let (rig, leader, other) = two(Flavour::Rollwright, 10).await;
    rig.patch("web", json!({ "spec": { "revisionHistoryLimit": 0 } })).await;
    for version in 2..6 {
        rig.roll_out("web", &format!("app:v{version}"), SETTLED).await;
    }
    tokio::time::sleep(SETTLED).await;
    assert_eq!(rig.sizes("web"), [10]);
    let key = Key { namespace: "default".to_owned(), name: "web".to_owned() };
    assert_eq!(other.operator.strays(&key), []);
    leader.kill();
    rig.label_sets("web", None).await;
    other.wins().await;
    tokio::time::sleep(HANDOVER).await;
    assert_eq!(rig.labels_of_sets("web"), [Some(MANAGED_VALUE.to_owned())]);
    // While it leads, it asks immediately.
    for value in [None, Some("false")] {
        rig.label_sets("web", value).await;
        tokio::time::sleep(HANDOVER).await;
        assert_eq!(rig.labels_of_sets("web"), [Some(MANAGED_VALUE.to_owned())], "{value:?}");
    }
}

/// The same for one that has led before, and has looked for such ReplicaSets then.
#[tokio::test(start_paused = true)]
async fn sets_that_leave_the_watch_between_two_terms() {
    let (rig, leader, other) = two(Flavour::Rollwright, 10).await;
    leader.faults.hold();
    other.wins().await;
    leader.faults.let_go();
    tokio::time::sleep(SETTLED).await;
    assert!(other.leads() && !leader.leads());
    other.kill();
    rig.label_sets("web", None).await;
    leader.wins().await;
    tokio::time::sleep(HANDOVER).await;
    assert_eq!(rig.labels_of_sets("web"), [Some(MANAGED_VALUE.to_owned())]);
}

/// A standby writes nothing, and the leader of an idle cluster nothing but its Lease.
#[tokio::test(start_paused = true)]
async fn two_that_have_nothing_to_do() {
    let (rig, leader, other) = two(Flavour::Rollwright, 10).await;
    for version in 2..5 {
        rig.roll_out("web", &format!("app:v{version}"), SETTLED).await;
    }
    tokio::time::sleep(SETTLED).await;
    leader.faults.take_first_write();
    tokio::time::sleep(AN_HOUR).await;
    assert_eq!((leader.faults.take_first_write(), other.faults.take_first_write()), (None, None));
    assert!(leader.leads() && !other.leads());
}
