//! A control plane with the CRD, and the operators on it.

use std::fs;
use std::path::Path;
use std::time::Duration;

use cluster::{Cluster, Options, Tool, User, wait_for};
use kube::Client;
use serde_json::{Value, json};

use crate::failure::{Failure, Outcome, until};
use crate::flavour::Flavour;
use crate::operator::Operator;

/// The definition that is installed.
pub(crate) const CRD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/crds/deployments.rollwright.dev.yaml");
const ESTABLISHED: Duration = Duration::from_secs(30);

/// Who is in charge of Deployments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Controller {
    /// The operator under test.
    Operator,
    /// Kubernetes' own controller, for apps/v1 only: shows that the scenarios demand what
    /// upstream does.
    Reference,
}

impl Controller {
    /// The reference by `E2E_REFERENCE`.
    pub(crate) fn from_environment() -> Self {
        match std::env::var("E2E_REFERENCE").as_deref() {
            Ok("1") => Self::Reference,
            _ => Self::Operator,
        }
    }
}

/// A running control plane. Dropping it stops everything; not to be done on a runtime.
pub(crate) struct Stage {
    operators: Vec<(Flavour, Operator)>,
    pub(crate) cluster: Cluster,
    pub(crate) client: Client,
    pub(crate) kubectl: Tool,
}

impl Stage {
    /// Starts a control plane, and operators for these APIs, each with the same arguments.
    pub(crate) async fn start(
        controller: Controller,
        flavours: &[Flavour],
        arguments: &[&str],
    ) -> Outcome<Self> {
        let mut options = Options::unique("e2e");
        options.deployment_controller = controller == Controller::Reference;
        let cluster = Cluster::start(options).await?;
        let client = cluster.client(User::Admin).await?;
        let kubeconfig = cluster.kubeconfig(User::Admin);
        let kubectl = tokio::task::spawn_blocking(|| Tool::kubectl(kubeconfig)).await??;
        install(&kubectl).await?;
        let mut stage = Self { operators: Vec::new(), cluster, client, kubectl };
        if controller == Controller::Operator {
            for flavour in flavours {
                let operator = Operator::start(&stage.cluster, *flavour, arguments)?;
                stage.operators.push((*flavour, operator));
            }
        }
        Ok(stage)
    }

    /// Stops everything. What the processes wrote stays only for somebody who has to look into
    /// a failure.
    pub(crate) fn end(self, passed: bool) {
        let directory = self.cluster.directory().to_owned();
        drop(self);
        if passed {
            let _ = fs::remove_dir_all(directory);
        }
    }

    /// The operator for an API, if there is one.
    pub(crate) fn operator(&self, flavour: Flavour) -> Option<&Operator> {
        self.operators.iter().find(|(of, _)| *of == flavour).map(|(_, operator)| operator)
    }

    /// An operator that ended by itself is a failure of every scenario.
    pub(crate) fn check_operators(&self) -> Outcome {
        for (flavour, operator) in &self.operators {
            if operator.pid().is_some() && !operator.is_running() {
                let log = operator.tail("", 20);
                return Err(Failure::new(format!(
                    "the operator for {} ended by itself:\n{log}",
                    flavour.api_version()
                )));
            }
        }
        Ok(())
    }
}

/// The CRD by plain client-side apply, as a user would, and the operator's rights.
async fn install(kubectl: &Tool) -> Outcome {
    let path = Path::new(CRD).display().to_string();
    kubectl.run(&["apply", "-f", &path]).await?;
    let rights = json!({"apiVersion": "v1", "kind": "List", "items": [role(), binding()]});
    kubectl.apply(&rights.to_string()).await?;
    wait_for("the CRD being established", ESTABLISHED, async || {
        let crd = kubectl.json(&["get", "crd", "deployments.rollwright.dev"]).await?;
        let conditions = crd.pointer("/status/conditions").cloned().unwrap_or_default();
        let established = conditions
            .as_array()
            .into_iter()
            .flatten()
            .any(|condition| condition["type"] == "Established" && condition["status"] == "True");
        until(established, conditions)
    })
    .await?;
    Ok(())
}

/// What the operator may do (S17.5), and nothing else.
fn role() -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "rollwright"},
        "rules": [
            {"apiGroups": ["rollwright.dev", "apps"], "resources": ["deployments"],
             "verbs": ["get", "list", "watch", "update", "patch"]},
            {"apiGroups": ["rollwright.dev", "apps"], "resources": ["deployments/status"],
             "verbs": ["update", "patch"]},
            {"apiGroups": ["rollwright.dev", "apps"], "resources": ["deployments/finalizers"],
             "verbs": ["update"]},
            {"apiGroups": ["apps"], "resources": ["replicasets"],
             "verbs": ["get", "list", "watch", "create", "update", "patch", "delete"]},
            {"apiGroups": ["batch"], "resources": ["jobs"],
             "verbs": ["get", "list", "watch", "create", "delete"]},
            {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]},
            {"apiGroups": ["", "events.k8s.io"], "resources": ["events"],
             "verbs": ["list", "create", "patch"]},
            {"apiGroups": ["apiextensions.k8s.io"], "resources": ["customresourcedefinitions"],
             "verbs": ["get"]},
        ],
    })
}

fn binding() -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "rollwright"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "rollwright"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": User::Operator.name()}],
    })
}
