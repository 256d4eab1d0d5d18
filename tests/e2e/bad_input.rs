//! What people and other programs may write, and should not: nothing panics, nothing spins, and
//! all ends as asked. Garbage in the annotations of ReplicaSets is in [`crate::obstacles`].

use std::fs;
use std::time::Duration;

use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use crate::failure::{Outcome, ensure, same};
use crate::flavour::REVISION;
use crate::manifest::Manifest;
use crate::objects::Set;
use crate::ownership::sizes;
use crate::quiet;
use crate::scenario::{Scenario, scenarios};
use crate::stage::Controller;
use crate::world::World;

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    apps garbage_on_the_deployment because "rollwright.dev reads no annotation of the Deployment",
    ours garbage_in_fingerprints because "sets of apps/v1 carry no fingerprint",
    both numbers_at_the_limits,
    both longest_name,
    both odd_labels,
    both second_owner,
    both edited_ten_times_a_second,
];

const ROLLBACK_TO: &str = "deprecated.deployment.rollback.to";
const FINGERPRINTS: &str = "rollwright.dev/fingerprints";
/// Far more than any rollout here takes; a hot loop makes hundreds in a second.
const WRITES_MAX: usize = 120;
const EDITS: usize = 50;
const EDIT_EVERY: Duration = Duration::from_millis(100);
/// Per edit: a ReplicaSet made or found, some grown or cut, and the status along with them.
const WRITES_PER_EDIT: usize = 15;

/// No panic, not many writes since then, and none once all is done.
async fn ensure_calm(world: &World, since: jiff::Timestamp, writes_max: usize) -> Outcome {
    quiet::settle(world).await?;
    let writes = quiet::writes(world, since)?.len();
    ensure(writes <= writes_max, &format!("at most {writes_max} writes"), writes)?;
    if let Some(operator) = world.stage.operator(world.flavour) {
        let log = fs::read(operator.log())?;
        let log = String::from_utf8_lossy(&log);
        let panics: Vec<_> = log.lines().filter(|line| line.contains("panicked")).collect();
        ensure(panics.is_empty(), "no panic", panics)?;
    }
    Ok(())
}

/// A revision that is no number is replaced (S5.6). Rollback requests that are none the server refuses itself; the
/// largest names what cannot be: it is cleared, and an event reports that (S10.4).
async fn garbage_on_the_deployment(world: World) -> Outcome {
    let since = jiff::Timestamp::now();
    world.roll_out(&Manifest::new("web", 2)).await?;
    world.set_image("web", "app:v2").await?;
    world.complete("web").await?;
    for (round, garbage) in ["banana", "-5", " 1", "1e3", "9223372036854775808"].into_iter().enumerate() {
        let request = json!({"metadata": {"annotations": {ROLLBACK_TO: garbage}}});
        let refused = world.patch("web", &request).await.is_err();
        ensure(refused, "a refusal", garbage)?;
        let annotations = json!({REVISION: garbage});
        let replicas = 3 + i64::from(round % 2 == 0);
        let patch = json!({"metadata": {"annotations": annotations}, "spec": {"replicas": replicas}});
        world.patch("web", &patch).await?;
        world.complete("web").await?;
        let repaired = |text: Option<&str>| text == Some("2");
        world.wait_until("web", "the revision", |web| repaired(web.annotation(REVISION))).await?;
    }
    let request = world.flavour.rollback_request(i64::MAX);
    world.patch("web", &request).await?;
    world.wait_until("web", "the request being cleared", |web| !web.asks_for_rollback()).await?;
    world.wait_event("web", "DeploymentRollbackRevisionNotFound", "").await?;
    world.complete("web").await?;
    same("the sets", sizes(&world.sets().await?), [("app:v1", 0), ("app:v2", 3 + 1)])?;
    ensure_calm(&world, since, WRITES_MAX).await
}

/// Fingerprints that mean nothing cost a dry run, no pod.
async fn garbage_in_fingerprints(world: World) -> Outcome {
    let since = jiff::Timestamp::now();
    world.roll_out(&Manifest::new("web", 2)).await?;
    let first = world.set("app:v1").await?;
    let long = "x".repeat(100_000);
    let many = vec!["0123456789abcdef"; 1000].join(",");
    for (replicas, garbage) in [(3, "\u{1f980},,;\n"), (2, ""), (4, long.as_str()), (2, many.as_str())] {
        let patch = json!({"metadata": {"annotations": {FINGERPRINTS: garbage}}});
        world.set_api().patch(&first.name, &PatchParams::default(), &Patch::Merge(&patch)).await?;
        world.scale("web", replicas).await?;
        world.complete("web").await?;
    }
    same("the set", world.set("app:v1").await?.uid, first.uid)?;
    world.set_image("web", "app:v2").await?;
    world.complete("web").await?;
    same("the sets", sizes(&world.sets().await?), [("app:v1", 0), ("app:v2", 2)])?;
    ensure_calm(&world, since, WRITES_MAX).await
}

/// The largest numbers that the API takes change nothing but what they are about; larger ones it
/// refuses itself, on rollwright.dev too.
async fn numbers_at_the_limits(world: World) -> Outcome {
    let since = jiff::Timestamp::now();
    let max = i64::from(i32::MAX);
    let manifest = Manifest::new("web", 2)
        .rolling(&json!(format!("{max}%")), &json!("100%"))
        .spec("revisionHistoryLimit", &json!(max))
        .spec("progressDeadlineSeconds", &json!(max - 1));
    world.roll_out(&manifest).await?;
    world.set_image("web", "app:v2").await?;
    world.wait_sizes(&[("app:v1", 0), ("app:v2", 2)]).await?;
    // Upstream adds the surge to the replicas in 32 bits, and then makes no pod.
    let surge = if world.controller == Controller::Reference { max - 2 } else { max };
    let bounds = json!({"rollingUpdate": {"maxSurge": surge, "maxUnavailable": max}});
    world.patch("web", &json!({"spec": {"strategy": bounds}})).await?;
    world.set_image("web", "app:v3").await?;
    world.wait_sizes(&[("app:v1", 0), ("app:v2", 0), ("app:v3", 2)]).await?;
    world.scale("web", 0).await?;
    world.wait_sizes(&[("app:v3", 0)]).await?;
    // Never available, and no timer that overflows.
    world.patch("web", &json!({"spec": {"replicas": 1, "minReadySeconds": max - 2}})).await?;
    world
        .wait_until("web", "a pod that is ready only", |web| {
            web.is_observed() && web.status("readyReplicas") == 1 && web.status("availableReplicas") == 0
        })
        .await?;
    for field in ["replicas", "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"] {
        for number in [json!(max + 1), json!(-1), json!(i64::MAX), json!("1")] {
            let refused = world.patch("web", &json!({"spec": {field: number}})).await.is_err();
            ensure(refused, "a refusal", format!("{field}: {number}"))?;
        }
    }
    ensure_calm(&world, since, WRITES_MAX).await
}

/// 253 characters are a legal name. That of the ReplicaSet is cut, and so each template still has one
/// of its own (S4.8).
async fn longest_name(world: World) -> Outcome {
    let since = jiff::Timestamp::now();
    let name = "n".repeat(253);
    let mut manifest = Manifest::new("web", 2).json(world.flavour);
    manifest["metadata"]["name"] = json!(name);
    world.kubectl.apply(&manifest.to_string()).await?;
    world.complete(&name).await?;
    world.set_image(&name, "app:v2").await?;
    world.complete(&name).await?;
    let sets = world.sets().await?;
    same("the sets", sizes(&sets), [("app:v1", 0), ("app:v2", 2)])?;
    ensure(sets.iter().all(|set| set.name.len() <= 253), "legal names", crate::objects::summaries(&sets))?;
    world.wait_event(&name, "ScalingReplicaSet", "Scaled up").await?;
    ensure_calm(&world, since, WRITES_MAX).await
}

/// Labels that look like something else, a hash label of the user's own among them (S4.10).
async fn odd_labels(world: World) -> Outcome {
    let since = jiff::Timestamp::now();
    let prefix = format!("{0}.{0}.{0}.{1}", "p".repeat(63), "p".repeat(61));
    let key = format!("{prefix}/{}", "k".repeat(63));
    let labels = json!({
        "app": "web", "empty": "", "no": "null", "yes": "true", "0": "0x10", "A--b__c..d": "Z._-9",
        "longest": "v".repeat(63), key.as_str(): "1e400", "pod-template-hash": "of-the-user",
    });
    let expressions = json!([
        {"key": key, "operator": "In", "values": ["1e400", "", "x"]},
        {"key": "empty", "operator": "Exists"},
        {"key": "no", "operator": "NotIn", "values": ["true", ""]},
        {"key": "absent", "operator": "DoesNotExist"},
    ]);
    let container = json!({"name": "app", "image": "app:v1"});
    let template = json!({"metadata": {"labels": labels}, "spec": {"containers": [container]}});
    let manifest = Manifest::new("web", 2)
        .annotation("example.com/crab", "\u{1f980}\u{202e}\u{feff}\n\u{7f}")
        .spec("selector", &json!({"matchLabels": {"A--b__c..d": "Z._-9"}, "matchExpressions": expressions}))
        .spec("template", &template);
    world.roll_out(&manifest).await?;
    let first = world.set("app:v1").await?;
    let hash = first.labels.get("pod-template-hash").map_or("", String::as_str);
    ensure(first.name.ends_with(hash) && hash != "of-the-user", "a hash label of our own", &first.labels)?;
    world.set_image("web", "app:v2").await?;
    world.complete("web").await?;
    same("the sets", sizes(&world.sets().await?), [("app:v1", 0), ("app:v2", 2)])?;
    ensure_calm(&world, since, WRITES_MAX).await
}

/// A ReplicaSet that two Deployments own. Only one of them is its controller: that one alone rolls it out and scales
/// it, and the other reference stays.
async fn second_owner(world: World) -> Outcome {
    let since = jiff::Timestamp::now();
    let web = world.roll_out(&Manifest::new("web", 3)).await?;
    let other = world.roll_out(&Manifest::new("other", 1)).await?;
    let set = of(&world.sets().await?, web.uid());
    let reference = json!({
        "apiVersion": world.flavour.api_version(), "kind": "Deployment",
        "name": "other", "uid": other.uid(),
    });
    let patch = json!({"metadata": {"ownerReferences": [reference]}});
    for set in &set {
        world.set_api().patch(&set.name, &PatchParams::default(), &Patch::Strategic(&patch)).await?;
    }
    world.scale("web", 4).await?;
    world.complete("web").await?;
    world.set_image("web", "app:v2").await?;
    world.scale("other", 2).await?;
    world.complete("web").await?;
    world.complete("other").await?;
    let sets = world.sets().await?;
    same("the sets of web", sizes(&of(&sets, web.uid())), [("app:v1", 0), ("app:v2", 4)])?;
    same("the sets of the other", sizes(&of(&sets, other.uid())), [("app:v1", 2)])?;
    let old = of(&sets, web.uid()).into_iter().find(|set| set.image == "app:v1");
    let owners = old.and_then(|set| set.object.metadata.owner_references).unwrap_or_default();
    same("the owners of the old set", owners.len(), 2)?;
    ensure_calm(&world, since, WRITES_MAX).await
}

fn of(sets: &[Set], uid: &str) -> Vec<Set> {
    sets.iter().filter(|set| set.owner == uid).cloned().collect()
}

/// Template, size and annotations change ten times a second, for five seconds. The writes stay
/// in proportion, there is one ReplicaSet for each template, and the last edit wins.
async fn edited_ten_times_a_second(world: World) -> Outcome {
    world.roll_out(&Manifest::new("web", 3)).await?;
    let since = jiff::Timestamp::now();
    let mut clock = tokio::time::interval(EDIT_EVERY);
    for edit in 0..EDITS {
        clock.tick().await;
        let mut patch = crate::manifest::image_patch(&format!("app:v{}", 1 + edit % 4));
        patch["spec"]["replicas"] = json!(2 + edit % 3);
        patch["metadata"] = json!({"annotations": {"example.com/edit": edit.to_string()}});
        world.patch("web", &patch).await?;
    }
    world.patch("web", &last()).await?;
    world.complete("web").await?;
    let sets = world.sets().await?;
    let mut images: Vec<_> = sets.iter().map(|set| set.image.as_str()).collect();
    images.sort_unstable();
    images.dedup();
    same("sets for as many templates", sets.len(), images.len())?;
    let active: Vec<_> = sizes(&sets).into_iter().filter(|(_, size)| *size > 0).collect();
    same("the active set", active, [("app:last", 3)])?;
    ensure_calm(&world, since, EDITS * WRITES_PER_EDIT).await
}

fn last() -> Value {
    let mut patch = crate::manifest::image_patch("app:last");
    patch["spec"]["replicas"] = json!(3);
    patch
}
