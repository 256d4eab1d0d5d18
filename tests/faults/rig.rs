//! What a scenario gets: a namespace, a proxy, and an operator behind it.

use std::fmt::Write as _;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cluster::{User, wait_for};
use faultproxy::{Exchange, FaultProxy, Match, RuleId};
use kube::api::{DeleteParams, ListParams};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::failure::{Failure, Outcome, until};
use crate::flavour::Flavour;
use crate::objects::summaries;
use crate::operator::Operator;
use crate::report::{Findings, Row};
use crate::rollout::SOON;
use crate::stage::{Controller, Stage};
use crate::world::World;

const PROGRAM: &str = env!("CARGO_BIN_EXE_rollwright");
const LOG_LINES: usize = 60;
const EXCHANGES: usize = 40;
/// Shorter than the time after which the operator itself takes a silent watch for dead: with the default, `/livez`
/// would have nothing to report.
const STALLED_AFTER: &str = "--stalled-after=85";
/// Until the operator's caches are filled.
const READY: Duration = Duration::from_secs(60);
const PAGE: Duration = Duration::from_secs(5);

/// A scenario's own proxy and operator, on the control plane of all.
pub(crate) struct Rig {
    pub(crate) world: World,
    pub(crate) proxy: FaultProxy,
    pub(crate) operator: Operator,
    port: u16,
    /// Place of the scenario among all.
    order: usize,
    findings: Arc<Mutex<Findings>>,
}

impl Rig {
    pub(crate) async fn start(
        stage: Arc<Stage>,
        flavour: Flavour,
        name: &str,
        (order, findings): (usize, Arc<Mutex<Findings>>),
    ) -> Outcome<Self> {
        let world = World::new(stage, Controller::Operator, flavour, name).await?;
        let cluster = &world.stage.cluster;
        let proxy = FaultProxy::start(cluster.config(User::Operator).await?).await?;
        let file = |suffix: &str| cluster.directory().join(format!("{}.{suffix}", world.namespace));
        let kubeconfig = file("kubeconfig");
        proxy.write_kubeconfig(&kubeconfig)?;
        let port = free_port()?;
        let arguments = vec![
            format!("--api={}", flavour.api_version()),
            format!("--bind-address=127.0.0.1:{port}"),
            "--log-level=info,rollwright=debug".to_owned(),
            STALLED_AFTER.to_owned(),
        ];
        let (program, log) = (Path::new(PROGRAM), file("log"));
        let operator = Operator::start_with(program, &kubeconfig, &log, arguments)?;
        let rig = Self { world, proxy, operator, port, order, findings };
        rig.ready().await?;
        Ok(rig)
    }

    /// Waits until the operator's caches are filled.
    async fn ready(&self) -> Outcome {
        wait_for("the operator being ready", READY, async || {
            let (code, text) = self.page("/readyz").await.map_err(|failure| cluster::NotYet(failure.0))?;
            until(code == 200, text)
        })
        .await?;
        Ok(())
    }

    /// A page of the operator: status and text.
    pub(crate) async fn page(&self, path: &str) -> Outcome<(u16, String)> {
        let exchange = async {
            let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).await?;
            let request = format!("GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n");
            stream.write_all(request.as_bytes()).await?;
            let mut text = String::new();
            stream.read_to_string(&mut text).await?;
            std::io::Result::Ok(text)
        };
        let text = tokio::time::timeout(PAGE, exchange).await??;
        let code = text.split_whitespace().nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
        let body = text.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        Ok((code, body.trim().to_owned()))
    }

    /// Waits until this many requests met the fault of a rule.
    pub(crate) async fn met(&self, rule: RuleId, count: u32) -> Outcome {
        self.wait_within("the fault being met", SOON, || {
            let met = self.proxy.met(rule);
            until(met >= count, format!("{met} of {count}"))
        })
        .await
    }

    /// Waits until the proxy has recorded a request like this.
    pub(crate) async fn asked(&self, select: &Match, within: Duration) -> Outcome {
        self.wait_within("a request", within, || {
            let journal = self.proxy.journal();
            let found = journal.exchanges().iter().any(|seen| select.selects(&seen.request, &seen.body));
            until(found, format!("{select:?}"))
        })
        .await
    }

    async fn wait_within(
        &self,
        what: &str,
        within: Duration,
        look: impl Fn() -> Result<(), cluster::NotYet>,
    ) -> Outcome {
        Ok(wait_for(what, within, async || look()).await?)
    }

    pub(crate) fn row(&self, row: Row) {
        println!("{row}");
        self.findings().rows.push((self.order, row));
    }

    /// Something measured that is no row of the table.
    pub(crate) fn note(&self, note: String) {
        println!("{note}");
        self.findings().notes.push((self.order, note));
    }

    fn findings(&self) -> std::sync::MutexGuard<'_, Findings> {
        self.findings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes what the scenario made, before the next operator finds it.
    pub(crate) async fn tidy(&self) {
        self.operator.stop();
        let (delete, all) = (DeleteParams::background(), ListParams::default());
        let _ = self.world.deployments().delete_collection(&delete, &all).await;
        let _ = wait_for("the sets going", Duration::from_secs(30), async || {
            let sets = self.world.sets().await.map_err(|failure| cluster::NotYet(failure.0))?;
            until(sets.is_empty(), summaries(&sets))
        })
        .await;
    }

    /// What a failed scenario left behind.
    pub(crate) async fn diagnosis(&self) -> String {
        let mut text = format!("namespace {}\n", self.world.namespace);
        if let Ok(sets) = self.world.sets().await {
            let _ = writeln!(text, "sets: {}", summaries(&sets));
        }
        let journal = self.proxy.journal();
        let skipped = journal.exchanges().len().saturating_sub(EXCHANGES);
        for Exchange { request, server_code, client_code, fault, .. } in
            journal.exchanges().iter().skip(skipped)
        {
            let (label, name) = (request.label(), &request.name);
            let _ = writeln!(text, "{label} {name}: {server_code:?} {client_code:?} {fault:?}");
        }
        let log = self.operator.tail("", LOG_LINES);
        let _ = writeln!(text, "--- log of the operator ({}):\n{log}", self.operator.log().display());
        text
    }

    /// The operator has not ended by itself.
    pub(crate) fn ensure_running(&self) -> Outcome {
        if self.operator.is_running() {
            return Ok(());
        }
        Err(Failure::new("the operator ended by itself"))
    }
}

fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}
