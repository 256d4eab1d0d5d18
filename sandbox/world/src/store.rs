//! The store: all objects, and the log of their changes.

mod born;
mod deletion;
pub(crate) mod key;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::admission::{Admission, Operation, Request};
use crate::log::{Change, ChangeKind, Expired, Log};
use crate::object::Object;
use crate::patch::Patch;
use crate::refusal::Refused;
use crate::resource::Resource;
use crate::status::Status;
use crate::write::{self, Bindings, Mode, Preconditions, Subresource};

use born::Born;
use key::Key;

/// The finalizer of a foreground deletion.
pub(crate) const FOREGROUND: &str = "foregroundDeletion";
/// The finalizer of a deletion that orphans.
pub(crate) const ORPHAN: &str = "orphan";

/// Longest part of a `generateName` that is kept.
const PREFIX_MAX: usize = 58;

/// Every object of the cluster, and their history. Copies share what they have in common.
#[derive(Clone)]
pub struct Store {
    objects: BTreeMap<Key, Object>,
    /// Objects by the uids of their owners.
    owned: BTreeMap<String, BTreeSet<Key>>,
    bindings: Bindings,
    log: Log,
    version: u64,
    born: Born,
    now: Timestamp,
    admission: Vec<Arc<dyn Admission>>,
}

impl Store {
    /// An empty cluster at a time.
    #[must_use]
    pub fn new(now: Timestamp) -> Self {
        Self {
            objects: BTreeMap::new(),
            owned: BTreeMap::new(),
            bindings: Bindings::default(),
            log: Log::default(),
            // As in a cluster that has lived a little: 0 has a meaning of its own in the API.
            version: 100,
            born: Born::default(),
            now,
            admission: Vec::new(),
        }
    }

    /// The server's clock.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// Sets the server's clock; objects carry it in whole seconds.
    pub fn set_now(&mut self, now: Timestamp) {
        self.now = now;
    }

    /// The version of the whole, as a list answers it.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// From now on, what is created in this namespace is counted by itself. So it changes no uid and no generated name
    /// of objects elsewhere.
    pub fn set_apart(&mut self, namespace: &str) {
        self.born.set_apart(namespace);
    }

    /// Adds a step of admission after the others.
    pub fn add_admission(&mut self, step: Arc<dyn Admission>) {
        self.admission.push(step);
    }

    /// Drops all steps of admission.
    pub fn clear_admission(&mut self) {
        self.admission.clear();
    }

    /// An object as it is now.
    #[must_use]
    pub fn get(&self, key: &Key) -> Option<&Object> {
        self.objects.get(key)
    }

    /// The objects of a kind, by name; of all namespaces when none is given.
    pub fn list<'a>(
        &'a self,
        resource: Resource,
        namespace: Option<&str>,
    ) -> impl Iterator<Item = &'a Object> {
        let first = Key::new(resource, namespace.unwrap_or_default(), "");
        let namespace = namespace.map(str::to_owned);
        let from_there = self.objects.range(first..);
        let selected = from_there.take_while(move |(key, _)| {
            key.resource == resource && namespace.as_ref().is_none_or(|wanted| *wanted == key.namespace)
        });
        selected.map(|(_, object)| object)
    }

    /// Every object, by kind, namespace and name.
    pub fn objects(&self) -> impl Iterator<Item = &Object> {
        self.objects.values()
    }

    /// The objects with an owner reference to the object of this namespace with this uid, by name. An owner without a
    /// namespace owns objects of all.
    pub fn owned_by<'a>(&'a self, namespace: &'a str, uid: &str) -> impl Iterator<Item = &'a Object> {
        let named = self.owned.get(uid).into_iter().flatten();
        let owned = named.filter(move |key| namespace.is_empty() || key.namespace == namespace);
        owned.filter_map(|key| self.objects.get(key))
    }

    /// What happened to objects of all kinds after a version.
    ///
    /// # Errors
    /// 410 when that history has been compacted away.
    pub fn all_changes(&self, after: u64) -> Result<impl Iterator<Item = &Change>, Expired> {
        self.log.all_after(after)
    }

    /// What happened to objects of a kind after a version.
    ///
    /// # Errors
    /// 410 when that history has been compacted away.
    pub fn changes(&self, resource: Resource, after: u64) -> Result<impl Iterator<Item = &Change>, Expired> {
        self.log.after(resource, after)
    }

    /// Forgets history up to and with a version; watches that are older get 410.
    pub fn compact(&mut self, through: u64) {
        self.log.compact(through);
    }

    /// How many changes are kept.
    #[must_use]
    pub fn kept_changes(&self) -> usize {
        self.log.len()
    }

    fn find(&self, key: &Key) -> Result<&Object, Refused> {
        self.objects.get(key).ok_or_else(|| Refused::not_found(key.resource, &key.name))
    }

    /// Creates an object.
    ///
    /// # Errors
    /// When the name is missing or taken, the namespace is going away, or admission refuses.
    pub fn create(&mut self, mut object: Object, mode: Mode) -> Result<Object, Refused> {
        self.name(&mut object)?;
        let key = Key::of(&object);
        self.check_namespace(&key)?;
        let mut object = write::newborn(object, self.born.uid(&key.namespace), self.now);
        self.admit(Operation::Create, Subresource::Main, mode, None, &mut object)?;
        if self.objects.contains_key(&key) {
            return Err(Refused::already_exists(key.resource, &key.name));
        }
        match mode {
            Mode::DryRun => Ok(object),
            Mode::Store => Ok(self.put(&key, object, ChangeKind::Added)),
        }
    }

    /// Gives an object with `generateName` its name.
    fn name(&mut self, object: &mut Object) -> Result<(), Refused> {
        if !object.name().is_empty() {
            return Ok(());
        }
        let prefix = object.metadata.get("generateName").and_then(Value::as_str).unwrap_or_default();
        let prefix: String = prefix.chars().take(PREFIX_MAX).collect();
        if prefix.is_empty() {
            let cause = "metadata.name: Required value: name or generateName is required";
            return Err(Refused::invalid(object.resource, "", cause));
        }
        let name = format!("{prefix}{}", self.born.suffix(object.namespace()));
        object.set_metadata("name", Value::from(name));
        Ok(())
    }

    /// Nothing new in a namespace that is going away. Namespaces that nobody created exist.
    fn check_namespace(&self, key: &Key) -> Result<(), Refused> {
        let namespace = self.objects.get(&Key::new(Resource::Namespaces, "", &key.namespace));
        if key.resource.is_namespaced() && namespace.is_some_and(Object::is_deleting) {
            return Err(Refused::namespace_terminating(key.resource, &key.name, &key.namespace));
        }
        Ok(())
    }

    fn admit(
        &self,
        operation: Operation,
        subresource: Subresource,
        mode: Mode,
        stored: Option<&Object>,
        object: &mut Object,
    ) -> Result<(), Refused> {
        let is_dry_run = mode == Mode::DryRun;
        let request = Request { operation, resource: object.resource, subresource, is_dry_run, stored };
        self.admission.iter().try_for_each(|step| step.admit(self, &request, object))
    }

    /// Replaces an object, or the part of it that the subresource is for. The resourceVersion
    /// and uid that it carries are preconditions.
    ///
    /// # Errors
    /// 404, 409, or the answer of admission.
    pub fn replace(
        &mut self,
        object: Object,
        subresource: Subresource,
        mode: Mode,
    ) -> Result<Object, Refused> {
        let key = Key::of(&object);
        let stored = self.find(&key)?.clone();
        Preconditions::check_stated(&object, &stored)?;
        self.write(&key, &stored, object, subresource, mode)
    }

    /// Changes an object, or the part of it that the subresource is for.
    ///
    /// # Errors
    /// 400 when the patch is none, else as [`Self::replace`].
    pub fn patch(
        &mut self,
        key: &Key,
        patch: &Patch,
        subresource: Subresource,
        mode: Mode,
    ) -> Result<Object, Refused> {
        let stored = self.find(key)?.clone();
        let object = if subresource == Subresource::Scale {
            let mut scale = write::scale_of(&stored);
            patch.apply_to_value(&mut scale)?;
            let sent = Object::from_value(key.resource, scale.clone());
            Preconditions::check_stated(&sent, &stored)?;
            write::scaled(&stored, &scale)?
        } else {
            let object = patch.apply(&stored)?;
            Preconditions::check_stated(&object, &stored)?;
            object
        };
        self.write(key, &stored, object, subresource, mode)
    }

    /// The size of an object, as the scale subresource shows it.
    ///
    /// # Errors
    /// 404.
    pub fn scale(&self, key: &Key) -> Result<Value, Refused> {
        Ok(write::scale_of(self.find(key)?))
    }

    /// Sets a size through the scale subresource, given as an `autoscaling/v1` Scale.
    ///
    /// # Errors
    /// As [`Self::replace`], and 422 for a negative size.
    pub fn replace_scale(&mut self, key: &Key, scale: &Value, mode: Mode) -> Result<Object, Refused> {
        let stored = self.find(key)?.clone();
        let sent = Object::from_value(key.resource, scale.clone());
        Preconditions::check_stated(&sent, &stored)?;
        let object = write::scaled(&stored, scale)?;
        self.write(key, &stored, object, Subresource::Scale, mode)
    }

    fn write(
        &mut self,
        key: &Key,
        stored: &Object,
        sent: Object,
        subresource: Subresource,
        mode: Mode,
    ) -> Result<Object, Refused> {
        let mut object = write::merged(stored, sent, subresource);
        object.set_version(stored.version());
        self.admit(Operation::Update, subresource, mode, Some(stored), &mut object)?;
        if subresource != Subresource::Status {
            write::count_generation(stored, &mut object);
        }
        let persists = || self.admission.iter().any(|step| step.persists(stored));
        if mode == Mode::DryRun || (object == *stored && !persists()) {
            // A write that changes nothing is no write.
            return Ok(object);
        }
        if object.is_deleting() && write::is_finished(&object) {
            return Ok(self.remove(key, object));
        }
        Ok(self.put(key, object, ChangeKind::Modified))
    }

    /// Gives a pod its node, as the binding subresource does.
    ///
    /// # Errors
    /// 404, and 409 when it has one or is being deleted.
    pub fn bind(&mut self, key: &Key, node: &str) -> Result<Object, Refused> {
        let stored = self.find(key)?;
        let name = &key.name;
        if stored.is_deleting() {
            let why = format!("pod {name} is being deleted, cannot be assigned to a host");
            return Err(Refused::conflict(key.resource, name, &why));
        }
        if let Some(present) = stored.spec.get("nodeName").and_then(Value::as_str) {
            let why = format!("pod {name} is already assigned to node \"{present}\"");
            return Err(Refused::conflict(key.resource, name, &why));
        }
        let mut object = stored.clone();
        object.spec = self.bindings.spec(&object.spec, node);
        object.status = Arc::new(Status::bound(&object.status, self.now));
        Ok(self.put(key, object, ChangeKind::Modified))
    }

    /// Lets a namespace go once it is empty, as the finalize subresource does.
    ///
    /// # Errors
    /// 404.
    pub fn finalize_namespace(&mut self, name: &str) -> Result<Object, Refused> {
        let key = Key::new(Resource::Namespaces, "", name);
        let mut object = self.find(&key)?.clone();
        object.spec = Arc::new(json!({}));
        if object.is_deleting() && write::is_finished(&object) {
            return Ok(self.remove(&key, object));
        }
        Ok(self.put(&key, object, ChangeKind::Modified))
    }

    fn put(&mut self, key: &Key, mut object: Object, kind: ChangeKind) -> Object {
        self.version += 1;
        object.set_version(self.version);
        let before = self.objects.insert(key.clone(), object.clone());
        self.index(key, before.as_ref(), Some(&object));
        self.log.push(Change { version: self.version, kind, object: object.clone(), before });
        object
    }

    /// Keeps [`Self::owned_by`] up with a write.
    fn index(&mut self, key: &Key, before: Option<&Object>, after: Option<&Object>) {
        if let (Some(before), Some(after)) = (before, after)
            && (Arc::ptr_eq(&before.metadata, &after.metadata) || before.owner_uids().eq(after.owner_uids()))
        {
            return;
        }
        for uid in before.into_iter().flat_map(Object::owner_uids) {
            if let Some(keys) = self.owned.get_mut(uid) {
                keys.remove(key);
                if keys.is_empty() {
                    self.owned.remove(uid);
                }
            }
        }
        for uid in after.into_iter().flat_map(Object::owner_uids) {
            match self.owned.get_mut(uid) {
                Some(keys) => _ = keys.insert(key.clone()),
                None => _ = self.owned.insert(uid.to_owned(), BTreeSet::from([key.clone()])),
            }
        }
    }

    fn remove(&mut self, key: &Key, mut object: Object) -> Object {
        let before = self.objects.remove(key);
        self.index(key, before.as_ref(), None);
        self.version += 1;
        object.set_version(self.version);
        let (version, kind) = (self.version, ChangeKind::Deleted);
        self.log.push(Change { version, kind, object: object.clone(), before });
        object
    }
}
