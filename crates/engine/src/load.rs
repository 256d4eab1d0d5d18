//! How many statuses this process writes. While they are many, they wait for more news, which spares the API server
//! writes. While they are few, nobody has to read old news.

use std::time::Instant;

use crate::durations::LOAD_WINDOW;

/// The statuses that were written lately.
#[derive(Default)]
pub(crate) struct Load {
    /// When the present window began.
    since: Option<Instant>,
    /// How many were written in the present window, and in the one before.
    now: usize,
    before: usize,
}

impl Load {
    /// A status was written.
    pub(crate) fn wrote(&mut self, now: Instant) {
        self.renew(now);
        self.now += 1;
    }

    /// How many were written in a window: the present one, or the one before if that had more.
    pub(crate) fn height(&mut self, now: Instant) -> usize {
        self.renew(now);
        self.now.max(self.before)
    }

    /// Begins another window where the present one is over.
    fn renew(&mut self, now: Instant) {
        let since = *self.since.get_or_insert(now);
        let passed = now.saturating_duration_since(since);
        if passed < LOAD_WINDOW {
            return;
        }
        self.before = if passed < 2 * LOAD_WINDOW { self.now } else { 0 };
        (self.since, self.now) = (Some(now), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_load_stays_high_until_a_window_without_statuses_is_over() {
        let (mut load, begun) = (Load::default(), Instant::now());
        assert_eq!(load.height(begun), 0);
        load.wrote(begun);
        load.wrote(begun);
        assert_eq!(load.height(begun), 2);
        load.wrote(begun + LOAD_WINDOW);
        assert_eq!(load.height(begun + LOAD_WINDOW), 2, "it has just been so high");
        assert_eq!(load.height(begun + 2 * LOAD_WINDOW), 1);
        assert_eq!(load.height(begun + 9 * LOAD_WINDOW), 0);
    }
}
