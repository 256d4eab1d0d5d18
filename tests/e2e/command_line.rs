//! `kubectl rollwright`, on both APIs, as a user or a script runs it.

use cluster::{Output, Tool, User};
use serde_json::{Value, json};

use crate::failure::{Outcome, ensure, same};
use crate::flavour::Flavour;
use crate::manifest::Manifest;
use crate::scenario::{Scenario, scenarios};
use crate::world::World;

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    both plan_is_what_happens,
    both several_at_once,
    ours hostile_text_is_visible because "both APIs share what prints it",
    ours a_pin_leaves_the_template because "apps/v1 has no pin",
    ours two_of_one_name because "one of ours beside one of apps/v1",
];

pub(crate) const DONE: Option<i32> = Some(0);
pub(crate) const FAILED: Option<i32> = Some(1);
pub(crate) const USAGE: Option<i32> = Some(2);
pub(crate) const TIMEOUT: Option<i32> = Some(3);
pub(crate) const PAUSED: Option<i32> = Some(4);
pub(crate) const NOT_FOUND: Option<i32> = Some(5);
pub(crate) const NO_ACCESS: Option<i32> = Some(6);

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

/// Names, a selector, and a manifest choose several; each is tried, and a dry run changes none.
async fn several_at_once(world: World) -> Outcome {
    let tool = tool(&world)?;
    for name in ["web", "api"] {
        world.create(&Manifest::new(name, 1)).await?;
        world.complete(name).await?;
    }
    world.patch("web", &json!({"metadata": {"labels": {"app": "web"}}})).await?;
    let (group, _) = world.flavour.api_version().split_once('/').unwrap_or_default();
    let full = |name: &str| format!("deployment.{group}/{name}");
    let each = |words: &str| format!("{} {words}\n{} {words}\n", full("api"), full("web"));
    let dry = expect(&tool, "pause --all --dry-run=server", DONE, "").await?;
    same("each has its line", dry.stdout, each("paused (server dry run)"))?;
    let dry = expect(&tool, "pause -l app=web --dry-run=client -o jsonpath={.spec.paused}", DONE, "").await?;
    same("the object as it would be", dry.stdout.as_str(), "true")?;
    ensure(!world.get("web").await?.value["spec"]["paused"].is_boolean(), "not paused", "web")?;

    let paused =
        expect(&tool, "pause nobody web api --field-manager=release", FAILED, "\"nobody\" not found").await?;
    same(
        "the others are paused",
        paused.stdout,
        format!("{} paused\n{} paused\n", full("web"), full("api")),
    )?;
    let fields = world.get("web").await?.value["metadata"]["managedFields"].clone();
    let is_there = fields.as_array().into_iter().flatten().any(|entry| entry["manager"] == "release");
    ensure(is_there, "the field manager", &fields)?;
    expect(&tool, "resume web", DONE, "resumed").await?;
    expect(&tool, "set image api app=app:v2", DONE, "image updated").await?;
    world.observed("api").await?;
    expect(&tool, "status web api --timeout=30s", PAUSED, "paused").await?;
    let manifest = Manifest::new("api", 1).json(world.flavour).to_string();
    let resumed = tool.output(&["resume", "-f", "-"], &manifest).await?;
    same("the one of the manifest", resumed.stdout, format!("{} resumed\n", full("api")))?;
    expect(&tool, "status web api --timeout=30s", DONE, "successfully rolled out").await?;
    expect(&tool, "restart -l app=nothing", DONE, "No Deployments found.").await?;
    expect(&tool, "pause webb", NOT_FOUND, "did you mean web?").await?;
    let shown = expect(&tool, "list --no-headers -o custom-columns=N:.name,P:.phase", DONE, "").await?;
    ensure(
        shown.stdout.lines().all(|line| line.ends_with("   Complete")),
        "columns without a heading",
        &shown,
    )?;
    expect(&tool, "list -v=6", DONE, " 200 OK in ").await.map(drop)
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
    expect(&tool, dry, DONE, "pinned to revision 1 (app:v1) (server dry run)").await?;
    let pinned = "undo web --pin --reason=INC-4711 --wait --timeout=60s";
    expect(&tool, pinned, DONE, "deployment \"web\" runs the pinned revision 1").await?;
    same("the image of the template", world.get("web").await?.image(), "app:v2")?;
    // A sentence of `why` begins with a capital letter.
    let words = "evision 1 runs instead of the declared revision 2, because spec.pin names it (INC-4711)";
    expect(&tool, "status web", FAILED, words).await?;
    expect(&tool, "status web --for=available", DONE, "has minimum availability").await?;
    expect(&tool, "why web", FAILED, words).await?;
    expect(&tool, "why web", FAILED, "kubectl rollwright unpin deployment.rollwright.dev/web").await?;
    expect(&tool, "get web", DONE, "runs revision 1: Pinned (INC-4711)").await?;
    let column = world.get("web").await?.text("/status/display/summary").to_owned();
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

/// A name that both APIs have is refused, and either can be named.
async fn two_of_one_name(world: World) -> Outcome {
    let tool = tool(&world)?;
    world.roll_out(&Manifest::new("web", 1)).await?;
    // Paused, so that it has no ReplicaSet.
    let other = Manifest::new("web", 1).spec("paused", &json!(true)).json(Flavour::AppsV1);
    world.kubectl.apply(&other.to_string()).await?;
    expect(&tool, "get web", FAILED, "use one of these names").await?;
    expect(&tool, "get deployment.apps/web", DONE, "deployment.apps/web").await?;
    expect(&tool, "get rwd/web", DONE, "deployment.rollwright.dev/web").await?;
    Ok(())
}
