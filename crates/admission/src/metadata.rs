//! `metadata`: how it is decoded, and what is wrong with it.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::cause::Cause;
use crate::{go_text, names};

/// The most bytes that the annotations of an object may have, keys included.
const MAX_ANNOTATIONS: usize = 256 * 1024;
const IMMUTABLE: &str = "field is immutable";

/// How a field of `metadata` is decoded.
#[derive(Clone, Copy)]
enum Shape {
    Text,
    Number,
    Flag,
    Time,
    Texts,
    TextMap,
    Any,
    /// A list of structs of this Go type.
    List(&'static str, &'static [(&'static str, Shape)]),
}

const FIELDS: [(&str, Shape); 15] = [
    ("name", Shape::Text),
    ("generateName", Shape::Text),
    ("namespace", Shape::Text),
    ("selfLink", Shape::Text),
    ("uid", Shape::Text),
    ("resourceVersion", Shape::Text),
    ("generation", Shape::Number),
    ("creationTimestamp", Shape::Time),
    ("deletionTimestamp", Shape::Time),
    ("deletionGracePeriodSeconds", Shape::Number),
    ("labels", Shape::TextMap),
    ("annotations", Shape::TextMap),
    (
        "ownerReferences",
        Shape::List(
            "OwnerReference",
            &[
                ("apiVersion", Shape::Text),
                ("kind", Shape::Text),
                ("name", Shape::Text),
                ("uid", Shape::Text),
                ("controller", Shape::Flag),
                ("blockOwnerDeletion", Shape::Flag),
            ],
        ),
    ),
    ("finalizers", Shape::Texts),
    (
        "managedFields",
        Shape::List(
            "ManagedFieldsEntry",
            &[
                ("manager", Shape::Text),
                ("operation", Shape::Text),
                ("apiVersion", Shape::Text),
                ("time", Shape::Time),
                ("fieldsType", Shape::Text),
                ("fieldsV1", Shape::Any),
                ("subresource", Shape::Text),
            ],
        ),
    ),
];

/// Decodes `metadata` in place: drops unknown fields and those without content, and returns the paths of the unknown
/// ones.
///
/// # Errors
///
/// The server's message, if a value is of the wrong type.
pub(crate) fn decode(object: &mut Value) -> Result<Vec<String>, String> {
    let mut unknown = Vec::new();
    match object.get_mut("metadata") {
        None => {}
        Some(Value::Object(metadata)) => {
            structure(metadata, &FIELDS, "metadata", "ObjectMeta", &mut unknown)?;
        }
        Some(Value::Null) => {
            object.as_object_mut().and_then(|object| object.remove("metadata"));
        }
        Some(other) => return Err(mismatch(other, "", "v1.ObjectMeta")),
    }
    Ok(unknown)
}

fn structure(
    entries: &mut Map<String, Value>,
    fields: &[(&str, Shape)],
    path: &str,
    holder: &str,
    unknown: &mut Vec<String>,
) -> Result<(), String> {
    let mut result = Ok(());
    entries.retain(|name, value| {
        let Some((_, shape)) = fields.iter().find(|(field, _)| field == name) else {
            unknown.push(format!("{path}.{name}"));
            return false;
        };
        if result.is_ok() {
            result = field(value, *shape, &format!("{path}.{name}"), &format!("{holder}.{name}"), unknown);
        }
        !says_nothing(value)
    });
    result
}

/// What Go leaves out when it writes an object: the empty values.
fn says_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(entries) => entries.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

fn field(
    value: &mut Value,
    shape: Shape,
    path: &str,
    go_path: &str,
    unknown: &mut Vec<String>,
) -> Result<(), String> {
    let wanted = match (shape, &mut *value) {
        (_, Value::Null)
        | (Shape::Any, _)
        | (Shape::Text | Shape::Time, Value::String(_))
        | (Shape::Flag, Value::Bool(_)) => return Ok(()),
        (Shape::Number, Value::Number(number)) if number.is_i64() => return Ok(()),
        (Shape::Texts, Value::Array(items)) => return texts(items.iter_mut(), go_path),
        (Shape::TextMap, Value::Object(entries)) => return texts(entries.values_mut(), go_path),
        (Shape::List(kind, fields), Value::Array(items)) => {
            return structures(items, kind, fields, path, go_path, unknown);
        }
        (Shape::List(kind, _), _) => return Err(mismatch(value, go_path, &format!("[]v1.{kind}"))),
        (Shape::Text | Shape::Time, _) => "string",
        (Shape::Number, _) => "int64",
        (Shape::Flag, _) => "bool",
        (Shape::Texts, _) => "[]string",
        (Shape::TextMap, _) => "map[string]string",
    };
    Err(mismatch(value, go_path, wanted))
}

fn structures(
    items: &mut [Value],
    kind: &str,
    fields: &[(&str, Shape)],
    path: &str,
    go_path: &str,
    unknown: &mut Vec<String>,
) -> Result<(), String> {
    let name = go_path.rsplit('.').next().unwrap_or_default();
    for (i, item) in items.iter_mut().enumerate() {
        match item {
            Value::Object(entries) => {
                structure(entries, fields, &format!("{path}[{i}]"), &format!("{kind}.{name}"), unknown)?;
            }
            Value::Null => *item = json!({}),
            other => return Err(mismatch(other, go_path, &format!("v1.{kind}"))),
        }
    }
    Ok(())
}

fn texts<'a>(values: impl Iterator<Item = &'a mut Value>, go_path: &str) -> Result<(), String> {
    for value in values {
        match value {
            Value::String(_) => {}
            Value::Null => *value = json!(""),
            other => return Err(mismatch(other, go_path, "string")),
        }
    }
    Ok(())
}

/// The answer of Go's JSON decoder.
fn mismatch(value: &Value, go_path: &str, wanted: &str) -> String {
    let got = match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let place = if go_path.is_empty() { String::new() } else { format!("struct field {go_path} of type ") };
    match place.as_str() {
        "" => format!("json: cannot unmarshal {got} into Go value of type {wanted}"),
        place => format!("json: cannot unmarshal {got} into Go {place}{wanted}"),
    }
}

/// Checks the metadata of an object that is created in a namespace.
#[must_use]
pub fn on_create(object: &Value) -> Vec<Cause> {
    let mut found = Vec::new();
    let generate = text(object, "generateName");
    if !generate.is_empty() {
        let wrong = names::generated(generate);
        found.extend(wrong.iter().map(|why| Cause::invalid("metadata.generateName", &json!(generate), why)));
    }
    let name = text(object, "name");
    if name.is_empty() {
        found.push(Cause::required("metadata.name", "name or generateName is required"));
    } else {
        let wrong = names::subdomain(name);
        found.extend(wrong.iter().map(|why| Cause::invalid("metadata.name", &json!(name), why)));
    }
    of_every_object(object, &mut found);
    found
}

/// Checks the metadata of an object that replaces another.
///
/// The server does so for every resource, and again for the kind; the causes are there twice.
#[must_use]
pub fn on_update(new: &Value, old: &Value) -> Vec<Cause> {
    let mut found = Vec::new();
    of_every_object(new, &mut found);
    let mut changes = Vec::new();
    change(new, old, &mut changes);
    found.extend(changes.clone());
    found.extend(changes);
    found
}

fn of_every_object(object: &Value, found: &mut Vec<Cause>) {
    let namespace = text(object, "namespace");
    if namespace.is_empty() {
        found.push(Cause::required("metadata.namespace", ""));
    } else {
        let wrong = names::dns_label(namespace);
        found.extend(wrong.iter().map(|why| Cause::invalid("metadata.namespace", &json!(namespace), why)));
    }
    if let Some(generation) = field_of(object, "generation").and_then(Value::as_i64).filter(|n| *n < 0) {
        let why = "must be greater than or equal to 0";
        found.push(Cause::invalid("metadata.generation", &json!(generation), why));
    }
    common(object, found);
    finalizers(object, found);
}

fn change(new: &Value, old: &Value, found: &mut Vec<Cause>) {
    if field_of(old, "deletionTimestamp").is_some() {
        no_new_finalizers(new, old, found);
    }
    if text(new, "resourceVersion").is_empty() {
        found.push(Cause::invalid("metadata.resourceVersion", &json!(""), "must be specified for an update"));
    }
    let generation = |object| field_of(object, "generation").and_then(Value::as_i64).unwrap_or_default();
    if generation(new) < generation(old) {
        let value = json!(generation(new));
        found.push(Cause::invalid("metadata.generation", &value, "must not be decremented"));
    }
    for name in ["name", "namespace", "uid"] {
        if text(new, name) != text(old, name) {
            found.push(Cause::invalid(format!("metadata.{name}"), &json!(text(new, name)), IMMUTABLE));
        }
    }
    for name in ["creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        if field_of(new, name) != field_of(old, name) {
            let value = field_of(new, name).unwrap_or(&Value::Null);
            found.push(Cause::invalid(format!("metadata.{name}"), value, IMMUTABLE));
        }
    }
    common(new, found);
}

fn common(object: &Value, found: &mut Vec<Cause>) {
    labels(field_of(object, "labels"), "metadata.labels", found);
    annotations(field_of(object, "annotations"), "metadata.annotations", found);
    owners(field_of(object, "ownerReferences"), found);
}

/// Checks a map of labels.
pub(crate) fn labels(labels: Option<&Value>, path: &str, found: &mut Vec<Cause>) {
    for (key, value) in labels.and_then(Value::as_object).into_iter().flatten() {
        found.extend(names::label_key(key).iter().map(|why| Cause::invalid(path, &json!(key), why)));
        let wrong = names::label_value(value.as_str().unwrap_or_default());
        found.extend(wrong.iter().map(|why| Cause::invalid(path, value, why)));
    }
}

/// Checks a map of annotations.
pub(crate) fn annotations(annotations: Option<&Value>, path: &str, found: &mut Vec<Cause>) {
    let mut size = 0;
    for (key, value) in annotations.and_then(Value::as_object).into_iter().flatten() {
        let wrong = names::label_key(&key.to_lowercase());
        found.extend(wrong.iter().map(|why| Cause::invalid(path, &json!(key), why)));
        size += key.len() + value.as_str().map_or(0, str::len);
    }
    if size > MAX_ANNOTATIONS {
        found.push(Cause::too_long(path, MAX_ANNOTATIONS as u64));
    }
}

fn owners(owners: Option<&Value>, found: &mut Vec<Cause>) {
    const PATH: &str = "metadata.ownerReferences";
    let Some(all) = owners.and_then(Value::as_array) else { return };
    let mut first: Option<String> = None;
    for (index, owner) in all.iter().enumerate() {
        let field = |name: &str| owner.get(name).and_then(Value::as_str).unwrap_or_default();
        let at = format!("{PATH}[{index}]");
        for name in ["apiVersion", "kind", "name", "uid"] {
            if field(name).is_empty() {
                found.push(Cause::required(format!("{at}.{name}"), "must not be empty"));
            } else if name == "apiVersion" && !is_group_version(field(name)) {
                let why = "must be <group>/<version> or <version>";
                found.push(Cause::invalid(format!("{at}.{name}"), &json!(field(name)), why));
            }
        }
        if (field("apiVersion"), field("kind")) == ("v1", "Event") {
            let why = "/v1, Kind=Event is disallowed from being an owner";
            found.push(Cause::invalid_shown(at, &owner_form(owner), why));
        }
        if owner.get("controller") == Some(&Value::Bool(true)) {
            let name = format!("{}/{}", field("kind"), field("name"));
            match &first {
                None => first = Some(name),
                Some(first) => {
                    let why = format!(
                        "Only one reference can have Controller set to true. Found \"true\" in references for \
                         {first} and {name}"
                    );
                    let shown = all.iter().map(owner_form).collect::<Vec<_>>().join(",");
                    found.push(Cause::invalid_shown(PATH, &format!("[{shown}]"), &why));
                }
            }
        }
    }
}

/// Whether a text has at most one slash, and a version after it.
fn is_group_version(text: &str) -> bool {
    let version = text.split_once('/').map_or(text, |(_, version)| version);
    !version.is_empty() && !version.contains('/')
}

/// An owner reference as the server's type writes it, in its order.
fn owner_form(owner: &Value) -> String {
    const ALWAYS: [&str; 4] = ["apiVersion", "kind", "name", "uid"];
    let mut fields: Vec<String> = Vec::new();
    for name in ALWAYS.into_iter().chain(["controller", "blockOwnerDeletion"]) {
        let value = owner.get(name).cloned().or_else(|| ALWAYS.contains(&name).then(|| json!("")));
        fields.extend(value.map(|value| format!("\"{name}\":{}", go_text::json(&value))));
    }
    format!("{{{}}}", fields.join(","))
}

fn finalizers(object: &Value, found: &mut Vec<Cause>) {
    const PATH: &str = "metadata.finalizers";
    let names: Vec<&str> = texts_of(object, "finalizers");
    for name in &names {
        found.extend(names::label_key(name).iter().map(|why| Cause::invalid(PATH, &json!(name), why)));
    }
    if names.contains(&"orphan") && names.contains(&"foregroundDeletion") {
        let why = "finalizer orphan and foregroundDeletion cannot be both set";
        found.push(Cause::invalid(PATH, &json!(names), why));
    }
}

fn no_new_finalizers(new: &Value, old: &Value, found: &mut Vec<Cause>) {
    let old: BTreeSet<&str> = texts_of(old, "finalizers").into_iter().collect();
    let extra: BTreeSet<&str> =
        texts_of(new, "finalizers").into_iter().filter(|name| !old.contains(name)).collect();
    if !extra.is_empty() {
        let names: Vec<String> = extra.into_iter().map(go_text::quoted).collect();
        let why = format!(
            "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
            names.join(", ")
        );
        found.push(Cause::forbidden("metadata.finalizers", &why));
    }
}

fn field_of<'a>(object: &'a Value, name: &str) -> Option<&'a Value> {
    object.get("metadata")?.get(name).filter(|value| !value.is_null())
}

fn text<'a>(object: &'a Value, name: &str) -> &'a str {
    field_of(object, name).and_then(Value::as_str).unwrap_or_default()
}

fn texts_of<'a>(object: &'a Value, name: &str) -> Vec<&'a str> {
    field_of(object, name).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
}
