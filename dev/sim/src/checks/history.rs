//! RV-1 and HC-1: revisions grow, and only idle old ReplicaSets are deleted.

use plan::Action;
use plan::keys::{HASH_LABEL, REVISION};
use world::Resource;

use crate::checks::{Accepted, Verdict};
use crate::link::Request;

fn revision(object: &world::Object) -> Option<i64> {
    let text = object.annotation(REVISION)?;
    text.parse().ok().filter(|number| (1..=i64::MAX - 2).contains(number))
}

/// RV-1: the operator never lowers the revision of a ReplicaSet, and a new one is above those that were seen.
pub(super) fn revision_grows(write: &Accepted<'_>) -> Verdict {
    let Some(after) = write.after.filter(|after| after.resource == Resource::ReplicaSets) else {
        return Ok(());
    };
    if let (Some(before), Some(after)) = (write.before.and_then(revision), revision(after))
        && after < before
    {
        return Err(format!("revision {before} became {after}"));
    }
    let Some(Action::CreateReplicaSet(new)) = write.action() else { return Ok(()) };
    let Some(number) = revision(after) else { return Err(format!("{} has no revision", new.name)) };
    let seen = write.view().owned().filter_map(|set| set.set.annotations.get(REVISION)?.parse::<i64>().ok());
    let highest = seen.filter(|number| *number < i64::MAX - 1).max().unwrap_or(0);
    if number <= highest {
        return Err(format!("{} has revision {number}, and {highest} was there", new.name));
    }
    Ok(())
}

/// HC-2: of idle old ReplicaSets those with the lowest revisions go first; the one that a rollback asks
/// for stays.
pub(super) fn lowest_first(write: &Accepted<'_>) -> Verdict {
    let Request::Delete { resource: Resource::ReplicaSets, name, uid, .. } = write.request else {
        return Ok(());
    };
    let view = write.view();
    let number = |set: &plan::ReplicaSet| {
        let number = set.annotations.get(REVISION).and_then(|text| text.parse::<i64>().ok());
        number.filter(|number| (1..i64::MAX - 1).contains(number))
    };
    let Some(gone) = view.find(uid).and_then(|set| number(&set.set)) else { return Ok(()) };
    let new = view.new_set().map(|new| new.set.uid.as_str());
    let fallback = view.fallback().map(|set| &set.uid);
    let kept = view.new_set().and_then(|new| crate::walk::word(&new.set, "kept"));
    let mut lower = view.owned().filter(|other| {
        let (set, status) = (&other.set, &other.set.status);
        let is_counted = status.observed_generation >= set.generation && status.replicas == 0;
        let is_idle = set.size == 0 && other.size == 0 && is_counted && !set.deleting && !other.is_written;
        let is_wanted = view.workload.rollback_to.is_some_and(|wanted| Some(wanted) == number(set));
        let pin = view.workload.pin.as_ref();
        let hash = set.labels.get(HASH_LABEL);
        let is_pinned =
            pin.is_some_and(|pin| hash == Some(&pin.pod_template_hash)) || fallback == Some(&set.uid);
        is_idle
            && !is_wanted
            && kept.as_ref() != Some(&set.name)
            && !is_pinned
            && Some(set.uid.as_str()) != new
            && number(set).is_some_and(|number| number < gone)
    });
    match lower.next() {
        Some(other) => Err(format!("{name} of revision {gone} was deleted, and {} stays", other.set.name)),
        None => Ok(()),
    }
}

/// HC-1: what is deleted is empty, counted, and not the new ReplicaSet.
pub(super) fn only_idle_sets(write: &Accepted<'_>) -> Verdict {
    let Request::Delete { resource: Resource::ReplicaSets, name, uid, .. } = write.request else {
        return Ok(());
    };
    let Some(set) = write.before else { return Ok(()) };
    let (size, pods) = (set.spec_number("replicas"), set.status_number("replicas"));
    if size != Some(0) || pods.unwrap_or(0) != 0 {
        return Err(format!("{name} was deleted with size {size:?} and {pods:?} pods"));
    }
    if set.status_number("observedGeneration").unwrap_or(0) < set.generation() {
        return Err(format!("{name} was deleted before its controller had counted"));
    }
    let is_new = write.view().new_set().is_some_and(|new| new.set.uid == *uid);
    if is_new {
        return Err(format!("{name} was deleted, and it is the new set"));
    }
    Ok(())
}

/// FP-9: neither what a pin names is deleted, in force or not, nor what a revert would run, by the verdicts that the
/// ReplicaSets have.
pub(super) fn protected(write: &Accepted<'_>) -> Option<Verdict> {
    let Request::Delete { resource: Resource::ReplicaSets, name, uid, .. } = write.request else {
        return None;
    };
    let view = write.view();
    let set = &view.find(uid)?.set;
    let pinned = view.workload.pin.as_ref().map(|pin| &pin.pod_template_hash);
    let fallback = view.fallback().map(|set| &set.uid);
    if pinned.is_none() && fallback.is_none() {
        return None;
    }
    let is_pinned = pinned.is_some() && set.labels.get(HASH_LABEL) == pinned;
    Some(if is_pinned || fallback == Some(uid) {
        let what = if is_pinned { "pinned" } else { "the fallback" };
        Err(format!("{name} was deleted, and it is {what}"))
    } else {
        Ok(())
    })
}
