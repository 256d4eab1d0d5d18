//! What stands in a rollout's way: names that are taken, quotas, garbage in annotations.

use kube::api::{Patch, PatchParams, PostParams};
use plan::template::pod_template_hash;
use serde_json::{Value, json};

use crate::failure::{Outcome, ensure, same, until};
use crate::flavour::REVISION;
use crate::manifest::Manifest;
use crate::objects::{Deployment, Set};
use crate::ownership::{pods_of, sizes};
use crate::scenario::{Scenario, scenarios};
use crate::stage::Controller;
use crate::world::World;

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    both hash_collision,
    both quota_on_sets,
    both quota_on_pods,
    both garbage_in_annotations,
];

const DESIRED: &str = "deployment.kubernetes.io/desired-replicas";
const MAX: &str = "deployment.kubernetes.io/max-replicas";
const HISTORY: &str = "deployment.kubernetes.io/revision-history";

/// The template of a manifest as the server will store it.
async fn stored_template(world: &World, manifest: &Manifest) -> Outcome<Value> {
    let params = PostParams { dry_run: true, ..PostParams::default() };
    let object = serde_json::from_value(manifest.json(world.flavour))?;
    let stored = serde_json::to_value(world.deployments().create(&params, &object).await?)?;
    Ok(stored.pointer("/spec/template").cloned().unwrap_or_default())
}

/// Somebody else's ReplicaSet has the name that the Deployment's would have. It is left alone, and counted once; the
/// Deployment's gets another name (S4.15, S4.17).
async fn hash_collision(world: World) -> Outcome {
    let manifest = Manifest::new("web", 2);
    let template = stored_template(&world, &manifest).await?;
    // Kubernetes' own controller hashes otherwise (S4.19).
    let (taken, next) = (pod_template_hash(&template, None), pod_template_hash(&template, Some(1)));
    let labels = json!({"app": "somebody-else"});
    let foreign = json!({
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": format!("web-{taken}"), "labels": labels},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "app", "image": "app:foreign"}]},
            },
        },
    });
    world.kubectl.apply(&foreign.to_string()).await?;
    let deployment = world.roll_out(&manifest).await?;
    let foreign = world.set("app:foreign").await?;
    same("the foreign set", (foreign.owner.as_str(), foreign.size), ("", 1))?;
    let set = world.set("app:v1").await?;
    if world.controller == Controller::Operator {
        same("the name", set.name, format!("web-{next}"))?;
        same("collisions", deployment.status("collisionCount"), 1)?;
    }
    same("the number of sets", world.sets().await?.len(), 2)
}

/// Creates or changes a quota and waits until it is in force.
pub(crate) async fn quota(world: &World, hard: &Value) -> Outcome {
    let manifest = json!({
        "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "limit"}, "spec": {"hard": hard},
    });
    world.kubectl.apply(&manifest.to_string()).await?;
    world
        .wait("the quota being in force", async || {
            let quota = world.kubectl.json(&["get", "resourcequota", "limit"]).await?;
            until(quota["status"]["hard"] == *hard, &quota["status"])
        })
        .await
}

async fn lift_quota(world: &World) -> Outcome {
    world.kubectl.run(&["delete", "resourcequota", "limit"]).await?;
    Ok(())
}

/// A condition has this status and reason.
fn says(kind: &str, status: &str, reason: &str) -> impl Fn(&Deployment) -> bool {
    move |deployment| {
        let condition = deployment.condition(kind);
        condition.status == status && condition.reason == reason
    }
}

/// A quota refuses the first ReplicaSet and, later, that of an update; each time it is lifted the rollout continues by
/// itself (S4.15, S14.1).
async fn quota_on_sets(world: World) -> Outcome {
    const SETS: &str = "count/replicasets.apps";
    quota(&world, &json!({SETS: "0"})).await?;
    world.create(&Manifest::new("web", 2)).await?;
    let refused = says("Progressing", "False", "ReplicaSetCreateError");
    let deployment = world.wait_until("web", "the refusal being told", &refused).await?;
    let message = deployment.condition("Progressing").message;
    ensure(message.contains("exceeded quota"), "the server's own words", message)?;
    world.wait_event("web", "ReplicaSetCreateError", "exceeded quota").await?;
    lift_quota(&world).await?;
    world.complete("web").await?;

    quota(&world, &json!({SETS: "1"})).await?;
    let set = world.set("app:v1").await?;
    let pods = pods_of(&world, &set).await?;
    world.set_image("web", "app:v2").await?;
    let deployment = world.wait_until("web", "the second refusal being told", &refused).await?;
    same("Available", deployment.condition("Available").status.as_str(), "True")?;
    same("the pods meanwhile", pods_of(&world, &set).await?, pods)?;
    lift_quota(&world).await?;
    world.complete("web").await?;
    let sets = world.sets().await?;
    same("the sets", sizes(&sets), [("app:v1", 0), ("app:v2", 2)])
}

/// A quota refuses pods: the ReplicaSet reports it, and so does the Deployment (S9.14), until it is lifted.
async fn quota_on_pods(world: World) -> Outcome {
    quota(&world, &json!({"pods": "2"})).await?;
    world.create(&Manifest::new("web", 4)).await?;
    let failing = says("ReplicaFailure", "True", "FailedCreate");
    let deployment = world.wait_until("web", "the failure being told", failing).await?;
    let message = deployment.condition("ReplicaFailure").message;
    ensure(message.contains("exceeded quota"), "the server's own words", message)?;
    lift_quota(&world).await?;
    let deployment = world.complete("web").await?;
    same("ReplicaFailure", deployment.condition("ReplicaFailure").status.as_str(), "")
}

async fn annotate(world: &World, set: &Set, annotations: &Value) -> Outcome {
    let patch = json!({"metadata": {"annotations": annotations}});
    world.set_api().patch(&set.name, &PatchParams::default(), &Patch::Merge(&patch)).await?;
    Ok(())
}

/// Garbage in the annotations that the operator reads and writes: rollouts and scaling converge, and the revision is a
/// number again (deviation from S5.3; S8.1, S8.2, S8.7).
async fn garbage_in_annotations(world: World) -> Outcome {
    world.roll_out(&Manifest::new("web", 3)).await?;
    for garbage in ["banana", "99999999999999999999", ""] {
        let set = world.set("app:v1").await?;
        let annotations = json!({REVISION: garbage, HISTORY: ",,1,x", DESIRED: "-1", MAX: garbage});
        annotate(&world, &set, &annotations).await?;
        if world.controller == Controller::Operator {
            let is_number = |sets: &[Set]| sets.iter().all(|set| set.revision() > 0);
            world.wait_sets("the revision being a number again", is_number).await?;
        }
    }
    world.scale("web", 5).await?;
    world.complete("web").await?;
    let old = world.set("app:v1").await?;
    annotate(&world, &old, &json!({REVISION: "9223372036854775807", DESIRED: "4294967297", MAX: "0"}))
        .await?;
    world.set_image("web", "app:v2").await?;
    world.complete("web").await?;
    annotate(&world, &world.set("app:v1").await?, &json!({REVISION: "x", DESIRED: "x"})).await?;
    world.set_image("web", "app:v3").await?;
    world.scale("web", 2).await?;
    let deployment = world.complete("web").await?;
    let sets = world.sets().await?;
    same("the sets", sizes(&sets), [("app:v1", 0), ("app:v2", 0), ("app:v3", 2)])?;
    let new = world.set("app:v3").await?;
    ensure(new.revision() > 0, "a revision that is a number", &new.annotations)?;
    same("the Deployment's revision", deployment.revision(), new.revision())
}
