//! How long a lease lasts, and how often it is asked for.

use std::time::Duration;

/// A candidate waits for one retry period and up to this many more, by chance (client-go's `JitterFactor`), so that
/// candidates do not all ask at the same time.
pub const JITTER_FACTOR: f64 = 1.2;

/// The shortest time that any of them may be: a Lease counts whole seconds.
const SHORTEST: Duration = Duration::from_secs(1);

/// Valid timings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timings {
    lease: Duration,
    renew: Duration,
    retry: Duration,
}

/// Why timings are of no use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TimingsError {
    /// One of them is too short, or no number of whole seconds.
    #[error("must be whole seconds, at least one")]
    NotSeconds(&'static str),
    /// A holder would continue to write when others may take over.
    #[error("the lease duration must be greater than the renew deadline")]
    LeaseTooShort,
    /// A holder could not even try twice.
    #[error("the renew deadline must be greater than {JITTER_FACTOR} retry periods")]
    RenewTooShort,
}

impl Timings {
    /// client-go's conditions: lease duration > renew deadline > 1.2 retry periods, each a second
    /// at least.
    ///
    /// # Errors
    /// If one does not hold; [`TimingsError::NotSeconds`] names `lease`, `renew` or `retry`.
    pub fn new(lease: Duration, renew: Duration, retry: Duration) -> Result<Self, TimingsError> {
        for (name, duration) in [("lease", lease), ("renew", renew), ("retry", retry)] {
            if duration < SHORTEST || duration.subsec_nanos() != 0 {
                return Err(TimingsError::NotSeconds(name));
            }
        }
        if lease <= renew {
            return Err(TimingsError::LeaseTooShort);
        }
        if renew <= retry.mul_f64(JITTER_FACTOR) {
            return Err(TimingsError::RenewTooShort);
        }
        Ok(Self { lease, renew, retry })
    }

    /// How long others wait, without seeing the lease change, before they take it.
    #[must_use]
    pub fn lease(&self) -> Duration {
        self.lease
    }

    /// How long after its last renewal a holder still counts itself as one.
    #[must_use]
    pub fn renew(&self) -> Duration {
        self.renew
    }

    /// Time between two attempts.
    #[must_use]
    pub fn retry(&self) -> Duration {
        self.retry
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timings(lease: u64, renew: u64, retry: u64) -> Result<Timings, TimingsError> {
        let seconds = Duration::from_secs;
        Timings::new(seconds(lease), seconds(renew), seconds(retry))
    }

    #[test]
    fn conditions_are_those_of_client_go() {
        assert!(timings(15, 10, 2).is_ok());
        assert!(timings(4, 3, 2).is_ok());
        assert_eq!(timings(10, 10, 2), Err(TimingsError::LeaseTooShort));
        assert_eq!(timings(15, 6, 5), Err(TimingsError::RenewTooShort));
        assert_eq!(timings(15, 10, 0), Err(TimingsError::NotSeconds("retry")));
        assert_eq!(timings(0, 10, 2), Err(TimingsError::NotSeconds("lease")));
        let half = Duration::from_millis(1500);
        let odd = Timings::new(Duration::from_secs(15), Duration::from_secs(10), half);
        assert_eq!(odd, Err(TimingsError::NotSeconds("retry")));
    }
}
