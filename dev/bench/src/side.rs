//! Who is measured, and how it is started.

use std::path::Path;

use clap::ValueEnum;
use cluster::{Cluster, Companion, User};
use kube::api::{ApiResource, GroupVersionKind};

use crate::failure::Failure;

/// A controller and the API of the Deployments that it manages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum Side {
    /// Kubernetes' deployment controller, alone in a kube-controller-manager.
    Upstream,
    /// Rollwright on its own kind.
    #[value(name = "ours")]
    OurKind,
    /// Rollwright on apps/v1.
    #[value(name = "apps")]
    AppsV1,
}

impl Side {
    pub(crate) const ALL: [Self; 3] = [Self::Upstream, Self::OurKind, Self::AppsV1];

    /// As the tables call it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Upstream => "Kubernetes",
            Self::OurKind => "Rollwright",
            Self::AppsV1 => "Rollwright on apps/v1",
        }
    }

    /// For names of namespaces and files.
    pub(crate) fn short(self) -> &'static str {
        match self {
            Self::Upstream => "upstream",
            Self::OurKind => "ours",
            Self::AppsV1 => "apps",
        }
    }

    fn group(self) -> &'static str {
        match self {
            Self::OurKind => "rollwright.dev",
            Self::Upstream | Self::AppsV1 => "apps",
        }
    }

    pub(crate) fn api_version(self) -> String {
        format!("{}/v1", self.group())
    }

    /// Its Deployments.
    pub(crate) fn resource(self) -> ApiResource {
        ApiResource::from_gvk(&GroupVersionKind::gvk(self.group(), "v1", "Deployment"))
    }

    /// Its name in the audit log.
    pub(crate) fn user(self) -> &'static str {
        match self {
            Self::Upstream => "system:serviceaccount:kube-system:deployment-controller",
            Self::OurKind | Self::AppsV1 => User::Operator.name(),
        }
    }

    /// Starts it, as a process of its own.
    pub(crate) fn start(self, cluster: &Cluster, operator: &Path) -> Result<Companion, Failure> {
        if self == Self::Upstream {
            return Ok(cluster.deployment_controller()?);
        }
        let arguments = vec![
            "run".to_owned(),
            format!("--kubeconfig={}", cluster.kubeconfig(User::Operator).display()),
            format!("--api={}", self.api_version()),
            "--bind-address=127.0.0.1:0".to_owned(),
        ];
        let log = cluster.directory().join(format!("operator-{}.log", self.short()));
        Ok(Companion::start("rollwright", operator, arguments, log)?)
    }
}
