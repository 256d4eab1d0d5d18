//! The processes behind the story: one that owns the cluster, and the operator where it is not part of
//! that. Each has a process group of its own, out of reach of this terminal's Ctrl-C. They end with the
//! demo, however it ends, unless it leaves them.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cluster::{Companion, NotYet, State, wait_for};
use kube::config::{KubeConfigOptions, Kubeconfig};

use crate::failure::Failure;
use crate::ground::Ground;
use crate::place::{Place, this_program};

/// For a real API server on a busy machine.
pub(crate) const START_DEADLINE: Duration = Duration::from_secs(180);
/// Until a pod is ready: slow enough to watch. Until a deleted one is gone: long enough to see it leave.
const DELAYS: [&str; 2] = ["--ready-after-ms=1200", "--terminate-after-ms=500"];

/// What runs.
#[derive(Debug)]
pub(crate) struct Stage {
    place: Place,
    ground: Ground,
    /// The program `rollwright`.
    program: PathBuf,
    /// The operator ends before the cluster.
    operator: Option<Companion>,
    cluster: Companion,
    /// Where the cluster is, once it is up.
    state: Option<State>,
}

impl Stage {
    /// Starts the process that owns the cluster.
    ///
    /// # Errors
    /// If it cannot be started.
    pub(crate) fn start(place: &Place, program: PathBuf, ground: Ground) -> Result<Self, Failure> {
        let directory = place.cluster();
        fs::create_dir_all(&directory).map_err(Failure::io("creating", &directory))?;
        for old in [place.kubeconfig(), place.operator_log(), place.cluster_log()] {
            let _ = fs::remove_file(old);
        }
        let flag = |name: &str, path: &Path| format!("--{name}={}", path.display());
        let (name, owner, log) = match ground {
            Ground::Memory => ("the sandbox", program.clone(), place.operator_log()),
            Ground::Real => {
                ("the cluster", this_program()?.with_file_name("rollwright-cluster"), place.cluster_log())
            }
        };
        let mut arguments = match ground {
            Ground::Memory => vec![
                "sandbox".to_owned(),
                flag("kubeconfig-out", &place.kubeconfig()),
                flag("audit-log", &place.audit_log()),
            ],
            Ground::Real => vec!["run".to_owned(), flag("dir", &directory)],
        };
        arguments.extend(DELAYS.map(str::to_owned));
        let cluster = Companion::start(name, &owner, arguments, log)?;
        Ok(Self { place: place.clone(), ground, program, operator: None, cluster, state: None })
    }

    /// Waits until the cluster answers, and returns a client and where it is.
    pub(crate) fn answer(&self) -> impl Future<Output = Result<(kube::Client, State), Failure>> + use<> {
        let (place, ground, owner) = (self.place.clone(), self.ground, self.cluster.pid());
        async move {
            let answer = wait_for("the cluster answering", START_DEADLINE, async || {
                let (kubeconfig, audit_log) = match ground {
                    Ground::Memory => (place.kubeconfig(), place.audit_log()),
                    Ground::Real => {
                        let state = State::read(&place.cluster());
                        let state = state.filter(|state| state.ready && state.owner == owner);
                        let state = state.ok_or_else(|| NotYet("it is coming up".to_owned()))?;
                        (state.kubeconfig, state.audit_log)
                    }
                };
                let read = Kubeconfig::read_from(&kubeconfig)?;
                let config =
                    kube::Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await?;
                let server = config.cluster_url.to_string().trim_end_matches('/').to_owned();
                let client = kube::Client::try_from(config)?;
                client.apiserver_version().await?;
                let processes = [("cluster".to_owned(), owner)].into();
                let (directory, owner) = (place.directory().to_owned(), std::process::id());
                Ok((
                    client,
                    State { directory, owner, processes, server, kubeconfig, audit_log, ready: true },
                ))
            });
            Ok(answer.await?)
        }
    }

    /// Takes note of where the cluster is, also for [`Place::down`].
    ///
    /// # Errors
    /// If that cannot be written.
    pub(crate) fn record(&mut self, state: State) -> Result<(), Failure> {
        state.write()?;
        self.state = Some(state);
        Ok(())
    }

    /// URL of the API server; empty until it is up.
    pub(crate) fn server(&self) -> &str {
        self.state.as_ref().map_or("", |state| &state.server)
    }

    /// Starts the operator beside a real API server, and returns its pid.
    ///
    /// # Errors
    /// If it cannot be started, or there is no cluster yet.
    pub(crate) fn start_operator(&mut self) -> Result<u32, Failure> {
        let mut state =
            self.state.clone().ok_or_else(|| Failure::Broken("the cluster is not up".to_owned()))?;
        let kubeconfig = format!("--kubeconfig={}", state.kubeconfig.display());
        let arguments = ["run", &kubeconfig, "--api=rollwright.dev/v1", "--bind-address=0"];
        let arguments = arguments.map(str::to_owned).to_vec();
        let operator = Companion::start("the operator", &self.program, arguments, self.place.operator_log())?;
        let pid = operator.pid();
        self.operator = Some(operator);
        state.processes.insert("operator".to_owned(), pid);
        self.record(state)?;
        Ok(pid)
    }

    /// An error if a process ended by itself.
    pub(crate) fn check(&mut self) -> Result<(), Failure> {
        let mut all = self.operator.iter_mut().chain([&mut self.cluster]);
        Ok(all.try_for_each(Companion::check)?)
    }

    /// Ends what runs, or leaves it and returns where it is.
    pub(crate) fn end(self, keep: bool) -> Option<State> {
        let Self { place, operator, cluster, state, .. } = self;
        let left = state.filter(|state| keep && !state.alive().is_empty());
        if left.is_some() {
            operator.into_iter().chain([cluster]).for_each(Companion::leave);
        } else {
            drop(operator);
            drop(cluster);
            State::remove(place.directory());
        }
        left
    }
}
