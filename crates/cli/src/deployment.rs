//! A Deployment of either API, as the server sent it.

use api::decode::{self, Defaults, Rejected};
use api::{DeploymentSpec, DeploymentStatus};
use plan::{Flavour, Workload};
use serde_json::Value;

use crate::read;

/// Both APIs.
pub(crate) const FLAVOURS: [Flavour; 2] = [Flavour::Rollwright, Flavour::AppsV1];

/// Namespace, name, and API: the order of lists.
pub(crate) type Place = (String, String, Flavour);

/// A Deployment of either API, as the server sent it.
#[derive(Clone, Debug)]
pub(crate) struct Deployment {
    pub(crate) flavour: Flavour,
    pub(crate) body: Value,
}

impl Deployment {
    pub(crate) fn text(&self, path: &str) -> &str {
        self.body.pointer(path).and_then(Value::as_str).unwrap_or_default()
    }

    pub(crate) fn name(&self) -> &str {
        self.text("/metadata/name")
    }

    pub(crate) fn namespace(&self) -> &str {
        self.text("/metadata/namespace")
    }

    pub(crate) fn place(&self) -> Place {
        (self.namespace().to_owned(), self.name().to_owned(), self.flavour)
    }

    /// As kubectl prints names: `deployment.apps/web`.
    pub(crate) fn full_name(&self) -> String {
        format!("{}/{}", kind_and_group(self.flavour), self.name())
    }

    /// A command about this Deployment, to be copied: it names the API and the namespace, but not what the user gave
    /// about the connection, such as `--context`.
    pub(crate) fn command(&self, verb: &str) -> String {
        format!("kubectl rollwright {verb} {} -n {}", self.full_name(), self.namespace())
    }

    /// `spec`, without its template.
    pub(crate) fn spec(&self) -> DeploymentSpec {
        read::spec(&self.body)
    }

    /// `spec.template`.
    pub(crate) fn template(&self) -> &Value {
        self.body.pointer("/spec/template").unwrap_or(&Value::Null)
    }

    pub(crate) fn status(&self) -> DeploymentStatus {
        read::status(&self.body)
    }

    pub(crate) fn is_paused(&self) -> bool {
        self.spec().paused == Some(true)
    }

    /// As the planner reads it.
    pub(crate) fn workload(&self) -> Result<Workload, Rejected> {
        decode::workload(self.flavour, &self.body, Defaults::of(self.flavour))
    }
}

/// `deployment.apps`, `deployment.rollwright.dev`.
pub(crate) fn kind_and_group(flavour: Flavour) -> String {
    format!("deployment.{}", flavour.api_version().split('/').next().unwrap_or_default())
}
