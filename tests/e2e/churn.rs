//! What people do to Deployments all day: rollouts, scales, rollbacks, pauses, bad images.

use cluster::kubelet::{READY_AFTER_MS, TERMINATE_AFTER_MS};
use futures::future::try_join_all;
use serde_json::{Value, json};

use crate::failure::{Failure, Outcome};
use crate::manifest::{Manifest, image_patch, pods_patch};
use crate::world::World;

/// How many times a rollout may take as long as one alone.
const PATIENCE: u32 = 4;

/// What is done to a Deployment, over and over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Habit {
    /// New images, one after the other.
    RollOut,
    /// Up and down.
    Scale,
    /// Another size, and another image before that has happened.
    RollOutAndScale,
    /// A third image before the second is there.
    RollOver,
    /// Back to the revision before.
    RollBack,
    /// Changed while paused.
    Pause,
    /// An image that does not run, a deadline that passes, and the way back.
    BadImage,
    /// All old pods go first.
    Recreate,
    /// Many images; the history keeps one of them.
    Forget,
    /// Annotations and minReadySeconds.
    Annotate,
    /// Many pods at a time, by per cent.
    Percent,
    /// To nothing and back.
    Sleep,
    /// A default that is spelled out, and left out again: another text, the same template.
    SpellOut,
}

const HABITS: [Habit; 13] = [
    Habit::RollOut,
    Habit::Scale,
    Habit::RollOutAndScale,
    Habit::RollOver,
    Habit::RollBack,
    Habit::Pause,
    Habit::BadImage,
    Habit::Recreate,
    Habit::Forget,
    Habit::Annotate,
    Habit::Percent,
    Habit::Sleep,
    Habit::SpellOut,
];

/// This many Deployments, each of them changed in this many rounds.
pub(crate) async fn run(world: &World, deployments: usize, rounds: usize) -> Outcome {
    let habits = HABITS.iter().copied().cycle().take(deployments).enumerate();
    let lives = habits.map(|(number, habit)| live(world, number, habit, rounds));
    try_join_all(lives).await?;
    Ok(())
}

async fn live(world: &World, number: usize, habit: Habit, rounds: usize) -> Outcome {
    let name = format!("{habit:?}-{number}").to_lowercase();
    world.create(&manifest(&name, habit)).await?;
    complete(world, &name).await?;
    for round in 0..rounds {
        let image = format!("app:v{}", round + 2);
        let result = act(world, &name, habit, round, &image).await;
        result.map_err(|failure| Failure(format!("{name}, round {round}: {}", failure.0)))?;
    }
    Ok(())
}

fn manifest(name: &str, habit: Habit) -> Manifest {
    let plain = Manifest::new(name, 4);
    match habit {
        Habit::RollOut => plain.rolling(&json!(1), &json!(0)),
        Habit::RollOver => Manifest::new(name, 6).rolling(&json!(2), &json!(1)),
        Habit::RollOutAndScale => Manifest::new(name, 6),
        Habit::BadImage => plain.spec("progressDeadlineSeconds", &json!(2)),
        Habit::Recreate => {
            plain.spec("strategy", &json!({"type": "Recreate"})).pods(TERMINATE_AFTER_MS, "300")
        }
        Habit::Forget => Manifest::new(name, 2).spec("revisionHistoryLimit", &json!(1)),
        Habit::Percent => Manifest::new(name, 10).rolling(&json!("40%"), &json!("30%")),
        Habit::Annotate => plain.annotation("example.com/round", "0"),
        Habit::Scale | Habit::RollBack | Habit::Pause | Habit::Sleep | Habit::SpellOut => plain,
    }
}

async fn act(world: &World, name: &str, habit: Habit, round: usize, image: &str) -> Outcome {
    let odd = round % 2 == 1;
    match habit {
        Habit::RollOut | Habit::Forget | Habit::Percent | Habit::Recreate => {
            world.patch(name, &pods_patch(image, READY_AFTER_MS, &json!("200"))).await?;
        }
        Habit::Scale => world.scale(name, if odd { 2 } else { 9 }).await?,
        Habit::RollOutAndScale => {
            world.set_image(name, image).await?;
            under_way(world, name).await?;
            world.scale(name, if odd { 4 } else { 10 }).await?;
        }
        Habit::RollOver => {
            world.patch(name, &pods_patch(image, READY_AFTER_MS, &json!("500"))).await?;
            under_way(world, name).await?;
            world.patch(name, &pods_patch(&format!("{image}b"), READY_AFTER_MS, &Value::Null)).await?;
        }
        Habit::RollBack if odd => {
            world.roll_back(name, 0).await?;
            let done = world.wait_until(name, "the rollback", |it| !it.asks_for_rollback());
            done.await?;
        }
        Habit::RollBack => world.set_image(name, image).await?,
        Habit::Pause => {
            world.patch(name, &json!({"spec": {"paused": true}})).await?;
            let is_paused =
                world.wait_until(name, "the pause", |it| it.progressing().1 == "DeploymentPaused");
            is_paused.await?;
            let mut patch = image_patch(image);
            patch["spec"]["replicas"] = json!(if odd { 3 } else { 5 });
            world.patch(name, &patch).await?;
            world.observed(name).await?;
            world.patch(name, &json!({"spec": {"paused": false}})).await?;
        }
        Habit::BadImage => {
            world.set_image(name, &format!("bad:v{round}")).await?;
            let is_late =
                world.wait_until(name, "the deadline", |it| it.progressing().1 == "ProgressDeadlineExceeded");
            is_late.await?;
            world.set_image(name, if odd { "app:v1" } else { image }).await?;
        }
        Habit::Annotate => {
            let patch = json!({
                "metadata": {"annotations": {"example.com/round": (round + 1).to_string()}},
                "spec": {"minReadySeconds": i32::from(odd)},
            });
            world.patch(name, &patch).await?;
        }
        Habit::SpellOut => {
            let seconds = if odd { Value::Null } else { json!(30) };
            let pod = json!({"terminationGracePeriodSeconds": seconds});
            world.patch(name, &json!({"spec": {"template": {"spec": pod}}})).await?;
        }
        Habit::Sleep => {
            world.scale(name, 0).await?;
            complete(world, name).await?;
            world.scale(name, 4).await?;
        }
    }
    complete(world, name).await
}

/// Many Deployments together keep a controller busy for longer than one does.
async fn complete(world: &World, name: &str) -> Outcome {
    for _ in 1..PATIENCE {
        if world.complete(name).await.is_ok() {
            return Ok(());
        }
    }
    world.complete(name).await.map(drop)
}

/// The rollout has begun.
async fn under_way(world: &World, name: &str) -> Outcome {
    world
        .wait_until(name, "the rollout beginning", |it| it.is_observed() && it.status("updatedReplicas") > 0)
        .await
        .map(drop)
}
