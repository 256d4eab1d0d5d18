//! Registers a webhook server and finds out when the API server heeds it.

use std::time::Duration;

use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::PostParams;
use serde_json::{Value, json};

use crate::credentials::random_suffix;
use crate::error::Error;
use crate::wait::{NotYet, wait_for};

/// Marks the object that is created to show that a registration took effect.
pub(super) const PROBE_LABEL: &str = "fake.rollwright.dev/webhook-probe";
pub(super) const PROBE_MESSAGE: &str = "the webhook is in place";

const PROBE_NAMESPACE: &str = "default";
const EFFECT_DEADLINE: Duration = Duration::from_secs(30);

/// What a webhook declares about itself. `admissionregistration.k8s.io/v1`
/// accepts no others, so the API server's own refusal of dry runs cannot be
/// provoked any more; [`crate::webhook::Behaviour::RefuseDryRun`] mimics it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SideEffects {
    /// The webhook changes nothing else.
    None,
    /// The webhook changes nothing else on a dry run.
    NoneOnDryRun,
}

/// Which requests a webhook is called for.
#[derive(Clone, Debug, PartialEq)]
pub struct Registration {
    /// Namespace with the objects that it sees; no others.
    pub namespace: String,
    /// Labels the object must carry; none means any object.
    pub object_labels: Vec<(String, String)>,
    /// API group, such as `apps`.
    pub group: String,
    /// API version, such as `v1`.
    pub version: String,
    /// Plural resource, or `resource/subresource`.
    pub resource: String,
    /// `CREATE`, `UPDATE`, `DELETE`.
    pub operations: Vec<String>,
    /// What it declares about itself.
    pub side_effects: SideEffects,
    /// Whether it is called again when a later webhook changes the object.
    pub reinvoke: bool,
}

impl Registration {
    /// For the `ReplicaSets` of one namespace.
    pub fn replica_sets(namespace: &str, operations: &[&str]) -> Self {
        Self {
            namespace: namespace.to_owned(),
            object_labels: Vec::new(),
            group: "apps".to_owned(),
            version: "v1".to_owned(),
            resource: "replicasets".to_owned(),
            operations: operations.iter().map(|&operation| operation.to_owned()).collect(),
            side_effects: SideEffects::None,
            reinvoke: false,
        }
    }

    fn webhooks(&self, name: &str, client_config: &Value) -> Value {
        let labels: serde_json::Map<String, Value> =
            self.object_labels.iter().map(|(key, value)| (key.clone(), value.clone().into())).collect();
        let side_effects = match self.side_effects {
            SideEffects::None => "None",
            SideEffects::NoneOnDryRun => "NoneOnDryRun",
        };
        json!([{
            "name": "test.rollwright.dev",
            "admissionReviewVersions": ["v1"],
            "clientConfig": client_config,
            "sideEffects": side_effects,
            "failurePolicy": "Fail",
            "reinvocationPolicy": if self.reinvoke { "IfNeeded" } else { "Never" },
            "timeoutSeconds": 10,
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": self.namespace}},
            "objectSelector": {"matchLabels": labels},
            "rules": [{
                "apiGroups": [self.group], "apiVersions": [self.version], "resources": [self.resource],
                "operations": self.operations, "scope": "Namespaced",
            }],
        }, {
            "name": "probe.rollwright.dev",
            "admissionReviewVersions": ["v1"],
            "clientConfig": client_config,
            "sideEffects": "None",
            "failurePolicy": "Ignore",
            "timeoutSeconds": 10,
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": PROBE_NAMESPACE}},
            "objectSelector": {"matchLabels": {PROBE_LABEL: name}},
            "rules": [{
                "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"],
                "operations": ["CREATE"], "scope": "Namespaced",
            }],
        }])
    }
}

/// Creates the configuration and returns its name.
pub(super) async fn create(
    client: &kube::Client,
    registration: &Registration,
    port: u16,
    ca_pem: &str,
) -> Result<String, Error> {
    let name = format!("test-{}", random_suffix());
    let client_config = json!({
        "url": format!("https://127.0.0.1:{port}/mutate"),
        "caBundle": ByteString(ca_pem.as_bytes().to_vec()),
    });
    let configuration: MutatingWebhookConfiguration = serde_json::from_value(json!({
        "metadata": {"name": name},
        "webhooks": registration.webhooks(&name, &client_config),
    }))?;
    let configurations: Api<MutatingWebhookConfiguration> = Api::all(client.clone());
    configurations.create(&PostParams::default(), &configuration).await?;
    Ok(name)
}

/// The API server learns of a configuration by watching, a moment after it has stored it. All webhooks of one
/// configuration take effect together, so one that refuses a marked object, and nothing else, shows when.
pub(super) async fn wait_until_called(client: &kube::Client, name: &str) -> Result<(), Error> {
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), PROBE_NAMESPACE);
    let probe: ConfigMap = serde_json::from_value(json!({
        "metadata": {"generateName": "webhook-probe-", "labels": {PROBE_LABEL: name}},
    }))?;
    let params = PostParams { dry_run: true, ..PostParams::default() };
    wait_for("a webhook taking effect", EFFECT_DEADLINE, async || match maps.create(&params, &probe).await {
        Err(kube::Error::Api(status)) if status.message.contains(PROBE_MESSAGE) => Ok(()),
        Err(error) => Err(error.into()),
        Ok(_) => Err(NotYet("the API server does not call it".to_owned())),
    })
    .await
}
