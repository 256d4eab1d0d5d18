//! `spec.failurePolicy`: a revision that fails gives way to the last good one, while the template stays as its author
//! wrote it (FP-1 to FP-10). What users can ask for is in `retrying.rs`.

use std::time::Duration;

use cluster::kubelet::{NEVER_READY, READY_AFTER_MS};
use serde_json::{Value, json};

use crate::command_line::{DONE, expect, tool};
use crate::failure::{Failure, Outcome, ensure, same};
use crate::floor::Floor;
use crate::manifest::{Manifest, image_patch, pods_patch};
use crate::objects::{Deployment, Set};
use crate::pinning::hash;
use crate::scenario::{Scenario, scenarios};
use crate::trace::{Recording, Trace, size};
use crate::watch::{Sighting, Sightings};
use crate::world::World;

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    own ours killed_while_reverting because "apps/v1 has no failure policy",
    ours scaled_while_reverting because "apps/v1 has no failure policy",
    ours the_example_reverts because "apps/v1 has no failure policy",
    ours reverted_and_released because "apps/v1 has no failure policy",
    ours policy_with_the_bad_template because "apps/v1 has no failure policy",
    ours nothing_good_waits because "apps/v1 has no failure policy",
    ours pause_waits because "apps/v1 has no failure policy",
    ours wrong_policies_are_refused because "apps/v1 has no failure policy",
];

/// What the operator remembers of a ReplicaSet, and the two requests that it handles.
const MEMORY: &str = "rollwright.dev/rollout";
pub(crate) const RETRY: &str = "rollwright.dev/retry";
pub(crate) const ABORT: &str = "rollwright.dev/abort";
/// Deadlines in seconds. Only a template that should fail has the short one: on a slow machine, a good one might be
/// late for it, and so might a way back.
pub(crate) const SHORT: i64 = 5;
pub(crate) const LONG: i64 = 600;

/// A Deployment that reverts, without a pod to spare.
pub(crate) fn manifest(name: &str, replicas: i64) -> Manifest {
    Manifest::new(name, replicas)
        .rolling(&json!(1), &json!(0))
        .spec("failurePolicy", &json!({"action": "Revert"}))
}

/// A patch with another deadline.
pub(crate) fn within(seconds: i64, mut patch: Value) -> Value {
    patch["spec"]["progressDeadlineSeconds"] = json!(seconds);
    patch
}

/// Asks for something by an annotation, and changes the deadline along with it.
pub(crate) async fn ask(world: &World, name: &str, (key, text): (&str, &str), deadline: i64) -> Outcome {
    world.patch(name, &within(deadline, json!({"metadata": {"annotations": {key: text}}}))).await
}

/// What the operator remembers of the ReplicaSet with this image.
pub(crate) fn memory(sets: &[Set], image: &str) -> Value {
    let set = sets.iter().find(|set| set.image == image);
    set.and_then(|set| serde_json::from_str(set.annotation(MEMORY)).ok()).unwrap_or_default()
}

/// Waits for the verdict on a revision; returns what is remembered with it.
pub(crate) async fn judged(world: &World, image: &str, verdict: &str) -> Outcome<Value> {
    let is_judged = |sets: &[Set]| memory(sets, image)["verdict"] == verdict;
    let sets = world.wait_sets(&format!("the verdict {verdict} on {image}"), is_judged).await?;
    Ok(memory(&sets, image))
}

/// Of each ended rollout, newest first: revision, trigger, outcome.
pub(crate) fn told(web: &Deployment) -> Vec<String> {
    let history = web.value.pointer("/status/history").and_then(Value::as_array);
    let text = |record: &Value, field: &str| record[field].as_str().unwrap_or("-").to_owned();
    let line = |record: &Value| {
        format!("{} {} {}", record["revision"], text(record, "trigger"), text(record, "outcome"))
    };
    history.into_iter().flatten().map(line).collect()
}

/// `status.target`, if it is there.
pub(crate) fn target(web: &Deployment) -> Option<&Value> {
    web.value.pointer("/status/target").filter(|target| !target.is_null())
}

/// Waits until the revision of this image is all that runs, after a revert, and nothing is left to report. On a slow
/// machine, a deadline of seconds may have passed on the way back (FP-8).
pub(crate) async fn reverted(world: &World, name: &str, image: &str) -> Outcome<Deployment> {
    let hash = hash(world, name, image).await?;
    let is_there = |web: &Deployment| {
        let all = ["replicas", "readyReplicas", "availableReplicas"];
        let none = ["updatedReplicas", "unavailableReplicas", "terminatingReplicas"];
        web.is_observed()
            && ["Reverted", "Aborted"].contains(&web.text("/status/target/because"))
            && web.text("/status/target/hash") == hash
            && all.iter().all(|count| web.status(count) == web.replicas())
            && none.iter().all(|count| web.status(count) == 0)
            && told(web).first().is_some_and(|newest| {
                [" Revert Succeeded", " Revert Failed"].iter().any(|end| newest.ends_with(end))
            })
    };
    world.wait_until(name, &format!("the revert of {name} to {image}"), is_there).await
}

/// Everything that reports a revert does.
#[track_caller]
pub(crate) fn is_reported(web: &Deployment, revision: i64, declared: i64) -> Outcome {
    same("Progressing", web.progressing(), ("False".to_owned(), "RolledBack".to_owned()))?;
    for (kind, expected) in [
        ("Ready", ("False", "RolledBack")),
        ("Stalled", ("True", "RolledBack")),
        ("Available", ("True", "MinimumReplicasAvailable")),
    ] {
        let condition = web.condition(kind);
        same(kind, (condition.status.as_str(), condition.reason.as_str()), expected)?;
    }
    let number = |field: &str| target(web).and_then(|target| target[field].as_i64());
    same("the revision that runs", number("revision"), Some(revision))?;
    same("the declared one", number("declaredRevision"), Some(declared))?;
    same("the column STATUS", web.text("/status/state"), "Reverted")
}

/// Nothing was reported twice.
async fn told_once(world: &World, name: &str, reason: &str) -> Outcome {
    let events = world.events(name).await?;
    let count: i32 = events.iter().filter(|event| event.reason == reason).map(|event| event.count).sum();
    ensure(count <= 1, &format!("one event {reason}"), events)
}

/// After a revert has begun, it has the same target in every version of the Deployment.
#[track_caller]
fn keeps_its_target(seen: &[Sighting]) -> Outcome {
    let all = seen.iter().map(|sighting| &sighting.object["status"]["target"]);
    let targets: Vec<&Value> = all.skip_while(|target| target.is_null()).collect();
    let is_one = targets.first().is_some_and(|first| targets.iter().all(|target| target == first));
    ensure(is_one, "one target, and that to the end", targets)
}

/// A revision that failed gets no pods.
#[track_caller]
fn never_grows(seen: &Recording, image: &str) -> Outcome {
    let sizes = seen.sizes(image);
    ensure(sizes.is_sorted_by(|before, after| before >= after), "sizes that fall", sizes)
}

/// What docs/concepts/failure-policy.md plays in the sandbox has the same end on a real API server.
async fn the_example_reverts(world: World) -> Outcome {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/revert.yaml");
    world.kubectl.run(&["apply", "-f", path]).await?;
    world.complete("checkout").await?;
    expect(&tool(&world)?, "set image checkout server=nginx:bad", DONE, "image updated").await?;
    let web = reverted(&world, "checkout", "nginx:1.28").await?;
    world.wait_sizes(&[("nginx:1.28", 4), ("nginx:bad", 0)]).await?;
    is_reported(&web, 1, 2)?;
    same("the template", web.image(), "nginx:bad")
}

/// The last good revision takes over under the same surge and availability, and everything reports it. The
/// next template rolls out.
async fn reverted_and_released(world: World) -> Outcome {
    world.roll_out(&manifest("web", 4)).await?;
    let (trace, floor) = (Trace::start(&world).await?, Floor::start(&world).await?);
    let sightings = Sightings::start(&world, world.deployments()).await?;
    world.patch("web", &within(SHORT, pods_patch("app:v2", NEVER_READY, &json!("true")))).await?;
    let failed = judged(&world, "app:v2", "Failed").await?;
    same("what failed", &failed["revision"], &json!(2))?;
    let web = reverted(&world, "web", "app:v1").await?;
    world.wait_sizes(&[("app:v1", 4), ("app:v2", 0)]).await?;
    is_reported(&web, 1, 2)?;
    same("the template", web.image(), "app:v2")?;
    same("the generation: one change, and that is the user's", web.generation(), 2)?;
    let records = ["1 Revert Succeeded", "2 TemplateChanged Failed", "1 TemplateChanged Succeeded"];
    same("the history", told(&web), records)?;
    let words = "revision 1 runs instead of the declared revision 2";
    same("the event", world.wait_event("web", "Reverted", words).await?.kind.as_str(), "Warning")?;
    told_once(&world, "web", "Reverted").await?;

    let seen = sightings.stop(&world).await?;
    keeps_its_target(&seen)?;
    let first = |field: &str| seen.iter().position(|it| !it.object["status"][field].is_null());
    let order = first("fallback").zip(first("target"));
    let is_before = order.is_some_and(|(fallback, target)| fallback < target);
    ensure(is_before, "status.fallback, and then the revert", order)?;
    same("the revision to fall back to", web.value.pointer("/status/fallback/revision"), Some(&json!(1)))?;

    world.patch("web", &within(LONG, pods_patch("app:v3", NEVER_READY, &Value::Null))).await?;
    let web = world.complete("web").await?;
    same("status.target", target(&web), None::<&Value>)?;
    world.wait_sizes(&[("app:v1", 0), ("app:v2", 0), ("app:v3", 4)]).await?;
    world.wait_event("web", "RevertEnded", "the declared revision is rolled out").await?;
    judged(&world, "app:v3", "Good").await?;
    let seen = trace.stop(&world).await?;
    seen.ensure_at_most(5)?;
    seen.ensure_available(4)?;
    ensure(floor.is_complete() && floor.lowest() >= 4, "four ready pods at every moment", floor.lowest())
}

/// The operator is killed again and again from the verdict on. All pods of the revision that is given up
/// serve, so the way back takes as many steps as there are pods.
async fn killed_while_reverting(world: World) -> Outcome {
    let operator = world.stage.operator(world.flavour).ok_or_else(|| Failure::new("there is no operator"))?;
    world.roll_out(&manifest("web", 6).pods(READY_AFTER_MS, "1000")).await?;
    world.patch("web", &pods_patch("app:v2", READY_AFTER_MS, &Value::Null)).await?;
    world.complete("web").await?;
    let (trace, floor) = (Trace::start(&world).await?, Floor::start(&world).await?);
    let sightings = Sightings::start(&world, world.deployments()).await?;
    ask(&world, "web", (ABORT, "2"), LONG).await?;
    judged(&world, "app:v2", "Failed").await?;
    for pause in [0, 500, 1000, 1500, 2000] {
        tokio::time::sleep(Duration::from_millis(pause)).await;
        operator.kill();
        operator.start_again()?;
    }
    let web = reverted(&world, "web", "app:v1").await?;
    world.wait_sizes(&[("app:v1", 6), ("app:v2", 0)]).await?;
    is_reported(&web, 1, 2)?;
    same("the template", web.image(), "app:v2")?;
    same("reverts", told(&web).iter().filter(|record| record.contains(" Revert ")).count(), 1)?;
    // A process that dies between a status and its event has reported nothing.
    told_once(&world, "web", "Reverted").await?;
    keeps_its_target(&sightings.stop(&world).await?)?;
    let seen = trace.stop(&world).await?;
    never_grows(&seen, "app:v2")?;
    seen.ensure_at_most(7)?;
    seen.ensure_available(6)?;
    ensure(floor.is_complete() && floor.lowest() >= 6, "six ready pods at every moment", floor.lowest())
}

/// What runs follows R on the way back, up and down, and what failed does not grow.
async fn scaled_while_reverting(world: World) -> Outcome {
    world.roll_out(&manifest("web", 3).pods(READY_AFTER_MS, "3000")).await?;
    world.patch("web", &pods_patch("app:v2", READY_AFTER_MS, &Value::Null)).await?;
    world.complete("web").await?;
    let (trace, floor) = (Trace::start(&world).await?, Floor::start(&world).await?);
    ask(&world, "web", (ABORT, "2"), LONG).await?;
    judged(&world, "app:v2", "Failed").await?;
    world.scale("web", 9).await?;
    let is_more = |sets: &[Set]| sets.iter().any(|set| set.image == "app:v1" && set.size > 3);
    world.wait_sets("more than three pods of v1", is_more).await?;
    world.scale("web", 3).await?;
    let web = reverted(&world, "web", "app:v1").await?;
    world.wait_sizes(&[("app:v1", 3), ("app:v2", 0)]).await?;
    is_reported(&web, 1, 2)?;
    told_once(&world, "web", "Reverted").await?;
    let seen = trace.stop(&world).await?;
    let is_midway = seen.0.iter().any(|it| size(it, "app:v1") > 3 && size(it, "app:v2") > 0);
    ensure(is_midway, "a way back that is not over when it is scaled", seen.sizes("app:v1"))?;
    never_grows(&seen, "app:v2")?;
    seen.ensure_at_most(10)?;
    seen.ensure_available(3)?;
    ensure(floor.is_complete() && floor.lowest() >= 3, "three ready pods at every moment", floor.lowest())
}

/// The policy comes with the template that it is needed for: what ran before is good.
async fn policy_with_the_bad_template(world: World) -> Outcome {
    let first = manifest("web", 3).spec("failurePolicy", &Value::Null);
    world.apply(&first).await?;
    world.complete("web").await?;
    let (trace, floor) = (Trace::start(&world).await?, Floor::start(&world).await?);
    let second = manifest("web", 3).image("bad:v2").spec("progressDeadlineSeconds", &json!(SHORT));
    world.apply(&second).await?;
    let web = reverted(&world, "web", "app:v1").await?;
    world.wait_sizes(&[("app:v1", 3), ("bad:v2", 0)]).await?;
    is_reported(&web, 1, 2)?;
    same("the template", web.image(), "bad:v2")?;
    let records = ["1 Revert Succeeded", "2 NewImage Failed", "1 TemplateChanged Succeeded"];
    same("the history", told(&web), records)?;
    same("what ran", &judged(&world, "app:v1", "Good").await?["revision"], &json!(1))?;
    trace.stop(&world).await?.ensure_at_most(4)?;
    ensure(floor.is_complete() && floor.lowest() >= 3, "three ready pods at every moment", floor.lowest())
}

/// Waits until the operator waits for somebody, for this reason.
async fn waits_for_somebody(world: &World, reason: &str) -> Outcome<Deployment> {
    let is_there = |web: &Deployment| web.is_observed() && web.condition("Stalled").reason == reason;
    let web = world.wait_until("web", &format!("Stalled being {reason}"), is_there).await?;
    same("Stalled", web.condition("Stalled").status.as_str(), "True")?;
    same("Ready", web.condition("Ready").status.as_str(), "False")?;
    same("status.target", target(&web), None::<&Value>)?;
    let event = world.wait_event("web", reason, "the declared revision").await?;
    same("the event", event.kind.as_str(), "Warning")?;
    Ok(web)
}

/// The first rollout fails, so there is nothing to go back to; the next template ends the wait.
async fn nothing_good_waits(world: World) -> Outcome {
    let first = manifest("web", 2).image("bad:v1").spec("progressDeadlineSeconds", &json!(SHORT));
    world.create(&first).await?;
    let web = waits_for_somebody(&world, "NoGoodRevision").await?;
    same("status.fallback", web.text("/status/fallback/hash"), "")?;
    world.wait_event("web", "NoGoodRevision", "no other revision is known to be good").await?;
    world.wait_sizes(&[("bad:v1", 2)]).await?;
    world.patch("web", &within(LONG, image_patch("app:v2"))).await?;
    let web = world.complete("web").await?;
    world.wait_sizes(&[("bad:v1", 0), ("app:v2", 2)]).await?;
    same("the history", told(&web), ["2 NewImage Succeeded", "1 TemplateChanged Failed"])?;
    told_once(&world, "web", "NoGoodRevision").await
}

/// With the action Pause, what runs stays and follows R, what failed does not grow, and the next template
/// rolls out.
async fn pause_waits(world: World) -> Outcome {
    world.roll_out(&manifest("web", 4).spec("failurePolicy", &json!({"action": "Pause"}))).await?;
    let (trace, floor) = (Trace::start(&world).await?, Floor::start(&world).await?);
    world.patch("web", &within(SHORT, image_patch("bad:v2"))).await?;
    let web = waits_for_somebody(&world, "RolloutFailed").await?;
    same("Available", web.condition("Available").status.as_str(), "True")?;
    world.wait_sizes(&[("app:v1", 4), ("bad:v2", 1)]).await?;
    judged(&world, "bad:v2", "Failed").await?;
    world.scale("web", 6).await?;
    world.wait_sizes(&[("app:v1", 6), ("bad:v2", 1)]).await?;
    world.wait_until("web", "six available pods", |it| it.status("availableReplicas") == 6).await?;
    waits_for_somebody(&world, "RolloutFailed").await?;
    told_once(&world, "web", "RolloutFailed").await?;

    world.patch("web", &within(LONG, image_patch("app:v3"))).await?;
    world.complete("web").await?;
    world.wait_sizes(&[("app:v1", 0), ("bad:v2", 0), ("app:v3", 6)]).await?;
    let seen = trace.stop(&world).await?;
    ensure(seen.sizes("bad:v2").iter().all(|size| *size <= 1), "one pod that fails", seen.sizes("bad:v2"))?;
    seen.ensure_at_most(7)?;
    ensure(floor.is_complete() && floor.lowest() >= 4, "four ready pods at every moment", floor.lowest())
}

/// The API server names the field and the fix.
async fn wrong_policies_are_refused(world: World) -> Outcome {
    world.roll_out(&Manifest::new("web", 1)).await?;
    let no_history = |action: &str| json!({"failurePolicy": {"action": action}, "revisionHistoryLimit": 0});
    let policy = |field: &str, value: Value| json!({"failurePolicy": {field: value}});
    let limit = "must be at least 1 when spec.failurePolicy.action is Revert";
    let (least, most) = ("should be greater than or equal to 0", "should be less than or equal to 86400");
    for (wrong, field, text) in [
        (no_history("Revert"), "spec.revisionHistoryLimit", limit),
        (policy("when", json!({})), "spec.failurePolicy.when", "must name a criterion"),
        (policy("when", json!({"deadline": false})), "spec.failurePolicy.when", "must name a criterion"),
        (policy("action", json!("Undo")), "spec.failurePolicy.action", "\"Stay\", \"Pause\", \"Revert\""),
        (policy("bakeSeconds", json!(-1)), "spec.failurePolicy.bakeSeconds", least),
        (policy("bakeSeconds", json!(90_000)), "spec.failurePolicy.bakeSeconds", most),
    ] {
        let refused = world.patch("web", &json!({"spec": wrong})).await.err();
        let said = refused.map(|failure| failure.0).unwrap_or_default();
        let expected = format!("{field}: \"{text}\" for {wrong}");
        ensure(said.contains(field) && said.contains(text), &expected, &said)?;
    }
    world.patch("web", &json!({"spec": no_history("Pause")})).await
}
