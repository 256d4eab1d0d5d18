//! LV-1: when nothing goes wrong any more, the Deployment gets what it asks for, and rest.

use plan::Flavour;
use plan::keys::REVISION;

use crate::checks::{Verdict, held, jobs, resting};
use crate::truth::{SetTruth, Truth};
use crate::verdict::{Running, running};

/// One active ReplicaSet, the new one, of the right size; all pods available; and the status reports that.
pub(crate) fn converged(truth: &Truth, flavour: Flavour, is_alone: bool) -> Verdict {
    let Some(workload) = truth.workload.as_deref() else { return Err("there is no Deployment".to_owned()) };
    if truth.pinned().is_some_and(|pinned| pinned.is_none()) {
        return target_is_told(workload, Some("PinTargetMissing"));
    }
    // HO-2: nobody gave the word.
    if held::is_told(workload) {
        return Ok(());
    }
    if let Some(verdict) = jobs::rests(truth).or_else(|| resting::rests(truth, is_alone)) {
        return verdict;
    }
    let Some(new) = truth.new_set() else { return Err("there is no new set".to_owned()) };
    let running = match running(workload, truth.owned().map(|truth| &*truth.set), &new.set) {
        Running::Held => return failure_is_told(workload),
        Running::Set(set) => truth.sets.get(&set.uid).unwrap_or(new),
        Running::Missing => new,
    };
    let is_new = running.set.uid == new.set.uid;
    let is_aborted =
        || crate::verdict::memory(&new.set).is_some_and(|memory| crate::verdict::is_aborted(&memory));
    let because = match crate::verdict::pin(workload) {
        Some(_) => "Pinned",
        None if is_aborted() => "Aborted",
        None => "Reverted",
    };
    target_is_told(workload, (!is_new).then_some(because))?;
    let target = workload.status.ours.target.as_ref();
    if target.is_some_and(|target| Some(&target.hash) != running.set.labels.get(plan::keys::HASH_LABEL)) {
        return Err(format!("status.target is {target:?}, and {} runs", running.set.name));
    }
    let replicas = workload.replicas;
    if running.set.size != replicas || truth.total() != replicas {
        return Err(format!(
            "{} of size {} runs, {} in all, {replicas} wanted",
            running.set.name,
            running.set.size,
            truth.total()
        ));
    }
    if truth.available() != replicas || running.available != replicas {
        return Err(format!("{} pods available, {} of what runs", truth.available(), running.available));
    }
    let status = &workload.status;
    if status.observed_generation != workload.generation {
        return Err(format!("observedGeneration {} of {}", status.observed_generation, workload.generation));
    }
    let updated = if is_new { replicas } else { 0 };
    if status.updated_replicas != updated {
        return Err(format!("{} updated pods of {updated}", status.updated_replicas));
    }
    let counters = [status.replicas, status.ready_replicas, status.available_replicas];
    if counters.iter().any(|count| *count != replicas) || status.unavailable_replicas != 0 {
        return Err(format!("counters {counters:?}, unavailable {}", status.unavailable_replicas));
    }
    // apps/v1 has neither Ready nor Stalled.
    if flavour == Flavour::Rollwright {
        standing_is_told(workload, is_new)?;
    }
    if is_new {
        history_is_within_its_limit(truth, workload, new)?;
    }
    annotations_are_copied(workload, &new.set)?;
    revision_is_highest(truth)
}

/// FP-12 for an idle Deployment: what runs is complete, and the conditions report whether it is what the template
/// declares.
fn standing_is_told(workload: &plan::Workload, is_declared: bool) -> Verdict {
    let said =
        |kind: &str| workload.status.condition(kind).map(|one| (one.status.as_str(), one.reason.as_str()));
    let ready = said("Ready");
    let progressing = said("Progressing").filter(|_| workload.progress_deadline_seconds.is_some());
    let stalled = said("Stalled");
    let is_told = ready.is_some_and(|ready| (ready.0 == "True") == is_declared)
        && stalled.is_some_and(|stalled| stalled.0 == "True") != is_declared
        && said("Available").is_some_and(|available| available.0 == "True")
        && (is_declared || progressing.is_none_or(|known| known == ("False", "RolledBack")));
    if is_told {
        Ok(())
    } else {
        Err(format!("Ready {ready:?}, Stalled {stalled:?}, Progressing {progressing:?}"))
    }
}

/// FP-6: somebody has to act, and the status reports that, unless it is paused anyway.
fn failure_is_told(workload: &plan::Workload) -> Verdict {
    let stalled = workload.status.condition("Stalled").map(|it| it.reason.as_str());
    let is_told = workload.paused || matches!(stalled, Some("RolloutFailed" | "NoGoodRevision"));
    if is_told { Ok(()) } else { Err(format!("a failure is held, and Stalled is {stalled:?}")) }
}

/// FP-12: the status reports what runs, if that is not the declared ReplicaSet.
fn target_is_told(workload: &plan::Workload, because: Option<&str>) -> Verdict {
    let told = workload.status.ours.target.as_ref().map(|target| target.reason.as_str());
    if told == because { Ok(()) } else { Err(format!("status.target {told:?}, and {because:?} is true")) }
}

/// S11.2: of the old ReplicaSets that nothing needs, no more are left than the limit.
fn history_is_within_its_limit(truth: &Truth, workload: &plan::Workload, new: &SetTruth) -> Verdict {
    let Some(limit) = workload.revision_history_limit else { return Ok(()) };
    let fallback = workload.status.ours.fallback.as_ref().map(|fallback| &fallback.hash);
    let pinned = workload.pin.as_ref().map(|pin| &pin.pod_template_hash);
    let kept = crate::walk::word(&new.set, "kept");
    let is_needed = |set: &plan::ReplicaSet| {
        let hash = set.labels.get(plan::keys::HASH_LABEL);
        hash.is_some() && (hash == fallback || hash == pinned) || kept.as_ref() == Some(&set.name)
    };
    let old = truth.owned().filter(|other| other.set.uid != new.set.uid && !is_needed(&other.set));
    let old: Vec<_> = old.map(|other| other.set.name.clone()).collect();
    let is_within = i64::try_from(old.len()).is_ok_and(|count| count <= limit);
    if is_within { Ok(()) } else { Err(format!("{} are left, and {limit} may be", old.join(", "))) }
}

/// S4.13: the new ReplicaSet has the annotations of the Deployment.
fn annotations_are_copied(workload: &plan::Workload, set: &plan::ReplicaSet) -> Verdict {
    let missing = workload
        .annotations
        .iter()
        .find(|(key, value)| !plan::keys::is_never_copied(key) && set.annotations.get(*key) != Some(*value));
    missing.map_or(Ok(()), |(key, value)| Err(format!("{} lacks the annotation {key}={value}", set.name)))
}

/// RV-1 for an idle Deployment.
fn revision_is_highest(truth: &Truth) -> Verdict {
    let Some(new) = truth.new_set() else { return Ok(()) };
    let number =
        |set: &plan::ReplicaSet| set.annotations.get(REVISION).and_then(|text| text.parse::<i64>().ok());
    let others = truth.owned().filter(|other| other.set.uid != new.set.uid);
    let highest = others.filter_map(|other| number(&other.set)).filter(|one| *one < i64::MAX - 1).max();
    if number(&new.set) <= highest {
        return Err(format!("RV-1: revision {:?} of the new set, and {highest:?}", number(&new.set)));
    }
    Ok(())
}
