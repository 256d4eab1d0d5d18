//! A sandbox of a test's own, and kubectl for it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use cluster::{NotYet, Tool, wait_for};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, Command};

/// Two of two cores may be compiling.
pub(crate) const DEADLINE: Duration = Duration::from_secs(60);

/// The program under test.
pub(crate) fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rollwright"));
    command.kill_on_drop(true);
    command
}

/// A path in the repository.
pub(crate) fn path(relative: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(relative).display().to_string()
}

/// A manifest among the examples.
pub(crate) fn manifest(name: &str) -> String {
    path(&format!("examples/{name}.yaml"))
}

/// A sandbox; dropping it ends it.
pub(crate) struct Sandbox {
    child: Child,
    kubeconfig: PathBuf,
    pub(crate) kubectl: Tool,
    bind_address: String,
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        let _ = self.child.start_kill();
        let _ = fs::remove_file(&self.kubeconfig);
    }
}

impl Sandbox {
    pub(crate) async fn start() -> Self {
        Self::start_at("0").await
    }

    /// Starts one; its operator serves its metrics at this address.
    pub(crate) async fn start_at(bind_address: &str) -> Self {
        Self::launch(program(), bind_address).await
    }

    /// The same with the log of its operator in a file.
    pub(crate) async fn start_logged(bind_address: &str, log: &Path) -> Self {
        let mut command = program();
        command.env("RUST_LOG", "info").stderr(fs::File::create(log).unwrap());
        Self::launch(command, bind_address).await
    }

    async fn launch(mut command: Command, bind_address: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("sandbox-{}-{number}.kubeconfig", std::process::id());
        let kubeconfig = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = fs::remove_file(&kubeconfig);
        let kubectl = Tool::kubectl(&kubeconfig).unwrap();
        let begin = Instant::now();
        let child = command
            .arg("sandbox")
            .args(["--bind-address", bind_address])
            // For operators of other clusters; this one has its own.
            .env("ROLLWRIGHT_CONTEXT", "elsewhere")
            .arg("--kubeconfig-out")
            .arg(&kubeconfig)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        while !is_up(&kubeconfig).await {
            assert!(begin.elapsed() < DEADLINE, "the sandbox is not up");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let bind_address = bind_address.to_owned();
        Self { child, kubeconfig, kubectl, bind_address }
    }

    /// The way in, for a client.
    pub(crate) fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// Where the operator serves its metrics.
    pub(crate) fn bind_address(&self) -> &str {
        &self.bind_address
    }

    /// Runs kubectl, which has to succeed.
    pub(crate) async fn ok(&self, arguments: &[&str]) -> String {
        self.kubectl.run(arguments).await.unwrap_or_else(|error| panic!("{error}"))
    }

    /// Waits until kubectl prints something with this text in it.
    pub(crate) async fn shows(&self, arguments: &[&str], text: &str) {
        self.until(arguments, text, |output| output.contains(text)).await;
    }

    /// Waits until kubectl prints exactly this.
    pub(crate) async fn is_exactly(&self, arguments: &[&str], text: &str) {
        self.until(arguments, text, |output| output == text).await;
    }

    /// Waits until kubectl prints what is wanted.
    pub(crate) async fn until(&self, arguments: &[&str], text: &str, is_enough: impl Fn(&str) -> bool) {
        wait_for(&format!("{arguments:?} to print {text:?}"), DEADLINE, async || {
            let output = self.kubectl.run(arguments).await?;
            if is_enough(&output) { Ok(()) } else { Err(NotYet(output)) }
        })
        .await
        .unwrap_or_else(|error| panic!("{error}"));
    }

    /// Runs kubectl in the background.
    pub(crate) fn watch(&self, arguments: &[&str]) -> Watch {
        let child = Command::new(self.kubectl.program())
            .args(arguments)
            .env("KUBECONFIG", &self.kubeconfig)
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        Watch { child, output: Vec::new() }
    }

    /// What the server answers to a GET with this `Host`, which no kubectl would send.
    pub(crate) async fn get_as(&self, host: &str) -> String {
        let address = address(&self.kubeconfig).unwrap();
        let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
        let request = format!("GET /api/v1/pods HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }
}

/// A kubectl that prints what it sees.
pub(crate) struct Watch {
    child: Child,
    output: Vec<u8>,
}

impl Watch {
    /// Waits until it has printed this text.
    pub(crate) async fn shows(&mut self, text: &str) {
        while !self.printed().contains(text) {
            assert!(self.reads(DEADLINE).await, "{text} in\n{}", self.printed());
        }
    }

    /// Ends it; what has it printed?
    pub(crate) async fn end(mut self) -> String {
        while self.reads(Duration::from_secs(2)).await {}
        self.printed()
    }

    /// Whether it prints something more within this time.
    async fn reads(&mut self, patience: Duration) -> bool {
        let pipe = self.child.stdout.as_mut().unwrap();
        matches!(tokio::time::timeout(patience, pipe.read_buf(&mut self.output)).await, Ok(Ok(1..)))
    }

    fn printed(&self) -> String {
        String::from_utf8_lossy(&self.output).into_owned()
    }
}

/// Where the server listens.
fn address(kubeconfig: &Path) -> Option<String> {
    let text = fs::read_to_string(kubeconfig).ok()?;
    Some(text.split("http://").nth(1)?.split_once('"')?.0.to_owned())
}

async fn is_up(kubeconfig: &Path) -> bool {
    match address(kubeconfig) {
        Some(address) => tokio::net::TcpStream::connect(address).await.is_ok(),
        None => false,
    }
}
