//! What the story does to the cluster: commands that a person would type into kubectl. Where there is
//! no kubectl, the library of `kubectl rollwright` sends the same requests.

use std::fs;
use std::path::Path;

use cluster::Tool;
use kube::Api;
use kube::api::{DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::watches::{NAME, NAMESPACE, kind};

/// One command.
#[derive(Clone, Debug)]
pub(crate) enum Deed {
    /// Applies a manifest.
    Apply(&'static str),
    /// Applies it with another tag of its image.
    Retag { path: &'static str, from: &'static str, to: &'static str },
    /// Merges this into the Deployment.
    Merge(Value),
    /// Carries these operations out on the Deployment.
    Operations(Value),
    /// Scales the Deployment.
    Scale(u32),
}

impl Deed {
    /// What a person types.
    pub(crate) fn typed(&self) -> String {
        match self {
            Self::Retag { path, from, to } => format!("sed s/:{from}/:{to}/ {path} | kubectl apply -f -"),
            Self::Apply(_) | Self::Merge(_) | Self::Operations(_) | Self::Scale(_) => {
                let quote = |argument: &String| match argument.contains(['{', '"', ' ']) {
                    true => format!("'{argument}'"),
                    false => argument.clone(),
                };
                format!("kubectl {}", self.arguments().iter().map(quote).collect::<Vec<_>>().join(" "))
            }
        }
    }

    /// The arguments of kubectl.
    fn arguments(&self) -> Vec<String> {
        let name = format!("rwd/{NAME}");
        let patch = |form: &str, patch: &Value| {
            let form = format!("--type={form}");
            vec!["patch".to_owned(), name.clone(), form, "-p".to_owned(), patch.to_string()]
        };
        match self {
            Self::Apply(path) => ["apply", "-f", path].map(str::to_owned).to_vec(),
            Self::Retag { .. } => ["apply", "-f", "-"].map(str::to_owned).to_vec(),
            Self::Merge(value) => patch("merge", value),
            Self::Operations(value) => patch("json", value),
            Self::Scale(replicas) => vec!["scale".to_owned(), name, format!("--replicas={replicas}")],
        }
    }

    /// The text of the manifest that it applies; empty if it applies none.
    fn manifest(&self) -> Result<String, Failure> {
        let read = |path: &str| fs::read_to_string(path).map_err(Failure::io("reading", Path::new(path)));
        match self {
            Self::Apply(path) => read(path),
            Self::Retag { path, from, to } => Ok(read(path)?.replace(&format!(":{from}"), &format!(":{to}"))),
            Self::Merge(_) | Self::Operations(_) | Self::Scale(_) => Ok(String::new()),
        }
    }
}

/// Who carries the commands out.
pub(crate) enum Hand {
    /// kubectl, by typing them.
    Kubectl(Tool),
    /// The library of `kubectl rollwright`.
    Library(kube::Client),
}

impl Hand {
    /// Carries a command out.
    pub(crate) async fn carry_out(&self, deed: &Deed) -> Result<String, Failure> {
        let manifest = deed.manifest()?;
        match self {
            Self::Kubectl(tool) => {
                let arguments = deed.arguments();
                let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
                tool.output_of(&arguments, &manifest).await?;
            }
            Self::Library(client) => request(client.clone(), deed, &manifest).await?,
        }
        Ok(String::new())
    }
}

async fn request(client: kube::Client, deed: &Deed, manifest: &str) -> Result<(), Failure> {
    let params = PatchParams::default();
    let deployments: Api<DynamicObject> =
        Api::namespaced_with(client.clone(), NAMESPACE, &kind("rollwright.dev", "Deployment"));
    match deed {
        Deed::Apply(_) | Deed::Retag { .. } => drop(cli::apply(client, NAMESPACE, manifest).await?),
        Deed::Merge(value) => drop(deployments.patch(NAME, &params, &Patch::Merge(value)).await?),
        Deed::Operations(value) => {
            let operations = serde_json::from_value(value.clone());
            let operations = operations.map_err(|error| Failure::Broken(error.to_string()))?;
            drop(deployments.patch(NAME, &params, &Patch::Json::<()>(operations)).await?);
        }
        Deed::Scale(replicas) => {
            let patch = json!({ "spec": { "replicas": replicas } });
            drop(deployments.patch_scale(NAME, &params, &Patch::Merge(&patch)).await?);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_as_it_is_typed() {
        let typed = |deed: Deed| deed.typed();
        assert_eq!(typed(Deed::Apply("examples/web.yaml")), "kubectl apply -f examples/web.yaml");
        let retag = Deed::Retag { path: "web.yaml", from: "v1", to: "v2" };
        assert_eq!(typed(retag), "sed s/:v1/:v2/ web.yaml | kubectl apply -f -");
        let merge = Deed::Merge(json!({ "spec": { "paused": true } }));
        assert_eq!(typed(merge), r#"kubectl patch rwd/web --type=merge -p '{"spec":{"paused":true}}'"#);
        assert_eq!(typed(Deed::Scale(8)), "kubectl scale rwd/web --replicas=8");
    }
}
