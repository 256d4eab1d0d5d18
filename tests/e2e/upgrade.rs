//! From the release before to this one and back, in the middle of rollouts.
//!
//! The release before is another build of the operator, so `make upgrade-test` makes it from the
//! history and names it and its definition in the environment. Without that the suite leaves these
//! scenarios out.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::path::PathBuf;

use cluster::kubelet::{READY_AFTER_MS, TERMINATE_AFTER_MS};
use cluster::{User, audit};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::failure::{Failure, Outcome, ensure, same, until};
use crate::manifest::{Manifest, pods_patch};
use crate::objects::{Set, summaries};
use crate::operator::Operator;
use crate::scenario::{Scenario, scenarios};
use crate::stage::CRD;
use crate::watch::{Sighting, Sightings};
use crate::world::World;

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    own both definition_first,
    own both operator_first,
    own both back,
];

/// The environment variables with the paths of the operator before this one and of its definition.
pub(crate) const PROGRAM: &str = "E2E_PREVIOUS_OPERATOR";
const DEFINITION: &str = "E2E_PREVIOUS_DEFINITION";

const SETTLED: [&str; 2] = ["settled-0", "settled-1"];
const ROLLING: [&str; 3] = ["rolling-0", "rolling-1", "rolling-2"];
const PAUSED: &str = "paused";
const WAITING: &str = "waiting";

/// A rollout takes one second for each: long enough to continue after every step.
const REPLICAS: i64 = 12;
const FEW: i64 = 2;
const SLOW: &str = "1000";
/// Long enough for a Recreate to still wait when the operator has changed.
const LINGERING: &str = "6000";

/// What is installed together.
struct Release {
    program: PathBuf,
    definition: PathBuf,
}

impl Release {
    fn previous() -> Outcome<Self> {
        let path = |name| env::var_os(name).ok_or_else(|| Failure::new(format!("{name} is not set")));
        Ok(Self { program: path(PROGRAM)?.into(), definition: path(DEFINITION)?.into() })
    }

    fn current() -> Self {
        Self { program: env!("CARGO_BIN_EXE_rollwright").into(), definition: CRD.into() }
    }

    async fn define(&self, world: &World) -> Outcome {
        world.kubectl.run(&["apply", "-f", &self.definition.display().to_string()]).await?;
        Ok(())
    }

    fn operate(&self, world: &World) -> Outcome<Operator> {
        Ok(Operator::start_program(&self.program, &world.stage.cluster, world.flavour, &[])?)
    }
}

/// A step of an upgrade.
#[derive(Clone, Copy, Debug)]
enum Step {
    Definition,
    Operator,
}

async fn definition_first(world: World) -> Outcome {
    change(&world, &Release::previous()?, &Release::current(), [Step::Definition, Step::Operator]).await
}

async fn operator_first(world: World) -> Outcome {
    change(&world, &Release::previous()?, &Release::current(), [Step::Operator, Step::Definition]).await
}

/// Back in the order of the documentation.
async fn back(world: World) -> Outcome {
    change(&world, &Release::current(), &Release::previous()?, [Step::Operator, Step::Definition]).await
}

/// Changes the release in two steps, each in the middle of rollouts that continue after it. No step makes a
/// `ReplicaSet` or restarts a pod, and no write of either operator is refused.
async fn change(world: &World, from: &Release, to: &Release, order: [Step; 2]) -> Outcome {
    world.operator()?.stop();
    from.define(world).await?;
    let mut operator = from.operate(world)?;
    let since = Timestamp::now();
    let sets = Sightings::start(world, world.set_api()).await?;
    let pods = Sightings::start(world, world.pod_api()).await?;
    create(world).await?;
    set_off(world).await?;
    for step in order {
        let before = sizes(&world.sets().await?);
        match step {
            Step::Definition => to.define(world).await?,
            Step::Operator => {
                operator.stop();
                operator = to.operate(world)?;
            }
        }
        advance(world, step, &before).await?;
    }
    still_under_way(world).await?;
    world.patch(PAUSED, &json!({"spec": {"paused": false}})).await?;
    for name in all() {
        world.complete(name).await?;
    }
    ensure(operator.is_running(), "the operator runs", operator.tail("", 20))?;
    one_of_each(&sets.stop(world).await?, |_| 1, "ReplicaSets")?;
    one_of_each(&pods.stop(world).await?, replicas, "pods")?;
    nothing_refused(world, since)
}

fn all() -> impl Iterator<Item = &'static str> {
    SETTLED.into_iter().chain(ROLLING).chain([PAUSED, WAITING])
}

fn replicas(name: &str) -> usize {
    let count = if ROLLING.contains(&name) { REPLICAS } else { FEW };
    usize::try_from(count).unwrap_or_default()
}

async fn create(world: &World) -> Outcome {
    for name in SETTLED {
        world.create(&Manifest::new(name, FEW)).await?;
    }
    for name in ROLLING {
        world.create(&Manifest::new(name, REPLICAS).rolling(&json!(1), &json!(0))).await?;
    }
    world.create(&Manifest::new(PAUSED, FEW).rolling(&json!(1), &json!(0))).await?;
    let recreate = Manifest::new(WAITING, FEW).spec("strategy", &json!({"type": "Recreate"}));
    world.create(&recreate.pods(TERMINATE_AFTER_MS, LINGERING)).await?;
    for name in all() {
        world.complete(name).await?;
    }
    Ok(())
}

/// Begins rollouts, pauses one of them, and waits until the others are under way.
async fn set_off(world: &World) -> Outcome {
    let slow = pods_patch("app:v2", READY_AFTER_MS, &json!(SLOW));
    world.patch(PAUSED, &slow).await?;
    world.wait_sets("the paused one beginning", |sets| size(sets, PAUSED) > 0).await?;
    world.patch(PAUSED, &json!({"spec": {"paused": true}})).await?;
    for name in ROLLING {
        world.patch(name, &slow).await?;
    }
    let begun = |sets: &[Set]| ROLLING.iter().all(|name| size(sets, name) > 0);
    world.wait_sets("the rollouts beginning", begun).await?;
    world.set_image(WAITING, "app:v2").await?;
    let emptied =
        |sets: &[Set]| sets.iter().filter(|set| set.labels["app"] == WAITING).all(|set| set.size == 0);
    world.wait_sets("the old set of the Recreate going down", emptied).await.map(drop)
}

/// The size of the new ReplicaSet.
fn size(sets: &[Set], name: &str) -> i64 {
    sets.iter().filter(|set| set.labels["app"] == name && set.image == "app:v2").map(|set| set.size).sum()
}

fn sizes(sets: &[Set]) -> [i64; 3] {
    ROLLING.map(|name| size(sets, name))
}

/// All rollouts take another step.
async fn advance(world: &World, step: Step, before: &[i64; 3]) -> Outcome {
    world
        .wait(&format!("all rollouts going on after {step:?}"), async || {
            let sets = world.sets().await.map_err(|failure| cluster::NotYet(failure.0))?;
            let is_on = sizes(&sets).iter().zip(before).all(|(now, then)| now > then);
            until(is_on, summaries(&sets))
        })
        .await
}

/// After the last step there is something left to do.
async fn still_under_way(world: &World) -> Outcome {
    let sets = world.sets().await?;
    ensure(sizes(&sets).iter().any(|size| *size < REPLICAS), "rollouts under way", summaries(&sets))
}

/// Of each template as many objects as there should be, by everything that the watch has ever shown.
fn one_of_each(sightings: &[Sighting], count: impl Fn(&str) -> usize, what: &str) -> Outcome {
    let mut uids: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
    for Sighting { object, .. } in sightings {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
        let image =
            text("/spec/template/spec/containers/0/image").or_else(|| text("/spec/containers/0/image"));
        let template = (text("/metadata/labels/app").unwrap_or_default(), image.unwrap_or_default());
        uids.entry(template).or_default().insert(text("/metadata/uid").unwrap_or_default());
    }
    let wrong: Vec<_> = uids.iter().filter(|((name, _), uids)| uids.len() != count(name)).collect();
    ensure(wrong.is_empty(), &format!("no {what} more than wanted"), wrong)?;
    same(&format!("the templates of {what}"), uids.len(), SETTLED.len() + 2 * (ROLLING.len() + 2))
}

/// A conflict with another writer is no refusal: the operator looks again. Nor is what an operator did not
/// wait for because it ended.
fn nothing_refused(world: &World, since: Timestamp) -> Outcome {
    let mut writes = audit::writes(&world.stage.cluster.audit_log(), since, User::Operator.name())?;
    ensure(writes.len() > 50, "writes of the operators", writes.len())?;
    writes.retain(|write| (400..500).contains(&write.code) && write.code != 409);
    ensure(writes.is_empty(), "no write is refused", writes)
}
