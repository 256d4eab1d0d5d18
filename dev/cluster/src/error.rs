//! The one error type of this crate: what went wrong and where to look next.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// Why a cluster could not be started, asked or stopped.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Neither the binary nor the means to build it are on this machine.
    #[error(
        "{binary} not found: install Go 1.26 or newer (https://go.dev/dl) so that it can be built once, \
         or set KUBEBUILDER_ASSETS to a directory that holds it"
    )]
    MissingBinary {
        /// Name of the binary that is missing.
        binary: &'static str,
    },
    /// The environment asks for a release of Kubernetes that this program does not build.
    #[error("KUBERNETES={asked}: say one of {known}")]
    UnknownRelease {
        /// The value of the variable.
        asked: String,
        /// The values that it may have.
        known: String,
    },
    /// The Go build of a binary failed; its output went to standard error.
    #[error("building {binary} with {script} failed; see the output above")]
    Build {
        /// Name of the binary.
        binary: &'static str,
        /// The build script that was run.
        script: PathBuf,
    },
    /// A file or process operation failed.
    #[error("{action} {}", path.display())]
    Io {
        /// What was attempted, as a verb.
        action: &'static str,
        /// On which path.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// A key or certificate could not be made.
    #[error("making a certificate")]
    Certificate(#[from] rcgen::Error),
    /// TLS could not be set up with the new certificates.
    #[error("setting up TLS")]
    Tls(#[from] tokio_rustls::rustls::Error),
    /// A new kubeconfig could not be read back.
    #[error("reading a kubeconfig")]
    Kubeconfig(#[source] Box<kube::config::KubeconfigError>),
    /// The API server refused a request or could not be reached.
    #[error("talking to the API server")]
    Kube(#[source] Box<kube::Error>),
    /// An address that this program put together is none.
    #[error("forming an address")]
    Address(#[from] http::uri::InvalidUri),
    /// A value could not be read from or written to JSON.
    #[error("converting JSON")]
    Json(#[from] serde_json::Error),
    /// A component ended by itself during the wait for it.
    #[error("{component} ended by itself ({how}); the end of {}:\n{tail}", log.display())]
    Exited {
        /// Which component.
        component: &'static str,
        /// Its exit status.
        how: String,
        /// Its log file.
        log: PathBuf,
        /// The last lines of that log.
        tail: String,
    },
    /// Something did not happen in time.
    #[error("{what} did not happen within {waited:?}: {last}")]
    Timeout {
        /// What was waited for.
        what: String,
        /// How long.
        waited: Duration,
        /// What the last look showed.
        last: String,
    },
    /// A command ended with an error.
    #[error("`{command}` failed: {stderr}")]
    Command {
        /// The command line.
        command: String,
        /// What it wrote to standard error.
        stderr: String,
    },
    /// Another living process runs a cluster in the same directory.
    #[error("process {owner} runs a cluster in {} already", directory.display())]
    InUse {
        /// Pid of the process that started it.
        owner: u32,
        /// The data directory.
        directory: PathBuf,
    },
    /// The fake kubelet could not start or was asked for something it cannot do.
    #[error("fake kubelet: {0}")]
    Kubelet(String),
}

/// Prints an error and its causes, and fails.
pub fn report(error: &dyn std::error::Error) -> ExitCode {
    eprintln!("error: {error}");
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.for_each(|cause| eprintln!("  because: {cause}"));
    ExitCode::FAILURE
}

impl Error {
    /// Wraps an operating system error with what was done to which path.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { action, path, source }
    }
}

impl From<kube::Error> for Error {
    fn from(error: kube::Error) -> Self {
        Self::Kube(Box::new(error))
    }
}

impl From<kube::config::KubeconfigError> for Error {
    fn from(error: kube::config::KubeconfigError) -> Self {
        Self::Kubeconfig(Box::new(error))
    }
}
