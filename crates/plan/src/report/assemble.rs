//! The order of writes. No other file knows it.
//!
//! Any prefix of a plan leaves a legal state, so a reconcile may end between any two rows.

use std::collections::BTreeSet;

use crate::course::checkpoints::JobWrite;
use crate::course::view::View;
use crate::decide::decisions::Decisions;
use crate::decide::deletions::{Deletions, History};
use crate::decide::rollback::Rollback;
use crate::decide::writes::{SetWrite, scaled, update};
use crate::model::action::{Action, Event, Plan, Planned, Target};
use crate::model::sets::Sets;
use crate::moves::aim::Because;
use crate::moves::sizes::Resize;
use crate::report::{Due, Report};

/// The table: what may be written in a reconcile, a row each, in this order. Most rows are empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Row {
    /// The Job of a gate or a hook: if the server refuses it, nothing else was done, and the status shows that.
    Job,
    /// The selector taken from the template.
    Selector,
    /// The status, if it is due first.
    StatusAtOnce,
    /// Deletions that make room for the ReplicaSet that is created (NS-2).
    Room,
    /// The ReplicaSet that is created.
    Creation,
    /// What the declared ReplicaSet takes over, with its size if that changes too: an object has one write a reconcile.
    Upkeep,
    /// The status, if it is due with the declared ReplicaSet.
    StatusWithDeclared,
    /// The running ReplicaSet, if the reconcile does not make more room for it.
    Growth,
    /// The status, if it is due before the cuts.
    StatusBeforeCuts,
    /// Cuts (S6.5), and sizes that follow R (S8).
    Sizes,
    /// The running ReplicaSet, grown before the cuts and into the room that they make.
    GrowthIntoRoom,
    /// A ReplicaSet that is created without pods while another one runs: a refusal holds nothing up (FP-11).
    CreationBeside,
    /// All other deletions.
    Deletions,
    /// The fingerprint on the ReplicaSet with the template to restore.
    Mark,
    /// The template to restore, or the request to clear (S10.9).
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

/// Whether ReplicaSets that are there are written to after a status that is due then.
pub(crate) fn is_followed(decisions: &Decisions<'_>, due: Due) -> bool {
    let status = Row::from(due);
    let is_marked = decisions.rollback.as_ref().is_some_and(|rollback| rollback.mark.is_some());
    (is_marked && Row::Mark > status)
        || decisions.writes.iter().any(|write| row_of(decisions, write.set) > status)
}

/// The row of the one write to a ReplicaSet that is there.
fn row_of(decisions: &Decisions<'_>, set: usize) -> Row {
    let Decisions { view: View { sets, .. }, upkeep, moves, .. } = decisions;
    let is_of = |step: Resize| step.set == set;
    if upkeep.is_needed() && sets.declared == Some(set) {
        Row::Upkeep
    } else if moves.ups_again().any(is_of) {
        Row::GrowthIntoRoom
    } else if moves.ups().any(is_of) {
        Row::Growth
    } else {
        Row::Sizes
    }
}

/// The actions of a plan, with the row of each.
#[derive(Default)]
struct Table {
    rows: Vec<Row>,
    actions: Vec<Planned>,
}

impl Table {
    /// Behind what is in its row already: there the rules have their order.
    fn put(&mut self, row: Row, action: Action, events: Vec<Event>) {
        let place = self.rows.partition_point(|other| *other <= row);
        self.rows.insert(place, row);
        self.actions.insert(place, Planned { action, events });
    }

    fn delete(&mut self, row: Row, deletions: Option<&Deletions>, sets: &Sets<'_>) {
        let indices = deletions.map_or(&[][..], |deletions| &deletions.sets);
        for set in indices.iter().filter_map(|index| sets.get(*index)) {
            self.put(row, Action::DeleteReplicaSet(Target::of(set)), Vec::new());
        }
    }
}

/// The plan: each write in its place.
pub(crate) fn assemble(mut decisions: Decisions<'_>, mut report: Report) -> Box<Plan> {
    let deviations = deviations(&decisions, &report);
    let size_before_step = decisions.size_before_step();
    let actions = actions(&mut decisions, &mut report);
    let observed = decisions.view.observed;
    let why = report.why.with_orphans(&observed.workload.namespace, &observed.answers.orphans);
    let Report { events, requeue, error, if_create_refused, awaited, status_waits, .. } = report;
    Box::new(Plan {
        actions,
        events,
        requeue,
        why,
        awaited,
        status_waits,
        error,
        deviations,
        if_create_refused,
        size_before_step,
    })
}

fn actions(decisions: &mut Decisions<'_>, report: &mut Report) -> Vec<Planned> {
    let mut table = Table::default();
    join_mark(decisions);
    match decisions.course.jobs.write.clone() {
        // GA-6: the revision that a rollback leaves begins no Job.
        Some(JobWrite::Create(_)) if decisions.rollback.is_some() => {}
        Some(JobWrite::Create(job)) => table.put(Row::Job, Action::CreateJob(job), Vec::new()),
        Some(JobWrite::Delete { name, uid }) => {
            table.put(Row::Job, Action::DeleteJob { name, uid }, Vec::new());
        }
        None => {}
    }
    for SetWrite { set, update, events, .. } in std::mem::take(&mut decisions.writes) {
        table.put(row_of(decisions, set), Action::UpdateReplicaSet(update), events);
    }
    if let Because::LacksSelector(selector) = &decisions.aim.because {
        table.put(Row::Selector, Action::SetSelector((**selector).clone()), Vec::new());
    }
    if let Some(write) = report.write.take() {
        table.put(report.due.into(), Action::WriteStatus(write), std::mem::take(&mut report.news));
    }
    let History { room, surplus, spare } = decisions.history;
    table.delete(Row::Room, room.as_ref(), decisions.view.sets);
    table.delete(Row::Deletions, Some(surplus), decisions.view.sets);
    table.delete(Row::Deletions, spare.as_ref(), decisions.view.sets);
    if let Some(creation) = decisions.creation.take() {
        let set = creation.set;
        let event = (set.size > 0).then(|| scaled(&set.name, 0, set.size));
        let row = if decisions.course.situation.is_declared() { Row::Creation } else { Row::CreationBeside };
        table.put(row, Action::CreateReplicaSet(Box::new(set)), event.into_iter().collect());
    }
    if let Some(rollback) = decisions.rollback.take() {
        roll_back(&mut table, *rollback, decisions.view.sets, report);
    }
    table.actions
}

/// An object has one write a reconcile: a mark joins that which the ReplicaSet gets anyway.
fn join_mark(decisions: &mut Decisions<'_>) {
    let Some(rollback) = &mut decisions.rollback else { return };
    let writes = &mut decisions.writes;
    let write = rollback.mark.as_ref().and_then(|(set, _)| writes.iter_mut().find(|write| write.set == *set));
    if let Some(write) = write
        && let Some((_, annotations)) = rollback.mark.take()
    {
        write.update.annotations.extend(annotations);
    }
}

fn roll_back(table: &mut Table, rollback: Rollback, sets: &Sets<'_>, report: &mut Report) {
    let Rollback { write, done, warning, mark, .. } = rollback;
    if let Some((set, annotations)) = mark
        && let Some(set) = sets.get(set)
    {
        table.put(Row::Mark, Action::UpdateReplicaSet(update(set, annotations)), Vec::new());
    }
    // The warning goes out once the writes before it are done: after a refused one, upstream has not looked
    // for the revision yet (S10.6).
    let before = table.rows.partition_point(|row| *row < Row::RollBack);
    let before = before.checked_sub(1).and_then(|last| table.actions.get_mut(last));
    let warning = warning.filter(|_| !report.is_warned);
    before.map_or(&mut report.events, |planned| &mut planned.events).extend(warning);
    table.put(Row::RollBack, Action::RollBack(Box::new(write)), done.into_iter().collect());
}

/// All rules from which the reconcile deviates on purpose.
fn deviations(decisions: &Decisions<'_>, report: &Report) -> BTreeSet<&'static str> {
    let Decisions { aim, upkeep, moves, creation, rollback, history, .. } = decisions;
    let mut all = BTreeSet::new();
    // One loop for all: mostly there is nothing to add.
    let mut add = |rules: &[&'static str]| rules.iter().for_each(|rule| _ = all.insert(*rule));
    add(&upkeep.deviations);
    for deletions in history.room.iter().chain([&history.surplus]).chain(&history.spare) {
        add(&deletions.deviations);
    }
    let created = creation.as_ref().and_then(|creation| creation.deviation);
    let rolled_back = rollback.as_ref().and_then(|rollback| rollback.deviation);
    for rule in [aim.deviation, moves.deviation, created, rolled_back, report.deviation] {
        add(rule.as_slice());
    }
    all
}
