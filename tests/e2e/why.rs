//! `kubectl rollwright why` about a rollout that is broken on purpose. What the server refuses is in
//! [`crate::blockers`].

use cluster::NotYet;
use cluster::kubelet::NEVER_READY;
use serde_json::{Value, json};

use crate::command_line::{run, tool};
use crate::failure::{Outcome, ensure, until};
use crate::manifest::{Manifest, pods_patch};
use crate::scenario::{Scenario, scenarios};
use crate::world::World;

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    both pods_that_do_not_come_up,
];

/// Asks about `web` until the answer is this cause with this exit code, and its message contains this text.
pub(crate) async fn is(world: &World, cause: &str, code: i64, text: &str) -> Outcome {
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

async fn pods_that_do_not_come_up(world: World) -> Outcome {
    world.roll_out(&Manifest::new("web", 1)).await?;
    world.set_image("web", "bad:v2").await?;
    is(&world, "ImagePull", 1, "cannot pull the image").await?;
    world.patch("web", &pods_patch("app:v3", NEVER_READY, &json!("true"))).await?;
    is(&world, "Progressing", 3, "waiting for pods").await?;
    report_failing_probe(&world).await?;
    is(&world, "ReadinessProbe", 1, "HTTP probe failed with statuscode: 503").await
}

/// The event that a kubelet writes; the fake one has no probes.
async fn report_failing_probe(world: &World) -> Outcome {
    let is_late = |pod: &k8s_openapi::api::core::v1::Pod| {
        pod.metadata.annotations.as_ref().is_some_and(|annotations| annotations.contains_key(NEVER_READY))
    };
    let pod = world
        .wait("a pod that is never ready", async || {
            let pods = world.pods().await.map_err(|failure| NotYet(failure.0))?;
            pods.into_iter().find(is_late).ok_or_else(|| NotYet("no such pod".to_owned()))
        })
        .await?
        .metadata;
    let event = json!({
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": "web.probe"},
        "involvedObject": {"apiVersion": "v1", "kind": "Pod", "namespace": world.namespace,
                           "name": pod.name, "uid": pod.uid},
        "type": "Warning", "reason": "Unhealthy",
        "message": "Readiness probe failed: HTTP probe failed with statuscode: 503",
    });
    world.kubectl.apply(&event.to_string()).await?;
    Ok(())
}
