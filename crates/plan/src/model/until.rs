//! What a rollout waits for at a step (SP-5; rollwright.dev only).

use jiff::{SignedDuration, Timestamp};

/// What a step waits for, once it is reached. A step may list several of these, and waits for all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// Somebody promotes the revision. A promotion takes the rollout to another step, so it ends every other wait, too.
    Promoted,
    /// This number of seconds has passed.
    Seconds(i64),
    /// The Job of its gate succeeds (GA-1).
    Gate,
    /// The deployment process allows more pods, or succeeds (CU-1).
    Process,
    /// There are replicas again.
    Replicas,
}

impl Until {
    /// When the wait for all of these ends by itself; `None` if something else than time has to pass.
    #[must_use]
    pub fn end(all: &[Self], since: Option<Timestamp>) -> Option<Timestamp> {
        let times: Option<Vec<_>> = all.iter().map(|until| until.time(since)).collect();
        times?.into_iter().max()
    }

    /// When this comes, if that is known.
    pub(crate) fn time(self, since: Option<Timestamp>) -> Option<Timestamp> {
        let Self::Seconds(seconds) = self else { return None };
        // `since` lacks the fraction of its second.
        let length = SignedDuration::from_secs(seconds.saturating_add(1));
        Some(since?.checked_add(length).unwrap_or(Timestamp::MAX))
    }
}
