//! How much this process reports. Statuses wait for more news only while that is much: then the API server is spared
//! writes, and otherwise nobody reads old news.

use std::time::Instant;

use crate::durations::LOAD_WINDOW;

/// So many statuses within [`LOAD_WINDOW`] are much: what three or four rollouts report.
const MUCH: usize = 20;

/// The statuses that were written lately.
#[derive(Default)]
pub(crate) struct Load {
    /// When the window that is counted began.
    since: Option<Instant>,
    now: usize,
    /// How many the window before had.
    before: usize,
}

impl Load {
    /// A status was written.
    pub(crate) fn wrote(&mut self, now: Instant) {
        self.go_on(now);
        self.now += 1;
    }

    /// Whether statuses have to wait for each other.
    pub(crate) fn is_much(&mut self, now: Instant) -> bool {
        self.go_on(now);
        self.now.max(self.before) >= MUCH
    }

    fn go_on(&mut self, now: Instant) {
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
    fn many_statuses_are_much_until_a_window_without_them_is_over() {
        let (mut load, begun) = (Load::default(), Instant::now());
        for _ in 1..MUCH {
            load.wrote(begun);
        }
        assert!(!load.is_much(begun));
        load.wrote(begun);
        assert!(load.is_much(begun));
        assert!(load.is_much(begun + LOAD_WINDOW), "it has just been so");
        assert!(!load.is_much(begun + 2 * LOAD_WINDOW));
        load.wrote(begun + 2 * LOAD_WINDOW);
        assert!(!load.is_much(begun + 9 * LOAD_WINDOW));
    }
}
