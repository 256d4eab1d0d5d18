//! `kubectl rollwright rolling-update`, killed after every single write.

use std::collections::{BTreeMap, BTreeSet};

use futures::future::try_join_all;
use serde_json::{Value, json};

use crate::command_line::{run, tool};
use crate::cut::{Cut, Ended};
use crate::failure::{Failure, Outcome, ensure, same, until};
use crate::scenario::{Scenario, scenarios};
use crate::watch::{Sighting, Sightings};
use crate::world::World;

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    ours killed_after_every_write because "it is about ReplicationControllers",
    ours one_after_the_other because "it is about ReplicationControllers",
];

const KEY: &str = "kubernetes.io/deployment";
const PODS: usize = 2;
/// More processes than one of them needs; each of them gets one write done or none.
const PROCESSES: usize = 100;

fn controller(name: &str) -> Value {
    let labels = json!({"app": name});
    json!({
        "apiVersion": "v1",
        "kind": "ReplicationController",
        "metadata": {"name": name, "annotations": {"team": "shop"}},
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
async fn create(world: &World, name: &str) -> Outcome {
    world.kubectl.apply(&controller(name).to_string()).await?;
    world
        .wait(&format!("the pods of {name}"), async || {
            let controller = world.kubectl.json(&["get", "rc", name]).await?;
            let ready = controller.pointer("/status/readyReplicas").and_then(Value::as_u64);
            until(ready == Some(PODS as u64), format!("{ready:?}"))
        })
        .await
}

/// How an update ends. It takes nine writes to the last pod, and some of these may be refused and repeated; after them
/// it cannot be called off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// Under the old name.
    Renamed,
    /// Under the new one.
    Kept,
    /// With the old image, after this many writes of the update and as many of the way back.
    CalledOff(usize),
}

/// Whichever write is its last, the same command continues: each process is killed after its first.
async fn killed_after_every_write(world: World) -> Outcome {
    let pods = Sightings::start(&world, world.pod_api()).await?;
    let world = &world;
    let cases = [
        ("renamed", End::Renamed),
        ("kept", End::Kept),
        ("called-off-early", End::CalledOff(5)),
        ("called-off", End::CalledOff(7)),
        ("called-off-late", End::CalledOff(9)),
    ];
    let run = async |(name, end)| {
        killed(world, name, end).await.map_err(|failure| Failure(format!("{name}: {}", failure.0)))
    };
    try_join_all(cases.map(run)).await?;
    let sightings = pods.stop(world).await?;
    for (name, end) in cases {
        let seen = Seen::of(name, &sightings);
        ensure(seen.fewest >= PODS, &format!("pods of {name} to be ready all the time"), seen.fewest)?;
        let is_updated = !matches!(end, End::CalledOff(_));
        if is_updated {
            same(&format!("pods that {name} ever had"), seen.all.len(), 2 * PODS)?;
            same(&format!("pods of the new image that {name} lost"), seen.ended.get("app:v2"), None)?;
            same(
                &format!("pods of the old image that {name} gave up"),
                seen.ended.get("app:v1"),
                Some(&PODS),
            )?;
        }
    }
    Ok(())
}

async fn killed(world: &World, name: &str, end: End) -> Outcome {
    create(world, name).await?;
    let cut = Cut::new(world, name).await?;
    let more = if end == End::Kept { format!("{name}-two") } else { String::new() };
    let forward = format!("rolling-update {name} {more} --image=app:v2 --update-period=0 --timeout=0");
    let back = format!("rolling-update rc/{name} --rollback --update-period=0 --timeout=0");
    let writes = if let End::CalledOff(writes) = end { writes } else { PROCESSES };
    let mut is_over = step_by_step(&cut, &forward, writes, 0).await?;
    if let End::CalledOff(_) = end {
        same("whether the update was over before it was called off", is_over, false)?;
        // Nothing to go back from is an error.
        is_over = step_by_step(&cut, &back, PROCESSES, 1).await?;
    }
    same("whether it came to an end", is_over, true)?;
    let last = if end == End::Kept { format!("{name}-two") } else { name.to_owned() };
    let image = if let End::CalledOff(_) = end { "app:v1" } else { "app:v2" };
    ended(world, name, &last, image).await
}

/// A process after the other, each killed after its first write, at most this many. Returns whether the last one found
/// nothing to do, by this exit code.
async fn step_by_step(cut: &Cut, words: &str, processes: usize, last: i32) -> Outcome<bool> {
    for _ in 0..processes {
        match cut.killed(words, 1).await? {
            Ended::Killed => {}
            Ended::ByItself(code) => {
                same(&format!("exit code of the last {words}"), code, Some(last))?;
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// One controller is left, with its name, its label and its pods, and without a note for a crash.
async fn ended(world: &World, name: &str, last: &str, image: &str) -> Outcome {
    let all = world.kubectl.json(&["get", "rc"]).await?;
    let all: Vec<Value> = all["items"].as_array().cloned().unwrap_or_default();
    let of_case = |it: &&Value| it["spec"]["selector"]["app"] == name;
    let names: Vec<_> = all.iter().filter(of_case).map(|it| it["metadata"]["name"].clone()).collect();
    same("the controllers that are left", &names, &vec![json!(last)])?;
    let Some(controller) = all.iter().find(of_case) else { return Err(Failure::new("no controller")) };
    let template = &controller["spec"]["template"];
    same("the image", &template["spec"]["containers"][0]["image"], &json!(image))?;
    same("the priority class", &template["spec"]["priorityClassName"], &Value::Null)?;
    same("the size", &controller["spec"]["replicas"], &json!(PODS))?;
    let label = template["metadata"]["labels"][KEY].as_str().unwrap_or_default();
    ensure(!label.is_empty(), "a label in the template", template)?;
    same("the selector", &controller["spec"]["selector"], &json!({"app": name, KEY: label}))?;
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
            let pods = world.kubectl.json(&["get", "pods", "-l", &format!("app={name}")]).await?;
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

/// What a watch has shown of the pods of one case.
#[derive(Default)]
struct Seen {
    all: BTreeSet<String>,
    /// How many have ended, by image.
    ended: BTreeMap<String, usize>,
    /// The fewest that were ready at a time, once all were.
    fewest: usize,
}

impl Seen {
    fn of(name: &str, sightings: &[Sighting]) -> Self {
        let mut seen = Self { fewest: usize::MAX, ..Self::default() };
        let (mut ready, mut ended) = (BTreeSet::new(), BTreeSet::new());
        let mut is_up = false;
        for Sighting { object, is_gone } in sightings {
            if object["metadata"]["labels"]["app"] != name {
                continue;
            }
            let uid = object["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
            let is_ending = *is_gone || object["metadata"]["deletionTimestamp"].is_string();
            let conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
            let is_ready = conditions.iter().any(|it| it["type"] == "Ready" && it["status"] == "True");
            if is_ready && !is_ending {
                ready.insert(uid.clone())
            } else {
                ready.remove(&uid)
            };
            if is_ending && ended.insert(uid.clone()) {
                let image = object["spec"]["containers"][0]["image"].as_str().unwrap_or_default();
                *seen.ended.entry(image.to_owned()).or_default() += 1;
            }
            seen.all.insert(uid);
            is_up |= ready.len() >= PODS;
            if is_up {
                seen.fewest = seen.fewest.min(ready.len());
            }
        }
        seen
    }
}

/// The output on the way, and what is refused.
async fn one_after_the_other(world: World) -> Outcome {
    let tool = tool(&world)?;
    let missing = run(&tool, "rolling-update foo --image=app:v2").await?;
    same(&format!("exit code: {missing:?}"), missing.code, Some(5))?;
    ensure(missing.stderr.contains("replicationcontroller/foo not found"), "not found", &missing.stderr)?;
    create(&world, "foo").await?;
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
    ended(&world, "foo", "foo", "app:v2").await?;

    let manifest = controller("foo").to_string().replace("app:v1", "app:v3");
    let words = ["rolling-update", "foo", "-f", "-", "--update-period=0", "-o", "name"];
    let updated = tool.output(&words, &manifest).await?;
    same(
        &format!("what -o name prints: {}", updated.stderr),
        &*updated.stdout,
        "replicationcontroller/foo\n",
    )?;
    ended(&world, "foo", "foo", "app:v3").await?;

    let stuck = run(&tool, "rolling-update foo --image=bad:v4 --update-period=0 --timeout=3s").await?;
    same(&format!("exit code of one that does not start: {stuck:?}"), stuck.code, Some(3))?;
    let other = run(&tool, "rolling-update foo --image=app:v5").await?;
    ensure(other.stderr.contains("finish that, or call it off with --rollback"), "one at a time", &other)?;
    let back = run(&tool, "rolling-update foo --rollback --update-period=0").await?;
    same(&format!("exit code of the way back: {back:?}"), back.code, Some(0))?;
    ended(&world, "foo", "foo", "app:v3").await
}
