//! Deleting: immediately, or by a mark that finalizers and grace periods hold.

use std::sync::Arc;

use serde_json::{Value, json};

use super::key::Key;
use super::{FOREGROUND, ORPHAN, Store};
use crate::admission::Operation;
use crate::log::ChangeKind;
use crate::object::Object;
use crate::refusal::Refused;
use crate::resource::Resource;
use crate::stamp::stamp;
use crate::write::{self, Deletion, Mode, Propagation, Subresource};

impl Store {
    /// Deletes an object, or marks it for those who have to finish first.
    ///
    /// # Errors
    /// 404, 409.
    pub fn delete(&mut self, key: &Key, deletion: &Deletion) -> Result<Object, Refused> {
        let stored = self.find(key)?.clone();
        deletion.preconditions.check(&stored)?;
        let mut object = stored.clone();
        self.admit(Operation::Delete, Subresource::Main, deletion.mode, Some(&stored), &mut object)?;
        let mut finalizers: Vec<&str> = object.finalizers().collect();
        let before = finalizers.len();
        let is_policy = |finalizer: &&str| [FOREGROUND, ORPHAN].contains(finalizer);
        let present = finalizers.iter().copied().find(|finalizer| is_policy(finalizer));
        finalizers.retain(|finalizer| !is_policy(finalizer));
        finalizers.extend(match deletion.propagation {
            // A client that deletes a Job has to ask for the end of its pods.
            None => present.or((key.resource == Resource::Jobs).then_some(ORPHAN)),
            Some(Propagation::Background) => None,
            Some(Propagation::Foreground) => Some(FOREGROUND),
            Some(Propagation::Orphan) => Some(ORPHAN),
        });
        let grace = write::grace(&stored, deletion.grace_seconds);
        let waits = !finalizers.is_empty() || grace > 0 || !write::is_emptied(&stored);
        if deletion.mode == Mode::DryRun {
            return Ok(stored);
        }
        if !waits {
            return Ok(self.remove(key, object));
        }
        if finalizers.len() != before || !stored.is_deleting() {
            let finalizers = Value::from(finalizers.into_iter().map(str::to_owned).collect::<Vec<_>>());
            let is_empty = finalizers.as_array().is_some_and(Vec::is_empty);
            object.set_metadata("finalizers", if is_empty { Value::Null } else { finalizers });
        }
        self.mark(&mut object, grace);
        if object == stored {
            return Ok(stored);
        }
        Ok(self.put(key, object, ChangeKind::Modified))
    }

    fn mark(&self, object: &mut Object, grace: i64) {
        let end = self.now.checked_add(jiff::SignedDuration::from_secs(grace)).unwrap_or(self.now);
        let left = object.metadata.get("deletionGracePeriodSeconds").and_then(Value::as_i64);
        if !object.is_deleting() || left.is_some_and(|left| grace < left) {
            let is_first = !object.is_deleting();
            object.set_metadata("deletionTimestamp", stamp(end));
            object.set_metadata("deletionGracePeriodSeconds", Value::from(grace));
            if is_first && object.resource.has_generation() {
                object.set_metadata("generation", Value::from(object.generation() + 1));
            }
            if is_first && object.resource == Resource::Namespaces {
                object.status = Arc::new(json!({ "phase": "Terminating" }).into());
            }
        }
    }
}
