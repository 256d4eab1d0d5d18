//! A command line that is killed after this many writes, whatever they are.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use cluster::{NotYet, User, wait_for};
use faultproxy::{Fault, FaultProxy, Match, Rule};
use tokio::process::Command;

use crate::failure::Outcome;
use crate::world::World;

/// One process of the command line, on a machine that does much else.
const ENOUGH: Duration = Duration::from_secs(120);

/// A way to the API server that ends after this many writes.
pub(crate) struct Cut {
    proxy: FaultProxy,
    kubeconfig: PathBuf,
    namespace: String,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// By SIGKILL, once the server had answered the last of the writes, and before the process knew.
    Killed,
    /// By itself before that, with this exit code.
    ByItself(Option<i32>),
}

impl Cut {
    /// One of this name in the namespace.
    pub(crate) async fn new(world: &World, name: &str) -> Outcome<Self> {
        let cluster = &world.stage.cluster;
        let proxy = FaultProxy::start(cluster.config(User::Admin).await?).await?;
        let kubeconfig = cluster.directory().join(format!("{}-{name}.kubeconfig", world.namespace));
        proxy.write_kubeconfig(&kubeconfig)?;
        Ok(Self { proxy, kubeconfig, namespace: world.namespace.clone() })
    }

    /// Runs it until the server has answered this many writes; those that it refuses count.
    pub(crate) async fn killed(&self, words: &str, writes: u32) -> Outcome<Ended> {
        self.proxy.heal();
        self.proxy.clear_journal();
        let last = Rule::once(Match::writes(), Fault::HangAfter).skip(writes.saturating_sub(1));
        let rule = self.proxy.arm(last);
        let mut process = Command::new(env!("CARGO_BIN_EXE_kubectl-rollwright"))
            .arg("--kubeconfig")
            .arg(&self.kubeconfig)
            .args(["--namespace", &self.namespace])
            .args(words.split_whitespace())
            .env_remove("KUBECONFIG")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()?;
        let ended = wait_for("the last write", ENOUGH, async || {
            let journal = self.proxy.journal();
            let is_answered = journal.writes().last().is_some_and(|last| last.server_code.is_some());
            if self.proxy.met(rule) == 1 && is_answered {
                return Ok(Ended::Killed);
            }
            match process.try_wait()? {
                Some(status) if self.proxy.met(rule) == 0 => Ok(Ended::ByItself(status.code())),
                _ => Err(NotYet(format!("{words}: {:?}", self.writes()))),
            }
        })
        .await?;
        if ended == Ended::Killed {
            process.kill().await?;
        }
        self.proxy.heal();
        Ok(ended)
    }

    /// The writes of the last process, and what they were of.
    pub(crate) fn writes(&self) -> Vec<String> {
        self.proxy.journal().writes().map(|write| write.request.label()).collect()
    }
}
