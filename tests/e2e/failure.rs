//! Why a scenario failed, and on which line of it.

use std::panic::Location;

use cluster::NotYet;

/// What went wrong, beginning with the place in the scenario.
#[derive(Debug)]
pub(crate) struct Failure(pub(crate) String);

/// What a scenario and its steps return.
pub(crate) type Outcome<T = ()> = Result<T, Failure>;

impl Failure {
    /// A failure at the line that calls this.
    #[track_caller]
    pub(crate) fn new(text: impl std::fmt::Display) -> Self {
        let place = Location::caller();
        Self(format!("{}:{}: {text}", place.file(), place.line()))
    }
}

/// Any error fails a scenario at the `?` that met it.
impl<E: std::error::Error> From<E> for Failure {
    #[track_caller]
    fn from(error: E) -> Self {
        Self::new(NotYet::from(error).0)
    }
}

/// Fails unless the condition holds; `seen` is what was there instead.
#[track_caller]
pub(crate) fn ensure(condition: bool, expected: &str, seen: impl std::fmt::Debug) -> Outcome {
    if condition { Ok(()) } else { Err(Failure::new(format!("expected {expected}; seen: {seen:?}"))) }
}

/// Fails unless both are equal.
#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "borrowing would clutter every check")]
pub(crate) fn same<T: PartialEq<U> + std::fmt::Debug, U: std::fmt::Debug>(
    what: &str,
    seen: T,
    expected: U,
) -> Outcome {
    if seen == expected {
        return Ok(());
    }
    Err(Failure::new(format!("{what} is {seen:?}, expected {expected:?}")))
}

/// Inside a wait: not yet, unless the condition holds.
pub(crate) fn until(condition: bool, seen: impl std::fmt::Display) -> Result<(), NotYet> {
    if condition { Ok(()) } else { Err(NotYet(seen.to_string())) }
}
