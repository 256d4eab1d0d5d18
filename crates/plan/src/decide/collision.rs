//! Another object has the name of the new ReplicaSet: the planner tries another name, and on rollwright.dev
//! not forever (S4.15, NS-1).

use jiff::Timestamp;

use crate::model::action::Event;
use crate::model::conditions::{Condition, whole_seconds};
use crate::model::durations::NAMES_HELD;
use crate::model::keys::{condition, reason};
use crate::model::observed::{Observed, Workload};
use crate::model::status::{CollisionRecord, Status};

/// How many other names are tried for one template.
const RETRIES_MAX: i64 = 3;

/// Notes that `name` is taken: the next reconcile tries another one, up to the limit. Returns the event to report.
pub(crate) fn note(observed: &Observed, status: &mut Status, name: &str, now: Timestamp) -> Vec<Event> {
    let count = if observed.flavour.has_safeguards() { counted(observed, status, now) } else { 0 };
    if count <= RETRIES_MAX {
        status.collision_count = Some(status.collision_count.unwrap_or(0).saturating_add(1));
        return Vec::new();
    }
    let message = format!(
        "The name {name} is taken by a ReplicaSet that was not made for this template, and so were \
         {RETRIES_MAX} others. It is tried again every {} seconds; delete that ReplicaSet, or change \
         spec.template",
        NAMES_HELD.as_secs()
    );
    let reached = Condition::new(
        condition::COLLISION_LIMIT_REACHED,
        "True",
        reason::HASH_COLLISION,
        message.clone(),
        now,
    );
    reached.set_in(&mut status.conditions);
    vec![Event::warning(reason::HASH_COLLISION, message)]
}

/// Counts one more for the current template.
fn counted(observed: &Observed, status: &mut Status, now: Timestamp) -> i64 {
    let template = observed.workload.template.fingerprint.as_str();
    let known = status.ours.collisions.as_ref().filter(|known| known.template == template);
    let count = known.map_or(0, |known| known.count).clamp(0, i64::from(i32::MAX) - 1) + 1;
    let time = whole_seconds(now).to_string();
    status.ours.collisions = Some(CollisionRecord { template: template.to_owned(), count, time });
    count
}

/// The names for the ReplicaSet of the current template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Names {
    /// There is one to try.
    Free,
    /// As many as may be were tried. The last one is tried again.
    UsedUp,
    /// The same, but not before this time.
    Held(Timestamp),
}

/// NS-1; S4.15 on apps/v1.
pub(crate) fn names(observed: &Observed, now: Timestamp) -> Names {
    if let Some(until) = observed.answers.names_held.filter(|until| now < *until) {
        return Names::Held(until);
    }
    let Workload { status, template, .. } = &observed.workload;
    let known = status.ours.collisions.as_ref().filter(|known| {
        observed.flavour.has_safeguards()
            && known.template == template.fingerprint.as_str()
            && known.count > RETRIES_MAX
    });
    known.map_or(Names::Free, |known| held_until(known, now).map_or(Names::UsedUp, Names::Held))
}

/// When the last name is tried again. A time that is yet to come, or that cannot be read, was
/// written by another clock or by somebody else, and holds nothing up.
fn held_until(known: &CollisionRecord, now: Timestamp) -> Option<Timestamp> {
    let last: Timestamp = known.time.parse().ok()?;
    let until = last.checked_add(NAMES_HELD).ok()?;
    (last <= now && now < until).then_some(until)
}
