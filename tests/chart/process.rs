//! What a container of the operator's image runs: the program, with the arguments and the environment
//! of the pod, and nothing else.

use std::fs::File;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const POLL: Duration = Duration::from_millis(20);
/// Kills the process that it is told of once its input closes, that is when we are gone.
const WATCHDOG: &str = r#"read -r line; kill -9 "$1" 2>/dev/null"#;

/// A running container. Dropping it ends it.
pub(crate) struct Process {
    child: Child,
    watchdog: Child,
    /// How it ended, if it did by itself.
    code: Option<i32>,
}

impl Process {
    pub(crate) fn start(arguments: &[String], environment: &[(String, String)], log: &Path) -> Self {
        let log = File::options().create(true).append(true).open(log).unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_rollwright"))
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
            let _ = Command::new("kill").arg(self.child.id().to_string()).stderr(Stdio::null()).status();
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
