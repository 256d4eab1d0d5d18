//! The time that a whole verb may take, from its first request to its end.

use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use crate::code::Code;
use crate::failure::Failure;

/// When the time is over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline {
    /// No limit is `None`.
    end: Option<Instant>,
    timeout: Duration,
}

impl Deadline {
    /// The time begins now; 0 is no limit.
    pub(crate) fn after(timeout: Duration) -> Self {
        let is_limit = timeout > Duration::ZERO;
        Self { end: Instant::now().checked_add(timeout).filter(|_| is_limit), timeout }
    }

    /// The same time, which begins now.
    pub(crate) fn again(self) -> Self {
        Self::after(self.timeout)
    }

    /// The outcome of this; `None` once the time is over.
    pub(crate) async fn hold<T>(self, work: impl Future<Output = T>) -> Option<T> {
        match self.end {
            None => Some(work.await),
            Some(end) => timeout_at(end, work).await.ok(),
        }
    }

    /// The same for an answer of the server; without it, this is known.
    pub(crate) async fn hold_or<T>(
        self,
        known: &str,
        answer: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        self.hold(answer).await.unwrap_or_else(|| Err(self.unserved(known)))
    }

    /// Whether the time is over.
    pub(crate) fn is_over(self) -> bool {
        self.end.is_some_and(|end| end <= Instant::now())
    }

    /// The failure when the time is over, with what is left undone.
    pub(crate) fn late(self, left: &str) -> Failure {
        Failure::Late(self.words(left))
    }

    /// The same where the server did not serve what was asked.
    pub(crate) fn unserved(self, known: &str) -> Failure {
        Failure::Request { code: Code::NoAccess, message: self.words(known) }
    }

    fn words(self, more: &str) -> String {
        format!("timed out after {:?}; {more}", self.timeout)
    }
}
