//! The one clock of the shell: the runtime's, which a test can stop, and the wall's for what goes
//! into objects.

use std::time::Instant;

use jiff::Timestamp;

/// What time it is, for everything that [`engine`] decides.
pub(crate) fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

/// What time it is, for objects and for the planner.
#[cfg(not(test))]
pub(crate) fn timestamp() -> Timestamp {
    Timestamp::now()
}

/// The same by the runtime's clock, so that hours which a test lets pass are hours for the planner
/// too. It starts with the test's first look at it.
#[cfg(test)]
pub(crate) fn timestamp() -> Timestamp {
    steady() + JUMPED.get()
}

#[cfg(test)]
thread_local! {
    static ORIGIN: Instant = now();
    static JUMPED: std::cell::Cell<std::time::Duration> = const { std::cell::Cell::new(std::time::Duration::ZERO) };
}

/// The time of the tests, without the jumps of this machine's clock.
#[cfg(test)]
pub(crate) fn steady() -> Timestamp {
    ORIGIN_TIME + ORIGIN.with(|origin| now().duration_since(*origin))
}

/// The clock of this machine jumps forward.
#[cfg(test)]
pub(crate) fn jump(by: std::time::Duration) {
    JUMPED.set(JUMPED.get() + by);
}

/// When the tests' time begins.
#[cfg(test)]
pub(crate) const ORIGIN_TIME: Timestamp = Timestamp::constant(1_767_225_600, 0);
