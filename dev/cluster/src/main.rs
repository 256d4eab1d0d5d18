//! `rollwright-cluster`: a Kubernetes control plane on this machine, in the
//! background, to try things out.
//!
//! `up` starts a supervisor, which owns the control plane as a test would and ends it on a signal; `down` sends that.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use clap::{Args, Parser, Subcommand};
use cluster::kubelet::{Conventions, KubeletOptions};
use cluster::{Binary, Cluster, Error, Options, State};
use tokio::signal::unix::{SignalKind, signal};

/// The supervisor has its own, shorter deadlines; a build may come first.
const UP_DEADLINE: Duration = Duration::from_secs(1800);
const DOWN_DEADLINE: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(50);

/// A Kubernetes control plane with a fake kubelet, on loopback ports.
#[derive(Parser)]
#[command(name = "rollwright-cluster", version)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Start a cluster and print the line that makes kubectl use it.
    Up(Settings),
    /// Stop what `up` started.
    Down(Place),
    /// Report whether a cluster runs; fails if none does.
    Status(Place),
    /// Print the path of a program, building it first if need be.
    Bin {
        /// Which program.
        #[arg(value_parser = program)]
        program: Binary,
    },
    /// Run a cluster in the foreground until SIGTERM or Ctrl-C, or until COMMAND ends.
    Run {
        #[command(flatten)]
        settings: Settings,
        /// Run this with KUBECONFIG set, and end with it and its exit code.
        #[arg(last = true, value_name = "COMMAND")]
        command: Vec<String>,
    },
}

#[derive(Args, Clone)]
struct Place {
    /// Name of the cluster; clusters of different names run side by side.
    #[arg(long, env = "ROLLWRIGHT_CLUSTER", default_value = "demo")]
    name: String,
    /// Data directory [default: target/cluster/NAME].
    #[arg(long)]
    dir: Option<PathBuf>,
}

impl Place {
    fn directory(&self) -> PathBuf {
        self.dir.clone().unwrap_or_else(|| Options::named(&self.name).directory)
    }

    /// The supervisor must be found by the same path from wherever it is
    /// looked for, so it gets one without symbolic links or dots.
    fn create_directory(&self) -> Result<PathBuf, Error> {
        let directory = self.directory();
        fs::create_dir_all(&directory).map_err(|source| io("creating", &directory, source))?;
        directory.canonicalize().map_err(|source| io("finding", &directory, source))
    }
}

#[derive(Args, Clone)]
struct Settings {
    #[command(flatten)]
    place: Place,
    /// Milliseconds from scheduling a pod to its being ready.
    #[arg(long, default_value_t = 100)]
    ready_after_ms: u64,
    /// Milliseconds from deleting a pod to its being gone.
    #[arg(long, default_value_t = 0)]
    terminate_after_ms: u64,
    /// Run the built-in deployment controller too.
    #[arg(long)]
    deployment_controller: bool,
    /// Manifests to apply before the controllers start, such as definitions of custom resources, which the garbage
    /// collector then knows from the start.
    #[arg(long, value_name = "FILE")]
    apply: Vec<PathBuf>,
}

impl Settings {
    fn options(&self) -> Result<Options, Error> {
        let mut options = Options::named(&self.place.name);
        options.directory = self.place.directory();
        options.deployment_controller = self.deployment_controller;
        let pods = Conventions {
            ready_after: Duration::from_millis(self.ready_after_ms),
            terminate_after: Duration::from_millis(self.terminate_after_ms),
            ..Conventions::default()
        };
        options.kubelet = Some(KubeletOptions { pods, ..KubeletOptions::default() });
        for path in &self.apply {
            options.manifests.push(fs::read_to_string(path).map_err(|source| io("reading", path, source))?);
        }
        Ok(options)
    }

    fn command_line(&self, directory: &Path) -> Vec<String> {
        let mut line = vec![
            "run".to_owned(),
            format!("--name={}", self.place.name),
            format!("--dir={}", directory.display()),
            format!("--ready-after-ms={}", self.ready_after_ms),
            format!("--terminate-after-ms={}", self.terminate_after_ms),
        ];
        line.extend(self.apply.iter().map(|path| format!("--apply={}", path.display())));
        if self.deployment_controller {
            line.push("--deployment-controller".to_owned());
        }
        line
    }
}

/// A program by its file name, so that every one that can be built can be asked for.
fn program(name: &str) -> Result<Binary, String> {
    let names: Vec<&str> = Binary::ALL.iter().map(|binary| binary.name()).collect();
    let found = Binary::ALL.into_iter().find(|binary| binary.name() == name);
    found.ok_or_else(|| format!("must be one of {}", names.join(", ")))
}

#[tokio::main]
async fn main() -> ExitCode {
    tracing_subscriber::fmt()
        .with_env_filter("warn,kube_client=off,cluster=info")
        .with_writer(std::io::stderr)
        .init();
    let done = |()| ExitCode::SUCCESS;
    let result = match Arguments::parse().task {
        Task::Up(settings) => up(&settings).await.map(done),
        Task::Down(place) => down(&place).await.map(done),
        Task::Status(place) => return status(&place),
        Task::Bin { program } => bin(program).map(done),
        Task::Run { settings, command } => run(&settings, &command).await,
    };
    result.unwrap_or_else(|error| cluster::report(&error))
}

async fn up(settings: &Settings) -> Result<(), Error> {
    let directory = settings.place.create_directory()?;
    if let Some(state) = running(&directory) {
        eprintln!("cluster {} runs already", settings.place.name);
        return print_export(&state);
    }
    // Built here, where the user sees that it takes a while and why.
    for binary in [Binary::Etcd, Binary::KubeApiserver, Binary::KubeControllerManager] {
        binary.locate()?;
    }
    let start = Instant::now();
    let log = directory.join("supervisor.log");
    let mut supervisor = supervise(&settings.command_line(&directory), &log)?;
    while start.elapsed() < UP_DEADLINE {
        if let Some(state) = running(&directory).filter(|state| state.owner == supervisor.id()) {
            eprintln!("cluster {} is up after {:.1} s", settings.place.name, start.elapsed().as_secs_f32());
            return print_export(&state);
        }
        if let Ok(Some(status)) = supervisor.try_wait() {
            let (how, tail) = (status.to_string(), fs::read_to_string(&log).unwrap_or_default());
            return Err(Error::Exited { component: "the supervisor", how, log, tail });
        }
        tokio::time::sleep(POLL).await;
    }
    let _ = supervisor.kill();
    let what = format!("cluster {} coming up", settings.place.name);
    Err(Error::Timeout { what, waited: UP_DEADLINE, last: format!("see {}", log.display()) })
}

/// Starts this program again, out of reach of this terminal's signals.
fn supervise(arguments: &[String], log: &Path) -> Result<Child, Error> {
    let open = || File::create(log).map_err(|source| io("creating", log, source));
    let this = std::env::current_exe().map_err(|source| io("finding", Path::new("this program"), source))?;
    Command::new(&this)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(open()?)
        .stderr(open()?)
        .process_group(0)
        .spawn()
        .map_err(|source| io("starting", &this, source))
}

fn running(directory: &Path) -> Option<State> {
    State::read(directory)
        .filter(|state| state.ready && state.owner_is_alive() && state.alive().len() == state.processes.len())
}

fn print_export(state: &State) -> Result<(), Error> {
    writeln!(std::io::stdout(), "export KUBECONFIG={}", state.kubeconfig.display())
        .map_err(|source| io("writing to", Path::new("standard output"), source))
}

async fn run(settings: &Settings, command: &[String]) -> Result<ExitCode, Error> {
    let listen = |kind| signal(kind).map_err(|source| io("listening for", Path::new("signals"), source));
    let mut terminate = listen(SignalKind::terminate())?;
    let mut interrupt = listen(SignalKind::interrupt())?;
    // The terminal `up` was called from may close; the cluster stays.
    let _hangup = listen(SignalKind::hangup())?;
    let options = settings.options()?;
    let cluster = tokio::select! {
        started = Cluster::start(options) => started?,
        _ = terminate.recv() => return Ok(ExitCode::SUCCESS),
        _ = interrupt.recv() => return Ok(ExitCode::SUCCESS),
    };
    let kubeconfig = cluster.kubeconfig(cluster::User::Admin);
    eprintln!(
        "{} is ready. Ctrl-C ends it.\n\n  export KUBECONFIG={}\n",
        cluster.server(),
        kubeconfig.display()
    );
    let result = tokio::select! {
        result = carry_out(command, &kubeconfig) => result,
        _ = terminate.recv() => Ok(ExitCode::SUCCESS),
        _ = interrupt.recv() => Ok(ExitCode::SUCCESS),
    };
    drop(cluster);
    result
}

/// Runs a command to its end, or none without an end; it is killed when this is dropped.
async fn carry_out(command: &[String], kubeconfig: &Path) -> Result<ExitCode, Error> {
    let Some((program, arguments)) = command.split_first() else { return std::future::pending().await };
    let mut command = tokio::process::Command::new(program);
    command.args(arguments).env("KUBECONFIG", kubeconfig).kill_on_drop(true);
    let status = command.status().await.map_err(|source| io("running", Path::new(program), source))?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}

async fn down(place: &Place) -> Result<(), Error> {
    let directory = place.directory();
    let Some(state) = State::read(&directory) else {
        eprintln!("cluster {} does not run", place.name);
        return Ok(());
    };
    state.ask_owner_to_stop();
    let start = Instant::now();
    while start.elapsed() < DOWN_DEADLINE {
        if state.alive().is_empty() && !state.owner_is_alive() {
            break;
        }
        tokio::time::sleep(POLL).await;
    }
    state.kill_leftovers();
    eprintln!("cluster {} is down", place.name);
    Ok(())
}

fn status(place: &Place) -> ExitCode {
    let directory = place.directory();
    let Some(state) = running(&directory) else {
        println!("cluster {}: down", place.name);
        return ExitCode::FAILURE;
    };
    println!("cluster {}: up at {}", place.name, state.server);
    println!("  supervisor {}", state.owner);
    for (name, pid) in &state.processes {
        println!("  {name} {pid}");
    }
    println!("  kubeconfig {}", state.kubeconfig.display());
    println!("  audit log {}", state.audit_log.display());
    ExitCode::SUCCESS
}

fn bin(binary: Binary) -> Result<(), Error> {
    println!("{}", binary.locate()?.display());
    Ok(())
}

fn io(action: &'static str, path: &Path, source: std::io::Error) -> Error {
    Error::Io { action, path: path.to_owned(), source }
}
