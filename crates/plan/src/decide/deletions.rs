//! Which old ReplicaSets are deleted (S11, NS-2).

use jiff::Timestamp;

use crate::course::view::View;
use crate::decide::creation::{self, Creation};
use crate::decide::upkeep::Upkeep;
use crate::decide::writes::SetWrite;
use crate::model::conditions::{Condition, Edit};
use crate::model::durations::CLEAN_UP_AGE;
use crate::model::keys::{condition, reason};
use crate::model::observed::{ReplicaSet, Workload};
use crate::model::revision::{self, Revision};
use crate::model::sets::Sets;
use crate::moves::aim::{Aim, Because, Manner};
use crate::moves::sizes::Moves;

/// How many ReplicaSets without a size there may be beyond the limit (NS-2).
const SPARE: usize = 5;

/// The ReplicaSets that a reconcile deletes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct History {
    /// Those that make room for a ReplicaSet that is created (NS-2).
    pub(crate) room: Option<Deletions>,
    /// Those beyond the limit, once a rollout is complete (S11).
    pub(crate) surplus: Deletions,
    /// Those beyond the bound, at the end of a reconcile (NS-2).
    pub(crate) spare: Option<Deletions>,
}

/// Some ReplicaSets that go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Deletions {
    /// Their indices, in order.
    pub(crate) sets: Vec<usize>,
    /// When the next one is old enough to go.
    pub(crate) due: Option<Timestamp>,
    /// Whether more should go than may.
    pub(crate) is_short: bool,
    /// Rules from which the choice deviates on purpose.
    pub(crate) deviations: Vec<&'static str>,
}

/// What a choice of ReplicaSets depends on.
#[derive(Clone, Copy)]
pub(crate) struct CleanUp<'a> {
    pub(crate) view: View<'a>,
    /// The size of the ReplicaSet that is created.
    pub(crate) created: Option<i64>,
    pub(crate) upkeep: &'a Upkeep,
    /// The ReplicaSet that is created, once it is there.
    pub(crate) creation: Option<&'a Creation>,
    /// Writes that come before.
    pub(crate) writes: &'a [SetWrite],
    /// Indices of the ReplicaSets that are never deleted: the fallback (FP-9), and the one that a step keeps (SP-3).
    pub(crate) kept: [Option<usize>; 2],
}

/// The ReplicaSets that go: to make room for a new one, because a rollout is complete, and because there are
/// too many although none completes.
pub(crate) fn history(clean_up: &CleanUp<'_>, aim: &Aim, moves: &Moves) -> History {
    // The room is made before anything else is done.
    let before = || CleanUp { creation: None, writes: &[], ..*clean_up };
    let room = clean_up.created.and_then(|_| make_room(&before(), &[]));
    let mut gone = room.as_ref().map_or_else(Vec::new, |room| room.sets.clone());
    let surplus = if is_over(clean_up.view.workload(), aim, moves) {
        of_a_complete_rollout(clean_up, &gone)
    } else {
        Deletions::default()
    };
    gone.extend(&surplus.sets);
    let spare = if aim.is_rolling_out(moves) { make_room(clean_up, &gone) } else { None };
    History { room, surplus, spare }
}

/// S11.1, S7.7, S3.11: by the stored status, a rollout that has nothing left to do, and no step keeps pods (SP-3); or
/// any paused reconcile without a request for a rollback.
fn is_over(workload: &Workload, aim: &Aim, moves: &Moves) -> bool {
    if matches!(aim.because, Because::Paused) {
        return workload.rollback_to.is_none();
    }
    let is_at_rest = aim.manner == Manner::Whole || !(moves.is_up() || moves.is_down());
    aim.is_rolling_out(moves) && is_at_rest && !aim.is_partial() && workload.is_stored_complete()
}

/// Idle old ReplicaSets beyond the limit, the lowest revisions first (S11.2–S11.6).
fn of_a_complete_rollout(clean_up: &CleanUp<'_>, gone: &[usize]) -> Deletions {
    let View { observed, sets, now } = clean_up.view;
    let surplus = surplus(&observed.workload, sets, clean_up.kept, gone);
    if surplus == 0 {
        return Deletions::default();
    }
    let (candidates, mut deviations) = sorted(candidates(&observed.workload, sets, clean_up.kept, gone));
    let (mut deleted, mut due) = (Vec::new(), None);
    // S11.5: what may not go is skipped, and nothing goes in its place.
    for (index, set) in candidates.into_iter().take(surplus).filter(|(_, set)| is_idle(set)) {
        due = clean_up.old_enough_from(set).filter(|from| *from > now);
        if due.is_some() {
            // HC-2: no higher revision goes before it.
            break;
        }
        if clean_up.writes_to(index) {
            // S11.6: upstream deletes by what it saw before it scaled the ReplicaSet up.
            deviations.push("S11.6");
        } else {
            deleted.push(index);
        }
    }
    Deletions { sets: deleted, due, is_short: false, deviations }
}

/// Keeps the number of ReplicaSets bounded although no rollout completes (NS-2): at the cap the lowest revisions among
/// idle old ReplicaSets go, before one more is created. The one that a rollback asks for stays, and the new ReplicaSet
/// is never refused. Upstream has no such bound.
fn make_room(clean_up: &CleanUp<'_>, gone: &[usize]) -> Option<Deletions> {
    let View { observed, sets, .. } = clean_up.view;
    if !observed.flavour.has_safeguards() {
        return None;
    }
    let excess = clean_up.excess(gone);
    if excess == 0 {
        return Some(Deletions::default());
    }
    let requested = observed.workload.rollback_to;
    let declared = creation::revision(sets, clean_up.upkeep, clean_up.creation).map(Revision::or_zero);
    let pinned = requested.map(|requested| revision::wanted(requested, sets, declared));
    let pin = pinned.as_ref().and_then(|wanted| wanted.number);
    let may_go = |(index, set): &(usize, &ReplicaSet)| {
        is_idle(set)
            && !clean_up.writes_to(*index)
            && pin.is_none_or(|pin| revision::of(set).or_zero() != pin)
    };
    let (spare, mut deviations) =
        sorted(candidates(&observed.workload, sets, clean_up.kept, gone).filter(may_go));
    deviations.extend(pinned.and_then(|wanted| wanted.deviation));
    let is_short = spare.len() < excess;
    let sets = spare.into_iter().take(excess).map(|(index, _)| index).collect();
    Some(Deletions { sets, due: None, is_short, deviations })
}

impl<'a> CleanUp<'a> {
    pub(crate) fn new(
        view: View<'a>,
        aim: &Aim,
        upkeep: &'a Upkeep,
        creation: Option<&'a Creation>,
        writes: &'a [SetWrite],
    ) -> Self {
        let created = creation.map(|creation| creation.set.size);
        Self { view, created, upkeep, creation, writes, kept: aim.stays() }
    }

    /// From when on a ReplicaSet is old enough to go, on rollwright.dev (S11.5): a backup tool that restores older
    /// ReplicaSets still writes to each one that it has created (velero#7180).
    fn old_enough_from(&self, set: &ReplicaSet) -> Option<Timestamp> {
        let age = self.view.observed.flavour.has_safeguards().then_some(CLEAN_UP_AGE)?;
        set.created.checked_add(age).ok()
    }

    /// By how many the ReplicaSets without a size exceed the cap of NS-2, one that is created included.
    fn excess(&self, gone: &[usize]) -> usize {
        let Some(limit) = self.view.workload().revision_history_limit else { return 0 };
        let left = self.view.sets.all.iter().enumerate().filter(|(index, _)| !gone.contains(index));
        let sizes =
            left.map(|(index, set)| self.write_to(index).map_or(set.size, |write| write.update.size_to));
        let idle = sizes.chain(self.created).filter(|size| *size == 0).count();
        let room = usize::try_from(limit.max(0)).unwrap_or(usize::MAX).saturating_add(SPARE);
        idle.saturating_sub(room)
    }

    fn write_to(&self, set: usize) -> Option<&SetWrite> {
        self.writes.iter().find(|write| write.set == set)
    }

    fn writes_to(&self, set: usize) -> bool {
        self.write_to(set).is_some()
    }
}

impl Deletions {
    /// The condition for a Deployment that has no room (NS-2).
    pub(crate) fn edit(&self, now: Timestamp) -> Edit {
        if !self.is_short {
            return Edit::Drop(condition::REVISION_LIMIT_REACHED);
        }
        let message = "There are more ReplicaSets of size 0 than spec.revisionHistoryLimit + 5, and too few of \
                       them can be deleted: the others still have pods, or their status is not up to date.";
        Edit::Set(Box::new(Condition::new(
            condition::REVISION_LIMIT_REACHED,
            "True",
            reason::NO_IDLE_REPLICA_SET,
            message.to_owned(),
            now,
        )))
    }
}

/// Whether a complete rollout has ReplicaSets beyond the limit.
pub(crate) fn has_surplus(workload: &Workload, sets: &Sets<'_>, kept: [Option<usize>; 2]) -> bool {
    surplus(workload, sets, kept, &[]) > 0
}

/// S11.2, S11.3.
fn surplus(workload: &Workload, sets: &Sets<'_>, kept: [Option<usize>; 2], gone: &[usize]) -> usize {
    let count = i64::try_from(candidates(workload, sets, kept, gone).count()).unwrap_or(i64::MAX);
    let limit = workload.revision_history_limit;
    limit.and_then(|limit| usize::try_from(count.saturating_sub(limit)).ok()).unwrap_or(0)
}

/// Old ReplicaSets that nobody deletes yet, oldest first (S11.3), without those that stay, and the one that a pin names
/// (FP-9).
fn candidates<'a>(
    workload: &Workload,
    sets: &Sets<'a>,
    kept: [Option<usize>; 2],
    gone: &[usize],
) -> impl Iterator<Item = (usize, &'a ReplicaSet)> {
    let pinned = workload.pin.as_ref().and_then(|pin| sets.with_hash(&pin.pod_template_hash));
    let may_go = move |index: usize, set: &ReplicaSet| {
        !set.deleting && !gone.contains(&index) && pinned != Some(index) && !kept.contains(&Some(index))
    };
    sets.olds().filter(move |(index, set)| may_go(*index, set))
}

/// As it was seen: a ReplicaSet that this reconcile takes down to 0 still has its pods (S11.5).
fn is_idle(set: &ReplicaSet) -> bool {
    set.size == 0 && is_empty(set) && !set.deleting
}

/// Whether its controller has counted, and counted none.
fn is_empty(set: &ReplicaSet) -> bool {
    set.status.replicas == 0 && set.generation <= set.status.observed_generation
}

/// By revision, without one first, then by age (S11.4); and the rule from which that deviates. Garbage
/// counts as absent: upstream falls back to the age for each pair, an order that is not transitive.
fn sorted<'a>(
    candidates: impl Iterator<Item = (usize, &'a ReplicaSet)>,
) -> (Vec<(usize, &'a ReplicaSet)>, Vec<&'static str>) {
    let mut candidates: Vec<_> = candidates.collect();
    let is_garbled = |(_, set): &(usize, &ReplicaSet)| revision::of(set) == Revision::Garbage;
    let deviations = candidates.iter().any(is_garbled).then_some("S5.3").into_iter().collect();
    // Stable: they came by age.
    candidates.sort_by_cached_key(|(_, set)| revision::of(set).or_zero());
    (candidates, deviations)
}
