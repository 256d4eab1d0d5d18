//! Why a demo ends early, in words for the person who watched it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

const TAIL_LINES: usize = 20;

/// Why the story did not reach its end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The cluster or a command failed.
    #[error("{}", with_causes(.0))]
    Cluster(#[from] cluster::Error),
    /// A request to the API server failed.
    #[error("{}", with_causes(.0))]
    Kube(Box<kube::Error>),
    /// A manifest was not applied.
    #[error("{0}")]
    NotApplied(#[from] cli::NotApplied),
    /// A file or process operation failed.
    #[error("{action} {}: {source}", path.display())]
    Io { action: &'static str, path: PathBuf, source: std::io::Error },
    /// A step did not reach what it should in time.
    #[error("not reached within {} s; the last look showed: {seen}", deadline.as_secs())]
    Deadline { deadline: Duration, seen: String },
    /// Something happened that must never happen.
    #[error("{0}")]
    Broken(String),
    /// A signal.
    #[error("interrupted")]
    Interrupted,
}

impl Failure {
    /// Wraps an operating system error with what was done to which path.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { action, path, source }
    }
}

impl From<kube::Error> for Failure {
    fn from(error: kube::Error) -> Self {
        Self::Kube(Box::new(error))
    }
}

/// An error and everything that led to it, on one line.
pub(crate) fn with_causes(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string().trim_end().to_owned();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

/// The last lines of a log, indented.
pub(crate) fn tail(log: &Path) -> String {
    let text = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().collect();
    if lines.is_empty() {
        return "  (empty)".to_owned();
    }
    let end = lines.get(lines.len().saturating_sub(TAIL_LINES)..).unwrap_or_default();
    end.iter().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}
