//! OW-1 to OW-4: what the operator writes to, in which shape, and what it leaves alone.

use plan::{Action, OwnerChange};
use serde_json::Value;
use world::{Object, Patch, Resource, Subresource};

use crate::checks::{Accepted, Verdict};
use crate::link::{Decided, Request};

/// OW-1: only requests that the operator is allowed to make.
pub(super) fn known_shapes(write: &Accepted<'_>) -> Verdict {
    let is_known = match write.request {
        // GA-2: the checks of Jobs look at the owner.
        Request::Create { object, .. } if Request::created(object) == Resource::Jobs => true,
        Request::Create { object, .. } => {
            let owner = object.pointer("/metadata/ownerReferences/0");
            let text = |field: &str| owner.and_then(|owner| owner.get(field)?.as_str());
            let workload = &write.view().workload;
            object.get("kind").and_then(Value::as_str) == Some("ReplicaSet")
                && text("uid") == Some(&workload.uid)
                && object.pointer("/metadata/namespace").and_then(Value::as_str) == Some(&workload.namespace)
        }
        Request::Patch { resource: Resource::ReplicaSets, subresource, .. } => {
            *subresource == Subresource::Main
        }
        Request::Patch { resource, .. } => {
            matches!(resource, Resource::Deployments | Resource::AppsDeployments)
        }
        Request::Delete { .. } => true,
        Request::Get(..) | Request::List(_) | Request::Page(..) | Request::Warnings(_) => false,
    };
    if is_known { Ok(()) } else { Err(format!("{:?}", write.request)) }
}

/// OW-2: every change names the object and the version that was seen.
pub(super) fn preconditions(write: &Accepted<'_>) -> Verdict {
    let named = match write.request {
        Request::Patch { patch: Patch::Merge(body) | Patch::Strategic(body), .. } => {
            let metadata = body.get("metadata");
            let text = |field: &str| {
                let text = metadata.and_then(|metadata| metadata.get(field)?.as_str());
                text.is_some_and(|text| !text.is_empty())
            };
            text("uid") && text("resourceVersion")
        }
        Request::Patch { patch: Patch::Json(operations), .. } => {
            let sets = |path: &str| {
                let operations = operations.as_array().into_iter().flatten();
                operations.filter_map(|operation| operation.get("path")?.as_str()).any(|known| known == path)
            };
            sets("/metadata/uid") && sets("/metadata/resourceVersion")
        }
        Request::Delete { resource, uid, version, .. } => {
            !uid.is_empty() && (*resource == Resource::Jobs || !version.is_empty())
        }
        _ => true,
    };
    if named { Ok(()) } else { Err(format!("without precondition: {:?}", write.request)) }
}

/// OW-3: ReplicaSets of others are not written, and nothing but the status during the deletion of the Deployment.
pub(super) fn own_objects(write: &Accepted<'_>) -> Verdict {
    let workload = &write.view().workload;
    if workload.deleting && !matches!(write.action(), Some(Action::WriteStatus(_))) {
        return Err(format!("{:?} while being deleted", write.request));
    }
    let Some(before) = write.before.filter(|before| before.resource == Resource::ReplicaSets) else {
        return Ok(());
    };
    let owner = before.controller_uid();
    match &write.decision.why {
        Decided::OwnerChange(OwnerChange::Adopt(target)) => {
            let seen = write.view().find(&target.uid);
            let selector = workload.selector.as_ref();
            let fits =
                seen.is_some_and(|set| selector.is_some_and(|selector| selector.matches(&set.set.labels)));
            if owner.is_some() || before.is_deleting() || !fits || write.view().may_adopt != Some(true) {
                return Err(format!("{} was adopted: owner {owner:?}, fits {fits}", target.name));
            }
        }
        _ if owner != Some(workload.uid.as_str()) => {
            return Err(format!("{} was written, and {owner:?} owns it", before.name()));
        }
        _ => {}
    }
    Ok(())
}

fn member<'a>(object: &'a Object, map: &str, key: &str) -> Option<&'a Value> {
    object.metadata.get(map)?.get(key)
}

fn is_ours(key: &str) -> bool {
    key.starts_with("rollwright.dev/") || key.starts_with("deployment.kubernetes.io/")
}

/// OW-4: what others wrote stays, byte for byte.
pub(super) fn foreign_fields(write: &Accepted<'_>) -> Verdict {
    let (Some(before), Some(after)) = (write.before, write.after) else { return Ok(()) };
    if matches!(write.request, Request::Delete { .. }) {
        return Ok(());
    }
    if before.resource == Resource::ReplicaSets {
        return set_is_kept(write, before, after);
    }
    let is_rollback = matches!(write.action(), Some(Action::RollBack(_)));
    let is_selector = matches!(write.action(), Some(Action::SetSelector(_)));
    if !is_rollback && !is_selector && before.spec != after.spec {
        return Err("the spec of the Deployment was changed".to_owned());
    }
    annotations_are_kept(before, after)?;
    if before.metadata.get("labels") != after.metadata.get("labels") {
        return Err("the labels of the Deployment were changed".to_owned());
    }
    Ok(())
}

/// On rollwright.dev nothing but a rollback's change-cause is written to the Deployment's annotations.
fn annotations_are_kept(before: &Object, after: &Object) -> Verdict {
    if before.resource != Resource::Deployments {
        return Ok(());
    }
    let others = |object: &Object| {
        let all = object.metadata.get("annotations").and_then(Value::as_object).into_iter().flatten();
        let all = all.filter(|(key, _)| *key != plan::keys::CHANGE_CAUSE);
        all.map(|(key, value)| (key.clone(), value.clone())).collect::<std::collections::BTreeMap<_, _>>()
    };
    let (before, after) = (others(before), others(after));
    if before == after { Ok(()) } else { Err(format!("annotations {before:?} became {after:?}")) }
}

fn set_is_kept(write: &Accepted<'_>, before: &Object, after: &Object) -> Verdict {
    for field in ["template", "selector"] {
        if before.spec.get(field) != after.spec.get(field) {
            return Err(format!("{field} of {} was changed", before.name()));
        }
    }
    let copied = &write.view().workload.annotations;
    for map in ["labels", "annotations"] {
        let members = before.metadata.get(map).and_then(Value::as_object).into_iter().flatten();
        for (key, value) in members.filter(|(key, _)| !is_ours(key) && !copied.contains_key(*key)) {
            if member(after, map, key) != Some(value) {
                return Err(format!("{map} of {}: {key} was changed", before.name()));
            }
        }
    }
    let finalizers = |object: &Object| object.finalizers().map(str::to_owned).collect::<Vec<_>>();
    if finalizers(before) != finalizers(after) {
        return Err(format!("finalizers of {} were changed", before.name()));
    }
    Ok(())
}
