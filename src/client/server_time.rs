//! The API server's clock, carried on by this process's own.
//!
//! The clock of the machine can jump: a virtual machine that resumes, or a correction. A deadline, a bake, or a timed
//! step that compares it with a stored time would end at that moment, for all rollouts. So what had elapsed when this
//! process started is measured against the `Date` of the server's answers, and from then on the monotonic clock counts.
//! A restart prolongs nothing, because the stored times stay.

use std::time::Instant;

use http::{HeaderMap, header};
use jiff::fmt::rfc2822;
use jiff::{SignedDuration, Timestamp};

/// A `Date` that is further ahead than this has jumped. What is less makes up for whole seconds, for the way of the
/// answer, and for clocks that drift.
const DRIFT_MAX: SignedDuration = SignedDuration::from_secs(30);

/// What time it was by the server, and when.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ServerTime {
    date: Timestamp,
    at: Instant,
    /// The next answer counts, however far it is from this.
    is_old: bool,
}

impl ServerTime {
    /// What time it is.
    pub(crate) fn now(&self, now: Instant) -> Timestamp {
        let passed = now.saturating_duration_since(self.at);
        self.date
            .saturating_add(SignedDuration::try_from(passed).unwrap_or(SignedDuration::ZERO))
            .unwrap_or(self.date)
    }

    /// An operator that begins to lead measures again, as a process that starts does.
    pub(crate) fn old(self) -> Self {
        Self { is_old: true, ..self }
    }

    /// What is known after another answer. It never goes back, since two servers may have two clocks.
    pub(crate) fn after(known: Option<Self>, date: Timestamp, now: Instant) -> Self {
        let read = Self { date, at: now, is_old: false };
        let Some(known) = known.filter(|known| !known.is_old) else { return read };
        let ahead = date.duration_since(known.now(now));
        if ahead.is_positive() && ahead <= DRIFT_MAX { read } else { known }
    }
}

/// When the server wrote this answer.
pub(crate) fn date_of(headers: &HeaderMap) -> Option<Timestamp> {
    let text = headers.get(header::DATE)?.to_str().ok()?;
    rfc2822::parse(text).ok().map(|zoned| zoned.timestamp())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const START: Timestamp = Timestamp::constant(1_767_225_600, 0);

    #[test]
    fn the_date_of_an_answer_is_read() {
        let headers = |date: &str| HeaderMap::from_iter([(header::DATE, date.parse().expect("a value"))]);
        assert_eq!(date_of(&headers("Thu, 01 Jan 2026 00:00:00 GMT")), Some(START));
        assert_eq!(date_of(&headers("yesterday")), None);
        assert_eq!(date_of(&HeaderMap::new()), None);
    }

    #[test]
    fn drift_is_followed_and_jumps_are_not() {
        let (begin, second) = (Instant::now(), Duration::from_secs(1));
        let mut time = ServerTime::after(None, START, begin);
        let later = begin + 100 * second;
        for (seconds, expected) in [(0, 100), (3_700, 100), (-4_000, 100), (99, 100), (103, 103), (131, 131)]
        {
            let date = START + SignedDuration::from_secs(seconds);
            time = ServerTime::after(Some(time), date, later);
            assert_eq!(time.now(later).as_second() - START.as_second(), expected, "{seconds}");
        }
        assert_eq!(time.now(later + second), START + SignedDuration::from_secs(132));
        let again = ServerTime::after(Some(time.old()), START + SignedDuration::from_secs(9_000), later);
        assert_eq!(again.now(later), START + SignedDuration::from_secs(9_000));
    }
}
