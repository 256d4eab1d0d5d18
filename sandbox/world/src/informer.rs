//! What one watch has shown so far: the cache of a controller, as old as its driver wants it.

use std::collections::BTreeMap;

use crate::log::{Change, ChangeKind, Expired};
use crate::object::Object;
use crate::resource::Resource;
use crate::store::Store;
use crate::store::key::Key;

/// The objects of a kind as a watch has shown them, and by the uid of their controller.
#[derive(Clone, Debug)]
pub struct Informer {
    resource: Resource,
    version: u64,
    objects: BTreeMap<Key, Object>,
    /// The same objects once more, so that the pods of a ReplicaSet are read without looking each up.
    controlled: BTreeMap<String, BTreeMap<Key, Object>>,
}

impl Informer {
    /// A cache that has seen nothing yet.
    #[must_use]
    pub fn new(resource: Resource) -> Self {
        Self { resource, version: 0, objects: BTreeMap::new(), controlled: BTreeMap::new() }
    }

    /// The version of the cluster that it shows.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// An object, as last seen.
    #[must_use]
    pub fn get(&self, key: &Key) -> Option<&Object> {
        self.objects.get(key)
    }

    /// All objects, as last seen.
    pub fn objects(&self) -> impl Iterator<Item = (&Key, &Object)> {
        self.objects.iter()
    }

    /// The objects that a controller of this namespace is in charge of, as last seen, by name. Those of another
    /// namespace that name its uid are not.
    pub fn controlled_by<'a>(
        &'a self,
        namespace: &'a str,
        uid: &str,
    ) -> impl Iterator<Item = (&'a Key, &'a Object)> {
        let named = self.controlled.get(uid).into_iter().flatten();
        named.filter(move |(key, _)| key.namespace == namespace)
    }

    /// Takes in the changes up to and with a version, and shows each to `seen`.
    ///
    /// # Errors
    /// When that history is not kept any more; then [`Self::relist`].
    pub fn advance(
        &mut self,
        store: &Store,
        through: u64,
        mut seen: impl FnMut(&Change),
    ) -> Result<(), Expired> {
        let through = through.min(store.version());
        if through <= self.version {
            return Ok(());
        }
        for change in store.changes(self.resource, self.version)? {
            if change.version > through {
                break;
            }
            self.take_in(change);
            seen(change);
        }
        self.version = through;
        Ok(())
    }

    /// Starts over with what is there now. What went unseen is shown to `gone`.
    pub fn relist(&mut self, store: &Store, mut gone: impl FnMut(&Object)) {
        let before = std::mem::take(&mut self.objects);
        self.controlled.clear();
        for object in store.list(self.resource, None) {
            self.insert(Key::of(object), object.clone(), None);
        }
        self.version = store.version();
        before.values().filter(|object| self.get(&Key::of(object)).is_none()).for_each(&mut gone);
    }

    fn take_in(&mut self, change: &Change) {
        let key = Key::of(&change.object);
        match change.kind {
            ChangeKind::Added | ChangeKind::Modified => {
                let before = change.before.as_ref().and_then(Object::controller_uid);
                self.insert(key, change.object.clone(), before);
            }
            ChangeKind::Deleted => {
                if let Some(object) = self.objects.remove(&key) {
                    self.release(object.controller_uid(), &key);
                }
            }
        }
    }

    fn insert(&mut self, key: Key, object: Object, controller_before: Option<&str>) {
        let controller = object.controller_uid();
        if controller != controller_before {
            self.release(controller_before, &key);
        }
        if let Some(uid) = controller {
            let (key, object) = (key.clone(), object.clone());
            match self.controlled.get_mut(uid) {
                Some(objects) => _ = objects.insert(key, object),
                None => _ = self.controlled.insert(uid.to_owned(), BTreeMap::from([(key, object)])),
            }
        }
        self.objects.insert(key, object);
    }

    fn release(&mut self, controller: Option<&str>, key: &Key) {
        let Some(uid) = controller else { return };
        let Some(objects) = self.controlled.get_mut(uid) else { return };
        objects.remove(key);
        if objects.is_empty() {
            self.controlled.remove(uid);
        }
    }
}
