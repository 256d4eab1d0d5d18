//! The kinds of objects that the cluster serves.

/// The group that is served in another version than the others.
const AUTOSCALING: &str = "autoscaling";

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
    /// HorizontalPodAutoscalers. Nothing scales by them.
    HorizontalPodAutoscalers,
    /// PodDisruptionBudgets. Nothing is evicted.
    PodDisruptionBudgets,
    /// `batch/v1` Jobs.
    Jobs,
}

impl Resource {
    /// All of them.
    pub const ALL: [Self; 16] = [
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
        Self::HorizontalPodAutoscalers,
        Self::PodDisruptionBudgets,
        Self::Jobs,
    ];

    /// The API group; empty for the core group.
    #[must_use]
    pub const fn group(self) -> &'static str {
        match self {
            Self::Deployments => "rollwright.dev",
            Self::AppsDeployments | Self::ReplicaSets => "apps",
            Self::Leases => "coordination.k8s.io",
            Self::CustomResourceDefinitions => "apiextensions.k8s.io",
            Self::HorizontalPodAutoscalers => AUTOSCALING,
            Self::PodDisruptionBudgets => "policy",
            Self::Jobs => "batch",
            _ => "",
        }
    }

    /// The one version in which a group is served.
    #[must_use]
    pub fn version_of(group: &str) -> &'static str {
        if group == AUTOSCALING { "v2" } else { "v1" }
    }

    /// `apiVersion` of its objects.
    #[must_use]
    pub fn api_version(self) -> String {
        match self.group() {
            "" => "v1".to_owned(),
            group => format!("{group}/{}", Self::version_of(group)),
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
            Self::HorizontalPodAutoscalers => "HorizontalPodAutoscaler",
            Self::PodDisruptionBudgets => "PodDisruptionBudget",
            Self::Jobs => "Job",
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
            Self::HorizontalPodAutoscalers => "horizontalpodautoscalers",
            Self::PodDisruptionBudgets => "poddisruptionbudgets",
            Self::Jobs => "jobs",
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
                | Self::HorizontalPodAutoscalers
                | Self::PodDisruptionBudgets
                | Self::Jobs
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
            Self::Deployments
                | Self::AppsDeployments
                | Self::ReplicaSets
                | Self::CustomResourceDefinitions
                | Self::PodDisruptionBudgets
                | Self::Jobs
        )
    }

    /// The resource of a group and plural.
    #[must_use]
    pub fn find(group: &str, plural: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|resource| resource.group() == group && resource.plural() == plural)
    }
}
