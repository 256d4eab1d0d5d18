//! `rollwright sandbox` as a process behind the scenes: a cluster in memory with the operator in it.

use std::fs::{self, File};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use cluster::{State, wait_for};
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::json;
use tokio::process::{Child, ChildStdin, Command};

use crate::failure::Failure;
use crate::place::Place;

const START_DEADLINE: Duration = Duration::from_secs(60);
/// Its only node.
const NODE: &str = "fake-node";
/// Name in the state file.
const PROCESS: &str = "sandbox";

/// A running sandbox. The state file is there as long as it.
pub(crate) struct Sandbox {
    state: State,
    client: kube::Client,
    /// The input of its command. To wait for a process would close it.
    _input: Option<ChildStdin>,
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        State::remove(&self.state.directory);
    }
}

impl Sandbox {
    /// Starts one, whose pods take their time, and waits until it answers.
    pub(crate) async fn start(
        place: &Place,
        program: &Path,
        ready_after: Duration,
        terminate_after: Duration,
    ) -> Result<(Self, Child), Failure> {
        let directory = place.cluster();
        fs::create_dir_all(&directory).map_err(Failure::io("creating", &directory))?;
        if let Some(state) = State::read(&directory) {
            state.kill_leftovers();
        }
        let (kubeconfig, audit_log) = (directory.join("kubeconfig"), directory.join("audit.log"));
        let _ = fs::remove_file(&kubeconfig);
        let log = place.operator_log();
        let file = File::create(&log).map_err(Failure::io("creating", &log))?;
        let mut child = Command::new(program)
            .arg("sandbox")
            .arg("--kubeconfig-out")
            .arg(&kubeconfig)
            .arg("--audit-log")
            .arg(&audit_log)
            .arg(format!("--ready-after-ms={}", ready_after.as_millis()))
            .arg(format!("--terminate-after-ms={}", terminate_after.as_millis()))
            // It ends with this command, which ends with us, however we end.
            .args(["--", "cat"])
            .env("NO_COLOR", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(file)
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(Failure::io("starting", program))?;
        let input = child.stdin.take();
        let (client, server) = tokio::select! {
            up = answering(&kubeconfig) => up?,
            ended = child.wait() => {
                let how = ended.map_or_else(|error| error.to_string(), |status| status.to_string());
                return Err(Failure::Stage { what: format!("the sandbox ended at once ({how})"), log });
            }
        };
        let state = State {
            directory,
            owner: std::process::id(),
            processes: child.id().map(|pid| (PROCESS.to_owned(), pid)).into_iter().collect(),
            server,
            kubeconfig,
            audit_log,
            ready: true,
        };
        state.write()?;
        Ok((Self { state, client, _input: input }, child))
    }

    /// URL of its API server.
    pub(crate) fn server(&self) -> &str {
        &self.state.server
    }

    /// Closes or opens its node for new pods, which wait meanwhile (`kubectl cordon`).
    pub(crate) async fn close_node(&self, is_closed: bool) -> Result<(), Failure> {
        let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "Node"));
        let nodes: Api<DynamicObject> = Api::all_with(self.client.clone(), &kind);
        let patch = Patch::Merge(json!({ "spec": { "unschedulable": is_closed } }));
        nodes.patch(NODE, &PatchParams::default(), &patch).await?;
        Ok(())
    }
}

/// Waits until a server answers where the kubeconfig says, once that is written.
async fn answering(kubeconfig: &Path) -> Result<(kube::Client, String), cluster::Error> {
    wait_for("the sandbox to answer", START_DEADLINE, async || {
        let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
        let config = kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
        let server = config.cluster_url.to_string().trim_end_matches('/').to_owned();
        let client = kube::Client::try_from(config)?;
        client.apiserver_version().await?;
        Ok((client, server))
    })
    .await
}
