//! `rollwright sandbox`: an in-memory cluster and the operator, in one process.
//!
//! The cluster is the store of the `world` crate with its controllers and kubelets, on the wall clock. The
//! operator connects to the same loopback port as kubectl. The program needs nothing else: no certificates,
//! and no directory for temporary files.

mod kubeconfig;
mod welcome;

use std::cell::Cell;
use std::ffi::OsString;
use std::future::ready;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use cli::explain;
use tokio::net::TcpListener;
use tracing::warn;
use world::{Cluster, Conventions, Key, NODE_NAME, Resource};

use crate::args::{
    Adoption, BLOCKED_AFTER, ClientArguments, ElectionArguments, MetricsAuth, NAMESPACE_METRICS_LIMIT,
    OBJECT_METRICS_LIMIT, RunArguments, STALLED_AFTER, SandboxArguments,
};
use crate::client;
use crate::commands::run::{self, RunError};

/// One user at a time: fewer than in a cluster are plenty.
const WORKERS: u16 = 4;
/// The namespace of the kubeconfig.
const NAMESPACE: &str = "default";
/// Annotation of the node: with each new value, the operator ends, and starts again.
const RESTART: &str = "fake.rollwright.dev/restart-operator";
/// What a shell returns for a program that it could not run.
const NOT_RUN: u8 = 127;

/// Why there is no sandbox.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SandboxError {
    #[error("port {port}: {source}")]
    Bind { port: u16, source: std::io::Error },
    #[error("writing {path}: {source}")]
    Kubeconfig { path: String, source: std::io::Error },
    #[error("--audit-log {path}: {source}")]
    AuditLog { path: String, source: std::io::Error },
    #[error(transparent)]
    Definition(#[from] api::crd::SchemaError),
    #[error("--apply {path}: {problem}")]
    Apply { path: String, problem: String },
    #[error("filling the cluster: {0}")]
    Fill(#[from] world::Refused),
    #[error(transparent)]
    Run(#[from] RunError),
    #[error("{program}: {source}")]
    Command { program: String, source: std::io::Error },
}

/// Runs the sandbox until it receives a signal, or until the command ends.
pub(crate) async fn run(arguments: &SandboxArguments) -> Result<ExitCode, SandboxError> {
    let bind = |source| SandboxError::Bind { port: arguments.port, source };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, arguments.port)).await.map_err(bind)?;
    let port = listener.local_addr().map_err(bind)?.port();
    let policy = Conventions {
        ready_after: Duration::from_millis(arguments.ready_after_ms),
        terminate_after: Duration::from_millis(arguments.terminate_after_ms),
        ..Conventions::default()
    };
    let cluster = apiserver::embed(api::crd::crd(None)?, Box::new(policy))?;
    let mut server = apiserver::ApiServer::new(&cluster);
    if let Some(path) = &arguments.audit_log {
        let failed = |source| SandboxError::AuditLog { path: path.display().to_string(), source };
        server = server.with_audit_log(std::fs::File::create(path).map_err(failed)?);
    }
    tokio::spawn(apiserver::serve(listener, server));
    tokio::spawn(apiserver::live(cluster.clone()));
    let applied = apply(&arguments.apply, port).await?;
    let file = kubeconfig::File::write(arguments.kubeconfig_out.as_deref(), port);
    let arguments_of_operator = operator(arguments);
    let operator = async {
        let restarts = Cell::new(true);
        while restarts.replace(false) {
            let restart = async {
                annotated(&cluster).await;
                restarts.set(true);
            };
            // Not by the kubeconfig, which may be out of reach, nor by the proxies of the environment.
            run::run(&arguments_of_operator, ready(client::loopback(port)), restart).await?;
        }
        Ok::<_, RunError>(())
    };
    match arguments.command.split_first() {
        None => {
            let file = match file {
                // Nobody has asked for the file.
                Err(error) if arguments.kubeconfig_out.is_none() => {
                    warn!(%error, "no kubeconfig; name another place with --kubeconfig-out");
                    None
                }
                file => Some(file?),
            };
            welcome::print(file.as_ref().map(kubeconfig::File::path), port, &applied);
            operator.await?;
            Ok(ExitCode::SUCCESS)
        }
        Some((program, rest)) => {
            let file = file?;
            tokio::select! {
                code = accompany(program, rest, file.path()) => code,
                ended = operator => ended.map(|()| ExitCode::SUCCESS).map_err(SandboxError::from),
            }
        }
    }
}

/// Waits until somebody changes [`RESTART`].
async fn annotated(cluster: &apiserver::Shared<Cluster>) {
    let node = Key::new(Resource::Nodes, "", NODE_NAME);
    let text =
        || cluster.act(|it| it.store.get(&node).and_then(|node| node.annotation(RESTART)).map(str::to_owned));
    let (before, mut versions) = (text(), cluster.versions());
    while text() == before && versions.changed().await.is_ok() {}
}

/// The operator with its own defaults; the variables of the environment are for operators of real clusters.
fn operator(arguments: &SandboxArguments) -> RunArguments {
    RunArguments {
        client: ClientArguments { kubeconfig: None, context: None },
        api: arguments.api.clone(),
        adopt: Adoption::Labelled,
        bind_address: arguments.bind_address,
        stalled_after: STALLED_AFTER,
        watch_namespace: Vec::new(),
        selector: None,
        election: no_election(),
        metrics_tls_cert_file: None,
        metrics_tls_key_file: None,
        metrics_auth: MetricsAuth::None,
        debug_state: true,
        object_metrics: true,
        object_metrics_limit: OBJECT_METRICS_LIMIT,
        namespace_metrics: true,
        namespace_metrics_limit: NAMESPACE_METRICS_LIMIT,
        blocked_after: Some(BLOCKED_AFTER),
        termination_messages: false,
        jobs: true,
        force: false,
        workers: WORKERS,
    }
}

fn no_election() -> ElectionArguments {
    ElectionArguments {
        leader_elect: false,
        leader_elect_lease_duration: Duration::ZERO,
        leader_elect_renew_deadline: Duration::ZERO,
        leader_elect_retry_period: Duration::ZERO,
        leader_elect_resource_namespace: None,
        leader_elect_resource_name: None,
    }
}

/// Applies manifests, as kubectl would; returns the names of what is there then.
async fn apply(places: &[PathBuf], port: u16) -> Result<Vec<String>, SandboxError> {
    let mut names = Vec::new();
    for place in places {
        let failed = |problem: String| SandboxError::Apply { path: place.display().to_string(), problem };
        let mut config = client::loopback(port).map_err(|error| failed(explain(&error)))?;
        // `User-Agent` distinguishes these requests from the operator's in the audit log.
        config.headers.clear();
        let client = kube::Client::try_from(config).map_err(|error| failed(explain(&error)))?;
        for (file, text) in admission::lint::files::texts(place).map_err(failed)? {
            let applied = cli::apply(client.clone(), NAMESPACE, &text).await;
            let failed = |error| SandboxError::Apply { path: file, problem: explain(&error) };
            names.extend(applied.map_err(failed)?);
        }
    }
    Ok(names)
}

async fn accompany(program: &OsString, rest: &[OsString], path: &Path) -> Result<ExitCode, SandboxError> {
    let mut command = tokio::process::Command::new(program);
    command.args(rest).env("KUBECONFIG", path).kill_on_drop(true);
    let status = command.status().await.map_err(|source| SandboxError::Command {
        program: PathBuf::from(program).display().to_string(),
        source,
    })?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(NOT_RUN).into())
}
