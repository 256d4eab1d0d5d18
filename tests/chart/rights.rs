//! What the installed roles grant to the operator, and what it made of that by the audit log.

use std::collections::BTreeSet;

use cluster::audit::{self, Request};
use cluster::{Cluster, Tool};
use jiff::Timestamp;
use serde_json::Value;

/// A verb on a resource: `apps replicasets list`.
pub(crate) type Right = (String, String, String);

/// Checked by admission, on behalf of another request: the log never shows it.
const ADMISSION: (&str, &str, &str) = ("rollwright.dev", "deployments/finalizers", "update");

/// Up to 30 s after the definition was installed, the admission plugin that looks at owner references
/// does not know rollwright.dev yet. That has nothing to do with rights; the operator tries again.
const UNKNOWN_KIND: &str = "cannot find RESTMapping for APIVersion rollwright.dev/v1";

/// All that bindings grant to this service account, as they are in the cluster.
pub(crate) async fn granted(kubectl: &Tool, namespace: &str, account: &str) -> BTreeSet<Right> {
    let mut rights = BTreeSet::new();
    for (binding, role) in [("clusterrolebindings", "clusterrole"), ("rolebindings", "role")] {
        let bindings = kubectl.json(&["get", binding, "--all-namespaces"]).await.unwrap();
        for binding in bindings["items"].as_array().unwrap() {
            let subjects = binding["subjects"].as_array().into_iter().flatten();
            let mut ours = subjects.filter(|subject| {
                subject["kind"] == "ServiceAccount"
                    && subject["name"] == account
                    && subject["namespace"] == namespace
            });
            if ours.next().is_none() {
                continue;
            }
            let name = binding["roleRef"]["name"].as_str().unwrap();
            let namespace = binding["metadata"]["namespace"].as_str().unwrap_or("default");
            let role = kubectl.json(&["get", role, name, "-n", namespace]).await.unwrap();
            rights.extend(role["rules"].as_array().unwrap().iter().flat_map(of_rule));
        }
    }
    rights
}

pub(crate) fn of_rule(rule: &Value) -> Vec<Right> {
    let list = |field: &str| -> Vec<String> {
        rule[field].as_array().into_iter().flatten().map(|item| item.as_str().unwrap().to_owned()).collect()
    };
    let mut rights = Vec::new();
    for group in list("apiGroups") {
        for resource in list("resources") {
            let verbs = list("verbs").into_iter();
            rights.extend(verbs.map(|verb| (group.clone(), resource.clone(), verb)));
        }
    }
    assert!(rights.iter().all(|(group, resource, verb)| ![group, resource, verb].contains(&&"*".to_owned())));
    rights
}

/// What a service account asked for: what it needed, and what was refused for want of rights until
/// its release was taken away, with which helm begins at the rights.
pub(crate) fn used(
    cluster: &Cluster,
    since: Timestamp,
    until: Timestamp,
    user: &str,
) -> (BTreeSet<Right>, Vec<String>) {
    let requests = audit::requests(&cluster.audit_log(), since, user).unwrap();
    let is_refused = |request: &&Request| {
        request.code == 403 && request.timestamp < until && !request.message.contains(UNKNOWN_KIND)
    };
    let forbidden = requests.iter().filter(is_refused);
    let forbidden = forbidden.map(|request| format!("{}: {}", request.verb, request.message)).collect();
    let resources = requests.iter().filter(|request| !request.resource.is_empty());
    let used = resources.map(|request| {
        let resource = match request.subresource.as_str() {
            "" => request.resource.clone(),
            subresource => format!("{}/{subresource}", request.resource),
        };
        (request.group.clone(), resource, request.verb.clone())
    });
    (used.collect(), forbidden)
}

/// No right is idle but the one of admission, and nothing was refused.
pub(crate) fn fit(granted: &BTreeSet<Right>, used: &BTreeSet<Right>, forbidden: &[String]) {
    assert_eq!(forbidden, [] as [&str; 0], "refused for want of rights");
    let (group, resource, verb) = ADMISSION;
    let admission = (group.to_owned(), resource.to_owned(), verb.to_owned());
    let idle: Vec<&Right> = granted.difference(used).filter(|right| **right != admission).collect();
    assert!(idle.is_empty(), "granted and not used: {idle:?}");
    assert!(granted.contains(&admission));
    let beyond: Vec<&Right> = used.difference(granted).collect();
    assert!(beyond.is_empty(), "used and not granted by the chart: {beyond:?}");
}
