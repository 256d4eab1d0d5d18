//! The one clock of the shell: the runtime's, which a test can stop, and the wall's for what goes
//! into objects.

use std::sync::OnceLock;
use std::time::Instant;

use jiff::Timestamp;

/// Another clock on the wall, for tests.
static WALL: OnceLock<fn() -> Timestamp> = OnceLock::new();

/// What time it is, for everything that [`engine`] decides.
pub(crate) fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

/// What time it is, for objects and for the planner.
pub(crate) fn timestamp() -> Timestamp {
    WALL.get().map_or_else(Timestamp::now, |wall| wall())
}

/// From now on, the process reads this clock. The first one stays.
pub fn set_wall(wall: fn() -> Timestamp) {
    WALL.get_or_init(|| wall);
}
