//! The order of writes. No other file knows it.
//!
//! Any prefix of a plan leaves a legal state, so a pass may end between any two rows.

use std::collections::BTreeSet;

use crate::action::{Action, Plan, Planned, Target};
use crate::aim::Because;
use crate::decisions::Decisions;
use crate::report::{Due, Report};
use crate::sizes::Resize;
use crate::writes::{SetWrite, scaled, update};

/// The table: what may be written in a pass, a row each, in this order. Most rows are empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Row {
    /// The selector taken from the template.
    Selector,
    /// The status, if it is due at once.
    StatusAtOnce,
    /// Deletions that make room for the set that is created (NS-2).
    Room,
    /// The set that is created.
    Creation,
    /// What the declared set takes over, with its size if that changes too: an object has one write a pass.
    Upkeep,
    /// The status, if it is due with the declared set.
    StatusWithDeclared,
    /// The running set, if the pass does not make more room for it.
    Growth,
    /// The status, if it is due before the cuts.
    StatusBeforeCuts,
    /// Cuts (S6.5), and sizes that follow R (S8).
    Sizes,
    /// The running set, grown before the cuts and into the room that they make.
    GrowthIntoRoom,
    /// All other deletions.
    Deletions,
    /// The fingerprint on the set whose template is put back.
    Mark,
    /// The template that is put back, or the request that is cleared (S10.9).
    RollBack,
    /// The status, if it is due last.
    StatusLast,
}

impl From<Due> for Row {
    fn from(due: Due) -> Self {
        match due {
            Due::AtOnce => Self::StatusAtOnce,
            Due::WithDeclared => Self::StatusWithDeclared,
            Due::BeforeCuts => Self::StatusBeforeCuts,
            Due::Last => Self::StatusLast,
        }
    }
}

/// Whether sets that are there are written to after a status that is due then.
pub(crate) fn is_followed(decisions: &Decisions<'_>, due: Due) -> bool {
    let status = Row::from(due);
    let is_marked = decisions.rollback.as_ref().is_some_and(|rollback| rollback.mark.is_some());
    (is_marked && Row::Mark > status)
        || decisions.writes.iter().any(|write| row_of(decisions, write.set) > status)
}

/// The row of the one write to a set that is there.
fn row_of(decisions: &Decisions<'_>, set: usize) -> Row {
    let Decisions { sets, upkeep, moves, .. } = decisions;
    let is_of = |step: Option<Resize>| step.is_some_and(|step| step.set == set);
    if upkeep.is_needed() && sets.declared == Some(set) {
        Row::Upkeep
    } else if is_of(moves.up_again) {
        Row::GrowthIntoRoom
    } else if is_of(moves.up) {
        Row::Growth
    } else {
        Row::Sizes
    }
}

/// The plan: each write in its place.
pub(crate) fn assemble(mut decisions: Decisions<'_>, mut report: Report) -> Plan {
    let deviations = deviations(&decisions, &report);
    let size_before_step = decisions.size_before_step();
    let mut placed: Vec<(Row, Planned)> = Vec::new();
    for SetWrite { set, update, events, .. } in std::mem::take(&mut decisions.writes) {
        placed.push((row_of(&decisions, set), Planned { action: Action::UpdateReplicaSet(update), events }));
    }
    let due = Row::from(report.due);
    place(&mut placed, Row::Selector, selector(&decisions));
    place(&mut placed, due, status(&mut report));
    place(&mut placed, Row::Room, deletions(&decisions, decisions.history.before_creation()));
    place(&mut placed, Row::Creation, creation(&mut decisions));
    place(&mut placed, Row::Deletions, deletions(&decisions, decisions.history.afterwards()));
    place(&mut placed, Row::Mark, mark(&decisions));
    place(&mut placed, Row::RollBack, rollback(&mut decisions));
    // Stable: within a row the rules have their order.
    placed.sort_by_key(|(row, _)| *row);
    warn(&mut placed, &mut report);
    let actions = placed.into_iter().map(|(_, planned)| planned).collect();
    let observed = decisions.observed;
    let why = report.why.beside(&observed.workload.namespace, &observed.answers.orphans);
    let Report { events, wake, error, if_create_refused, is_held: holds_status, .. } = report;
    Plan { actions, events, wake, why, holds_status, error, deviations, if_create_refused, size_before_step }
}

/// Mostly there is nothing to place, and a loop over nothing moves nothing.
fn place(placed: &mut Vec<(Row, Planned)>, row: Row, writes: impl IntoIterator<Item = Planned>) {
    for planned in writes {
        placed.push((row, planned));
    }
}

/// The warning of a rollback goes out once the writes before it are done: after a refused one, upstream has
/// not looked for the revision yet (S10.6).
fn warn(placed: &mut [(Row, Planned)], report: &mut Report) {
    let Some(warning) = report.warning.take() else { return };
    let before = placed.iter_mut().take_while(|(row, _)| *row != Row::RollBack).last();
    before.map_or(&mut report.events, |(_, planned)| &mut planned.events).push(warning);
}

fn silent(action: Action) -> Planned {
    Planned { action, events: Vec::new() }
}

fn selector(decisions: &Decisions<'_>) -> Option<Planned> {
    match &decisions.aim.because {
        Because::LacksSelector(selector) => Some(silent(Action::SetSelector(selector.clone()))),
        _ => None,
    }
}

fn status(report: &mut Report) -> Option<Planned> {
    let action = Action::WriteStatus(report.write.take()?);
    Some(Planned { action, events: std::mem::take(&mut report.news) })
}

fn creation(decisions: &mut Decisions<'_>) -> Option<Planned> {
    let set = decisions.creation.take()?.set;
    let event = (set.size > 0).then(|| scaled(&set.name, 0, set.size));
    Some(Planned { action: Action::CreateReplicaSet(Box::new(set)), events: event.into_iter().collect() })
}

fn deletions(decisions: &Decisions<'_>, sets: impl Iterator<Item = usize>) -> impl Iterator<Item = Planned> {
    let sets = sets.filter_map(|set| decisions.sets.get(set));
    sets.map(|set| silent(Action::DeleteReplicaSet(Target::of(set))))
}

fn mark(decisions: &Decisions<'_>) -> Option<Planned> {
    let (set, annotations) = decisions.rollback.as_ref()?.mark.clone()?;
    Some(silent(Action::UpdateReplicaSet(update(decisions.sets.get(set)?, annotations))))
}

fn rollback(decisions: &mut Decisions<'_>) -> Option<Planned> {
    let rollback = decisions.rollback.take()?;
    let events = rollback.done.into_iter().collect();
    Some(Planned { action: Action::RollBack(Box::new(rollback.write)), events })
}

/// All rules from which the pass deviates on purpose.
fn deviations(decisions: &Decisions<'_>, report: &Report) -> BTreeSet<&'static str> {
    let Decisions { aim, upkeep, moves, creation, rollback, history, .. } = decisions;
    let mut all = BTreeSet::new();
    for rules in [&upkeep.deviations, &moves.deviations, &report.deviations] {
        all.extend(rules);
    }
    for deletions in history.room.iter().chain([&history.surplus]).chain(&history.spare) {
        all.extend(&deletions.deviations);
    }
    all.extend(aim.deviation);
    all.extend(creation.as_ref().and_then(|creation| creation.deviation));
    all.extend(rollback.as_ref().and_then(|rollback| rollback.deviation));
    all
}
