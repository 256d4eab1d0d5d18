//! Steps of sizes, as values.

/// Ordered steps of sizes: what is created, then up, down, and up again; or sizes that follow R.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Moves {
    /// The size at which the running set is created.
    pub(crate) created: Option<i64>,
    /// The running set comes up to its ceiling, or down to it (S6.6, S6.7, S7.6).
    pub(crate) up: Option<Resize>,
    /// Old sets shrink within what may be missing (S6.8–S6.13).
    pub(crate) cuts: Vec<Resize>,
    /// The running set grows into the room that the cuts make (S6.7).
    pub(crate) up_again: Option<Resize>,
    /// Sizes follow R (S8), or all old sets go (S7.1).
    pub(crate) shares: Vec<Resize>,
    /// Whether the cuts ended at a status that is behind its set (S6.10).
    pub(crate) lags: bool,
    /// The rule from which a size deviates on purpose.
    pub(crate) deviation: Option<&'static str>,
}

/// One size of one set after another. Where both are the same, only what is written beside the size is
/// brought up to date (S8.9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Resize {
    /// Index of the set.
    pub(crate) set: usize,
    pub(crate) from: i64,
    pub(crate) to: i64,
}

impl Moves {
    /// Without the growth into the room that the cuts make: the next reconcile does that.
    pub(crate) fn up_to_the_cuts(self) -> Self {
        Self { up_again: None, ..self }
    }

    /// Whether no set that is there gets another size.
    pub(crate) fn is_empty(&self) -> bool {
        self.up.is_none() && self.up_again.is_none() && self.cuts.is_empty() && self.shares.is_empty()
    }

    /// Whether the running set changes its size before anything is cut.
    pub(crate) fn is_up(&self) -> bool {
        self.up.is_some_and(Resize::is_change)
    }

    /// Whether old sets shrink, as far as their statuses can be believed (S6.12).
    pub(crate) fn is_down(&self) -> bool {
        !self.lags && !self.cuts.is_empty()
    }
}

impl Resize {
    /// Within what a size can be (S8.7 without its overflow).
    pub(crate) fn new(set: usize, from: i64, to: i64) -> Self {
        Self { set, from, to: to.clamp(0, i64::from(i32::MAX)) }
    }

    /// Nothing for a set that has the size already (S6.16).
    pub(crate) fn needed(set: usize, from: i64, to: i64) -> Option<Self> {
        (from != to).then(|| Self::new(set, from, to))
    }

    pub(crate) fn is_change(self) -> bool {
        self.from != self.to
    }

    /// By how many pods the set changes.
    pub(crate) fn difference(self) -> i64 {
        self.to - self.from
    }
}
