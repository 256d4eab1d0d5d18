//! Surge, unavailability and the minimum that must stay available (S6.1–S6.4).

use crate::intstr::{IntOrPercent, NotAPercentage, Round};
use crate::observed::Strategy;

/// Both limits in pods (S6.1, S6.2): `(surge, unavailable)`.
///
/// # Errors
/// When one of them is a text that is no percentage.
pub fn resolve(
    max_surge: Option<&IntOrPercent>,
    max_unavailable: Option<&IntOrPercent>,
    replicas: i64,
) -> Result<(i64, i64), NotAPercentage> {
    let surge = max_surge.map_or(Ok(0), |value| value.of(replicas, Round::Up))?;
    let unavailable = max_unavailable.map_or(Ok(0), |value| value.of(replicas, Round::Down))?;
    // S6.2: with neither, nothing could ever move; surge may be blocked by quota.
    if surge == 0 && unavailable == 0 { Ok((0, 1)) } else { Ok((surge, unavailable)) }
}

fn limits(strategy: &Strategy, replicas: i64) -> (i64, i64) {
    match strategy {
        Strategy::RollingUpdate { max_surge, max_unavailable } => {
            // S6.1: an unreadable value counts as 0 here.
            resolve(max_surge.as_ref(), max_unavailable.as_ref(), replicas).unwrap_or((0, 0))
        }
        Strategy::Recreate | Strategy::Unknown(_) => (0, 0),
    }
}

/// How many pods may exist above `replicas` (S6.3).
#[must_use]
pub fn max_surge(strategy: &Strategy, replicas: i64) -> i64 {
    limits(strategy, replicas).0
}

/// How many pods may be missing (S6.4).
#[must_use]
pub fn max_unavailable(strategy: &Strategy, replicas: i64) -> i64 {
    if replicas == 0 { 0 } else { limits(strategy, replicas).1.min(replicas) }
}

/// How many pods must stay available in a rolling update; 0 otherwise, as upstream's
/// `MinAvailable` (S6.4).
#[must_use]
pub fn min_available(strategy: &Strategy, replicas: i64) -> i64 {
    match strategy {
        Strategy::RollingUpdate { .. } => replicas.saturating_sub(max_unavailable(strategy, replicas)),
        Strategy::Recreate | Strategy::Unknown(_) => 0,
    }
}

/// Under how many pods in all the running set grows (S6.7).
///
/// # Errors
/// When `maxSurge` is missing or no percentage.
pub fn cap(strategy: &Strategy, replicas: i64) -> Result<i64, NotAPercentage> {
    match strategy {
        Strategy::RollingUpdate { max_surge, .. } => {
            let surge = max_surge.as_ref().ok_or_else(|| NotAPercentage("maxSurge: nil".to_owned()))?;
            Ok(replicas.saturating_add(surge.of(replicas, Round::Up)?))
        }
        Strategy::Recreate | Strategy::Unknown(_) => Ok(replicas),
    }
}
