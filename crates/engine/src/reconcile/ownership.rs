//! Adopts and releases ReplicaSets: tries all of them, and any error ends the reconcile (S2.16–S2.18).

use plan::{OwnerChange, Target};

use super::{Cluster, Reconcile, ReconcileError, Refusal};

impl<C: Cluster> Reconcile<'_, C> {
    /// Changes owners, and the snapshot accordingly.
    pub(crate) async fn change_owners(&mut self, changes: Vec<OwnerChange>) -> Result<(), ReconcileError> {
        let mut errors: Vec<ReconcileError> = Vec::new();
        // S2.16: one live read serves all adoptions of the reconcile.
        let mut may_adopt: Option<Result<(), ReconcileError>> = None;
        for change in changes {
            let result = match &change {
                OwnerChange::Release(target) => self.release(&change, target).await,
                OwnerChange::Adopt(target) => {
                    let allowed = match &may_adopt {
                        Some(allowed) => allowed.clone(),
                        None => may_adopt.insert(self.may_adopt().await).clone(),
                    };
                    match allowed {
                        Ok(()) => self.adopt(&change, target).await,
                        Err(error) => Err(error),
                    }
                }
            };
            errors.extend(result.err());
        }
        let Some(first) = errors.first() else { return Ok(()) };
        let message = errors.iter().map(|error| error.message.as_str()).collect::<Vec<_>>().join("; ");
        let retry = errors.iter().any(|error| error.retry);
        Err(ReconcileError { message, retry, conflict: first.conflict })
    }

    async fn may_adopt(&self) -> Result<(), ReconcileError> {
        let workload = &self.observed.workload;
        match self.cluster.owner(workload).await? {
            Some(owner) if owner.uid == workload.uid && !owner.deleting => Ok(()),
            Some(owner) if owner.uid == workload.uid => {
                Err(ReconcileError::retry(format!("{} has just been deleted", workload.name)))
            }
            Some(owner) => Err(ReconcileError::retry(format!(
                "original Deployment {}/{} is gone: got uid {}, wanted {}",
                workload.namespace, workload.name, owner.uid, workload.uid
            ))),
            None => Err(ReconcileError::retry(format!("deployment {} not found", workload.name))),
        }
    }

    async fn adopt(&mut self, change: &OwnerChange, target: &Target) -> Result<(), ReconcileError> {
        match self.cluster.change_owner(&self.observed.workload, change).await {
            Ok(version) => {
                self.writes += 1;
                let uid = self.observed.workload.uid.clone();
                if let Some(set) = self.observed.sets.iter_mut().find(|set| set.uid == target.uid) {
                    // S2.19: the version that the write returned is carried forward.
                    set.resource_version = version;
                    set.controller_uid = Some(uid);
                }
                self.deviations.insert("S2.19");
                Ok(())
            }
            // S2.15: a ReplicaSet that is gone is nobody's.
            Err(refusal) if refusal.is_not_found() => {
                self.forget(target);
                Ok(())
            }
            Err(refusal) => Err(refusal.into()),
        }
    }

    async fn release(&mut self, change: &OwnerChange, target: &Target) -> Result<(), ReconcileError> {
        let ignored = |refusal: &Refusal| refusal.is_not_found() || refusal.is_invalid();
        match self.cluster.change_owner(&self.observed.workload, change).await {
            Ok(_) => self.writes += 1,
            // S2.14: the ReplicaSet is gone, or no longer the Deployment's.
            Err(refusal) if ignored(&refusal) => {}
            Err(refusal) => return Err(refusal.into()),
        }
        self.forget(target);
        Ok(())
    }

    fn forget(&mut self, target: &Target) {
        self.observed.sets.retain(|set| set.uid != target.uid);
    }
}
