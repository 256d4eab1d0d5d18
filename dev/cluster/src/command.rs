//! Runs kubectl and helm against a cluster and captures their output.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::Value;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

use crate::binaries::Binary;
use crate::error::Error;

/// What a command wrote and whether it succeeded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Whether it ended with exit code 0.
    pub success: bool,
    /// Its exit code; none if a signal ended it.
    pub code: Option<i32>,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
}

/// A command line program that talks to one cluster as one user.
#[derive(Clone, Debug)]
pub struct Tool {
    program: PathBuf,
    kubeconfig: PathBuf,
    namespace: Option<String>,
}

impl Tool {
    /// kubectl with this kubeconfig; built first if the machine has none.
    pub fn kubectl(kubeconfig: impl Into<PathBuf>) -> Result<Self, Error> {
        Self::new(Binary::Kubectl, kubeconfig.into())
    }

    /// helm with this kubeconfig; built first if the machine has none.
    pub fn helm(kubeconfig: impl Into<PathBuf>) -> Result<Self, Error> {
        Self::new(Binary::Helm, kubeconfig.into())
    }

    /// A program at this path, with this kubeconfig.
    pub fn at(program: PathBuf, kubeconfig: impl Into<PathBuf>) -> Self {
        Self { program, kubeconfig: kubeconfig.into(), namespace: None }
    }

    fn new(binary: Binary, kubeconfig: PathBuf) -> Result<Self, Error> {
        Ok(Self::at(binary.locate()?, kubeconfig))
    }

    /// The same tool with `--namespace` on every command line.
    #[must_use]
    pub fn in_namespace(&self, namespace: &str) -> Self {
        Self { namespace: Some(namespace.to_owned()), ..self.clone() }
    }

    /// Path of the program.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Runs it and returns its standard output.
    ///
    /// # Errors
    /// [`Error::Command`] if it does not end with exit code 0.
    pub async fn run(&self, arguments: &[&str]) -> Result<String, Error> {
        self.output_of(arguments, "").await
    }

    /// Runs it with `-o json` and returns the parsed standard output.
    ///
    /// # Errors
    /// As [`Tool::run`], or if the output is not JSON.
    pub async fn json(&self, arguments: &[&str]) -> Result<Value, Error> {
        let arguments: Vec<&str> = arguments.iter().copied().chain(["-o", "json"]).collect();
        Ok(serde_json::from_str(&self.run(&arguments).await?)?)
    }

    /// `kubectl apply` of a manifest given as text.
    ///
    /// # Errors
    /// As [`Tool::run`].
    pub async fn apply(&self, manifest: &str) -> Result<String, Error> {
        self.output_of(&["apply", "-f", "-"], manifest).await
    }

    /// Runs it with text on its standard input; failure is not an error here.
    ///
    /// # Errors
    /// Only if the program cannot be run at all.
    pub async fn output(&self, arguments: &[&str], input: &str) -> Result<Output, Error> {
        let mut child = Command::new(&self.program)
            .args(self.arguments(arguments))
            .env("KUBECONFIG", &self.kubeconfig)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(Error::io("starting", &self.program))?;
        let pipe = child.stdin.take();
        let write = async {
            if let Some(mut pipe) = pipe {
                // A program that does not read its input closes it early.
                let _ = pipe.write_all(input.as_bytes()).await;
            }
        };
        let ((), output) = tokio::join!(write, child.wait_with_output());
        let output = output.map_err(Error::io("running", &self.program))?;
        Ok(Output {
            success: output.status.success(),
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }

    fn arguments(&self, arguments: &[&str]) -> Vec<String> {
        let namespace = self.namespace.iter().map(|namespace| format!("--namespace={namespace}"));
        namespace.chain(arguments.iter().map(|&argument| argument.to_owned())).collect()
    }

    /// Runs it with text on its standard input and returns its standard output.
    ///
    /// # Errors
    /// As [`Tool::run`].
    pub async fn output_of(&self, arguments: &[&str], input: &str) -> Result<String, Error> {
        let output = self.output(arguments, input).await?;
        if output.success {
            return Ok(output.stdout);
        }
        let name = self.program.file_name().unwrap_or_default().to_string_lossy();
        let command = format!("{name} {}", self.arguments(arguments).join(" "));
        Err(Error::Command { command, stderr: output.stderr })
    }
}
