//! `kubectl rollwright`, on both APIs, as a user or a script runs it.

use std::time::Duration;

use cluster::{NotYet, Output, Tool, User};
use serde_json::{Value, json};

use crate::failure::{Outcome, ensure, same, until};
use crate::manifest::Manifest;
use crate::scenario::{Scenario, scenarios};
use crate::world::World;

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    both status_tells_by_its_exit_code,
    both history_and_undo,
    both pause_resume_restart_and_scale,
    both get_and_list,
    both plan_is_what_happens,
    both hostile_text_is_visible,
    ours a_pin_leaves_the_template because "apps/v1 has no pin",
    apps no_pin_of_apps because "rollwright.dev has one",
    own ours two_of_one_name because "one of ours beside one of apps/v1",
];

pub(crate) const DONE: Option<i32> = Some(0);
pub(crate) const FAILED: Option<i32> = Some(1);
pub(crate) const USAGE: Option<i32> = Some(2);
pub(crate) const TIMEOUT: Option<i32> = Some(3);
pub(crate) const PAUSED: Option<i32> = Some(4);
pub(crate) const NOT_FOUND: Option<i32> = Some(5);

pub(crate) fn tool(world: &World) -> Outcome<Tool> {
    let program = env!("CARGO_BIN_EXE_kubectl-rollwright").into();
    let kubeconfig = world.stage.cluster.kubeconfig(User::Admin);
    Ok(Tool::at(program, kubeconfig).in_namespace(&world.namespace))
}

pub(crate) async fn run(tool: &Tool, words: &str) -> Outcome<Output> {
    let words: Vec<&str> = words.split(' ').collect();
    Ok(tool.output(&words, "").await?)
}

/// Runs it, and holds its exit code and its output against what is expected.
pub(crate) async fn expect(tool: &Tool, words: &str, code: Option<i32>, said: &str) -> Outcome<Output> {
    let output = run(tool, words).await?;
    same(&format!("exit code of {words}: {output:?}"), output.code, code)?;
    let all = format!("{}{}", output.stdout, output.stderr);
    ensure(all.contains(said), &format!("\"{said}\" from {words}"), &output)?;
    Ok(output)
}

/// Text that clears a screen, begins a control sequence in one character, and turns around what follows.
const HOSTILE: &str = "x\u{1b}[2J\r\u{9b}31m\u{202e}y\u{2066}";

/// Names of images, causes, and what the kubelet and the operator report of them.
async fn hostile_text_is_visible(world: World) -> Outcome {
    let tool = tool(&world)?;
    world.create(&Manifest::new("web", 2).annotation("kubernetes.io/change-cause", HOSTILE)).await?;
    world.complete("web").await?;
    world.set_image("web", &format!("bad:{HOSTILE}")).await?;
    let status = "status web --timeout=1s";
    let deceives =
        |letter: char| (letter.is_control() && letter != '\n') || ('\u{202a}'..='\u{2069}').contains(&letter);
    let mut shown = 0;
    for words in [
        "get web",
        "list",
        "history web",
        "history web --revision=2",
        "history web --diff=1,2",
        "plan web",
        "why web",
        status,
        "undo web --dry-run",
        "get web -o json",
        "get web -o yaml",
        "history web -o yaml",
        "set image web app",
    ] {
        let output = run(&tool, words).await?;
        let all = format!("{}{}", output.stdout, output.stderr);
        ensure(!all.contains(deceives), &format!("no such character from {words}"), &all)?;
        shown += usize::from(all.contains("{202e}") || all.contains("\\u202e"));
    }
    ensure(shown >= 8, "many commands show the text", shown)
}

async fn status_tells_by_its_exit_code(world: World) -> Outcome {
    let tool = tool(&world)?;
    let target = format!("deployment.{}", world.flavour.api_version().trim_end_matches("/v1"));
    expect(&tool, "status web", NOT_FOUND, "deployment \"web\" not found").await?;
    expect(&tool, "status pod/web", USAGE, "\"pod\" is no Deployment").await?;
    expect(&tool, "status web --timeout=soon", USAGE, "must be a time such as 30s").await?;

    world.create(&Manifest::new("web", 2)).await?;
    let done = "deployment \"web\" successfully rolled out";
    expect(&tool, &format!("status {target}/web --timeout=60s"), DONE, done).await?;
    expect(&tool, "rollout status deploy/web --watch=false", DONE, done).await?;
    expect(&tool, "status web --for=available", DONE, "has minimum availability").await?;

    world.patch("web", &json!({"spec": {"paused": true}})).await?;
    world.set_image("web", "app:v2").await?;
    world.observed("web").await?;
    expect(&tool, "status web", PAUSED, "deployment \"web\" is paused: 0 out of 2").await?;

    world.set_image("web", "bad:v2").await?;
    world.patch("web", &json!({"spec": {"paused": false}})).await?;
    expect(&tool, "status web --timeout=1s", TIMEOUT, "timed out after 1s").await?;
    world.patch("web", &json!({"spec": {"progressDeadlineSeconds": 2}})).await?;
    expect(&tool, "status web --timeout=60s", FAILED, "exceeded its progress deadline").await?;
    let shown = run(&tool, "status web --watch=false -o json").await?;
    let shown: Value = serde_json::from_str(&shown.stdout)?;
    same("phase", &shown["phase"], &json!("Failed"))?;
    same("exitCode", &shown["exitCode"], &json!(1))?;
    // The condition is about the stuck rollout for a while; the rollback does not report that.
    expect(&tool, "undo web --wait --timeout=60s", DONE, done).await?;
    Ok(())
}

/// Revision numbers that `history -o json` names.
async fn revisions(tool: &Tool) -> Outcome<Vec<i64>> {
    let shown: Value = serde_json::from_str(&run(tool, "history web -o json").await?.stdout)?;
    let revisions = shown["revisions"].as_array().cloned().unwrap_or_default();
    Ok(revisions.iter().filter_map(|revision| revision["revision"].as_i64()).collect())
}

async fn history_and_undo(world: World) -> Outcome {
    let tool = tool(&world)?;
    world.roll_out(&Manifest::new("web", 2)).await?;
    expect(&tool, "undo web", NOT_FOUND, "there is no revision to go back to").await?;
    expect(&tool, "set image web app=app:v2", DONE, "image updated").await?;
    expect(&tool, "set image web app=app:v2", DONE, "has these images already").await?;
    expect(&tool, "set image web other=app:v2", USAGE, "there is no container \"other\"; there are: app")
        .await?;
    world.complete("web").await?;
    same("the revisions", revisions(&tool).await?, [1, 2])?;
    // On apps/v1, it is an outline.
    let heading = if world.flavour.is_ours() { "REVISION   IMAGES" } else { "REVISION   HASH" };
    expect(&tool, "history web", DONE, heading).await?;
    expect(&tool, "history web --revision=1", DONE, "image: app:v1").await?;
    expect(&tool, "history web --diff 1 2", DONE, "-  - image: app:v1").await?;
    expect(&tool, "history web --revision=7", NOT_FOUND, "revision 7 not found; there are: 2, 1").await?;

    let before = world.get("web").await?.generation();
    for place in ["client", "server"] {
        let dry = format!("undo web --dry-run={place}");
        let shown =
            expect(&tool, &dry, DONE, &format!("rolled back to revision 1 ({place} dry run)")).await?;
        let changes = shown.stdout.lines().filter(|line| line.starts_with(['+', '-'])).count();
        same("lines that a rollback changes", changes, 2)?;
    }
    same("the generation after dry runs", world.get("web").await?.generation(), before)?;

    expect(&tool, "undo web --wait --timeout=60s", DONE, "successfully rolled out").await?;
    same("the image", world.get("web").await?.image(), "app:v1")?;
    same("the revisions", revisions(&tool).await?, [2, 3])?;
    expect(&tool, "rollout undo deployment/web --to-revision=3", DONE, "skipped rollback").await?;
    expect(&tool, "undo web --to-revision=2 --wait", DONE, "successfully rolled out").await?;
    same("the image", world.get("web").await?.image(), "app:v2")?;
    same("the number of sets", world.sets().await?.len(), 2)
}

async fn pause_resume_restart_and_scale(world: World) -> Outcome {
    let tool = tool(&world)?;
    world.roll_out(&Manifest::new("web", 2)).await?;
    expect(&tool, "pause web", DONE, "web paused").await?;
    expect(&tool, "pause web", FAILED, "is already paused").await?;
    expect(&tool, "restart web", PAUSED, "run resume first").await?;
    expect(&tool, "set image web *=app:v2", DONE, "image updated").await?;
    world.observed("web").await?;
    tokio::time::sleep(Duration::from_secs(1)).await;
    same("the number of sets while paused", world.sets().await?.len(), 1)?;
    expect(&tool, "rollout resume deploy/web", DONE, "web resumed").await?;
    expect(&tool, "resume web", FAILED, "is not paused").await?;
    expect(&tool, "status web --timeout=60s", DONE, "successfully").await?;
    expect(&tool, "restart web -o name", DONE, "/web").await?;
    expect(&tool, "status web --timeout=60s", DONE, "successfully").await?;
    same("the number of sets", world.sets().await?.len(), 3)?;
    expect(&tool, "scale web --replicas=3 --current-replicas=9", FAILED, "expected 9 replicas and found 2")
        .await?;
    expect(&tool, "scale web --replicas=3 --current-replicas=2", DONE, "web scaled").await?;
    expect(&tool, "scale web --replicas=-1", USAGE, "is not in 0..=").await?;
    world.complete("web").await?;
    same("the pods", world.pods().await?.len(), 3)
}

async fn get_and_list(world: World) -> Outcome {
    let tool = tool(&world)?;
    world.roll_out(&Manifest::new("web", 2)).await?;
    world.set_image("web", "bad:v2").await?;
    world.wait_sets("the new set", |sets| sets.len() == 2).await?;
    let shown = world
        .wait("a pod that says why", async || {
            let shown = run(&tool, "get web -o json").await.map_err(|failure| NotYet(failure.0))?;
            let shown: Value = serde_json::from_str(&shown.stdout)?;
            let says_why = |pod: &Value| pod["why"].as_str().is_some_and(|why| why.starts_with("app: "));
            until(pods_of(&shown).any(says_why), shown.to_string())?;
            Ok(shown)
        })
        .await?;
    same("phase", &shown["phase"], &json!("Progressing"))?;
    expect(&tool, "get web", DONE, "└─ web-").await?;
    expect(&tool, "get web -o yaml", DONE, "phase: Progressing").await?;
    expect(&tool, "list -l app=none", DONE, "No Deployments found.").await?;
    let listed = expect(&tool, "list", DONE, "/web").await?;
    same("the lines of the list", listed.stdout.lines().count(), 2)?;
    expect(&tool, "list --rolling --blocked", DONE, "/web").await?;
    expect(&tool, "list --queued --paused", DONE, "No Deployments found.").await?;
    world.set_image("web", "app:v3").await?;
    expect(&tool, "get web --watch", DONE, "successfully rolled out").await?;
    Ok(())
}

fn pods_of(tree: &Value) -> impl Iterator<Item = &Value> {
    let revisions = tree["revisions"].as_array().into_iter().flatten();
    revisions.flat_map(|revision| revision["pods"].as_array().into_iter().flatten())
}

/// The steps of a plan touch nothing, and name the ReplicaSet that is created then.
async fn plan_is_what_happens(world: World) -> Outcome {
    let tool = tool(&world)?;
    let manifest = Manifest::new("web", 3).rolling(&json!(1), &json!(0));
    world.apply(&manifest).await?;
    world.complete("web").await?;
    expect(&tool, "plan web", DONE, "no step to take; then: converged").await?;
    expect(&tool, "plan", USAGE, "required").await?;
    expect(&tool, "plan -f /nowhere.yaml", USAGE, "/nowhere.yaml: ").await?;

    let next = manifest.image("app:v2").json(world.flavour).to_string();
    let shown = tool.output(&["plan", "-f", "-"], &next).await?;
    ensure(
        shown.stdout.contains("at least 3 available (limit 3), at most 4 pods (limit 4)"),
        "limits",
        &shown,
    )?;
    let shown = tool.output(&["plan", "-f", "-", "-o", "json"], &next).await?;
    same("the number of sets after plans", world.sets().await?.len(), 1)?;
    let shown: Value = serde_json::from_str(&shown.stdout)?;
    let steps = shown["items"][0]["steps"].as_array().cloned().unwrap_or_default();
    let mut last: Vec<(String, i64)> = steps
        .last()
        .and_then(|step| step["replicaSets"].as_array())
        .into_iter()
        .flatten()
        .map(|set| {
            (
                set["replicaSet"].as_str().unwrap_or_default().to_owned(),
                set["replicas"].as_i64().unwrap_or(-1),
            )
        })
        .collect();
    world.kubectl.apply(&next).await?;
    world.wait_sets("the new set", |sets| sets.len() == 2).await?;
    world.complete("web").await?;
    let mut real: Vec<(String, i64)> =
        world.sets().await?.into_iter().map(|set| (set.name, set.size)).collect();
    // Sets of the same second have no order.
    last.sort();
    real.sort();
    same("the sets that were planned", last, real)
}

/// Every verb shows that another revision runs than the declared one, and why.
async fn a_pin_leaves_the_template(world: World) -> Outcome {
    let tool = tool(&world)?;
    world.roll_out(&Manifest::new("web", 2)).await?;
    expect(&tool, "unpin web", FAILED, "deployment.rollwright.dev/web is not pinned").await?;
    expect(&tool, "diff web", DONE, "runs the declared revision 1").await?;
    expect(&tool, "set image web app=app:v2", DONE, "image updated").await?;
    world.complete("web").await?;

    let dry = "undo web --pin --dry-run=server";
    expect(&tool, dry, DONE, "pinned to revision 1 (server dry run)").await?;
    let pinned = "undo web --pin --reason=INC-4711 --wait --timeout=60s";
    expect(&tool, pinned, DONE, "deployment \"web\" runs the pinned revision 1").await?;
    same("the image of the template", world.get("web").await?.image(), "app:v2")?;
    let words = "revision 1 runs instead of the declared revision 2, because spec.pin names it (INC-4711)";
    expect(&tool, "status web", FAILED, words).await?;
    expect(&tool, "status web --for=available", DONE, "has minimum availability").await?;
    expect(&tool, "why web", FAILED, words).await?;
    expect(&tool, "why web", FAILED, "kubectl rollwright unpin deployment.rollwright.dev/web").await?;
    expect(&tool, "get web", DONE, "runs revision 1: Pinned (INC-4711)").await?;
    let column = world.get("web").await?.text("/status/state").to_owned();
    same("the column STATUS of kubectl", column.as_str(), "Pinned")?;
    expect(&tool, "list --pinned", DONE, &column).await?;
    expect(&tool, "list --blocked --rolling", DONE, "No Deployments found.").await?;
    expect(&tool, "diff web", DONE, "+++ revision 2 (declared)").await?;
    expect(&tool, "history web", DONE, "Pin: INC-4711").await?;
    expect(&tool, "undo web --no-pin --to-revision=1", FAILED, "unpin deployment.rollwright.dev/web").await?;
    expect(&tool, "migrate web --back", FAILED, "add --accept-declared").await?;

    expect(&tool, "unpin web", DONE, "deployment.rollwright.dev/web unpinned").await?;
    expect(&tool, "status web --timeout=60s", DONE, "successfully rolled out").await?;
    same("the image", world.get("web").await?.image(), "app:v2")
}

async fn no_pin_of_apps(world: World) -> Outcome {
    let tool = tool(&world)?;
    world.roll_out(&Manifest::new("web", 1)).await?;
    expect(&tool, "set image web app=app:v2", DONE, "image updated").await?;
    world.complete("web").await?;
    expect(&tool, "undo web --pin", USAGE, "kubectl rollwright migrate deployment.apps/web").await?;
    expect(&tool, "unpin web", FAILED, "is not pinned").await?;
    expect(&tool, "diff web", DONE, "deployment.apps/web runs the declared revision 2").await?;
    Ok(())
}

/// A name that both APIs have is refused, and either can be named.
async fn two_of_one_name(world: World) -> Outcome {
    let tool = tool(&world)?;
    world.roll_out(&Manifest::new("web", 1)).await?;
    let other = Manifest::new("web", 1)
        .json(crate::flavour::Flavour::AppsV1)
        .to_string()
        .replace("\"app\":", "\"apps\":");
    world.kubectl.apply(&other).await?;
    expect(&tool, "get web", FAILED, "use one of these names").await?;
    expect(&tool, "get deployment.apps/web", DONE, "deployment.apps/web").await?;
    expect(&tool, "get rwd/web", DONE, "deployment.rollwright.dev/web").await?;
    Ok(())
}
