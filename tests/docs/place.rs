//! Where a page's commands run: a directory that looks like a clone, a PATH with the programs, and a
//! sandbox or a control plane.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use std::{env, fs};

use cluster::{Cluster, Options, Tool, User, wait_for};
use tokio::process::{Child, Command};

use crate::page::How;
use crate::play::Outcome;

const UP: Duration = Duration::from_secs(60);
/// What of the repository commands name.
const CLONE: &[&str] = &["charts", "crds", "deploy", "examples", "tests"];

/// The places of one page. The ones that it needs are started when it comes to them.
pub(crate) struct Place {
    directory: PathBuf,
    sandbox: Option<Child>,
    cluster: Option<Cluster>,
}

impl Place {
    /// An empty one for the page of this name.
    pub(crate) fn new(page: &str) -> Outcome<Self> {
        let name = format!("docs-{}-{}", std::process::id(), page.replace('/', "-"));
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let clone = directory.join("clone");
        let bin = directory.join("bin");
        for made in [&clone, &bin, &directory.join("home")] {
            fs::create_dir_all(made)?;
        }
        for part in CLONE {
            symlink(Path::new(env!("CARGO_MANIFEST_DIR")).join(part), clone.join(part))?;
        }
        symlink(env!("CARGO_BIN_EXE_rollwright"), bin.join("rollwright"))?;
        symlink(env!("CARGO_BIN_EXE_kubectl-rollwright"), bin.join("kubectl-rollwright"))?;
        symlink(Tool::kubectl("")?.program(), bin.join("kubectl"))?;
        symlink(Tool::helm("")?.program(), bin.join("helm"))?;
        Ok(Self { directory, sandbox: None, cluster: None })
    }

    /// A shell that runs this, as somebody would who follows the page.
    pub(crate) async fn shell(&mut self, how: &How, script: &str) -> Outcome<Command> {
        let kubeconfig = match how {
            How::Cluster => self.cluster().await?,
            How::Sandbox | How::NotRun(_) => self.sandbox().await?,
        };
        let mut command = Command::new("bash");
        let path =
            format!("{}:{}", self.directory.join("bin").display(), env::var("PATH").unwrap_or_default());
        command
            .args(["-euo", "pipefail", "-c", script])
            .current_dir(self.directory.join("clone"))
            .env("PATH", path)
            .env("HOME", self.directory.join("home"))
            .env("KUBECONFIG", kubeconfig)
            .env("NO_COLOR", "1")
            // The port that is the default belongs to anybody on this machine.
            .env("ROLLWRIGHT_BIND_ADDRESS", "0")
            .stdin(Stdio::null())
            .kill_on_drop(true);
        Ok(command)
    }

    /// A file by its path from the clone; empty if it is not there.
    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.directory.join("clone").join(path)).unwrap_or_default()
    }

    async fn sandbox(&mut self) -> Outcome<PathBuf> {
        let kubeconfig = self.directory.join("sandbox.kubeconfig");
        if self.sandbox.is_none() {
            let child = Command::new(env!("CARGO_BIN_EXE_rollwright"))
                .args(["sandbox", "--kubeconfig-out"])
                .arg(&kubeconfig)
                .stdout(Stdio::null())
                .kill_on_drop(true)
                .spawn()?;
            self.sandbox = Some(child);
            let kubectl = Tool::kubectl(&kubeconfig)?;
            wait_for("the sandbox", UP, async || {
                kubectl.run(&["get", "crd", "deployments.rollwright.dev"]).await?;
                Ok(())
            })
            .await?;
        }
        Ok(kubeconfig)
    }

    /// One as anybody has it, with the built-in controller and nothing of Rollwright.
    async fn cluster(&mut self) -> Outcome<PathBuf> {
        if self.cluster.is_none() {
            let mut options = Options::unique("docs");
            options.deployment_controller = true;
            self.cluster = Some(Cluster::start(options).await?);
        }
        let cluster = self.cluster.as_ref().map(|cluster| cluster.kubeconfig(User::Admin));
        cluster.ok_or_else(|| "no cluster".into())
    }

    /// Ends everything. Not to be called on a runtime.
    pub(crate) fn end(self) {
        let cluster = self.cluster.as_ref().map(|cluster| cluster.directory().to_owned());
        drop((self.sandbox, self.cluster));
        for directory in cluster.iter().chain([&self.directory]) {
            let _ = fs::remove_dir_all(directory);
        }
    }
}
