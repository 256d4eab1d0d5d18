//! Surge, unavailability and the minimum that must stay available (S6.1–S6.4).

use crate::model::intstr::{NotAPercentage, Round};
use crate::model::observed::Strategy;

impl Strategy {
    /// Both limits in pods (S6.1, S6.2): `(surge, unavailable)`.
    ///
    /// # Errors
    /// When one of them is a text that is no percentage.
    pub fn limits(&self, replicas: i64) -> Result<(i64, i64), NotAPercentage> {
        let Self::RollingUpdate { max_surge, max_unavailable } = self else { return Ok((0, 0)) };
        let surge = max_surge.as_ref().map_or(Ok(0), |value| value.of(replicas, Round::Up))?;
        let unavailable = max_unavailable.as_ref().map_or(Ok(0), |value| value.of(replicas, Round::Down))?;
        // S6.2: with neither, nothing could ever move; surge may be blocked by quota.
        if surge == 0 && unavailable == 0 { Ok((0, 1)) } else { Ok((surge, unavailable)) }
    }

    /// S6.1: an unreadable value counts as 0 here.
    fn readable_limits(&self, replicas: i64) -> (i64, i64) {
        self.limits(replicas).unwrap_or((0, 0))
    }

    /// How many pods may exist above `replicas` (S6.3).
    #[must_use]
    pub fn max_surge(&self, replicas: i64) -> i64 {
        self.readable_limits(replicas).0
    }

    /// How many pods may be missing (S6.4).
    #[must_use]
    pub fn max_unavailable(&self, replicas: i64) -> i64 {
        if replicas == 0 { 0 } else { self.readable_limits(replicas).1.min(replicas) }
    }

    /// How many pods must stay available, under any strategy (S6.4).
    pub(crate) fn floor(&self, replicas: i64) -> i64 {
        replicas.saturating_sub(self.max_unavailable(replicas))
    }

    /// How many pods must stay available in a rolling update; 0 otherwise, as upstream's
    /// `MinAvailable` (S6.4).
    #[must_use]
    pub fn min_available(&self, replicas: i64) -> i64 {
        match self {
            Self::RollingUpdate { .. } => self.floor(replicas),
            Self::Recreate | Self::Unknown(_) => 0,
        }
    }

    /// Under how many pods in all the running ReplicaSet grows (S6.7).
    ///
    /// # Errors
    /// When `maxSurge` is missing or no percentage.
    pub fn cap(&self, replicas: i64) -> Result<i64, NotAPercentage> {
        let Self::RollingUpdate { max_surge, .. } = self else { return Ok(replicas) };
        let surge = max_surge.as_ref().ok_or_else(|| NotAPercentage("maxSurge: nil".to_owned()))?;
        Ok(replicas.saturating_add(surge.of(replicas, Round::Up)?))
    }
}
