//! What a container of the operator's image runs: the program, with the arguments and the environment
//! of the pod, and nothing else.
//!
//! With `CHART_BINARY`, the path of a static build, that is the program, and each container has a root
//! directory of its own with nothing in it but the program and its token.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use std::{env, fs};

use cluster::Companion;

/// What a file system layer of the image may weigh.
const SIZE_MAX: u64 = 25_000_000;

/// The root directory of a container.
pub(crate) enum Root {
    /// The release of this machine.
    Ours,
    /// One in which there is only what was put there.
    Empty(PathBuf),
}

impl Root {
    /// One for the container of this pod.
    pub(crate) fn new(directory: &Path, pod: &str) -> Self {
        let Some(binary) = env::var_os("CHART_BINARY") else { return Self::Ours };
        let size = fs::metadata(&binary).unwrap().len();
        assert!(size < SIZE_MAX, "{} is {size} bytes", binary.display());
        let root = directory.join("roots").join(pod);
        fs::create_dir_all(&root).unwrap();
        fs::copy(&binary, root.join("rollwright")).unwrap();
        Self::Empty(root)
    }

    /// Puts a kubeconfig there that needs no other file; the path of it inside.
    pub(crate) fn put_kubeconfig(&self, flattened: &str, here: &Path) -> PathBuf {
        match self {
            Self::Ours => here.to_owned(),
            Self::Empty(root) => {
                fs::write(root.join("kubeconfig"), flattened).unwrap();
                PathBuf::from("/kubeconfig")
            }
        }
    }

    fn command(&self) -> Command {
        match self {
            Self::Ours => Command::new(env!("CARGO_BIN_EXE_rollwright")),
            Self::Empty(root) => {
                let mut command = Command::new("/usr/bin/unshare");
                command.args(["--user", "--map-root-user", "--wd=/", "--root"]).arg(root).arg("/rollwright");
                command
            }
        }
    }
}

/// A running container. Dropping it ends it.
pub(crate) struct Process(Companion);

impl Process {
    pub(crate) fn start(
        root: &Root,
        arguments: &[String],
        environment: &[(String, String)],
        log: &Path,
    ) -> Self {
        let mut command = root.command();
        command.args(arguments).env_clear().envs(environment.iter().cloned());
        Self(Companion::spawn("rollwright", &mut command, log.to_owned()).unwrap())
    }

    /// The exit code, if it ended by itself; -1 for a signal.
    pub(crate) fn ended(&mut self) -> Option<i32> {
        self.0.ended()
    }

    /// SIGTERM, and SIGKILL after the grace period; whether the first was enough.
    pub(crate) fn stop(&mut self, grace: Duration) -> bool {
        self.0.stop(grace)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.stop(Duration::ZERO);
    }
}
