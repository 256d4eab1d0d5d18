//! The command lines of the components: one function each, flags only.

use std::path::{Path, PathBuf};

use crate::binaries::ControlPlaneBinaries;
use crate::credentials::{Credentials, User};
use crate::error::Error;
use crate::options::Options;
use crate::ports::free_port;
use crate::process::Launch;

/// Controllers that Rollwright and its tests rely on. The built-in
/// deployment controller is not among them: only a comparison needs it.
const CONTROLLERS: [&str; 11] = [
    "replicaset-controller",
    "replicationcontroller-controller",
    "job-controller",
    "ttl-after-finished-controller",
    "garbage-collector-controller",
    "namespace-controller",
    "resourcequota-controller",
    "disruption-controller",
    "horizontal-pod-autoscaler-controller",
    "serviceaccount-controller",
    "clusterrole-aggregation-controller",
];

/// Metadata of every request, once, when it is done.
pub(crate) const AUDIT_POLICY: &str = r#"{
  "apiVersion": "audit.k8s.io/v1",
  "kind": "Policy",
  "omitStages": ["RequestReceived"],
  "rules": [{"level": "Metadata"}]
}
"#;

/// Loopback ports of one cluster. They stay the same over restarts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ports {
    pub(crate) etcd: u16,
    pub(crate) etcd_peer: u16,
    pub(crate) apiserver: u16,
    pub(crate) controller_manager: u16,
}

impl Ports {
    /// Four ports free at this moment, all different.
    pub(crate) fn free() -> Result<Self, Error> {
        let port = || free_port().map_err(Error::io("binding", Path::new("127.0.0.1")));
        Ok(Self { etcd: port()?, etcd_peer: port()?, apiserver: port()?, controller_manager: port()? })
    }
}

/// Where the files of one cluster are.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub(crate) directory: PathBuf,
}

impl Layout {
    pub(crate) fn etcd(&self) -> PathBuf {
        self.directory.join("etcd")
    }

    pub(crate) fn credentials(&self) -> PathBuf {
        self.directory.join("credentials")
    }

    pub(crate) fn audit_log(&self) -> PathBuf {
        self.directory.join("audit.log")
    }

    pub(crate) fn audit_policy(&self) -> PathBuf {
        self.directory.join("audit-policy.json")
    }

    pub(crate) fn log(&self, component: &str) -> PathBuf {
        self.directory.join(format!("{component}.log"))
    }
}

pub(crate) fn etcd(
    binaries: &ControlPlaneBinaries,
    layout: &Layout,
    ports: Ports,
    options: &Options,
) -> Launch {
    let client = format!("http://127.0.0.1:{}", ports.etcd);
    let peer = format!("http://127.0.0.1:{}", ports.etcd_peer);
    let ours = vec![
        format!("--data-dir={}", layout.etcd().display()),
        format!("--listen-client-urls={client}"),
        format!("--advertise-client-urls={client}"),
        format!("--listen-peer-urls={peer}"),
        format!("--initial-advertise-peer-urls={peer}"),
        format!("--initial-cluster=default={peer}"),
        // The data does not outlive the cluster; syncing it costs seconds.
        "--unsafe-no-fsync".to_owned(),
        "--log-level=warn".to_owned(),
    ];
    Launch {
        name: "etcd",
        program: binaries.etcd.clone(),
        arguments: ours.into_iter().chain(options.etcd_flags.iter().cloned()).collect(),
        log: layout.log("etcd"),
    }
}

pub(crate) fn apiserver(
    binaries: &ControlPlaneBinaries,
    layout: &Layout,
    ports: Ports,
    credentials: &Credentials,
    options: &Options,
) -> Launch {
    let ours = vec![
        format!("--etcd-servers=http://127.0.0.1:{}", ports.etcd),
        "--bind-address=127.0.0.1".to_owned(),
        format!("--secure-port={}", ports.apiserver),
        format!("--tls-cert-file={}", credentials.certificate().display()),
        format!("--tls-private-key-file={}", credentials.key().display()),
        "--service-cluster-ip-range=10.0.0.0/24".to_owned(),
        "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
        format!("--service-account-key-file={}", credentials.service_account_public_key().display()),
        format!("--service-account-signing-key-file={}", credentials.service_account_key().display()),
        format!("--token-auth-file={}", credentials.token_file().display()),
        "--authorization-mode=RBAC".to_owned(),
        "--enable-admission-plugins=OwnerReferencesPermissionEnforcement".to_owned(),
        // Pods never run here, and creating one must not wait for the
        // namespace's service account.
        "--disable-admission-plugins=ServiceAccount".to_owned(),
        format!("--audit-policy-file={}", layout.audit_policy().display()),
        format!("--audit-log-path={}", layout.audit_log().display()),
        "--audit-log-maxsize=0".to_owned(),
        "--profiling=false".to_owned(),
    ];
    Launch {
        name: "kube-apiserver",
        program: binaries.apiserver.clone(),
        arguments: ours.into_iter().chain(options.apiserver_flags.iter().cloned()).collect(),
        log: layout.log("kube-apiserver"),
    }
}

pub(crate) fn controller_manager(
    binaries: &ControlPlaneBinaries,
    layout: &Layout,
    ports: Ports,
    credentials: &Credentials,
    deployment_controller: bool,
) -> Launch {
    let mut controllers = CONTROLLERS.to_vec();
    if deployment_controller {
        controllers.push("deployment-controller");
    }
    let flags = controller_flags(credentials, ports.controller_manager, &controllers);
    Launch {
        name: "kube-controller-manager",
        program: binaries.controller_manager.clone(),
        arguments: flags,
        log: layout.log("kube-controller-manager"),
    }
}

/// A second controller manager, with the deployment controller only.
pub(crate) fn deployment_controller(
    binaries: &ControlPlaneBinaries,
    layout: &Layout,
    port: u16,
    credentials: &Credentials,
) -> Launch {
    Launch {
        name: "deployment-controller",
        program: binaries.controller_manager.clone(),
        arguments: controller_flags(credentials, port, &["deployment-controller"]),
        log: layout.log("deployment-controller"),
    }
}

fn controller_flags(credentials: &Credentials, port: u16, controllers: &[&str]) -> Vec<String> {
    vec![
        format!("--kubeconfig={}", credentials.kubeconfig(User::ControllerManager).display()),
        format!("--controllers={}", controllers.join(",")),
        // Each controller then acts under its own name and its own rights,
        // as in a real cluster, which the audit log shows.
        "--use-service-account-credentials=true".to_owned(),
        "--leader-elect=false".to_owned(),
        "--bind-address=127.0.0.1".to_owned(),
        format!("--secure-port={port}"),
        format!("--tls-cert-file={}", credentials.certificate().display()),
        format!("--tls-private-key-file={}", credentials.key().display()),
        "--authentication-skip-lookup=true".to_owned(),
        "--authorization-always-allow-paths=*".to_owned(),
        "--profiling=false".to_owned(),
        // By default each controller sends 20 requests a second.
        "--kube-api-qps=1000".to_owned(),
        "--kube-api-burst=2000".to_owned(),
    ]
}
