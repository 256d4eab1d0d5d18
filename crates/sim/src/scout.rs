//! ReplicaSets that the watch does not show because they lack our label, as the operator's
//! `src/scout.rs` finds them.

use std::sync::Arc;

use dispatch::index::Placed;
use pass::Refusal;
use plan::keys::{MANAGED_LABEL, MANAGED_VALUE};
use serde_json::json;
use world::{Patch, Resource, Subresource};

use crate::history::{decode_set, is_marked};
use crate::link::{Decided, Link, Request, lock, unreadable};

impl Link {
    pub(crate) async fn settle_strays(&self) -> Result<(), Refusal> {
        let strays = lock(&self.brain).index.strays(&self.key);
        for stray in strays {
            self.bring_back(&stray.name, &stray.uid).await?;
            lock(&self.brain).index.settle_stray(&self.key, &stray.uid);
        }
        Ok(())
    }

    /// As `src/scout.rs`: once per Deployment and process, sets without our label are looked for.
    pub(crate) async fn look_for_orphans(&self) -> Result<(), Refusal> {
        if self.flavour.set_labels().is_none() {
            return Ok(());
        }
        let workload = {
            let mut brain = lock(&self.brain);
            let Some(uid) = brain.index.uid_of(&self.key) else { return Ok(()) };
            if brain.memory.has_scouted(&self.key, &uid) {
                return Ok(());
            }
            let Some((workload, _)) = brain.index.first_seen(&self.key) else { return Ok(()) };
            if workload.deleting {
                return Ok(());
            }
            workload
        };
        let Some(selector) = workload.selector.as_ref() else { return Ok(()) };
        let found = self.send(Request::List(Resource::ReplicaSets), None).await?;
        let found = found.iter().filter_map(|object| decode_set(self.flavour, object));
        let mut orphans = Vec::new();
        for set in found.filter(|set| !is_marked(set) && !set.deleting) {
            match &set.controller_uid {
                Some(uid) if *uid == workload.uid => self.bring_back(&set.name, &set.uid).await?,
                Some(_) => {}
                None if selector.matches(&set.labels) => orphans.push(set.name),
                None => {}
            }
        }
        lock(&self.brain).memory.note_scouted(&self.key, &workload.uid, orphans);
        Ok(())
    }

    async fn bring_back(&self, name: &str, uid: &str) -> Result<(), Refusal> {
        let live = self.get(Resource::ReplicaSets, name).await?.filter(|live| live.uid() == uid);
        let Some(mut set) = live.and_then(|live| decode_set(self.flavour, &live)) else { return Ok(()) };
        if !is_marked(&set) {
            let owner = set.controller_uid.as_ref();
            if owner.is_none_or(|owner| lock(&self.brain).index.key_of(owner).is_none()) {
                return Ok(());
            }
            let patch = json!({ "metadata": {
                "uid": set.uid, "resourceVersion": set.resource_version,
                "labels": { MANAGED_LABEL: MANAGED_VALUE },
            }});
            let live = self.patch(
                Resource::ReplicaSets,
                name,
                Patch::Merge(patch),
                Subresource::Main,
                Decided::Mark,
            );
            set = decode_set(self.flavour, &live.await?).ok_or_else(unreadable)?;
        }
        let placed = Placed { namespace: self.key.namespace.clone(), set: Arc::new(set) };
        let mut brain = lock(&self.brain);
        let woken = brain.index.put_set(placed);
        brain.woken.extend(woken.into_iter().filter(|other| *other != self.key));
        Ok(())
    }
}
