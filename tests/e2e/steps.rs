//! `spec.strategy.rollingUpdate.steps`: a rollout that rests at steps, under the surge and the availability of any
//! other (SP-1 to SP-8). What ends a rest besides a promotion is in `steps_ending.rs`.

use std::time::Duration;

use cluster::kubelet::NEVER_READY;
use jiff::{SignedDuration, Timestamp};
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use crate::autoscaling::{autoscaler, wait_autoscaled};
use crate::evidence::pod_names;
use crate::failure::{Outcome, ensure, same};
use crate::floor::Floor;
use crate::history::patch_as;
use crate::manifest::Manifest;
use crate::objects::Deployment;
use crate::quiet::ensure_quiet;
use crate::reverting::{judged, told};
use crate::scenario::{Scenario, scenarios};
use crate::trace::{Recording, Trace, size};
use crate::world::World;

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    ours promoted_by_hand because "apps/v1 has no steps",
    ours autoscaled_at_a_step because "apps/v1 has no steps",
    ours scaled_at_a_step because "apps/v1 has no steps",
    ours a_list_edited_at_a_step because "apps/v1 has no steps",
    ours a_third_revision_beside_dead_pods because "apps/v1 has no steps",
    ours one_replica_waits_without_a_pod because "apps/v1 has no steps",
    ours wrong_steps_are_refused because "apps/v1 has no steps",
];

pub(crate) const PROMOTE: &str = "rollwright.dev/promote";
/// How long a rest is without a write, beside the time that it takes to be sure that all are over.
const QUIET: Duration = Duration::from_secs(15);

/// A Deployment with these steps, a pod of surge, and none to spare.
pub(crate) fn manifest(replicas: i64, steps: &Value) -> Manifest {
    Manifest::new("web", replicas).spec("strategy", &strategy(steps))
}

fn strategy(steps: &Value) -> Value {
    let bounds = json!({"maxSurge": 1, "maxUnavailable": 0, "steps": steps});
    json!({"type": "RollingUpdate", "rollingUpdate": bounds})
}

/// A step that waits for a person.
pub(crate) fn promoted(updated: &Value) -> Value {
    json!({"updated": updated, "pause": {"until": "Promoted"}})
}

/// A step that waits for so long.
pub(crate) fn timed(updated: &Value, seconds: i64) -> Value {
    json!({"updated": updated, "pause": {"seconds": seconds}})
}

/// A patch with another list.
pub(crate) fn edited(steps: &Value) -> Value {
    json!({"spec": {"strategy": strategy(steps)}})
}

fn promotion(text: &str) -> Value {
    json!({"metadata": {"annotations": {PROMOTE: text}}})
}

pub(crate) async fn promote(world: &World, text: &str) -> Outcome {
    world.patch("web", &promotion(text)).await
}

/// Of each promotion in a record: the step, and who promoted to it. Each has a time.
fn promotions(record: &Value) -> Vec<String> {
    let timed = record["promotions"].as_array().into_iter().flatten().filter(|it| it["at"].is_string());
    timed.map(|it| format!("{} {}", it["step"], it["manager"].as_str().unwrap_or("-"))).collect()
}

/// Waits until it rests at a step and reports that in these words, which begin with the step.
pub(crate) async fn rests(world: &World, words: &str) -> Outcome<Deployment> {
    let is_there = |web: &Deployment| {
        web.is_observed() && web.condition("Reconciling").message.starts_with(&format!("step {words}"))
    };
    let web = world.wait_until("web", &format!("a rest at step {words}"), is_there).await?;
    same("Progressing", web.progressing(), ("Unknown".to_owned(), "RestingAtStep".to_owned()))?;
    for (kind, status, reason) in
        [("Reconciling", "True", "RestingAtStep"), ("Ready", "False", "RestingAtStep"), ("Stalled", "", "")]
    {
        let condition = web.condition(kind);
        same(kind, (condition.status.as_str(), condition.reason.as_str()), (status, reason))?;
    }
    same("the column STATUS", web.text("/status/state"), "Resting")?;
    Ok(web)
}

/// Revision 2 waits at the first of two steps, of one and of two pods of four, and revision 1 is good.
pub(crate) async fn at_the_first_step(world: &World) -> Outcome {
    world.roll_out(&manifest(4, &json!([promoted(&json!(1)), promoted(&json!(2))]))).await?;
    judged(world, "app:v1", "Good").await?;
    world.set_image("web", "app:v2").await?;
    rests(world, "1 of 3: 1 of 4 updated").await.map(|_| ())
}

/// The numbers of the step in `status.rollout`: step, of, updated, want.
pub(crate) fn numbers(web: &Deployment) -> [i64; 4] {
    ["step", "of", "updated", "want"]
        .map(|field| web.value["status"]["rollout"][field].as_i64().unwrap_or_default())
}

/// Since when it rests.
pub(crate) fn since(web: &Deployment) -> Outcome<Timestamp> {
    Ok(web.text("/status/rollout/restingSince").parse()?)
}

/// What the ReplicaSets of these images had together, one after the other.
pub(crate) fn path(seen: &Recording, images: &[&str]) -> Vec<String> {
    let sizes = |moment| images.iter().map(|image| size(moment, image).to_string()).collect::<Vec<_>>();
    let mut path: Vec<String> = seen.0.iter().map(|moment| sizes(moment).join("+")).collect();
    path.dedup();
    path
}

/// How often an event about it has this text.
async fn count(world: &World, reason: &str, text: &str) -> Outcome<i32> {
    let events = world.events("web").await?.into_iter();
    Ok(events.filter(|it| it.reason == reason && it.message.contains(text)).map(|it| it.count).sum())
}

/// Three steps, promoted by hand. The sizes are those of SP-3, and an idle operator writes nothing.
async fn promoted_by_hand(world: World) -> Outcome {
    let steps = json!([promoted(&json!(1)), timed(&json!("25%"), 600), {"updated": "50%"}]);
    // The clock of the deadline stands still at a rest.
    world.roll_out(&manifest(10, &steps).spec("progressDeadlineSeconds", &json!(20))).await?;
    same("a first rollout has no steps", count(&world, "StepReached", "").await?, 0)?;
    judged(&world, "app:v1", "Good").await?;
    let (trace, floor) = (Trace::start(&world).await?, Floor::start(&world).await?);
    world.set_image("web", "app:v2").await?;
    let web = rests(&world, "1 of 4: 1 of 10 updated, rests until somebody promotes it").await?;
    same("step, of, updated, want", numbers(&web), [1, 4, 1, 1])?;
    world.wait_sizes(&[("app:v1", 9), ("app:v2", 1)]).await?;
    same("Available", web.condition("Available").status.as_str(), "True")?;
    ensure_quiet(&world, QUIET).await?;

    patch_as(&world, "alice", None, &promotion("2/25%")).await?;
    let web = rests(&world, "2 of 4: 3 of 10 updated, rests until ").await?;
    same("step, of, updated, want", numbers(&web), [2, 4, 3, 3])?;
    same("who promoted it", promotions(&web.value["status"]["rollout"]), ["2 alice"])?;
    // The time is stored without its fraction, and the pause has all of its ten minutes.
    let end = since(&web)?.checked_add(SignedDuration::from_secs(601))?.to_string();
    let message = web.condition("Reconciling").message;
    let said = message.rsplit(' ').next().unwrap_or_default().to_owned();
    ensure(said.ends_with('Z') && end.ends_with(&said), &format!("the end of the rest, {end}"), message)?;
    ensure_quiet(&world, QUIET).await?;

    patch_as(&world, "bob", None, &promotion("2/50%")).await?;
    let web = world.complete("web").await?;
    same("status.rollout", web.value["status"]["rollout"].is_null(), true)?;
    same("the history", told(&web), ["2 NewImage Succeeded", "1 TemplateChanged Succeeded"])?;
    same("who promoted it", promotions(&web.value["status"]["history"][0]), ["2 alice", "3 bob"])?;
    judged(&world, "app:v2", "Good").await?;
    for number in 1..=3 {
        let reached = format!("Revision 2 has reached step {number} of 4");
        same(&reached, count(&world, "StepReached", &reached).await?, 1)?;
    }
    same("promotions", count(&world, "Promoted", "").await?, 2)?;
    let seen = trace.stop(&world).await?;
    let path = path(&seen, &["app:v1", "app:v2"]);
    same("the path", &path[..7], &["10+0", "10+1", "9+1", "9+2", "8+2", "8+3", "7+3"][..])?;
    same("the end of it", path.last().map(String::as_str), Some("0+10"))?;
    seen.ensure_at_most(11)?;
    seen.ensure_available(10)?;
    ensure(floor.is_complete() && floor.lowest() >= 10, "ten ready pods at every moment", floor.lowest())
}

/// An autoscaler doubles what runs while a rollout rests: each ReplicaSet follows immediately, without surge (SP-7).
async fn autoscaled_at_a_step(world: World) -> Outcome {
    world.roll_out(&manifest(4, &json!([promoted(&json!("50%"))]))).await?;
    world.set_image("web", "app:v2").await?;
    let before = rests(&world, "1 of 2: 2 of 4 updated").await?;
    let trace = Trace::start(&world).await?;
    world.kubectl.apply(&autoscaler(&world).to_string()).await?;
    wait_autoscaled(&world, 8).await?;
    let web = rests(&world, "1 of 2: 4 of 8 updated").await?;
    same("since when it rests", since(&web)?, since(&before)?)?;
    world.wait_sizes(&[("app:v1", 4), ("app:v2", 4)]).await?;
    let is_available = |web: &Deployment| web.status("availableReplicas") == 8;
    world.wait_until("web", "eight available pods", is_available).await?;
    let seen = trace.stop(&world).await?;
    seen.ensure_at_most(8)?;
    same("the path", path(&seen, &["app:v1", "app:v2"]), ["2+2", "4+2", "4+4"])?;
    ensure_quiet(&world, QUIET).await?;
    promote(&world, "2/all").await?;
    world.complete("web").await?;
    world.wait_sizes(&[("app:v1", 0), ("app:v2", 8)]).await?;
    Ok(())
}

/// Somebody changes R while a rollout rests: down by one, to nothing, and back (SP-7).
async fn scaled_at_a_step(world: World) -> Outcome {
    world.roll_out(&manifest(20, &json!([promoted(&json!("30%"))]))).await?;
    world.set_image("web", "app:v2").await?;
    rests(&world, "1 of 2: 6 of 20 updated").await?;
    for (replicas, words, expected) in [
        (19, "6 of 19 updated, rests until somebody promotes it", &["14+6", "13+6"] as &[_]),
        (10, "3 of 10 updated, rests until somebody promotes it", &["13+6", "7+6", "7+3"]),
        (0, "0 of 0 updated, rests while there are no replicas", &["7+3", "0+3", "0+0"]),
        (10, "3 of 10 updated, rests until somebody promotes it", &["0+0", "7+0", "7+3"]),
        (11, "4 of 11 updated, rests until somebody promotes it", &["7+3", "7+4"]),
    ] {
        let before: Vec<String> = names(&world).await?;
        let trace = Trace::start(&world).await?;
        world.scale("web", replicas).await?;
        rests(&world, &format!("1 of 2: {words}")).await?;
        let seen = trace.stop(&world).await?;
        same(&format!("the path to {replicas}"), path(&seen, &["app:v1", "app:v2"]), expected)?;
        if replicas == 19 {
            let after = names(&world).await?;
            ensure(after.iter().all(|pod| before.contains(pod)), "no new pod", (&before, &after))?;
        }
    }
    ensure_quiet(&world, QUIET).await?;
    promote(&world, "2/all").await?;
    world.complete("web").await?;
    Ok(())
}

/// All pods that stay.
async fn names(world: &World) -> Outcome<Vec<String>> {
    let mut names = pod_names(world, "app:v1").await?;
    names.extend(pod_names(world, "app:v2").await?);
    Ok(names)
}

/// The list is edited while a rollout rests. It continues at the first step that has room for what runs (SP-2).
async fn a_list_edited_at_a_step(world: World) -> Outcome {
    let list = |updated: &[Value]| Value::Array(updated.iter().map(promoted).collect());
    world.roll_out(&manifest(10, &list(&[json!(1), json!("30%"), json!("50%")]))).await?;
    let trace = Trace::start(&world).await?;
    world.set_image("web", "app:v2").await?;
    rests(&world, "1 of 4: 1 of 10 updated").await?;
    promote(&world, "2/30%").await?;
    rests(&world, "2 of 4: 3 of 10 updated").await?;
    // Above what runs.
    world.patch("web", &edited(&list(&[json!(1), json!("40%"), json!("50%")]))).await?;
    rests(&world, "2 of 4: 4 of 10 updated").await?;
    // Below it: a step that is behind is left out.
    world.patch("web", &edited(&list(&[json!(1), json!(2), json!("60%")]))).await?;
    rests(&world, "3 of 4: 6 of 10 updated").await?;
    // Another pause of the same step holds immediately.
    world.patch("web", &edited(&json!([{"updated": 1}, {"updated": 2}, timed(&json!("60%"), 600)]))).await?;
    rests(&world, "3 of 4: 6 of 10 updated, rests until ").await?;
    // All below: nothing is left to wait for.
    world.patch("web", &edited(&list(&[json!(1), json!(2)]))).await?;
    world.complete("web").await?;
    let seen = trace.stop(&world).await?;
    let sizes = seen.sizes("app:v2");
    ensure(sizes.is_sorted(), "a running set that never shrinks", sizes)?;
    seen.ensure_at_most(11)?;
    seen.ensure_available(10)
}

/// The pods of v2 have died at 30 %, and v3 is declared: v1, which is good, has nine again, and v2 none (SP-3).
async fn a_third_revision_beside_dead_pods(world: World) -> Outcome {
    world.roll_out(&manifest(10, &json!([promoted(&json!("10%")), promoted(&json!("30%"))]))).await?;
    judged(&world, "app:v1", "Good").await?;
    world.set_image("web", "app:v2").await?;
    rests(&world, "1 of 3: 1 of 10 updated").await?;
    promote(&world, "2/30%").await?;
    rests(&world, "2 of 3: 3 of 10 updated").await?;
    let dead = json!({"metadata": {"annotations": {NEVER_READY: "true"}}});
    for name in pod_names(&world, "app:v2").await? {
        world.pod_api().patch(&name, &PatchParams::default(), &Patch::Merge(&dead)).await?;
    }
    let is_short = |web: &Deployment| web.is_observed() && web.status("availableReplicas") == 7;
    let web = world.wait_until("web", "seven available pods", is_short).await?;
    // A rest is broken by that.
    same("restingSince", web.text("/status/rollout/restingSince"), "")?;
    same("Progressing", web.progressing().0.as_str(), "True")?;

    let (trace, floor) = (Trace::start(&world).await?, Floor::start(&world).await?);
    world.set_image("web", "app:v3").await?;
    rests(&world, "1 of 3: 1 of 10 updated").await?;
    world.wait_sizes(&[("app:v1", 9), ("app:v2", 0), ("app:v3", 1)]).await?;
    world.wait_until("web", "ten available pods", |it| it.status("availableReplicas") == 10).await?;
    let seen = trace.stop(&world).await?;
    let sizes = seen.sizes("app:v1");
    ensure(sizes.iter().all(|size| *size >= 7), "v1 never loses a pod", path(&seen, &["app:v1", "app:v2"]))?;
    seen.ensure_at_most(11)?;
    ensure(floor.is_complete() && floor.lowest() >= 7, "seven ready pods at every moment", floor.lowest())
}

/// At R = 1 no step has a pod: a person is waited for, and time shows nothing (SP-1).
async fn one_replica_waits_without_a_pod(world: World) -> Outcome {
    let steps = json!([timed(&json!("25%"), 600), promoted(&json!("50%"))]);
    world.roll_out(&manifest(1, &steps)).await?;
    let (trace, floor) = (Trace::start(&world).await?, Floor::start(&world).await?);
    world.set_image("web", "app:v2").await?;
    let web = rests(&world, "2 of 3: 0 of 1 updated, rests until somebody promotes it").await?;
    let message = web.condition("Reconciling").message;
    ensure(message.contains("timed pauses have no effect"), "why the first step is over", message)?;
    same("step, of, updated, want", numbers(&web), [2, 3, 0, 0])?;
    world.wait_sizes(&[("app:v1", 1), ("app:v2", 0)]).await?;
    ensure_quiet(&world, QUIET).await?;
    promote(&world, "2/all").await?;
    world.complete("web").await?;
    let seen = trace.stop(&world).await?;
    same("the path", path(&seen, &["app:v1", "app:v2"]), ["1+0", "1+1", "0+1"])?;
    ensure(floor.is_complete() && floor.lowest() >= 1, "a ready pod at every moment", floor.lowest())
}

/// The API server names the field and the fix.
async fn wrong_steps_are_refused(world: World) -> Outcome {
    world.roll_out(&Manifest::new("web", 1)).await?;
    let end =
        "must have exactly one of until and seconds: write {until: Promoted} or, for example, {seconds: 600}";
    let pods = "must be a number of pods, 1 or more, or a percentage from \"1%\" to \"100%\"";
    for (step, text) in [
        (json!({"updated": 0}), pods),
        (json!({"updated": "0%"}), pods),
        (json!({"updated": "101%"}), pods),
        (json!({"updated": "some"}), pods),
        (json!({"pause": {"seconds": 600}}), "steps[0].updated: Required value"),
        (json!({"updated": 1, "pause": {}}), end),
        (json!({"updated": 1, "pause": {"until": "Promoted", "seconds": 5}}), end),
        (json!({"updated": 1, "pause": {"until": "Later"}}), "supported values: \"Promoted\""),
        (json!({"updated": 1, "pause": {"seconds": 0}}), "greater than or equal to 1"),
        (promoted(&json!("100%")), "may not be set at 100%"),
    ] {
        let refused = world.patch("web", &edited(&json!([step]))).await.err();
        let said = refused.map(|failure| failure.0).unwrap_or_default();
        let is_named = said.contains(text) && said.contains("spec.strategy.rollingUpdate.steps[0]");
        ensure(is_named, &format!("\"{text}\" for {step}"), &said)?;
    }
    // A pause without an end. (A merge patch has no nulls in lists: the server takes them for fields to remove.)
    let mut empty = manifest(1, &json!([{"updated": 1, "pause": null}])).json(world.flavour);
    empty["metadata"]["name"] = json!("other");
    for words in [&["create", "-f", "-"][..], &["apply", "--server-side", "-f", "-"]] {
        let refused = world.kubectl.output(words, &empty.to_string()).await?;
        let text = "steps[0].pause: Invalid value: may not be empty: write {until: Promoted}";
        ensure(!refused.success && refused.stderr.contains(text), text, &refused)?;
    }
    let many = Value::Array(vec![json!({"updated": 1}); 21]);
    let recreate = json!({"spec": {"strategy": {"type": "Recreate", "rollingUpdate": {"steps": []}}}});
    for (patch, text) in [
        (edited(&many), "must have at most 20 items"),
        (recreate, "may not be set when spec.strategy.type is Recreate"),
        (json!({"spec": {"strategy": {"rollingUpdate": {"skipStepsFor": "All"}}}}), "\"Proven\", \"None\""),
    ] {
        let refused = world.patch("web", &patch).await.err();
        let said = refused.map(|failure| failure.0).unwrap_or_default();
        ensure(said.contains(text), &format!("\"{text}\""), &said)?;
    }
    Ok(())
}
