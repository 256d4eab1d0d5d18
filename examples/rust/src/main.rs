//! Rolls out a Deployment, changes its image, and goes back, through the API's Rust types.

use std::error::Error;

use kube::api::{Api, Patch, PatchParams};
use kube::runtime::wait::await_condition;
use rollwright_api::{Deployment, DeploymentSpec};
use serde_json::json;

/// This program's name in `metadata.managedFields`.
const MANAGER: &str = "example";

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let client = kube::Client::try_default().await?;
    roll_out_and_back(&Api::default_namespaced(client)).await
}

/// Rolls out two versions, and goes back to the first.
pub(crate) async fn roll_out_and_back(api: &Api<Deployment>) -> Result<(), Box<dyn Error>> {
    for version in ["1.28", "1.29"] {
        apply(api, &web(version)).await?;
        report(&ready(api, "web").await?);
    }
    // The operator restores the template of revision 1 and clears the request.
    let request = json!({"spec": {"rollbackTo": {"revision": 1}}});
    api.patch("web", &PatchParams::default(), &Patch::Merge(request)).await?;
    report(&ready(api, "web").await?);
    Ok(())
}

/// Three pods of this version.
fn web(version: &str) -> Deployment {
    let template = json!({
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "web", "image": format!("nginx:{version}")}]},
    });
    Deployment::new(
        "web",
        DeploymentSpec { replicas: Some(3), template: template.into(), ..Default::default() },
    )
}

/// Creates the Deployment, or changes the one that is there.
async fn apply(api: &Api<Deployment>, deployment: &Deployment) -> kube::Result<Deployment> {
    let name = deployment.metadata.name.as_deref().unwrap_or_default();
    api.patch(name, &PatchParams::apply(MANAGER), &Patch::Apply(deployment)).await
}

/// Waits until all pods have the current template and are available.
async fn ready(api: &Api<Deployment>, name: &str) -> Result<Deployment, Box<dyn Error>> {
    let is_done = |found: Option<&Deployment>| {
        found.is_some_and(|deployment| deployment.spec.rollback_to.is_none() && deployment.is_ready())
    };
    let found = await_condition(api.clone(), name, is_done).await?;
    found.ok_or_else(|| format!("{name} is gone").into())
}

/// Prints a line such as `web: revision 2, 3 of 3 pods are ready`.
fn report(deployment: &Deployment) {
    let status = deployment.status.clone().unwrap_or_default();
    let (revision, ready) = (status.revision.unwrap_or(0), status.ready_replicas.unwrap_or(0));
    let replicas = deployment.spec.replicas.unwrap_or(1);
    println!("web: revision {revision}, {ready} of {replicas} pods are ready");
}
