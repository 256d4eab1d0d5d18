//! Replicas of the operator with leader election, each under a service account of its own: so the audit log shows who
//! wrote what.

use cluster::{NotYet, Signal, audit, free_port, send_signal, wait_for};
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::failure::{Failure, Outcome, until};
use crate::operator::Operator;
use crate::port::get;
use crate::world::{SOON, World};

/// Name of the Lease of those without a selector.
const LEASE: &str = "rollwright";

/// One of several operators.
pub(crate) struct Replica {
    pub(crate) operator: Operator,
    user: String,
    /// Name of its Lease.
    lease: String,
    /// Where it serves its metrics.
    port: u16,
}

impl Replica {
    /// Starts one in the namespace of the scenario, where its Lease is too.
    pub(crate) async fn start(world: &World, name: &str, more: &[&str]) -> Outcome<Self> {
        let selector = more.iter().find_map(|flag| flag.strip_prefix("--selector="));
        let lease = selector.map_or(LEASE.to_owned(), lease_of);
        let kubeconfig = account(world, name, &lease, selector.is_some()).await?;
        let log = world.stage.cluster.directory().join(format!("replica-{name}.log"));
        let port = free_port()?;
        let arguments = [
            format!("--api={}", world.flavour.api_version()),
            "--leader-elect".to_owned(),
            format!("--leader-elect-resource-namespace={}", world.namespace),
            format!("--bind-address=127.0.0.1:{port}"),
        ];
        let more = more.iter().map(|&argument| argument.to_owned());
        let arguments = arguments.into_iter().chain(more).collect();
        let program = std::path::Path::new(env!("CARGO_BIN_EXE_rollwright"));
        let operator = Operator::start_with(program, &kubeconfig, &log, arguments)?;
        let user = format!("system:serviceaccount:{}:{name}", world.namespace);
        Ok(Self { operator, user, lease, port })
    }

    /// Waits until its log has a line with this text.
    pub(crate) async fn says(&self, text: &str) -> Outcome {
        wait_for(&format!("\"{text}\" in the log of {}", self.user), SOON, async || {
            let log = std::fs::read_to_string(self.operator.log())?;
            until(log.contains(text), self.operator.tail("", 5))
        })
        .await?;
        Ok(())
    }

    /// Waits until its metrics show that it leads, or that it does not.
    pub(crate) async fn shows(&self, leads: bool) -> Outcome {
        let line =
            format!("\nleader_election_master_status{{name=\"{}\"}} {}\n", self.lease, u8::from(leads));
        wait_for(&format!("{} in the metrics of {}", line.trim(), self.user), SOON, async || {
            let text = get(self.port, "/metrics").await.map_err(|failure| NotYet(failure.0))?;
            let there: Vec<_> = text.lines().filter(|line| line.starts_with("leader_election")).collect();
            until(text.contains(&line), there.join("; "))
        })
        .await?;
        Ok(())
    }

    /// Whether the Lease names it.
    pub(crate) fn is(&self, holder: &str) -> bool {
        let start = self.operator.tail("running for leader", 1);
        !holder.is_empty() && start.contains("running for leader") && start.contains(holder)
    }

    /// Its requests since then, without those about the Lease.
    pub(crate) fn requests(&self, world: &World, since: Timestamp) -> Outcome<Vec<audit::Request>> {
        let mut requests = audit::requests(&world.stage.cluster.audit_log(), since, &self.user)?;
        requests.retain(|request| request.resource != "leases");
        Ok(requests)
    }

    /// The writes among them; dry runs change nothing.
    pub(crate) fn writes(&self, world: &World, since: Timestamp) -> Outcome<Vec<audit::Request>> {
        let mut requests = self.requests(world, since)?;
        requests.retain(|request| request.is_write() && !request.dry_run);
        Ok(requests)
    }

    /// Stops the process in its tracks, or lets it continue.
    pub(crate) fn signal(&self, signal: Signal) -> Outcome {
        let pid = self.operator.pid().ok_or_else(|| Failure::new("it does not run"))?;
        send_signal(pid, signal);
        Ok(())
    }
}

/// The name of a shard's Lease, as docs/how-to/sharding.md has it. `shard in (b)` means the same as `shard=b`.
fn lease_of(selector: &str) -> String {
    let canonical = selector.replace(" in (", "=").replace(')', "");
    let digest = Sha256::digest(canonical);
    let digits: String = digest.iter().take(5).map(|byte| format!("{byte:02x}")).collect();
    format!("{LEASE}-{digits}")
}

/// Who holds a lease; empty for nobody.
async fn holder(world: &World, lease: &str) -> Result<String, NotYet> {
    let leases: Api<Lease> = Api::namespaced(world.client(), &world.namespace);
    let lease = leases.get_opt(lease).await?;
    Ok(lease.and_then(|lease| lease.spec?.holder_identity).unwrap_or_default())
}

/// Waits until this replica holds the lease.
pub(crate) async fn leads(world: &World, replica: &Replica) -> Outcome {
    wait_for("a new leader", SOON, async || {
        let holder = holder(world, &replica.lease).await?;
        until(replica.is(&holder), holder)
    })
    .await?;
    Ok(())
}

/// A kubeconfig for a new service account with the rights of the operator.
async fn account(world: &World, name: &str, lease: &str, is_shard: bool) -> Outcome<std::path::PathBuf> {
    let namespace = &world.namespace;
    let kubectl = &world.kubectl;
    kubectl.run(&["create", "serviceaccount", name]).await?;
    let subject = json!([{"kind": "ServiceAccount", "name": name, "namespace": namespace}]);
    let group = "rbac.authorization.k8s.io";
    let api = format!("{group}/v1");
    let mut items = vec![
        json!({"apiVersion": api, "kind": "Role", "metadata": {"name": format!("lease-{name}")}, "rules": [
            {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["create"]},
            {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "resourceNames": [lease],
             "verbs": ["get", "list", "watch", "update"]},
        ]}),
        json!({"apiVersion": api, "kind": "RoleBinding", "metadata": {"name": format!("lease-{name}")},
            "roleRef": {"apiGroup": group, "kind": "Role", "name": format!("lease-{name}")}, "subjects": subject}),
    ];
    let of_cluster = json!({"apiGroup": group, "kind": "ClusterRole", "name": "rollwright"});
    let metadata = json!({"name": format!("{namespace}-{name}")});
    items.push(json!({"apiVersion": api, "kind": "ClusterRoleBinding", "metadata": metadata,
        "roleRef": of_cluster, "subjects": subject}));
    if is_shard {
        let metadata = json!({"name": format!("{namespace}-{name}-namespaces")});
        items.push(json!({"apiVersion": api, "kind": "ClusterRole", "metadata": metadata, "rules": [
            {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get", "list", "watch"]}]}));
        let role = json!({"apiGroup": group, "kind": "ClusterRole", "name": metadata["name"]});
        items.push(json!({"apiVersion": api, "kind": "ClusterRoleBinding", "metadata": metadata,
            "roleRef": role, "subjects": subject}));
    }
    kubectl.apply(&json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string()).await?;
    let token = kubectl.run(&["create", "token", name]).await?;
    Ok(world.stage.cluster.kubeconfig_for_token(name, token.trim())?)
}
