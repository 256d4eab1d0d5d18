//! What clients of an operator's port cost. tests/chart/scrape.rs tests who may read it.

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

pub(crate) async fn get(port: u16, path: &str) -> Outcome<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: operator\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer)
}

/// Takes the place of the stage's operator, with a port.
pub(crate) async fn operator(world: &World, port: u16, more: &[&str]) -> Outcome<Operator> {
    world.operator()?.stop();
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
            let page = get(port, "/readyz").await.map_err(|failure| NotYet(failure.0))?;
            until(page.starts_with("HTTP/1.1 200"), page)
        })
        .await?;
    Ok(())
}

/// Thousands of clients ask for the metrics and do not read them: that costs little memory, and probes are answered.
async fn the_port_of_an_operator(world: World) -> Outcome {
    let port = free_port()?;
    let operator = operator(&world, port, &[]).await?;
    get(port, "/metrics").await?;
    let before = operator.memory("VmHWM")?;
    let mut clients = Vec::new();
    for _ in 0..CLIENTS {
        let mut client = TcpStream::connect(("127.0.0.1", port)).await?;
        // A connection may have been closed for a newer one already.
        let _ = client.write_all(b"GET /metrics HTTP/1.1\r\nHost: operator\r\n\r\n").await;
        clients.push(client);
    }
    let probe = tokio::time::timeout(PROBE, get(port, "/livez")).await;
    let probe = probe.map_err(|_| Failure::new(format!("the probe was not answered within {PROBE:?}")))??;
    ensure(probe.starts_with("HTTP/1.1 200"), "a probe", &probe)?;
    let growth = operator.memory("VmHWM")?.saturating_sub(before);
    println!("{CLIENTS} clients that do not read: {growth} KiB more");
    ensure(growth < MEMORY_MAX_KIB, "little memory", growth)
}
