//! `kubectl rollwright why` in rollouts that are broken on purpose, one per cause.

use cluster::kubelet::NEVER_READY;
use cluster::webhook::{Registration, Verdict, Webhook};
use cluster::{Component, NotYet, Tool};
use serde_json::{Value, json};

use crate::command_line::{run, tool};
use crate::failure::{Failure, Outcome, ensure, same, until};
use crate::manifest::Manifest;
use crate::objects::Deployment;
use crate::scenario::{Scenario, scenarios};
use crate::world::World;

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    both pods_that_do_not_come_up,
    both pods_that_are_refused,
    both pods_that_a_policy_denies,
    both old_pods_that_stay,
    both sets_that_are_refused,
    both what_takes_its_time,
    own both nobody_in_charge,
    own both many_that_wait_for_a_slot,
    own both those_that_wait_long_say_so,
];

/// Changed together, so that most wait for a slot.
const MANY: usize = 200;
/// The one that changes after all others: with 64 slots at first, each kept for ten seconds, it gets a slot
/// after thirty.
const LAST: usize = MANY - 1;

/// Asks until the answer is this cause with this exit code, and its message contains this text.
async fn is(world: &World, name: &str, cause: &str, code: i64, text: &str) -> Outcome {
    let tool: Tool = tool(world)?;
    let what = format!("why {name}: {cause}, exit code {code}, \"{text}\"");
    let found = world
        .wait(&what, async || {
            let output =
                run(&tool, &format!("why {name} -o json")).await.map_err(|failure| NotYet(failure.0))?;
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

/// A Deployment with this second template.
async fn broken(world: &World, name: &str, patch: &Value) -> Outcome {
    world.roll_out(&Manifest::new(name, 1)).await?;
    world.patch(name, patch).await
}

fn of_pods(patch: &Value) -> Value {
    json!({"spec": {"template": patch}})
}

async fn pods_that_do_not_come_up(world: World) -> Outcome {
    world.roll_out(&Manifest::new("image", 1)).await?;
    is(&world, "image", "Complete", 0, "successfully rolled out").await?;
    world.set_image("image", "bad:v2").await?;
    is(&world, "image", "ImagePull", 1, "cannot pull the image").await?;

    world.roll_out(&Manifest::new("crash", 1)).await?;
    world.set_image("crash", "crash:v2").await?;
    is(&world, "crash", "CrashLoop", 1, "crash in container app").await?;

    let gates = json!([{"name": "example.com/hold"}]);
    broken(&world, "gated", &of_pods(&json!({"spec": {"schedulingGates": gates}}))).await?;
    is(&world, "gated", "Unschedulable", 1, "scheduling gates").await?;

    broken(&world, "probe", &of_pods(&json!({"metadata": {"annotations": {NEVER_READY: "true"}}}))).await?;
    is(&world, "probe", "Progressing", 3, "waiting for pods").await?;
    report_failing_probe(&world, "probe").await?;
    is(&world, "probe", "ReadinessProbe", 1, "HTTP probe failed with statuscode: 503").await
}

/// The event that a kubelet writes; the fake one has no probes.
async fn report_failing_probe(world: &World, name: &str) -> Outcome {
    let pods = world.pods().await?;
    let is_late = |pod: &&k8s_openapi::api::core::v1::Pod| {
        let pod_name = pod.metadata.name.clone().unwrap_or_default();
        let annotations = pod.metadata.annotations.clone().unwrap_or_default();
        pod_name.starts_with(name) && annotations.contains_key(NEVER_READY)
    };
    let pod = pods.iter().find(is_late).ok_or_else(|| Failure::new("no pod that is never ready"))?;
    let event = json!({
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": format!("{name}.probe")},
        "involvedObject": {"apiVersion": "v1", "kind": "Pod", "namespace": world.namespace,
                           "name": pod.metadata.name, "uid": pod.metadata.uid},
        "type": "Warning", "reason": "Unhealthy",
        "message": "Readiness probe failed: HTTP probe failed with statuscode: 503",
    });
    world.kubectl.apply(&event.to_string()).await?;
    Ok(())
}

async fn pods_that_are_refused(world: World) -> Outcome {
    world.roll_out(&Manifest::new("web", 1)).await?;
    world.kubectl.run(&["create", "quota", "limit", "--hard=pods=1"]).await?;
    world
        .wait("the quota being in force", async || {
            let quota = world.kubectl.json(&["get", "resourcequota", "limit"]).await?;
            until(quota["status"]["hard"]["pods"] == "1", &quota["status"])
        })
        .await?;
    world.set_image("web", "app:v2").await?;
    is(&world, "web", "Quota", 1, "exceeded quota: limit").await?;
    world.kubectl.run(&["delete", "quota", "limit"]).await?;
    is(&world, "web", "Complete", 0, "").await?;

    let mut webhook = Webhook::serve(|_| deny("not today")).await?;
    let of_pods = Registration {
        group: String::new(),
        resource: "pods".to_owned(),
        ..Registration::replica_sets(&world.namespace, &["CREATE"])
    };
    webhook.register(&world.client(), &of_pods).await?;
    world.set_image("web", "app:v3").await?;
    is(&world, "web", "AdmissionWebhook", 1, "not today").await?;
    webhook.remove(&world.client()).await?;
    is(&world, "web", "Complete", 0, "").await?;

    let level = "pod-security.kubernetes.io/enforce=restricted";
    world.kubectl.run(&["label", "namespace", &world.namespace, level]).await?;
    world.set_image("web", "app:v4").await?;
    is(&world, "web", "PodSecurity", 1, "violates PodSecurity").await
}

fn deny(message: &str) -> Verdict {
    Verdict::Deny { code: 403, message: message.to_owned() }
}

/// A policy that denies all new pods of the namespace, once it is in force.
pub(crate) struct DenyPods(String);

impl DenyPods {
    pub(crate) async fn install(world: &World) -> Outcome<Self> {
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

    pub(crate) async fn remove(self, world: &World) -> Outcome {
        world.kubectl.run(&["delete", "validatingadmissionpolicybinding", &self.0]).await?;
        world.kubectl.run(&["delete", "validatingadmissionpolicy", &self.0]).await?;
        Ok(())
    }
}

async fn pods_that_a_policy_denies(world: World) -> Outcome {
    world.roll_out(&Manifest::new("web", 1)).await?;
    let policy = DenyPods::install(&world).await?;
    world.set_image("web", "app:v2").await?;
    is(&world, "web", "AdmissionPolicy", 1, "no pods today").await?;
    policy.remove(&world).await?;
    is(&world, "web", "Complete", 0, "").await
}

/// A finalizer holds the old pod of a Recreate.
async fn old_pods_that_stay(world: World) -> Outcome {
    world.roll_out(&Manifest::new("web", 1).spec("strategy", &json!({"type": "Recreate"}))).await?;
    let hold = |finalizers: &Value| json!({"metadata": {"finalizers": finalizers}}).to_string();
    let pods = world.pods().await?;
    let pod = pods.first().and_then(|pod| pod.metadata.name.clone()).unwrap_or_default();
    let patch = async |finalizers: &Value| {
        world.kubectl.run(&["patch", "pod", &pod, "--type=merge", "-p", &hold(finalizers)]).await
    };
    patch(&json!(["example.com/hold"])).await?;
    world.set_image("web", "app:v2").await?;
    is(&world, "web", "Terminating", 1, "1 pod has not terminated within the grace period").await?;
    patch(&json!(null)).await?;
    is(&world, "web", "Complete", 0, "").await
}

async fn sets_that_are_refused(world: World) -> Outcome {
    world.roll_out(&Manifest::new("web", 1)).await?;
    let mut webhook = Webhook::serve(|_| deny("no more sets")).await?;
    webhook.register(&world.client(), &Registration::replica_sets(&world.namespace, &["CREATE"])).await?;
    world.set_image("web", "app:v2").await?;
    is(&world, "web", "AdmissionWebhook", 1, "A ReplicaSet of this rollout is refused").await?;
    webhook.remove(&world.client()).await?;
    is(&world, "web", "Complete", 0, "").await
}

async fn what_takes_its_time(world: World) -> Outcome {
    world.create(&Manifest::new("soak", 1).spec("minReadySeconds", &json!(100))).await?;
    is(&world, "soak", "MinReadySeconds", 3, "after 100 s").await?;

    world.roll_out(&Manifest::new("paused", 1)).await?;
    world.patch("paused", &json!({"spec": {"paused": true}})).await?;
    world.set_image("paused", "app:v2").await?;
    is(&world, "paused", "Paused", 4, "until someone resumes it").await?;

    let never = of_pods(&json!({"metadata": {"annotations": {NEVER_READY: "true"}}}));
    broken(&world, "budget", &never).await?;
    world.kubectl.run(&["create", "pdb", "budget", "--selector=app=budget", "--min-available=1"]).await?;
    is(&world, "budget", "Progressing", 3, "PodDisruptionBudget budget allows no eviction").await?;

    world.roll_out(&Manifest::new("late", 1).spec("progressDeadlineSeconds", &json!(3))).await?;
    world.patch("late", &never).await?;
    is(&world, "late", "ProgressDeadlineExceeded", 1, "makes no progress").await
}

async fn nobody_in_charge(world: World) -> Outcome {
    world.roll_out(&Manifest::new("web", 1)).await?;
    let operator = world.stage.operator(world.flavour).ok_or_else(|| Failure::new("there is no operator"))?;
    operator.stop();
    world.set_image("web", "app:v2").await?;
    is(&world, "web", "NoController", 1, "has not been observed").await?;
    operator.start_again()?;
    is(&world, "web", "Complete", 0, "").await
}

fn name(number: usize) -> String {
    format!("web-{number:03}")
}

async fn roll_out_many(world: &World) -> Outcome {
    for number in 0..MANY {
        world.create(&Manifest::new(&name(number), 1)).await?;
    }
    for number in 0..MANY {
        world.complete(&name(number)).await?;
    }
    Ok(())
}

/// Changes the first of them, all together.
async fn change_many(world: &World, count: usize, image: &str) -> Outcome {
    let change = async |number| world.set_image(&name(number), image).await;
    futures::future::try_join_all((0..count).map(change)).await.map(|_| ())
}

/// Two hundred Deployments change together. The one that changes after the others waits for a slot, and the answer
/// reports that; once the operator is gone, it does so no more.
async fn many_that_wait_for_a_slot(world: World) -> Outcome {
    roll_out_many(&world).await?;
    // Pods that nobody makes keep their rollouts in their slots.
    world.stage.cluster.freeze(Component::ControllerManager);
    change_many(&world, LAST, "app:v2").await?;
    let last = name(LAST);
    world.set_image(&last, "app:v2").await?;
    let output = run(&tool(&world)?, &format!("why {last} -o json")).await?;
    let waits = output.code == Some(3) && output.stdout.contains("waiting in the queue");
    ensure(waits, "exit code 3 of one that waits in the queue", output)?;
    let operator = world.stage.operator(world.flavour);
    operator.ok_or_else(|| Failure::new("there is no operator"))?.kill();
    change_many(&world, MANY, "app:v3").await?;
    let answer = is(&world, &last, "NoController", 1, "does not run, or does not see it").await;
    world.stage.cluster.thaw(Component::ControllerManager);
    answer
}

/// Rollouts with ReplicaSets that nobody looks after keep their slots for ten seconds. One that waits for longer
/// reports that (rollwright.dev), and nobody who waits for it gets the answer that it is done.
async fn those_that_wait_long_say_so(world: World) -> Outcome {
    roll_out_many(&world).await?;
    world.stage.cluster.freeze(Component::ControllerManager);
    change_many(&world, LAST, "app:v2").await?;
    let last = name(LAST);
    world.set_image(&last, "app:v2").await?;
    if world.flavour.is_ours() {
        let is_queued = |it: &Deployment| it.condition("Reconciling").reason == "Queued";
        let queued = world.wait_until(&last, "the status of one that waits", is_queued).await?;
        same("Progressing", queued.progressing(), ("Unknown".to_owned(), "Queued".to_owned()))?;
        same("Ready", queued.condition("Ready").status, "False".to_owned())?;
        ensure(!queued.is_observed(), "a generation that is not observed", queued.summary())?;
        is(&world, &last, "Queued", 3, "waiting in the queue").await?;
    } else {
        let resource = format!("deployment/{last}");
        let status = ["rollout", "status", &resource, "--timeout=12s"];
        let output = world.kubectl.output(&status, "").await?;
        ensure(!output.success, "no success while it waits", &output)?;
        ensure(output.stdout.contains("spec update to be observed"), "what kubectl waits for", &output)?;
        same("Progressing", world.get(&last).await?.progressing().1, "NewReplicaSetAvailable".to_owned())?;
    }
    world.stage.cluster.thaw(Component::ControllerManager);
    let done = world.complete(&last).await?;
    ensure(done.is_observed() && done.image() == "app:v2", "its own rollout", done.summary())?;
    same("Reconciling", done.condition("Reconciling").status, String::new())
}
