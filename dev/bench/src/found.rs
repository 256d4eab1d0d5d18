//! What was measured of large fleets, and which controllers did not become idle there.

use std::fmt::Debug;
use std::time::Duration;

use crate::failure::Failure;
use crate::side::Side;

/// Of some sides, figures; of the others, that they were still at work when their time was over. One
/// such side must not cost hours of measuring the others.
#[derive(Clone, Debug)]
pub(crate) struct Found<T> {
    pub(crate) measured: Vec<T>,
    pub(crate) restless: Vec<Restless>,
}

/// A controller that was still at work.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Restless {
    pub(crate) side: Side,
    pub(crate) deployments: usize,
    pub(crate) after: Duration,
    /// Bytes of memory that it held then.
    pub(crate) resident: u64,
}

impl<T> Default for Found<T> {
    fn default() -> Self {
        Self { measured: Vec::new(), restless: Vec::new() }
    }
}

impl<T: Debug> Found<T> {
    /// Keeps the outcome of one side; fails for everything but unrest.
    pub(crate) fn take(
        &mut self,
        side: Side,
        deployments: usize,
        result: Result<T, Failure>,
    ) -> Result<(), Failure> {
        match result {
            Ok(measured) => {
                eprintln!("{deployments} Deployments, {}: {measured:?}", side.name());
                self.measured.push(measured);
            }
            Err(Failure::Restless { after, resident }) => {
                let restless = Restless { side, deployments, after, resident };
                eprintln!("{deployments} Deployments: {restless:?}");
                self.restless.push(restless);
            }
            Err(failure) => return Err(failure),
        }
        Ok(())
    }

    pub(crate) fn append(&mut self, mut other: Self) {
        self.measured.append(&mut other.measured);
        self.restless.append(&mut other.restless);
    }
}
