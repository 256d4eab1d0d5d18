//! What each step must reach, read off the objects of the API server.

use crate::show::Verdict;
use crate::world::{Set, World};

/// Everything runs one image and nothing is left to do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settled {
    pub(crate) image: &'static str,
    pub(crate) replicas: i64,
    pub(crate) revision: i64,
    /// ReplicaSets there are by then, idle ones included.
    pub(crate) sets: usize,
}

impl Settled {
    /// The check itself.
    pub(crate) fn check(&self, world: &World) -> Verdict {
        let Self { image, replicas, revision, sets } = *self;
        let deployment = world.deployment.as_ref().ok_or("no Deployment yet")?;
        fresh(world)?;
        let (uid, new) = world.set_of_image(image).ok_or_else(|| format!("no ReplicaSet for {image} yet"))?;
        let others = || world.sets.values().filter(|set| set.image != image);
        let old: i64 = others().map(|set| set.desired.max(set.current)).sum();
        let ready = world.census(uid).ready;
        let progress = format!("{ready} of {replicas} pods of {} ready, {old} old ones left", short(image));
        let is_even = |set: &Set| (set.desired, set.current, set.ready) == (replicas, replicas, replicas);
        if !is_even(new) || old > 0 || i64::try_from(ready) != Ok(replicas) {
            return Err(progress);
        }
        let leaving = world.pods.values().filter(|pod| pod.deleting || pod.image != image).count();
        if leaving > 0 {
            return Err(format!("{progress}, {leaving} pods still leaving"));
        }
        let counts = (deployment.ready, deployment.updated, deployment.available);
        if counts != (replicas, replicas, replicas) {
            return Err(format!("{progress}; status says ready, up-to-date, available {counts:?}"));
        }
        expect_condition(world, "Progressing", "True", "NewReplicaSetAvailable")?;
        expect_condition(world, "Available", "True", "MinimumReplicasAvailable")?;
        if deployment.revision != revision || new.revision != revision {
            let (status, set) = (deployment.revision, new.revision);
            return Err(format!("revision {status} in the status, {set} on the ReplicaSet, not {revision}"));
        }
        if world.sets.len() != sets {
            return Err(format!("{} ReplicaSets, not {sets}", world.sets.len()));
        }
        let plural = if sets == 1 { "" } else { "s" };
        Ok(format!("rev {revision}: {ready}/{replicas} run {}, {sets} set{plural}", short(image)))
    }
}

/// How many pods two images should have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Split {
    pub(crate) old: (&'static str, i64),
    pub(crate) new: (&'static str, i64),
}

/// The ReplicaSets have these sizes, and the old pods serve.
pub(crate) fn midway(world: &World, split: Split) -> Verdict {
    let Split { old: (old, old_size), new: (new, new_size) } = split;
    let sizes = (size(world, old), size(world, new));
    let seen = format!("{} of {}, {} of {}", sizes.0, short(old), sizes.1, short(new));
    let starting = world.set_of_image(new).map_or(0, |(uid, _)| world.census(uid).starting);
    let is_there = sizes == (old_size, new_size) && i64::try_from(starting) == Ok(new_size);
    if is_there { Ok(seen) } else { Err(format!("{seen} asked for, {starting} starting")) }
}

/// The rollout stands still at these sizes, with every pod ready.
pub(crate) fn paused(world: &World, split: Split) -> Verdict {
    let Split { old: (old, old_size), new: (new, new_size) } = split;
    fresh(world)?;
    expect_condition(world, "Progressing", "Unknown", "DeploymentPaused")?;
    let is_calm = |image: &str, size: i64| {
        let found = world.set_of_image(image);
        found.is_some_and(|(_, set)| (set.desired, set.current, set.ready) == (size, size, size))
    };
    let seen = format!("{} of {}, {} of {}", size(world, old), short(old), size(world, new), short(new));
    let is_serving = i64::try_from(world.serving()) == Ok(old_size + new_size);
    if is_calm(old, old_size) && is_calm(new, new_size) && is_serving {
        Ok(format!("{seen}, all ready"))
    } else {
        Err(format!("{seen} asked for, {} ready", world.serving()))
    }
}

/// The new image does not come up, is given up on, and the old one serves.
pub(crate) fn stuck(world: &World, image: &str, revision: i64, at_least: usize) -> Verdict {
    let deployment = world.deployment.as_ref().ok_or("no Deployment yet")?;
    fresh(world)?;
    let (uid, set) = world.set_of_image(image).ok_or_else(|| format!("no ReplicaSet for {image} yet"))?;
    let census = world.census(uid);
    let serving = world.serving();
    let seen = format!("{}/{} fail, {serving} old ones serve", census.failing, set.desired);
    if census.ready > 0 || set.ready > 0 {
        return Err(format!("{} pods of a bad image are ready", set.ready));
    }
    if census.failing == 0 || i64::try_from(census.failing) != Ok(set.desired) || serving < at_least {
        return Err(seen);
    }
    if deployment.revision != revision {
        return Err(format!("revision {}, not {revision}", deployment.revision));
    }
    expect_condition(world, "Available", "True", "MinimumReplicasAvailable")?;
    expect_condition(world, "Progressing", "False", "ProgressDeadlineExceeded")
        .map_err(|missing| format!("{seen}; {missing}"))?;
    Ok(seen)
}

/// As [`Settled`], and the outcome of the rollback is written down.
pub(crate) fn rolled_back(world: &World, to: i64, settled: Settled) -> Verdict {
    let deployment = world.deployment.as_ref().ok_or("no Deployment yet")?;
    if deployment.rollback_to {
        return Err("spec.rollbackTo is still there".to_owned());
    }
    let seen = settled.check(world)?;
    match &deployment.rollback {
        Some((revision, _)) if *revision == to => Ok(seen),
        Some((revision, result)) => Err(format!("status.rollback says revision {revision}, {result}")),
        None => Err("status.rollback is missing".to_owned()),
    }
}

fn size(world: &World, image: &str) -> i64 {
    world.set_of_image(image).map_or(0, |(_, set)| set.desired)
}

/// The status is about the present spec.
fn fresh(world: &World) -> Result<(), String> {
    let deployment = world.deployment.as_ref().ok_or("no Deployment yet")?;
    if deployment.observed == deployment.generation {
        return Ok(());
    }
    Err(format!(
        "generation {} seen by the operator, {} is current",
        deployment.observed, deployment.generation
    ))
}

fn expect_condition(world: &World, kind: &str, status: &str, reason: &str) -> Result<(), String> {
    let condition = world.condition(kind).ok_or_else(|| format!("no condition {kind} yet"))?;
    if condition.status == status && condition.reason == reason {
        return Ok(());
    }
    Err(format!("{kind} says {}, not {reason}", condition.reason))
}

/// The tag of an image, which is all that differs.
fn short(image: &str) -> &str {
    image.rsplit(':').next().unwrap_or(image)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::{Condition, Deployment, Pod};

    const SETTLED: Settled = Settled { image: "web:v1", replicas: 2, revision: 1, sets: 1 };

    fn condition(kind: &str, reason: &str) -> Condition {
        let (kind, reason) = (kind.to_owned(), reason.to_owned());
        Condition { kind, status: "True".to_owned(), reason, message: String::new() }
    }

    fn world() -> World {
        let set = Set {
            name: "web-1".to_owned(),
            revision: 1,
            image: "web:v1".to_owned(),
            desired: 2,
            current: 2,
            ready: 2,
        };
        let deployment = Deployment {
            revision: 1,
            wanted: 2,
            ready: 2,
            updated: 2,
            available: 2,
            conditions: vec![
                condition("Available", "MinimumReplicasAvailable"),
                condition("Progressing", "NewReplicaSetAvailable"),
            ],
            ..Deployment::default()
        };
        let mut world = World { deployment: Some(deployment), ..World::default() };
        world.sets.insert("s".to_owned(), set);
        for name in ["a", "b"] {
            let (owner, image) = ("s".to_owned(), "web:v1".to_owned());
            world.pods.insert(name.to_owned(), Pod { owner, image, ready: true, ..Pod::default() });
        }
        world
    }

    fn refuses(change: impl FnOnce(&mut World), part: &str) {
        let mut world = world();
        change(&mut world);
        let missing = SETTLED.check(&world).unwrap_err();
        assert!(missing.contains(part), "{missing}");
    }

    #[test]
    fn settled_means_that_everything_is() {
        assert_eq!(SETTLED.check(&world()).unwrap(), "rev 1: 2/2 run v1, 1 set");
        refuses(|world| world.deployment = None, "no Deployment");
        refuses(|world| world.deployment.as_mut().unwrap().generation = 1, "is current");
        refuses(|world| world.deployment.as_mut().unwrap().updated = 1, "status says");
        refuses(|world| world.deployment.as_mut().unwrap().revision = 2, "revision 2");
        refuses(|world| world.pods.get_mut("a").unwrap().ready = false, "1 of 2");
        refuses(|world| drop(world.pods.insert("c".to_owned(), Pod::default())), "1 pods still leaving");
        refuses(|world| drop(world.sets.insert("t".to_owned(), Set::default())), "2 ReplicaSets");
        refuses(|world| world.deployment.as_mut().unwrap().conditions.clear(), "no condition");
    }
}
