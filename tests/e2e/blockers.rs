//! What the server refuses, and what the operator may not read: in the status, an event, the metric, and `why`.

use cluster::kubelet::LAST_WORDS;
use cluster::webhook::{Registration, Verdict, Webhook};
use cluster::{NotYet, free_port};
use serde_json::{Value, json};

use crate::command_line::{run, tool};
use crate::failure::{Failure, Outcome, ensure, same, until};
use crate::manifest::Manifest;
use crate::objects::Deployment;
use crate::operator::Operator;
use crate::port::{get, operator};
use crate::scenario::{Scenario, scenarios};
use crate::world::World;

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    own both what_the_server_refuses,
    own ours rights_that_are_lacking because "both APIs share what reads pods",
    own ours last_words_on_request_only because "both APIs share what reads pods",
];

/// Asks about `web` until the answer is this cause with this exit code, and its message contains this text.
async fn is(world: &World, cause: &str, code: i64, text: &str) -> Outcome {
    let tool = tool(world)?;
    let what = format!("why web: {cause}, exit code {code}, \"{text}\"");
    let found = world
        .wait(&what, async || {
            let output = run(&tool, "why web -o json").await.map_err(|failure| NotYet(failure.0))?;
            let said: Value = serde_json::from_str(&output.stdout)?;
            let fits = said["cause"] == cause && said["exitCode"] == code;
            until(fits && said["message"].to_string().contains(text), format!("{output:?}"))?;
            until(output.code.map(i64::from) == Some(code), format!("{output:?}"))?;
            Ok(said)
        })
        .await?;
    let needs_next = cause != "Complete";
    ensure(
        !needs_next || found["next"].as_str().is_some_and(|next| next.starts_with("kubectl ")),
        "a next command",
        found,
    )
}

/// An operator with a port, which calls a rollout blocked soon.
struct Seat {
    world: World,
    port: u16,
    _operator: Operator,
}

impl Seat {
    async fn take(world: World, flags: &[&str]) -> Outcome<Self> {
        let port = free_port()?;
        let operator = operator(&world, port, &[&["--blocked-after=2s"], flags].concat()).await?;
        Ok(Self { world, port, _operator: operator })
    }

    /// The causes of `web` in the metric.
    async fn causes(&self) -> Outcome<Vec<String>> {
        let of = format!("namespace=\"{}\",deployment=\"web\",cause=\"", self.world.namespace);
        let metrics = get(self.port, "/metrics").await?;
        let lines = metrics.lines().filter(|line| line.starts_with("rollwright_rollout_blocked{"));
        let causes = lines.filter_map(|line| line.split_once(&of)?.1.split('"').next());
        Ok(causes.map(str::to_owned).collect())
    }

    /// Waits until this cause of `web` is reported everywhere where this API has a place for it.
    async fn is_blocked(&self, cause: &str, text: &str) -> Outcome {
        self.is_in_the_status(cause, text).await?;
        if self.world.flavour.is_ours() {
            self.world.wait_event("web", "RolloutBlocked", text).await?;
        }
        Ok(())
    }

    /// The same without an event.
    async fn is_in_the_status(&self, cause: &str, text: &str) -> Outcome {
        let what = format!("web being blocked by {cause}");
        self.world
            .wait(&what, async || {
                let causes = self.causes().await.map_err(|failure| NotYet(failure.0))?;
                until(causes == [cause], format!("{causes:?}"))
            })
            .await?;
        if !self.world.flavour.is_ours() {
            let events = self.world.events("web").await?;
            return ensure(events.iter().all(|event| event.reason != "RolloutBlocked"), "no event", events);
        }
        let is_there = |web: &Deployment| {
            let first = |member: &str| web.text(&format!("/status/blockers/0/{member}")).to_owned();
            first("cause") == cause && first("message").contains(text)
        };
        let web = self.world.wait_until("web", &format!("{what}, \"{text}\""), is_there).await?;
        let message = web.text("/status/blockers/0/message");
        let progressing = web.condition("Progressing").message;
        ensure(progressing.contains(message), "the words in Progressing", (&progressing, message))
    }

    /// The same for what the server refuses, and `why` knows it too.
    async fn is_refused(&self, cause: &str, text: &str) -> Outcome {
        self.is_blocked(cause, text).await?;
        is(&self.world, cause, 1, text).await
    }

    async fn is_complete(&self) -> Outcome {
        self.world.complete("web").await?;
        is(&self.world, "Complete", 0, "").await
    }
}

/// Creates a quota and waits until it is in force.
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

/// All in the words of a real server; at last, nobody is there.
async fn what_the_server_refuses(world: World) -> Outcome {
    let seat = Seat::take(world.clone(), &[]).await?;
    world.roll_out(&Manifest::new("web", 1)).await?;
    quota(&world, &json!({"pods": "1"})).await?;
    world.set_image("web", "app:v2").await?;
    seat.is_refused("Quota", "exceeded quota: limit").await?;
    world.kubectl.run(&["delete", "quota", "limit"]).await?;
    seat.is_complete().await?;

    let level = "pod-security.kubernetes.io/enforce";
    world.kubectl.run(&["label", "namespace", &world.namespace, &format!("{level}=restricted")]).await?;
    world.set_image("web", "app:v3").await?;
    seat.is_refused("PodSecurity", "violates PodSecurity").await?;
    world.kubectl.run(&["label", "namespace", &world.namespace, &format!("{level}-")]).await?;
    seat.is_complete().await?;

    let sets = Registration::replica_sets(&world.namespace, &["CREATE"]);
    let pods = Registration { group: String::new(), resource: "pods".to_owned(), ..sets.clone() };
    for (registration, image, what) in [(pods, "app:v4", "pod"), (sets, "app:v5", "ReplicaSet")] {
        let deny = |_: &Value| Verdict::Deny { code: 403, message: "not today".to_owned() };
        let mut webhook = Webhook::serve(deny).await?;
        webhook.register(&world.client(), &registration).await?;
        world.set_image("web", image).await?;
        if what == "pod" {
            seat.is_refused("AdmissionWebhook", "not today").await?;
        } else {
            let refused = ("False".to_owned(), "ReplicaSetCreateError".to_owned());
            world.wait_until("web", "the refusal of a set", |web| web.progressing() == refused).await?;
            world.wait_event("web", "ReplicaSetCreateError", "not today").await?;
        }
        is(&world, "AdmissionWebhook", 1, &format!("The API server refuses a {what} of this rollout"))
            .await?;
        webhook.remove(&world.client()).await?;
        seat.is_complete().await?;
    }

    let policy = DenyPods::install(&world).await?;
    world.set_image("web", "app:v6").await?;
    seat.is_refused("AdmissionPolicy", "no pods today").await?;
    policy.remove(&world).await?;
    seat.is_complete().await?;

    beyond_a_limit(&seat).await?;
    drop(seat);
    world.set_image("web", "app:v8").await?;
    is(&world, "NoController", 1, "has not been observed").await
}

/// A refusal without a cause of its own.
async fn beyond_a_limit(seat: &Seat) -> Outcome {
    let world = &seat.world;
    let limit = json!({
        "apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "small"},
        "spec": {"limits": [{"type": "Container", "max": {"cpu": "100m"}}]},
    });
    world.kubectl.apply(&limit.to_string()).await?;
    let containers = json!([{"name": "app", "image": "app:v7", "resources": {"limits": {"cpu": "1"}}}]);
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "probe"},
                     "spec": {"containers": containers}});
    world
        .wait("the limit being in force", async || {
            let attempt = ["create", "--dry-run=server", "-f", "-"];
            let attempt = world.kubectl.output_of(&attempt, &pod.to_string()).await;
            until(attempt.is_err(), "a pod is accepted")
        })
        .await?;
    let patch = json!({"spec": {"template": {"spec": {"containers": containers}}}});
    world.patch("web", &patch).await?;
    // By now, the Deployment has used up its events.
    let text = "maximum cpu usage per Container is 100m";
    seat.is_in_the_status("Refused", text).await?;
    is(world, "Refused", 1, text).await?;
    world.kubectl.run(&["delete", "limitrange", "small"]).await?;
    seat.is_complete().await
}

/// A policy that denies all new pods of the namespace, once it is in force.
struct DenyPods(String);

impl DenyPods {
    async fn install(world: &World) -> Outcome<Self> {
        let name = format!("{}.example.com", world.namespace);
        let kind = |kind: &str, spec: &Value| {
            json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind,
               "metadata": {"name": name}, "spec": spec})
        };
        let pods = json!({"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]});
        let policy = kind(
            "ValidatingAdmissionPolicy",
            &json!({"matchConstraints": {"resourceRules": [pods]},
                "validations": [{"expression": "false", "message": "no pods today"}]}),
        );
        let namespace = json!({"matchLabels": {"kubernetes.io/metadata.name": world.namespace}});
        let binding = kind(
            "ValidatingAdmissionPolicyBinding",
            &json!({"policyName": name, "validationActions": ["Deny"],
                "matchResources": {"namespaceSelector": namespace}}),
        );
        world.kubectl.apply(&policy.to_string()).await?;
        world.kubectl.apply(&binding.to_string()).await?;
        world
            .wait("the policy being in force", async || {
                let attempt = ["run", "probe", "--image=app:v1", "--dry-run=server"];
                until(world.kubectl.run(&attempt).await.is_err(), "a pod is accepted")
            })
            .await?;
        Ok(Self(name))
    }

    async fn remove(self, world: &World) -> Outcome {
        world.kubectl.run(&["delete", "validatingadmissionpolicybinding", &self.0]).await?;
        world.kubectl.run(&["delete", "validatingadmissionpolicy", &self.0]).await?;
        Ok(())
    }
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

/// Without the right to pods, the cause is that; and a start that takes a while is no cause.
async fn rights_that_are_lacking(world: World) -> Outcome {
    allow(&world, "pods", &["get"]).await?;
    let seat = Seat::take(world.clone(), &[]).await?;
    world.roll_out(&Manifest::new("web", 1)).await?;
    world.set_image("web", "bad:v2").await?;
    world
        .wait("the pods being asked for", async || {
            let metrics = get(seat.port, "/metrics").await.map_err(|failure| NotYet(failure.0))?;
            let denied = "rollwright_client_requests_total{code=\"403\",kind=\"pods\",verb=\"list\"}";
            until(metrics.contains(denied), "no request")
        })
        .await?;
    same("causes of one that may only be starting", seat.causes().await?.len(), 0)?;
    seat.is_blocked("Unknown", "the operator may not list pods").await?;
    allow(&world, "pods", &["list", "watch"]).await?;
    seat.is_blocked("ImagePull", "cannot pull the image bad:v2").await
}

/// What a container printed last may be a secret. What somebody else writes into the status does not stay there.
/// `/debug/state` shows the watches and the queue.
async fn last_words_on_request_only(world: World) -> Outcome {
    let secret = "password=hunter2";
    let crash = |image: &str| {
        let containers = json!([{"name": "app", "image": image}]);
        let metadata = json!({"annotations": {LAST_WORDS: secret}});
        json!({"spec": {"template": {"metadata": metadata, "spec": {"containers": containers}}}})
    };
    let seat = Seat::take(world.clone(), &[]).await?;
    world.roll_out(&Manifest::new("web", 1)).await?;
    world.patch("web", &crash("crash:v2")).await?;
    seat.is_blocked("CrashLoop", "its last lines are in the log").await?;
    let status = world.get("web").await?.value["status"].to_string();
    let events = format!("{:?}", world.events("web").await?);
    let metrics = get(seat.port, "/metrics").await?;
    ensure(![status, events, metrics].concat().contains("hunter2"), "no secret", "status, events, metrics")?;

    drop(seat);
    let seat = Seat::take(world.clone(), &["--termination-messages", "--debug-state"]).await?;
    world.patch("web", &crash("crash:v3")).await?;
    seat.is_in_the_status("CrashLoop", secret).await?;
    let garbage = json!({"status": {"blockers": [
        {"cause": "Nonsense", "pods": 7, "message": "x".repeat(8192), "since": "2026-01-01T00:00:00Z"},
    ]}});
    let patch = ["patch", "rwd/web", "--subresource=status", "--type=merge", "-p", &garbage.to_string()];
    world.kubectl.run(&patch).await?;
    seat.is_in_the_status("CrashLoop", secret).await?;
    let state = get(seat.port, "/debug/state").await?;
    let state: Value = serde_json::from_str(state.split_once("\r\n\r\n").map_or("", |(_, body)| body))?;
    same("watches", state["watches"].as_array().map(Vec::len), Some(2))?;
    ensure(state["controllers"][0]["queue"]["delayedCount"].is_u64(), "the queue", &state)
}
