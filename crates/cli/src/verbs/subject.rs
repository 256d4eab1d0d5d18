//! The Deployment that a verb is about.

use admission::nearest;
use kube::api::Patch;
use serde_json::Value;

use crate::args::writing::{DryRun, Writing};
use crate::cluster::{Cluster, Deployment, FLAVOURS};
use crate::failure::Failure;
use crate::name::Named;

/// A Deployment that was named and found, and the cluster it is in.
pub(crate) struct Subject {
    pub(crate) cluster: Cluster,
    pub(crate) deployment: Deployment,
}

/// The Deployment that was named; if there is none, the failure names the one that is spelled most like it.
pub(super) async fn find(cluster: &Cluster, named: &Named) -> Result<Deployment, Failure> {
    match cluster.find(named).await {
        Err(Failure::NotFound { name, namespace, hint }) => {
            let hint = like(cluster, named).await.map_or(hint, |known| format!("; did you mean {known}?"));
            Err(Failure::NotFound { name, namespace, hint })
        }
        found => found,
    }
}

/// The Deployment with the name that is nearest. The same name in the other API is the nearest of all.
async fn like(cluster: &Cluster, named: &Named) -> Option<String> {
    let mut known = Vec::new();
    for flavour in FLAVOURS {
        known.extend(cluster.list(Some(flavour), None, false).await.unwrap_or_default());
    }
    if let Some(same) = known.iter().find(|deployment| deployment.name() == named.name) {
        return Some(same.full_name());
    }
    nearest(&named.name, known.iter().map(Deployment::name)).map(str::to_owned)
}

impl Subject {
    /// Patches the Deployment, or shows what it would be then.
    pub(crate) async fn patch(&self, patch: &Patch<Value>, writing: &Writing) -> Result<Deployment, Failure> {
        if writing.dry_run != DryRun::Client {
            return self.cluster.patch(&self.deployment, patch, writing).await;
        }
        let mut deployment = self.deployment.clone();
        match patch {
            Patch::Json(patch) => json_patch::patch(&mut deployment.body, patch)
                .map_err(|error| Failure::Rollout(error.to_string()))?,
            Patch::Merge(patch) => json_patch::merge(&mut deployment.body, patch),
            _ => {}
        }
        Ok(deployment)
    }
}
