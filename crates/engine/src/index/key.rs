//! Names of Deployments.

use plan::Workload;

/// Name of a Deployment.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// `metadata.namespace`.
    pub namespace: String,
    /// `metadata.name`.
    pub name: String,
}

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

impl Key {
    /// The name of this Deployment.
    #[must_use]
    pub fn of(workload: &Workload) -> Self {
        Self { namespace: workload.namespace.clone(), name: workload.name.clone() }
    }
}
