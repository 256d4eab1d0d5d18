//! GitOps tools apply the same manifests every two seconds, and prune, beside a revert, a pin, and a retry. None of
//! them takes what runs away, and no two writers fight (FP-9, FP-11).

use std::time::Duration;

use cluster::{NotYet, Tool, User};
use futures::future::{try_join_all, try_join3};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::command_line::{DONE, expect, tool as ours};
use crate::failure::{Failure, Outcome, same};
use crate::manifest::Manifest;
use crate::objects::Deployment;
use crate::quiet::{settle, writes};
use crate::reverting::{ABORT, LONG, RETRY, SHORT, hash, judged, reverted};
use crate::scenario::{Scenario, scenarios};
use crate::world::World;

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    ours gitops_beside_a_revert_a_pin_and_a_retry because "apps/v1 has neither failure policy nor pin",
];

/// How often, and how long, each tool applies what is in Git once nothing changes any more.
const APPLIED_EVERY: Duration = Duration::from_secs(2);
const APPLIED_FOR: Duration = Duration::from_secs(60);

/// What each of them applies, and what happens to it.
const DEPLOYMENTS: [&str; 3] = ["revert", "pin", "retry"];

/// One that applies a repository.
#[derive(Clone, Copy)]
struct Applier {
    /// Also the label of all its objects.
    name: &'static str,
    /// Its field manager, if it applies server-side.
    manager: Option<&'static str>,
    /// Whether it first gives itself the fields of managers with names that begin with `kubectl`, as Flux does.
    takes_over: bool,
}

const APPLIERS: [Applier; 3] = [
    Applier { name: "client", manager: None, takes_over: false },
    Applier { name: "server", manager: Some("argocd-controller"), takes_over: false },
    Applier { name: "flux", manager: Some("kustomize-controller"), takes_over: true },
];

impl Applier {
    fn deployment(self, what: &str) -> String {
        format!("{}-{what}", self.name)
    }

    /// Its three Deployments, with the images of this version.
    fn git(self, world: &World, version: &str) -> Vec<Value> {
        let manifest = |what: &str, image: String, deadline: i64, action: Option<&str>| {
            let policy = action.map(|action| json!({"action": action}));
            let manifest =
                Manifest::new(&self.deployment(what), 2).image(&image).rolling(&json!(1), &json!(0));
            let manifest = manifest.spec("progressDeadlineSeconds", &json!(deadline));
            let mut git = manifest.spec("failurePolicy", &json!(policy)).json(world.flavour);
            git["metadata"]["labels"] = json!({"git": self.name});
            // As tools that label everything: the ReplicaSets look as if they were in Git, too.
            git["spec"]["template"]["metadata"]["labels"]["git"] = json!(self.name);
            git
        };
        // A good image gets the time that it needs on a slow machine.
        let (bad, deadline) = if version == "v1" { ("app", LONG) } else { ("bad", SHORT) };
        vec![
            manifest("revert", format!("{bad}:{version}"), deadline, Some("Revert")),
            manifest("pin", format!("app:{version}"), LONG, None),
            manifest("retry", self.retried(version), LONG, Some("Revert")),
        ]
    }

    fn retried(self, version: &str) -> String {
        format!("{}:{version}", self.deployment("retry"))
    }

    /// Is in Git at first, and then no longer.
    fn dropped(self) -> Value {
        let metadata = json!({"name": self.deployment("dropped"), "labels": {"git": self.name}});
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
    }

    /// Applies it, and deletes what it applied before and what is not there any more.
    async fn apply(self, world: &World, git: &[Value]) -> Outcome {
        if let Some(manager) = self.manager.filter(|_| self.takes_over) {
            for what in DEPLOYMENTS {
                take_over(world, &self.deployment(what), manager).await?;
            }
        }
        let text = json!({"apiVersion": "v1", "kind": "List", "items": git}).to_string();
        let namespace = format!("--namespace={}", world.namespace);
        let mut words = vec![namespace, "apply".to_owned(), "--filename=-".to_owned(), "--prune".to_owned()];
        if let Some(manager) = self.manager {
            // Pruning by label is for client-side apply alone.
            let server = ["--server-side".to_owned(), "--force-conflicts".to_owned()];
            words.extend(server);
            words.push(format!("--field-manager={manager}"));
            words.push(format!("--applyset=configmaps/{}", self.deployment("inventory")));
        } else {
            let kinds = ["core/v1/ConfigMap", "apps/v1/ReplicaSet", "rollwright.dev/v1/Deployment"];
            words.push(format!("--selector=git={}", self.name));
            words.extend(kinds.map(|kind| format!("--prune-allowlist={kind}")));
        }
        // ApplySets are behind this variable.
        let kubectl = world.kubectl.program().display().to_string();
        let words = [vec!["KUBECTL_APPLYSET=true".to_owned(), kubectl], words].concat();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let env = Tool::at("/usr/bin/env".into(), world.stage.cluster.kubeconfig(User::Admin));
        env.output_of(&words, &text).await?;
        Ok(())
    }

    /// Everything comes to an end while it applies: a revert, a pin, and a retry.
    async fn decisions(self, world: &World) -> Outcome {
        let ours = ours(world)?;
        let revert = async { reverted(world, &self.deployment("revert"), "app:v1").await.map(|_| ()) };
        let pin = async {
            let name = self.deployment("pin");
            world.complete(&name).await?;
            let undo = format!("undo {name} --pin --to-revision=1 --reason=INC-4711");
            expect(&ours, &undo, DONE, &name).await?;
            runs(world, &name, "app:v1").await?;
            world.kubectl.run(&["annotate", &format!("rwd/{name}"), "by=hand"]).await?;
            Ok(())
        };
        let retry = async {
            let name = self.deployment("retry");
            world.complete(&name).await?;
            expect(&ours, &format!("abort {name}"), DONE, "abort of revision 2 requested").await?;
            reverted(world, &name, &self.retried("v1")).await?;
            expect(&ours, &format!("retry {name}"), DONE, "retry of revision 2 requested").await?;
            world.complete(&name).await?;
            judged(world, &self.retried("v2"), "Good").await.map(|_| ())
        };
        try_join3(revert, pin, retry).await?;
        Ok(())
    }

    /// Nothing that anybody decided is gone, and Git is what the cluster has.
    async fn check(self, world: &World) -> Outcome {
        for git in self.git(world, "v2") {
            let name = git["metadata"]["name"].as_str().unwrap_or_default();
            let template = world.get(name).await?.value.pointer("/spec/template").cloned();
            same(&format!("the template of {name}"), template.as_ref(), git.pointer("/spec/template"))?;
        }
        reverted(world, &self.deployment("revert"), "app:v1").await?;
        let pin = runs(world, &self.deployment("pin"), "app:v1").await?;
        let expected = hash(world, &self.deployment("pin"), "app:v1").await?;
        same("the pin", pin.text("/spec/pin/podTemplateHash"), expected.as_str())?;
        let expected = Some("hand").filter(|_| !self.takes_over);
        same("what kubectl wrote", pin.annotation("by"), expected)?;
        let retry = world.complete(&self.deployment("retry")).await?;
        for request in [ABORT, RETRY] {
            let text = retry.annotation(request).unwrap_or_default();
            same(request, text.split('/').next(), Some("2"))?;
        }
        let dropped = self.deployment("dropped");
        let found = world.kubectl.run(&["get", "configmap", &dropped, "--ignore-not-found"]).await?;
        same("what was pruned", found.as_str(), "")
    }
}

/// Flux gives the fields of managers with names that begin with `kubectl` to its own manager before it applies. Those
/// of them that are not in Git are gone afterwards.
async fn take_over(world: &World, name: &str, manager: &str) -> Outcome {
    world
        .wait("the managers being taken over", async || {
            // There is none before it is applied for the first time.
            let Some(web) = world.deployments().get_opt(name).await? else { return Ok(()) };
            let web = serde_json::to_value(web).map_err(|error| NotYet(error.to_string()))?;
            let managed = web["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
            let is_taken =
                |entry: &Value| entry["manager"].as_str().is_some_and(|it| it.starts_with("kubectl"));
            let (taken, mut kept): (Vec<Value>, Vec<Value>) = managed.into_iter().partition(is_taken);
            let Some(first) = taken.first() else { return Ok(()) };
            let is_own = |entry: &Value| entry["manager"] == manager && entry["operation"] == "Apply";
            let own = kept.iter().position(is_own).map(|own| kept.remove(own));
            let mut own = own.unwrap_or_else(|| first.clone());
            (own["manager"], own["operation"]) = (json!(manager), json!("Apply"));
            taken.iter().for_each(|entry| add(&mut own["fieldsV1"], &entry["fieldsV1"]));
            kept.push(own);
            // Another writer in between must not be lost.
            let version = &web["metadata"]["resourceVersion"];
            let patch = json!({"metadata": {"managedFields": kept, "resourceVersion": version}});
            world.patch(name, &patch).await.map_err(|failure| NotYet(failure.0))
        })
        .await
}

/// Adds fields to a tree of fields; each is an object of what is below it.
fn add(set: &mut Value, more: &Value) {
    for (field, below) in more.as_object().into_iter().flatten() {
        if set.get(field).is_none() {
            set[field] = json!({});
        }
        add(&mut set[field], below);
    }
}

/// All apply what they have in Git, until something else ends.
async fn apply_during<T>(world: &World, other: impl Future<Output = Outcome<T>>) -> Outcome<T> {
    let again = async |applier: Applier| -> Outcome {
        let git = applier.git(world, "v2");
        loop {
            applier.apply(world, &git).await?;
            tokio::time::sleep(APPLIED_EVERY).await;
        }
    };
    tokio::select! {
        result = other => result,
        result = try_join_all(APPLIERS.map(again)) => {
            Err(result.err().unwrap_or_else(|| Failure::new("nothing is applied any more")))
        }
    }
}

/// Waits until the revision of this image has all pods, and the status reports it.
async fn runs(world: &World, name: &str, image: &str) -> Outcome<Deployment> {
    let hash = hash(world, name, image).await?;
    world
        .wait_until(name, &format!("{image} running"), |it| {
            let target = it.value.pointer("/status/target/podTemplateHash").and_then(Value::as_str);
            let is_whole =
                ["replicas", "availableReplicas"].iter().all(|count| it.status(count) == it.replicas());
            // None of the declared revision is left.
            let has_ended = it.value.pointer("/status/rollout").is_none_or(Value::is_null);
            let is_alone =
                has_ended && it.status("updatedReplicas") == 0 && it.status("terminatingReplicas") == 0;
            it.is_observed() && is_alone && target == Some(hash.as_str()) && is_whole
        })
        .await
}

/// What would change in a fight: generation, status, and size, but not the times of those who apply.
async fn states(world: &World) -> Outcome<Vec<Value>> {
    let state = |web: Deployment| json!([web.generation(), web.value["status"]]);
    let mut states = Vec::new();
    for applier in APPLIERS {
        for what in DEPLOYMENTS {
            states.push(state(world.get(&applier.deployment(what)).await?));
        }
    }
    Ok(states)
}

/// The Git tools apply from before the decisions on, and for a minute after the last one has been carried out.
async fn gitops_beside_a_revert_a_pin_and_a_retry(world: World) -> Outcome {
    let begin = async |applier: Applier| -> Outcome {
        let first = [applier.git(&world, "v1"), vec![applier.dropped()]].concat();
        applier.apply(&world, &first).await?;
        world.kubectl.run(&["get", "configmap", &applier.deployment("dropped")]).await?;
        for what in DEPLOYMENTS {
            world.complete(&applier.deployment(what)).await?;
        }
        applier.apply(&world, &applier.git(&world, "v2")).await
    };
    try_join_all(APPLIERS.map(begin)).await?;
    apply_during(&world, async {
        try_join_all(APPLIERS.map(async |applier| applier.decisions(&world).await)).await?;
        settle(&world).await
    })
    .await?;

    let (since, before) = (Timestamp::now(), states(&world).await?);
    apply_during(&world, async {
        tokio::time::sleep(APPLIED_FOR).await;
        Ok(())
    })
    .await?;
    same("what the operator wrote meanwhile", writes(&world, since)?, Vec::new())?;
    same("generations and statuses", states(&world).await?, before)?;
    for applier in APPLIERS {
        applier.check(&world).await?;
    }
    // Nobody prunes those that the operator made.
    same("ReplicaSets", world.sets().await?.len(), 2 * 3 * APPLIERS.len())
}
