//! A controller beside the cluster's own, in a process of its own, so that its processor time and memory are apart from
//! those of all the others.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::error::Error;
use crate::process::Process;
use crate::watchdog::Watchdog;

const STOP_GRACE: Duration = Duration::from_secs(5);

/// A program that runs until this is dropped. If the owner is killed, a watchdog ends it.
#[derive(Debug)]
pub struct Companion {
    process: Process,
    watchdog: Watchdog,
}

impl Companion {
    /// Starts a program. What it writes is appended to `log`.
    ///
    /// # Errors
    /// If the program cannot be started or the log not be written.
    pub fn start(
        name: &'static str,
        program: &Path,
        arguments: Vec<String>,
        log: PathBuf,
    ) -> Result<Self, Error> {
        Self::spawn(name, Command::new(program).args(arguments), log)
    }

    /// Starts a command, and sets its streams.
    ///
    /// # Errors
    /// As [`Companion::start`].
    pub fn spawn(name: &'static str, command: &mut Command, log: PathBuf) -> Result<Self, Error> {
        let mut watchdog = Watchdog::start()?;
        let process = Process::spawn(name, command, log)?;
        watchdog.guard(&[process.pid()]);
        Ok(Self { process, watchdog })
    }

    /// Pid of the process.
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Whether it has not ended by itself.
    pub fn is_running(&mut self) -> bool {
        self.process.is_running()
    }

    /// The exit code, if it has ended; -1 for a signal.
    pub fn ended(&mut self) -> Option<i32> {
        self.process.ended()
    }

    /// Asks it to end (SIGTERM), and kills it after `grace`. Returns whether it ended in time.
    ///
    /// The process ends before the watchdog is let go, which would kill whatever has its pid by then.
    pub fn stop(&mut self, grace: Duration) -> bool {
        let in_time = self.process.stop(grace);
        self.watchdog.guard(&[]);
        in_time
    }

    /// Ends it as a crash would (SIGKILL).
    pub fn kill(&mut self) {
        self.process.kill();
        self.watchdog.guard(&[]);
    }

    /// An error with the end of its log, if it ended by itself.
    ///
    /// # Errors
    /// [`Error::Exited`].
    pub fn check(&mut self) -> Result<(), Error> {
        self.process.check()
    }
}

impl Drop for Companion {
    fn drop(&mut self) {
        self.stop(STOP_GRACE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::exists;

    #[test]
    fn a_companion_ends_with_its_owner() {
        let log = std::env::temp_dir().join(format!("companion-{}.log", std::process::id()));
        let companion =
            Companion::start("sleep", Path::new("sleep"), vec!["60".to_owned()], log.clone()).unwrap();
        let pid = companion.pid();
        assert!(exists(pid));
        drop(companion);
        assert!(!exists(pid));
        std::fs::remove_file(log).unwrap();
    }
}
