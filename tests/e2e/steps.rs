//! `spec.strategy.rollingUpdate.steps`: a rollout that rests at steps, and the command line beside it (SP-1 to SP-8).

use std::time::Duration;

use serde_json::{Value, json};

use crate::command_line::{DONE, FAILED, PAUSED, TIMEOUT, USAGE, expect, tool};
use crate::failure::{Outcome, ensure, same};
use crate::history::patch_as;
use crate::manifest::Manifest;
use crate::objects::Deployment;
use crate::quiet::ensure_quiet;
use crate::reverting::{judged, reverted};
use crate::scenario::{Scenario, scenarios};
use crate::watch::Trace;
use crate::world::World;

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    ours promoted_by_hand_and_on_the_command_line because "apps/v1 has no steps",
    ours wrong_steps_are_refused because "apps/v1 has no steps",
];

/// How long a rest is without a write, beside the time that it takes to be sure that all are over.
const QUIET: Duration = Duration::from_secs(15);

fn strategy(steps: &Value) -> Value {
    let bounds = json!({"maxSurge": 1, "maxUnavailable": 0, "steps": steps});
    json!({"type": "RollingUpdate", "rollingUpdate": bounds})
}

/// Of each promotion in a record: the step, and who promoted to it. Each has a time.
fn promotions(record: &Value) -> Vec<String> {
    let timed = record["promotions"].as_array().into_iter().flatten().filter(|it| it["time"].is_string());
    timed.map(|it| format!("{} {}", it["step"], it["manager"].as_str().unwrap_or("-"))).collect()
}

/// Waits until it rests at a step and reports that in these words, which begin with the step.
async fn rests(world: &World, words: &str) -> Outcome<Deployment> {
    let is_there = |web: &Deployment| {
        web.is_observed() && web.condition("Reconciling").message.starts_with(&format!("step {words}"))
    };
    let web = world.wait_until("web", &format!("a rest at step {words}"), is_there).await?;
    same("Progressing", web.progressing(), ("Unknown".to_owned(), "RestingAtStep".to_owned()))?;
    same("Ready", web.condition("Ready").status.as_str(), "False")?;
    same("the column STATUS", web.text("/status/display/summary"), "Resting")?;
    Ok(web)
}

/// From step to step, by an annotation and by commands; then the next revision is given up at its first one. An idle
/// operator writes nothing.
async fn promoted_by_hand_and_on_the_command_line(world: World) -> Outcome {
    let tool = tool(&world)?;
    let timed = json!({"updated": "50%", "waitSeconds": 600});
    let steps = json!([{"updated": 1, "approval": "Required"}, timed, {"updated": "75%"}]);
    world.roll_out(&Manifest::new("web", 4).spec("strategy", &strategy(&steps))).await?;
    judged(&world, "app:v1", "Good").await?;
    expect(&tool, "promote web", FAILED, "there is nothing to promote").await?;
    let trace = Trace::start(&world).await?;
    world.set_image("web", "app:v2").await?;
    let words = "step 1 of 4: 1 of 4 updated, rests until somebody promotes it";
    expect(&tool, "status web --timeout=60s", PAUSED, words).await?;
    expect(&tool, "why web", PAUSED, "rests until somebody promotes it").await?;
    expect(&tool, "get web", DONE, "step 1 of 4").await?;
    expect(&tool, "promote web --to=some", USAGE, "--to some names no step").await?;
    rests(&world, "1 of 4: 1 of 4 updated, rests until somebody promotes it").await?;
    ensure_quiet(&world, QUIET).await?;

    let promotion = json!({"metadata": {"annotations": {"rollwright.dev/promote": "2/50%"}}});
    patch_as(&world, "alice", None, &promotion).await?;
    let web = rests(&world, "2 of 4: 2 of 4 updated, rests until ").await?;
    same("who promoted it", promotions(&web.value["status"]["rollout"]), ["2 alice"])?;
    expect(&tool, "status web --watch=false", TIMEOUT, "step 2 of 4: 2 of 4 updated, rests until ").await?;
    expect(&tool, "why web", TIMEOUT, "by alice").await?;
    expect(&tool, "promote web --to=1", FAILED, "is not promoted").await?;
    expect(&tool, "promote web --full", DONE, "promotion of revision 2 to all pods requested").await?;
    expect(&tool, "status web --timeout=60s", DONE, "successfully rolled out").await?;
    expect(&tool, "history web", DONE, "2         4      rollwright-cli").await?;
    judged(&world, "app:v2", "Good").await?;
    let seen = trace.stop(&world).await?;
    seen.ensure_at_most(5)?;
    seen.ensure_available(4)?;

    world.set_image("web", "app:v3").await?;
    rests(&world, "1 of 4: 1 of 4 updated").await?;
    expect(&tool, "abort web", DONE, "").await?;
    reverted(&world, "web", "app:v2").await?;
    expect(&tool, "promote web", FAILED, "revision 3 of web failed").await?;
    world.wait_sizes(&[("app:v1", 0), ("app:v2", 4), ("app:v3", 0)]).await.map(drop)
}

/// What `tests/invalid` leaves out.
async fn wrong_steps_are_refused(world: World) -> Outcome {
    world.roll_out(&Manifest::new("web", 1)).await?;
    for (step, text) in [
        (json!({"waitSeconds": 600}), "steps[0].updated: Required value"),
        (json!({"updated": 1, "approval": "Later"}), "steps[0].approval: Invalid value"),
        (json!({"updated": 1, "waitSeconds": 0}), "greater than or equal to 1"),
    ] {
        let refused =
            world.patch("web", &json!({"spec": {"strategy": strategy(&json!([step]))}})).await.err();
        let said = refused.map(|failure| failure.0).unwrap_or_default();
        let is_named = said.contains(text) && said.contains("spec.strategy.rollingUpdate.steps[0]");
        ensure(is_named, &format!("\"{text}\" for {step}"), &said)?;
    }
    // (A merge patch has no nulls in lists: the server takes them for fields to remove.)
    for field in ["approval", "waitSeconds"] {
        let empty = strategy(&json!([{"updated": 1, field: null}]));
        let empty = Manifest::new("other", 1).spec("strategy", &empty).json(world.flavour).to_string();
        for words in [&["create", "-f", "-"][..], &["apply", "--server-side", "-f", "-"]] {
            let refused = world.kubectl.output(words, &empty).await?;
            let text = "approval, waitSeconds, and gate may not be empty: write approval: Required";
            let is_named = refused.stderr.contains(text) && refused.stderr.contains("rollingUpdate.steps[0]");
            ensure(!refused.success && is_named, text, &refused)?;
        }
    }
    Ok(())
}
