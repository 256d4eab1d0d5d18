//! A recorded case, read.

use api::decode::Defaults;
use jiff::Timestamp;
use plan::Flavour;
use plan::keys::FINGERPRINTS;
use plan::template::pod_template_hash;
use serde::Deserialize;
use serde_json::Value;

/// In a variation of a case: the fingerprint of the Deployment's template.
const FINGERPRINT: &str = "<fingerprint>";
/// In a variation of a case, in the annotation of a ReplicaSet: the fingerprint of the ReplicaSet's template.
const OWN_FINGERPRINT: &str = "<own-fingerprint>";

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
    /// Since when the operator has news for the status, as it remembers; only variations have it.
    status_held: Option<Timestamp>,
    pub(crate) input: Input,
    /// The operator's hash of the input's template and collision count.
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

/// A write that the server refuses.
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
    /// Reads a line, and puts the operator's hash and fingerprints for the placeholders in it.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let first = Self::parse(text)?;
        let template = first.input.deployment.pointer("/spec/template").cloned().unwrap_or_default();
        let count = first.input.deployment.pointer("/status/collisionCount").and_then(Value::as_i64);
        let count = count.and_then(|count| i32::try_from(count).ok());
        let hash = pod_template_hash(&template, count);
        let fingerprint = first.flavour().fingerprint(&template);
        let text = text.replace("<hash>", &hash).replace(FINGERPRINT, fingerprint.as_str());
        let mut case = Self::parse(&text)?;
        case.mark_sets();
        Ok(Self { hash, ..case })
    }

    fn mark_sets(&mut self) {
        let flavour = self.flavour();
        let path = format!("/metadata/annotations/{}", FINGERPRINTS.replace('/', "~1"));
        for set in &mut self.input.replica_sets {
            if set.pointer(&path).is_some_and(|mark| mark == OWN_FINGERPRINT) {
                let fingerprint = flavour.fingerprint(&set["spec"]["template"]);
                set["metadata"]["annotations"][FINGERPRINTS] = fingerprint.as_str().into();
            }
        }
    }

    fn parse(text: &str) -> Result<Self, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    /// Recorded cases are of apps/v1; `dev/law` plays variations of them on rollwright.dev too.
    pub(crate) fn flavour(&self) -> Flavour {
        let ours = Flavour::Rollwright;
        let is_ours = self.input.deployment["apiVersion"] == ours.api_version();
        if is_ours { ours } else { Flavour::AppsV1 }
    }

    pub(crate) fn defaults(&self) -> Defaults {
        if self.apply_defaults { Defaults::Apply } else { Defaults::of(self.flavour()) }
    }

    pub(crate) fn options(&self) -> plan::Options {
        let pace = plan::Pace::Paced { flavour: self.flavour(), since: self.status_held, is_busy: true };
        plan::Options::new(self.feature_gates.terminating_replicas, pace)
    }
}
