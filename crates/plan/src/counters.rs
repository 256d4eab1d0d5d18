//! The counters of a status, computed from the sets (S9.1–S9.6, S9.14).

use std::borrow::Cow;
use std::fmt::{self, Write as _};

use crate::bug::{Bug, has};
use crate::conditions::{Condition, drop_condition, refresh_available, set_condition};
use crate::draft::Draft;
use crate::keys::condition;
use crate::observed::SetStatus;
use crate::status::{Counts, Status};

/// Counters and the condition Available, computed from the sets (S9.1–S9.8).
///
/// Sizes are those noted by [`Draft::note_sizes`]; statuses are as the sets report them. The status
/// in hand is copied only if something of it changes.
pub(crate) fn calculate<'a>(draft: &Draft<'a>) -> Cow<'a, Status> {
    let mut status = draft.status.clone();
    let counts = counts(draft);
    if status.counts() != counts {
        status.to_mut().set_counts(counts);
    }
    if draft.observed.flavour.has_status_extras() {
        tell_ours(draft, counts, &mut status);
    }
    refresh_available(&mut status, counts.available_replicas >= draft.min_available, draft.now);
    status
}

fn counts(draft: &Draft<'_>) -> Counts {
    let sum =
        |field: fn(&SetStatus) -> i64| -> i64 { draft.sets.iter().map(|set| field(&set.seen.status)).sum() };
    let available = sum(|status| status.available);
    let floor = if has(Bug::CountersNegative) { i64::MIN } else { 0 };
    Counts {
        observed_generation: draft.workload.generation,
        replicas: sum(|status| status.replicas),
        updated_replicas: draft.new_set().map_or(0, |set| set.seen.status.replicas),
        ready_replicas: sum(|status| status.ready),
        available_replicas: available,
        // S9.3: against the sizes of the sets, not against R.
        unavailable_replicas: draft.noted_size.saturating_sub(available).max(floor),
        terminating_replicas: terminating(draft),
    }
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

/// The status fields of our kind. Texts are compared before they are made: mostly they stand there.
fn tell_ours(draft: &Draft<'_>, counts: Counts, status: &mut Cow<'_, Status>) {
    let workload = draft.workload;
    let (containers, images) = (&workload.template.containers, &workload.template.images);
    let ready = format_args!("{}/{}", counts.ready_replicas, workload.replicas);
    let revision = draft.new_revision().or(status.ours.revision);
    let scale_replicas = Some(counts.replicas.min(workload.replicas));
    let known = &status.ours;
    if known.revision != revision || known.scale_replicas != scale_replicas {
        let ours = &mut status.to_mut().ours;
        (ours.revision, ours.scale_replicas) = (revision, scale_replicas);
    }
    if !status.ours.ready.as_ref().is_some_and(|known| reads(known, &ready)) {
        status.to_mut().ours.ready = Some(ready.to_string());
    }
    let knows_selector = match (&status.ours.selector, &workload.selector) {
        (Some(known), Some(selector)) => reads(known, selector),
        (None, None) => true,
        _ => false,
    };
    if !knows_selector {
        status.to_mut().ours.selector = workload.selector.as_ref().map(ToString::to_string);
    }
    if status.ours.containers.as_ref() != Some(containers) {
        status.to_mut().ours.containers = Some(containers.clone());
    }
    if status.ours.images.as_ref() != Some(images) {
        status.to_mut().ours.images = Some(images.clone());
    }
}

/// What of a text has not been written yet.
struct Rest<'a>(&'a str);

impl fmt::Write for Rest<'_> {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        self.0 = self.0.strip_prefix(part).ok_or(fmt::Error)?;
        Ok(())
    }
}

/// Whether a value is written so; without writing it anywhere.
pub(crate) fn reads(text: &str, value: &impl fmt::Display) -> bool {
    let mut rest = Rest(text);
    write!(rest, "{value}").is_ok() && rest.0.is_empty()
}

/// ReplicaFailure follows the sets, the new one first (S9.14).
pub(crate) fn refresh_replica_failure(draft: &Draft<'_>, status: &mut Cow<'_, Status>) {
    let of_new = draft.new_set().and_then(|set| set.seen.status.failure.as_ref());
    let of_any = || draft.sets.iter().find_map(|set| set.seen.status.failure.as_ref());
    match of_new.or_else(of_any) {
        None => drop_condition(status, condition::REPLICA_FAILURE),
        Some(failure) => set_condition(
            &mut status.to_mut().conditions,
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
