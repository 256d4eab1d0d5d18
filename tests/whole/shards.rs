//! Two shards, and a namespace that goes from one to the other: however far the watches of either lag,
//! never do both decide.

use std::time::Duration;

use plan::Flavour;
use rollwright::Operator;
use serde_json::json;
use tokio::time::Instant;

use super::faults::{Fault, Faulty, On};
use super::rig::Rig;
use super::{AN_HOUR, BOTH, SOON};

/// The namespace that all happens in, as the rig has it.
const PLACE: &str = "default";
/// After it was moved, until the one that lost it writes no more,
const STOPPED: Duration = Duration::from_secs(5);
/// and until the one that won it begins.
const LEFT_ALONE: Duration = Duration::from_secs(15);
/// The winner begins soon then.
const BEGUN: Duration = Duration::from_secs(18);
/// Longer than a shard needs to start.
const SETTLED: Duration = Duration::from_secs(25);

/// The operator of a shard, and its way to the server.
struct Shard {
    _operator: Operator,
    faults: Faulty,
}

impl Shard {
    fn of(rig: &Rig, selector: &str) -> Self {
        let (operator, faults) = rig.shard(selector);
        Self { _operator: operator, faults }
    }

    fn has_written(&self) -> bool {
        self.faults.take_first_write().is_some()
    }
}

/// Both shards, with a Deployment in the first one that has come up. Three more pods may be there than
/// asked for, and two may be missing.
async fn two(flavour: Flavour) -> (Rig, Shard, Shard) {
    let rig = Rig::without_operator(flavour);
    rig.put_into_shard(PLACE, Some("a")).await;
    let (a, b) = (Shard::of(&rig, "shard=a"), Shard::of(&rig, "shard=b"));
    rig.create("web", 10, "app:v1").await;
    let limits = json!({ "maxSurge": 3, "maxUnavailable": 2 });
    rig.patch("web", json!({ "spec": { "strategy": { "rollingUpdate": limits } } })).await;
    rig.settle("web", SETTLED).await;
    tokio::time::sleep(SETTLED).await;
    assert!(a.has_written() && !b.has_written());
    (rig, a, b)
}

/// The namespace goes over while there is something to do for both, and all ends well.
async fn moves(rig: &Rig, from: &Shard, to: &Shard, shard: &str, image: &str) {
    to.faults.take_first_write();
    let moved = Instant::now();
    rig.put_into_shard(PLACE, Some(shard)).await;
    rig.set_image("web", image).await;
    // The one that has lost it may be through with that before it has to stop.
    tokio::time::sleep(STOPPED + Duration::from_millis(100)).await;
    rig.set_image("web", &format!("{image}-final")).await;
    while to.faults.take_first_write().is_none() {
        let waited = moved.elapsed();
        assert!(waited <= BEGUN, "nobody has begun after {waited:?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(moved.elapsed() >= LEFT_ALONE, "begun after {:?}", moved.elapsed());
    rig.settle("web", SETTLED).await;
    let last = from.faults.last_write().map(|last| last.saturating_duration_since(moved));
    assert!(last.is_some_and(|last| last <= STOPPED), "still written after {last:?}");
}

#[tokio::test(start_paused = true)]
async fn each_manages_its_own_namespaces() {
    for flavour in BOTH {
        let (rig, a, b) = two(flavour).await;
        rig.roll_out("web", "app:v2", SOON).await;
        assert!(a.has_written() && !b.has_written());
        // An idle operator writes nothing, and looks at nothing.
        tokio::time::sleep(SETTLED).await;
        let begin = [&a, &b].map(|shard| (shard.faults.last_write(), shard.faults.reads().len()));
        tokio::time::sleep(AN_HOUR).await;
        assert_eq!([&a, &b].map(|shard| (shard.faults.last_write(), shard.faults.reads().len())), begin);
    }
}

#[tokio::test(start_paused = true)]
async fn a_namespace_that_moves_in_the_middle_of_a_rollout() {
    for flavour in BOTH {
        let (rig, a, b) = two(flavour).await;
        rig.begin("web", "app:v2").await;
        moves(&rig, &a, &b, "b", "app:v3").await;
        rig.begin("web", "app:v4").await;
        // The namespace returns to a shard that remembers it.
        moves(&rig, &b, &a, "a", "app:v5").await;
    }
}

/// The shard that loses it learns nothing: neither that it has lost it, nor anything else.
#[tokio::test(start_paused = true)]
async fn a_loser_that_does_not_know() {
    for flavour in BOTH {
        for lags in [Some("namespaces"), None] {
            let (rig, a, b) = two(flavour).await;
            rig.begin("web", "app:v2").await;
            a.faults.freeze_those_of(lags);
            moves(&rig, &a, &b, "b", "app:v3").await;
            rig.roll_out("web", "app:v4", SETTLED).await;
        }
    }
}

/// Its last write is on its way for almost five seconds.
#[tokio::test(start_paused = true)]
async fn a_write_of_the_loser_that_takes_long() {
    let (rig, a, b) = two(Flavour::Rollwright).await;
    a.faults.arm(On::Write("replicasets"), Fault::Late(Duration::from_millis(4500)), 1);
    rig.set_image("web", "app:v2").await;
    while a.faults.met() == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    moves(&rig, &a, &b, "b", "app:v3").await;
}

/// The one that wins it has watches that lag: what it decides from is what it lists.
#[tokio::test(start_paused = true)]
async fn a_winner_whose_watches_lag() {
    for flavour in BOTH {
        for lags in [Some("replicasets"), Some("deployments")] {
            let (rig, a, b) = two(flavour).await;
            b.faults.freeze_those_of(lags);
            rig.set_image("web", "app:bad").await;
            tokio::time::sleep(Duration::from_secs(10)).await;
            assert_eq!(rig.sizes("web"), [8, 5]);
            moves_slowly(&rig, &a, &b).await;
        }
    }
}

/// The same without a word on how soon all is done.
async fn moves_slowly(rig: &Rig, from: &Shard, to: &Shard) {
    to.faults.take_first_write();
    rig.put_into_shard(PLACE, Some("b")).await;
    tokio::time::sleep(STOPPED).await;
    from.faults.take_first_write();
    rig.roll_out("web", "app:v3", Duration::from_secs(210)).await;
    assert!(to.has_written() && !from.has_written());
}

/// There and back again while the first one sees nothing: it must not continue from what it knew.
#[tokio::test(start_paused = true)]
async fn there_and_back_again_unseen() {
    for flavour in BOTH {
        let (rig, a, b) = two(flavour).await;
        a.faults.freeze_those_of(Some("namespaces|replicasets"));
        rig.put_into_shard(PLACE, Some("b")).await;
        rig.set_image("web", "app:bad").await;
        tokio::time::sleep(SETTLED).await;
        assert_eq!(rig.sizes("web"), [8, 5]);
        assert!(b.has_written());
        a.faults.take_first_write();
        rig.put_into_shard(PLACE, Some("a")).await;
        rig.set_image("web", "app:v3").await;
        tokio::time::sleep(STOPPED).await;
        b.faults.take_first_write();
        rig.settle("web", Duration::from_secs(210)).await;
        assert!(a.has_written() && !b.has_written());
    }
}

/// What matches no selector is left alone.
#[tokio::test(start_paused = true)]
async fn a_namespace_of_no_shard() {
    let (rig, a, b) = two(Flavour::Rollwright).await;
    rig.put_into_shard(PLACE, None).await;
    rig.set_image("web", "app:v2").await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    a.faults.take_first_write();
    tokio::time::sleep(AN_HOUR).await;
    assert!(!a.has_written() && !b.has_written());
    let rest = Shard::of(&rig, "!shard");
    rig.settle("web", SETTLED).await;
    assert!(rest.has_written() && !a.has_written() && !b.has_written());
}

/// One that is created in a shard was never in another one: nobody waits.
#[tokio::test(start_paused = true)]
async fn a_namespace_that_is_created() {
    let (rig, a, _b) = two(Flavour::Rollwright).await;
    for number in 0..3 {
        let name = format!("new-{number}");
        rig.put_into_shard(&name, Some("a")).await;
        rig.create_in(&name, "web", 2, "app:v1").await;
        let begin = Instant::now();
        while rig.sizes_in(&name, "web") != [2] {
            assert!(begin.elapsed() < Duration::from_secs(2), "{name} is not taken care of");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
    assert!(a.has_written());
}

/// Who may not look at the namespace writes nothing there; who may not list it, neither.
#[tokio::test(start_paused = true)]
async fn looks_and_lists_that_fail() {
    for flavour in BOTH {
        let (rig, a, b) = two(flavour).await;
        a.faults.arm(On::Get("namespaces"), Fault::Refuse(403), u32::MAX);
        tokio::time::sleep(STOPPED).await;
        a.faults.take_first_write();
        rig.set_image("web", "app:v2").await;
        tokio::time::sleep(SETTLED).await;
        assert!(!a.has_written());
        assert!(a.faults.heal() > 3);
        rig.half_way("web").await;
        b.faults.arm(On::List("replicasets"), Fault::Refuse(500), 5);
        rig.put_into_shard(PLACE, Some("b")).await;
        rig.settle("web", SETTLED + SOON).await;
        assert_eq!(b.faults.heal(), 5);
    }
}

/// Nothing is begun before namespaces are known, and it is the watch of namespaces that is reported to fail.
#[tokio::test(start_paused = true)]
async fn namespaces_that_cannot_be_listed() {
    let rig = Rig::without_operator(Flavour::Rollwright);
    rig.put_into_shard(PLACE, Some("a")).await;
    let (operator, faults) = rig.shard("shard=a");
    faults.arm(On::List("namespaces"), Fault::Refuse(403), u32::MAX);
    rig.create("web", 2, "app:v1").await;
    tokio::time::sleep(AN_HOUR).await;
    assert_eq!(faults.take_first_write(), None);
    let complaints = operator.complaints(Duration::from_secs(180));
    assert_eq!(complaints, "", "it is tried again and again: no restart would help");
    faults.heal();
    rig.settle("web", SETTLED + SOON).await;
}

/// The server forgets what has happened, so that the namespaces are listed again, and one has changed: it may have been
/// away.
#[tokio::test(start_paused = true)]
async fn a_history_of_namespaces_that_is_gone() {
    let (rig, a, b) = two(Flavour::Rollwright).await;
    a.faults.arm(On::Watch("namespaces"), Fault::Refuse(500), 8);
    a.faults.cut();
    rig.put_into_shard(PLACE, Some("b")).await;
    rig.put_into_shard(PLACE, Some("a")).await;
    rig.cluster.act(|cluster| cluster.store.compact(cluster.store.version()));
    a.faults.take_first_write();
    rig.set_image("web", "app:v2").await;
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert!(!a.has_written() && !b.has_written());
    rig.settle("web", 2 * SOON).await;
    assert!(a.has_written() && !b.has_written());
}
