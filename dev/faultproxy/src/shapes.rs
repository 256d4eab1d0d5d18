//! Which requests a Deployment controller may make, and what each must carry (OW-1, OW-2).

use serde_json::Value;

use crate::journal::{Exchange, Journal};
use crate::request::Request;

/// The group that the controller's own kind is in.
const OUR_GROUP: &str = "rollwright.dev";

/// What is wrong with the requests of a journal; empty if nothing is.
#[must_use]
pub fn violations(journal: &Journal) -> Vec<String> {
    let mut found: Vec<String> = journal.exchanges().iter().filter_map(violation).collect();
    found.extend(repetitions(journal.exchanges()));
    found
}

fn violation(exchange: &Exchange) -> Option<String> {
    let problem = problem(&exchange.request, &exchange.body)?;
    Some(format!("{} {}: {problem}", exchange.request.label(), exchange.request.name))
}

fn problem(request: &Request, body: &Value) -> Option<&'static str> {
    if request.parameter("force").is_some() {
        return Some("forced");
    }
    if request.content_type.contains("apply-patch") {
        return Some("server-side apply");
    }
    let kind = (request.group.as_str(), request.resource.as_str(), request.subresource.as_str());
    match (request.verb.as_str(), kind) {
        // The API's own documents.
        ("get", ("", "", "")) => None,
        ("get", ("apiextensions.k8s.io", "customresourcedefinitions", "")) => None,
        ("get" | "list" | "watch", (OUR_GROUP | "apps", "deployments", ""))
        | ("get" | "list" | "watch", ("apps", "replicasets", ""))
        | ("list" | "watch", ("", "pods", ""))
        | ("list", ("", "events", "")) => None,
        ("create", ("apps", "replicasets", "")) => creation(request, body),
        ("patch", ("apps", "replicasets", "")) => {
            unless(names_version(body), "without uid and resourceVersion")
        }
        ("delete", ("apps", "replicasets", "")) => {
            let conditions = body.pointer("/preconditions").unwrap_or(&Value::Null);
            unless(names(conditions), "without preconditions")
        }
        ("patch", (OUR_GROUP | "apps", "deployments", "status")) => {
            unless(names_version(body), "without uid and resourceVersion")
        }
        ("patch", (OUR_GROUP | "apps", "deployments", "")) => specification(body),
        ("create" | "patch", ("", "events", "")) => None,
        _ => Some("no request of a Deployment controller"),
    }
}

fn unless(condition: bool, problem: &'static str) -> Option<&'static str> {
    (!condition).then_some(problem)
}

fn names(object: &Value) -> bool {
    let is_there =
        |field: &str| object.get(field).and_then(Value::as_str).is_some_and(|text| !text.is_empty());
    is_there("uid") && is_there("resourceVersion")
}

/// A merge patch names them in its metadata, a JSON patch replaces them by themselves.
fn names_version(body: &Value) -> bool {
    let Some(operations) = body.as_array() else {
        return names(body.pointer("/metadata").unwrap_or(&Value::Null));
    };
    let is_named = |path: &str| {
        let of_it = |operation: &&Value| {
            operation.get("op") == Some(&"replace".into()) && operation.get("path") == Some(&path.into())
        };
        let value = operations.iter().find(of_it).and_then(|operation| operation.get("value")?.as_str());
        value.is_some_and(|text| !text.is_empty())
    };
    is_named("/metadata/uid") && is_named("/metadata/resourceVersion")
}

/// In the namespace of its one controller, which is a Deployment.
fn creation(request: &Request, body: &Value) -> Option<&'static str> {
    let namespace = body.pointer("/metadata/namespace").and_then(Value::as_str);
    if namespace.is_some_and(|namespace| namespace != request.namespace) {
        return Some("in another namespace");
    }
    let owners = body.pointer("/metadata/ownerReferences").and_then(Value::as_array);
    let is_controlled = owners.into_iter().flatten().any(|owner| {
        let text = |field: &str| owner.get(field).and_then(Value::as_str).unwrap_or_default();
        owner.get("controller") == Some(&Value::Bool(true))
            && text("kind") == "Deployment"
            && !text("uid").is_empty()
    });
    unless(is_controlled, "without a controller")
}

/// The selector's default, or the outcome of a rollback.
fn specification(body: &Value) -> Option<&'static str> {
    let fields = body.pointer("/spec").and_then(Value::as_object);
    let is_selector = fields.is_some_and(|fields| fields.keys().all(|field| field == "selector"));
    if !body.is_array() && !is_selector {
        return Some("other fields than the selector");
    }
    unless(names_version(body), "without uid and resourceVersion")
}

/// What the server refused as a conflict must not be sent again as it was: the decision has to be made again, and then
/// it names another version. (A status may be: it is nobody's size.)
fn repetitions(exchanges: &[Exchange]) -> Vec<String> {
    let mut found = Vec::new();
    for (index, exchange) in exchanges.iter().enumerate() {
        let is_conflict = exchange.server_code == Some(409)
            && exchange.request.resource == "replicasets"
            && exchange.request.verb != "create";
        let again = |later: &&Exchange| later.request == exchange.request && later.body == exchange.body;
        if is_conflict && exchanges.iter().skip(index + 1).any(|later| again(&later)) {
            let Request { name, .. } = &exchange.request;
            found.push(format!("{} {name}: sent again after a conflict", exchange.request.label()));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use serde_json::json;

    fn check(method: &str, uri: &str, body: &Value) -> Option<&'static str> {
        problem(&Request::new(&method.parse().unwrap(), &uri.parse().unwrap()), body)
    }

    const SETS: &str = "/apis/apps/v1/namespaces/n/replicasets";
    const VERSION: (&str, &str) = ("resourceVersion", "1");

    /// A JSON patch that replaces fields of the metadata, and does one more thing.
    fn by_operations(metadata: &[(&str, &str)], more: &Value) -> Value {
        let replace = |(field, value): &(&str, &str)| json!({"op": "replace", "path": format!("/metadata/{field}"), "value": value});
        metadata.iter().map(replace).chain([more.clone()]).collect()
    }

    #[test]
    fn every_write_names_what_it_was_decided_from() {
        let set = format!("{SETS}/r");
        let pinned = json!({"metadata": {"uid": "u", "resourceVersion": "1"}, "spec": {"replicas": 1}});
        let loose = json!({"metadata": {"uid": "u"}, "spec": {"replicas": 1}});
        assert_eq!(check("PATCH", &set, &pinned), None);
        assert!(check("PATCH", &set, &loose).is_some());
        assert!(check("PUT", &set, &pinned).is_some());
        assert!(check("PATCH", &format!("{set}?force=true"), &pinned).is_some());
        assert!(check("PATCH", &format!("{set}/scale"), &pinned).is_some());
        let conditions = json!({"preconditions": {"uid": "u", "resourceVersion": "1"}});
        assert_eq!(check("DELETE", &set, &conditions), None);
        assert!(check("DELETE", &set, &json!({})).is_some());
        assert!(check("DELETE", SETS, &conditions).is_some());
        let status = "/apis/rollwright.dev/v1/namespaces/n/deployments/d/status";
        assert_eq!(check("PATCH", status, &pinned), None);
        assert!(check("PATCH", status, &loose).is_some());
        let record = json!({"op": "add", "path": "/status/history", "value": []});
        assert_eq!(check("PATCH", status, &by_operations(&[("uid", "u"), VERSION], &record)), None);
        for loose in [&[("uid", "u")][..], &[VERSION], &[("uid", ""), VERSION]] {
            assert!(check("PATCH", status, &by_operations(loose, &record)).is_some(), "{loose:?}");
        }
    }

    #[test]
    fn a_set_is_born_with_its_controller() {
        let owner = json!({"kind": "Deployment", "uid": "u", "controller": true});
        let body = json!({"metadata": {"namespace": "n", "ownerReferences": [owner]}});
        assert_eq!(check("POST", SETS, &body), None);
        assert!(check("POST", "/apis/apps/v1/namespaces/other/replicasets", &body).is_some());
        assert!(check("POST", SETS, &json!({"metadata": {}})).is_some());
    }

    #[test]
    fn a_deployment_gets_its_selector_and_rollbacks_only() {
        let deployment = "/apis/apps/v1/namespaces/n/deployments/d";
        let metadata = json!({"uid": "u", "resourceVersion": "1"});
        let selector = json!({"metadata": metadata, "spec": {"selector": {}}});
        assert_eq!(check("PATCH", deployment, &selector), None);
        assert!(
            check("PATCH", deployment, &json!({"metadata": metadata, "spec": {"replicas": 1}})).is_some()
        );
        let template = json!({"op": "replace", "path": "/spec/template", "value": {}});
        assert_eq!(check("PATCH", deployment, &by_operations(&[("uid", "u"), VERSION], &template)), None);
        assert!(check("PATCH", deployment, &by_operations(&[], &template)).is_some());
    }

    #[test]
    fn nothing_else_is_asked_for() {
        for (method, uri) in [
            ("GET", "/api/v1/secrets"),
            ("DELETE", "/api/v1/namespaces/n/pods/p"),
            ("PATCH", "/api/v1/namespaces/n/pods/p"),
            ("POST", "/apis/apps/v1/namespaces/n/deployments"),
            ("POST", "/api/v1/namespaces/n/configmaps"),
        ] {
            assert!(check(method, uri, &json!({})).is_some(), "{method} {uri}");
        }
        assert_eq!(check("GET", "/openapi/v3/apis/apps/v1", &Value::Null), None);
        assert_eq!(check("GET", "/api/v1/pods?watch=true", &Value::Null), None);
    }
}
