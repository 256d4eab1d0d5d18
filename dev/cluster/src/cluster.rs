//! One control plane: etcd, kube-apiserver and kube-controller-manager on
//! loopback ports, with a fake kubelet, owned by the process that started it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Api;
use kube::api::PostParams;
use kube::config::{KubeConfigOptions, Kubeconfig};
use rustix::process::Signal;

use crate::binaries::ControlPlaneBinaries;
use crate::command::Tool;
use crate::companion::Companion;
use crate::component::Component;
use crate::credentials::{self, Credentials, User};
use crate::error::Error;
use crate::kubelet::Kubelet;
use crate::launches::{self, Layout, Ports};
use crate::options::Options;
use crate::process::{Launch, Process};
use crate::state::{self, State};
use crate::wait::wait_for;
use crate::watchdog::Watchdog;

/// Two of two cores may be compiling during the start. Ten times what a quiet machine takes: on a busy one of two
/// cores, 90 s were not enough.
const START_DEADLINE: Duration = Duration::from_secs(180);
const STOP_GRACE: Duration = Duration::from_secs(5);
const PORT_ATTEMPTS: u32 = 3;
/// The message of a component when somebody else has its port, or that of etcd.
const PORT_TAKEN: [&str; 2] = ["address already in use", "error creating storage factory"];

/// A running control plane. Dropping it stops everything; if this process is
/// killed instead, a watchdog does.
#[derive(Debug)]
pub struct Cluster {
    options: Options,
    layout: Layout,
    binaries: ControlPlaneBinaries,
    ports: Ports,
    credentials: Credentials,
    running: Mutex<Running>,
    /// Whether the next controller manager runs the built-in deployment controller.
    deployment_controller: AtomicBool,
    kubelet: Option<Kubelet>,
}

#[derive(Debug)]
struct Running {
    processes: BTreeMap<Component, Process>,
    watchdog: Watchdog,
}

impl Cluster {
    /// Starts a control plane and waits until it is ready, that is until the
    /// API server is and the controllers run.
    ///
    /// The first start on a machine without ready-made binaries builds them,
    /// which takes minutes.
    pub async fn start(options: Options) -> Result<Self, Error> {
        let located = tokio::task::spawn_blocking(ControlPlaneBinaries::locate).await;
        let binaries = located.map_err(|_| Error::MissingBinary { binary: "kube-apiserver" })??;
        let mut attempt = 1;
        loop {
            match Self::start_once(options.clone(), binaries.clone()).await {
                // Somebody took one of the free ports before the component did.
                Err(Error::Exited { tail, .. })
                    if attempt < PORT_ATTEMPTS && PORT_TAKEN.iter().any(|text| tail.contains(text)) =>
                {
                    attempt += 1;
                }
                result => return result,
            }
        }
    }

    async fn start_once(options: Options, binaries: ControlPlaneBinaries) -> Result<Self, Error> {
        let layout = fresh_directory(&options.directory)?;
        let ports = Ports::free()?;
        let credentials = Credentials::create(layout.credentials(), ports.apiserver)?;
        credentials::write(&layout.audit_policy(), launches::AUDIT_POLICY)?;
        let running = Mutex::new(Running { processes: BTreeMap::new(), watchdog: Watchdog::start()? });
        let deployment_controller = AtomicBool::new(options.deployment_controller);
        let mut cluster = Self {
            options,
            layout,
            binaries,
            ports,
            credentials,
            running,
            deployment_controller,
            kubelet: None,
        };
        cluster.launch(Component::Etcd)?;
        cluster.launch(Component::ApiServer)?;
        cluster.ready(Component::ApiServer).await?;
        cluster.apply_manifests().await?;
        cluster.launch(Component::ControllerManager)?;
        if let Some(options) = cluster.options.kubelet.clone() {
            cluster.kubelet = Some(Kubelet::start(cluster.config(User::Kubelet).await?, options).await?);
        }
        cluster.ready(Component::ControllerManager).await?;
        cluster.write_state(true)?;
        Ok(cluster)
    }

    /// The data directory: logs, credentials, audit log.
    pub fn directory(&self) -> &Path {
        &self.layout.directory
    }

    /// URL of the API server.
    pub fn server(&self) -> &str {
        self.credentials.server()
    }

    /// Path of a kubeconfig for this user.
    pub fn kubeconfig(&self, user: User) -> PathBuf {
        self.credentials.kubeconfig(user)
    }

    /// Writes a kubeconfig for any bearer token, for example that of a service
    /// account (`kubectl create token`), and returns its path.
    pub fn kubeconfig_for_token(&self, user: &str, token: &str) -> Result<PathBuf, Error> {
        let file = format!("token-{}.kubeconfig", credentials::random_suffix());
        self.credentials.write_kubeconfig(&file, user, token)
    }

    /// Client configuration for this user.
    pub async fn config(&self, user: User) -> Result<kube::Config, Error> {
        let kubeconfig = Kubeconfig::read_from(self.kubeconfig(user))?;
        Ok(kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?)
    }

    /// A client for this user. It lives as long as the runtime it was made on.
    pub async fn client(&self, user: User) -> Result<kube::Client, Error> {
        Ok(kube::Client::try_from(self.config(user).await?)?)
    }

    /// kubectl as this user. Building it, if need be, blocks for minutes.
    pub fn kubectl(&self, user: User) -> Result<Tool, Error> {
        Tool::kubectl(self.kubeconfig(user))
    }

    /// helm as this user. Building it, if need be, blocks for minutes.
    pub fn helm(&self, user: User) -> Result<Tool, Error> {
        Tool::helm(self.kubeconfig(user))
    }

    /// Creates a namespace `<prefix>-<random>` and returns its name.
    pub async fn create_namespace(&self, prefix: &str) -> Result<String, Error> {
        let name = format!("{prefix}-{}", credentials::random_suffix());
        let namespaces: Api<Namespace> = Api::all(self.client(User::Admin).await?);
        let metadata = ObjectMeta { name: Some(name.clone()), ..ObjectMeta::default() };
        namespaces.create(&PostParams::default(), &Namespace { metadata, ..Namespace::default() }).await?;
        Ok(name)
    }

    /// The audit log: one JSON object per line and finished request.
    pub fn audit_log(&self) -> PathBuf {
        self.layout.audit_log()
    }

    /// The fake kubelet, if there is one.
    pub fn kubelet(&self) -> Option<&Kubelet> {
        self.kubelet.as_ref()
    }

    /// Pid of a component, unless it was killed or stopped.
    pub fn pid(&self, component: Component) -> Option<u32> {
        self.running().processes.get(&component).map(Process::pid)
    }

    /// Ends a component as a crash would (SIGKILL).
    pub fn kill(&self, component: Component) -> Result<(), Error> {
        if let Some(mut process) = self.take(component) {
            process.kill();
        }
        self.write_state(false)
    }

    /// Ends a component in order (SIGTERM).
    pub fn stop(&self, component: Component) -> Result<(), Error> {
        if let Some(mut process) = self.take(component) {
            process.stop(STOP_GRACE);
        }
        self.write_state(false)
    }

    /// Starts a component again, ending it first if it runs, on the same ports
    /// and data, and waits until it is ready.
    pub async fn restart(&self, component: Component) -> Result<(), Error> {
        self.stop(component)?;
        self.launch(component)?;
        self.ready(component).await?;
        self.write_state(true)
    }

    /// Starts Kubernetes' deployment controller in a process of its own, beside the other
    /// controllers.
    ///
    /// # Errors
    /// If it cannot be started, or no port is free.
    pub fn deployment_controller(&self) -> Result<Companion, Error> {
        let port = Ports::free()?.controller_manager;
        let Self { binaries, layout, credentials, .. } = self;
        let Launch { name, program, arguments, log } =
            launches::deployment_controller(binaries, layout, port, credentials);
        Companion::start(name, &program, arguments, log)
    }

    /// Switches the built-in deployment controller on or off. The controller manager restarts for that, and with it all
    /// other controllers.
    pub async fn run_deployment_controller(&self, on: bool) -> Result<(), Error> {
        self.deployment_controller.store(on, Ordering::SeqCst);
        self.restart(Component::ControllerManager).await
    }

    /// Stops a component from running without ending it (SIGSTOP): its
    /// connections stay open and nothing answers.
    pub fn freeze(&self, component: Component) {
        self.signal(component, Signal::STOP);
    }

    /// Lets a frozen component run again.
    pub fn thaw(&self, component: Component) {
        self.signal(component, Signal::CONT);
    }

    /// Waits until a component answers that it is ready.
    pub async fn ready(&self, component: Component) -> Result<(), Error> {
        let (mut config, path) = match component {
            Component::ApiServer | Component::Etcd => (self.config(User::Admin).await?, "/readyz"),
            Component::ControllerManager => {
                let url = format!("https://127.0.0.1:{}", self.ports.controller_manager);
                let mut config = kube::Config::new(url.parse()?);
                config.root_cert_file = Some(self.credentials.ca());
                (config, "/healthz")
            }
        };
        config.default_retry = false;
        let client = kube::Client::try_from(config)?;
        let what = format!("{} becoming ready", component.name());
        let mut ended = None;
        let waited = wait_for(&what, START_DEADLINE, async || {
            if let Err(error) = self.check() {
                ended = Some(error);
                return Ok(());
            }
            let request = http::Request::get(path).body(Vec::new())?;
            client.request_text(request).await?;
            Ok(())
        })
        .await;
        ended.map_or(waited, Err)
    }

    async fn apply_manifests(&self) -> Result<(), Error> {
        if self.options.manifests.is_empty() {
            return Ok(());
        }
        let kubectl = self.kubectl(User::Admin)?;
        for manifest in &self.options.manifests {
            // Server side, for definitions too large for an annotation.
            kubectl.output_of(&["apply", "--server-side", "-f", "-"], manifest).await?;
        }
        let wait =
            ["wait", "customresourcedefinitions", "--all", "--for=condition=Established", "--timeout=30s"];
        // Waiting for nothing would be an error.
        if !kubectl.run(&["get", "customresourcedefinitions", "-o", "name"]).await?.is_empty() {
            // At first a definition has `conditions: null`, which kubectl takes for an error.
            wait_for("the definitions being established", START_DEADLINE, async || {
                kubectl.run(&wait).await?;
                Ok(())
            })
            .await?;
        }
        Ok(())
    }

    fn check(&self) -> Result<(), Error> {
        self.running().processes.values_mut().try_for_each(Process::check)
    }

    fn running(&self) -> MutexGuard<'_, Running> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn launch(&self, component: Component) -> Result<(), Error> {
        let process = Process::start(self.command(component))?;
        let mut running = self.running();
        running.processes.insert(component, process);
        running.guard();
        drop(running);
        self.write_state(false)
    }

    fn command(&self, component: Component) -> Launch {
        let Self { options, layout, binaries, ports, credentials, .. } = self;
        match component {
            Component::Etcd => launches::etcd(binaries, layout, *ports, options),
            Component::ApiServer => launches::apiserver(binaries, layout, *ports, credentials, options),
            Component::ControllerManager => {
                let deployments = self.deployment_controller.load(Ordering::SeqCst);
                launches::controller_manager(binaries, layout, *ports, credentials, deployments)
            }
        }
    }

    fn take(&self, component: Component) -> Option<Process> {
        self.running().processes.remove(&component)
    }

    fn signal(&self, component: Component, signal: Signal) {
        if let Some(process) = self.running().processes.get_mut(&component) {
            process.signal(signal);
        }
    }

    fn write_state(&self, ready: bool) -> Result<(), Error> {
        let mut running = self.running();
        running.guard();
        let processes =
            running.processes.iter().map(|(component, process)| (component.name().to_owned(), process.pid()));
        let state = State {
            directory: self.directory().to_owned(),
            owner: std::process::id(),
            processes: processes.collect(),
            server: self.server().to_owned(),
            kubeconfig: self.kubeconfig(User::Admin),
            audit_log: self.audit_log(),
            ready,
        };
        state.write()
    }
}

impl Running {
    fn guard(&mut self) {
        let pids: Vec<u32> = self.processes.values().map(Process::pid).collect();
        self.watchdog.guard(&pids);
    }

    /// The API server needs etcd until its end; the others end side by side.
    fn stop(&mut self) {
        for component in [Component::ControllerManager, Component::ApiServer] {
            if let Some(process) = self.processes.get_mut(&component) {
                process.signal(Signal::TERM);
            }
        }
        for component in Component::ALL {
            if let Some(mut process) = self.processes.remove(&component) {
                process.stop(STOP_GRACE);
            }
        }
        self.guard();
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        drop(self.kubelet.take());
        self.running().stop();
        State::remove(self.directory());
        // Logs and audit log stay for a person who wonders why a test failed.
        let _ = fs::remove_dir_all(self.layout.etcd());
    }
}

/// An existing data directory as an absolute path, without what an earlier cluster left there. Removes only the
/// cluster's own names: the directory may be anything the user has chosen.
fn fresh_directory(directory: &Path) -> Result<Layout, Error> {
    fs::create_dir_all(directory).map_err(Error::io("creating", directory))?;
    let directory = directory.canonicalize().map_err(Error::io("finding", directory))?;
    state::take_over(&directory)?;
    let layout = Layout { directory };
    for old in [layout.etcd(), layout.credentials()] {
        if old.exists() {
            fs::remove_dir_all(&old).map_err(Error::io("removing", &old))?;
        }
    }
    let logs = Component::ALL.map(|component| layout.log(component.name()));
    for old in logs.into_iter().chain([layout.audit_log()]) {
        if old.exists() {
            fs::remove_file(&old).map_err(Error::io("removing", &old))?;
        }
    }
    Ok(layout)
}
