//! OpenAPI: for each kind, that the server can validate its writes; and the schema of the custom kind.
//! Schemas of built-in kinds are not served, so `kubectl explain pod` shows little.

use bytes::Bytes;
use http::{HeaderValue, Response};
use serde_json::{Map, Value, json};
use world::{Resource, Store};

use crate::answer::{self, Body};
use crate::{definition, discovery};

const FIELD_VALIDATION: &str = "fieldValidation";

/// `/openapi/v2`, a document of nothing but its version. kubectl reads it before it applies a `kind: List`, and wants
/// protobuf.
pub(crate) fn version_two() -> Response<Body> {
    let media_type = HeaderValue::from_static("application/com.github.proto-openapi.spec.v2.v1.0+protobuf");
    answer::typed(200, media_type, Bytes::from_static(b"\x0a\x032.0"))
}

/// `/openapi/v3`: where the documents are.
pub(crate) fn index(store: &Store) -> Value {
    json!({ "paths": discovery::all_served(store) })
}

/// The document of a group.
pub(crate) fn group(store: &Store, group: &str) -> Option<Value> {
    let kinds = discovery::kinds(store, group);
    if kinds.is_empty() {
        return None;
    }
    let paths: Map<_, _> = kinds.iter().map(|resource| (path(*resource), operations(*resource))).collect();
    let schemas: Map<_, _> =
        kinds.iter().map(|resource| (schema_name(*resource), schema(store, *resource))).collect();
    Some(json!({
        "openapi": "3.0.0", "info": { "title": "Kubernetes", "version": discovery::VERSION },
        "paths": paths, "components": { "schemas": schemas },
    }))
}

fn path(resource: Resource) -> String {
    let root = if resource.group().is_empty() {
        "/api/v1".to_owned()
    } else {
        format!("/apis/{}", resource.api_version())
    };
    let namespace = if resource.is_namespaced() { "/namespaces/{namespace}" } else { "" };
    format!("{root}{namespace}/{}/{{name}}", resource.plural())
}

fn kind(resource: Resource) -> Value {
    let version = Resource::version_of(resource.group());
    json!({ "group": resource.group(), "version": version, "kind": resource.kind() })
}

fn operations(resource: Resource) -> Value {
    let parameter = |name: &str, place: &str| json!({ "name": name, "in": place, "required": place == "path", "schema": { "type": "string" } });
    let reference = json!({ "$ref": format!("#/components/schemas/{}", schema_name(resource)) });
    let answer =
        json!({ "200": { "description": "OK", "content": { "application/json": { "schema": reference } } } });
    // No strategic merge patch: kubectl knows the built-in kinds itself.
    let body = json!({ "content": { "application/merge-patch+json": { "schema": { "type": "object" } } } });
    json!({
        "parameters": [parameter("name", "path")],
        "get": { "x-kubernetes-action": "get", "x-kubernetes-group-version-kind": kind(resource), "responses": answer },
        "patch": {
            "x-kubernetes-action": "patch", "x-kubernetes-group-version-kind": kind(resource),
            "parameters": [parameter(FIELD_VALIDATION, "query"), parameter("dryRun", "query")],
            "requestBody": body, "responses": answer,
        },
    })
}

fn schema_name(resource: Resource) -> String {
    match resource.group() {
        "" => format!("io.k8s.api.core.v1.{}", resource.kind()),
        "rollwright.dev" => format!("dev.rollwright.v1.{}", resource.kind()),
        group => {
            let (name, version) = (group.split('.').next().unwrap_or(group), Resource::version_of(group));
            format!("io.k8s.api.{name}.{version}.{}", resource.kind())
        }
    }
}

fn schema(store: &Store, resource: Resource) -> Value {
    let definition = definition::installed(store).filter(|_| resource == Resource::Deployments);
    let custom = definition
        .and_then(definition::version)
        .and_then(|version| version.pointer("/schema/openAPIV3Schema"));
    let mut schema = custom.cloned().unwrap_or_else(
        || json!({ "type": "object", "description": "Schemas of built-in kinds are not served here." }),
    );
    if let Some(members) = schema.as_object_mut() {
        members.insert("x-kubernetes-group-version-kind".to_owned(), json!([kind(resource)]));
    }
    schema
}
