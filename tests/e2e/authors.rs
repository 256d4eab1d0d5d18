//! Who changed a template, as the policy of the chart notes it.

use std::collections::BTreeMap;
use std::path::Path;

use cluster::{Release, Tool, User};
use serde_json::{Value, json};

use crate::command_line::{run, tool};
use crate::failure::{Outcome, ensure, same, until};
use crate::manifest::{Manifest, image_patch};
use crate::scenario::{Scenario, scenarios};
use crate::stage::Controller;
use crate::world::World;

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    both the_person_is_named_and_nobody_can_forge_it,
];

const CHANGED_BY: &str = "rollwright.dev/changed-by";

/// kubectl for one Deployment, as somebody who may do everything.
async fn act_as(world: &World, user: &str, words: &[&str], input: &str) -> Outcome<String> {
    let user = format!("--as={user}");
    let words = [words, &[user.as_str(), "--as-group=system:masters"]].concat();
    Ok(world.kubectl.output_of(&words, input).await?)
}

async fn patch_as(world: &World, user: &str, patch: &Value) -> Outcome {
    let (name, patch) = (format!("{}/web", world.flavour.resource()), patch.to_string());
    act_as(world, user, &["patch", &name, "--type=merge", "-p", &patch], "").await?;
    Ok(())
}

async fn person(world: &World) -> Outcome<String> {
    Ok(world.get("web").await?.annotation(CHANGED_BY).unwrap_or_default().to_owned())
}

/// Of each ReplicaSet, by its image, the person.
async fn people(world: &World) -> Outcome<BTreeMap<String, String>> {
    let sets = world.sets().await?;
    Ok(sets.iter().map(|set| (set.image.clone(), set.annotation(CHANGED_BY).to_owned())).collect())
}

fn of(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(image, person)| ((*image).to_owned(), (*person).to_owned())).collect()
}

/// The policy of the chart, in this namespace, with the operator of this stage. Returns whether the release of
/// Kubernetes has such policies; for one without, the chart names the first that has.
async fn note_people(world: &World) -> Outcome<bool> {
    let cluster = &world.stage.cluster;
    let kubeconfig = cluster.kubeconfig(User::Admin);
    let helm = tokio::task::spawn_blocking(|| Tool::helm(kubeconfig)).await??;
    let chart = Path::new(env!("CARGO_MANIFEST_DIR")).join("charts/rollwright").display().to_string();
    let sets = [
        "changedBy.enabled=true".to_owned(),
        format!("changedBy.operators={{{}}}", User::Operator.name()),
        "controller.apis={rollwright.dev/v1,apps/v1}".to_owned(),
        format!("watchNamespaces={{{}}}", world.namespace),
    ];
    let sets = sets.map(|set| format!("--set={set}"));
    // The namespace's name is too long for a release; its end is random.
    let release = format!("notes-{}", world.namespace.rsplit('-').next().unwrap_or_default());
    let kubernetes = Release::selected()?;
    let version = format!("--kube-version={}", kubernetes.version());
    let fixed = ["template", &release, &chart, "--show-only=templates/changed-by.yaml", &version];
    let words: Vec<&str> = fixed.into_iter().chain(sets.iter().map(String::as_str)).collect();
    let policy = helm.run(&words).await;
    if !kubernetes.is_since("1.36") {
        let refusal = policy.err().map(|failure| failure.to_string()).unwrap_or_default();
        ensure(refusal.contains("changedBy.enabled: needs Kubernetes 1.36"), "a refusal", &refusal)?;
        return Ok(false);
    }
    world.kubectl.apply(&policy?).await?;
    let probe = Manifest::new("probe", 1).json(world.flavour).to_string();
    let dry = ["create", "--dry-run=server", "-o", "json", "-f", "-"];
    world
        .wait("the policy being in force", async || {
            let shown = world.kubectl.output_of(&dry, &probe).await?;
            until(shown.contains(CHANGED_BY), shown)
        })
        .await?;
    Ok(true)
}

/// One user edits, a second one scales, a third one tries to forge the annotation.
async fn the_person_is_named_and_nobody_can_forge_it(world: World) -> Outcome {
    if !note_people(&world).await? {
        return Ok(());
    }
    let manifest = Manifest::new("web", 2).annotation(CHANGED_BY, "mallory").json(world.flavour).to_string();
    act_as(&world, "carol", &["apply", "-f", "-"], &manifest).await?;
    same("the creator", person(&world).await?.as_str(), "carol")?;
    world.complete("web").await?;

    patch_as(&world, "alice", &image_patch("app:v2")).await?;
    let name = format!("{}/web", world.flavour.resource());
    act_as(&world, "bob", &["scale", &name, "--replicas=3"], "").await?;
    patch_as(&world, "bob", &json!({"spec": {"replicas": 4}})).await?;
    forge(&world).await?;
    same("the person after edit, scaling, and forgery", person(&world).await?.as_str(), "alice")?;
    world.complete("web").await?;
    same("the people", people(&world).await?, of(&[("app:v1", "carol"), ("app:v2", "alice")]))?;

    let manifest = Manifest::new("web", 2).image("app:v3").json(world.flavour).to_string();
    act_as(&world, "dave", &["apply", "-f", "-"], &manifest).await?;
    same("who applied another template", person(&world).await?.as_str(), "dave")?;
    world.complete("web").await?;
    let mut expected = vec!["carol", "alice", "dave"];
    // Kubernetes' own controller restores the annotations of the ReplicaSet, and the policy does not exempt it.
    if world.controller == Controller::Operator {
        patch_as(&world, "erin", &world.flavour.rollback_request(1)).await?;
        world.wait_until("web", "the rollback", |web| web.image() == "app:v1").await?;
        world.complete("web").await?;
        same("who asked for the rollback", person(&world).await?.as_str(), "erin")?;
        let expected_people = of(&[("app:v1", "erin"), ("app:v2", "alice"), ("app:v3", "dave")]);
        same("the people", people(&world).await?, expected_people)?;
        // Of apps/v1, the ReplicaSets show no more than their last rollout.
        expected = if world.flavour.is_ours() {
            [expected, vec!["erin"]].concat()
        } else {
            vec!["alice", "dave", "erin"]
        };
    }
    let shown = run(&tool(&world)?, "history web -o json").await?;
    let shown: Value = serde_json::from_str(&shown.stdout)?;
    let path =
        if world.flavour.is_ours() { ("rollouts", "/author/user") } else { ("revisions", "/changedBy") };
    let named = shown[path.0].as_array().cloned().unwrap_or_default();
    let named: Vec<&str> = named.iter().filter_map(|it| it.pointer(path.1)?.as_str()).collect();
    same("the people in history", named, expected)
}

/// Every way to write the annotation that leaves the template as it is.
async fn forge(world: &World) -> Outcome {
    let name = format!("{}/web", world.flavour.resource());
    let forged = format!("{CHANGED_BY}=mallory");
    let removed = format!("{CHANGED_BY}-");
    act_as(world, "mallory", &["annotate", "--overwrite", &name, &forged], "").await?;
    act_as(world, "mallory", &["annotate", &name, &removed], "").await?;
    patch_as(world, "mallory", &json!({"metadata": {"annotations": null}})).await?;
    let patch = json!({"metadata": {"annotations": {CHANGED_BY: "mallory"}}}).to_string();
    let status = ["patch", &name, "--subresource=status", "--type=merge", "-p", &patch];
    act_as(world, "mallory", &status, "").await?;
    let people = people(world).await?;
    ensure(people.values().all(|person| person != "mallory"), "no forged ReplicaSet", &people)
}
