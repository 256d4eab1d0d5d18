//! The garbage collector: deletes objects without their owner, and empties namespaces.
//!
//! Its driver shows it the changes. It reads each object again before it acts, as the real one asks the
//! server.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::log::{Change, ChangeKind, Expired};
use crate::object::Object;
use crate::patch::Patch;
use crate::refusal::Refused;
use crate::resource::Resource;
use crate::store::key::Key;
use crate::store::{FOREGROUND, ORPHAN, Store};
use crate::write::{Deletion, Mode, Preconditions, Propagation, Subresource};

/// The garbage collector and the namespace controller.
#[derive(Clone, Debug, Default)]
pub struct GarbageCollector {
    version: u64,
    waiting: BTreeSet<Key>,
}

/// What the owners of an object are, as far as its life depends on them.
#[derive(Default)]
struct Owners {
    /// There, and not waiting for this object to go.
    solid: usize,
    /// Not there any more.
    dangling: Vec<Value>,
    /// There until this object is gone.
    waiting: Vec<Value>,
}

impl GarbageCollector {
    /// A collector that has just started and seen nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Shows it what happened up to a version of the cluster.
    ///
    /// # Errors
    /// When that history is not kept any more; then [`Self::relist`].
    pub fn observe(&mut self, store: &Store, through: u64) -> Result<(), Expired> {
        let through = through.min(store.version());
        if through <= self.version {
            return Ok(());
        }
        for change in store.all_changes(self.version)? {
            if change.version > through {
                break;
            }
            notice(&mut self.waiting, store, change);
        }
        self.version = through;
        Ok(())
    }

    /// Shows it everything there is, as after a start.
    pub fn relist(&mut self, store: &Store) {
        self.waiting = store.objects().map(Key::of).collect();
        self.version = store.version();
    }

    /// The objects to look at, by name. Each waits until its look, and longer if that fails.
    pub fn waiting(&self) -> impl Iterator<Item = &Key> {
        self.waiting.iter()
    }

    /// One look at one object.
    ///
    /// # Errors
    /// What the server refused; the object waits for another look.
    pub fn step(&mut self, store: &mut Store, key: &Key) -> Result<(), Refused> {
        self.waiting.remove(key);
        let Some(object) = store.get(key).cloned() else { return Ok(()) };
        let done = if object.resource == Resource::Namespaces && object.is_deleting() {
            empty(store, &object)
        } else if object.is_deleting() && has_finalizer(&object, ORPHAN) {
            orphan(store, &object)
        } else if object.is_deleting() && has_finalizer(&object, FOREGROUND) {
            delete_dependents(store, &object)
        } else if object.is_deleting() {
            Ok(())
        } else {
            collect(store, &object)
        };
        if done.is_err() && store.get(key).is_some() {
            self.waiting.insert(key.clone());
        }
        done
    }
}

/// Which objects a change is a reason to look at.
fn notice(waiting: &mut BTreeSet<Key>, store: &Store, change: &Change) {
    let object = &change.object;
    let has_new_owners = || {
        let shared = change.before.as_ref().map(|before| &before.metadata);
        if shared.is_some_and(|shared| Arc::ptr_eq(shared, &object.metadata)) {
            return false;
        }
        let before = change.before.as_ref().and_then(|before| before.metadata.get("ownerReferences"));
        object.metadata.get("ownerReferences") != before
    };
    let lives_alone = || object.owners().all(|owner| owner_of(store, object, owner).is_some_and(is_staying));
    match change.kind {
        ChangeKind::Deleted => {
            waiting.extend(store.owned_by(object.namespace(), object.uid()).map(Key::of));
            waiting.extend(object.owners().filter_map(|owner| owner_of(store, object, owner)).map(Key::of));
            waiting
                .extend(namespace_of(store, object).filter(|namespace| namespace.is_deleting()).map(Key::of));
        }
        ChangeKind::Added | ChangeKind::Modified => {
            let is_ours = object.is_deleting()
                && (object.resource == Resource::Namespaces || object.finalizers().next().is_some());
            if is_ours || (has_new_owners() && !lives_alone()) {
                waiting.insert(Key::of(object));
            }
            if change.before.is_some() && has_new_owners() {
                // A dependent that was let go may have been the last that its owner waits for.
                let before = change.before.iter().flat_map(Object::owners);
                waiting.extend(before.filter_map(|owner| owner_of(store, object, owner)).map(Key::of));
            }
        }
    }
}

fn is_staying(owner: &Object) -> bool {
    !(owner.is_deleting() && has_finalizer(owner, FOREGROUND))
}

fn has_finalizer(object: &Object, finalizer: &str) -> bool {
    object.finalizers().any(|present| present == finalizer)
}

fn namespace_of<'a>(store: &'a Store, object: &Object) -> Option<&'a Object> {
    store.get(&Key::new(Resource::Namespaces, "", object.namespace()))
}

/// The object that an owner reference means; its uid decides.
fn owner_of<'a>(store: &'a Store, dependent: &Object, owner: &Value) -> Option<&'a Object> {
    let text = |field: &str| owner.get(field).and_then(Value::as_str).unwrap_or_default();
    let resource = resource_of(owner)?;
    let namespace = if resource.is_namespaced() { dependent.namespace() } else { "" };
    let found = store.get(&Key::new(resource, namespace, text("name")))?;
    (found.uid() == text("uid")).then_some(found)
}

fn resource_of(owner: &Value) -> Option<Resource> {
    let text = |field: &str| owner.get(field).and_then(Value::as_str).unwrap_or_default();
    let (group, _) = text("apiVersion").split_once('/').unwrap_or_default();
    Resource::ALL.into_iter().find(|resource| resource.group() == group && resource.kind() == text("kind"))
}

fn owners(store: &Store, object: &Object) -> Owners {
    let mut owners = Owners::default();
    for owner in object.owners() {
        let uid = owner.get("uid").cloned().unwrap_or(Value::Null);
        match owner_of(store, object, owner) {
            // A kind that is not served cannot be asked for; what is unknown keeps the object.
            None if resource_of(owner).is_none() => owners.solid += 1,
            None => owners.dangling.push(uid),
            Some(found) if is_staying(found) => owners.solid += 1,
            Some(_) => owners.waiting.push(uid),
        }
    }
    owners
}

/// Deletes an object when its owners are gone or wait for it, or takes such owners off it.
fn collect(store: &mut Store, object: &Object) -> Result<(), Refused> {
    let owners = owners(store, object);
    if owners.dangling.is_empty() && owners.waiting.is_empty() {
        return Ok(());
    }
    if owners.solid > 0 {
        return disown(store, object, owners.dangling.iter().chain(&owners.waiting));
    }
    let has_dependents = store.owned_by(object.namespace(), object.uid()).next().is_some();
    let propagation = if !owners.waiting.is_empty() && has_dependents || has_finalizer(object, FOREGROUND) {
        Propagation::Foreground
    } else if has_finalizer(object, ORPHAN) {
        Propagation::Orphan
    } else {
        Propagation::Background
    };
    let preconditions = Preconditions { uid: Some(object.uid().to_owned()), resource_version: None };
    let deletion = Deletion { preconditions, propagation: Some(propagation), ..Deletion::default() };
    or_gone(store.delete(&Key::of(object), &deletion))
}

/// Takes owner references off an object.
fn disown<'a>(
    store: &mut Store,
    object: &Object,
    uids: impl Iterator<Item = &'a Value>,
) -> Result<(), Refused> {
    let gone: Vec<Value> = uids.map(|uid| json!({"$patch": "delete", "uid": uid})).collect();
    let patch = Patch::Strategic(json!({"metadata": {"uid": object.uid(), "ownerReferences": gone}}));
    or_gone(store.patch(&Key::of(object), &patch, Subresource::Main, Mode::Store))
}

/// Lets everything that an object owns stay without it, and then the object go.
fn orphan(store: &mut Store, object: &Object) -> Result<(), Refused> {
    let dependents: Vec<Object> = store.owned_by(object.namespace(), object.uid()).cloned().collect();
    let uid = Value::from(object.uid());
    dependents.iter().try_for_each(|dependent| disown(store, dependent, std::iter::once(&uid)))?;
    finish(store, object, ORPHAN)
}

/// Deletes everything that an object owns, and lets the object go when nothing of it is left
/// that it has to wait for.
fn delete_dependents(store: &mut Store, object: &Object) -> Result<(), Refused> {
    let dependents: Vec<Object> = store.owned_by(object.namespace(), object.uid()).cloned().collect();
    for dependent in dependents.iter().filter(|dependent| !dependent.is_deleting()) {
        collect(store, dependent)?;
    }
    let blocks = |dependent: &Object| {
        let mut owners = dependent.owners();
        owners.any(|owner| {
            owner.get("uid").and_then(Value::as_str) == Some(object.uid())
                && owner.get("blockOwnerDeletion") == Some(&Value::Bool(true))
        })
    };
    if store.owned_by(object.namespace(), object.uid()).any(blocks) {
        return Ok(());
    }
    finish(store, object, FOREGROUND)
}

/// Takes a finalizer off an object.
fn finish(store: &mut Store, object: &Object, finalizer: &str) -> Result<(), Refused> {
    let Some(mut live) = store.get(&Key::of(object)).filter(|live| live.uid() == object.uid()).cloned()
    else {
        return Ok(());
    };
    let rest: Vec<Value> =
        live.finalizers().filter(|present| *present != finalizer).map(Value::from).collect();
    live.set_metadata("finalizers", if rest.is_empty() { Value::Null } else { Value::Array(rest) });
    or_gone(store.replace(live, Subresource::Main, Mode::Store))
}

/// Deletes what is in a namespace, and then the namespace.
fn empty(store: &mut Store, namespace: &Object) -> Result<(), Refused> {
    let name = namespace.name();
    let inside: Vec<(Key, bool)> = Resource::ALL
        .into_iter()
        .filter(|resource| resource.is_namespaced())
        .flat_map(|resource| store.list(resource, Some(name)))
        .map(|object| (Key::of(object), object.is_deleting()))
        .collect();
    for (key, is_deleting) in &inside {
        if !is_deleting {
            let deletion = Deletion { propagation: Some(Propagation::Background), ..Deletion::default() };
            or_gone(store.delete(key, &deletion))?;
        }
    }
    let is_empty = inside.iter().all(|(key, _)| store.get(key).is_none());
    if is_empty { or_gone(store.finalize_namespace(name)) } else { Ok(()) }
}

fn or_gone<T>(done: Result<T, Refused>) -> Result<(), Refused> {
    match done {
        Err(refused) if refused.code != 404 => Err(refused),
        _ => Ok(()),
    }
}
