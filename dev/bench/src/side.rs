//! Who is measured, and how it is started.

use std::fs;
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
    /// Argo Rollouts on its own kind: a peer that pays for a custom resource, too.
    #[value(skip)]
    ArgoRollouts,
}

impl Side {
    /// Those that always play.
    pub(crate) const ALL: [Self; 3] = [Self::Upstream, Self::OurKind, Self::AppsV1];

    /// As the tables call it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Upstream => "Kubernetes",
            Self::OurKind => "Rollwright",
            Self::AppsV1 => "Rollwright on apps/v1",
            Self::ArgoRollouts => "Argo Rollouts",
        }
    }

    /// For names of namespaces and files.
    pub(crate) fn short(self) -> &'static str {
        match self {
            Self::Upstream => "upstream",
            Self::OurKind => "ours",
            Self::AppsV1 => "apps",
            Self::ArgoRollouts => "argo",
        }
    }

    /// Its Deployments.
    pub(crate) fn resource(self) -> ApiResource {
        let (group, version, kind) = match self {
            Self::OurKind => ("rollwright.dev", "v1", "Deployment"),
            Self::Upstream | Self::AppsV1 => ("apps", "v1", "Deployment"),
            Self::ArgoRollouts => ("argoproj.io", "v1alpha1", "Rollout"),
        };
        ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind))
    }

    /// The CustomResourceDefinitions that only this side needs.
    pub(crate) fn definitions(self, program: &Path) -> Result<Vec<String>, Failure> {
        let failure = || Failure::io(format!("reading the definitions beside {}", program.display()));
        let (Self::ArgoRollouts, Some(directory)) = (self, program.parent()) else { return Ok(Vec::new()) };
        let files =
            fs::read_dir(directory).and_then(Iterator::collect::<Result<Vec<_>, _>>).map_err(failure())?;
        let paths = files.into_iter().map(|file| file.path());
        let paths = paths.filter(|path| path.extension().is_some_and(|extension| extension == "yaml"));
        paths.map(|path| fs::read_to_string(path).map_err(failure())).collect()
    }

    /// Its name in the audit log.
    pub(crate) fn user(self) -> &'static str {
        match self {
            Self::Upstream => "system:serviceaccount:kube-system:deployment-controller",
            Self::OurKind | Self::AppsV1 | Self::ArgoRollouts => User::Operator.name(),
        }
    }

    /// Starts it, as a process of its own.
    pub(crate) fn start(self, cluster: &Cluster, program: &Path) -> Result<Companion, Failure> {
        let api = format!("--api={}", self.resource().api_version);
        let arguments: &[&str] = match self {
            Self::Upstream => return Ok(cluster.deployment_controller()?),
            Self::OurKind | Self::AppsV1 => &["run", &api, "--bind-address=127.0.0.1:0"],
            Self::ArgoRollouts => {
                &["--qps=1000", "--burst=2000", "--leader-elect=false", "--metricsPort=0", "--healthzPort=0"]
            }
        };
        let mut arguments: Vec<String> = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        arguments.push(format!("--kubeconfig={}", cluster.kubeconfig(User::Operator).display()));
        let log = cluster.directory().join(format!("operator-{}.log", self.short()));
        Ok(Companion::start(self.short(), program, arguments, log)?)
    }
}
