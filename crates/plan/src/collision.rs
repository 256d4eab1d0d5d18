//! The name of the new ReplicaSet is taken: another one is tried, and on our kind not for ever
//! (S4.15, NS-1).

use jiff::{SignedDuration, Timestamp};

use crate::action::{Event, Wake};
use crate::bug::{Bug, has};
use crate::conditions::{Condition, drop_condition, set_condition, whole_seconds};
use crate::draft::Draft;
use crate::keys::{condition, reason};
use crate::observed::Observed;
use crate::progress;
use crate::status::{CollisionRecord, Status};
use crate::why::Why;

/// How many other names are tried for one template.
const RETRIES_MAX: i64 = 3;
/// How long nothing is created once they are used up. Then the last name is tried again: the
/// set that has it may have gone.
const HOLD: SignedDuration = SignedDuration::from_secs(300);

/// Notes that `name` is taken: the next pass tries another one, up to the limit. Returns what is
/// to be said of it.
pub(crate) fn note(observed: &Observed, status: &mut Status, name: &str, now: Timestamp) -> Vec<Event> {
    let count = if observed.flavour.has_safeguards() { counted(observed, status, now) } else { 0 };
    if count <= RETRIES_MAX || has(Bug::RetriesUnbounded) {
        status.collision_count = Some(status.collision_count.unwrap_or(0).saturating_add(1));
        return Vec::new();
    }
    let message = format!(
        "The name {name} is taken by a ReplicaSet that was not made for this template, and so were \
         {RETRIES_MAX} others. It is tried again every {} minutes; delete that ReplicaSet, or change \
         spec.template",
        HOLD.as_mins()
    );
    let reached = Condition::new(
        condition::COLLISION_LIMIT_REACHED,
        "True",
        reason::HASH_COLLISION,
        message.clone(),
        now,
    );
    set_condition(&mut status.conditions, reached);
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

/// Whether the time to try the last name again has not come.
pub(crate) fn is_held(draft: &Draft<'_>) -> bool {
    held_until(draft).is_some()
}

/// Whether as many names as may be were tried for the current template.
pub(crate) fn is_used_up(draft: &Draft<'_>) -> bool {
    draft.observed.flavour.has_safeguards()
        && !has(Bug::RetriesUnbounded)
        && draft.status.ours.collisions.as_ref().is_some_and(|known| {
            known.template == draft.workload.template.fingerprint.as_str() && known.count > RETRIES_MAX
        })
}

/// When the last name is tried again. A time that is yet to come, or that cannot be read, was
/// written by another clock or by somebody else, and holds nothing up.
fn held_until(draft: &Draft<'_>) -> Option<Timestamp> {
    let last: Timestamp = draft.status.ours.collisions.as_ref()?.time.parse().ok()?;
    let until = last.checked_add(HOLD).ok()?;
    (last <= draft.now && draft.now < until).then_some(until)
}

/// A rollout pass without a new set: nothing is scaled, and the time to try again is kept.
pub(crate) fn wait(draft: &mut Draft<'_>) {
    draft.why = Why::Blocked("the names for the new ReplicaSet are taken by others".to_owned());
    progress::report(draft);
    if let Some(until) = held_until(draft) {
        draft.wake = draft.wake.or_at(until);
    }
}

/// There is a new set, or another template: the condition is over.
pub(crate) fn forget(draft: &mut Draft<'_>) {
    if !draft.observed.flavour.has_safeguards() {
        return;
    }
    drop_condition(&mut draft.status, condition::COLLISION_LIMIT_REACHED);
}

impl Wake {
    /// This, or a time if that comes first.
    fn or_at(self, time: Timestamp) -> Self {
        match self {
            Self::OnChange => Self::At(time),
            Self::At(other) => Self::At(other.min(time)),
            Self::Again => self,
        }
    }
}
