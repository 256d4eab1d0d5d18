//! What a reconcile is about. The order of the situations is the policy (S3).

use crate::course::situation::Situation;
use crate::course::view::View;
use crate::course::{Course, Hold};
use crate::decide::collision::{self, Names};
use crate::decide::old_pods;
use crate::decide::rollback::Request;
use crate::model::action::Ask;
use crate::model::keys;
use crate::model::observed::{Observed, Strategy};
use crate::model::selector::LabelSelector;
use crate::model::sets::total;
use crate::moves::aim::{Aim, Because, Scope};
use crate::moves::{recreate, scale};

/// The aim in the first situation that holds. The order of the situations is the policy (S3.5–S3.10).
///
/// # Errors
/// With what the engine has to find out first.
pub(crate) fn aim(view: View<'_>, course: &Course, request: &Request) -> Result<Aim, Ask> {
    unmixed(view, barred(view, course, first_that_holds(view, course, request)?))
}

/// GA-1, GA-5: whatever R does, and whether the rollout is paused, held, or failed, no pod of the declared ReplicaSet
/// comes before its hook passes, and before the server accepts its Jobs. What runs meanwhile follows R.
fn barred(view: View<'_>, course: &Course, aim: Aim) -> Aim {
    if !course.jobs.bars || view.workload().replicas == 0 || aim.run != view.sets.declared {
        return aim;
    }
    let bad = view.sets.declared.into_iter().chain(aim.bad.iter().copied()).collect();
    let others_run = view.sets.olds().any(|(_, set)| set.is_active()) || aim.spare.is_some();
    let scope = if others_run && aim.scope == Scope::Frozen { Scope::Frozen } else { Scope::Shut };
    Aim { ceiling: 0, is_at_rest: false, bad, scope, ..aim }
}

fn first_that_holds(view: View<'_>, course: &Course, request: &Request) -> Result<Aim, Ask> {
    let (workload, sets) = (view.workload(), view.sets);
    let (aim, is_stale) = (Aim::of(view, course), sets.is_any_stale(workload.replicas));
    // S3.2, S1.2
    if workload.selector.as_ref().is_none_or(LabelSelector::is_empty) {
        return Ok(aim.shut(without_selector(view.observed)));
    }
    // S3.5, S14.8: the garbage collector does the rest.
    if workload.deleting {
        return Ok(aim.shut(Because::Deleting));
    }
    // A newer operator decided what runs. This one changes sizes only when R does.
    if let Some(Hold::NewerSpec(words)) = &course.hold {
        return Ok(aim.frozen_if(is_stale, Because::NewerSpec(words.clone()), workload));
    }
    if course.situation == Situation::PinTargetMissing {
        return Ok(aim.frozen_if(is_stale, Because::PinTargetMissing, workload));
    }
    // S3.7, S13.2: a rollback waits, sizes follow R (S3.11). A resumed rollout continues from what is there (S13.5).
    if workload.paused {
        return Ok(paused(view, aim, is_stale));
    }
    // S3.8
    if let Request::Granted(revision) = *request {
        return Ok(rolling_back(view.observed, aim, revision));
    }
    // Nothing moves before a verdict is stored (FP-2), or after one where somebody has to act (FP-6).
    if course.hold == Some(Hold::Verdict) {
        return Ok(aim.shut(Because::Judged));
    }
    if let Situation::Failed { reason, .. } = course.situation {
        return Ok(aim.frozen(Because::Failed { reason }, workload));
    }
    if let Some((because, follows)) = on_hold(view, course, is_stale) {
        return Ok(aim.frozen_if(follows, because, workload));
    }
    // S3.9, S3.12: a new template waits until the old ReplicaSets follow R.
    let scaling = scale::event(&sets.counted, &aim);
    // FP-10: on the way back, the rolling update follows R, and no bad ReplicaSet grows.
    if scaling.is_event && aim.bad.is_empty() {
        return Ok(aim.frozen(Because::Scaling, workload));
    }
    let aim = Aim { deviation: scaling.deviation, ..aim };
    // S3.10
    match &workload.strategy {
        Strategy::RollingUpdate { .. } => Ok(rolling(view, course, aim)),
        Strategy::Recreate => recreating(view, course, aim),
        Strategy::Unknown(kind) => Ok(aim.shut(unknown(kind))),
    }
}

/// S13.2. CU-4: nothing moves with what a process asks meanwhile, either.
fn paused(view: View<'_>, aim: Aim, is_stale: bool) -> Aim {
    let workload = view.workload();
    let is_as_asked = workload.is_custom() && total(&view.sets.counted) == workload.replicas;
    aim.frozen_if(is_stale || !is_as_asked, Because::Paused, workload)
}

/// What comes before the rollout, and lets nothing of it move, and whether sizes follow R meanwhile (HO-3, GA-1).
fn on_hold(view: View<'_>, course: &Course, is_stale: bool) -> Option<(Because, bool)> {
    Some(match course.hold.as_ref()? {
        Hold::NewerSpec(_) | Hold::Verdict => return None,
        Hold::Restart => (Because::Held, is_stale || total(&view.sets.counted) == 0),
        Hold::JobRefused(why) => (Because::JobRefused(why.clone()), is_stale),
        Hold::Hook => (Because::AwaitsHook, is_stale),
    })
}

fn unknown(strategy: &str) -> Because {
    Because::Unfit(format!("unexpected deployment strategy type: {strategy}"))
}

/// S10.9: on rollwright.dev a rollback makes no pods (AV-4).
fn rolling_back(observed: &Observed, aim: Aim, revision: i64) -> Aim {
    let ceiling = if observed.flavour.has_safeguards() { 0 } else { aim.ceiling };
    Aim { ceiling, ..aim.shut(Because::RollingBack(revision)) }
}

/// Without a selector nothing is touched (S2.10). On rollwright.dev it is taken from the template.
fn without_selector(observed: &Observed) -> Because {
    let workload = &observed.workload;
    let mut labels = workload.template.labels.clone();
    // A ReplicaSet has a hash label of its own; the user's would match none.
    labels.remove(keys::HASH_LABEL);
    let is_absent = workload.selector.is_none();
    if observed.flavour.is_custom_resource() && is_absent && !labels.is_empty() && !workload.deleting {
        let selector = LabelSelector { match_labels: labels, ..LabelSelector::default() };
        Because::LacksSelector(Box::new(selector))
    } else {
        Because::SelectsAll
    }
}

/// The numbers of S6, if they can be read, and names for a ReplicaSet to create.
fn rolling(view: View<'_>, course: &Course, aim: Aim) -> Aim {
    // S6.7: the planner reads the surge where the running ReplicaSet has to grow.
    let size = aim.run.and_then(|run| view.sets.counted.get(run)).map(|run| run.size);
    if size.is_some_and(|size| size < aim.ceiling)
        && let Err(error) = view.workload().strategy.cap(aim.total)
    {
        return aim.shut(Because::Unfit(error.to_string()));
    }
    let scope = if view.observed.answers.refuses_cuts { Scope::Growth } else { Scope::Open };
    named(view, course, Aim { scope, ..aim })
}

/// Old ReplicaSets go first, then their pods; only then the running ReplicaSet is due (S7.1, S7.2).
fn recreating(view: View<'_>, course: &Course, aim: Aim) -> Result<Aim, Ask> {
    if recreate::has_active_old(&view.sets.counted, &aim) {
        return Ok(aim);
    }
    if old_pods::still_run(view, &aim)? {
        return Ok(aim.shut(Because::OldPodsRun));
    }
    Ok(named(view, course, aim))
}

/// Under Recreate, whatever happens to R, no pod comes beside pods of another ReplicaSet (S7.1; rollwright.dev).
/// Upstream follows R (S8.3).
fn unmixed(view: View<'_>, aim: Aim) -> Result<Aim, Ask> {
    let promises = view.observed.flavour.has_safeguards() && view.workload().strategy == Strategy::Recreate;
    if !promises || aim.scope != Scope::Frozen {
        return Ok(aim);
    }
    let shares = scale::scale(&view.sets.counted, &aim).shares;
    let grown = shares.iter().find(|share| share.difference() > 0).map(|share| share.set);
    if grown.is_none() || !old_pods::others_run(view, grown)? {
        return Ok(aim);
    }
    if aim.because == Because::Scaling {
        return Ok(aim.shut(Because::OldPodsRun));
    }
    Ok(Aim { scope: Scope::Shut, ..aim })
}

/// Without a name for the declared ReplicaSet nothing moves (NS-1).
fn named(view: View<'_>, course: &Course, aim: Aim) -> Aim {
    match collision::names(view.observed, view.now) {
        // A ReplicaSet that is pinned has its name.
        Names::Held(until) if view.sets.declared.is_none() && course.situation.is_declared() => {
            aim.shut(Because::NamesTaken(until))
        }
        _ => aim,
    }
}
