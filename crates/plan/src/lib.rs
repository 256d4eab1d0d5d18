//! The pure planner: what to do next, decided from a snapshot and a time.
//!
//! [`plan`] is all of it. It does no IO, reads no clock, and draws no random number: the same snapshot and
//! time give the same step. Everything that decides something about a Deployment (the operator, the
//! simulator, the oracle, the CLI's explanations) calls this function.
//!
//! A decision is a pipeline of values, in `decide()`. The order of situations in `decide/policy.rs` is the policy (S3).
//! `moves.rs` has the sizes of a rolling update (S6). Each other rule has its own file, in the room of its question.
//! The rooms are: what is there (`model`), what the rollout is doing (`course`), how sizes change (`moves`), what else
//! happens (`decide`), what the status reports (`report`), and what follows when the server refuses (`refused`). A room
//! uses only those before it.

mod course;
mod decide;
mod model;
mod moves;
mod refused;
mod report;

pub use model::{durations, equality, intstr, keys, revision, selector, template};

pub use decide::creation::set_name;
pub use model::action::{
    Action, Ask, Awaited, Event, EventKind, NewReplicaSet, OwnerChange, Plan, Planned, Purpose, Requeue,
    RollBack, StatusWrite, Step, Target, UpdateReplicaSet,
};
pub use model::blocker::{Blocker, Findings};
pub use model::checkpoint::{Checkpoint, FoundJob, Job, JobSpec, JobState, NewJob};
pub use model::conditions::Condition;
pub use model::evidence::{Evidence, Restarts};
pub use model::flavour::Flavour;
pub use model::labels::Map;
pub use model::observed::{
    Answers, DryRun, Observed, Pod, ReplicaSet, SetFailure, SetStatus, Strategy, Workload,
};
pub use model::options::{Options, Pace};
pub use model::record::{
    Author, Authors, End, HistoryHead, ID_MAX, LastScale, Outcome, Promotion, RECORD_BYTES_MAX, RECORDS_MAX,
    Record, Scaler,
};
pub use model::safeguards::{FailureAction, FailurePolicy, Pin};
pub use model::sets::replica_count;
pub use model::status::{
    BakeRecord, CollisionRecord, FallbackRecord, Marks, Ours, RecentRollback, RollbackRecord, Status,
    TargetRecord,
};
pub use model::steps::{STEP_NAMES, UpdateStep};
pub use model::summary::TemplateSummary;
pub use model::trigger::{Outline, Trigger};
pub use model::until::Until;
pub use model::why::Why;
pub use moves::grown;
pub use moves::scale::{fraction, proportion};
pub use refused::{Aftermath, Failure, Verdict, after_failure};
pub use report::rollout::{Transition, transitions};

use jiff::Timestamp;

use course::process::allowed;
use course::situation::Situation;
use course::view::View;
use course::{Hold, course};
use decide::creation::{self, creation};
use decide::decisions::Decisions;
use decide::deletions::{CleanUp, history};
use decide::identify::identify;
use decide::policy::aim;
use decide::rollback::{request, rollback};
use decide::upkeep::upkeep;
use decide::writes::writes;
use moves::moves;
use report::assemble::assemble;
use report::opening::opening;
use report::pace::paced;
use report::report;

/// Decides the next step of a reconcile over one Deployment (S3).
///
/// Questions and changes of owner come first, one at a time; the caller adds what it learned to the
/// snapshot and calls again. [`Step::Act`] ends the reconcile.
#[must_use]
pub fn plan(observed: &Observed, now: Timestamp) -> Step {
    match decide(observed, now) {
        Ok(plan) => Step::Act(plan),
        Err(step) => step,
    }
}

impl Observed {
    /// Whether a reconcile rolls out the declared template: neither is a revision pinned, this one or another (FP-11),
    /// nor did the declared one fail, so that another one runs or nothing moves (FP-6). Nor is the rollout held (HO-2).
    #[must_use]
    pub fn runs_declared(&self, now: Timestamp) -> bool {
        // A pin in force names another ReplicaSet, or this one, which then takes no slot.
        if self.workload.pin_in_force().is_some() {
            return false;
        }
        // A template about which the server has to be asked is new, as far as is known.
        let Ok(sets) = identify(self) else { return true };
        let view = View { observed: self, sets: &sets, now };
        let allowed = allowed(view);
        let course = course(View { observed: allowed.as_ref().unwrap_or(self), ..view });
        matches!(course.situation, Situation::Declared(_)) && course.hold != Some(Hold::Restart)
    }
}

/// A reconcile, stage by stage. Each value is final when the next stage reads it.
///
/// # Errors
/// With the changes of owner or the question that come first.
fn decide(observed: &Observed, now: Timestamp) -> Result<Box<Plan>, Step> {
    let sets = identify(observed)?;
    let view = View { observed, sets: &sets, now };
    let allowed = allowed(view);
    let view = View { observed: allowed.as_ref().unwrap_or(observed), ..view };
    let course = course(view);
    if let Some(ask) = &course.jobs.ask {
        return Err(ask.clone().into());
    }
    let request = request(view);
    let aim = aim(view, &course, &request)?;
    let upkeep = upkeep(view, &course, &aim);
    let opening = opening(view, &course, &aim, &upkeep, request);
    let moves = moves(&sets.counted, &aim);
    // If a ReplicaSet needs a report in a write of its own first, its second growth is left to the next reconcile.
    let moves = if opening.is_early || upkeep.is_needed() { moves.up_to_the_cuts() } else { moves };
    let creation = creation(view, &course, &aim, &moves)?;
    let revision = || creation::revision(&sets, &upkeep, creation.as_deref());
    let rollback = rollback(view, &aim, revision)?;
    let writes = writes(view, &upkeep, &moves, &course.notes);
    let clean_up = CleanUp::new(view, &aim, &upkeep, creation.as_deref(), &writes);
    let history = history(&clean_up, &aim, &moves);
    let (course, aim, upkeep, moves, history) = (&course, &aim, &upkeep, &moves, &history);
    let decisions = Decisions { view, course, aim, upkeep, moves, creation, rollback, writes, history };
    let report = paced(report(&decisions, opening), &decisions);
    Ok(assemble(decisions, report))
}
