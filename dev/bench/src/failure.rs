//! What ends a bench early.

use std::io;
use std::time::Duration;

/// Why there are no figures.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error(transparent)]
    Cluster(#[from] cluster::Error),
    #[error("talking to the API server")]
    Kube(#[source] Box<kube::Error>),
    #[error("{action}")]
    Io { action: String, source: io::Error },
    #[error("converting JSON")]
    Json(#[from] serde_json::Error),
    /// A controller had still work to do when its time was over.
    #[error("a controller was not idle after {} s", after.as_secs())]
    Restless { after: Duration, resident: u64 },
    #[error("{0}")]
    Other(String),
}

impl From<kube::Error> for Failure {
    fn from(error: kube::Error) -> Self {
        Self::Kube(Box::new(error))
    }
}

impl Failure {
    /// Wraps the error of the operating system with what was attempted.
    pub(crate) fn io(action: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let action = action.into();
        move |source| Self::Io { action, source }
    }
}
