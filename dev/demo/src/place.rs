//! Where the demo keeps its files, and how a later process finds what runs there.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use cluster::State;
use rustix::process::{Pid, Signal, kill_process};

use crate::failure::Failure;

const DOWN_DEADLINE: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(50);

/// The directory of one demo.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    directory: PathBuf,
}

impl Place {
    /// This directory, or `demo` beside the build profile of this program:
    /// `target/demo`.
    pub(crate) fn new(directory: Option<PathBuf>) -> Result<Self, Failure> {
        let directory = match directory {
            Some(directory) => directory,
            None => this_program()?.ancestors().nth(2).unwrap_or(Path::new("target")).join("demo"),
        };
        fs::create_dir_all(&directory).map_err(Failure::io("creating", &directory))?;
        let directory = directory.canonicalize().map_err(Failure::io("finding", &directory))?;
        Ok(Self { directory })
    }

    /// Data directory of the cluster.
    pub(crate) fn cluster(&self) -> PathBuf {
        self.directory.join("cluster")
    }

    /// Log of the operator.
    pub(crate) fn operator_log(&self) -> PathBuf {
        self.directory.join("operator.log")
    }

    /// Log of the process that holds cluster and operator.
    pub(crate) fn stage_log(&self) -> PathBuf {
        self.directory.join("stage.log")
    }

    /// Pid and program of the operator, for [`Place::down`].
    pub(crate) fn operator_pid(&self) -> PathBuf {
        self.directory.join("operator.pid")
    }

    /// State of the cluster that runs here, if one does.
    pub(crate) fn running(&self) -> Option<State> {
        State::read(&self.cluster()).filter(|state| state.owner_is_alive() && !state.alive().is_empty())
    }

    /// Stops what an earlier demo left running; returns whether there was anything.
    pub(crate) fn down(&self) -> bool {
        let state = State::read(&self.cluster());
        if let Some(state) = &state {
            state.ask_owner_to_stop();
            let start = Instant::now();
            while start.elapsed() < DOWN_DEADLINE && self.running().is_some() {
                thread::sleep(POLL);
            }
            state.kill_leftovers();
        }
        self.kill_stray_operator();
        state.is_some()
    }

    /// An operator outlives its stage only if that was killed. The kubeconfig
    /// on its command line tells it from whatever else has the pid by now.
    pub(crate) fn kill_stray_operator(&self) {
        let Ok(text) = fs::read_to_string(self.operator_pid()) else { return };
        let _ = fs::remove_file(self.operator_pid());
        let Ok(pid) = text.trim().parse::<i32>() else { return };
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let is_ours = String::from_utf8_lossy(&line).contains(&self.cluster().display().to_string());
        if let Some(pid) = Pid::from_raw(pid).filter(|_| is_ours) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

/// Path of this program.
pub(crate) fn this_program() -> Result<PathBuf, Failure> {
    std::env::current_exe().map_err(Failure::io("finding", Path::new("this program")))
}
