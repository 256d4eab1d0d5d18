//! `strategy.type: Custom` with the real Job controller (CU-1 to CU-5).
//!
//! Nothing runs in pods here. The script of the example runs beside them, with the rights of its ServiceAccount.

use std::process::Stdio;
use std::time::Duration;

use cluster::Tool;
use kube::api::{Patch, PatchParams};
use serde_json::json;
use tokio::process::{Child, Command};

use crate::command_line::{DONE, FAILED, TIMEOUT, expect, tool};
use crate::failure::{Failure, Outcome, ensure, same, until};
use crate::gates::wait_jobs;
use crate::quiet::ensure_quiet;
use crate::reverting::{judged, reverted};
use crate::scenario::{Scenario, scenarios};
use crate::watch::Trace;
use crate::world::World;

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    ours the_example_drives_its_rollout because "apps/v1 has no such strategy",
    ours a_process_that_dies_or_fails because "apps/v1 has no such strategy",
    own ours killed_while_a_process_drives because "apps/v1 has no such strategy",
];

const EXAMPLE: &str = include_str!("../../examples/custom/by-ten-percent.yaml");
const NAME: &str = "driven";

/// The example, with pods that stay until somebody ends them.
async fn begin(world: &World) -> Outcome {
    let example = EXAMPLE.replace("docker.io/alpine/k8s:1.34.1", "endless:v1");
    world.kubectl.apply(&example).await?;
    world.complete(NAME).await?;
    judged(world, "nginx:1.28", "Good").await.map(drop)
}

async fn message(world: &World, words: &str) -> Outcome {
    let is_there = |driven: &crate::objects::Deployment| {
        driven.is_observed() && driven.condition("Reconciling").message.contains(words)
    };
    world.wait_until(NAME, words, is_there).await.map(drop)
}

async fn roll_out(world: &World, image: &str) -> Outcome {
    let containers = json!([{"name": "server", "image": image}]);
    world.patch(NAME, &json!({"spec": {"template": {"spec": {"containers": containers}}}})).await
}

/// The script of the example as its container would run it.
async fn process(world: &World, job: &str, url: &str) -> Outcome<Child> {
    let custom = &world.get(NAME).await?.value["spec"]["strategy"]["custom"];
    let token = world.kubectl.run(&["create", "token", "driven-process"]).await?;
    let kubeconfig = world.stage.cluster.kubeconfig_for_token("driven-process", token.trim())?;
    let script = custom["args"][0].as_str().unwrap_or_default();
    let kubectl = Tool::kubectl(&kubeconfig)?;
    let programs = kubectl.program().parent().map(|folder| folder.display().to_string()).unwrap_or_default();
    let path = format!("{programs}:{}", std::env::var("PATH").unwrap_or_default());
    let revision = job.split('-').nth(1).unwrap_or_default();
    Command::new("sh")
        .args(["-euc", script])
        .env("PATH", path)
        .env("KUBECONFIG", &kubeconfig)
        .env("ROLLWRIGHT_NAMESPACE", &world.namespace)
        .env("ROLLWRIGHT_DEPLOYMENT", NAME)
        .env("ROLLWRIGHT_REVISION", revision)
        .env("ROLLWRIGHT_JOB", job)
        .env("URL", url)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(Failure::new)
}

/// The pod of a Job ends with this code.
async fn end(world: &World, job: &str, code: &str) -> Outcome {
    let fate = json!({"fake.rollwright.dev/exit-code": code, "fake.rollwright.dev/ends-after-ms": "0"});
    let patch = Patch::Merge(json!({"metadata": {"annotations": fate}}));
    let selector = format!("job-name={job}");
    for pod in world.pod_api().list(&kube::api::ListParams::default().labels(&selector)).await? {
        let name = pod.metadata.name.unwrap_or_default();
        let is_active = pod.status.and_then(|status| status.phase).is_some_and(|phase| phase == "Running");
        if is_active {
            world.pod_api().patch(&name, &PatchParams::default(), &patch).await?;
        }
    }
    Ok(())
}

/// The policy of the chart, for this namespace.
async fn policy(world: &World) -> Outcome {
    let chart = concat!(env!("CARGO_MANIFEST_DIR"), "/charts/rollwright");
    let processes =
        json!([{"namespace": world.namespace, "deployment": NAME, "serviceAccount": "driven-process"}]);
    let set = format!("processes={processes}");
    let words = ["template", "custom", chart, "--set-json", &set, "--show-only", "templates/processes.yaml"];
    let kubeconfig = world.stage.cluster.kubeconfig(cluster::User::Admin);
    let helm = tokio::task::spawn_blocking(|| Tool::helm(kubeconfig)).await??;
    let rendered = helm.run(&words).await?;
    world.kubectl.apply(&rendered).await?;
    Ok(())
}

/// The script to its end, by ten percent, under the policy; what the policy refuses; and a page that is not there.
async fn the_example_drives_its_rollout(world: World) -> Outcome {
    let tool = tool(&world)?;
    begin(&world).await?;
    policy(&world).await?;
    let trace = Trace::start(&world).await?;
    roll_out(&world, "nginx:1.29").await?;
    message(&world, "0 of 10 updated, 0 allowed, rests until Job driven-2-custom-1").await?;
    expect(&tool, "promote driven", FAILED, "has not passed").await?;
    let script = process(&world, "driven-2-custom-1", "file:///dev/null").await?;
    let output = script.wait_with_output().await.map_err(Failure::new)?;
    ensure(output.status.success(), "the script of the example", format!("{output:?}"))?;
    world.wait_sizes(&[("nginx:1.28", 0), ("nginx:1.29", 10)]).await?;
    message(&world, "10 of 10 updated, 100% allowed, rests until Job").await?;
    end(&world, "driven-2-custom-1", "0").await?;
    expect(&tool, "status driven --timeout=60s", DONE, "successfully rolled out").await?;
    let seen = trace.stop(&world).await?;
    seen.ensure_at_most(12)?;
    seen.ensure_available(10)?;
    refused(&world).await?;
    roll_out(&world, "nginx:1.30").await?;
    wait_jobs(&world, &["driven-2-custom-1", "driven-3-custom-1"]).await?;
    let script = process(&world, "driven-3-custom-1", "file:///nothing/there").await?;
    let output = script.wait_with_output().await.map_err(Failure::new)?;
    same("the exit code of curl", output.status.code(), Some(37))?;
    world.wait_sizes(&[("nginx:1.29", 9), ("nginx:1.30", 1)]).await?;
    end(&world, "driven-3-custom-1", "37").await?;
    reverted(&world, NAME, "nginx:1.29").await?;
    let cause = "The deployment process failed: Job driven-3-custom-1: container process exited with code 37";
    world.wait_event(NAME, "JobFailed", cause).await.map(drop)
}

/// All that the account of a process may not do.
async fn refused(world: &World) -> Outcome {
    let token = world.kubectl.run(&["create", "token", "driven-process"]).await?;
    let kubeconfig = world.stage.cluster.kubeconfig_for_token("driven-process", token.trim())?;
    let kubectl = Tool::kubectl(&kubeconfig)?.in_namespace(&world.namespace);
    let full = "deployments.rollwright.dev/driven";
    let image = r#"{"spec":{"template":{"spec":{"containers":[{"name":"server","image":"evil"}]}}}}"#;
    let cases: [(&[&str], &str); 6] = [
        (&["patch", full, "--type=merge", "-p", image], "may change the annotation"),
        (&["annotate", full, "rollwright.dev/abort=2"], "may change the annotation"),
        (&["label", full, "a=b"], "may change the annotation"),
        (&["annotate", full, "--overwrite", "rollwright.dev/promote=2/all/force"], "has to write"),
        (&["scale", full, "--replicas=0"], "orbidden"),
        (&["delete", full], "orbidden"),
    ];
    for (words, why) in cases {
        let output = kubectl.output(words, "").await?;
        ensure(output.code != DONE && output.stderr.contains(why), &format!("{words:?} refused"), &output)?;
    }
    Ok(())
}

/// A process that a signal ends is made again, and one that its author ends with an error is not. A newer template ends
/// it, and takes its words away.
async fn a_process_that_dies_or_fails(world: World) -> Outcome {
    let tool = tool(&world)?;
    begin(&world).await?;
    roll_out(&world, "nginx:1.29").await?;
    wait_jobs(&world, &["driven-2-custom-1"]).await?;
    let ask = async |word: &str| {
        let promote = format!("rollwright.dev/promote={word}");
        world.kubectl.run(&["annotate", "rwd/driven", "--overwrite", &promote]).await
    };
    ask("2/50%/driven-2-custom-1").await?;
    world.wait_sizes(&[("nginx:1.28", 5), ("nginx:1.29", 5)]).await?;
    end(&world, "driven-2-custom-1", "137").await?;
    let retried = async || {
        let pods =
            world.kubectl.run(&["get", "pods", "-l", "job-name=driven-2-custom-1", "-o", "name"]).await;
        let pods = pods.map_err(|error| cluster::NotYet(error.to_string()))?;
        until(pods.lines().count() == 2, pods)
    };
    world.wait("another pod of the process", retried).await?;
    world.wait_sizes(&[("nginx:1.28", 5), ("nginx:1.29", 5)]).await?;
    ask("2/20%/driven-2-custom-1").await?;
    world.wait_sizes(&[("nginx:1.28", 8), ("nginx:1.29", 2)]).await?;
    expect(&tool, "promote driven --to=40%", DONE, "promotion of revision 2 to 40% of its pods requested")
        .await?;
    world.wait_sizes(&[("nginx:1.28", 6), ("nginx:1.29", 4)]).await?;
    ask("2/10%/driven-2-custom-1").await?;
    world.wait_event(NAME, "PromotionRefused", "may not go below").await?;
    world.patch(NAME, &json!({"spec": {"paused": true}})).await?;
    ask("2/90%/driven-2-custom-1").await?;
    ensure_quiet(&world, Duration::from_secs(3)).await?;
    world.wait_sizes(&[("nginx:1.28", 6), ("nginx:1.29", 4)]).await?;
    world.patch(NAME, &json!({"spec": {"paused": false}})).await?;
    world.wait_sizes(&[("nginx:1.28", 1), ("nginx:1.29", 9)]).await?;
    world.scale(NAME, 4).await?;
    expect(&tool, "why driven", TIMEOUT, "kubectl logs -n").await?;
    roll_out(&world, "nginx:1.30").await?;
    wait_jobs(&world, &["driven-3-custom-1"]).await?;
    ask("2/100%/driven-2-custom-1").await?;
    ensure_quiet(&world, Duration::from_secs(3)).await?;
    same("pods of revision 3", world.set("nginx:1.30").await?.size, 0)?;
    expect(&tool, "abort driven", DONE, "").await?;
    reverted(&world, NAME, "nginx:1.28").await?;
    wait_jobs(&world, &[]).await
}

/// The operator is killed again and again while a process asks: its Job is made once, and nothing is forgotten.
async fn killed_while_a_process_drives(world: World) -> Outcome {
    begin(&world).await?;
    roll_out(&world, "nginx:1.29").await?;
    wait_jobs(&world, &["driven-2-custom-1"]).await?;
    let operator = world.operator()?;
    for (moment, percent) in [20, 60, 30, 90, 50, 100, 70].into_iter().enumerate() {
        let promote = format!("rollwright.dev/promote=2/{percent}%/driven-2-custom-1");
        world.kubectl.run(&["annotate", "rwd/driven", "--overwrite", &promote]).await?;
        tokio::time::sleep(Duration::from_millis(100 + 170 * moment as u64)).await;
        operator.kill();
        operator.start_again()?;
    }
    world.wait_sizes(&[("nginx:1.28", 3), ("nginx:1.29", 7)]).await?;
    wait_jobs(&world, &["driven-2-custom-1"]).await?;
    end(&world, "driven-2-custom-1", "0").await?;
    world.complete(NAME).await?;
    ensure_quiet(&world, Duration::from_secs(5)).await?;
    wait_jobs(&world, &["driven-2-custom-1"]).await
}
