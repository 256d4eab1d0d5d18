//! Applies Deployments as `kubectl apply --server-side` does. This program has no such verb, since kubectl
//! has it. The flag `--apply` of the sandbox and `plan -f` use this module.

use kube::Client;
use kube::api::{Patch, PatchParams};
use serde_json::Value;

use crate::cluster::{Cluster, Deployment, FIELD_MANAGER, body};
use crate::failure::Failure;
use crate::manifests;

/// Why a manifest was not applied.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct NotApplied(#[from] Failure);

/// Applies all Deployments of a manifest, and returns their names: `deployment.apps/web`.
///
/// # Errors
/// When the text is not YAML or holds an object of another kind, and when the server refuses one.
pub async fn apply(client: Client, namespace: &str, manifest: &str) -> Result<Vec<String>, NotApplied> {
    let cluster = Cluster::of(client, namespace);
    let mut names = Vec::new();
    for object in admission::lint::objects(manifest).map_err(Failure::Usage)? {
        let kind = object.get("kind").and_then(Value::as_str).unwrap_or_default();
        if kind != "Deployment" {
            return Err(Failure::Usage(format!("kind \"{kind}\" must be Deployment")).into());
        }
        names.push(applied(&cluster, &object, false).await?.full_name());
    }
    Ok(names)
}

/// A Deployment as the server has it after an apply, with its defaults, or would have it after one.
pub(crate) async fn applied(cluster: &Cluster, object: &Value, dry_run: bool) -> Result<Deployment, Failure> {
    let (flavour, name) = manifests::identity(object)?;
    let params = PatchParams { dry_run, ..PatchParams::apply(FIELD_MANAGER).force() };
    let patched = cluster.deployments(flavour).patch(name, &params, &Patch::Apply(object)).await?;
    Ok(Deployment { flavour, body: body(patched) })
}
