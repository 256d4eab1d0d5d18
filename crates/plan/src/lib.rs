//! The pure planner: what to do next, decided from a snapshot and a time.
//!
//! [`plan`] is all of it. It does no IO, reads no clock, and draws no random number: the same snapshot and
//! time give the same step. Everything that decides something about a Deployment (the operator, the
//! simulator, the oracle, the CLI's explanations) calls this function.
//!
//! A decision is a pipeline of values, in `decide`. The order of situations in `aim` is the policy (S3).
//! `moves.rs` has the sizes of a rolling update (S6). Each other rule has its own file.

mod action;
mod aim;
mod announce;
mod assemble;
mod awaited;
mod beside;
mod blocked;
mod blocker;
mod canonical;
mod chronicle;
mod collision;
mod conditions;
mod counters;
mod creation;
mod criteria;
mod decisions;
pub mod durations;
pub mod equality;
mod evidence;
mod explain;
mod fenceposts;
mod flavour;
mod history;
mod identify;
pub mod intstr;
mod judge;
pub mod keys;
mod kstatus;
mod labels;
mod listed;
mod marks;
mod memory;
mod moves;
mod observed;
mod outcome;
mod ownership;
mod pace;
mod partition;
mod pause;
mod place;
mod position;
mod progress;
mod quantity;
mod queued;
mod record;
mod recreate;
mod report;
mod requests;
mod resting;
pub mod revision;
mod rollback;
mod rollout;
mod runs;
mod scale;
pub mod selector;
mod sets;
mod sizes;
mod stage;
mod status;
mod steps;
mod summary;
mod target;
pub mod template;
mod trigger;
mod upkeep;
mod walk;
mod why;
mod writes;

pub use action::{
    Action, Ask, Awaited, Event, EventKind, NewReplicaSet, OwnerChange, Plan, Planned, Purpose, Requeue,
    RollBack, StatusWrite, Step, Target, UpdateReplicaSet,
};
pub use blocker::{Blocker, Findings};
pub use conditions::Condition;
pub use creation::set_name;
pub use evidence::{Evidence, Restarts};
pub use flavour::Flavour;
pub use labels::Map;
pub use moves::grown;
pub use observed::{
    Answers, DryRun, FailureAction, FailurePolicy, Observed, Options, Pace, Pin, Pod, ReplicaSet, SetFailure,
    SetStatus, Strategy, Workload,
};
pub use outcome::{Aftermath, Failure, Verdict, after_failure};
pub use record::{
    Author, Authors, End, HistoryHead, ID_MAX, LastScale, Outcome, Promotion, RECORD_BYTES_MAX, RECORDS_MAX,
    Record, Scaler,
};
pub use rollout::{Transition, transitions};
pub use scale::{fraction, proportion};
pub use sets::{replica_count, scaled_under};
pub use status::{
    BakeRecord, CollisionRecord, FallbackRecord, Marks, Ours, RecentRollback, RollbackRecord, Status,
    TargetRecord,
};
pub use steps::UpdateStep;
pub use summary::TemplateSummary;
pub use trigger::{Outline, Trigger};
pub use why::Why;

use jiff::Timestamp;

use aim::{Aim, Because, Divergence, Gate};
use assemble::assemble;
use collision::Names;
use creation::creation;
use decisions::Decisions;
use history::{Scene, history};
use identify::identify;
use judge::{Proof, Rulings, judge};
use keys::reason;
use memory::newer;
use moves::moves;
use pace::paced;
use report::{opening, report};
use rollback::{Request, request, rollback};
use runs::{is_held, reverts, run};
use selector::LabelSelector;
use sets::Sets;
use stage::Walked;
use upkeep::upkeep;
use walk::walk;
use writes::writes;

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
    /// nor did the declared one fail, so that another one runs or nothing moves (FP-6).
    #[must_use]
    pub fn runs_declared(&self, now: Timestamp) -> bool {
        let workload = &self.workload;
        if workload.pin_in_force().is_some() {
            return false;
        }
        // A template about which the server has to be asked is new, as far as is known.
        let Ok(sets) = identify(self) else { return true };
        let rulings = judge(self, &sets, now);
        run(workload, &sets, &rulings).1.is_none() && !is_held(workload, &sets, &rulings)
    }
}

/// A reconcile, stage by stage. Each value is final when the next stage reads it.
///
/// # Errors
/// With the changes of owner or the question that come first.
fn decide(observed: &Observed, now: Timestamp) -> Result<Box<Plan>, Step> {
    let sets = identify(observed)?;
    let mut rulings = judge(observed, &sets, now);
    let walked = walk(observed, &sets, &mut rulings, now);
    let request = request(observed, &sets, now);
    let aim = aim((observed, &sets), &rulings, &walked, &request, now)?;
    let upkeep = upkeep((observed, &sets), &walked, &aim, now);
    let opening = opening((observed, &sets, &rulings), &aim, &upkeep, request, now);
    let moves = moves(&sets.counted, &aim);
    // What is to be told of a set first, by a write of its own, leaves its second growth to the next reconcile.
    let moves = if opening.is_early || upkeep.is_needed() { moves.up_to_the_cuts() } else { moves };
    let creation = creation((observed, &sets), (&walked, &aim), &moves, now)?;
    let revision = || creation::revision(&sets, &upkeep, creation.as_deref());
    let rollback = rollback(observed, &sets, &aim, revision, now)?;
    let writes = writes(observed, &sets, &upkeep, &moves, &rulings.notes);
    let scene = Scene::new((observed, &sets), &aim, &upkeep, creation.as_deref(), &writes);
    let history = history(&scene, &aim, &moves);
    let (sets, rulings, walked, aim) = (&sets, &rulings, &walked, &aim);
    let (upkeep, moves, history) = (&upkeep, &moves, &history);
    let decisions = Decisions {
        observed,
        now,
        sets,
        rulings,
        walked,
        aim,
        upkeep,
        moves,
        creation,
        rollback,
        writes,
        history,
    };
    let report = paced(report(&decisions, opening), &decisions);
    Ok(assemble(decisions, report))
}

/// The ladder of situations. Its order is the policy (S3.5–S3.10).
///
/// # Errors
/// With what is to be found out first.
fn aim(
    (observed, sets): (&Observed, &Sets<'_>),
    rulings: &Rulings,
    walked: &Walked,
    request: &Request,
    now: Timestamp,
) -> Result<Aim, Ask> {
    let workload = &observed.workload;
    let (aim, is_stale) = (start(workload, sets, rulings, walked), sets.is_any_stale(workload.replicas));
    // S3.2, S1.2
    if workload.selector.as_ref().is_none_or(LabelSelector::is_empty) {
        return Ok(aim.shut(without_selector(observed)));
    }
    // S3.5, S14.8: the garbage collector does the rest.
    if workload.deleting {
        return Ok(aim.shut(Because::Deleting));
    }
    // A newer operator decided what runs. This one changes sizes only when R does.
    if let Some(newer) = newer(observed, sets) {
        return Ok(aim.frozen_if(is_stale, Because::NewerSpec(newer), workload));
    }
    if aim.divergence == Some(Divergence::PinTargetMissing) {
        // Nothing is started in the place of a set that is gone.
        return Ok(aim.frozen_if(is_stale, Because::PinTargetMissing, workload));
    }
    // S3.7, S13.2: a rollback waits, sizes follow R (S3.11). Resuming goes on from what is there (S13.5).
    if workload.paused {
        return Ok(aim.frozen(Because::Paused, workload));
    }
    // S3.8
    if let Request::Granted(revision) = *request {
        return Ok(rolling_back(observed, aim, revision));
    }
    if let Some(held) = held(sets, rulings, &aim, workload) {
        return Ok(held);
    }
    // S3.9, S3.12: a new template waits until the old sets follow R.
    let scaling = scale::event(&sets.counted, &aim);
    // FP-10: on the way back, the rolling update follows R, and no bad set grows.
    if scaling.is_event && aim.bad.is_empty() {
        return Ok(aim.frozen(Because::Scaling, workload));
    }
    let aim = Aim { deviation: scaling.deviation, ..aim };
    // S3.10
    match &workload.strategy {
        Strategy::RollingUpdate { .. } => Ok(rolling(observed, sets, aim, now)),
        Strategy::Recreate => recreating(observed, sets, aim, now),
        Strategy::Unknown(kind) => Ok(aim.shut(unknown(kind))),
    }
}

fn unknown(strategy: &str) -> Because {
    Because::Unfit(format!("unexpected deployment strategy type: {strategy}"))
}

/// The aim of a rollout of what is to run.
fn start(workload: &Workload, sets: &Sets<'_>, rulings: &Rulings, walked: &Walked) -> Aim {
    let aim = Aim::of(workload, run(workload, sets, rulings)).at(walked.stage.as_ref());
    let bad = match aim.divergence {
        // On the way back, all that is not known to be good (FP-7).
        Some(Divergence::Reverted) => {
            let is_bad = |index: &usize| rulings.of(*index) != Proof::Good && Some(*index) != aim.run;
            (0..sets.all.len()).filter(is_bad).collect()
        }
        None if is_held(workload, sets, rulings) => sets.declared.into_iter().collect(),
        _ => Vec::new(),
    };
    Aim { bad, spare: rulings.fallback, ..aim }
}

/// S10.9: on our kind a rollback makes no pods (AV-4).
fn rolling_back(observed: &Observed, aim: Aim, revision: i64) -> Aim {
    let ceiling = if observed.flavour.has_safeguards() { 0 } else { aim.ceiling };
    Aim { ceiling, ..aim.shut(Because::RollingBack(revision)) }
}

/// Nothing moves before a verdict is stored (FP-2), or after one where somebody has to act (FP-6).
fn held(sets: &Sets<'_>, rulings: &Rulings, aim: &Aim, workload: &Workload) -> Option<Aim> {
    if rulings.is_new_failure() && workload.pin_in_force().is_none() {
        return Some(aim.clone().shut(Because::Judged));
    }
    let reason = if reverts(workload, rulings) { reason::NO_GOOD_REVISION } else { reason::ROLLOUT_FAILED };
    let is_held = is_held(workload, sets, rulings);
    is_held.then(|| aim.clone().frozen(Because::Failed { reason }, workload))
}

/// Without a selector nothing is touched (S2.10). On our kind it is taken from the template.
fn without_selector(observed: &Observed) -> Because {
    let workload = &observed.workload;
    let mut labels = workload.template.labels.clone();
    // A set has a hash label of its own; the user's would match none.
    labels.remove(keys::HASH_LABEL);
    let is_absent = workload.selector.is_none();
    if observed.flavour.is_custom_resource() && is_absent && !labels.is_empty() && !workload.deleting {
        let selector = LabelSelector { match_labels: labels, ..LabelSelector::default() };
        Because::LacksSelector(Box::new(selector))
    } else {
        Because::SelectsAll
    }
}

/// The numbers of S6, if they can be read, and names for a set that is to be created.
fn rolling(observed: &Observed, sets: &Sets<'_>, aim: Aim, now: Timestamp) -> Aim {
    // S6.7: the surge is read where the running set is to grow.
    let size = aim.run.and_then(|run| sets.counted.get(run)).map(|run| run.size);
    if size.is_some_and(|size| size < aim.ceiling)
        && let Err(error) = observed.workload.strategy.cap(aim.total)
    {
        return aim.shut(Because::Unfit(error.to_string()));
    }
    let gate = if observed.answers.refuses_cuts { Gate::Growth } else { Gate::Open };
    named(observed, sets, Aim { gate, ..aim }, now)
}

/// Old sets go first, then their pods; only then the running set is due (S7.1, S7.2).
fn recreating(observed: &Observed, sets: &Sets<'_>, aim: Aim, now: Timestamp) -> Result<Aim, Ask> {
    if recreate::has_active_old(&sets.counted, &aim) {
        return Ok(aim);
    }
    if recreate::old_pods_run(observed, sets, &aim)? {
        return Ok(aim.shut(Because::OldPodsRun));
    }
    Ok(named(observed, sets, aim, now))
}

/// Without a name for the declared set nothing moves (NS-1).
fn named(observed: &Observed, sets: &Sets<'_>, aim: Aim, now: Timestamp) -> Aim {
    match collision::names(observed, now) {
        // A set that is pinned has its name.
        Names::Held(until) if sets.declared.is_none() && aim.divergence.is_none() => {
            aim.shut(Because::NamesTaken(until))
        }
        _ => aim,
    }
}
