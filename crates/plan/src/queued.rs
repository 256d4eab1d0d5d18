//! What the status says of a rollout that waits for its turn (our kind).
//!
//! The planner is not asked before the rollout has its turn. Its first report then takes the place of what
//! stands here, as if nothing had been said: the deadline begins with the rollout and not with the wait.

use jiff::Timestamp;

use crate::action::StatusWrite;
use crate::conditions::{Condition, Edit};
use crate::flavour::Flavour;
use crate::keys::{condition, reason};
use crate::kstatus::Standing;
use crate::observed::Workload;
use crate::status::{InHand, Status};

const WORDS: &str = "waiting for its turn: other rollouts are under way";

impl StatusWrite {
    /// The status of a Deployment whose rollout waits for its turn: the stored one, with conditions that say
    /// so. The generation is not observed by it and nothing is counted, so nobody takes it for a success.
    /// `None` if the status says it already, and on apps/v1, whose conditions have no word for it.
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
        (!status.is_stored()).then(|| Self { status: *status.into_box(), revision_annotation: None })
    }
}

/// The wait is over. The condition before it is gone, so the rollout begins without one.
pub(crate) fn over(status: &Status) -> Option<Edit> {
    let progressing = status.condition(condition::PROGRESSING)?;
    (progressing.reason == reason::QUEUED).then_some(Edit::Drop(condition::PROGRESSING))
}
