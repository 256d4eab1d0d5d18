//! delete, of an object or of a collection.

use admission::Cause;
use serde_json::{Value, json};
use world::{Deletion, Key, Mode, Object, Preconditions, Propagation, Refused, Resource, Store};

use crate::criteria::Criteria;
use crate::definition;
use crate::invalid;
use crate::member::put;
use crate::protobuf;
use crate::query::Query;
use crate::read::of_objects;

/// What the options of a request ask for; they stand in its body, or else in the query.
pub(crate) fn options(body: &[u8], query: &Query) -> Result<Deletion, Refused> {
    let options: Value = if body.is_empty() {
        Value::Null
    } else {
        let read = serde_json::from_slice(body).map_err(|error| Refused::bad_request(error.to_string()));
        protobuf::decode(body).map_or(read, Ok)?
    };
    let text = |pointer: &str| options.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let policy = text("/propagationPolicy").or_else(|| query.text("propagationPolicy").map(str::to_owned));
    let orphans = options.get("orphanDependents").and_then(Value::as_bool);
    let propagation = match (policy.as_deref(), orphans) {
        (Some("Foreground"), _) => Some(Propagation::Foreground),
        (Some("Orphan"), _) | (None, Some(true)) => Some(Propagation::Orphan),
        (Some("Background"), _) | (None, Some(false)) => Some(Propagation::Background),
        (None, None) => None,
        (Some(other), _) => {
            let known = ["Foreground", "Background", "Orphan", "nil"].map(str::to_owned);
            let cause = Cause::not_supported("propagationPolicy", &other.into(), &known);
            return Err(invalid::options("DeleteOptions", cause));
        }
    };
    let is_dry_run = options.get("dryRun").and_then(Value::as_array).is_some_and(|all| !all.is_empty());
    let mode = if is_dry_run { Mode::DryRun } else { query.mode()? };
    let grace = options.get("gracePeriodSeconds").and_then(Value::as_i64);
    Ok(Deletion {
        preconditions: Preconditions {
            uid: text("/preconditions/uid"),
            resource_version: text("/preconditions/resourceVersion"),
        },
        propagation,
        grace_seconds: grace.or_else(|| query.number("gracePeriodSeconds")),
        mode,
    })
}

/// What must be true of the object, in the words of a deletion.
fn check(store: &Store, key: &Key, preconditions: &Preconditions) -> Result<(), Refused> {
    let Some(object) = store.get(key) else { return Ok(()) };
    let version = object.version().to_string();
    let why = match (&preconditions.uid, &preconditions.resource_version) {
        (Some(uid), _) if uid != object.uid() => format!(
            "the UID in the precondition ({uid}) does not match the UID in record ({}). The object might have \
             been deleted and then recreated",
            object.uid()
        ),
        (_, Some(expected)) if *expected != version => format!(
            "the ResourceVersion in the precondition ({expected}) does not match the ResourceVersion in record \
             ({version}). The object might have been modified"
        ),
        _ => return Ok(()),
    };
    let (group, kind) = (key.resource.group(), key.resource.kind());
    let qualified = if group.is_empty() { kind.to_owned() } else { format!("{kind}.{group}") };
    let message = format!("Operation cannot be fulfilled on {qualified} \"{}\": {why}", key.name);
    let mut refused = Refused::new(409, "Conflict", message);
    refused.details = json!({ "name": key.name, "group": group, "kind": kind });
    Err(refused)
}

/// Deletes an object; answers the object, or that it is gone.
pub(crate) fn delete(store: &mut Store, key: &Key, deletion: &Deletion) -> Result<Value, Refused> {
    let deleted = remove(store, key, deletion)?;
    let is_gone = deletion.mode == Mode::DryRun || store.get(key).is_none();
    if is_gone && !answers_the_object(key.resource) {
        return Ok(json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
            "details": details(&deleted),
        }));
    }
    Ok(deleted.to_value())
}

/// Deletes an object, and with Rollwright's definition the objects that it defines.
fn remove(store: &mut Store, key: &Key, deletion: &Deletion) -> Result<Object, Refused> {
    check(store, key, &deletion.preconditions)?;
    let deleted = store.delete(key, deletion)?;
    if key.resource == Resource::CustomResourceDefinitions && definition::installed(store).is_none() {
        let keys: Vec<Key> = store.list(Resource::Deployments, None).map(Key::of).collect();
        for key in keys {
            store.delete(&key, &Deletion::default())?;
        }
    }
    Ok(deleted)
}

fn details(object: &Object) -> Value {
    let mut details = json!({ "name": object.name(), "kind": object.resource.plural(), "uid": object.uid() });
    if !object.resource.group().is_empty() {
        put(&mut details, "group", object.resource.group());
    }
    details
}

const fn answers_the_object(resource: Resource) -> bool {
    matches!(
        resource,
        Resource::Pods
            | Resource::Namespaces
            | Resource::ServiceAccounts
            | Resource::Services
            | Resource::ResourceQuotas
    )
}

/// Deletes the objects that a request selects.
pub(crate) fn collection(
    store: &mut Store,
    resource: Resource,
    namespace: Option<&str>,
    query: &Query,
    deletion: &Deletion,
) -> Result<Value, Refused> {
    let criteria = Criteria::of(resource, query)?;
    let selected: Vec<Object> =
        store.list(resource, namespace).filter(|object| criteria.matches(object)).cloned().collect();
    let mut deleted = Vec::new();
    for object in selected {
        let key = Key::of(&object);
        let marked = remove(store, &key, deletion)?;
        // If an object is gone immediately, the answer shows it as it was.
        deleted.push(if store.get(&key).is_some() { marked } else { object });
    }
    let metadata = json!({ "resourceVersion": store.version().to_string() });
    Ok(of_objects(resource, &deleted, &metadata))
}
