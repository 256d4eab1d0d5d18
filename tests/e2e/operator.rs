//! The operator as a process of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use cluster::{Cluster, Companion, Error, User};

use crate::failure::{Failure, Outcome};
use crate::flavour::Flavour;

/// What does not end by itself within this time is killed.
const STOP_GRACE: Duration = Duration::from_secs(15);

/// An operator that runs, or can be started again. Dropping it ends the process.
#[derive(Debug)]
pub(crate) struct Operator {
    program: PathBuf,
    /// `run` or `shadow`.
    command: &'static str,
    kubeconfig: PathBuf,
    log: PathBuf,
    arguments: Vec<String>,
    running: Mutex<Option<Companion>>,
}

impl Operator {
    /// Starts one for this API, with more arguments if need be.
    pub(crate) fn start(cluster: &Cluster, flavour: Flavour, more: &[&str]) -> Result<Self, Error> {
        Self::start_program(Path::new(env!("CARGO_BIN_EXE_rollwright")), cluster, flavour, more)
    }

    /// Starts another build of the operator.
    pub(crate) fn start_program(
        program: &Path,
        cluster: &Cluster,
        flavour: Flavour,
        more: &[&str],
    ) -> Result<Self, Error> {
        let api = format!("--api={}", flavour.api_version());
        let arguments = [api.as_str(), "--leader-elect=false", "--bind-address=0", "--jobs"];
        let log = cluster.directory().join(format!("operator-{}.log", flavour.name()));
        let arguments = arguments.iter().chain(more).map(|&argument| argument.to_owned()).collect();
        Self::start_with(program, &cluster.kubeconfig(User::Operator), &log, arguments)
    }

    /// Starts one with exactly these arguments after `run` and the kubeconfig.
    pub(crate) fn start_with(
        program: &Path,
        kubeconfig: &Path,
        log: &Path,
        arguments: Vec<String>,
    ) -> Result<Self, Error> {
        Self::start_command("run", program, kubeconfig, log, arguments)
    }

    /// The same for any command of the program.
    pub(crate) fn start_command(
        command: &'static str,
        program: &Path,
        kubeconfig: &Path,
        log: &Path,
        arguments: Vec<String>,
    ) -> Result<Self, Error> {
        let (program, kubeconfig) = (program.to_owned(), kubeconfig.to_owned());
        let running = Mutex::new(None);
        let operator = Self { program, command, kubeconfig, log: log.to_owned(), arguments, running };
        operator.start_again()?;
        Ok(operator)
    }

    /// Starts it again with the same arguments, after ending it if it runs.
    pub(crate) fn start_again(&self) -> Result<(), Error> {
        self.stop();
        let mut command = Command::new(&self.program);
        command.arg(self.command).arg("--kubeconfig").arg(&self.kubeconfig).args(&self.arguments);
        let companion = Companion::spawn("rollwright", command.env_remove("KUBECONFIG"), self.log.clone())?;
        *self.running() = Some(companion);
        Ok(())
    }

    /// Ends it as a crash would (SIGKILL).
    pub(crate) fn kill(&self) {
        if let Some(mut running) = self.running().take() {
            running.kill();
        }
    }

    /// Asks it to end (SIGTERM), kills it if it does not, and returns how long it took.
    pub(crate) fn stop(&self) -> Duration {
        let started = Instant::now();
        if let Some(mut running) = self.running().take() {
            running.stop(STOP_GRACE);
        }
        started.elapsed()
    }

    /// A line of its memory in KiB: `VmRSS` is what it holds, `VmHWM` the most that it has held.
    pub(crate) fn memory(&self, line: &str) -> Outcome<u64> {
        let pid = self.pid().ok_or_else(|| Failure::new("the operator does not run"))?;
        let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
        let value = status.lines().find_map(|known| known.strip_prefix(line)?.strip_prefix(':'));
        let kib = value.and_then(|value| value.split_whitespace().next()?.parse().ok());
        kib.ok_or_else(|| Failure::new(format!("no {line}")))
    }

    pub(crate) fn pid(&self) -> Option<u32> {
        self.running().as_ref().map(Companion::pid)
    }

    /// Whether the process has not ended by itself.
    pub(crate) fn is_running(&self) -> bool {
        self.running().as_mut().is_some_and(Companion::is_running)
    }

    pub(crate) fn log(&self) -> &Path {
        &self.log
    }

    /// The last lines of the log that contain `text`, or of all if none does.
    pub(crate) fn tail(&self, text: &str, count: usize) -> String {
        let log = fs::read(&self.log).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let mut lines: Vec<&str> = log.lines().filter(|line| line.contains(text)).collect();
        if lines.is_empty() {
            lines = log.lines().collect();
        }
        lines.split_off(lines.len().saturating_sub(count)).join("\n")
    }

    fn running(&self) -> MutexGuard<'_, Option<Companion>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        self.stop();
    }
}
