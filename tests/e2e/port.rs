//! The port of an operator: who may read it, and what clients cost.

use std::path::Path;
use std::time::Duration;

use cluster::{NotYet, User, free_port};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::failure::{Failure, Outcome, ensure, until};
use crate::operator::Operator;
use crate::scenario::{Scenario, scenarios};
use crate::world::World;

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    own ours the_port_of_an_operator because "the process has a port, whatever its API",
];

/// Connections that an attacker holds open.
const CLIENTS: usize = 2000;

/// Not the second that a kubelet waits: the machine is busy with other scenarios.
const PROBE: Duration = Duration::from_secs(20);

/// What they may cost.
const MEMORY_MAX_KIB: u64 = 20 << 10;

/// What a monitoring system brings, and what the operator needs to ask about it.
async fn rights(world: &World) -> Outcome {
    let (reader, reviewer) = ("rollwright-metrics-reader", "rollwright-reviewer");
    let reviews = "--resource=tokenreviews.authentication.k8s.io,subjectaccessreviews.authorization.k8s.io";
    let scraper = format!("--serviceaccount={}:scraper", world.namespace);
    let operator = format!("--user={}", User::Operator.name());
    let role_of = |role: &str| format!("--clusterrole={role}");
    for words in [
        &["serviceaccount", "scraper"][..],
        &["serviceaccount", "stranger"],
        &["clusterrole", reviewer, "--verb=create", reviews],
        &["clusterrole", reader, "--verb=get", "--non-resource-url=/metrics"],
        &["clusterrolebinding", reviewer, &role_of(reviewer), &operator],
        &["clusterrolebinding", reader, &role_of(reader), &scraper],
    ] {
        world.kubectl.run(&[&["create"], words].concat()).await?;
    }
    Ok(())
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

async fn the_port_of_an_operator(world: World) -> Outcome {
    metrics_for_those_who_may(&world).await?;
    clients_that_do_not_read_cost_little(&world).await
}

/// The API server decides who reads the metrics; probes are open to all.
async fn metrics_for_those_who_may(world: &World) -> Outcome {
    rights(world).await?;
    let port = free_port()?;
    let _operator = operator(world, port, &["--metrics-auth=token", "--debug-state"]).await?;
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
async fn clients_that_do_not_read_cost_little(world: &World) -> Outcome {
    let port = free_port()?;
    let operator = operator(world, port, &[]).await?;
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
