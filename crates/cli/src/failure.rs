//! How the process ends, and why.

use std::process::ExitCode;

/// What the exit code tells a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// 0: what was asked for is so.
    Done,
    /// 1: it is not and will not be by itself, or the cluster refused.
    Failed,
    /// 2: the command line makes no sense.
    Usage,
    /// 3: not within the time that was given.
    Timeout,
    /// 4: paused, and waiting for somebody to resume.
    Paused,
}

impl Code {
    /// The number.
    #[must_use]
    pub fn number(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Timeout => 3,
            Self::Paused => 4,
        }
    }
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> Self {
        Self::from(code.number())
    }
}

/// Why a verb ended early; each text says what to do next.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("{0}")]
    Usage(String),
    #[error("no kubeconfig can be used: {0}; name one with --kubeconfig or $KUBECONFIG")]
    Config(String),
    #[error("deployment \"{name}\" not found in namespace \"{namespace}\"{hint}")]
    NotFound { name: String, namespace: String, hint: &'static str },
    #[error(
        "there is both deployment.rollwright.dev/{name} and deployment.apps/{name} in namespace \
         \"{namespace}\"; name one of them so"
    )]
    Ambiguous { name: String, namespace: String },
    #[error("{0}")]
    Refused(String),
    #[error("{0}")]
    Rollout(String),
    #[error("writing the output: {0}")]
    Output(#[from] std::io::Error),
}

impl Failure {
    /// How the process ends for it.
    pub(crate) fn code(&self) -> Code {
        match self {
            Self::Usage(_) => Code::Usage,
            // The reader, such as `head`, has seen enough.
            Self::Output(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Code::Done,
            _ => Code::Failed,
        }
    }
}

impl From<kube::Error> for Failure {
    fn from(error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) => Self::Refused(status.message),
            other => Self::Refused(explain(&other)),
        }
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
