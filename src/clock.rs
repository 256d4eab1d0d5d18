//! The one clock of the shell: the runtime's, which a test can stop.

use std::time::Instant;

/// What time it is, for everything that [`dispatch`] decides.
pub(crate) fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}
