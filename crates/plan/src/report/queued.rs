//! The status of a rollout that waits in the queue for a rollout slot (rollwright.dev only).
//!
//! The engine calls the planner only when the rollout has a slot. The planner's first report then replaces this
//! status as if it had never been written: the deadline begins with the rollout, not with the wait.

use jiff::Timestamp;

use crate::model::action::StatusWrite;
use crate::model::conditions::{Condition, Edit};
use crate::model::flavour::Flavour;
use crate::model::keys::{condition, reason};
use crate::model::observed::Workload;
use crate::model::status::{InHand, Status};
use crate::report::kstatus::Standing;

const WORDS: &str = "waiting in the queue for a rollout slot: other rollouts are under way";

impl StatusWrite {
    /// The status of a Deployment while its rollout waits for a slot: the stored status, with conditions that
    /// report the wait. It does not observe the generation and counts nothing, so no client takes it for a
    /// success. `None` if the stored status reports the wait already, and on apps/v1, which has no condition
    /// for it.
    #[must_use]
    pub fn queued(flavour: Flavour, workload: &Workload, now: Timestamp) -> Option<Self> {
        if !flavour.has_status_extras() {
            return None;
        }
        let mut status = InHand::new(&workload.status);
        if workload.progress_deadline_seconds.is_some() {
            let kind = condition::PROGRESSING;
            let queued = Condition::new(kind, "Unknown", reason::QUEUED, WORDS.to_owned(), now);
            Edit::Set(Box::new(queued)).apply(&mut status);
        }
        Standing::queued(&WORDS).note(&mut status, now);
        (!status.is_stored()).then(|| Self { status: *status.into_box(), ..Self::default() })
    }
}

/// The wait is over: drop its condition. The condition before the wait is gone, so the rollout begins without one.
pub(crate) fn over(status: &Status) -> Option<Edit> {
    let progressing = status.condition(condition::PROGRESSING)?;
    (progressing.reason == reason::QUEUED).then_some(Edit::Drop(condition::PROGRESSING))
}
