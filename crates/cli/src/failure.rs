//! Why a verb ended early.

use kube::core::Status;

use crate::code::Code;
use crate::reach::unserved::Unserved;
use crate::terminal::clean;

/// As much as anybody reads of a page that a proxy sends.
const WORDS_MAX: usize = 200;

/// What to do where the server knows no user.
const ANONYMOUS: &str = "; the request had no credentials: choose a user that has some with --user or --context, or \
                         give --token";

/// Why a verb ended early; each text names the next step.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("{0}")]
    Usage(String),
    #[error(
        "the kubeconfig cannot be used: {0}; correct it, or name another with --kubeconfig or $KUBECONFIG"
    )]
    Config(String),
    #[error("deployment \"{name}\" not found in namespace \"{namespace}\"{hint}")]
    NotFound { name: String, namespace: String, hint: String },
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
    /// There was no answer that a verb could work with.
    #[error("{0}")]
    Unserved(Box<Unserved>),
    /// The time for the whole verb is over.
    #[error("{0}")]
    Late(String),
    /// The API server knows the user, and denies the request.
    #[error("{0}")]
    Forbidden(String),
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
            Self::Config(_) | Self::Forbidden(_) => Code::NoAccess,
            Self::NotFound { .. } | Self::Missing(_) => Code::NotFound,
            Self::Request { code, .. } => *code,
            Self::Unserved(unserved) => unserved.code(),
            Self::Late(_) => Code::Unfinished,
            Self::Paused(_) => Code::Paused,
            // The reader, such as `head`, has seen enough.
            Self::Output(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Code::Done,
            Self::Ambiguous { .. } | Self::Rollout(_) | Self::Output(_) => Code::Failed,
        }
    }

    /// What is printed about it; nothing if the reader of the output has seen enough.
    pub(crate) fn line(&self) -> Option<String> {
        (self.code() != Code::Done).then(|| format!("error: {self}"))
    }

    /// The same failure of a request, with more about what to do next.
    pub(crate) fn and_next(self, next: &str) -> Self {
        match self {
            Self::Request { code, message } => Self::Request { code, message: format!("{message}; {next}") },
            Self::Unserved(unserved) => {
                Self::Request { code: unserved.code(), message: format!("{unserved}; {next}") }
            }
            Self::Forbidden(message) => Self::Forbidden(format!("{message}; {next}")),
            other => other,
        }
    }

    /// Whether nothing changes by waiting, so that who watches gives up.
    pub(crate) fn is_final(&self) -> bool {
        match self {
            Self::Unserved(unserved) => !unserved.is_temporary(),
            Self::Forbidden(_) | Self::Request { code: Code::NotFound, .. } => true,
            _ => false,
        }
    }

    /// Whether the same request may succeed later, so that who watches continues.
    pub(crate) fn is_temporary(&self) -> bool {
        matches!(self, Self::Unserved(unserved) if unserved.is_temporary())
    }
}

impl From<&kube::Error> for Failure {
    fn from(error: &kube::Error) -> Self {
        if let Some(unserved) = Unserved::within(error) {
            return Self::Unserved(Box::new(unserved.clone()));
        }
        let message = match error {
            // A proxy may answer 403 too; only the API server gives the reason.
            kube::Error::Api(status) if status.code == 403 && status.reason == "Forbidden" => {
                let is_nobody = status.message.contains("\"system:anonymous\"");
                let hint = if is_nobody { ANONYMOUS } else { "" };
                return Self::Forbidden(format!("{}{hint}", status.message));
            }
            kube::Error::Api(status) => words(status),
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

/// The words of the API server; where there are none, or something else answers, the code too.
fn words(status: &Status) -> String {
    // The client's library gives this reason to all that is no answer of an API server.
    let is_foreign = status.reason == "Failed to parse error data";
    let shown: String = clean(&status.message).chars().take(WORDS_MAX).collect();
    match (is_foreign, shown.is_empty()) {
        (_, true) => format!("the server answered {} without a reason", status.code),
        (true, false) => format!("the server answered {}: {shown}", status.code),
        (false, false) => status.message.clone(),
    }
}

/// An error in one line, with what caused it: the outermost layer alone explains little.
#[must_use]
pub fn explain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        // Some layers print their causes themselves.
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use kube::core::Status;

    use super::*;

    #[test]
    fn a_reader_that_has_seen_enough_is_no_error() {
        let output = |kind: std::io::ErrorKind| Failure::from(std::io::Error::from(kind));
        let (gone, full) = (output(std::io::ErrorKind::BrokenPipe), output(std::io::ErrorKind::StorageFull));
        assert_eq!((gone.code(), gone.line()), (Code::Done, None));
        assert!(full.line().is_some_and(|line| line.starts_with("error: writing the output: ")));
    }

    #[test]
    fn a_refusal_without_a_reason_has_its_code() {
        let answered = |message: &str, reason: &str| {
            Failure::from(kube::Error::Api(Status::failure(message, reason).with_code(500).boxed()))
                .to_string()
        };
        let foreign = "Failed to parse error data";
        assert_eq!(answered("", foreign), "the server answered 500 without a reason");
        assert_eq!(answered("<html>\noops", foreign), "the server answered 500: <html> oops");
        assert_eq!(answered("the webhook failed", "InternalError"), "the webhook failed");
    }

    #[test]
    fn only_the_api_server_forbids() {
        let answered = |code: u16, reason: &str| {
            Failure::from(kube::Error::Api(Status::failure("no", reason).with_code(code).boxed()))
        };
        let forbidden = answered(403, "Forbidden").and_next("ask for the right");
        assert!(matches!(&forbidden, Failure::Forbidden(text) if text == "no; ask for the right"));
        assert_eq!(forbidden.code(), Code::NoAccess);
        for (code, reason) in [(403, "Failed to parse error data"), (401, "Unauthorized"), (503, "")] {
            let failure = answered(code, reason);
            assert!(matches!(&failure, Failure::Request { code: Code::NoAccess, .. }), "{code} {reason}");
        }
    }
}
