//! What ends a rest at a step, and what does not (SP-5, SP-9, SP-10): time, a pause, a failure, an earlier revision,
//! and an operator that is killed.

use std::path::Path;
use std::time::{Duration, Instant};

use cluster::kubelet::READY_AFTER_MS;
use cluster::{NotYet, User, wait_for};
use faultproxy::{Fault, FaultProxy, Match, Rule};
use jiff::{SignedDuration, Timestamp};
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use crate::evidence::{pod_names, restart};
use crate::failure::{Failure, Outcome, ensure, same};
use crate::floor::Floor;
use crate::objects::Deployment;
use crate::operator::Operator;
use crate::quiet::ensure_quiet;
use crate::reverting::{judged, memory, reverted, told};
use crate::scenario::{Scenario, scenarios};
use crate::steps::{
    at_the_first_step, edited, manifest, numbers, path, promote, promoted, rests, since, timed,
};
use crate::trace::{Recording, Trace};
use crate::watch::{Sighting, Sightings};
use crate::world::World;

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    own ours killed_at_every_write because "apps/v1 has no steps",
    own ours a_timed_pause_survives_the_operator because "apps/v1 has no steps",
    ours a_canary_that_crashes_is_reverted because "apps/v1 has no steps",
    ours a_canary_that_is_stuck_is_reverted because "apps/v1 has no steps",
    ours an_earlier_revision_skips_steps because "apps/v1 has no steps",
    ours paused_at_a_step because "apps/v1 has no steps",
];

const IMAGES: &[&str] = &["app:v1", "app:v2"];
/// A start of the operator, and what it does then, on a slow machine.
const STARTED: Duration = Duration::from_secs(60);
/// The pods of a revision are read every 15 s.
const VERDICT: Duration = Duration::from_secs(45);

fn operator(world: &World) -> Outcome<&Operator> {
    world.stage.operator(world.flavour).ok_or_else(|| Failure::new("there is no operator"))
}

async fn sleep_until(time: Timestamp) {
    let left = time.duration_since(Timestamp::now());
    tokio::time::sleep(left.try_into().unwrap_or_default()).await;
}

/// The operator is killed at a rest, and while it is away the next one ends.
async fn a_timed_pause_survives_the_operator(world: World) -> Outcome {
    let steps = json!([timed(&json!("30%"), 25), timed(&json!("60%"), 25)]);
    world.roll_out(&manifest(10, &steps)).await?;
    let trace = Trace::start(&world).await?;
    world.set_image("web", "app:v2").await?;
    let web = rests(&world, "1 of 3: 3 of 10 updated").await?;
    let end = since(&web)?.checked_add(SignedDuration::from_secs(25))?;
    operator(&world)?.kill();
    tokio::time::sleep(Duration::from_secs(3)).await;
    operator(&world)?.start_again()?;
    sleep_until(end.checked_sub(SignedDuration::from_secs(2))?).await;
    same("updated pods before the end", size_of(&world, "app:v2").await?, 3)?;
    let web = rests(&world, "2 of 3: 6 of 10 updated").await?;
    ensure(since(&web)? >= end, "the second step after the first pause", (since(&web)?, end))?;
    let late = Timestamp::now().duration_since(end);
    ensure(late < SignedDuration::from_secs(30), "the end of a pause soon after its time", late)?;

    operator(&world)?.kill();
    let end = since(&web)?.checked_add(SignedDuration::from_secs(25))?;
    sleep_until(end.checked_add(SignedDuration::from_secs(5))?).await;
    same("updated pods without an operator", size_of(&world, "app:v2").await?, 6)?;
    operator(&world)?.start_again()?;
    let started = Instant::now();
    world.complete("web").await?;
    ensure(started.elapsed() < STARTED, "the rest of it at once", started.elapsed())?;
    same("the history", told(&world.get("web").await?).len(), 2)?;
    let seen = trace.stop(&world).await?;
    seen.ensure_at_most(11)?;
    seen.ensure_available(10)
}

async fn size_of(world: &World, image: &str) -> Outcome<i64> {
    Ok(world.sets().await?.iter().filter(|set| set.image == image).map(|set| set.size).sum())
}

/// Each life of the operator ends with its first write: the server carries it out, and the process never gets the
/// answer. Somebody scales the Deployment at a rest, and promotes it.
async fn killed_at_every_write(world: World) -> Outcome {
    let steps = json!([promoted(&json!("30%")), timed(&json!("50%"), 3), {"updated": "80%"}]);
    world.roll_out(&manifest(6, &steps)).await?;
    judged(&world, "app:v1", "Good").await?;
    operator(&world)?.stop();
    let cluster = &world.stage.cluster;
    let proxy = FaultProxy::start(cluster.config(User::Operator).await?).await?;
    let kubeconfig = cluster.directory().join("killed.kubeconfig");
    proxy.write_kubeconfig(&kubeconfig)?;
    let arguments = [format!("--api={}", world.flavour.api_version()), "--leader-elect=false".to_owned()];
    let arguments = arguments.into_iter().chain(["--bind-address=0".to_owned()]).collect();
    let (trace, floor) = (Trace::start(&world).await?, Floor::start(&world).await?);
    world.set_image("web", "app:v2").await?;

    let mut writes: Vec<String> = Vec::new();
    let (program, log) =
        (Path::new(env!("CARGO_BIN_EXE_rollwright")), cluster.directory().join("killed.log"));
    arm(&proxy);
    let process = Operator::start_with(program, &kubeconfig, &log, arguments)?;
    let mut rested = Vec::new();
    loop {
        match (next(&world, &proxy).await?, rested.len()) {
            (Next::Wrote(write), _) => writes.push(write),
            (Next::Rests(replicas), 0) => {
                rested.push(replicas);
                world.scale("web", 10).await?;
                continue;
            }
            (Next::Rests(10), 1) => {
                rested.push(10);
                promote(&world, "2/50%").await?;
                continue;
            }
            (Next::Rests(_), _) => continue,
            (Next::Done, _) => break,
        }
        process.kill();
        arm(&proxy);
        process.start_again()?;
    }
    process.kill();
    proxy.heal();
    operator(&world)?.start_again()?;
    println!("killed at each of {} writes: {}", writes.len(), writes.join(", "));
    let web = world.complete("web").await?;
    same("the history", told(&web), ["2 NewImage Succeeded", "1 TemplateChanged Succeeded"])?;
    judged(&world, "app:v2", "Good").await?;
    let seen = trace.stop(&world).await?;
    let path = path(&seen, IMAGES);
    let expected = "6+0 6+1 5+1 5+2 4+2 7+2 7+3 7+4 6+4 6+5 5+5 5+6 4+6 4+7 3+7 3+8 2+8 2+9 1+9 1+10 0+10";
    same("the path", path.join(" "), expected)?;
    same("replicas at the rests for a person", rested, [6, 10])?;
    ensure(floor.is_complete() && floor.lowest() >= 6, "six ready pods at every moment", floor.lowest())
}

enum Next {
    /// The first write of a life was carried out.
    Wrote(String),
    /// The rollout rests for a person, with this many replicas.
    Rests(i64),
    /// The rollout is complete, and nothing is written any more.
    Done,
}

/// The next write hangs once it is carried out, and all after it before that.
fn arm(proxy: &FaultProxy) {
    proxy.heal();
    proxy.clear_journal();
    proxy.arm(Rule::once(Match::writes(), Fault::HangAfter));
    proxy.arm(Rule::always(Match::writes(), Fault::Hang));
}

/// The outcome of a life of the operator. An idle operator writes nothing, so this waits longer than any status does.
async fn next(world: &World, proxy: &FaultProxy) -> Outcome<Next> {
    let begin = Instant::now();
    let next = wait_for("a write, or a rest", Duration::from_secs(90), async || {
        let journal = proxy.journal();
        if let Some(write) = journal.writes().find(|write| write.server_code.is_some()) {
            return Ok(Next::Wrote(write.request.label()));
        }
        let web = world.get("web").await.map_err(|failure| NotYet(failure.0))?;
        let is_idle = begin.elapsed() > Duration::from_secs(12);
        let is_waiting = web.condition("Reconciling").message.contains("until somebody promotes it");
        match web.condition("Ready").status.as_str() {
            _ if !is_idle => Err(NotYet(web.summary())),
            "True" if web.is_complete() => Ok(Next::Done),
            _ if is_waiting && web.is_observed() => Ok(Next::Rests(web.replicas())),
            _ => Err(NotYet(web.summary())),
        }
    });
    Ok(next.await?)
}

/// A rest that is paused restarts once it is resumed, and the sizes follow R meanwhile.
async fn paused_at_a_step(world: World) -> Outcome {
    let steps = json!([timed(&json!("30%"), 600)]);
    world.roll_out(&manifest(10, &steps).pods(READY_AFTER_MS, "2000")).await?;
    let trace = Trace::start(&world).await?;
    world.set_image("web", "app:v2").await?;
    // On the way to the step, too.
    world.wait_sizes(&[("app:v2", 2)]).await?;
    pause(&world, true).await?;
    let sizes = size_of(&world, "app:v1").await? + size_of(&world, "app:v2").await?;
    tokio::time::sleep(Duration::from_secs(5)).await;
    let after = size_of(&world, "app:v1").await? + size_of(&world, "app:v2").await?;
    same("sizes while it is paused", after, sizes)?;
    pause(&world, false).await?;
    let before = rests(&world, "1 of 2: 3 of 10 updated, rests until ").await?;

    pause(&world, true).await?;
    world.scale("web", 20).await?;
    world.wait_sizes(&[("app:v1", 14), ("app:v2", 6)]).await?;
    world.wait_until("web", "20 available pods", |web| web.status("availableReplicas") == 20).await?;
    ensure_quiet(&world, Duration::from_secs(5)).await?;
    let resumed = Timestamp::now();
    pause(&world, false).await?;
    let after = rests(&world, "1 of 2: 6 of 20 updated, rests until ").await?;
    let anew = resumed.checked_sub(SignedDuration::from_secs(2))?;
    ensure(since(&after)? >= anew, "a rest that begins anew", (since(&before)?, since(&after)?, resumed))?;
    same("step, of, updated, want", numbers(&after), [1, 2, 6, 6])?;
    let seen = trace.stop(&world).await?;
    seen.ensure_at_most(20)?;
    ensure(seen.sizes("app:v2").iter().all(|size| *size <= 6), "no more than the step", path(&seen, IMAGES))?;
    world.patch("web", &edited(&json!([{"updated": "30%"}]))).await?;
    world.complete("web").await?;
    Ok(())
}

async fn pause(world: &World, paused: bool) -> Outcome {
    world.patch("web", &json!({"spec": {"paused": paused}})).await?;
    let is_there =
        |web: &Deployment| web.is_observed() && (web.progressing().1 == "DeploymentPaused") == paused;
    world.wait_until("web", if paused { "the pause" } else { "the end of the pause" }, is_there).await?;
    Ok(())
}

/// A Deployment that rests for ten minutes at one updated pod of ten, and reverts by a criterion.
async fn rests_with_a_policy(world: &World, criterion: &Value) -> Outcome<(Trace, Floor)> {
    let policy = json!({"action": "Revert", "when": criterion});
    let manifest = manifest(10, &json!([timed(&json!(1), 600)])).spec("failurePolicy", &policy);
    world.roll_out(&manifest).await?;
    judged(world, "app:v1", "Good").await?;
    let watched = (Trace::start(world).await?, Floor::start(world).await?);
    world.set_image("web", "app:v2").await?;
    rests(world, "1 of 2: 1 of 10 updated, rests until ").await?;
    Ok(watched)
}

/// The verdict comes soon after what it is about, no other pod is updated, and the first revision has all ten.
async fn goes_back(world: &World, since: Instant, (trace, floor): (Trace, Floor)) -> Outcome<Recording> {
    judged(world, "app:v2", "Failed").await?;
    let time = since.elapsed();
    println!("verdict after {time:?}");
    ensure(time <= VERDICT, "a verdict within 45 s", time)?;
    let web = reverted(world, "web", "app:v1").await?;
    world.wait_sizes(&[("app:v1", 10), ("app:v2", 0)]).await?;
    same("Progressing", web.progressing(), ("False".to_owned(), "RolledBack".to_owned()))?;
    ensure_quiet(world, Duration::from_secs(10)).await?;
    let seen = trace.stop(world).await?;
    ensure(seen.sizes("app:v2").iter().all(|size| *size <= 1), "one updated pod", path(&seen, IMAGES))?;
    seen.ensure_at_most(11)?;
    ensure(floor.is_complete() && floor.lowest() >= 9, "nine ready pods at every moment", floor.lowest())?;
    Ok(seen)
}

/// A minute into the rest, the updated pod restarts again and again.
async fn a_canary_that_crashes_is_reverted(world: World) -> Outcome {
    let watched = rests_with_a_policy(&world, &json!({"restarts": 3})).await?;
    tokio::time::sleep(Duration::from_secs(60)).await;
    let crashed = Instant::now();
    for name in pod_names(&world, "app:v2").await? {
        restart(&world, &name, 3).await?;
    }
    goes_back(&world, crashed, watched).await?;
    Ok(())
}

/// The same by `stuckSeconds`: it is not ready any more, and waits to be started again.
async fn a_canary_that_is_stuck_is_reverted(world: World) -> Outcome {
    let watched = rests_with_a_policy(&world, &json!({"stuckSeconds": 10})).await?;
    let stuck = Instant::now();
    for name in pod_names(&world, "app:v2").await? {
        let waiting = json!({"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m0s"}});
        let containers = json!([{"name": "app", "image": "app:v2", "imageID": "", "ready": false,
            "restartCount": 1, "state": waiting}]);
        let not_ready = |kind: &str| json!({"type": kind, "status": "False", "reason": "ContainersNotReady"});
        let conditions = json!([not_ready("Ready"), not_ready("ContainersReady")]);
        let status = json!({"status": {"containerStatuses": containers, "conditions": conditions}});
        world.pod_api().patch_status(&name, &PatchParams::default(), &Patch::Strategic(status)).await?;
    }
    goes_back(&world, stuck, watched).await?;
    Ok(())
}

/// No rollout rests that goes to a revision that is good: a rollback, and an old template from Git. One that was never
/// good goes through all steps again, and what was promoted before means nothing (SP-9).
async fn an_earlier_revision_skips_steps(world: World) -> Outcome {
    at_the_first_step(&world).await?;
    promote(&world, "2/all").await?;
    world.complete("web").await?;
    judged(&world, "app:v2", "Good").await?;

    let sightings = Sightings::start(&world, world.deployments()).await?;
    world.roll_back("web", 1).await?;
    world.wait_until("web", "the template of v1", |web| web.image() == "app:v1").await?;
    world.complete("web").await?;
    world.set_image("web", "app:v2").await?;
    world.complete("web").await?;
    let rests_in = |seen: &Sighting| seen.object["status"]["rollout"]["step"].is_number();
    let seen = sightings.stop(&world).await?;
    ensure(!seen.iter().any(rests_in), "no step", seen.iter().filter(|it| rests_in(it)).count())?;

    // Revision 5 gets to its second step; revision 6 takes its place.
    world.set_image("web", "app:v3").await?;
    rests(&world, "1 of 3: 1 of 4 updated").await?;
    promote(&world, "5/2").await?;
    rests(&world, "2 of 3: 2 of 4 updated").await?;
    world.set_image("web", "app:v4").await?;
    rests(&world, "1 of 3: 1 of 4 updated").await?;
    world.wait_sizes(&[("app:v1", 0), ("app:v2", 3), ("app:v3", 0), ("app:v4", 1)]).await?;
    world.set_image("web", "app:v3").await?;
    let is_7 = |web: &Deployment| web.is_observed() && web.revision() == 7;
    world.wait_until("web", "revision 7", is_7).await?;
    rests(&world, "1 of 3: 1 of 4 updated").await?;
    world.wait_sizes(&[("app:v2", 3), ("app:v3", 1), ("app:v4", 0)]).await?;
    same("what is remembered", &memory(&world.sets().await?, "app:v3")["revision"], &json!(7))?;
    // Back in the middle of a rest.
    let trace = Trace::start(&world).await?;
    world.set_image("web", "app:v2").await?;
    world.complete("web").await?;
    trace.stop(&world).await?.ensure_available(4)
}
