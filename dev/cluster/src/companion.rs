//! A controller beside the cluster's own, in a process of its own, so that its processor time and memory are apart from
//! those of all the others.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::Error;
use crate::process::{Launch, Process};
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
        let mut watchdog = Watchdog::start()?;
        let process = Process::start(Launch { name, program: program.to_owned(), arguments, log })?;
        watchdog.guard(&[process.pid()]);
        Ok(Self { process, watchdog })
    }

    /// Pid of the process.
    pub fn pid(&self) -> u32 {
        self.process.pid()
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
    /// The process ends before the watchdog is let go, which would kill whatever has its pid by then.
    fn drop(&mut self) {
        self.process.stop(STOP_GRACE);
        self.watchdog.guard(&[]);
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
