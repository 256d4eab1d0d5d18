//! The state file: which processes run a cluster, so that a later process can
//! find, use or end exactly those.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use rustix::process::Signal;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::process;

const FILE: &str = "cluster.json";

/// What is known about a cluster from the outside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// Data directory, as an absolute path without symbolic links.
    pub directory: PathBuf,
    /// Pid of the process that started the components and ends them.
    pub owner: u32,
    /// Pids of the components by name.
    pub processes: BTreeMap<String, u32>,
    /// URL of the API server.
    pub server: String,
    /// Kubeconfig of the administrator.
    pub kubeconfig: PathBuf,
    /// Audit log of the API server.
    pub audit_log: PathBuf,
    /// Whether everything was up when this was written.
    pub ready: bool,
}

impl State {
    /// Reads the state file of a data directory, if there is one.
    pub fn read(directory: &Path) -> Option<Self> {
        let text = fs::read(directory.join(FILE)).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// Writes the state file.
    pub(crate) fn write(&self) -> Result<(), Error> {
        let path = self.directory.join(FILE);
        let next = self.directory.join(format!("{FILE}.next"));
        fs::write(&next, serde_json::to_vec_pretty(self)?).map_err(Error::io("writing", &next))?;
        fs::rename(&next, &path).map_err(Error::io("writing", &path))
    }

    /// Removes the state file: the cluster is no more.
    pub(crate) fn remove(directory: &Path) {
        let _ = fs::remove_file(directory.join(FILE));
    }

    /// Pids of the components that still belong to this cluster: alive, and started with the data directory on their
    /// command line.
    pub fn alive(&self) -> Vec<u32> {
        // The slash keeps `demo` apart from `demo-2`.
        let text = format!("{}/", self.directory.display());
        self.processes.values().copied().filter(|pid| process::command_line_contains(*pid, &text)).collect()
    }

    /// Whether the process that started the components still runs.
    pub fn owner_is_alive(&self) -> bool {
        process::exists(self.owner)
    }

    /// Asks the supervisor that `rollwright-cluster up` left in the background to end its cluster. Any other owner,
    /// such as a test, is left alone.
    pub fn ask_owner_to_stop(&self) {
        let text = format!("--dir={}", self.directory.display());
        if process::command_line_contains(self.owner, &text) {
            process::send_signal(self.owner, Signal::TERM);
        }
    }

    /// Ends components with an owner that is gone, by pid.
    pub fn kill_leftovers(&self) {
        for pid in self.alive() {
            process::send_signal(pid, Signal::KILL);
        }
    }
}

/// Makes a directory ready for a new cluster: ends what a dead owner left
/// behind, refuses to disturb a living one.
pub(crate) fn take_over(directory: &Path) -> Result<(), Error> {
    let Some(state) = State::read(directory) else { return Ok(()) };
    if state.owner_is_alive() && !state.alive().is_empty() {
        return Err(Error::InUse { owner: state.owner, directory: directory.to_owned() });
    }
    state.kill_leftovers();
    State::remove(directory);
    Ok(())
}
