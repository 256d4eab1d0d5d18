//! Who owns which ReplicaSet: adoption, release, and two Deployments that select the same pods.

use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};

use crate::failure::{Outcome, ensure, same, until};
use crate::manifest::Manifest;
use crate::objects::Set;
use crate::scenario::{Scenario, scenarios};
use crate::world::World;

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    both adoption_without_hash_label,
    ours unlabelled_orphan because "apps/v1 adopts any orphan that matches (S2.15)",
    both release,
    both overlapping_selectors,
    ours managers_of_sets because "the operator drops them on rollwright.dev alone",
];

const MANAGED: &str = "rollwright.dev/managed";
const BY_HAND: &str = "by-hand";

/// A ReplicaSet without an owner, with the template that [`Manifest`] has for `web`.
fn orphan(image: &str) -> Value {
    let labels = json!({"app": "web"});
    json!({
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": BY_HAND, "labels": labels},
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "app", "image": image}]},
            },
        },
    })
}

/// Creates an orphan and waits until its pods are ready.
async fn create_orphan(world: &World, manifest: &Value) -> Outcome<Set> {
    world.kubectl.apply(&manifest.to_string()).await?;
    let ready = |sets: &[Set]| sets.iter().any(|set| set.name == BY_HAND && set.available == 3);
    let sets = world.wait_sets("the orphan's pods being ready", ready).await?;
    Ok(sets.into_iter().next().unwrap_or_else(|| unreachable!("waited for")))
}

/// Names of the pods of a ReplicaSet that are not terminating, sorted.
pub(crate) async fn pods_of(world: &World, set: &Set) -> Outcome<Vec<String>> {
    let owned = world.pods().await?.into_iter().filter(|pod| {
        let owners = pod.metadata.owner_references.iter().flatten();
        let is_owned =
            owners.filter(|owner| owner.controller == Some(true)).any(|owner| owner.uid == set.uid);
        is_owned && pod.metadata.deletion_timestamp.is_none()
    });
    let mut names: Vec<String> = owned.filter_map(|pod| pod.metadata.name).collect();
    names.sort();
    Ok(names)
}

/// Images and sizes of the ReplicaSets, in the order of the images: ages are whole seconds, so ReplicaSets of the same
/// second have no order of their own.
pub(crate) fn sizes(sets: &[Set]) -> Vec<(&str, i64)> {
    let mut sizes: Vec<_> = sets.iter().map(|set| (set.image.as_str(), set.size)).collect();
    sizes.sort_unstable();
    sizes
}

async fn set_labels(world: &World, set: &Set, labels: &Value) -> Outcome {
    let patch = json!({"metadata": {"labels": labels}});
    world.set_api().patch(&set.name, &PatchParams::default(), &Patch::Merge(&patch)).await?;
    Ok(())
}

/// An orphan with the template of the Deployment becomes its new ReplicaSet and no pod restarts
/// (S2.15, S2.20). Its labels and selector stay as they are (S1.15).
async fn adoption_without_hash_label(world: World) -> Outcome {
    let mut manifest = orphan("app:v1");
    if world.flavour.is_ours() {
        manifest["metadata"]["labels"][MANAGED] = json!("true");
    }
    let orphan = create_orphan(&world, &manifest).await?;
    let pods = pods_of(&world, &orphan).await?;
    let deployment = world.roll_out(&Manifest::new("web", 3)).await?;
    let sets = world.sets().await?;
    same("the number of sets", sets.len(), 1)?;
    let adopted = world.set("app:v1").await?;
    same("its owner", adopted.owner.as_str(), deployment.uid())?;
    same("its labels", &adopted.labels, &orphan.labels)?;
    same("its revision", adopted.revision(), 1)?;
    same("its pods", pods_of(&world, &adopted).await?, pods)?;

    world.update("web", "app:v2").await?;
    let sets = world.sets().await?;
    same("the sets", sizes(&sets), [("app:v1", 0), ("app:v2", 3)])?;
    let adopted = world.set("app:v1").await?;
    same("its labels after the update", &adopted.labels, &orphan.labels)
}

/// On rollwright.dev, the operator takes nothing that nobody handed over. It reports that, with the command that does
/// it; that very command is then run, and the ReplicaSet is adopted and, being of another template, rolled away.
async fn unlabelled_orphan(world: World) -> Outcome {
    create_orphan(&world, &orphan("app:v0")).await?;
    let deployment = world.roll_out(&Manifest::new("web", 3)).await?;
    let command = format!("kubectl label replicaset {BY_HAND} -n {} {MANAGED}=true", world.namespace);
    let event = world.wait_event("web", "UnlabelledReplicaSet", &command).await?;
    ensure(event.message.ends_with(&command), "the command at the end", &event.message)?;
    ensure(event.kind == "Warning", "a warning", &event)?;
    let set = world.set("app:v0").await?;
    same("the orphan's owner", set.owner.as_str(), "")?;
    same("the orphan's size", set.size, 3)?;

    let arguments: Vec<&str> = command.split(' ').skip(1).collect();
    world.stage.kubectl.run(&arguments).await?;
    world.wait_sizes(&[("app:v0", 0), ("app:v1", 3)]).await?;
    world.complete("web").await?;
    same("its owner after the command", world.set("app:v0").await?.owner.as_str(), deployment.uid())?;
    same("the number of sets", world.sets().await?.len(), 2)
}

/// A ReplicaSet with labels that stop matching is released (S2.14) and keeps its pods. Its name is taken, so the next
/// one has another (S4.15). When it matches again it is adopted; being the oldest with this template, it is the new
/// ReplicaSet again, and no pod of it restarts (S4.1).
async fn release(world: World) -> Outcome {
    let deployment = world.roll_out(&Manifest::new("web", 3)).await?;
    let first = world.set("app:v1").await?;
    let pods = pods_of(&world, &first).await?;
    // Creation times have whole seconds, and ties go by name (S4.1).
    let next_second = jiff::Timestamp::now().as_second() + 1;
    world
        .wait("the next second", async || until(jiff::Timestamp::now().as_second() >= next_second, ""))
        .await?;
    set_labels(&world, &first, &json!({"app": "other"})).await?;
    let is_replaced = |sets: &[Set]| {
        sets.len() == 2
            && sets.iter().all(|set| if set.uid == first.uid { set.owner.is_empty() } else { set.size == 3 })
    };
    let sets = world.wait_sets("a set in its place", is_replaced).await?;
    same("the sizes", sizes(&sets), [("app:v1", 3), ("app:v1", 3)])?;
    same("collisions", world.complete("web").await?.status("collisionCount"), 1)?;
    same("the pods of the released set", pods_of(&world, &first).await?, &pods[..])?;

    set_labels(&world, &first, &json!({"app": "web"})).await?;
    let is_back = |sets: &[Set]| {
        let back =
            |set: &Set| set.owner == deployment.uid() && set.size == if set.uid == first.uid { 3 } else { 0 };
        sets.len() == 2 && sets.iter().all(back)
    };
    world.wait_sets("the first set being the new one again", is_back).await?;
    world.complete("web").await?;
    same("the pods of the set that came back", pods_of(&world, &first).await?, pods)
}

/// With its first change of a ReplicaSet, the operator drops the managers that nobody needs: then the API server keeps
/// none, until somebody applies server-side.
async fn managers_of_sets(world: World) -> Outcome {
    world.roll_out(&Manifest::new("web", 1)).await?;
    let name = world.set("app:v1").await?.name;
    let managers = async || -> Outcome<Vec<String>> {
        let set = world.set_api().get(&name).await?;
        Ok(set.metadata.managed_fields.into_iter().flatten().filter_map(|entry| entry.manager).collect())
    };
    let scaled = async |replicas| {
        world.scale("web", replicas).await?;
        world.complete("web").await
    };
    ensure(managers().await?.contains(&"rollwright".to_owned()), "the operator's entry", &name)?;
    for replicas in [2, 3] {
        scaled(replicas).await?;
        same("the managers", managers().await?, [""; 0])?;
    }
    let labels =
        json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"labels": {"team": "shop"}}});
    world.set_api().patch(&name, &PatchParams::apply("shop"), &Patch::Apply(&labels)).await?;
    scaled(4).await?;
    ensure(managers().await?.contains(&"shop".to_owned()), "the manager that applied", &name)
}

/// A Deployment that selects the pods `app: shared`.
fn overlapping(name: &str, replicas: i64) -> Manifest {
    let labels = json!({"app": "shared"});
    let container = json!({"name": "app", "image": "app:v1"});
    let template = json!({"metadata": {"labels": labels}, "spec": {"containers": [container]}});
    Manifest::new(name, replicas)
        .spec("selector", &json!({"matchLabels": labels}))
        .spec("template", &template)
}

/// Two Deployments that select the same pods live side by side: only the owner counts (S2.21).
/// An orphan of the one goes to the other.
async fn overlapping_selectors(world: World) -> Outcome {
    let left = world.create(&overlapping("left", 2)).await?;
    let right = world.create(&overlapping("right", 3)).await?;
    world.complete("left").await?;
    world.complete("right").await?;
    let owned =
        |sets: Vec<Set>, uid: &str| sets.into_iter().filter(|set| set.owner == uid).collect::<Vec<_>>();
    let of_right = owned(world.sets().await?, right.uid());
    same("the sets of one", sizes(&of_right), [("app:v1", 3)])?;
    let set = of_right.first().unwrap_or_else(|| unreachable!("just counted"));
    let pods = pods_of(&world, set).await?;
    same("the number of its pods", pods.len(), 3)?;

    world.update("left", "app:v2").await?;
    let of_left = owned(world.sets().await?, left.uid());
    same("the sets of the other", sizes(&of_left), [("app:v1", 0), ("app:v2", 2)])?;
    same("the pods of the one", pods_of(&world, set).await?, pods)?;

    let _ = world.deployments().delete("left", &DeleteParams::orphan()).await?;
    let is_taken = |sets: &[Set]| {
        sets.iter().all(|set| set.owner == right.uid()) && sets.iter().map(|set| set.size).sum::<i64>() == 3
    };
    let sets = world.wait_sets("the orphans going to the other Deployment", is_taken).await?;
    same("the number of sets", sets.len(), 3)?;
    world.complete("right").await.map(drop)
}
