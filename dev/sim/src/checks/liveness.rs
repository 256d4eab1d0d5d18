//! LV-1: when nothing goes wrong any more, the Deployment gets what it asks for, and rest.

use plan::keys::REVISION;

use crate::checks::Verdict;
use crate::truth::Truth;

/// One active set, the new one, of the right size; all pods available; and the status says so.
pub(crate) fn converged(truth: &Truth) -> Verdict {
    let Some(workload) = truth.workload.as_deref() else { return Err("there is no Deployment".to_owned()) };
    let Some(new) = truth.new_set() else { return Err("there is no new set".to_owned()) };
    let replicas = workload.replicas;
    if new.set.size != replicas || truth.total() != replicas {
        return Err(format!(
            "new set {} of size {}, {} in all, {replicas} wanted",
            new.set.name,
            new.set.size,
            truth.total()
        ));
    }
    if truth.available() != replicas || new.available != replicas {
        return Err(format!("{} pods available, {} of the new set", truth.available(), new.available));
    }
    let status = &workload.status;
    if status.observed_generation != workload.generation {
        return Err(format!("observedGeneration {} of {}", status.observed_generation, workload.generation));
    }
    let counters =
        [status.replicas, status.updated_replicas, status.ready_replicas, status.available_replicas];
    if counters.iter().any(|count| *count != replicas) || status.unavailable_replicas != 0 {
        return Err(format!("counters {counters:?}, unavailable {}", status.unavailable_replicas));
    }
    annotations_are_copied(workload, &new.set)?;
    revision_is_highest(truth)
}

/// S4.13: the new set has the annotations of the Deployment.
fn annotations_are_copied(workload: &plan::Workload, set: &plan::ReplicaSet) -> Verdict {
    let missing = workload
        .annotations
        .iter()
        .find(|(key, value)| !plan::keys::is_never_copied(key) && set.annotations.get(*key) != Some(*value));
    missing.map_or(Ok(()), |(key, value)| Err(format!("{} lacks the annotation {key}={value}", set.name)))
}

/// RV-1 at rest.
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
