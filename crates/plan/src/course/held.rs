//! Whether a rollout waits for somebody's word, because the operator that began it leads no more (HO-1 to HO-6;
//! rollwright.dev, with `resumePolicy: Manual`).
//!
//! The memory of the declared ReplicaSet names the epoch in which its rollout last moved: a start of the operator, a
//! term of its leadership. It is written with the first write of a rollout, and goes when there is nothing left to
//! move. In another epoch, the rollout stands still until somebody names the revision and the recorded epoch, so that
//! the word means nothing for a hold that comes later.

use crate::course::memory::{EPOCH, Memory};
use crate::course::requests::asked;
use crate::course::view::View;
use crate::model::action::Event;
use crate::model::keys::{RESUME, ROLLOUT, reason};
use crate::model::observed::{ReplicaSet, Workload};
use crate::model::position::Walk;
use crate::model::revision;
use crate::model::sets::total;

/// What stands in the place of an epoch for a rollback: no restart holds it up.
const ROLLBACK: &str = "rollback";
/// An epoch is remembered, and somebody may have to write it.
const EPOCH_MAX: usize = 100;

/// The memory of the declared ReplicaSet, with what is reported once it is written.
pub(crate) type Noted = Box<(Memory, Vec<Event>)>;

/// What the epochs come to in a reconcile.
#[derive(Debug, Default)]
pub(crate) struct Held {
    /// Whether nothing of the rollout moves.
    pub(crate) is_held: bool,
    /// Whether this reconcile records the epoch in which it moves from now on: nothing moves before that is stored.
    pub(crate) begins: bool,
}

/// The epoch that a rollout is recorded with; `None` where nobody records one.
fn current(view: View<'_>) -> Option<String> {
    let applies = view.observed.flavour.has_safeguards() && view.workload().resumes_by_word;
    let [process, term, stay] = view.observed.options.epoch.filter(|_| applies)?;
    Some(format!("{process:x}-{term}-{stay}"))
}

/// What a revision records that is declared by this reconcile. Where nothing else has pods, nothing can be held.
pub(crate) fn fresh(view: View<'_>) -> Option<String> {
    let epoch = current(view).filter(|_| others_have_pods(view))?;
    Some(if is_rolled_back(view) { ROLLBACK.to_owned() } else { epoch })
}

/// HO-2: whether the rollout of the declared ReplicaSet is under way, and was so in another epoch. A pause, and a pin,
/// are words of a user: the rollout continues when he ends them.
pub(crate) fn is_due(view: View<'_>) -> bool {
    let workload = view.workload();
    if workload.paused || workload.deleting || workload.pin_in_force().is_some() {
        return false;
    }
    let Some((epoch, set)) = current(view).zip(view.sets.declared()) else { return false };
    // One that is declared again gets another revision by this reconcile.
    let Some(known) = Memory::valid(set).filter(|_| view.begun().is_some()) else { return false };
    let is_other = known.epoch.as_ref().is_some_and(|known| *known != epoch && known != ROLLBACK);
    is_other && is_under_way(view, &known) && !is_outage(view, &known) && !is_released(workload, &known)
}

impl Held {
    /// What follows from the epochs. What the declared ReplicaSet has to remember gets the present one, unless it `runs`,
    /// and its rollout is held.
    pub(crate) fn decided(view: View<'_>, is_due: bool, runs: bool, declared: &mut Option<Noted>) -> Self {
        let is_marked =
            |set: &ReplicaSet| set.annotations.get(ROLLOUT).is_some_and(|text| text.contains(EPOCH));
        let is_asked = |set: &&ReplicaSet| view.workload().resumes_by_word || is_marked(set);
        let is_ours = view.observed.flavour.has_safeguards();
        let Some(set) = view.sets.declared().filter(|set| is_ours && is_asked(set)) else {
            return Self::default();
        };
        let known = declared.as_ref().map_or_else(|| Memory::known(set), |noted| noted.0.clone());
        let is_promoted =
            declared.as_ref().is_some_and(|noted| noted.0.promotions != Memory::known(set).promotions);
        if is_due && runs && !is_promoted {
            return Self { is_held: true, begins: false };
        }
        let workload = view.workload();
        let is_another = view.begun().is_none() || workload.deleting;
        let next = match current(view) {
            Some(epoch) if is_under_way(view, &known) => {
                Some(known.epoch.clone().filter(|known| known == ROLLBACK).unwrap_or(epoch))
            }
            // Who plans without an epoch beside the operator knows nothing about it.
            None if workload.resumes_by_word => return Self::default(),
            _ => None,
        };
        if is_another || next == known.epoch || revision::of(set).number().is_none() {
            return Self::default();
        }
        let begins = next.is_some() && runs && !workload.paused;
        let is_word = is_released(workload, &known) && known.epoch.is_some();
        let message = || format!("Revision {} continues, as somebody asked", known.revision);
        let event = is_word.then(|| Event::normal(reason::HOLD_RELEASED, message()));
        let events = declared.take().map_or_else(Vec::new, |noted| noted.1);
        let events = events.into_iter().chain(event).collect();
        *declared = Some(Box::new((Memory { epoch: next, ..known }, events)));
        Self { is_held: false, begins }
    }
}

/// HO-1: others than the declared ReplicaSet have pods, or it has fewer than it should for another reason than a change
/// of R, or there is a step ahead.
fn is_under_way(view: View<'_>, known: &Memory) -> bool {
    let replicas = view.workload().replicas;
    let counted = view.sets.declared.and_then(|declared| view.sets.counted.get(declared));
    let is_short = counted.is_some_and(|run| run.size < replicas && run.desired == Some(replicas));
    others_have_pods(view) || is_short || has_step_ahead(known)
}

fn others_have_pods(view: View<'_>) -> bool {
    view.sets.olds().any(|(_, set)| set.is_active())
}

fn has_step_ahead(known: &Memory) -> bool {
    known.walk.as_ref().and_then(Walk::position).is_some_and(|position| position.step.is_some())
}

/// HO-4: there are fewer pods than have to stay, as under Recreate between its cut and its growth: to wait would be an
/// outage. Where a step divides the pods, each ReplicaSet gets its own back.
fn is_outage(view: View<'_>, known: &Memory) -> bool {
    let workload = view.workload();
    let minimum = workload.strategy.floor(workload.replicas).max(1);
    workload.replicas > 0 && !has_step_ahead(known) && total(&view.sets.counted) < minimum
}

/// Whether the template that is declared by this reconcile is that which a rollback restored.
pub(crate) fn is_rolled_back(view: View<'_>) -> bool {
    let record = view.workload().status.ours.rollback.as_ref().filter(|record| record.result == "RolledBack");
    let last = record.and_then(|record| record.recent.last());
    // One that a user declares again later got another revision by the rollback.
    let is_it = |set: &ReplicaSet| revision::of(set).number() == record.map(|record| record.revision);
    let carries =
        |set: &ReplicaSet, print: &str| set.fingerprints.iter().any(|known| known.as_str() == print);
    let newest = view.sets.olds().max_by_key(|(_, set)| revision::of(set).or_zero());
    // What ran until now is what the rollback left.
    last.zip(view.sets.declared()).is_some_and(|(last, declared)| {
        is_it(declared)
            && carries(declared, &last.to)
            && newest.is_some_and(|(_, set)| carries(set, &last.from))
    })
}

/// HO-5: whether somebody asks to continue this very rollout.
fn is_released(workload: &Workload, known: &Memory) -> bool {
    word(known).is_some_and(|word| asked(workload, RESUME, known.revision) == Some(word))
}

/// The word that releases the rollout.
fn word(known: &Memory) -> Option<String> {
    let epoch = known.epoch.as_ref().filter(|epoch| epoch.len() <= EPOCH_MAX)?;
    Some(format!("{}/{epoch}", known.revision))
}

impl ReplicaSet {
    /// The value of [`RESUME`] that continues the rollout of this ReplicaSet, if it is held (HO-5).
    #[must_use]
    pub fn word_to_resume(&self) -> Option<String> {
        Memory::valid(self).as_ref().and_then(word)
    }
}
