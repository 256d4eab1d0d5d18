//! What a run leaves behind: its last events, a hash of all of them, and what ever happened.

use std::collections::{BTreeMap, VecDeque};

use crate::chance::mix;

/// Events kept for printing.
const KEPT: usize = 60000;

/// The events of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trace {
    last: VecDeque<String>,
    hash: u64,
    count: u64,
    verbose: bool,
}

impl Trace {
    /// An empty one; texts are made only if `verbose`.
    #[must_use]
    pub(crate) fn new(verbose: bool) -> Self {
        Self { verbose, ..Self::default() }
    }

    /// Whether somebody will read the texts.
    #[must_use]
    pub(crate) fn is_verbose(&self) -> bool {
        self.verbose
    }

    /// Something happened: its numbers go into the hash.
    pub(crate) fn note(&mut self, numbers: &[u64]) {
        self.count += 1;
        self.hash = numbers.iter().fold(mix(self.hash ^ self.count), |hash, number| mix(hash ^ number));
    }

    /// Text for people.
    pub(crate) fn say(&mut self, text: impl FnOnce() -> String) {
        if self.verbose {
            if self.last.len() >= KEPT {
                self.last.pop_front();
            }
            self.last.push_back(text());
        }
    }

    /// The hash of everything that happened.
    #[must_use]
    pub(crate) fn hash(&self) -> u64 {
        self.hash
    }

    /// The last events.
    pub(crate) fn lines(&self) -> impl Iterator<Item = &str> {
        self.last.iter().map(String::as_str)
    }
}

/// How often something happened, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage(BTreeMap<&'static str, u64>);

impl Coverage {
    /// The situation happened.
    pub(crate) fn hit(&mut self, name: &'static str) {
        *self.0.entry(name).or_default() += 1;
    }

    /// Adds what another run saw.
    pub fn merge(&mut self, other: &Self) {
        for (name, count) in &other.0 {
            *self.0.entry(name).or_default() += count;
        }
    }

    /// How often it happened.
    #[must_use]
    pub fn count(&self, name: &str) -> u64 {
        self.0.get(name).copied().unwrap_or(0)
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.0.iter().map(|(name, count)| (*name, *count))
    }
}

/// A string as a number, for the hash.
#[must_use]
pub(crate) fn digest(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
