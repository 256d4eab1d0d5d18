//! The counters of a status, computed from the ReplicaSets (S9.1–S9.6, S9.14).

use crate::course::Course;
use crate::course::view::View;
use crate::model::conditions::{Condition, Edit, refresh_available};
use crate::model::keys::condition;
use crate::model::observed::SetStatus;
use crate::model::status::{Counts, InHand, Marks, TargetRecord};
use crate::model::written::reads;

/// What the counters are computed from, beside the ReplicaSets.
pub(crate) struct Tally<'a> {
    pub(crate) view: View<'a>,
    /// The sum of sizes behind `unavailableReplicas` (S9.3).
    pub(crate) total: i64,
    /// The revision of the declared ReplicaSet, there or to be created.
    pub(crate) revision: Option<i64>,
    /// What runs instead of that ReplicaSet.
    pub(crate) target: Option<TargetRecord>,
    pub(crate) course: &'a Course,
    /// How many pods have to be available (S9.8).
    pub(crate) floor: i64,
}

/// Counters and the condition Available, computed from the ReplicaSets (S9.1–S9.8).
///
/// The status in hand is copied only if something of it changes.
pub(crate) fn calculate<'a>(tally: &Tally<'_>, in_hand: &InHand<'a>) -> InHand<'a> {
    let mut status = in_hand.clone();
    let counts = counts(tally);
    if status.counts() != counts {
        status.edit().set_counts(counts);
    }
    if tally.view.observed.flavour.has_status_extras() {
        report_extras(tally, counts, &mut status);
    }
    refresh_available(&mut status, counts.available_replicas >= tally.floor, tally.view.now);
    status
}

fn counts(tally: &Tally<'_>) -> Counts {
    let all = &tally.view.sets.all;
    let sum = |field: fn(&SetStatus) -> i64| -> i64 { all.iter().map(|set| field(&set.status)).sum() };
    let available = sum(|status| status.available);
    Counts {
        observed_generation: tally.view.observed.workload.generation,
        replicas: sum(|status| status.replicas),
        updated_replicas: tally.view.sets.declared().map_or(0, |set| set.status.replicas),
        ready_replicas: sum(|status| status.ready),
        available_replicas: available,
        // S9.3: against the sizes of the ReplicaSets, not against R.
        unavailable_replicas: tally.total.saturating_sub(available).max(0),
        terminating_replicas: terminating(tally),
    }
}

/// S9.4: absent when a ReplicaSet that was ever synced does not report its count.
fn terminating(tally: &Tally<'_>) -> Option<i64> {
    if !tally.view.observed.options.terminating_replicas {
        return None;
    }
    let mut total = 0;
    for set in &tally.view.sets.all {
        match set.status.terminating {
            Some(count) => total += count,
            None if set.status.observed_generation == 0 => {}
            None => return None,
        }
    }
    Some(total)
}

/// The status fields of rollwright.dev. Texts are compared before they are made: mostly they stand there.
fn report_extras(tally: &Tally<'_>, counts: Counts, status: &mut InHand<'_>) {
    let workload = &tally.view.observed.workload;
    let (containers, images) = (&workload.template.containers, &workload.template.images);
    let ready = format_args!("{}/{}", counts.ready_replicas, workload.replicas);
    let revision = tally.revision.or(status.ours.revision);
    let scale_replicas = Some(counts.replicas.min(workload.replicas));
    let known = &status.ours;
    let numbers = (revision, scale_replicas, Some(workload.replicas));
    if (known.revision, known.scale_replicas, known.replicas) != numbers {
        let ours = &mut status.edit().ours;
        (ours.revision, ours.scale_replicas, ours.replicas) = numbers;
    }
    report_policy(tally, status);
    if status.ours.target != tally.target {
        status.edit().ours.target.clone_from(&tally.target);
    }
    if !status.ours.ready.as_ref().is_some_and(|known| reads(known, &ready)) {
        status.edit().ours.ready = Some(ready.to_string());
    }
    let knows_selector = match (&status.ours.selector, &workload.selector) {
        (Some(known), Some(selector)) => reads(known, selector),
        (None, None) => true,
        _ => false,
    };
    if !knows_selector {
        status.edit().ours.selector = workload.selector.as_ref().map(ToString::to_string);
    }
    if status.ours.containers.as_ref() != Some(containers) {
        status.edit().ours.containers = Some(containers.clone());
    }
    if status.ours.images.as_ref() != Some(images) {
        status.edit().ours.images = Some(images.clone());
    }
}

/// What a failure policy adds; nothing without one.
fn report_policy(tally: &Tally<'_>, status: &mut InHand<'_>) {
    let Tally { view, course, .. } = *tally;
    let fallback = course.fallback_record(view);
    if status.ours.fallback != fallback {
        status.edit().ours.fallback = fallback;
    }
    if status.ours.bake != course.bake {
        status.edit().ours.bake.clone_from(&course.bake);
    }
    // A ReplicaSet that runs again, after another one ran, starts without marks.
    let has_marks = view.workload().failure_policy.is_some() && tally.target.is_none();
    let revision = tally.revision.filter(|_| has_marks);
    let marks = view.sets.declared().zip(revision).map(|(set, revision)| {
        Marks::raised(status.ours.marks.as_ref(), set, revision, view.workload().replicas)
    });
    // FP-3: a ReplicaSet that is created has none yet. Those of one before it with the same revision, which was deleted
    // or got another number, are not its own.
    let kept = status.ours.marks.filter(|_| has_marks).map(|known| match revision {
        Some(revision) if revision == known.revision => {
            Marks { revision, replicas: known.replicas, ..Marks::default() }
        }
        _ => known,
    });
    let marks = marks.or(kept);
    if status.ours.marks != marks {
        status.edit().ours.marks = marks;
    }
}

/// ReplicaFailure follows the ReplicaSets, the declared one first (S9.14). On rollwright.dev, its message is about that
/// ReplicaSet, too; upstream keeps the message of an earlier one.
pub(crate) fn replica_failure(view: View<'_>) -> Edit {
    let View { observed, sets, .. } = view;
    let of_declared = sets.declared().and_then(|set| set.status.failure.as_ref());
    let of_any = || sets.all.iter().find_map(|set| set.status.failure.as_ref());
    let Some(failure) = of_declared.or_else(of_any) else { return Edit::Drop(condition::REPLICA_FAILURE) };
    let edit = if observed.flavour.has_status_extras() { Edit::Say } else { Edit::Set };
    edit(Box::new(Condition {
        kind: condition::REPLICA_FAILURE.to_owned(),
        status: failure.status.clone(),
        reason: failure.reason.clone(),
        message: failure.message.clone(),
        last_update_time: failure.last_transition_time,
        last_transition_time: failure.last_transition_time,
        extra: serde_json::Map::new(),
    }))
}
