//! The kinds of objects that the cluster serves.

/// A kind of object, as the API serves it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Resource {
    /// `rollwright.dev/v1` Deployments.
    Deployments,
    /// `apps/v1` Deployments.
    AppsDeployments,
    /// `apps/v1` ReplicaSets.
    ReplicaSets,
    /// Pods.
    Pods,
    /// Namespaces.
    Namespaces,
    /// Core events.
    Events,
    /// Leases of leader election.
    Leases,
    /// ConfigMaps.
    ConfigMaps,
    /// Services.
    Services,
    /// ServiceAccounts.
    ServiceAccounts,
    /// Nodes.
    Nodes,
    /// CustomResourceDefinitions.
    CustomResourceDefinitions,
    /// ResourceQuotas.
    ResourceQuotas,
}

impl Resource {
    /// All of them.
    pub const ALL: [Self; 13] = [
        Self::Deployments,
        Self::AppsDeployments,
        Self::ReplicaSets,
        Self::Pods,
        Self::Namespaces,
        Self::Events,
        Self::Leases,
        Self::ConfigMaps,
        Self::Services,
        Self::ServiceAccounts,
        Self::Nodes,
        Self::CustomResourceDefinitions,
        Self::ResourceQuotas,
    ];

    /// The API group; empty for the core group.
    #[must_use]
    pub const fn group(self) -> &'static str {
        match self {
            Self::Deployments => "rollwright.dev",
            Self::AppsDeployments | Self::ReplicaSets => "apps",
            Self::Leases => "coordination.k8s.io",
            Self::CustomResourceDefinitions => "apiextensions.k8s.io",
            _ => "",
        }
    }

    /// `apiVersion` of its objects; all are served in `v1`.
    #[must_use]
    pub fn api_version(self) -> String {
        match self.group() {
            "" => "v1".to_owned(),
            group => format!("{group}/v1"),
        }
    }

    /// `kind` of its objects.
    #[must_use]
    pub const fn kind(self) -> &'static str {
        match self {
            Self::Deployments | Self::AppsDeployments => "Deployment",
            Self::ReplicaSets => "ReplicaSet",
            Self::Pods => "Pod",
            Self::Namespaces => "Namespace",
            Self::Events => "Event",
            Self::Leases => "Lease",
            Self::ConfigMaps => "ConfigMap",
            Self::Services => "Service",
            Self::ServiceAccounts => "ServiceAccount",
            Self::Nodes => "Node",
            Self::CustomResourceDefinitions => "CustomResourceDefinition",
            Self::ResourceQuotas => "ResourceQuota",
        }
    }

    /// The plural of URLs and messages.
    #[must_use]
    pub const fn plural(self) -> &'static str {
        match self {
            Self::Deployments | Self::AppsDeployments => "deployments",
            Self::ReplicaSets => "replicasets",
            Self::Pods => "pods",
            Self::Namespaces => "namespaces",
            Self::Events => "events",
            Self::Leases => "leases",
            Self::ConfigMaps => "configmaps",
            Self::Services => "services",
            Self::ServiceAccounts => "serviceaccounts",
            Self::Nodes => "nodes",
            Self::CustomResourceDefinitions => "customresourcedefinitions",
            Self::ResourceQuotas => "resourcequotas",
        }
    }

    /// Plural and group, as messages name a resource: `replicasets.apps`, `pods`.
    #[must_use]
    pub fn qualified(self) -> String {
        match self.group() {
            "" => self.plural().to_owned(),
            group => format!("{}.{group}", self.plural()),
        }
    }

    /// Whether its objects live in namespaces.
    #[must_use]
    pub const fn is_namespaced(self) -> bool {
        !matches!(self, Self::Namespaces | Self::Nodes | Self::CustomResourceDefinitions)
    }

    /// Whether status is written apart from the rest.
    #[must_use]
    pub const fn has_status(self) -> bool {
        matches!(
            self,
            Self::Deployments
                | Self::AppsDeployments
                | Self::ReplicaSets
                | Self::Pods
                | Self::Namespaces
                | Self::Services
                | Self::Nodes
                | Self::CustomResourceDefinitions
                | Self::ResourceQuotas
        )
    }

    /// Whether there is a scale subresource.
    #[must_use]
    pub const fn has_scale(self) -> bool {
        matches!(self, Self::Deployments | Self::AppsDeployments | Self::ReplicaSets)
    }

    /// Whether `metadata.generation` counts changes of the spec.
    #[must_use]
    pub const fn has_generation(self) -> bool {
        matches!(
            self,
            Self::Deployments | Self::AppsDeployments | Self::ReplicaSets | Self::CustomResourceDefinitions
        )
    }

    /// The resource of a group and plural.
    #[must_use]
    pub fn find(group: &str, plural: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|resource| resource.group() == group && resource.plural() == plural)
    }
}
