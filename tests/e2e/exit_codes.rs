//! The exit codes of `kubectl rollwright`: each verb with every code that it can end with. (How long
//! rollouts and moves of pods take, and what blocks them, is for the scenarios of these.)

use cluster::{Output, Tool};
use kube::api::DeleteParams;
use serde_json::json;

use crate::command_line::{DONE, FAILED, NO_ACCESS, NOT_FOUND, PAUSED, TIMEOUT, USAGE, expect, run, tool};
use crate::failure::{Failure, Outcome, ensure, same};
use crate::manifest::Manifest;
use crate::scenario::{Scenario, scenarios};
use crate::world::World;

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    ours every_verb_without_its_object_or_its_cluster because "there is no object of either API",
    both verbs_and_a_pause,
    both verbs_and_a_rollout_that_fails,
    apps a_right_that_is_lacking because "a way back asks for the same rights",
];

/// Every verb that takes a name.
const NAMED: &[&str] = &[
    "rollout status nothing",
    "status nothing",
    "why nothing",
    "plan nothing",
    "get nothing",
    "get nothing --watch",
    "history nothing",
    "diff nothing",
    "undo nothing",
    "unpin nothing",
    "retry nothing",
    "promote nothing",
    "abort nothing",
    "pause nothing",
    "resume nothing",
    "restart nothing",
    "scale nothing --replicas=1",
    "set image nothing app=app:v2",
    "set env nothing LOG=debug",
    "set resources nothing --limits=cpu=1",
    "migrate nothing",
    "rolling-update nothing --image=app:v2",
];

/// Verbs that ask no cluster.
const OFFLINE: &[&str] = &["completion", "version", "lint"];

async fn ends(tool: &Tool, words: &str, code: Option<i32>) -> Outcome<Output> {
    expect(tool, words, code, "").await
}

async fn all_end(tool: &Tool, lines: &[(&str, Option<i32>)]) -> Outcome {
    for (words, code) in lines {
        ends(tool, words, *code).await?;
    }
    Ok(())
}

async fn every_verb_without_its_object_or_its_cluster(world: World) -> Outcome {
    let tool = tool(&world)?;
    let help = ends(&tool, "--help", DONE).await?.stdout;
    let groups = help.lines().take_while(|line| *line != "Options:");
    let listed = groups.filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next());
    let listed: Vec<&str> = listed.collect();
    ensure(listed.len() > 20, "the verbs in --help", &help)?;
    for verb in listed.into_iter().filter(|verb| !OFFLINE.contains(verb) && *verb != "list") {
        let is_tried = NAMED.iter().any(|words| words.split(' ').next() == Some(verb));
        ensure(is_tried, "each verb to be tried", verb)?;
    }
    ensure(help.contains("\n  5  not found"), "the table of exit codes in --help", &help)?;

    for words in NAMED {
        ends(&tool, words, NOT_FOUND).await?;
    }
    for words in NAMED.iter().copied().chain(["list"]) {
        ends(&tool, &format!("--as=nobody {words}"), NO_ACCESS).await?;
        ends(&tool, &format!("--server=https://127.0.0.1:1 {words}"), NO_ACCESS).await?;
        ends(&tool, &format!("--kubeconfig=/nowhere {words}"), NO_ACCESS).await?;
        ends(&tool, &format!("--no-such-flag {words}"), USAGE).await?;
    }
    all_end(&tool, &[("list", DONE), ("version", DONE), ("completion bash", DONE), ("frobnicate", USAGE)])
        .await
}

async fn verbs_and_a_pause(world: World) -> Outcome {
    let tool = tool(&world)?;
    world.roll_out(&Manifest::new("web", 1)).await?;
    expect(&tool, "undo web", NOT_FOUND, "there is no revision to go back to").await?;
    ends(&tool, "set image web app=app:v2", DONE).await?;
    expect(&tool, "set image web app=app:v2", DONE, "has these images already").await?;
    ends(&tool, "migrate rwd/web", USAGE).await?;
    world.complete("web").await?;
    expect(&tool, "resume web", FAILED, "is neither paused nor held").await?;
    ends(&tool, "pause web", DONE).await?;
    expect(&tool, "pause web", FAILED, "is already paused").await?;
    expect(&tool, "restart web", PAUSED, "run resume first").await?;
    all_end(&tool, &[("undo web", PAUSED), ("undo web --wait", PAUSED)]).await?;
    ends(&tool, "set env web LOG=debug", DONE).await?;
    world.observed("web").await?;
    ends(&tool, "set env web LOG=info --overwrite=false", FAILED).await?;
    all_end(&tool, &[("status web", PAUSED), ("rollout status web", PAUSED), ("get web --watch", PAUSED)])
        .await?;
    expect(&tool, "list --paused", DONE, "web").await?;
    for words in ["list --rolling", "list --queued", "list -l app=none"] {
        let listed = ends(&tool, words, DONE).await?;
        ensure(!listed.stdout.contains("web"), words, &listed)?;
    }
    all_end(&tool, &[("why web", PAUSED), ("get web", DONE), ("plan web", DONE)]).await?;
    for verb in ["get", "status", "why", "history", "diff", "plan"] {
        expect(&tool, &format!("{verb} nothing web"), FAILED, "deployment \"nothing\" not found").await?;
    }
    all_end(&tool, &[("resume web", DONE), ("status web --timeout=60s", DONE), ("get web --watch", DONE)])
        .await?;

    ends(&tool, "history web --revision=99", NOT_FOUND).await?;
    ends(&tool, "undo web --to-revision=99", NOT_FOUND).await?;
    ends(&tool, "set env web --from=secret/nothing", NOT_FOUND).await?;
    expect(&tool, "scale web --replicas=2 --current-replicas=9", FAILED, "9").await?;
    ends(&tool, "scale web --replicas=-1", USAGE).await?;
    ends(&tool, "scale web --replicas=1 --current-replicas=1", DONE).await?;
    ends(&tool, "scale web --replicas=0", DONE).await.map(drop)
}

async fn verbs_and_a_rollout_that_fails(world: World) -> Outcome {
    let tool = tool(&world)?;
    world.roll_out(&Manifest::new("web", 1)).await?;
    ends(&tool, "set image web app=bad:v2", DONE).await?;
    world.wait_sets("the new set", |sets| sets.len() == 2).await?;
    ends(&tool, "status web --watch=false", DONE).await?;
    expect(&tool, "status web --timeout=1s", TIMEOUT, "timed out after 1s").await?;
    ends(&tool, "undo web --wait --timeout=60s", DONE).await?;
    ends(&tool, "undo web --wait --timeout=1s", TIMEOUT).await?;
    let deadline = |seconds: i64| json!({"spec": {"progressDeadlineSeconds": seconds}});
    world.patch("web", &deadline(2)).await?;
    expect(&tool, "status web", FAILED, "exceeded its progress deadline").await?;
    expect(&tool, "status web -o json", FAILED, "\"exitCode\": 1").await?;
    all_end(&tool, &[("get web --watch", FAILED), ("why web", FAILED)]).await?;
    world.patch("web", &deadline(600)).await?;
    ends(&tool, "undo web --wait --timeout=60s", DONE).await?;
    let current = format!("undo web --to-revision={}", world.get("web").await?.revision());
    ensure(
        ends(&tool, &current, DONE).await?.stdout.contains("skipped rollback"),
        "nothing to undo",
        &current,
    )?;
    if !world.flavour.is_ours() {
        all_end(&tool, &[("undo web --pin", USAGE), ("unpin web", FAILED)]).await?;
    }
    world.patch("web", &deadline(2)).await?;
    ends(&tool, "undo web --wait", FAILED).await?;

    let refused = Manifest::new("web", 1).spec("replicas", &json!(-1)).json(world.flavour).to_string();
    let refused = tool.output(&["plan", "-f", "-"], &refused).await?;
    same(&format!("exit code of a plan that is refused: {refused:?}"), refused.code, FAILED)?;

    world.patch("web", &deadline(600)).await?;
    world.set_image("web", "bad:v3").await?;
    let waits = run(&tool, "status web");
    let goes = async {
        world.wait_sets("the third set", |sets| sets.len() == 3).await?;
        let _ = world.deployments().delete("web", &DeleteParams::background()).await?;
        Ok::<_, Failure>(())
    };
    let (waited, gone) = tokio::join!(waits, goes);
    gone?;
    let waited = waited?;
    same(&format!("exit code of a wait for what goes: {waited:?}"), waited.code, NOT_FOUND)
}

/// A user who may look but not write gets a message about it, and nothing is changed.
async fn a_right_that_is_lacking(world: World) -> Outcome {
    let tool = tool(&world)?;
    world.roll_out(&Manifest::new("web", 1)).await?;
    let resources = "--resource=deployments.apps,deployments.rollwright.dev,replicasets.apps";
    let kubectl = &world.kubectl;
    kubectl.run(&["create", "role", "reader", "--verb=get,list", resources]).await?;
    kubectl.run(&["create", "rolebinding", "reader", "--role=reader", "--user=reader"]).await?;
    let refused = ends(&tool, "--as=reader migrate web", NO_ACCESS).await?;
    ensure(refused.stderr.contains("you may not delete deployments.apps"), "the right", &refused)?;
    ends(&tool, "--as=reader migrate web --dry-run", NO_ACCESS).await?;
    all_end(&tool, &[("--as=reader list", DONE), ("--as=reader history web", DONE)]).await?;
    all_end(&tool, &[("--as=reader pause web", NO_ACCESS)]).await?;
    // Without the pods, their cause is missing, and the answer reports that.
    let get = ends(&tool, "--as=reader get web", DONE).await?;
    ensure(get.stdout.contains("you may not list its pods"), "what is missing", &get)?;
    all_end(&tool, &[("--as=reader why web", DONE)]).await?;
    world.set_image("web", "bad:v2").await?;
    world.wait_sets("the new set", |sets| sets.len() == 2).await?;
    let why = ends(&tool, "--as=reader why web", TIMEOUT).await?;
    ensure(why.stdout.contains("You may not list its pods"), "what is missing", &why)?;
    world.roll_out(&Manifest::new("again", 1).spec("strategy", &json!({"type": "Recreate"}))).await?;
    all_end(&tool, &[("--as=reader why again", NO_ACCESS)]).await
}
