//! Why a server did not serve a request, in words that name the server, how it was chosen, and what to do.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use hyper_util::client::legacy;

use super::unusable::without_credentials;
use crate::code::Code;
use crate::failure::explain;

/// Which server, and by what it was chosen.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// `https://HOST:PORT`.
    pub(super) server: String,
    /// `kubeconfig /path, context NAME`.
    pub(super) origin: String,
    pub(super) user: Option<String>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.server, self.origin)
    }
}

/// Why there is no answer that a verb could work with.
#[derive(Clone, Debug)]
pub(super) enum Cause {
    /// None came within this time.
    Silence(Duration),
    /// There was no connection, or it broke.
    Broken { words: String, was_open: bool },
    /// There are no credentials, so nothing was sent.
    Unsigned(String),
    /// The server, or a proxy before it, answers only that it cannot.
    Refused { status: StatusCode, message: String, retry_after: Option<Duration> },
    /// An API server does not answer so.
    Garbled(String),
}

/// A request that was not served.
#[derive(Clone, Debug)]
pub(crate) struct Unserved {
    pub(super) place: Arc<Place>,
    pub(super) cause: Cause,
    pub(super) tried: usize,
    /// Whether the request may have changed something.
    pub(super) is_write: bool,
}

impl std::error::Error for Unserved {}

impl Unserved {
    /// The failure within an error of the client, if it is one.
    pub(crate) fn within(error: &kube::Error) -> Option<&Self> {
        let kube::Error::Service(inner) = error else { return None };
        inner.downcast_ref()
    }

    /// How the process ends for it.
    pub(crate) fn code(&self) -> Code {
        match &self.cause {
            Cause::Refused { status, .. } if *status == StatusCode::TOO_MANY_REQUESTS => Code::Failed,
            _ => Code::NoAccess,
        }
    }

    /// Whether the same request may be served later, without anybody doing anything here.
    pub(crate) fn is_temporary(&self) -> bool {
        !matches!(&self.cause, Cause::Refused { status, .. } if *status == StatusCode::UNAUTHORIZED)
    }

    /// Whether the request may have been carried out all the same.
    fn is_unclear(&self) -> bool {
        let is_refused_early = |status: StatusCode| matches!(status.as_u16(), 401 | 429);
        let was_sent = match &self.cause {
            Cause::Silence(_) | Cause::Garbled(_) => true,
            Cause::Broken { was_open, .. } => *was_open,
            Cause::Refused { status, .. } => !is_refused_early(*status),
            Cause::Unsigned(_) => false,
        };
        self.is_write && was_sent
    }
}

impl Cause {
    /// The same of an error of the client.
    pub(super) fn of(error: &kube::Error) -> Self {
        let inner: &(dyn std::error::Error + 'static) = match error {
            kube::Error::Service(inner) => inner.as_ref(),
            kube::Error::HyperError(inner) => inner,
            other => other,
        };
        if let Some(error) = inner.downcast_ref() {
            return Self::Unsigned(without_credentials(error));
        }
        let transport = inner.downcast_ref::<legacy::Error>();
        let was_open = transport.is_some_and(|transport| !transport.is_connect());
        // The outermost layer of the transport only repeats that it failed.
        let cause = transport.and_then(std::error::Error::source).unwrap_or(inner);
        Self::Broken { words: words(cause), was_open }
    }
}

/// What the operating system reports, where it does; else every layer.
fn words(error: &(dyn std::error::Error + 'static)) -> String {
    let mut layer = Some(error);
    while let Some(cause) = layer {
        let of_system = cause.downcast_ref::<io::Error>().filter(|cause| cause.raw_os_error().is_some());
        if let Some(cause) = of_system {
            return cause.kind().to_string();
        }
        layer = cause.source();
    }
    explain(error)
}

impl fmt::Display for Unserved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = &self.place;
        let user = place.user.as_ref().map_or_else(String::new, |user| format!(" of user {user}"));
        match &self.cause {
            Cause::Silence(limit) => write!(
                f,
                "{place} has not answered within {limit:?}; check the address and the network, or allow more time \
                 with --request-timeout"
            ),
            Cause::Broken { words, .. } => write!(
                f,
                "cannot reach {place}: {words}; is the server running, and is this the right context? kubectl \
                 config get-contexts lists all"
            ),
            Cause::Unsigned(words) => write!(
                f,
                "no credentials{user} for {place}: {words}; log in again, or choose others with --user, --context, \
                 or --token"
            ),
            Cause::Refused { status, message, .. } if *status == StatusCode::UNAUTHORIZED => {
                let message = if message.is_empty() { "Unauthorized" } else { message };
                write!(
                    f,
                    "{place} does not accept the credentials{user}: {message}; log in again, or choose others with \
                     --user, --context, or --token"
                )
            }
            Cause::Refused { status, message, retry_after } => {
                let message = if message.is_empty() { String::new() } else { format!(": {message}") };
                let tried = tries(self.tried);
                let when = retry_after.map_or_else(|| "later".to_owned(), |after| format!("in {after:?}"));
                write!(f, "{place} answered {status}{message} (tried {tried}); try again {when}")
            }
            Cause::Garbled(words) => write!(
                f,
                "{place} does not answer as a Kubernetes API server does ({words}); is this the right \
                 address, or does a proxy answer instead?"
            ),
        }?;
        if self.is_unclear() {
            write!(f, ". The request may have been carried out: look before you repeat it")?;
        }
        Ok(())
    }
}

/// A number of tries, for people.
pub(super) fn tries(count: usize) -> String {
    match count {
        1 => "once".to_owned(),
        count => format!("{count} times"),
    }
}
