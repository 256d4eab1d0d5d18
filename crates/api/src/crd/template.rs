//! Turns the API server's OpenAPI into the structural schema of a pod template.
//!
//! A CRD accepts a narrower dialect than `/openapi/v3` speaks: no references, a type on every node, no `oneOf` of
//! types. This module resolves the references, drops what a CRD cannot hold, or Rollwright's should not (descriptions,
//! defaults, patch hints), and keeps what decides how a template is merged: list types, list keys and map types.

use serde_json::{Map, Value, json};

/// The definition that the template of a Deployment refers to.
const POD_TEMPLATE: &str = "io.k8s.api.core.v1.PodTemplateSpec";

/// Deeper than any pod field; only a schema that refers to itself gets there.
const MAX_DEPTH: usize = 48;

/// What is taken over as it stands. `default` is not: the API server would write defaults into Rollwright Deployments,
/// and a default added by a later Kubernetes would change stored templates.
const KEPT: [&str; 6] = [
    "type",
    "format",
    "required",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-map-type",
];

/// Fields that the document calls required and apps/v1 takes without: an absent value is a zero
/// there. Found by leaving out every required field of the corpus, one at a time.
const NOT_REQUIRED: [(&str, &str); 9] = [
    ("io.k8s.api.core.v1.HTTPHeader", "value"),
    ("io.k8s.api.core.v1.ISCSIVolumeSource", "lun"),
    ("io.k8s.api.core.v1.PreferredSchedulingTerm", "preference"),
    ("io.k8s.api.core.v1.ScaleIOVolumeSource", "secretRef"),
    ("io.k8s.api.core.v1.SleepAction", "seconds"),
    ("io.k8s.api.core.v1.Sysctl", "value"),
    ("io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference", "apiVersion"),
    ("io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference", "kind"),
    ("io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference", "name"),
];

/// Keys of a list that is taken whole all the same. Merging by them would write a default into every
/// stored object, so that kubectl finds a difference in each unchanged manifest, and would refuse a port
/// that has two names; docs/reference/differences-from-apps-v1.md weighs it.
const PORT_KEYS: [&str; 2] = ["containerPort", "protocol"];

/// A number with an optional suffix, as the API server's quantity parser reads it: blanks around
/// it are ignored, and missing digits are zero.
const QUANTITY: &str = r"^ *[+-]?[0-9]*\.?[0-9]*([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)? *$";

/// Why a schema could not be built.
#[derive(Debug, thiserror::Error)]
pub enum SchemaError {
    /// The document has no schemas where an OpenAPI document keeps them.
    #[error("not an OpenAPI document: it has no schemas")]
    NotOpenApi,
    /// A definition is referred to and absent.
    #[error("the OpenAPI document has no definition {0}")]
    Missing(String),
    /// A node has neither a type nor a known form.
    #[error("no structural form for {0}: it has no type")]
    Untyped(String),
    /// A definition leads back to itself.
    #[error("{0} is nested too deep for a structural schema")]
    TooDeep(String),
    /// The schema built into this program cannot be read.
    #[error("the built-in schema is damaged: {0}")]
    Embedded(#[from] serde_json::Error),
}

/// Builds the schema of `spec.template` from the document at `/openapi/v3/apis/apps/v1`.
///
/// # Errors
///
/// If the document lacks the pod template or a definition it leads to, or holds a node of a kind
/// that a CRD has no form for.
pub fn template_schema(openapi: &Value) -> Result<Value, SchemaError> {
    let definitions =
        openapi.pointer("/components/schemas").and_then(Value::as_object).ok_or(SchemaError::NotOpenApi)?;
    Resolver { definitions }.definition(POD_TEMPLATE, 0)
}

struct Resolver<'a> {
    definitions: &'a Map<String, Value>,
}

impl Resolver<'_> {
    fn definition(&self, name: &str, depth: usize) -> Result<Value, SchemaError> {
        let node = self.definitions.get(name).ok_or_else(|| SchemaError::Missing(name.to_owned()))?;
        let mut schema = self.node(node, name, depth)?;
        relax(name, &mut schema);
        Ok(schema)
    }

    fn node(&self, node: &Value, at: &str, depth: usize) -> Result<Value, SchemaError> {
        if depth > MAX_DEPTH {
            return Err(SchemaError::TooDeep(at.to_owned()));
        }
        if let Some(name) = reference(node) {
            return self.definition(name, depth + 1);
        }
        if let Some(scalar) = union_of_scalars(node) {
            return Ok(scalar);
        }
        let mut out = Map::new();
        for key in KEPT {
            if let Some(value) = node.get(key) {
                out.insert(key.to_owned(), value.clone());
            }
        }
        if !out.contains_key("type") {
            return Err(SchemaError::Untyped(at.to_owned()));
        }
        self.children(node, at, depth, &mut out)?;
        settle_list_keys(node, self, &mut out);
        Ok(Value::Object(out))
    }

    fn children(
        &self,
        node: &Value,
        at: &str,
        depth: usize,
        out: &mut Map<String, Value>,
    ) -> Result<(), SchemaError> {
        if let Some(properties) = node.get("properties").and_then(Value::as_object) {
            let required = required(node);
            let mut converted = Map::new();
            for (name, property) in properties {
                let mut schema = self.node(property, &format!("{at}.{name}"), depth + 1)?;
                let required = required.contains(&name.as_str());
                copy_enum(property, required, &mut schema);
                allow_null(required, &mut schema);
                converted.insert(name.clone(), schema);
            }
            out.insert("properties".into(), Value::Object(converted));
        }
        for key in ["items", "additionalProperties"] {
            if let Some(child) = node.get(key) {
                out.insert(key.into(), self.node(child, &format!("{at}.{key}"), depth + 1)?);
            }
        }
        let open = out.get("type") == Some(&json!("object"))
            && !out.contains_key("properties")
            && !out.contains_key("additionalProperties");
        if open {
            out.insert("x-kubernetes-preserve-unknown-fields".into(), Value::Bool(true));
        }
        Ok(())
    }
}

/// Drops what is not required in fact from the list of required fields of a definition.
fn relax(definition: &str, schema: &mut Value) {
    let Some(schema) = schema.as_object_mut() else { return };
    if let Some(names) = schema.get_mut("required").and_then(Value::as_array_mut) {
        names.retain(|name| !NOT_REQUIRED.iter().any(|(at, field)| *at == definition && name == field));
        if names.is_empty() {
            schema.remove("required");
        }
    }
}

/// The name of the definition that a node stands for, if it is a reference. The server wraps a
/// reference in a one-element `allOf` when the field has a description or default of its own.
fn reference(node: &Value) -> Option<&str> {
    node.get("$ref")
        .or_else(|| node.pointer("/allOf/0/$ref"))
        .and_then(Value::as_str)
        .and_then(|path| path.rsplit('/').next())
}

/// Quantities and int-or-strings: the nodes that allow several types.
fn union_of_scalars(node: &Value) -> Option<Value> {
    let one_of = node.get("oneOf")?.as_array()?;
    let mut types: Vec<&str> =
        one_of.iter().filter_map(|option| option.get("type").and_then(Value::as_str)).collect();
    types.sort_unstable();
    match types.as_slice() {
        ["integer", "string"] => Some(json!({"x-kubernetes-int-or-string": true})),
        ["number", "string"] => Some(quantity()),
        _ => None,
    }
}

/// Numbers with and without a fraction, and strings (`cpu: 0.5`). A structural schema has no
/// such type and int-or-string refuses fractions, so the node has no type and excludes the rest:
/// booleans by name, objects and arrays by limits that none can meet.
fn quantity() -> Value {
    json!({
        "x-kubernetes-preserve-unknown-fields": true,
        "pattern": QUANTITY,
        "minLength": 1,
        "not": {"enum": [true, false]},
        "minProperties": 1,
        "maxProperties": 0,
        "minItems": 1,
        "maxItems": 0,
    })
}

/// The values of an enumeration. apps/v1 takes an empty string for an absent optional value.
fn copy_enum(property: &Value, required: bool, schema: &mut Value) {
    let Some(values) = property.get("enum").and_then(Value::as_array) else { return };
    let mut values = values.clone();
    let empty = json!("");
    if !required && !values.contains(&empty) {
        values.insert(0, empty);
    }
    if let Some(schema) = schema.as_object_mut() {
        schema.insert("enum".into(), Value::Array(values));
    }
}

/// apps/v1 takes a null for an absent optional value. Without `nullable` so do creating and
/// updating here, but not server-side apply, which Helm and others use. Enumerations cannot list a
/// null in a CRD.
fn allow_null(required: bool, schema: &mut Value) {
    if let Some(schema) = schema.as_object_mut().filter(|schema| !required && !schema.contains_key("enum")) {
        schema.insert("nullable".into(), Value::Bool(true));
    }
}

/// A list merged by key needs each key field to be required or to have a default; where the API
/// leaves a key optional, its default stays. Ports are not merged ([`PORT_KEYS`]).
fn settle_list_keys(node: &Value, resolver: &Resolver<'_>, out: &mut Map<String, Value>) {
    let Some(keys) = node.get("x-kubernetes-list-map-keys").and_then(Value::as_array) else { return };
    if keys.iter().filter_map(Value::as_str).eq(PORT_KEYS) {
        out.remove("x-kubernetes-list-map-keys");
        out.insert("x-kubernetes-list-type".into(), json!("atomic"));
        return;
    }
    let source = node
        .get("items")
        .and_then(reference)
        .and_then(|name| resolver.definitions.get(name))
        .or_else(|| node.get("items"));
    let Some(source) = source else { return };
    let required = required(source);
    for key in keys.iter().filter_map(Value::as_str).filter(|key| !required.contains(key)) {
        let default = source.pointer(&format!("/properties/{key}/default")).cloned();
        let target = out
            .get_mut("items")
            .and_then(|items| items.get_mut("properties"))
            .and_then(|properties| properties.get_mut(key))
            .and_then(Value::as_object_mut);
        if let Some(target) = target {
            target.remove("nullable");
            target.insert("default".into(), default.unwrap_or_else(|| json!("")));
        }
    }
}

fn required(node: &Value) -> Vec<&str> {
    node.get("required")
        .and_then(Value::as_array)
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default()
}
