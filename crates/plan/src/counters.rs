//! The counters of a status, computed from the sets (S9.1–S9.6, S9.14).

use crate::bug::{Bug, has};
use crate::conditions::{Condition, refresh_available, set_condition};
use crate::draft::Draft;
use crate::keys::condition;
use crate::observed::SetStatus;
use crate::status::{Ours, Status};

/// Counters and the condition Available, computed from the sets (S9.1–S9.8).
///
/// Sizes are those noted by [`Draft::note_sizes`]; statuses are as the sets report them.
pub(crate) fn calculate(draft: &Draft<'_>) -> Status {
    let workload = draft.workload;
    let sum =
        |field: fn(&SetStatus) -> i64| -> i64 { draft.sets.iter().map(|set| field(&set.seen.status)).sum() };
    let available = sum(|status| status.available);
    let floor = if has(Bug::CountersNegative) { i64::MIN } else { 0 };
    let (replicas, ready) = (sum(|status| status.replicas), sum(|status| status.ready));
    let has_extras = draft.observed.flavour.has_status_extras();
    let mut status = Status {
        observed_generation: workload.generation,
        replicas,
        updated_replicas: draft.new_set().map_or(0, |set| set.seen.status.replicas),
        ready_replicas: ready,
        available_replicas: available,
        // S9.3: against the sizes of the sets, not against R.
        unavailable_replicas: draft.noted_size.saturating_sub(available).max(floor),
        terminating_replicas: terminating(draft),
        collision_count: draft.status.collision_count,
        conditions: draft.status.conditions.clone(),
        ours: if has_extras { ours(draft, replicas, ready) } else { draft.status.ours.clone() },
    };
    refresh_available(&mut status.conditions, available >= draft.min_available(), draft.now);
    status
}

/// S9.4: absent when a set that was ever synced does not report its count.
fn terminating(draft: &Draft<'_>) -> Option<i64> {
    if !draft.observed.options.terminating_replicas {
        return None;
    }
    let mut total = 0;
    for set in &draft.sets {
        match set.seen.status.terminating {
            Some(count) => total += count,
            None if set.seen.status.observed_generation == 0 => {}
            None => return None,
        }
    }
    Some(total)
}

fn ours(draft: &Draft<'_>, replicas: i64, ready: i64) -> Ours {
    let (workload, known) = (draft.workload, &draft.status.ours);
    Ours {
        revision: draft.new_revision().or(known.revision),
        selector: workload.selector.as_ref().map(ToString::to_string),
        scale_replicas: Some(replicas.min(workload.replicas)),
        ready: Some(format!("{ready}/{}", workload.replicas)),
        containers: Some(workload.template.containers.clone()),
        images: Some(workload.template.images.clone()),
        rollback: known.rollback.clone(),
        collisions: known.collisions.clone(),
    }
}

/// ReplicaFailure follows the sets, the new one first (S9.14).
pub(crate) fn refresh_replica_failure(draft: &Draft<'_>, conditions: &mut Vec<Condition>) {
    let of_new = draft.new_set().and_then(|set| set.seen.status.failure.as_ref());
    let of_any = || draft.sets.iter().find_map(|set| set.seen.status.failure.as_ref());
    match of_new.or_else(of_any) {
        None => conditions.retain(|entry| entry.kind != condition::REPLICA_FAILURE),
        Some(failure) => set_condition(
            conditions,
            Condition {
                kind: condition::REPLICA_FAILURE.to_owned(),
                status: failure.status.clone(),
                reason: failure.reason.clone(),
                message: failure.message.clone(),
                last_update_time: failure.last_transition_time,
                last_transition_time: failure.last_transition_time,
                extra: serde_json::Map::new(),
            },
        ),
    }
}
