//! Which groups and kinds there are.

use serde_json::{Map, Value, json};
use world::{Resource, Store};

use crate::definition;
use crate::member::put;

/// Kubernetes version that the answers follow.
pub(crate) const VERSION: &str = world::KUBERNETES;

/// Groups, in the order in which clients prefer them; the core group is not among them.
const GROUPS: [&str; 7] = [
    "apps",
    "autoscaling",
    "batch",
    "policy",
    "coordination.k8s.io",
    "apiextensions.k8s.io",
    "rollwright.dev",
];

const VERBS: [&str; 8] = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
/// The same as the server of custom kinds puts them.
const CUSTOM_VERBS: [&str; 8] =
    ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];
const PART_VERBS: [&str; 3] = ["get", "patch", "update"];

/// What a kind is called.
struct Names {
    singular: String,
    short: Value,
    categories: Value,
}

fn names(store: &Store, resource: Resource) -> Names {
    if resource == Resource::Deployments {
        let names = definition::installed(store).and_then(|definition| definition.spec.get("names"));
        let list = |field: &str| names.and_then(|names| names.get(field)).cloned().unwrap_or(Value::Null);
        return Names {
            singular: "deployment".into(),
            short: list("shortNames"),
            categories: list("categories"),
        };
    }
    let (short, categories): (&[&str], &[&str]) = match resource {
        Resource::AppsDeployments => (&["deploy"], &["all"]),
        Resource::ReplicaSets => (&["rs"], &["all"]),
        Resource::Pods => (&["po"], &["all"]),
        Resource::Services => (&["svc"], &["all"]),
        Resource::Namespaces => (&["ns"], &[]),
        Resource::Events => (&["ev"], &[]),
        Resource::ConfigMaps => (&["cm"], &[]),
        Resource::ServiceAccounts => (&["sa"], &[]),
        Resource::Nodes => (&["no"], &[]),
        Resource::ResourceQuotas => (&["quota"], &[]),
        Resource::HorizontalPodAutoscalers => (&["hpa"], &["all"]),
        Resource::Jobs => (&[], &["all"]),
        Resource::PodDisruptionBudgets => (&["pdb"], &[]),
        Resource::CustomResourceDefinitions => (&["crd", "crds"], &["api-extensions"]),
        _ => (&[], &[]),
    };
    let list = |names: &[&str]| if names.is_empty() { Value::Null } else { json!(names) };
    Names { singular: resource.kind().to_lowercase(), short: list(short), categories: list(categories) }
}

fn served(store: &Store, group: &str) -> Vec<Resource> {
    let all = Resource::ALL.into_iter();
    let mut found: Vec<_> =
        all.filter(|resource| resource.group() == group && definition::is_served(store, *resource)).collect();
    found.sort_by_key(|resource| resource.plural());
    found
}

fn without_nulls(members: &mut Value) {
    if let Some(members) = members.as_object_mut() {
        members.retain(|_, value| !value.is_null());
    }
}

/// `/version`.
pub(crate) fn version() -> Value {
    let minor = VERSION.split('.').nth(1);
    json!({
        "major": "1", "minor": minor, "gitVersion": VERSION, "gitCommit": "sandbox", "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z", "goVersion": "none", "compiler": "rustc", "platform": "sandbox",
    })
}

/// `/api`.
pub(crate) fn legacy() -> Value {
    json!({ "kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": [] })
}

fn group_entry(group: &str) -> Value {
    let version = Resource::version_of(group);
    let version = json!({ "groupVersion": format!("{group}/{version}"), "version": version });
    json!({ "name": group, "versions": [version], "preferredVersion": version })
}

fn groups_of(store: &Store) -> impl Iterator<Item = &'static str> {
    GROUPS.into_iter().filter(|group| !served(store, group).is_empty())
}

/// `/apis`.
pub(crate) fn groups(store: &Store) -> Value {
    let groups: Vec<_> = groups_of(store).map(group_entry).collect();
    json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": groups })
}

/// `/apis/GROUP`.
pub(crate) fn group(store: &Store, group: &str) -> Option<Value> {
    let group = groups_of(store).find(|known| *known == group)?;
    let mut entry = group_entry(group);
    put(&mut entry, "kind", "APIGroup");
    put(&mut entry, "apiVersion", "v1");
    Some(entry)
}

/// `/api/v1` and `/apis/GROUP/v1`.
pub(crate) fn resources(store: &Store, group: &str) -> Option<Value> {
    let resources = served(store, group);
    let group_version = resources.first()?.api_version();
    let mut entries = Vec::new();
    for resource in resources {
        let Names { singular, short, categories } = names(store, resource);
        let mut entry = json!({
            "name": resource.plural(), "singularName": singular, "namespaced": resource.is_namespaced(),
            "kind": resource.kind(), "verbs": verbs(resource), "shortNames": short, "categories": categories,
        });
        without_nulls(&mut entry);
        entries.push(entry);
        for part in parts(resource) {
            let mut entry = json!({
                "name": format!("{}/{part}", resource.plural()), "singularName": "",
                "namespaced": resource.is_namespaced(), "kind": resource.kind(), "verbs": PART_VERBS,
            });
            if part == "scale" {
                put(&mut entry, "group", "autoscaling");
                put(&mut entry, "version", "v1");
                put(&mut entry, "kind", "Scale");
            }
            entries.push(entry);
        }
    }
    Some(json!({
        "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": entries,
    }))
}

const fn verbs(resource: Resource) -> [&'static str; 8] {
    if matches!(resource, Resource::Deployments) { CUSTOM_VERBS } else { VERBS }
}

fn parts(resource: Resource) -> impl Iterator<Item = &'static str> {
    let scale = resource.has_scale().then_some("scale");
    let status = resource.has_status().then_some("status");
    let is_custom = resource == Resource::Deployments;
    let (first, second) = if is_custom { (status, scale) } else { (scale, status) };
    first.into_iter().chain(second)
}

/// `/api` or `/apis`, with all resources in it.
pub(crate) fn aggregated(store: &Store, is_core: bool) -> Value {
    let items: Vec<_> = if is_core {
        vec![aggregated_group(store, "")]
    } else {
        groups_of(store).map(|group| aggregated_group(store, group)).collect()
    };
    json!({
        "kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items,
    })
}

fn aggregated_group(store: &Store, group: &str) -> Value {
    let resources: Vec<_> =
        served(store, group).into_iter().map(|resource| aggregated_resource(store, resource)).collect();
    let metadata = if group.is_empty() { json!({}) } else { json!({ "name": group }) };
    json!({
        "metadata": metadata,
        "versions": [{ "version": Resource::version_of(group), "freshness": "Current", "resources": resources }],
    })
}

fn aggregated_resource(store: &Store, resource: Resource) -> Value {
    let Names { singular, short, categories } = names(store, resource);
    let version = Resource::version_of(resource.group());
    let kind = json!({ "group": resource.group(), "version": version, "kind": resource.kind() });
    let subresources: Vec<_> = parts(resource)
        .map(|part| {
            let scale = json!({ "group": "autoscaling", "version": "v1", "kind": "Scale" });
            let kind = if part == "scale" { scale } else { kind.clone() };
            json!({ "subresource": part, "responseKind": kind, "verbs": PART_VERBS })
        })
        .collect();
    let mut entry = json!({
        "resource": resource.plural(), "responseKind": kind,
        "scope": if resource.is_namespaced() { "Namespaced" } else { "Cluster" },
        "singularResource": singular, "verbs": verbs(resource), "shortNames": short, "categories": categories,
    });
    without_nulls(&mut entry);
    if let Some(members) = entry.as_object_mut().filter(|_| !subresources.is_empty()) {
        members.insert("subresources".to_owned(), Value::from(subresources));
    }
    entry
}

/// The groups and their resources, for OpenAPI.
pub(crate) fn all_served(store: &Store) -> Map<String, Value> {
    let groups = std::iter::once("").chain(groups_of(store));
    let path = |group: &str| match group {
        "" => "api/v1".to_owned(),
        group => format!("apis/{group}/{}", Resource::version_of(group)),
    };
    let entries = groups.map(|group| {
        let path = path(group);
        let url = json!({ "serverRelativeURL": format!("/openapi/v3/{path}") });
        (path, url)
    });
    entries.collect()
}

/// The kinds of a group, as they are served now.
pub(crate) fn kinds(store: &Store, group: &str) -> Vec<Resource> {
    served(store, group)
}
