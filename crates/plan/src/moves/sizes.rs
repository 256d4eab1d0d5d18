//! Steps of sizes, as values.

/// Ordered steps of sizes: what is created, then up, down, and up again; or sizes that follow R.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Moves {
    /// The size at which the running ReplicaSet is created.
    pub(crate) created: Option<i64>,
    /// The running ReplicaSet comes up to its ceiling, or down to it (S6.6, S6.7, S7.6).
    pub(crate) up: Option<Resize>,
    /// The kept ReplicaSet grows to the size that it should have (SP-3).
    pub(crate) keep: Option<Resize>,
    /// Old ReplicaSets shrink within what may be missing (S6.8–S6.13).
    pub(crate) cuts: Vec<Resize>,
    /// The running ReplicaSet grows into the room that the cuts make (S6.7).
    pub(crate) up_again: Option<Resize>,
    /// So does the ReplicaSet that is kept (SP-3).
    pub(crate) keep_again: Option<Resize>,
    /// Whether the ReplicaSet that is kept comes up before the running one.
    pub(crate) keeps_first: bool,
    /// Sizes follow R (S8), or all old ReplicaSets go (S7.1).
    pub(crate) shares: Vec<Resize>,
    /// Whether the cuts ended at a status that is behind its ReplicaSet (S6.10).
    pub(crate) lags: bool,
    /// The rule from which a size deviates on purpose.
    pub(crate) deviation: Option<&'static str>,
}

/// One size after another, of one ReplicaSet. Where both are the same, only what is written beside the size is brought
/// up to date (S8.9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Resize {
    /// Index of the ReplicaSet.
    pub(crate) set: usize,
    pub(crate) from: i64,
    pub(crate) to: i64,
}

impl Moves {
    /// Without the growth into the room that the cuts make: the next reconcile does that.
    pub(crate) fn up_to_the_cuts(self) -> Self {
        Self { up_again: None, keep_again: None, ..self }
    }

    /// Whether no ReplicaSet that is there gets another size.
    pub(crate) fn is_empty(&self) -> bool {
        self.ups().next().is_none()
            && self.ups_again().next().is_none()
            && self.cuts.is_empty()
            && self.shares.is_empty()
    }

    /// The steps before anything is cut.
    pub(crate) fn ups(&self) -> impl Iterator<Item = Resize> {
        self.ordered(self.up, self.keep)
    }

    /// The steps into the room that the cuts make.
    pub(crate) fn ups_again(&self) -> impl Iterator<Item = Resize> {
        self.ordered(self.up_again, self.keep_again)
    }

    fn ordered(&self, run: Option<Resize>, keep: Option<Resize>) -> impl Iterator<Item = Resize> {
        let [first, second] = if self.keeps_first { [keep, run] } else { [run, keep] };
        first.into_iter().chain(second)
    }

    /// Whether a ReplicaSet changes its size before anything is cut.
    pub(crate) fn is_up(&self) -> bool {
        self.ups().any(Resize::is_change)
    }

    /// Whether one grows into the room that the cuts make.
    pub(crate) fn is_up_again(&self) -> bool {
        self.ups_again().next().is_some()
    }

    /// Whether old ReplicaSets shrink, as far as their statuses can be believed (S6.12).
    pub(crate) fn is_down(&self) -> bool {
        !self.lags && !self.cuts.is_empty()
    }
}

impl Resize {
    /// Within what a size can be (S8.7 without its overflow).
    pub(crate) fn new(set: usize, from: i64, to: i64) -> Self {
        Self { set, from, to: to.clamp(0, i64::from(i32::MAX)) }
    }

    /// Nothing for a ReplicaSet that has the size already (S6.16).
    pub(crate) fn needed(set: usize, from: i64, to: i64) -> Option<Self> {
        (from != to).then(|| Self::new(set, from, to))
    }

    pub(crate) fn is_change(self) -> bool {
        self.from != self.to
    }

    /// By how many pods the ReplicaSet changes.
    pub(crate) fn difference(self) -> i64 {
        self.to - self.from
    }
}
