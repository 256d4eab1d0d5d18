//! The situations: every rung of the ladder, and what shares a reconcile on it.

mod rolling_out;

use jiff::SignedDuration;
use plan::intstr::IntOrPercent;
use plan::keys::{CHANGE_CAUSE, condition, reason};
use plan::selector::LabelSelector;
use plan::{Condition, Flavour, Map, RecentRollback, RollbackRecord, Strategy};

pub(crate) use rolling_out::{grown_and_cut, into_room, without_room};

use crate::world::{Set, World, fingerprint, set, world};
use crate::writes::Situation;

pub(crate) fn all() -> Vec<Situation> {
    [ladder(), owner_changes(), paused(), rollback(), scaling(), rolling_out::all()].concat()
}

/// Ten replicas, up to three more and two less, a deadline; no ReplicaSet.
pub(crate) fn fresh(flavour: Flavour) -> World {
    world(flavour).that(|it| {
        it.replicas = 10;
        it.progress_deadline_seconds = Some(600);
    })
}

/// A ReplicaSet as the API has it, scaled for these ten replicas.
pub(crate) fn set_of(flavour: Flavour, image: &str, size: i64) -> Set {
    let set = set(image, size).scaled_for("10", "13");
    if flavour == Flavour::Rollwright { set } else { set.without_fingerprint() }
}

pub(crate) fn old(flavour: Flavour, image: &str, size: i64, revision: &str) -> Set {
    set_of(flavour, image, size).revision(revision)
}

/// In the middle of a rollout from `b` to `a`, all pods available, the status as it should be but for
/// the condition Progressing and the counters.
fn half_way(flavour: Flavour, old_size: i64, new_size: i64) -> World {
    let world = fresh(flavour).with(old(flavour, "b", old_size, "1")).with(old(flavour, "a", new_size, "2"));
    known(world, "2")
}

/// An earlier reconcile reported the new ReplicaSet, in conditions and revision.
fn known(mut world: World, revision: &str) -> World {
    progressing(&mut world, reason::REPLICA_SET_UPDATED, "True");
    let workload = &mut world.observed.workload;
    if world.observed.flavour == Flavour::Rollwright {
        workload.status.ours.revision = revision.parse().ok();
    } else {
        workload.annotations.insert(plan::keys::REVISION.to_owned(), revision.to_owned());
    }
    world
}

fn progressing(world: &mut World, reason: &str, status: &str) {
    let begun = world.now - SignedDuration::from_secs(60);
    let entry = Condition::new(condition::PROGRESSING, status, reason, "as before".to_owned(), begun);
    world.observed.workload.status.conditions.retain(|known| known.kind != condition::PROGRESSING);
    world.observed.workload.status.conditions.push(entry);
}

/// With ReplicaSets of no size, the oldest revisions of all.
fn with_idle(mut world: World, count: usize) -> World {
    let flavour = world.observed.flavour;
    for number in 0..count {
        world = world.with(old(flavour, &format!("idle{number:02}"), 0, "0"));
    }
    world
}

/// Its rollout is complete, and the status reports that.
fn complete(flavour: Flavour) -> World {
    let mut world = fresh(flavour).with(old(flavour, "b", 0, "1")).with(old(flavour, "a", 10, "2"));
    world.settle(5);
    world
}

fn ladder() -> Vec<Situation> {
    vec![
        ("no selector", |flavour| fresh(flavour).that(|it| it.selector = None)),
        ("no selector, deleted", |flavour| {
            fresh(flavour).that(|it| it.selector = None).that(|it| it.deleting = true)
        }),
        ("an empty selector", |flavour| {
            fresh(flavour).that(|it| it.selector = Some(LabelSelector::default()))
        }),
        ("deleted in the middle of a rollout", |flavour| {
            half_way(flavour, 6, 5).that(|it| it.deleting = true)
        }),
        ("deleted with a new set that nobody told of", |flavour| {
            fresh(flavour).with(old(flavour, "a", 10, "2")).that(|it| it.deleting = true)
        }),
        ("a strategy that nobody knows", |flavour| {
            half_way(flavour, 6, 5).that(|it| it.strategy = Strategy::Unknown("Other".to_owned()))
        }),
        ("a strategy without a surge", |flavour| {
            half_way(flavour, 6, 5).that(|it| {
                let none = Some(IntOrPercent::Int(0));
                it.strategy = Strategy::RollingUpdate { max_surge: None, max_unavailable: none };
            })
        }),
        ("nothing to do", complete),
    ]
}

fn orphaned(mut world: World, name: &str) -> World {
    world.find_mut(name).controller_uid = None;
    world
}

fn unlabeled(mut world: World, name: &str) -> World {
    world.find_mut(name).labels = Map::new();
    world
}

fn owner_changes() -> Vec<Situation> {
    vec![
        ("an orphan of the current template", |flavour| {
            orphaned(fresh(flavour).with(old(flavour, "a", 10, "1")), "web-a")
        }),
        ("an orphan and a set that does not match, in the middle of a rollout", |flavour| {
            let world = half_way(flavour, 6, 5).with(old(flavour, "c", 2, "0"));
            unlabeled(orphaned(world, "web-b"), "web-c")
        }),
        ("the same of a Deployment that is deleted", |flavour| {
            let world = half_way(flavour, 6, 5).with(old(flavour, "c", 2, "0"));
            unlabeled(orphaned(world, "web-b"), "web-c").that(|it| it.deleting = true)
        }),
    ]
}

fn paused() -> Vec<Situation> {
    fn pause(world: World) -> World {
        world.that(|it| it.paused = true)
    }
    vec![
        ("paused in the middle of a rollout", |flavour| pause(half_way(flavour, 6, 5))),
        ("paused and scaled", |flavour| pause(half_way(flavour, 6, 5)).that(|it| it.replicas = 20)),
        ("paused, scaled, and more history than the limit", |flavour| {
            let world = with_idle(half_way(flavour, 6, 5), 3).that(|it| it.revision_history_limit = Some(1));
            pause(world).that(|it| it.replicas = 20)
        }),
        ("paused, and the new set out of step", |flavour| {
            pause(half_way(flavour, 6, 5)).that(|it| it.min_ready_seconds = 5)
        }),
        ("paused, known to be, and the new set out of step and scaled", |flavour| {
            let mut world = pause(half_way(flavour, 6, 5)).that(|it| it.min_ready_seconds = 5);
            progressing(&mut world, reason::DEPLOYMENT_PAUSED, "Unknown");
            world.that(|it| it.replicas = 20)
        }),
        ("paused, and no set of the template", |flavour| {
            pause(fresh(flavour).with(old(flavour, "b", 9, "1")))
        }),
        ("resumed in the middle of a rollout", |flavour| {
            let mut world = half_way(flavour, 6, 5);
            progressing(&mut world, reason::DEPLOYMENT_PAUSED, "Unknown");
            world
        }),
    ]
}

/// Back to `b`, which a rollout to `a` replaced.
pub(crate) fn rolled_back(flavour: Flavour) -> World {
    let asked = complete(flavour).that(|it| it.rollback_to = Some(0));
    asked.that(|it| _ = it.annotations.insert(CHANGE_CAUSE.to_owned(), "a".to_owned()))
}

fn repeated(flavour: Flavour) -> World {
    let mut world = half_way(flavour, 6, 5).that(|it| it.rollback_to = Some(1));
    let time = (world.now - SignedDuration::from_secs(60)).to_string();
    let of = |image: &str| fingerprint(image).as_str().to_owned();
    let entry = RecentRollback { time: time.clone(), from: of("b"), to: of("a") };
    let recent = vec![entry; 3];
    let record = RollbackRecord { time, recent, ..RollbackRecord::default() };
    world.observed.workload.status.ours.rollback = Some(record);
    world
}

fn rollback() -> Vec<Situation> {
    vec![
        ("rolled back", rolled_back),
        ("rolled back, and the new set out of step", |flavour| {
            rolled_back(flavour).that(|it| it.min_ready_seconds = 5)
        }),
        ("rolled back to a template as the server stores it", |flavour| {
            let mut world = rolled_back(flavour);
            let stored = world.stored.get_mut("uid-web-b").unwrap();
            stored["spec"]["restartPolicy"] = "Always".into();
            world
        }),
        ("rolled back before the new set was there", |flavour| {
            let world = fresh(flavour).with(old(flavour, "c", 0, "1")).with(old(flavour, "b", 10, "2"));
            known(world, "2").that(|it| it.rollback_to = Some(1))
        }),
        ("rolled back before the new set was there, without room for it", |flavour| {
            without_room(flavour).that(|it| it.rollback_to = Some(7))
        }),
        ("rolled back to a revision that nobody knows", |flavour| {
            rolled_back(flavour).that(|it| it.rollback_to = Some(9))
        }),
        ("rolled back to what is there", |flavour| rolled_back(flavour).that(|it| it.rollback_to = Some(2))),
        ("rolled back while the Deployment is resumed", |flavour| {
            let mut world = rolled_back(flavour);
            progressing(&mut world, reason::DEPLOYMENT_PAUSED, "Unknown");
            world
        }),
        ("rolled back and paused", |flavour| rolled_back(flavour).that(|it| it.paused = true)),
        ("rolled back for the fourth time", repeated),
        ("a refused rollback that is not asked for any more", |flavour| {
            let mut world = half_way(flavour, 6, 5);
            let refused = Condition::new(
                condition::ROLLBACK_REFUSED,
                "True",
                reason::ROLLBACK_REPEATED,
                String::new(),
                world.now,
            );
            world.observed.workload.status.conditions.push(refused);
            world
        }),
    ]
}

fn scaling() -> Vec<Situation> {
    fn to(world: World, replicas: i64) -> World {
        world.that(|it| it.replicas = replicas)
    }
    vec![
        ("scaled up in the middle of a rollout", |flavour| to(half_way(flavour, 6, 5), 20)),
        ("scaled down in the middle of a rollout", |flavour| to(half_way(flavour, 6, 5), 4)),
        ("scaled to nothing", |flavour| to(half_way(flavour, 6, 5), 0)),
        ("scaled up, one set", |flavour| to(complete(flavour), 12)),
        ("scaled up, and nobody told of the new set", |flavour| {
            to(fresh(flavour).with(old(flavour, "b", 6, "1")).with(set_of(flavour, "a", 5)), 20)
        }),
        ("a stale annotation on the one set, of the right size", |flavour| {
            let world = fresh(flavour).with(set("a", 10).revision("1").scaled_for("9", "12"));
            known(world, "1")
        }),
        ("a stale annotation on an old set beside a new one that has all pods", |flavour| {
            let stale = old(flavour, "b", 4, "1").scaled_for("9", "12");
            known(fresh(flavour).with(stale).with(old(flavour, "a", 10, "2")), "2")
        }),
        ("scaled under Recreate, several sets", |flavour| {
            to(half_way(flavour, 6, 5), 20).that(|it| it.strategy = Strategy::Recreate)
        }),
    ]
}
