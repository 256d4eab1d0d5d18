//! Ends the components when their owner dies without stopping them.
//!
//! A destructor does not run in a process that was killed, nor for a static. So a small shell waits at the other end of
//! a pipe that only the owner holds: when the owner is gone, for any reason, the pipe closes. The shell then kills the
//! pids that it got last. This works on every POSIX system, needs no unsafe code, and leaves no orphans behind even
//! after SIGKILL.

use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

use crate::error::Error;

const SCRIPT: &str = r#"
pids=
while read -r line; do pids=$line; done
for pid in $pids; do kill -9 "$pid"; done
"#;

/// The shell that watches over the owner.
#[derive(Debug)]
pub(crate) struct Watchdog {
    shell: Child,
    pipe: Option<ChildStdin>,
}

impl Watchdog {
    pub(crate) fn start() -> Result<Self, Error> {
        let mut shell = Command::new("sh")
            .args(["-c", SCRIPT])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .map_err(Error::io("starting", Path::new("sh")))?;
        let pipe = shell.stdin.take();
        Ok(Self { shell, pipe })
    }

    /// Sends the shell the processes that are alive now. If the shell itself was killed, this fails, which only loses
    /// the safety net.
    pub(crate) fn guard(&mut self, pids: &[u32]) {
        let line = pids.iter().map(u32::to_string).collect::<Vec<_>>().join(" ");
        if let Some(pipe) = &mut self.pipe {
            let _ = pipe.write_all(format!("{line}\n").as_bytes());
        }
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        drop(self.pipe.take());
        let _ = self.shell.wait();
    }
}
