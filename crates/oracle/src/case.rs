//! A recorded case, read.

use api::decode::Defaults;
use plan::Flavour;
use plan::template::pod_template_hash;
use serde::Deserialize;
use serde_json::Value;

/// A case as it stands in the file; only what a run needs.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Case {
    pub(crate) id: String,
    pub(crate) now: String,
    #[serde(default)]
    feature_gates: FeatureGates,
    #[serde(default)]
    apply_defaults: bool,
    pub(crate) input: Input,
    /// Our hash of the input's template and collision count.
    #[serde(skip)]
    pub(crate) hash: String,
}

#[derive(Debug, Default, Deserialize)]
struct FeatureGates {
    #[serde(rename = "DeploymentReplicaSetTerminatingReplicas", default)]
    terminating_replicas: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Input {
    pub(crate) deployment: Value,
    #[serde(default)]
    pub(crate) replica_sets: Vec<Value>,
    #[serde(default)]
    pub(crate) pods: Vec<Value>,
    #[serde(default)]
    pub(crate) uncached_replica_sets: Vec<Value>,
    #[serde(default)]
    pub(crate) api_deployment: ApiDeployment,
    #[serde(default)]
    pub(crate) faults: Vec<Fault>,
}

/// What a live read of the Deployment sees instead of the stored one.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ApiDeployment {
    #[serde(default)]
    pub(crate) missing: bool,
    pub(crate) uid: Option<String>,
    pub(crate) deletion_timestamp: Option<String>,
}

/// A write that is to be refused.
#[derive(Debug, Deserialize)]
pub(crate) struct Fault {
    pub(crate) verb: String,
    pub(crate) resource: String,
    pub(crate) name: Option<String>,
    pub(crate) code: u16,
    pub(crate) reason: String,
    #[serde(default)]
    pub(crate) message: String,
    pub(crate) cause: Option<String>,
}

impl Case {
    /// Reads a line, and puts our hash for the placeholder in it.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let first = Self::parse(text)?;
        let template = first.input.deployment.pointer("/spec/template").cloned().unwrap_or_default();
        let count = first.input.deployment.pointer("/status/collisionCount").and_then(Value::as_i64);
        let count = count.and_then(|count| i32::try_from(count).ok());
        let hash = pod_template_hash(&template, count);
        let case = Self::parse(&text.replace("<hash>", &hash))?;
        Ok(Self { hash, ..case })
    }

    fn parse(text: &str) -> Result<Self, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    pub(crate) fn flavour(&self) -> Flavour {
        Flavour::AppsV1
    }

    pub(crate) fn defaults(&self) -> Defaults {
        if self.apply_defaults { Defaults::Apply } else { Defaults::Literal }
    }

    pub(crate) fn options(&self) -> plan::Options {
        let terminating_replicas = self.feature_gates.terminating_replicas;
        plan::Options { terminating_replicas, ..plan::Options::default() }
    }
}
