//! ReplicaSets of the operator that left the watch: deleted, or without the label.
//!
//! On rollwright.dev the operator watches labeled ReplicaSets only. It reads one that leaves the watch live
//! and, if the Deployment still owns it, labels it again before the reconcile continues. Counting without
//! it could start too many pods.

use plan::keys::{MANAGED_LABEL, MANAGED_VALUE};
use plan::{Flavour, ReplicaSet};
use serde_json::json;

use super::{Attempt, live};
use crate::port::{Cause, Kind, Note, Object, Patch, Port, Request};
use crate::reconcile::Refusal;

impl<P: Port> Attempt<'_, P> {
    /// Finds out why ReplicaSets of this Deployment left the watch, and restores the label of those that it owns.
    pub(super) async fn settle_strays(&self) -> Result<(), Refusal> {
        let strays = self.engine.cache().strays(self.key);
        for stray in strays {
            self.bring_back(&stray.name, &stray.uid).await?;
            self.engine.cache().settle_stray(self.key, &stray.uid);
        }
        Ok(())
    }

    /// Labels a ReplicaSet again if it exists and a Deployment of this operator controls it; also one that is being
    /// deleted, since it still has pods, and only the watch shows when it is gone.
    pub(super) async fn bring_back(&self, name: &str, uid: &str) -> Result<(), Refusal> {
        let Some(set) = self.set_with_uid(name, uid).await? else { return Ok(()) };
        if is_watched(self.engine.flavour, &set) {
            self.put(set);
            return Ok(());
        }
        let owner = set.controller_uid.as_ref();
        let namespace = &self.key.namespace;
        if owner.is_none_or(|uid| self.engine.cache().key_of(namespace, uid).is_none()) {
            self.port.note(Note::LeftAlone(name));
            return Ok(());
        }
        self.label(&set).await?;
        self.port.note(Note::LabelRestored(name));
        Ok(())
    }

    /// A ReplicaSet as it is now, if it is still this one.
    pub(super) async fn set_with_uid(&self, name: &str, uid: &str) -> Result<Option<ReplicaSet>, Refusal> {
        let live = self.get_set(name).await?.filter(|live| live.metadata("uid") == uid);
        live.map(|live| live::set(self.engine.flavour, &live)).transpose()
    }

    /// Puts the operator's label on a ReplicaSet, and the ReplicaSet into the cache ahead of the watch.
    pub(super) async fn label(&self, set: &ReplicaSet) -> Result<(), Refusal> {
        let patch = json!({
            "metadata": {
                "uid": set.uid,
                "resourceVersion": set.resource_version,
                "labels": { MANAGED_LABEL: MANAGED_VALUE },
            },
        });
        let request = Request::Patch {
            kind: Kind::ReplicaSet,
            namespace: self.key.namespace.clone(),
            name: set.name.clone(),
            patch: Patch::Merge(patch),
            of_status: false,
            wants_object: true,
        };
        let live = self.send_for_object(request, Cause::Label).await?;
        self.put(live::set(self.engine.flavour, &live)?);
        Ok(())
    }
}

/// Whether the watch shows a ReplicaSet: it has the operator's label, or needs none.
pub(super) fn is_watched(flavour: Flavour, set: &ReplicaSet) -> bool {
    flavour.set_labels().is_none()
        || set.labels.get(MANAGED_LABEL).is_some_and(|value| value == MANAGED_VALUE)
}
