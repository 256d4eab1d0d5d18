//! Where the demo keeps its files, and how a later process finds what runs there.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use cluster::{Signal, State, send_signal};

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

    /// The directory itself, as an absolute path.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Data directory of the cluster.
    pub(crate) fn cluster(&self) -> PathBuf {
        self.directory.join("cluster")
    }

    /// Kubeconfig of the sandbox.
    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.cluster().join("kubeconfig")
    }

    /// Audit log of the sandbox.
    pub(crate) fn audit_log(&self) -> PathBuf {
        self.cluster().join("audit.log")
    }

    /// Log of the operator, and of the sandbox around it.
    pub(crate) fn operator_log(&self) -> PathBuf {
        self.directory.join("operator.log")
    }

    /// Log of the process that owns a real control plane.
    pub(crate) fn cluster_log(&self) -> PathBuf {
        self.directory.join("cluster.log")
    }

    /// What runs here, if anything does.
    pub(crate) fn running(&self) -> Option<State> {
        State::read(&self.directory).filter(|state| !state.alive().is_empty())
    }

    /// Stops what an earlier demo left running; returns whether there was anything.
    pub(crate) fn down(&self) -> bool {
        let Some(state) = self.running() else { return false };
        state.alive().into_iter().for_each(|pid| send_signal(pid, Signal::TERM));
        let start = Instant::now();
        while start.elapsed() < DOWN_DEADLINE && !state.alive().is_empty() {
            thread::sleep(POLL);
        }
        state.kill_leftovers();
        State::remove(&self.directory);
        true
    }
}

/// Path of this program.
pub(crate) fn this_program() -> Result<PathBuf, Failure> {
    std::env::current_exe().map_err(Failure::io("finding", Path::new("this program")))
}
