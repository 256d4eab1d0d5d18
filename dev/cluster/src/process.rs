//! Child processes of a control plane: started, stopped and checked by pid.

use std::fs::{self, File};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};

use crate::error::Error;

const POLL: Duration = Duration::from_millis(20);
const TAIL_LINES: usize = 15;

/// How to start one component.
#[derive(Clone, Debug)]
pub(crate) struct Launch {
    pub(crate) name: &'static str,
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<String>,
    pub(crate) log: PathBuf,
}

/// A running component.
#[derive(Debug)]
pub(crate) struct Process {
    name: &'static str,
    log: PathBuf,
    child: Child,
}

impl Process {
    pub(crate) fn start(launch: Launch) -> Result<Self, Error> {
        let Launch { name, program, arguments, log } = launch;
        Self::spawn(name, Command::new(program).args(arguments), log)
    }

    /// Starts a command in its own process group, so that Ctrl-C in a terminal reaches its owner only, who then stops
    /// all in order. What it writes is appended to `log`.
    pub(crate) fn spawn(name: &'static str, command: &mut Command, log: PathBuf) -> Result<Self, Error> {
        let open =
            || File::options().create(true).append(true).open(&log).map_err(Error::io("opening", &log));
        command.stdin(Stdio::null()).stdout(open()?).stderr(open()?).process_group(0);
        let child = command.spawn().map_err(Error::io("starting", Path::new(command.get_program())))?;
        Ok(Self { name, log, child })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// An error with the end of the log, if the process ended by itself.
    pub(crate) fn check(&mut self) -> Result<(), Error> {
        let how = match self.child.try_wait() {
            Ok(None) => return Ok(()),
            Ok(Some(status)) => status.to_string(),
            Err(error) => error.to_string(),
        };
        let log = self.log.clone();
        Err(Error::Exited { component: self.name, how, tail: tail(&log), log })
    }

    /// Sends a signal to a process that has not been waited for. So its pid cannot belong to anything else.
    pub(crate) fn signal(&mut self, signal: Signal) {
        if self.is_running() {
            send_signal(self.pid(), signal);
        }
    }

    /// The exit code, if it has ended; -1 for a signal.
    pub(crate) fn ended(&mut self) -> Option<i32> {
        let status = self.child.try_wait().ok()??;
        Some(status.code().unwrap_or(-1))
    }

    /// Asks the process to end, and kills it after `grace`. Returns whether it ended in time.
    pub(crate) fn stop(&mut self, grace: Duration) -> bool {
        self.signal(Signal::TERM);
        // A process stopped by SIGSTOP would never see the request.
        self.signal(Signal::CONT);
        let deadline = Instant::now() + grace;
        while self.is_running() && Instant::now() < deadline {
            thread::sleep(POLL);
        }
        let in_time = !self.is_running();
        self.kill();
        in_time
    }

    /// Ends the process as a crash would.
    pub(crate) fn kill(&mut self) {
        self.signal(Signal::KILL);
        let _ = self.child.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Sends a signal to a pid; a process that is gone already is no error.
pub fn send_signal(pid: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        let _ = kill_process(pid, signal);
    }
}

/// Whether a process with this pid exists.
pub(crate) fn exists(pid: u32) -> bool {
    i32::try_from(pid).ok().and_then(Pid::from_raw).is_some_and(|pid| test_kill_process(pid).is_ok())
}

/// Whether the process with this pid was started with `text` in its command
/// line. Guards against pids which the system gave to something else since.
pub(crate) fn command_line_contains(pid: u32, text: &str) -> bool {
    if let Ok(line) = fs::read(format!("/proc/{pid}/cmdline")) {
        return String::from_utf8_lossy(&line).contains(text);
    }
    let output = Command::new("ps").args(["-o", "args=", "-p", &pid.to_string()]).output();
    output.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains(text))
}

fn tail(log: &Path) -> String {
    let text = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().collect();
    // A panic of Go stands before its traces.
    let end = lines.iter().position(|line| line.starts_with("goroutine ")).unwrap_or(lines.len());
    lines.get(end.saturating_sub(TAIL_LINES)..end).unwrap_or_default().join("\n")
}
