//! Which of the other ReplicaSets is the way back: the one that ran and served last, by the newest word of the user
//! (FP-6, SP-3). What a user put aside is none of them, until it runs again.

use crate::course::judge::Judgment;
use crate::course::memory::{Memory, Note, Proof};
use crate::course::situation::Situation;
use crate::course::view::View;
use crate::model::keys::REVISION_HISTORY;
use crate::model::observed::ReplicaSet;
use crate::model::revision;
use crate::model::sets::Sets;

/// When a ReplicaSet ran last, in revisions: its own, or the declared one that a pin ran it instead of, which is later.
type LastRun = (i64, bool);

impl Judgment {
    /// When a ReplicaSet ran last.
    pub(crate) fn last_run(&self, index: usize, set: &ReplicaSet) -> LastRun {
        let own = revision::of(set).or_zero();
        let pinned = self.memory(index).and_then(|memory| memory.instead_of).filter(|it| *it >= own);
        pinned.map_or((own, false), |declared| (declared, true))
    }

    /// Whether a user put a ReplicaSet aside, by going back behind it: to one that ran before it and then after it, and
    /// that has neither failed since nor stopped among its steps. A pin has no steps. The declared ReplicaSet counts
    /// once it is good: while nobody knows whether it serves, what ran before it is the way back (FP-6).
    pub(crate) fn is_aside(&self, sets: &Sets<'_>, index: usize, set: &ReplicaSet) -> bool {
        let own = revision::of(set).or_zero();
        let goes_behind = |(other, by): (usize, &ReplicaSet)| {
            other != index
                && self.of(other) != Proof::Failed
                && !self.is_on_its_way(other)
                && first_run(by) < own
                && self.last_run(other, by) > (own, false)
        };
        // The declared ReplicaSet runs now, although this reconcile may have to give it its number.
        let declared = sets.declared().filter(|_| sets.declared.is_some_and(|it| self.of(it) == Proof::Good));
        let is_behind = |by: &ReplicaSet| sets.declared != Some(index) && first_run(by) < own;
        sets.olds().any(goes_behind) || declared.is_some_and(is_behind)
    }

    /// Whether a rollout of a ReplicaSet is, or stopped, among its steps, and no pin ran it since.
    pub(crate) fn is_on_its_way(&self, index: usize) -> bool {
        self.memory(index).is_some_and(Memory::is_on_its_way)
    }

    /// The good ReplicaSet that ran last, the declared one and those that were put aside excepted.
    pub(crate) fn find_fallback(&self, sets: &Sets<'_>) -> Option<usize> {
        let is_good = |index: usize, set: &ReplicaSet| {
            self.of(index) == Proof::Good && !set.deleting && !self.is_aside(sets, index, set)
        };
        let good = sets.olds().filter(|(index, set)| is_good(*index, set));
        good.max_by_key(|(index, set)| (self.last_run(*index, set), *index)).map(|(index, _)| index)
    }
}

/// The first revision that a ReplicaSet had.
pub(crate) fn first_run(set: &ReplicaSet) -> i64 {
    let history = set.annotations.get(REVISION_HISTORY).and_then(|history| history.split(',').next());
    history.and_then(|first| first.parse().ok()).unwrap_or_else(|| revision::of(set).or_zero())
}

/// What ReplicaSets have to remember of a pin: which declared revision it put aside. Once that one runs after all, only
/// those before it are aside.
pub(crate) fn pins(view: View<'_>, judgment: &Judgment, situation: &Situation) -> Vec<Note> {
    if !judgment.is_asked() {
        return Vec::new();
    }
    // One that is declared again gets the next number by this reconcile.
    let declared = view.sets.declared().map_or(0, |set| revision::of(set).or_zero());
    let declared = declared.max(revision::next_of(view.sets).number);
    let noted = |(set, its): (usize, &ReplicaSet), instead_of: Option<i64>| {
        let memory = Memory { instead_of, ..judgment.known(set, its) };
        Note { set, memory, events: Vec::new() }
    };
    match situation {
        Situation::Pinned(pinned) => {
            let known = judgment.memory(*pinned).and_then(|memory| memory.instead_of);
            // Memory is about a revision.
            let set = view.sets.get(*pinned).filter(|set| revision::of(set).number().is_some());
            let set = set.filter(|_| known.is_none_or(|known| known < declared));
            set.map(|set| noted((*pinned, set), Some(declared))).into_iter().collect()
        }
        Situation::Declared(_) | Situation::Failed { .. } => {
            let known = |index| judgment.memory(index).and_then(|memory| memory.instead_of);
            let over = view.sets.olds().filter(|(index, _)| known(*index).is_some_and(|it| it >= declared));
            let before =
                |set: &ReplicaSet| Some(declared - 1).filter(|it| *it >= revision::of(set).or_zero());
            over.map(|(index, set)| noted((index, set), before(set))).collect()
        }
        Situation::PinTargetMissing | Situation::Reverted(_) => Vec::new(),
    }
}
