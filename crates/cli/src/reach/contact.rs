//! Since when the server has served no request, for who waits for a rollout.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::patience::TELL_AFTER;
use crate::failure::Failure;
use crate::terminal::tell;

/// How often the user learns that a watch is still interrupted.
const STILL_AFTER: Duration = Duration::from_secs(30);
/// A failure that comes later than this after the last one is of another interruption.
const OVER_AFTER: Duration = Duration::from_secs(120);

/// What the requests of a command have shown about the server.
#[derive(Clone, Debug, Default)]
pub(crate) struct Contact(Arc<Mutex<Shown>>);

#[derive(Debug, Default)]
struct Shown {
    /// When the first request began that was not served, and none has been since.
    unserved: Option<Instant>,
    has_failed: bool,
}

impl Contact {
    fn shown(&self) -> MutexGuard<'_, Shown> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A request begins.
    pub(super) fn asks(&self) {
        self.shown().unserved.get_or_insert_with(Instant::now);
    }

    /// A request ends.
    pub(super) fn ends(&self, is_served: bool) {
        let mut shown = self.shown();
        let unserved = (!is_served).then(|| shown.unserved.unwrap_or_else(Instant::now));
        *shown = Shown { unserved, has_failed: !is_served };
    }

    /// For how long the server has served nothing; `None` if nothing shows that.
    pub(crate) fn lost_for(&self) -> Option<Duration> {
        let shown = self.shown();
        let silence = shown.unserved?.elapsed();
        (shown.has_failed || silence >= TELL_AFTER).then_some(silence)
    }
}

/// What was printed about a watch that is interrupted.
#[derive(Default)]
pub(crate) struct Interruption(Option<Told>);

struct Told {
    words: String,
    /// When the first failure of this interruption came, when the last one, and when a line was printed.
    first: Instant,
    last: Instant,
    printed: Instant,
}

impl Interruption {
    /// Prints a failure that does not end the watch: the same one once, and from time to time how long it lasts.
    pub(crate) fn note(&mut self, failure: &Failure) {
        let (words, now) = (failure.to_string(), Instant::now());
        // A watch that continues has no event until the Deployment changes.
        let before = self.0.take().filter(|told| now - told.last < OVER_AFTER);
        let first = before.as_ref().map_or(now, |told| told.first);
        let known = before.filter(|told| told.words == words);
        let printed = match known {
            Some(known) if now - known.printed < STILL_AFTER => known.printed,
            Some(_) => {
                tell(&format!("the watch is still interrupted, for {}s now", (now - first).as_secs()));
                now
            }
            None => {
                tell(&format!("the watch was interrupted and is tried again: {words}"));
                now
            }
        };
        self.0 = Some(Told { words, first, last: now, printed });
    }

    /// The server serves the watch again.
    pub(crate) fn end(&mut self) {
        self.0 = None;
    }
}
