//! Whether a GitOps tool manages the template: it puts its own back, whatever anyone else writes there.

use api::authors;

use crate::cluster::Deployment;

/// As these tools call themselves in `metadata.managedFields`. Names like `helm` and `kubectl` are those of people.
const TOOLS: [&str; 8] = [
    "argocd-controller",
    "argocd-application-controller",
    "kustomize-controller",
    "helm-controller",
    "flux",
    "fleet-agent",
    "fleetagent",
    "configsync.gke.io",
];

/// The tool that owns a part of the template, if one does.
pub(crate) fn manager(deployment: &Deployment) -> Option<&str> {
    authors::owners(&deployment.body, "f:template").find(|owner| TOOLS.contains(owner))
}

#[cfg(test)]
mod tests {
    use plan::Flavour;
    use serde_json::json;

    use super::*;

    fn owned_by(manager: &str, field: &str) -> Deployment {
        let fields = json!([{"manager": manager, "fieldsV1": {"f:spec": {field: {}}}}]);
        Deployment { flavour: Flavour::Rollwright, body: json!({"metadata": {"managedFields": fields}}) }
    }

    #[test]
    fn only_an_owner_of_the_template_with_an_exact_name_counts() {
        for tool in TOOLS {
            assert_eq!(manager(&owned_by(tool, "f:template")), Some(tool));
            assert_eq!(manager(&owned_by(tool, "f:replicas")), None, "{tool}");
        }
        for person in ["kubectl", "helm", "rollwright-cli", "flux-of-somebody", ""] {
            assert_eq!(manager(&owned_by(person, "f:template")), None, "{person}");
        }
    }
}
