//! Fields of a schema as rows of a table.

use std::fmt::Write as _;

use serde_json::{Map, Value};

/// A field with what the definition contains about it.
pub(crate) struct Field {
    pub(crate) path: String,
    kind: String,
    pub(crate) default: Option<String>,
    limits: Vec<String>,
    description: String,
}

/// Below the template only what has a rule or a limit of Rollwright is listed; the rest is Kubernetes'.
const TEMPLATE: &str = "template";

/// All fields below a schema, each after the one that holds it.
pub(crate) fn properties(schema: &Value) -> Vec<Field> {
    let mut fields = Vec::new();
    walk(schema, "", &mut fields);
    // Rules that stand higher than the field they are about.
    let mut moved: Vec<(String, String)> = Vec::new();
    rules_by_field(schema, "", &mut moved);
    for (path, message) in moved {
        match fields.iter_mut().find(|field| field.path == path) {
            Some(field) => field.limits.push(message),
            None => fields.push(Field {
                path,
                kind: String::new(),
                default: None,
                limits: vec![message],
                description: String::new(),
            }),
        }
    }
    // Those that were added stand behind the template.
    fields.sort_by_key(|field| position(schema, &field.path));
    fields
}

/// A Markdown table of them.
pub(crate) fn table(schema: &Value, has_defaults: bool) -> String {
    let mut text = String::new();
    text.push_str(if has_defaults {
        "| field | type | when absent | validation | description |\n|---|---|---|---|---|\n"
    } else {
        "| field | type | description |\n|---|---|---|\n"
    });
    for Field { path, kind, default, limits, description } in properties(schema) {
        let line = if has_defaults {
            let default = default.as_ref().map(|text| format!("`{text}`")).unwrap_or_default();
            format!("| `{path}` | {kind} | {default} | {} | {description} |", limits.join("; "))
        } else {
            // Only the operator writes there, so that limits of numbers and lists are nobody's concern.
            let values = limits.iter().find(|limit| limit.starts_with('`')).map_or("", String::as_str);
            format!("| `{path}` | {kind} | {description}{values} |")
        };
        let _ = writeln!(text, "{}", line.replace("|  |", "| |").replace("|  |", "| |"));
    }
    text
}

fn walk(schema: &Value, path: &str, fields: &mut Vec<Field>) {
    for (name, child) in schema["properties"].as_object().into_iter().flatten() {
        let is_reserved = child["description"].is_null() && opaque(child);
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        let below_template = path.starts_with("template.");
        if !is_reserved && !below_template {
            fields.push(field(&path, child, required(schema, name)));
        }
        if path != TEMPLATE {
            walk(child, &path, fields);
            walk(&child["items"], &format!("{path}[]"), fields);
        }
    }
}

/// Anything may stand there: a name set aside.
fn opaque(schema: &Value) -> bool {
    let open = "x-kubernetes-preserve-unknown-fields";
    schema[open] == true || schema["items"][open] == true
}

fn required(parent: &Value, name: &str) -> bool {
    parent["required"].as_array().into_iter().flatten().any(|it| it == name)
}

fn field(path: &str, schema: &Value, required: bool) -> Field {
    let described = schema["description"].as_str().unwrap_or_default();
    let (description, said) = split_default(described);
    let default = match &schema["default"] {
        Value::Null => said,
        value => Some(value.to_string()),
    };
    let mut limits = limits(schema);
    if required {
        limits.insert(0, "required".to_owned());
    }
    Field { path: path.to_owned(), kind: kind(schema), default, limits, description: escape(&description) }
}

/// Takes `Default: 10.` out of a description: it has a column of its own.
fn split_default(description: &str) -> (String, Option<String>) {
    let Some((before, after)) = description.split_once(" Default: ") else {
        return (description.to_owned(), None);
    };
    let (value, after) = after.split_once(". ").unwrap_or((after.trim_end_matches('.'), ""));
    (format!("{before} {after}").trim_end().to_owned(), Some(value.to_owned()))
}

fn kind(schema: &Value) -> String {
    if schema["x-kubernetes-int-or-string"] == true {
        return "integer or percentage".to_owned();
    }
    let of = schema["type"].as_str().unwrap_or("any");
    match (of, schema["format"].as_str()) {
        ("string", Some("date-time")) => "time".to_owned(),
        ("integer", Some(format)) => format.to_owned(),
        ("array", _) => format!("list of {}s", schema["items"]["type"].as_str().unwrap_or("any")),
        ("object", _) if schema["additionalProperties"]["type"] == "string" => "map of strings".to_owned(),
        _ => of.to_owned(),
    }
}

fn limits(schema: &Value) -> Vec<String> {
    let mut limits = Vec::new();
    if let Some(values) = schema["enum"].as_array() {
        let values = values.iter().filter_map(Value::as_str).filter(|value| !value.is_empty());
        limits.push(values.map(|value| format!("`{value}`")).collect::<Vec<_>>().join(", "));
    }
    let number = |key: &str| schema[key].as_i64();
    match (number("minimum"), number("maximum")) {
        (Some(low), Some(high)) => limits.push(format!("{low} to {high}")),
        (Some(low), None) => limits.push(format!("at least {low}")),
        (None, Some(high)) => limits.push(format!("at most {high}")),
        (None, None) => {}
    }
    for (key, of) in [("maxItems", "entries"), ("maxProperties", "entries"), ("maxLength", "characters")] {
        limits.extend(number(key).map(|most| format!("at most {most} {of}")));
    }
    limits.extend(rules(schema).filter(|rule| rule["fieldPath"].is_null()).map(message));
    limits
}

fn rules(schema: &Value) -> impl Iterator<Item = &Value> {
    schema["x-kubernetes-validations"].as_array().into_iter().flatten()
}

fn message(rule: &Value) -> String {
    escape(rule["message"].as_str().unwrap_or_default())
}

/// Rules with a `fieldPath`, and all of the template, by the field that they are about.
fn rules_by_field(schema: &Value, path: &str, found: &mut Vec<(String, String)>) {
    let in_template = path == TEMPLATE || path.starts_with("template.");
    for rule in rules(schema) {
        match rule["fieldPath"].as_str() {
            Some(field) => {
                let path = format!("{path}{field}");
                found.push((path.trim_start_matches('.').to_owned(), message(rule)));
            }
            // A rule of the schema of spec as a whole, which names no field, begins with the field.
            None if path.is_empty() => found.push(("selector".to_owned(), message(rule))),
            None if in_template && path != TEMPLATE => found.push((path.to_owned(), message(rule))),
            None => {}
        }
    }
    let limit = schema["maxProperties"].as_i64().filter(|_| in_template);
    found.extend(limit.map(|most| (path.to_owned(), format!("at most {most} entries"))));
    for (name, child) in schema["properties"].as_object().unwrap_or(&Map::new()) {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        rules_by_field(child, &path, found);
    }
}

/// Where a field stands among all, so that rows of the template are together.
fn position(schema: &Value, path: &str) -> usize {
    let first = path.split(['.', '[']).next().unwrap_or_default();
    let names = schema["properties"].as_object().into_iter().flatten();
    names.map(|(name, _)| name).position(|name| name == first).unwrap_or(usize::MAX)
}

fn escape(text: &str) -> String {
    text.replace('|', "\\|")
}
