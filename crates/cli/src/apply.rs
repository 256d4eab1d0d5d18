//! Applies Deployments as `kubectl apply --server-side` does. This program has no such verb, since kubectl
//! has it. The flag `--apply` of the sandbox and `plan -f` use this module.

use admission::lint::{Linter, Which};
use kube::Client;
use kube::api::{Patch, PatchParams};
use serde_json::Value;

use crate::args::writing::FIELD_MANAGER;
use crate::cluster::{Cluster, Deployment, body};
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
    // As kubectl: a field that is misspelled is an error, and not one that is left out.
    let params = PatchParams { dry_run, ..PatchParams::apply(FIELD_MANAGER).force().validation_strict() };
    match cluster.deployments(flavour).patch(name, &params, &Patch::Apply(object)).await {
        Ok(patched) => Ok(Deployment { flavour, body: body(patched) }),
        Err(kube::Error::Api(status)) if status.code == 404 && flavour.is_custom_resource() => {
            Err(cluster.without_definition())
        }
        Err(error) => Err(hinted((&error).into())),
    }
}

/// The same failure, with what to write instead of a field that the server does not know.
fn hinted(failure: Failure) -> Failure {
    let Failure::Request { code, message } = failure else { return failure };
    let hint = unknown_field(&message).and_then(|field| Linter::new(Which::AppsToo).ok()?.hint(field));
    Failure::Request { code, message: message + &hint.unwrap_or_default() }
}

/// The path of the first field that a refusal names as unknown: of a decoder, or of server-side apply.
fn unknown_field(message: &str) -> Option<&str> {
    if let Some((_, after)) = message.split_once("unknown field \"") {
        return after.split('"').next();
    }
    let (before, _) = message.split_once(": field not declared in schema")?;
    before.rsplit(' ').next().map(|path| path.trim_start_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::Code;

    #[test]
    fn a_misspelled_field_has_a_suggestion() {
        let said = |message: &str| {
            hinted(Failure::Request { code: Code::Failed, message: message.to_owned() }).to_string()
        };
        let decoder = "strict decoding error: unknown field \"spec.replicsa\"";
        assert_eq!(said(decoder), format!("{decoder}; did you mean spec.replicas?"));
        let apply = "failed to create typed patch object (shop/web; apps/v1, Kind=Deployment): \
                     .spec.template.spec.containers[name=\"app\"].imge: field not declared in schema";
        assert_eq!(
            said(apply),
            format!("{apply}; did you mean spec.template.spec.containers[name=\"app\"].image?")
        );
        for other in ["strict decoding error: unknown field \"spec.colour\"", "replicas must be a number"] {
            assert_eq!(said(other), other);
        }
    }
}
