//! What the operator reports of itself and of rollouts: to whom, and how often.

use std::path::Path;
use std::time::Duration;

use cluster::kubelet::{NEVER_READY, READY_AFTER_MS};
use cluster::{NotYet, User, free_port};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::failure::{Failure, Outcome, ensure, same, until};
use crate::manifest::{Manifest, pods_patch};
use crate::operator::Operator;
use crate::scenario::{Scenario, scenarios};
use crate::world::World;

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    own both metrics_for_those_who_may,
    own both rollouts_are_told_once,
    own both clients_that_do_not_read_cost_little,
];

/// Connections that an attacker holds open.
const CLIENTS: usize = 2000;

/// Not the second that a kubelet waits: the machine is busy with other scenarios.
const PROBE: Duration = Duration::from_secs(20);

/// What they may cost.
const MEMORY_MAX_KIB: u64 = 20 << 10;

/// What a monitoring system brings, and what the operator needs to ask about it.
fn rights(namespace: &str) -> Value {
    let bind = |name: &str, role: &str, subject: &Value| {
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
            "subjects": [subject],
        })
    };
    let account = |name: &str| json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": namespace}});
    let operator = json!({
        "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": User::Operator.name(),
    });
    let scraper = json!({"kind": "ServiceAccount", "name": "scraper", "namespace": namespace});
    let role = |name: &str, rules: Value| {
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {"name": name},
            "rules": rules,
        })
    };
    let review = json!([
        {"apiGroups": ["authentication.k8s.io"], "resources": ["tokenreviews"], "verbs": ["create"]},
        {"apiGroups": ["authorization.k8s.io"], "resources": ["subjectaccessreviews"], "verbs": ["create"]},
    ]);
    let read = json!([{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]);
    json!({"apiVersion": "v1", "kind": "List", "items": [
        account("scraper"),
        account("stranger"),
        role("rollwright-reviewer", review),
        role("rollwright-metrics-reader", read),
        bind("rollwright-reviewer", "rollwright-reviewer", &operator),
        bind("rollwright-metrics-reader", "rollwright-metrics-reader", &scraper),
    ]})
}

pub(crate) async fn get(port: u16, path: &str, token: Option<&str>) -> Outcome<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
    let token = token.map_or_else(String::new, |token| format!("Authorization: Bearer {token}\r\n"));
    let request = format!("GET {path} HTTP/1.1\r\nHost: operator\r\nConnection: close\r\n{token}\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer)
}

/// Takes the place of the stage's operator, with a port.
pub(crate) async fn operator(world: &World, port: u16, more: &[&str]) -> Outcome<Operator> {
    let usual = world.stage.operator(world.flavour);
    usual.ok_or_else(|| Failure::new("there is no operator"))?.stop();
    let cluster = &world.stage.cluster;
    let (api, address) =
        (format!("--api={}", world.flavour.api_version()), format!("--bind-address=127.0.0.1:{port}"));
    let arguments = [api.as_str(), "--leader-elect=false", &address].into_iter().chain(more.iter().copied());
    let log = cluster.directory().join("operator-port.log");
    let program = Path::new(env!("CARGO_BIN_EXE_rollwright"));
    let arguments = arguments.map(str::to_owned).collect();
    let operator = Operator::start_with(program, &cluster.kubeconfig(User::Operator), &log, arguments)?;
    ready(world, port).await?;
    Ok(operator)
}

async fn ready(world: &World, port: u16) -> Outcome {
    world
        .wait("the operator being ready", async || {
            let page = get(port, "/readyz", None).await.map_err(|failure| NotYet(failure.0))?;
            until(page.starts_with("HTTP/1.1 200"), page)
        })
        .await?;
    Ok(())
}

/// The API server decides who reads the metrics; probes are open to all.
async fn metrics_for_those_who_may(world: World) -> Outcome {
    world.stage.kubectl.apply(&rights(&world.namespace).to_string()).await?;
    let port = free_port()?;
    let _operator = operator(&world, port, &["--metrics-auth=token", "--debug-state"]).await?;
    let scraper = world.kubectl.run(&["create", "token", "scraper"]).await?;
    let unprivileged = world.kubectl.run(&["create", "token", "stranger"]).await?;
    let (scraper, unprivileged) = (scraper.trim(), unprivileged.trim());
    for (path, token, expected) in [
        ("/livez", None, "200"),
        ("/metrics", None, "401"),
        ("/metrics", Some("made-up"), "401"),
        ("/metrics", Some(unprivileged), "403"),
        ("/metrics", Some(scraper), "200"),
        ("/debug/state", Some(scraper), "403"),
    ] {
        let answer = get(port, path, token).await?;
        ensure(
            answer.starts_with(&format!("HTTP/1.1 {expected}")),
            &format!("{expected} from {path}"),
            &answer,
        )?;
    }
    world.kubectl.run(&["delete", "clusterrolebinding", "rollwright-metrics-reader"]).await?;
    world
        .wait("the right being gone", async || {
            let answer = get(port, "/metrics", Some(scraper)).await.map_err(|failure| NotYet(failure.0))?;
            until(answer.starts_with("HTTP/1.1 403"), answer)
        })
        .await?;
    Ok(())
}

/// Thousands of clients ask for the metrics and do not read them: that costs little memory, and probes are answered.
async fn clients_that_do_not_read_cost_little(world: World) -> Outcome {
    let port = free_port()?;
    let operator = operator(&world, port, &[]).await?;
    get(port, "/metrics", None).await?;
    let before = operator.memory("VmHWM")?;
    let mut clients = Vec::new();
    for _ in 0..CLIENTS {
        let mut client = TcpStream::connect(("127.0.0.1", port)).await?;
        // A connection may have been closed for a newer one already.
        let _ = client.write_all(b"GET /metrics HTTP/1.1\r\nHost: operator\r\n\r\n").await;
        clients.push(client);
    }
    let probe = tokio::time::timeout(PROBE, get(port, "/livez", None)).await;
    let probe = probe.map_err(|_| Failure::new(format!("the probe was not answered within {PROBE:?}")))??;
    ensure(probe.starts_with("HTTP/1.1 200"), "a probe", &probe)?;
    let growth = operator.memory("VmHWM")?.saturating_sub(before);
    println!("{CLIENTS} clients that do not read: {growth} KiB more");
    ensure(growth < MEMORY_MAX_KIB, "little memory", growth)
}

/// Each rollout counts once and has one event, although the operator is killed in the middle of it.
async fn rollouts_are_told_once(world: World) -> Outcome {
    let port = free_port()?;
    let operator = operator(&world, port, &["--debug-state"]).await?;
    world.roll_out(&Manifest::new("web", 2).pods(READY_AFTER_MS, "3000")).await?;
    for (image, before) in [("app:v2", None), ("app:v3", Some("revision 2"))] {
        if let Some(before) = before {
            event_written(&world, "NewReplicaSetAvailable", before).await?;
        }
        world.set_image("web", image).await?;
        world.wait_sets("the new set", |sets| sets.iter().any(|set| set.image == image)).await?;
        operator.kill();
        operator.start_again()?;
        ready(&world, port).await?;
        world.complete("web").await?;
    }
    let trigger = if world.flavour.is_ours() { "NewImage" } else { "" };
    let labels = |outcome: &str| {
        let (api, namespace) = (world.flavour.api_version(), &world.namespace);
        format!("api=\"{api}\",namespace=\"{namespace}\",outcome=\"{outcome}\"")
    };
    let ended = |outcome: &str, count: u8| {
        format!("rollwright_rollouts_total{{{},trigger=\"{trigger}\"}} {count}\n", labels(outcome))
    };
    let complete = |text: &str| text.contains(&ended("Succeeded", 1));
    let metrics = world
        .wait("the rollout in the metrics", async || {
            let text = get(port, "/metrics", None).await.map_err(|failure| NotYet(failure.0))?;
            if complete(&text) { Ok(text) } else { Err(NotYet(text)) }
        })
        .await?;
    ensure(metrics.contains(&ended("Failed", 0)), "the other outcomes", &metrics)?;
    let measured = format!("rollwright_rollout_duration_seconds_count{{{}}} 1\n", labels("Succeeded"));
    ensure(metrics.contains(&measured), "the duration, by the record or the age of its set", &metrics)?;
    event_written(&world, "NewReplicaSetAvailable", "revision 3").await?;
    world.patch("web", &deadline(pods_patch("app:v4", NEVER_READY, &json!("true")), 4)).await?;
    let late = ("False".to_owned(), "ProgressDeadlineExceeded".to_owned());
    world.wait_until("web", "the deadline being exceeded", |web| web.progressing() == late).await?;
    event_written(&world, "ProgressDeadlineExceeded", "revision 4").await?;
    operator.kill();
    operator.start_again()?;
    ready(&world, port).await?;
    world.patch("web", &deadline(pods_patch("app:v5", NEVER_READY, &json!(null)), 600)).await?;
    world.complete("web").await?;
    event_written(&world, "NewReplicaSetAvailable", "revision 5").await?;
    let state = get(port, "/debug/state", None).await?;
    let state = state.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    let state: Value = serde_json::from_str(state)?;
    same("watches", state["watches"].as_array().map(Vec::len), Some(2))?;
    ensure(state["controllers"][0]["queue"]["delayedCount"].is_u64(), "the queue", &state)?;
    events_told(&world).await
}

/// Events are written in the background, and one that is still queued dies with the operator.
async fn event_written(world: &World, reason: &str, text: &str) -> Outcome {
    if world.flavour.is_ours() {
        world.wait_event("web", reason, text).await?;
    }
    Ok(())
}

fn deadline(mut patch: Value, seconds: i64) -> Value {
    patch["spec"]["progressDeadlineSeconds"] = json!(seconds);
    patch
}

async fn events_told(world: &World) -> Outcome {
    let mut told: Vec<(String, i32)> = Vec::new();
    for event in world.events("web").await? {
        let reason = event.reason;
        if ["NewReplicaSetAvailable", "ProgressDeadlineExceeded"].contains(&reason.as_str()) {
            let revision = event.message;
            let revision = revision.split(' ').nth(3).unwrap_or_default().to_owned();
            told.push((format!("{reason} of {revision}"), event.count));
        }
    }
    told.sort();
    let available = |revision: u32| (format!("NewReplicaSetAvailable of {revision}"), 1);
    // The first one replaced nothing.
    let mut expected: Vec<_> = [2, 3, 5].map(available).into();
    expected.push(("ProgressDeadlineExceeded of 4".to_owned(), 1));
    // Upstream has no such events, and neither has what stands in for it.
    same("events", told, if world.flavour.is_ours() { expected } else { Vec::new() })
}
