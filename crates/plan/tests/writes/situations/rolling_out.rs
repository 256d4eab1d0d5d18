//! What a reconcile that rolls out does: creation, growth, cuts, the end, Recreate, and statuses that wait.

use jiff::SignedDuration;
use plan::keys::reason;
use plan::{Flavour, Pod, Strategy};

use super::{complete, fresh, half_way, known, old, progressing, set_of, with_idle};
use crate::world::{World, fingerprint, refusal};
use crate::writes::Situation;

pub(super) fn all() -> Vec<Situation> {
    [creation(), rolling(), ending(), recreate(), pace()].concat()
}

/// More ReplicaSets without a size than may stay, so some have to go before another one comes (rollwright.dev).
pub(crate) fn without_room(flavour: Flavour) -> World {
    let world = with_idle(fresh(flavour), 7).that(|it| it.revision_history_limit = Some(0));
    known(world.with(old(flavour, "b", 10, "8")), "8")
}

fn unhealthy(mut world: World, name: &str, available: i64) -> World {
    let status = &mut world.find_mut(name).status;
    (status.ready, status.available) = (available, available);
    world
}

fn creation() -> Vec<Situation> {
    vec![
        ("the first set", fresh),
        ("a set beside an old one", |flavour| known(fresh(flavour).with(old(flavour, "b", 10, "1")), "1")),
        ("a set beside an old one without a deadline", |flavour| {
            fresh(flavour).with(old(flavour, "b", 10, "1")).that(|it| it.progress_deadline_seconds = None)
        }),
        ("a set beside an old one whose pods are not available: cut in the same pass", |flavour| {
            unhealthy(known(fresh(flavour).with(old(flavour, "b", 10, "1")), "1"), "web-b", 3)
        }),
        ("a set that others make room for", without_room),
        ("a set that others make room for, and a cut", |flavour| {
            unhealthy(without_room(flavour), "web-b", 3)
        }),
        ("a set while the Deployment is resumed", |flavour| {
            let mut world = fresh(flavour).with(old(flavour, "b", 10, "1"));
            progressing(&mut world, reason::DEPLOYMENT_PAUSED, "Unknown");
            world
        }),
        ("a set while the Deployment is resumed, and others make room", |flavour| {
            let mut world = without_room(flavour);
            progressing(&mut world, reason::DEPLOYMENT_PAUSED, "Unknown");
            world
        }),
        ("every name for the set is taken", |flavour| {
            let mut world = fresh(flavour).with(old(flavour, "b", 10, "1"));
            let time = world.now.to_string();
            let template = fingerprint("a").as_str().to_owned();
            let taken = plan::CollisionRecord { template, count: 4, time };
            world.observed.workload.status.ours.collisions = Some(taken);
            world
        }),
    ]
}

/// The new ReplicaSet grows to what it should be, and the old one is cut.
pub(crate) fn grown_and_cut(flavour: Flavour) -> World {
    half_way(flavour, 3, 8)
}

/// The new ReplicaSet grows, the old one is cut, and the new one grows into the room.
pub(crate) fn into_room(flavour: Flavour) -> World {
    half_way(flavour, 6, 5)
}

/// No status has reported the new ReplicaSet yet.
fn unknown(flavour: Flavour, old_size: i64, new_size: i64) -> World {
    fresh(flavour).with(old(flavour, "b", old_size, "1")).with(set_of(flavour, "a", new_size))
}

fn rolling() -> Vec<Situation> {
    vec![
        ("growth", |flavour| unhealthy(half_way(flavour, 8, 1), "web-a", 0)),
        ("a cut", |flavour| half_way(flavour, 3, 10)),
        ("cuts of several sets, what is not available first", |flavour| {
            let world = fresh(flavour).with(old(flavour, "c", 4, "0")).with(old(flavour, "b", 4, "1"));
            unhealthy(known(world.with(old(flavour, "a", 5, "2")), "2"), "web-b", 2)
        }),
        ("growth and a cut", grown_and_cut),
        ("a cut, and growth into its room", |flavour| half_way(flavour, 9, 4)),
        ("growth, a cut, and growth into its room", into_room),
        ("growth and a cut, and the new set out of step", |flavour| {
            into_room(flavour).that(|it| it.min_ready_seconds = 5)
        }),
        ("growth and a cut, and an annotation to copy", |flavour| {
            into_room(flavour).that(|it| _ = it.annotations.insert("team".to_owned(), "blue".to_owned()))
        }),
        ("growth and a cut, and nobody told of the new set", |flavour| unknown(flavour, 6, 5)),
        ("growth, and nobody told of the new set", |flavour| unhealthy(unknown(flavour, 10, 1), "web-a", 0)),
        ("growth and a cut while the Deployment is resumed", |flavour| {
            let mut world = into_room(flavour);
            progressing(&mut world, reason::DEPLOYMENT_PAUSED, "Unknown");
            world
        }),
        ("growth, cuts and growth, and more idle sets than there may be", |flavour| {
            with_idle(into_room(flavour), 8).that(|it| it.revision_history_limit = Some(1))
        }),
        ("growth and a cut, and more idle sets than there may be", |flavour| {
            with_idle(grown_and_cut(flavour), 8).that(|it| it.revision_history_limit = Some(1))
        }),
        ("more idle sets than there may be, with pods", |flavour| {
            let mut world = with_idle(into_room(flavour), 8).that(|it| it.revision_history_limit = Some(1));
            world
                .observed
                .sets
                .iter_mut()
                .filter(|set| set.size == 0)
                .for_each(|set| set.status.replicas = 1);
            world
        }),
        ("an old set went back to being the new one", |flavour| {
            let world = fresh(flavour).with(old(flavour, "a", 2, "1")).with(old(flavour, "b", 10, "2"));
            known(world, "2")
        }),
        ("an old status that lags behind its cut", |flavour| {
            let mut world = half_way(flavour, 4, 9);
            let status = &mut world.find_mut("web-b").status;
            (status.replicas, status.ready, status.available) = (8, 8, 8);
            world
        }),
    ]
}

fn ending() -> Vec<Situation> {
    vec![
        ("the last pod became available", |flavour| half_way(flavour, 0, 10)),
        ("complete, and more history than the limit", |flavour| {
            with_idle(complete(flavour), 3).that(|it| it.revision_history_limit = Some(1))
        }),
        ("complete, more history than the limit, and the new set out of step", |flavour| {
            let world = with_idle(complete(flavour), 3).that(|it| it.revision_history_limit = Some(1));
            world.that(|it| it.min_ready_seconds = 5)
        }),
        ("the deadline passed", |flavour| {
            let mut world = unhealthy(half_way(flavour, 8, 5), "web-a", 0);
            world.settle(5);
            world.wait(700);
            world
        }),
        ("the new set cannot make its pods", |flavour| {
            let mut world = unhealthy(half_way(flavour, 8, 5), "web-a", 0);
            world.find_mut("web-a").status.failure = refusal("quota");
            world
        }),
        ("no deadline any more", |flavour| {
            half_way(flavour, 0, 10).that(|it| it.progress_deadline_seconds = None)
        }),
    ]
}

fn recreate() -> Vec<Situation> {
    fn recreate(world: World) -> World {
        world.that(|it| it.strategy = Strategy::Recreate)
    }
    fn emptied(flavour: Flavour) -> World {
        recreate(known(fresh(flavour).with(old(flavour, "b", 0, "1")), "1"))
    }
    vec![
        ("Recreate: old sets go down", |flavour| {
            recreate(known(
                fresh(flavour).with(old(flavour, "b", 6, "1")).with(old(flavour, "c", 4, "2")),
                "2",
            ))
        }),
        ("Recreate: old pods still run", |flavour| {
            let mut world = emptied(flavour);
            let controller_uid = Some(world.find("web-b").uid.clone());
            world.pods = vec![Pod { controller_uid, phase: "Running".to_owned() }];
            world
        }),
        ("Recreate: the new set comes", emptied),
        ("Recreate: the new set comes, others make room", |flavour| {
            with_idle(emptied(flavour), 7).that(|it| it.revision_history_limit = Some(0))
        }),
        ("Recreate: the new set grows", |flavour| recreate(half_way(flavour, 0, 4))),
        ("Recreate: the new set grows, and nobody told of it", |flavour| recreate(unknown(flavour, 0, 4))),
        ("Recreate: complete, and more history than the limit", |flavour| {
            let world = recreate(with_idle(complete(flavour), 3));
            world.that(|it| it.revision_history_limit = Some(1))
        }),
    ]
}

/// The status has waited for half a second, and reports are joined as the operator joins them.
fn has_waited(mut world: World) -> World {
    world.observed.options.status_waits_since = Some(world.now - SignedDuration::from_millis(500));
    world.observed.options.joins_reports = world.observed.flavour == Flavour::Rollwright;
    world
}

fn pace() -> Vec<Situation> {
    vec![
        ("a moment after a status: a pod more is ready", |flavour| {
            let mut world = complete(flavour);
            world.find_mut("web-a").status.ready = 9;
            has_waited(world)
        }),
        ("a moment after a status: growth, a cut, and growth", |flavour| {
            let mut world = half_way(flavour, 8, 5);
            world.find_mut("web-a").status.available = 0;
            world.settle(5);
            world.find_mut("web-a").status.available = 5;
            has_waited(world)
        }),
        ("a moment after a status: the rollout is complete", |flavour| has_waited(half_way(flavour, 0, 10))),
        ("a moment after a status: nobody told of the new set, scaled", |flavour| {
            let mut world = unknown(flavour, 6, 5).that(|it| it.replicas = 20);
            world.observed.workload.status.observed_generation = 1;
            has_waited(world)
        }),
    ]
}
