//! Why a verb ended early.

use crate::code::Code;

/// Why a verb ended early; each text says what to do next.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("{0}")]
    Usage(String),
    #[error("no kubeconfig can be used: {0}; name one with --kubeconfig or $KUBECONFIG")]
    Config(String),
    #[error("deployment \"{name}\" not found in namespace \"{namespace}\"{hint}")]
    NotFound { name: String, namespace: String, hint: &'static str },
    /// Something else than a Deployment does not exist.
    #[error("{0}")]
    Missing(String),
    #[error(
        "there is both deployment.rollwright.dev/{name} and deployment.apps/{name} in namespace \
         \"{namespace}\"; use one of these names"
    )]
    Ambiguous { name: String, namespace: String },
    /// A request did not succeed.
    #[error("{message}")]
    Request { code: Code, message: String },
    #[error("{0}")]
    Rollout(String),
    /// A pause is in the way.
    #[error("{0}")]
    Paused(String),
    #[error("writing the output: {0}")]
    Output(#[from] std::io::Error),
}

impl Failure {
    /// How the process ends for it.
    pub(crate) fn code(&self) -> Code {
        match self {
            Self::Usage(_) => Code::Usage,
            Self::Config(_) => Code::NoAccess,
            Self::NotFound { .. } | Self::Missing(_) => Code::NotFound,
            Self::Request { code, .. } => *code,
            Self::Paused(_) => Code::Paused,
            // The reader, such as `head`, has seen enough.
            Self::Output(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Code::Done,
            Self::Ambiguous { .. } | Self::Rollout(_) | Self::Output(_) => Code::Failed,
        }
    }

    /// The same failure of a request, with more to say about what to do next.
    pub(crate) fn and_next(self, next: &str) -> Self {
        match self {
            Self::Request { code, message } => Self::Request { code, message: format!("{message}; {next}") },
            other => other,
        }
    }
}

impl From<&kube::Error> for Failure {
    fn from(error: &kube::Error) -> Self {
        let message = match error {
            kube::Error::Api(status) => status.message.clone(),
            other => explain(other),
        };
        Self::Request { code: Code::of(error), message }
    }
}

impl From<kube::Error> for Failure {
    fn from(error: kube::Error) -> Self {
        Self::from(&error)
    }
}

/// An error in one line, with what caused it: the outermost layer alone says little.
pub(crate) fn explain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}
