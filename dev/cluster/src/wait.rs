//! Polling until something is true, with an error that contains what was seen last.

use std::time::{Duration, Instant};

use crate::error::Error;

const POLL: Duration = Duration::from_millis(50);

/// What a look showed that was not yet what was waited for. Any error turns
/// into one, so that `?` works inside the look.
#[derive(Clone, Debug)]
pub struct NotYet(
    /// What was seen.
    pub String,
);

impl<E: std::error::Error> From<E> for NotYet {
    fn from(error: E) -> Self {
        let mut text = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            text.push_str(": ");
            text.push_str(&cause.to_string());
            source = cause.source();
        }
        Self(text)
    }
}

/// Looks every 50 ms until `look` returns a value, at most for `deadline`.
///
/// # Errors
/// [`Error::Timeout`], with what the last look showed.
pub async fn wait_for<T, F>(what: &str, deadline: Duration, mut look: F) -> Result<T, Error>
where
    F: AsyncFnMut() -> Result<T, NotYet>,
{
    let start = Instant::now();
    let mut last = "never looked".to_owned();
    while start.elapsed() < deadline {
        // One look must not hang longer than the whole wait may take.
        let left = deadline.saturating_sub(start.elapsed());
        match tokio::time::timeout(left, look()).await {
            Ok(Ok(value)) => return Ok(value),
            Ok(Err(NotYet(seen))) => last = seen,
            Err(_) => break,
        }
        tokio::time::sleep(POLL).await;
    }
    Err(Error::Timeout { what: what.to_owned(), waited: deadline, last })
}
