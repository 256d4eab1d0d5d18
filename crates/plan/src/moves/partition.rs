//! The sizes while a step leaves some pods to another ReplicaSet (SP-3, SP-7). The running ReplicaSet gets the ceiling
//! of the [`Aim`], the one that is kept all that is left of R, and all others none. It is S6 with a smaller number, and
//! with two ReplicaSets that grow.

use crate::model::sets::{Counted, total};
use crate::moves::aim::Aim;
use crate::moves::sizes::{Moves, Resize};
use crate::moves::{Cuts, Old, cut_available, cut_unhealthy, follow, grown};

/// The sizes on their way.
#[derive(Clone, Copy)]
struct Partition<'a> {
    aim: &'a Aim,
    run: i64,
    kept: i64,
    /// The sum of all.
    total: i64,
    /// Whether fewer pods are available than have to be.
    is_short: bool,
}

/// One reconcile of a rolling update under a ceiling: up, down, and up into the room that this makes (S6.5, SP-3).
pub(crate) fn roll(sets: &[Counted], aim: &Aim) -> Moves {
    let of = |index: Option<usize>| index.and_then(|index| sets.get(index)).copied().unwrap_or_default();
    let (run, kept) = (of(aim.run), of(aim.keep));
    let available: i64 = sets.iter().map(|set| set.available).sum();
    let is_short = available < aim.floor;
    let mut now = Partition { aim, run: run.size, kept: kept.size, total: total(sets), is_short };

    let excess = now.lower(run, available);
    // S9.21: pods that are not available go first.
    let lost = (-excess.map_or(0, Resize::difference) - (run.size - run.available).max(0)).max(0);
    let (kept_grows, run_grows) = now.grow();
    let created = aim.run.is_none().then_some(now.run);

    let Cuts { cuts, lags } = now.cut(sets, run, available - lost);
    let (keep_again, up_again) = if lags || cuts.is_empty() { (None, None) } else { now.grow() };
    let up = excess.or(run_grows).filter(|_| created.is_none());
    let keeps_first = is_short && excess.is_none();
    Moves { created, up, keep: kept_grows, cuts, up_again, keep_again, keeps_first, lags, ..Moves::default() }
}

impl Partition<'_> {
    /// How many pods the kept ReplicaSet should have.
    fn wanted(&self) -> i64 {
        self.aim.total - self.aim.ceiling
    }

    /// A running ReplicaSet above its ceiling comes down to it, as far as availability allows.
    fn lower(&mut self, run: Counted, available: i64) -> Option<Resize> {
        let budget = (run.size - run.available).max(0) + (available - self.aim.floor).max(0);
        let cut = (run.size - self.aim.ceiling).min(budget).max(0);
        let resize = Resize::needed(self.aim.run?, run.size, run.size - cut)?;
        self.run -= cut;
        self.total -= cut;
        Some(resize)
    }

    /// The kept ReplicaSet and the running one grow, as far as the cap allows; first the one that is needed more.
    fn grow(&mut self) -> (Option<Resize>, Option<Resize>) {
        if self.is_short {
            let kept = self.grow_kept();
            (kept, self.grow_run())
        } else {
            let run = self.grow_run();
            (self.grow_kept(), run)
        }
    }

    fn grow_kept(&mut self) -> Option<Resize> {
        // Nothing takes the place of one that is gone.
        let keep = self.aim.keep?;
        let from = self.kept;
        let to = grown(from, self.total, self.wanted().max(from), self.aim.cap);
        (self.kept, self.total) = (to, self.total + to - from);
        Resize::needed(keep, from, to)
    }

    /// `None` for a ReplicaSet that the plan creates: it has its size from the start.
    fn grow_run(&mut self) -> Option<Resize> {
        let from = self.run;
        let to = grown(from, self.total, self.aim.ceiling.max(from), self.aim.cap);
        (self.run, self.total) = (to, self.total + to - from);
        Resize::needed(self.aim.run?, from, to)
    }

    /// As S6.8 to S6.12; the kept ReplicaSet is the last one, and does not lose what it should have.
    fn cut(&mut self, sets: &[Counted], run: Counted, available: i64) -> Cuts {
        let mut olds = olds(sets, self.aim, self.wanted());
        if olds.is_empty() || !self.aim.may_cut() {
            return Cuts::default();
        }
        let max_down = self.total - self.aim.floor - (self.run - run.available);
        let mut cuts = if max_down > 0 { cut_unhealthy(&olds, max_down) } else { Cuts::default() };
        if max_down > 0 && !cuts.lags {
            follow(&mut olds, &cuts.cuts);
            cuts.cuts.extend(cut_available(&olds, available - self.aim.floor));
        }
        for cut in &cuts.cuts {
            self.total += cut.difference();
            self.kept += if Some(cut.set) == self.aim.keep { cut.difference() } else { 0 };
        }
        cuts
    }
}

/// Sets with pods that may lose some: in the order of the aim, and the kept one last.
fn olds(sets: &[Counted], aim: &Aim, wanted: i64) -> Vec<Old> {
    let others = sets.iter().enumerate().filter(|(index, set)| Some(*index) != aim.run && set.is_active());
    let old = |(set, it): (usize, &Counted)| {
        let kept = (Some(set) == aim.keep).then_some(wanted);
        Old { set, size: it.size, available: it.available, kept }
    };
    let mut olds: Vec<Old> = others.map(old).collect();
    let place = |set| aim.order.iter().position(|other| *other == set).unwrap_or(usize::MAX);
    olds.sort_by_key(|old| (Some(old.set) == aim.keep, place(old.set)));
    olds
}

/// SP-7: sizes follow R immediately where a rollout rests at its step, and where there is no pod.
pub(crate) fn at_rest(sets: &[Counted], aim: &Aim) -> Option<Moves> {
    let has_pods = sets.iter().any(Counted::is_active);
    (aim.is_partial() && (aim.is_at_rest || !has_pods && aim.run.is_some())).then(|| {
        let wanted = [(aim.keep, aim.total - aim.ceiling), (aim.run, aim.ceiling)];
        let share = |(set, to): (Option<usize>, i64)| {
            let (set, from) = set.and_then(|set| Some((set, sets.get(set)?.size)))?;
            (from > 0 || to > 0).then(|| Resize::new(set, from, to))
        };
        Moves { shares: wanted.into_iter().filter_map(share).collect(), ..Moves::default() }
    })
}

/// SP-7: what S8 gives the running ReplicaSet above the ceiling, and what it adds to others, goes to the kept ReplicaSet,
/// up to the size that it should have.
pub(crate) fn bounded(mut moves: Moves, sets: &[Counted], aim: &Aim) -> Moves {
    if !aim.is_partial() {
        return moves;
    }
    let mut excess = 0;
    for share in &mut moves.shares {
        let most = match Some(share.set) {
            set if set == aim.run => aim.ceiling,
            set if set == aim.keep || aim.keep.is_none() => continue,
            _ => share.from,
        };
        excess += (share.to - most).max(0);
        share.to = share.to.min(most);
    }
    let Some(keep) = aim.keep.filter(|_| excess > 0) else { return moves };
    // Garbled annotations may have left less than nothing.
    let room =
        (aim.cap.min(i64::from(i32::MAX)) - moves.shares.iter().map(|share| share.to).sum::<i64>()).max(0);
    let wanted = aim.total - aim.ceiling;
    let gained = |to: i64| to.max((to + excess.min(room)).min(wanted));
    match moves.shares.iter_mut().find(|share| share.set == keep) {
        Some(kept) => kept.to = gained(kept.to),
        None => {
            let size = sets.get(keep).map_or(0, |set| set.size);
            moves.shares.extend(Resize::needed(keep, size, gained(size)));
        }
    }
    moves
}
