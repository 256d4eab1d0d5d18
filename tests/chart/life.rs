//! The life of a release on a real control plane, from its installation to after its end.

use std::collections::BTreeSet;

use cluster::kubelet::NEVER_READY;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::guard;
use crate::install::{DEMO, NAMESPACE, Site};
use crate::pair;
use crate::rights;
use crate::scrape;

const CRD: &str = "deployments.rollwright.dev";
/// What an uninstall keeps: the definition and its guard have the same name.
const KEPT: &str = "crd,validatingadmissionpolicies,validatingadmissionpolicybindings";
const ACCOUNT: &str = "system:serviceaccount:rollwright-system:rollwright";
const RELEASE: &str = "rollwright";

#[tokio::test(flavor = "multi_thread")]
async fn release() {
    let site = Site::start().await;
    let since = Timestamp::now();
    let notes = site.release(&["install", RELEASE], &[]).await;
    assert!(notes.contains(&format!("kubectl annotate {KEPT} {CRD}")), "{notes}");
    let operators = site.operators();
    assert!(operators.len() == 1 && operators[0].was_ready, "helm waits for /readyz: {operators:?}");

    every_right(&site).await;
    users(&site).await;
    upgrade_and_back(&site).await;
    guard::refuses(&site, RELEASE).await;
    let told = site.helm(&["test", RELEASE, "--timeout=60s"]).await;
    assert!(told.contains("Succeeded"), "{told}");

    let granted = rights::granted(&site.kubectl, NAMESPACE, RELEASE).await;
    let until = Timestamp::now();
    uninstall_keeps(&site).await;
    // Watches are in the log once they have ended.
    let (used, forbidden) = rights::used(&site.cluster, since, until, ACCOUNT);
    rights::fit(&granted, &used, &forbidden);
    println!("{} rights granted, all used: {granted:?}", granted.len());

    pair::in_one_namespace(&site).await;
    another_release_takes_over(&site).await;
    scrape::by_those_who_may(&site, "second-rollwright").await;
    finalizers_are_needed(&site).await;
    uninstall_deletes(&site).await;
    for seen in site.node.seen() {
        assert!(seen.exit_code.is_none_or(|code| code == 0), "{seen:?}");
        assert!(seen.ended_in_time != Some(false), "{seen:?}");
    }
    site.end().await;
}

/// All that users do, so that every verb of the roles is needed for something.
async fn every_right(site: &Site) {
    roll_out(site).await;
    scale(site).await;
    roll_on(site).await;
    roll_back(site).await;
    adopt(site).await;
    blocked(site).await;
}

async fn roll_out(site: &Site) {
    site.apply("web", "app:v1", &json!({"revisionHistoryLimit": 0})).await;
    site.apply("undo", "app:v1", &json!({})).await;
    site.apply("again", "app:v1", &json!({"strategy": {"type": "Recreate"}})).await;
    for name in ["web", "undo", "again"] {
        site.rolled_out(name, "app:v1").await;
    }
}

/// The same event twice is one that is counted.
async fn scale(site: &Site) {
    for size in [3, 2, 3] {
        let replicas = format!("--replicas={size}");
        site.demo(&["scale", "deployments.rollwright.dev/web", &replicas]).await;
        site.until("the size", &["get", "rs", "-l", "app=web"], |sets| {
            sets["items"][0]["status"]["availableReplicas"] == size
        })
        .await;
    }
}

async fn roll_on(site: &Site) {
    site.apply("web", "app:v2", &json!({"revisionHistoryLimit": 0})).await;
    site.apply("undo", "app:v2", &json!({})).await;
    site.apply("again", "app:v2", &json!({"strategy": {"type": "Recreate"}})).await;
    for name in ["web", "undo", "again"] {
        site.rolled_out(name, "app:v2").await;
    }
    site.until("the old set being deleted", &["get", "rs", "-l", "app=web"], only_one).await;
}

fn only_one(list: &Value) -> bool {
    list["items"].as_array().is_some_and(|items| items.len() == 1)
}

async fn roll_back(site: &Site) {
    let back = r#"{"spec":{"rollbackTo":{"revision":0}}}"#;
    site.demo(&["patch", "deployments.rollwright.dev/undo", "--type=merge", "-p", back]).await;
    site.rolled_out("undo", "app:v1").await;
}

/// A ReplicaSet that lost its label is read and labelled again; orphans are adopted.
async fn adopt(site: &Site) {
    let label = ["label", "rs", "-l", "app=web", "rollwright.dev/managed-"];
    site.demo(&label).await;
    site.until("the label being put back", &["get", "rs", "-l", "app=web"], |sets| {
        sets["items"][0]["metadata"]["labels"]["rollwright.dev/managed"] == "true"
    })
    .await;
    site.demo(&["delete", "deployments.rollwright.dev", "web", "--cascade=orphan"]).await;
    site.until("the set being orphaned", &["get", "rs", "-l", "app=web"], |sets| {
        sets["items"][0]["metadata"]["ownerReferences"].is_null()
    })
    .await;
    site.apply("web", "app:v2", &json!({"revisionHistoryLimit": 0})).await;
    site.until("the adoption", &["get", "rs", "-l", "app=web"], |sets| {
        only_one(sets) && sets["items"][0]["metadata"]["ownerReferences"][0]["name"] == "web"
    })
    .await;
    site.rolled_out("web", "app:v2").await;
}

/// What blocks a rollout shows in pods, and then in the events of one of them.
async fn blocked(site: &Site) {
    let stuck =
        |never: &Value| json!({"spec": {"template": {"metadata": {"annotations": {NEVER_READY: never}}}}});
    let patch = async |never: &Value| {
        let patch = stuck(never).to_string();
        site.demo(&["patch", "deployments.rollwright.dev/undo", "--type=merge", "-p", &patch]).await;
    };
    patch(&json!("true")).await;
    let is_stuck = |pod: &&Value| !pod["metadata"]["annotations"][NEVER_READY].is_null();
    let of_undo = ["get", "pods", "-l", "app=undo"];
    site.until("a pod that is never ready", &of_undo, |pods| {
        pods["items"].as_array().is_some_and(|pods| pods.iter().any(|pod| is_stuck(&pod)))
    })
    .await;
    let pods = site.kubectl.in_namespace(DEMO).json(&of_undo).await.unwrap();
    for pod in pods["items"].as_array().unwrap().iter().filter(is_stuck) {
        let event = json!({
            "apiVersion": "v1", "kind": "Event",
            "metadata": {"name": format!("{}.probe", pod["metadata"]["name"].as_str().unwrap()), "namespace": DEMO},
            "involvedObject": {"apiVersion": "v1", "kind": "Pod", "namespace": DEMO,
                               "name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]},
            "type": "Warning", "reason": "Unhealthy", "message": "Readiness probe failed: connection refused",
        });
        site.kubectl.apply(&event.to_string()).await.unwrap();
    }
    site.until("the cause", &["get", "deployments.rollwright.dev", "undo"], |undo| {
        undo["status"]["blockers"][0]["cause"] == "ReadinessProbe"
    })
    .await;
    patch(&Value::Null).await;
    site.rolled_out("undo", "app:v1").await;
}

/// Who may edit in a namespace may write Rollwright Deployments there, and who may view may read them.
async fn users(site: &Site) {
    for role in ["view", "edit", "admin"] {
        let user = format!("--user={role}");
        site.demo(&["create", "rolebinding", role, &format!("--clusterrole={role}"), &user]).await;
    }
    let cases = [
        ("view", "get", "yes"),
        ("view", "watch", "yes"),
        ("view", "patch", "no"),
        ("view", "create", "no"),
        ("edit", "create", "yes"),
        ("edit", "delete", "yes"),
        ("edit", "list", "yes"),
        ("admin", "update", "yes"),
    ];
    for (user, verb, expected) in cases {
        let user = format!("--as={user}");
        let kubectl = site.kubectl.in_namespace(DEMO);
        let asked = kubectl.output(&["auth", "can-i", verb, CRD, &user], "").await.unwrap();
        assert_eq!(asked.stdout.trim(), expected, "{user} {verb}: {}", asked.stderr);
    }
}

async fn upgrade_and_back(site: &Site) {
    let workers = |site: &Site| -> BTreeSet<String> {
        let running = site.operators().into_iter().filter(|seen| seen.ended_in_time.is_none());
        let arguments = running.flat_map(|seen| seen.arguments);
        arguments.filter(|argument| argument.starts_with("--workers=")).collect()
    };
    let only = |text: &str| BTreeSet::from([text.to_owned()]);
    site.release(&["upgrade", RELEASE], &["--set=controller.workers=4"]).await;
    gone_but_one(site).await;
    assert_eq!(workers(site), only("--workers=4"));
    site.apply("undo", "app:v3", &json!({})).await;
    site.rolled_out("undo", "app:v3").await;

    site.helm(&["rollback", RELEASE, "1", "--wait", "--timeout=90s"]).await;
    gone_but_one(site).await;
    assert_eq!(workers(site), only("--workers=16"));
    site.apply("undo", "app:v4", &json!({})).await;
    site.rolled_out("undo", "app:v4").await;
}

/// Waits until one pod of the operator is left: helm does not wait for old ones to go.
async fn gone_but_one(site: &Site) {
    let pods = ["get", "pods", "--all-namespaces", "-l", "app.kubernetes.io/component=operator"];
    site.until("one pod of the operator", &pods, only_one).await;
}

/// With crds.keep, what users made stays and runs on.
async fn uninstall_keeps(site: &Site) {
    let told = site.helm(&["uninstall", RELEASE, "--wait", "--timeout=90s"]).await;
    assert!(told.contains(CRD), "helm tells what it kept: {told}");
    let pods = ["get", "pods", "--all-namespaces", "-l", "app.kubernetes.io/component=operator"];
    site.until("the operator's end", &pods, |pods| pods["items"] == json!([])).await;
    site.kubectl.run(&["get", "crd", CRD]).await.unwrap();
    let left = site.demo(&["get", "deployments.rollwright.dev", "-o", "name"]).await;
    assert_eq!(left.lines().count(), 3, "{left}");
    let objects = ["get", "clusterroles,clusterrolebindings", "-l", "app.kubernetes.io/instance=rollwright"];
    assert_eq!(site.kubectl.run(&[&objects[..], &["-o", "name"]].concat()).await.unwrap(), "");
}

/// A definition that was kept belongs to nobody until the commands of NOTES.txt are run.
async fn another_release_takes_over(site: &Site) {
    let chart = crate::values::path("charts/rollwright").display().to_string();
    let told = site.helm_fails(&["install", "second", &chart]).await;
    assert!(told.contains("second") && told.contains("meta.helm.sh/release-name"), "{told}");
    let namespace = format!("meta.helm.sh/release-namespace={NAMESPACE}");
    let ours = ["meta.helm.sh/release-name=second", &namespace];
    let annotate = ["annotate", KEPT, CRD, "--overwrite"];
    site.kubectl.run(&[&annotate[..], &ours[..]].concat()).await.unwrap();
    let label = ["label", KEPT, CRD, "--overwrite", "app.kubernetes.io/managed-by=Helm"];
    site.kubectl.run(&label).await.unwrap();
    site.release(&["install", "second"], &["--set=crds.keep=false", "--set=metrics.auth=token"]).await;
    // What was there is taken up again, without a restart of anything.
    site.demo(&["scale", "deployments.rollwright.dev/web", "--replicas=1"]).await;
    site.rolled_out("web", "app:v2").await;
}

/// The one verb that no log shows: without it, the API server refuses the operator's owner references.
async fn finalizers_are_needed(site: &Site) {
    let name = "second-rollwright";
    let mut role = site.kubectl.json(&["get", "clusterrole", name]).await.unwrap();
    let rules = role["rules"].as_array_mut().unwrap();
    let count = rules.len();
    rules.retain(|rule| rule["resources"] != json!(["deployments/finalizers"]));
    assert_eq!(rules.len(), count - 1);
    let patch = json!({"rules": rules}).to_string();
    site.kubectl.run(&["patch", "clusterrole", name, "--type=merge", "-p", &patch]).await.unwrap();
    site.apply("fresh", "app:v1", &json!({})).await;
    site.until("the refusal", &["get", "deployments.rollwright.dev", "fresh"], |fresh| {
        fresh["status"]["conditions"].to_string().contains("can't set finalizers on")
    })
    .await;
}

/// Without crds.keep everything goes.
async fn uninstall_deletes(site: &Site) {
    site.helm(&["uninstall", "second", "--wait", "--timeout=90s"]).await;
    let crds = ["get", KEPT, CRD, "--ignore-not-found"];
    let gone = site.kubectl.output(&crds, "").await.unwrap();
    assert_eq!(gone.stdout, "", "the definition and its guard");
    site.until("the pods being gone", &["get", "pods"], |pods| pods["items"] == json!([])).await;
    let objects = [
        "get",
        "deployments.apps,pods,services,sa,roles,rolebindings,configmaps",
        "-o",
        "name",
        "-n",
        NAMESPACE,
    ];
    let left = site.kubectl.run(&objects).await.unwrap();
    let left: Vec<&str> =
        left.lines().filter(|line| !line.ends_with("/default") && !line.contains("root-ca")).collect();
    assert_eq!(left, [] as [&str; 0]);
}
