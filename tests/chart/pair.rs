//! Two operators in a release that sees one namespace only.

use jiff::Timestamp;
use serde_json::json;

use crate::install::{DEMO, NAMESPACE, Site};
use crate::rights;

const RELEASE: &str = "pair";
const NAME: &str = "pair-rollwright";
const ACCOUNT: &str = "system:serviceaccount:rollwright-system:pair-rollwright";
/// A namespace that they do not watch.
const OTHER: &str = "other";

/// Installs it beside a definition that is there already, and takes it away again.
pub(crate) async fn in_one_namespace(site: &Site) {
    let since = Timestamp::now();
    site.kubectl.run(&["create", "namespace", OTHER]).await.unwrap();
    site.apply_in(OTHER, "web", "app:v1", &json!({})).await;
    let narrow = ["--set=watchNamespaces={demo}", "--set=crds.install=false", "--set=replicaCount=2"];
    let flags = [&narrow[..], &["--set=rbac.aggregateClusterRoles=false"]].concat();
    site.release(&["install", RELEASE], &flags).await;
    two_run(site).await;
    replaced(site, &flags).await;
    nothing_beyond(site).await;
    uninstalled(site, since).await;
}

async fn two_run(site: &Site) {
    let mut ours = site.operators();
    ours.retain(|seen| seen.ended_in_time.is_none());
    assert!(ours.len() == 2 && ours.iter().all(|seen| seen.was_ready), "{ours:?}");
    one_leads(site).await;
    site.until("the disruption budget", &["get", "pdb", NAME, "-n", NAMESPACE], |budget| {
        budget["status"]["currentHealthy"] == 2 && budget["status"]["disruptionsAllowed"] == 1
    })
    .await;
    site.apply("undo", "app:v5", &json!({})).await;
    site.apply("again", "app:v5", &json!({"strategy": {"type": "Recreate"}})).await;
    for name in ["undo", "again"] {
        site.rolled_out(name, "app:v5").await;
    }
}

async fn replaced(site: &Site, flags: &[&str]) {
    // One pod after the other, in the middle of a rollout.
    site.apply("undo", "app:v6", &json!({"replicas": 4})).await;
    let more = [flags, &["--set=controller.workers=4"]].concat();
    site.release(&["upgrade", RELEASE], &more).await;
    site.rolled_out("undo", "app:v6").await;
    one_leads(site).await;
}

async fn nothing_beyond(site: &Site) {
    let left_alone =
        site.kubectl.json(&["get", "deployments.rollwright.dev", "web", "-n", OTHER]).await.unwrap();
    assert!(left_alone["status"]["conditions"].is_null(), "{left_alone}");
    let selector = format!("app.kubernetes.io/instance={RELEASE}");
    let wide = ["get", "clusterroles,clusterrolebindings,crds", "-o", "name", "-l", &selector];
    assert_eq!(site.kubectl.run(&wide).await.unwrap(), "", "objects of the whole cluster");
}

async fn uninstalled(site: &Site, since: Timestamp) {
    let selector = format!("app.kubernetes.io/instance={RELEASE}");
    let granted = rights::granted(&site.kubectl, NAMESPACE, NAME).await;
    let until = Timestamp::now();
    site.helm(&["uninstall", RELEASE, "--wait", "--timeout=90s"]).await;
    let pods = ["get", "pods", "--all-namespaces", "-l", "app.kubernetes.io/component=operator"];
    site.until("the operators' end", &pods, |pods| pods["items"] == json!([])).await;
    let (used, forbidden) = rights::used(&site.cluster, since, until, ACCOUNT);
    assert_eq!(forbidden, [] as [&str; 0], "refused for want of rights");
    assert!(used.is_subset(&granted), "{used:?}");
    let roles = ["get", "roles,rolebindings", "-o", "name", "-n", DEMO, "-l", &selector];
    assert_eq!(site.kubectl.run(&roles).await.unwrap(), "", "left behind");
}

async fn one_leads(site: &Site) {
    let lease = ["get", "lease", "rollwright", "-n", NAMESPACE];
    site.until("a leader", &lease, |lease| {
        lease["spec"]["holderIdentity"].as_str().is_some_and(|holder| !holder.is_empty())
    })
    .await;
}
