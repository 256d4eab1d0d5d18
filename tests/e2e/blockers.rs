//! What blocks a rollout, from the operator: in the status, its conditions, an event, the metric, and the log.

use std::fs;

use cluster::kubelet::{LAST_WORDS, NEVER_READY};
use cluster::{NotYet, free_port};
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use crate::failure::{Failure, Outcome, ensure, same, until};
use crate::manifest::{Manifest, image_patch};
use crate::objects::Deployment;
use crate::operator::Operator;
use crate::port::{get, operator};
use crate::scenario::{Scenario, scenarios};
use crate::world::World;

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    own both causes_are_reported,
    own both last_words_on_request_only,
    own both rights_that_are_lacking,
    own ours garbage_in_the_status because "apps/v1 has no field for blockers",
];

const SECRET: &str = "password=hunter2";
pub(crate) const SOON: &str = "--blocked-after=2s";

/// An operator with a port.
pub(crate) struct Seat {
    pub(crate) world: World,
    port: u16,
    operator: Operator,
}

impl Seat {
    pub(crate) async fn take(world: World, more: &[&str]) -> Outcome<Self> {
        let port = free_port()?;
        let operator = operator(&world, port, more).await?;
        Ok(Self { world, port, operator })
    }

    async fn metrics(&self) -> Outcome<String> {
        get(self.port, "/metrics", None).await
    }

    /// The causes of a Deployment in the metric.
    async fn causes(&self, name: &str) -> Outcome<Vec<String>> {
        let of = format!("namespace=\"{}\",deployment=\"{name}\",cause=\"", self.world.namespace);
        let metrics = self.metrics().await?;
        let lines = metrics.lines().filter(|line| line.starts_with("rollwright_rollout_blocked{"));
        let causes = lines.filter_map(|line| line.split_once(&of)?.1.split('"').next());
        Ok(causes.map(str::to_owned).collect())
    }

    /// Waits until this cause is reported everywhere where this API has a place for it.
    pub(crate) async fn is_blocked(&self, name: &str, cause: &str, text: &str) -> Outcome {
        let what = format!("{name} being blocked by {cause}");
        self.world
            .wait(&what, async || {
                let causes = self.causes(name).await.map_err(|failure| NotYet(failure.0))?;
                until(causes == [cause], format!("{causes:?}"))
            })
            .await?;
        let log = fs::read_to_string(self.operator.log())?;
        let line = log.lines().find(|line| {
            let has = |part: &str| line.contains(part);
            has("the rollout is blocked") && has(&format!("{}/{name}", self.world.namespace)) && has(cause)
        });
        ensure(line.is_some(), "a line in the log", &what)?;
        if !self.world.flavour.is_ours() {
            let deployment = self.world.get(name).await?;
            same("blockers of apps/v1", blockers(&deployment).len(), 0)?;
            let told = self.world.events(name).await?;
            return ensure(told.iter().all(|event| event.reason != "RolloutBlocked"), "no event", told);
        }
        let deployment = self
            .world
            .wait_until(name, &what, |deployment| {
                blockers(deployment).first().is_some_and(|first| first["cause"] == cause)
            })
            .await?;
        let first = blockers(&deployment)[0].clone();
        ensure(first["message"].to_string().contains(text), text, &first)?;
        ensure(first["pods"].as_i64() > Some(0) && first["since"].is_string(), "pods and a time", &first)?;
        let words = first["message"].as_str().unwrap_or_default();
        let summary = ["Stalled", "Reconciling"].map(|kind| deployment.condition(kind).message).concat();
        // A refusal is reported in the words of ReplicaFailure, whatever its length.
        let begin: String = words.trim_start_matches("are refused: ").chars().take(100).collect();
        ensure(summary.contains(&begin), "the words in Reconciling", (&summary, words))?;
        let progressing = deployment.condition("Progressing").message;
        ensure(progressing.contains(words), "the words in Progressing", (&progressing, words))?;
        self.world.wait_event(name, "RolloutBlocked", text).await?;
        Ok(())
    }

    /// What the operator has reported to anybody: statuses, events, metrics, log.
    async fn told(&self) -> Outcome<String> {
        let kind = self.world.flavour.resource();
        let objects = self.world.kubectl.run(&["get", kind, "-o", "json"]).await?;
        let deployments: Value = serde_json::from_str(&objects)?;
        let items = deployments["items"].as_array().cloned().unwrap_or_default();
        let statuses: String = items.iter().map(|item| item["status"].to_string()).collect();
        let events = self.world.kubectl.run(&["get", "events", "-o", "json"]).await?;
        Ok([statuses, events, self.metrics().await?, fs::read_to_string(self.operator.log())?].concat())
    }
}

fn blockers(deployment: &Deployment) -> Vec<Value> {
    deployment.value.pointer("/status/blockers").and_then(Value::as_array).cloned().unwrap_or_default()
}

pub(crate) fn of_pods(patch: &Value) -> Value {
    json!({"spec": {"template": patch}})
}

/// The event that a kubelet writes, once there is a pod that it can be about.
async fn report_failing_probe(world: &World, name: &str, message: &str) -> Outcome {
    report(world, (name, NEVER_READY), "Unhealthy", message).await
}

/// The same of any reason, about a pod of the Deployment with this annotation.
pub(crate) async fn report(
    world: &World,
    (name, annotation): (&str, &str),
    reason: &str,
    message: &str,
) -> Outcome {
    let is_late = |pod: &&Pod| {
        let annotations = pod.metadata.annotations.clone().unwrap_or_default();
        let labels = pod.metadata.labels.clone().unwrap_or_default();
        labels.get("app").map(String::as_str) == Some(name) && annotations.contains_key(annotation)
    };
    let pod = world
        .wait("a pod that is not ready", async || {
            let pods = world.pods().await.map_err(|failure| NotYet(failure.0))?;
            pods.iter().find(is_late).cloned().ok_or_else(|| NotYet("no such pod".to_owned()))
        })
        .await?;
    let event = json!({
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": format!("{name}.probe")},
        "involvedObject": {"apiVersion": "v1", "kind": "Pod", "namespace": world.namespace,
                           "name": pod.metadata.name, "uid": pod.metadata.uid},
        "type": "Warning", "reason": reason, "message": message,
    });
    world.kubectl.apply(&event.to_string()).await?;
    Ok(())
}

async fn causes_are_reported(world: World) -> Outcome {
    let seat = Seat::take(world.clone(), &[SOON]).await?;
    for name in ["image", "crash", "gated", "probe"] {
        world.roll_out(&Manifest::new(name, 2)).await?;
    }
    world.set_image("image", "bad:v2").await?;
    world.set_image("crash", "crash:v2").await?;
    let gates = json!([{"name": "example.com/hold"}]);
    world.patch("gated", &of_pods(&json!({"spec": {"schedulingGates": gates}}))).await?;
    world.patch("probe", &of_pods(&json!({"metadata": {"annotations": {NEVER_READY: "true"}}}))).await?;
    report_failing_probe(&world, "probe", "Readiness probe failed: HTTP probe failed with statuscode: 503")
        .await?;
    seat.is_blocked("image", "ImagePull", "cannot pull the image bad:v2").await?;
    seat.is_blocked("crash", "CrashLoop", "crash in container app").await?;
    seat.is_blocked("gated", "Unschedulable", "cannot be scheduled").await?;
    seat.is_blocked("probe", "ReadinessProbe", "statuscode: 503").await?;

    old_pods_that_stay(&seat).await?;
    pods_that_are_refused(&seat).await?;

    // A rollout that continues is blocked no more, and one event reports each cause.
    world.set_image("image", "app:v3").await?;
    let done = world.complete("image").await?;
    same("blockers of a complete rollout", blockers(&done).len(), 0)?;
    same("its causes", seat.causes("image").await?.len(), 0)?;
    let told = world.events("image").await?.into_iter().filter(|event| event.reason == "RolloutBlocked");
    let told: u64 = told.map(|event| u64::from(event.count.unsigned_abs())).sum();
    same("events", told, u64::from(world.flavour.is_ours()))
}

async fn old_pods_that_stay(seat: &Seat) -> Outcome {
    let world = &seat.world;
    world.roll_out(&Manifest::new("stay", 1).spec("strategy", &json!({"type": "Recreate"}))).await?;
    let pods = world.pods().await?;
    let is_its = |pod: &&Pod| pod.metadata.name.as_ref().is_some_and(|name| name.starts_with("stay-"));
    let pod = pods.iter().find(is_its).and_then(|pod| pod.metadata.name.clone()).unwrap_or_default();
    let hold = json!({"metadata": {"finalizers": ["example.com/hold"]}}).to_string();
    world.kubectl.run(&["patch", "pod", &pod, "--type=merge", "-p", &hold]).await?;
    world.set_image("stay", "app:v2").await?;
    seat.is_blocked("stay", "Terminating", "have not terminated within the grace period").await?;
    let free = json!({"metadata": {"finalizers": null}}).to_string();
    world.kubectl.run(&["patch", "pod", &pod, "--type=merge", "-p", &free]).await?;
    let done = world.complete("stay").await?;
    same("blockers of a complete rollout", blockers(&done).len(), 0)
}

async fn pods_that_are_refused(seat: &Seat) -> Outcome {
    let world = &seat.world;
    world.roll_out(&Manifest::new("refused", 1)).await?;
    let level = "pod-security.kubernetes.io/enforce=restricted";
    world.kubectl.run(&["label", "namespace", &world.namespace, level]).await?;
    world.set_image("refused", "app:v2").await?;
    seat.is_blocked("refused", "PodSecurity", "violates PodSecurity").await?;
    let lift = "pod-security.kubernetes.io/enforce-";
    world.kubectl.run(&["label", "namespace", &world.namespace, lift]).await?;
    world.complete("refused").await?;
    world.kubectl.run(&["create", "quota", "limit", "--hard=pods=1"]).await?;
    world
        .wait("the quota being in force", async || {
            let quota = world.kubectl.json(&["get", "resourcequota", "limit"]).await?;
            until(quota["status"]["hard"]["pods"] == "1", &quota["status"])
        })
        .await?;
    world.set_image("refused", "app:v3").await?;
    seat.is_blocked("refused", "Quota", "exceeded quota: limit").await?;
    world.kubectl.run(&["delete", "quota", "limit"]).await?;
    world.complete("refused").await?;
    Ok(())
}

/// A termination message and the output of a probe may hold a secret.
async fn last_words_on_request_only(world: World) -> Outcome {
    let seat = Seat::take(world.clone(), &[SOON]).await?;
    let mut crash = image_patch("crash:v1");
    crash["spec"]["template"]["metadata"] = json!({"annotations": {LAST_WORDS: SECRET}});
    world.roll_out(&Manifest::new("crash", 1)).await?;
    world.roll_out(&Manifest::new("probe", 1)).await?;
    world.patch("crash", &crash).await?;
    world.patch("probe", &of_pods(&json!({"metadata": {"annotations": {NEVER_READY: "true"}}}))).await?;
    report_failing_probe(&world, "probe", &format!("Readiness probe failed: {SECRET}")).await?;
    seat.is_blocked("crash", "CrashLoop", "its last lines are in the log").await?;
    seat.is_blocked("probe", "ReadinessProbe", "Readiness probe failed").await?;
    // The event of the pod is the kubelet's.
    world.kubectl.run(&["delete", "event", "probe.probe"]).await?;
    let told = seat.told().await?;
    ensure(!told.contains("hunter2"), "no secret in what the operator has told", &told)?;

    drop(seat);
    let seat = Seat::take(world.clone(), &[SOON, "--termination-messages"]).await?;
    world.roll_out(&Manifest::new("loud", 1)).await?;
    world.patch("loud", &crash).await?;
    seat.is_blocked("loud", "CrashLoop", SECRET).await?;
    let metrics = seat.metrics().await?;
    ensure(!metrics.contains("hunter2"), "no secret in a metric", metrics)
}

/// Changes what the operator may do.
async fn allow(world: &World, resource: &str, verbs: &[&str]) -> Outcome {
    let mut role = world.stage.kubectl.json(&["get", "clusterrole", "rollwright"]).await?;
    let rules = role["rules"].as_array_mut().ok_or_else(|| Failure::new("a role without rules"))?;
    let rule = rules.iter_mut().find(|rule| rule["resources"] == json!([resource]));
    rule.ok_or_else(|| Failure::new(format!("no rule on {resource}")))?["verbs"] = json!(verbs);
    let patch = json!({"rules": rules}).to_string();
    world.stage.kubectl.run(&["patch", "clusterrole", "rollwright", "--type=merge", "-p", &patch]).await?;
    Ok(())
}

/// Without the right to pods, or to events, the cause is that; and a start that takes a while is no cause.
async fn rights_that_are_lacking(world: World) -> Outcome {
    allow(&world, "pods", &["get"]).await?;
    let seat = Seat::take(world.clone(), &[SOON]).await?;
    world.roll_out(&Manifest::new("web", 1)).await?;
    world.set_image("web", "bad:v2").await?;
    let is_looked_at = "the pods being asked for";
    world
        .wait(is_looked_at, async || {
            let metrics = seat.metrics().await.map_err(|failure| NotYet(failure.0))?;
            let denied = "rollwright_client_requests_total{code=\"403\",kind=\"pods\",verb=\"list\"}";
            until(metrics.contains(denied), "no request")
        })
        .await?;
    same("causes of one that may only be starting", seat.causes("web").await?.len(), 0)?;
    seat.is_blocked("web", "Unknown", "the operator may not list pods").await?;
    allow(&world, "pods", &["list", "watch"]).await?;
    seat.is_blocked("web", "ImagePull", "cannot pull the image bad:v2").await?;

    allow(&world, "events", &["create", "patch"]).await?;
    world.roll_out(&Manifest::new("probe", 1)).await?;
    world.patch("probe", &of_pods(&json!({"metadata": {"annotations": {NEVER_READY: "true"}}}))).await?;
    seat.is_blocked("probe", "Unknown", "the operator may not list events").await?;
    allow(&world, "events", &["list", "create", "patch"]).await?;
    report_failing_probe(&world, "probe", "Readiness probe failed: connection refused").await?;
    seat.is_blocked("probe", "ReadinessProbe", "connection refused").await
}

/// Somebody else's words in the field are replaced, and bring nothing down.
async fn garbage_in_the_status(world: World) -> Outcome {
    let seat = Seat::take(world.clone(), &[SOON]).await?;
    world.roll_out(&Manifest::new("web", 1)).await?;
    world.set_image("web", "bad:v2").await?;
    seat.is_blocked("web", "ImagePull", "cannot pull").await?;
    let garbage = json!({"status": {"blockers": [
        {"cause": "Nonsense", "pods": 7, "message": "x".repeat(8192), "since": "2026-01-01T00:00:00Z"},
        {"cause": "ImagePull", "container": "another"},
    ]}});
    let patch = garbage.to_string();
    let name = format!("{}/web", world.flavour.resource());
    world.kubectl.run(&["patch", &name, "--subresource=status", "--type=merge", "-p", &patch]).await?;
    seat.is_blocked("web", "ImagePull", "cannot pull the image bad:v2").await?;
    let repaired = blockers(&world.get("web").await?);
    same("blockers", repaired.len(), 1)?;
    ensure(repaired[0].to_string().len() < 1000, "a short entry", &repaired)
}
