//! The clock on the wall, by the runtime's clock: hours that a test lets pass are hours for the planner too.
//! It starts with the test's first look at it.

use std::cell::Cell;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;

/// When the tests' time begins.
const ORIGIN_TIME: Timestamp = Timestamp::constant(1_767_225_600, 0);

thread_local! {
    static ORIGIN: Instant = Instant::now();
    static JUMPED: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

/// What time it is for the operator.
pub(super) fn timestamp() -> Timestamp {
    steady() + JUMPED.get()
}

/// The time of the tests, without the jumps of this machine's clock.
pub(super) fn steady() -> Timestamp {
    ORIGIN_TIME + ORIGIN.with(Instant::elapsed)
}

/// The clock of this machine jumps forward.
pub(super) fn jump(by: Duration) {
    JUMPED.set(JUMPED.get() + by);
}
