//! The process behind the scenes: it owns the cluster and the operator, be
//! they one process or several, so that both can outlive the terminal that
//! showed them, or end with it.
//!
//! It takes orders on its standard input and reports on its standard output,
//! a line each. When its input ends, the story has: cluster and operator are
//! stopped, unless it was told to `keep` them until SIGTERM.

use std::fs::{self, File};
use std::io::{BufRead as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use cluster::kubelet::KubeletOptions;
use cluster::{Cluster, Options, User};
use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, Command};
use tokio::signal::unix::{Signal as Listener, SignalKind, signal};
use tokio::sync::mpsc;

use crate::failure::Failure;
use crate::ground::Ground;
use crate::place::Place;
use crate::sandbox::Sandbox;

/// Slow enough to be watched.
const READY_AFTER: Duration = Duration::from_millis(1200);
/// Long enough to see a pod leave.
const TERMINATE_AFTER: Duration = Duration::from_millis(500);
const OPERATOR_GRACE: Duration = Duration::from_secs(5);

/// Order: start the operator, which the sandbox has in it.
pub(crate) const OPERATOR: &str = "operator";
/// Order: keep new pods from becoming ready until further notice.
pub(crate) const HOLD: &str = "hold";
/// Order: let them go on.
pub(crate) const RELEASE: &str = "release";
/// Order: stay when the orders end.
pub(crate) const KEEP: &str = "keep";

/// Runs until the orders end or a signal comes.
pub(crate) async fn run(place: &Place, operator: &Path, ground: Ground) -> Result<(), Failure> {
    let mut signals = Signals::listen()?;
    let mut orders = orders();
    let (set, child) = tokio::select! {
        built = Set::build(place, operator, ground) => built?,
        () = signals.any() => return Ok(()),
        // No order comes before the cluster is up: this is the end of them.
        _ = orders.recv() => return Ok(()),
    };
    report(&format!("cluster {}", set.server()));
    let mut stage = Stage { place, set, program: operator.to_owned(), operator: None, keep: false };
    if let Some(child) = child {
        stage.accompany(child)?;
    }
    loop {
        tokio::select! {
            order = orders.recv(), if !orders.is_closed() || !stage.keep => match order.as_deref() {
                Some(order) => stage.obey(order).await?,
                None if stage.keep => {}
                None => break,
            },
            end = ended(&mut stage.operator) => {
                stage.operator = None;
                report(&format!("ended {end}"));
            }
            () = signals.any() => break,
        }
    }
    stage.stop_operator().await;
    Ok(())
}

/// The cluster.
enum Set {
    Memory(Box<Sandbox>),
    Real(Box<Cluster>),
}

impl Set {
    /// Starts the cluster, and the operator where it is in it.
    async fn build(place: &Place, operator: &Path, ground: Ground) -> Result<(Self, Option<Child>), Failure> {
        match ground {
            Ground::Memory => {
                let (sandbox, child) = Sandbox::start(place, operator, READY_AFTER, TERMINATE_AFTER).await?;
                Ok((Self::Memory(Box::new(sandbox)), Some(child)))
            }
            Ground::Real => {
                let options = Options {
                    directory: place.cluster(),
                    kubelet: Some(KubeletOptions {
                        ready_after: READY_AFTER,
                        terminate_after: TERMINATE_AFTER,
                        ..KubeletOptions::default()
                    }),
                    ..Options::named("demo")
                };
                Ok((Self::Real(Box::new(Cluster::start(options).await?)), None))
            }
        }
    }

    fn server(&self) -> &str {
        match self {
            Self::Memory(sandbox) => sandbox.server(),
            Self::Real(cluster) => cluster.server(),
        }
    }

    /// Keeps pods that are new from becoming ready, or no longer.
    async fn hold(&self, is_held: bool) -> Result<(), Failure> {
        match self {
            Self::Memory(sandbox) => sandbox.close_node(is_held).await,
            Self::Real(cluster) => {
                if let Some(kubelet) = cluster.kubelet() {
                    kubelet.configure(|options| options.paused = is_held);
                }
                Ok(())
            }
        }
    }
}

struct Stage<'a> {
    place: &'a Place,
    set: Set,
    program: PathBuf,
    operator: Option<Child>,
    keep: bool,
}

impl Stage<'_> {
    async fn obey(&mut self, order: &str) -> Result<(), Failure> {
        match (order, &self.set) {
            (OPERATOR, Set::Real(cluster)) => {
                let child = self.start_operator(cluster)?;
                self.accompany(child)?;
            }
            (HOLD, set) => set.hold(true).await?,
            (RELEASE, set) => set.hold(false).await?,
            (KEEP, _) => {
                self.keep = true;
                report("kept");
            }
            _ => report("unknown order"),
        }
        Ok(())
    }

    /// Takes the operator, or the sandbox with it, into its care.
    fn accompany(&mut self, child: Child) -> Result<(), Failure> {
        let pid = child.id().unwrap_or_default();
        self.operator = Some(child);
        let path = self.place.operator_pid();
        fs::write(&path, pid.to_string()).map_err(Failure::io("writing", &path))?;
        report(&format!("operator {pid}"));
        Ok(())
    }

    fn start_operator(&self, cluster: &Cluster) -> Result<Child, Failure> {
        let log = self.place.operator_log();
        let file = File::create(&log).map_err(Failure::io("creating", &log))?;
        let file_too = file.try_clone().map_err(Failure::io("creating", &log))?;
        Command::new(&self.program)
            .arg("run")
            .arg("--kubeconfig")
            .arg(cluster.kubeconfig(User::Operator))
            .args(["--api", "rollwright.dev/v1", "--bind-address=0"])
            .env("NO_COLOR", "1")
            .stdin(Stdio::null())
            .stdout(file)
            .stderr(file_too)
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(Failure::io("starting", &self.program))
    }

    async fn stop_operator(&mut self) {
        if let Some(mut child) = self.operator.take() {
            if let Some(pid) = child.id().and_then(|pid| i32::try_from(pid).ok()).and_then(Pid::from_raw) {
                let _ = kill_process(pid, Signal::TERM);
            }
            if tokio::time::timeout(OPERATOR_GRACE, child.wait()).await.is_err() {
                let _ = child.kill().await;
            }
        }
        let _ = fs::remove_file(self.place.operator_pid());
    }
}

/// Waits until the operator ends, for ever if there is none.
async fn ended(operator: &mut Option<Child>) -> String {
    match operator {
        Some(child) => child.wait().await.map_or_else(|error| error.to_string(), |status| status.to_string()),
        None => std::future::pending().await,
    }
}

/// The lines of standard input. Read by a thread that nobody waits for: the
/// runtime's own would keep the process from ending.
fn orders() -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel(1);
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

/// Nobody may be listening any more.
fn report(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// The signals that end a process.
#[derive(Debug)]
pub(crate) struct Signals {
    terminate: Listener,
    interrupt: Listener,
    hangup: Listener,
}

impl Signals {
    /// Takes the signals over from their default effect.
    pub(crate) fn listen() -> Result<Self, Failure> {
        let listen = |kind| signal(kind).map_err(Failure::io("listening for", Path::new("signals")));
        Ok(Self {
            terminate: listen(SignalKind::terminate())?,
            interrupt: listen(SignalKind::interrupt())?,
            hangup: listen(SignalKind::hangup())?,
        })
    }

    /// Waits for any of them.
    pub(crate) async fn any(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
            _ = self.hangup.recv() => {}
        }
    }
}
