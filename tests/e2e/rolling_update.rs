//! `kubectl rollwright rolling-update`. `crates/cli/src/rolling_update/tests.rs` kills it after every write.

use serde_json::{Value, json};

use crate::command_line::{run, tool};
use crate::failure::{Outcome, ensure, same, until};
use crate::scenario::{Scenario, scenarios};
use crate::world::World;

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    ours one_after_the_other because "it is about ReplicationControllers",
];

const KEY: &str = "kubernetes.io/deployment";
const PODS: usize = 2;

fn controller() -> Value {
    let labels = json!({"app": "foo"});
    json!({
        "apiVersion": "v1",
        "kind": "ReplicationController",
        "metadata": {"name": "foo", "annotations": {"team": "shop"}},
        "spec": {
            "replicas": PODS,
            "selector": labels,
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "app", "image": "app:v1"}]},
            },
        },
    })
}

/// One with all of its pods ready.
async fn create(world: &World) -> Outcome {
    world.kubectl.apply(&controller().to_string()).await?;
    world
        .wait("the pods of foo", async || {
            let controller = world.kubectl.json(&["get", "rc", "foo"]).await?;
            let ready = controller.pointer("/status/readyReplicas").and_then(Value::as_u64);
            until(ready == Some(PODS as u64), format!("{ready:?}"))
        })
        .await
}

/// One controller is left, with its name, its label and its pods, and without a note for a crash.
async fn ended(world: &World, image: &str) -> Outcome {
    let all = world.kubectl.json(&["get", "rc"]).await?;
    let names: Vec<_> =
        all["items"].as_array().into_iter().flatten().map(|it| &it["metadata"]["name"]).collect();
    same("the controllers that are left", names, ["foo"])?;
    let controller = &all["items"][0];
    let template = &controller["spec"]["template"];
    same("the image", &template["spec"]["containers"][0]["image"], &json!(image))?;
    same("the priority class", &template["spec"]["priorityClassName"], &Value::Null)?;
    same("the size", &controller["spec"]["replicas"], &json!(PODS))?;
    let label = template["metadata"]["labels"][KEY].as_str().unwrap_or_default();
    ensure(!label.is_empty(), "a label in the template", template)?;
    same("the selector", &controller["spec"]["selector"], &json!({"app": "foo", KEY: label}))?;
    let notes = controller["metadata"]["annotations"].as_object().cloned().unwrap_or_default();
    let notes: Vec<_> = notes
        .keys()
        .filter(|key| {
            key.contains("kubernetes.io/d") || key.contains("update-partner") || key.contains("rollwright")
        })
        .collect();
    ensure(notes.is_empty(), "no note for a crash", notes)?;
    let uid = &controller["metadata"]["uid"];
    world
        .wait("the pods being its own, and all there are", async || {
            let pods = world.kubectl.json(&["get", "pods", "-l", "app=foo"]).await?;
            let pods = pods["items"].as_array().cloned().unwrap_or_default();
            let is_own = |pod: &Value| {
                pod["metadata"]["ownerReferences"][0]["uid"] == *uid
                    && pod["metadata"]["labels"][KEY] == label
            };
            until(pods.len() == PODS && pods.iter().all(is_own), format!("{pods:?}"))
        })
        .await?;
    Ok(())
}

/// The output on the way, and what is refused.
async fn one_after_the_other(world: World) -> Outcome {
    let tool = tool(&world)?;
    let missing = run(&tool, "rolling-update foo --image=app:v2").await?;
    same(&format!("exit code: {missing:?}"), missing.code, Some(5))?;
    ensure(missing.stderr.contains("replicationcontroller/foo not found"), "not found", &missing.stderr)?;
    create(&world).await?;
    let refused = [
        ("rolling-update foo", 2, "--image=IMAGE, -f FILE"),
        ("rolling-update foo foo --image=app:v2", 2, "both are named foo"),
        ("rolling-update deploy/foo --image=app:v2", 2, "is no ReplicationController"),
        ("rolling-update foo --image=app:v2 --container=other", 2, "there is no container \"other\""),
        ("rolling-update foo --rollback", 1, "no update of replicationcontroller/foo is under way"),
    ];
    for (words, code, text) in refused {
        let output = run(&tool, words).await?;
        same(&format!("exit code of {words}: {output:?}"), output.code, Some(code))?;
        ensure(output.stderr.contains(text), text, &output.stderr)?;
    }
    let same_image = run(&tool, "rolling-update foo --image=app:v1").await?;
    ensure(same_image.stdout.contains("nothing to do"), "nothing to do", &same_image)?;

    let updated = run(&tool, "rolling-update foo --image=app:v2 --update-period=0").await?;
    same(&format!("exit code: {updated:?}"), updated.code, Some(0))?;
    let scaled: Vec<&str> = updated.stdout.lines().filter_map(|line| line.strip_prefix("scale ")).collect();
    let steps: Vec<&str> =
        scaled.iter().filter_map(|line| line.split_once(' ')).map(|(_, step)| step).collect();
    same("the steps", steps, vec!["up to 1", "down to 1", "up to 2", "down to 0"])?;
    ended(&world, "app:v2").await?;

    let manifest = controller().to_string().replace("app:v1", "app:v3");
    let words = ["rolling-update", "foo", "-f", "-", "--update-period=0", "-o", "name"];
    let updated = tool.output(&words, &manifest).await?;
    same(
        &format!("what -o name prints: {}", updated.stderr),
        &*updated.stdout,
        "replicationcontroller/foo\n",
    )?;
    ended(&world, "app:v3").await?;

    let stuck = run(&tool, "rolling-update foo --image=bad:v4 --update-period=0 --timeout=3s").await?;
    same(&format!("exit code of one that does not start: {stuck:?}"), stuck.code, Some(3))?;
    let other = run(&tool, "rolling-update foo --image=app:v5").await?;
    ensure(other.stderr.contains("finish that, or call it off with --rollback"), "one at a time", &other)?;
    let back = run(&tool, "rolling-update foo --rollback --update-period=0").await?;
    same(&format!("exit code of the way back: {back:?}"), back.code, Some(0))?;
    ended(&world, "app:v3").await
}
