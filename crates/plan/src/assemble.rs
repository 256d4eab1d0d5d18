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

/// What may be written in a pass, a row each; most are empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Row {
    /// The selector taken from the template.
    Selector,
    /// The status, if it is due then.
    Status(Due),
    /// Deletions that make room for the set that is created (NS-2).
    Room,
    /// The set that is created.
    Creation,
    /// What the declared set takes over, with its size if that changes too: an object has one write a pass.
    Upkeep,
    /// The running set, if the pass does not make more room for it.
    Growth,
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
}

/// The table.
const ORDER: [Row; 14] = [
    Row::Selector,
    Row::Status(Due::AtOnce),
    Row::Room,
    Row::Creation,
    Row::Upkeep,
    Row::Status(Due::WithDeclared),
    Row::Growth,
    Row::Status(Due::BeforeCuts),
    Row::Sizes,
    Row::GrowthIntoRoom,
    Row::Deletions,
    Row::Mark,
    Row::RollBack,
    Row::Status(Due::Last),
];

/// Whether sets that are there are written to after a status that is due then.
pub(crate) fn is_followed(decisions: &Decisions<'_>, due: Due) -> bool {
    let is_marked = decisions.rollback.as_ref().is_some_and(|rollback| rollback.mark.is_some());
    let is_written = |row: Row| {
        (row == Row::Mark && is_marked)
            || decisions.writes.iter().any(|write| row_of(decisions, write) == row)
    };
    ORDER.into_iter().skip_while(|row| *row != Row::Status(due)).any(is_written)
}

/// The row of the one write to a set that is there.
fn row_of(decisions: &Decisions<'_>, write: &SetWrite) -> Row {
    let Decisions { sets, upkeep, moves, .. } = decisions;
    let is_of = |step: Option<Resize>| step.is_some_and(|step| step.set == write.set);
    if upkeep.is_needed() && sets.declared == Some(write.set) {
        Row::Upkeep
    } else if is_of(moves.up_again) {
        Row::GrowthIntoRoom
    } else if is_of(moves.up) {
        Row::Growth
    } else {
        Row::Sizes
    }
}

/// The plan, row by row.
pub(crate) fn assemble(mut decisions: Decisions<'_>, mut report: Report) -> Plan {
    let deviations = deviations(&decisions, &report);
    let size_before_step = decisions.size_before_step();
    let mut writes = std::mem::take(&mut decisions.writes);
    let mut actions = Vec::new();
    for row in ORDER {
        let of_row = writes.extract_if(.., |write| row_of(&decisions, write) == row);
        let updated =
            |SetWrite { update, events, .. }| Planned { action: Action::UpdateReplicaSet(update), events };
        actions.extend(of_row.map(updated));
        match row {
            Row::Selector => actions.extend(selector(&decisions)),
            Row::Status(due) if due == report.due => actions.extend(status(&mut report)),
            Row::Room => actions.extend(deletions(&decisions, decisions.history.before_creation())),
            Row::Creation => actions.extend(creation(&mut decisions)),
            Row::Deletions => actions.extend(deletions(&decisions, decisions.history.afterwards())),
            Row::Mark => actions.extend(mark(&decisions)),
            Row::RollBack => {
                // Once the writes before it are done: after a refused one, upstream has not looked for the
                // revision yet (S10.6).
                let events = actions.last_mut().map_or(&mut report.events, |before| &mut before.events);
                events.extend(report.warning.take());
                actions.extend(rollback(&mut decisions));
            }
            Row::Status(_) | Row::Upkeep | Row::Growth | Row::Sizes | Row::GrowthIntoRoom => {}
        }
    }
    let observed = decisions.observed;
    let why = report.why.beside(&observed.workload.namespace, &observed.answers.orphans);
    let Report { events, wake, error, if_create_refused, .. } = report;
    Plan { actions, events, wake, why, error, deviations, if_create_refused, size_before_step }
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
    let action = Action::WriteStatus(Box::new(report.write.take()?));
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
    let single = [
        aim.deviation,
        creation.as_ref().and_then(|creation| creation.deviation),
        rollback.as_ref().and_then(|rollback| rollback.deviation),
    ];
    let several = [&upkeep.deviations, &moves.deviations, &report.deviations];
    let all = several.into_iter().flatten().copied().chain(single.into_iter().flatten());
    all.chain(history.deviations()).collect()
}
