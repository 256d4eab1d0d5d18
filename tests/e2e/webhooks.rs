//! Mutating webhooks on ReplicaSets: what the server stores is not what the operator sent, and may be different at each
//! call. There still is one ReplicaSet per template.
//!
//! apps/v1 compares stored templates, so there such webhooks make ReplicaSets without end (S14.11); that is upstream's
//! decision, and Rollwright does not change it for an API that is not its own.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use cluster::webhook::{Behaviour, Registration, SideEffects, Verdict, Webhook};
use serde_json::{Value, json};

use crate::failure::{Failure, Outcome, ensure, same};
use crate::manifest::Manifest;
use crate::objects::{Set, summaries};
use crate::ownership::pods_of;
use crate::quiet::ensure_quiet;
use crate::scenario::{Scenario, scenarios};
use crate::world::World;

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    ours sidecar because "apps/v1 compares stored templates (S14.11)",
    ours registry because "apps/v1 compares stored templates (S14.11)",
    ours random_annotation because "apps/v1 compares stored templates (S14.11)",
    ours not_idempotent because "apps/v1 compares stored templates (S14.11)",
    ours none_on_dry_run because "apps/v1 compares stored templates (S14.11)",
    ours dry_run_refused because "apps/v1 compares stored templates (S14.11)",
];

/// From the first Deployment to the last count.
const WINDOW: Duration = Duration::from_secs(60);
/// The end of the window, in which nothing may be written any more.
const QUIET: Duration = Duration::from_secs(20);

async fn sidecar(world: World) -> Outcome {
    let webhook = Webhook::install(&world.client(), Behaviour::AddSidecar, &world.namespace).await?;
    endure(&world, webhook, true).await
}

/// Policies that pin images to digests do this (policy-controller#1105: one template had 4,574 ReplicaSets).
async fn registry(world: World) -> Outcome {
    let webhook = Webhook::install(&world.client(), Behaviour::RewriteRegistry, &world.namespace).await?;
    endure(&world, webhook, true).await
}

async fn random_annotation(world: World) -> Outcome {
    let webhook = Webhook::install(&world.client(), Behaviour::RandomAnnotation, &world.namespace).await?;
    endure(&world, webhook, false).await
}

/// One more variable at every create and update, so a ReplicaSet's template changes whenever its size
/// or its annotations do, and a rollback writes to the Deployment what no longer is in the ReplicaSet.
async fn not_idempotent(world: World) -> Outcome {
    let calls = AtomicU32::new(0);
    let mut webhook = Webhook::serve(move |request| append_env(request, &calls)).await?;
    let registration = Registration::replica_sets(&world.namespace, &["CREATE", "UPDATE"]);
    webhook.register(&world.client(), &registration).await?;
    endure(&world, webhook, false).await
}

fn append_env(request: &Value, calls: &AtomicU32) -> Verdict {
    let Some(containers) = request.pointer("/object/spec/template/spec/containers") else {
        return Verdict::Allow;
    };
    let path = "/spec/template/spec/containers/0/env";
    let entry = json!({"name": format!("CALL_{}", calls.fetch_add(1, Ordering::Relaxed)), "value": "1"});
    Verdict::Patch(vec![if containers[0]["env"].is_array() {
        json!({"op": "add", "path": format!("{path}/-"), "value": entry})
    } else {
        json!({"op": "add", "path": path, "value": [entry]})
    }])
}

async fn none_on_dry_run(world: World) -> Outcome {
    let mut webhook = Webhook::install(&world.client(), Behaviour::AddSidecar, &world.namespace).await?;
    let mut registration = Registration::replica_sets(&world.namespace, &["CREATE"]);
    registration.side_effects = SideEffects::NoneOnDryRun;
    webhook.register(&world.client(), &registration).await?;
    endure(&world, webhook, true).await
}

async fn dry_run_refused(world: World) -> Outcome {
    let webhook = Webhook::install(&world.client(), Behaviour::RefuseDryRun, &world.namespace).await?;
    endure(&world, webhook, false).await
}

/// A rollout, an update, an explicit default and its removal, a scale, a rollback and its undo.
///
/// Whether the explicit default is recognised as the same template depends on the webhook: one that is `predictable`
/// gives the dry run the template that it gave the ReplicaSet. Otherwise nobody knows, and the text with the default in
/// it is one more template, with one ReplicaSet.
async fn endure(world: &World, webhook: Webhook, predictable: bool) -> Outcome {
    let start = Instant::now();
    world.roll_out(&Manifest::new("web", 2)).await?;
    world.update("web", "app:v2").await?;
    same("the number of sets after an update", world.sets().await?.len(), 2)?;
    explicit_default(world, predictable).await?;
    let templates = if predictable { 2 } else { 3 };
    let known: Vec<String> = world.sets().await?.into_iter().map(|set| set.uid).collect();
    same("the number of sets after an explicit default and its removal", known.len(), templates)?;

    world.scale("web", 3).await?;
    world.complete("web").await?;
    roll_back_and_forth(world).await?;
    let sets = world.sets().await?;
    let uids: Vec<String> = sets.iter().map(|set| set.uid.clone()).collect();
    ensure(uids == known, "the same sets after rollbacks", summaries(&sets))?;

    let busy = WINDOW.saturating_sub(QUIET).saturating_sub(start.elapsed());
    tokio::time::sleep(busy).await;
    ensure_quiet(world, QUIET).await?;
    let sets = world.sets().await?;
    ensure(sets.len() == templates, "one set per template", summaries(&sets))?;
    active(world).await?;
    ensure(!webhook.calls().is_empty(), "a webhook that was called", webhook.calls())?;
    webhook.remove(&world.client()).await?;
    Ok(())
}

/// Writes a default out and takes it back. At the end the ReplicaSet from before is the current one.
async fn explicit_default(world: &World, predictable: bool) -> Outcome {
    let before = active(world).await?;
    let pods = pods_of(world, &before).await?;
    for value in [json!(30), Value::Null] {
        let patch = json!({"spec": {"template": {"spec": {"terminationGracePeriodSeconds": value}}}});
        world.patch("web", &patch).await?;
        world.complete("web").await?;
        if predictable {
            same("the pods", pods_of(world, &before).await?, &pods[..])?;
        }
    }
    same("the current set", active(world).await?.uid, before.uid)
}

/// Back to another ReplicaSet's revision, and back again: each time the ReplicaSet from then is used.
async fn roll_back_and_forth(world: &World) -> Outcome {
    let before = active(world).await?;
    let other = world.sets().await?.into_iter().find(|set| set.uid != before.uid);
    let other = other.ok_or_else(|| Failure::new("there is only one set"))?;
    // 0 undoes the rollback: the revision before the current one.
    for (revision, wanted) in [(other.revision(), other.uid), (0, before.uid)] {
        world.roll_back("web", revision).await?;
        world.wait_until("web", "the request being cleared", |found| !found.asks_for_rollback()).await?;
        world.complete("web").await?;
        same("the set rolled back to", active(world).await?.uid, wanted)?;
    }
    Ok(())
}

/// The one ReplicaSet that has pods.
async fn active(world: &World) -> Outcome<Set> {
    let mut sets = world.sets().await?;
    sets.retain(|set| set.size > 0);
    ensure(sets.len() == 1, "one set with pods", summaries(&sets))?;
    sets.pop().ok_or_else(|| Failure::new("no set has pods"))
}
