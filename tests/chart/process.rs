//! What a container of the operator's image runs: the program, with the arguments and the environment
//! of the pod, and nothing else.
//!
//! With `CHART_BINARY`, the path of a static build, that is the program, and each container has a root
//! directory of its own with nothing in it but the program and its token.

use std::env;
use std::fs::{self, File};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use cluster::{Signal, send_signal};

const POLL: Duration = Duration::from_millis(20);
/// Kills the process with the given pid once its input closes, that is when the test is gone.
const WATCHDOG: &str = r#"read -r line; kill -9 "$1" 2>/dev/null"#;

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
pub(crate) struct Process {
    child: Child,
    watchdog: Child,
    /// How it ended, if it did by itself.
    code: Option<i32>,
}

impl Process {
    pub(crate) fn start(
        root: &Root,
        arguments: &[String],
        environment: &[(String, String)],
        log: &Path,
    ) -> Self {
        let log = File::options().create(true).append(true).open(log).unwrap();
        let child = root
            .command()
            .args(arguments)
            .env_clear()
            .envs(environment.iter().cloned())
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .process_group(0)
            .spawn()
            .unwrap();
        let watchdog = Command::new("sh")
            .args(["-c", WATCHDOG, "sh", &child.id().to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .unwrap();
        Self { child, watchdog, code: None }
    }

    /// The exit code, if it ended by itself; -1 for a signal.
    pub(crate) fn ended(&mut self) -> Option<i32> {
        if self.code.is_none()
            && let Ok(Some(status)) = self.child.try_wait()
        {
            self.code = Some(status.code().unwrap_or(-1));
        }
        self.code
    }

    /// SIGTERM, and SIGKILL after the grace period; whether the first was enough.
    pub(crate) fn stop(&mut self, grace: Duration) -> bool {
        let _ = self.watchdog.kill();
        let _ = self.watchdog.wait();
        let started = Instant::now();
        if self.ended().is_none() {
            // Nobody has waited for it yet, so the pid is still its own.
            send_signal(self.child.id(), Signal::TERM);
        }
        while self.ended().is_none() && started.elapsed() < grace {
            thread::sleep(POLL);
        }
        let in_time = self.ended().is_some();
        let _ = self.child.kill();
        let _ = self.child.wait();
        in_time
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.stop(Duration::ZERO);
    }
}
