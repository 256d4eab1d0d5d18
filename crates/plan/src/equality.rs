//! When two pod templates are the same to the API's types (S16.5).
//!
//! A template is brought into a form in which everything that Go's types cannot tell apart
//! looks the same: absent and zero values, empty and missing lists, two spellings of a
//! quantity. Two templates are equal when these forms are. Which field is of which kind
//! stands in `pod-types.txt`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::{Map, Value};

use crate::quantity;
use crate::template::{self, Digest};

#[derive(Clone, Copy, Debug)]
enum Kind {
    Zero,
    IntOrString,
    Quantity,
    QuantityPointer,
    StringMap,
    QuantityMap,
    ScalarList,
    List(&'static str),
    Struct(&'static str),
    Pointer(&'static str),
    Time,
}

type Fields = BTreeMap<&'static str, Kind>;

static TYPES: LazyLock<BTreeMap<&'static str, Fields>> = LazyLock::new(|| {
    let lines = include_str!("pod-types.txt").lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(parse_type).collect()
});

fn parse_type(line: &'static str) -> Option<(&'static str, Fields)> {
    let mut words = line.split_whitespace();
    let name = words.next()?;
    let fields = words.filter_map(|word| {
        let (field, kind) = word.split_once('=')?;
        Some((field, parse_kind(kind)?))
    });
    Some((name, fields.collect()))
}

fn parse_kind(kind: &'static str) -> Option<Kind> {
    Some(match kind {
        "z" => Kind::Zero,
        "i" => Kind::IntOrString,
        "q" => Kind::Quantity,
        "Q" => Kind::QuantityPointer,
        "m" => Kind::StringMap,
        "mq" => Kind::QuantityMap,
        "l" => Kind::ScalarList,
        "t" => Kind::Time,
        other => match other.split_once(':')? {
            ("l", name) => Kind::List(name),
            ("s", name) => Kind::Struct(name),
            ("p", name) => Kind::Pointer(name),
            _ => return None,
        },
    })
}

/// Whether two templates are equal, the label `pod-template-hash` aside (S16.5).
#[must_use]
pub fn equal(a: &Value, b: &Value) -> bool {
    normal_form(a) == normal_form(b)
}

/// Digest of the normal form.
#[must_use]
pub fn digest(template: &Value) -> Digest {
    template::digest(&normal_form(template))
}

fn normal_form(template: &Value) -> Value {
    let template = template::without_hash_label(template);
    normal_struct("PodTemplateSpec", &template).unwrap_or_default()
}

/// The members that say something.
fn normal_struct(name: &str, value: &Value) -> Option<Value> {
    let members = value.as_object()?;
    let fields = TYPES.get(name);
    let mut normal = Map::new();
    for (key, member) in members.iter().filter(|(_, member)| !member.is_null()) {
        let kept = match fields.and_then(|fields| fields.get(key.as_str())) {
            None => Some(member.clone()),
            Some(kind) => normal_member(*kind, member),
        };
        normal.extend(kept.map(|member| (key.clone(), member)));
    }
    Some(Value::Object(normal))
}

/// A member in normal form; `None` when it equals an absent one. A value of the wrong JSON
/// type is kept as it stands: it is equal only to itself.
fn normal_member(kind: Kind, value: &Value) -> Option<Value> {
    match kind {
        Kind::Zero => Some(value.clone()).filter(|value| !is_zero(value)),
        Kind::IntOrString => Some(value.clone()).filter(|value| value.as_i64() != Some(0)),
        Kind::Quantity => match quantity::nanos(value) {
            Some(0) => None,
            _ => Some(normal_quantity(value)),
        },
        Kind::QuantityPointer => Some(normal_quantity(value)),
        Kind::StringMap => Some(value.clone()).filter(|value| !is_empty(value)),
        Kind::QuantityMap => normal_quantities(value),
        Kind::ScalarList => Some(value.clone()).filter(|value| !is_empty(value)),
        Kind::List(name) => match value.as_array() {
            Some(items) if items.is_empty() => None,
            Some(items) => {
                let normal =
                    items.iter().map(|item| normal_struct(name, item).unwrap_or_else(|| item.clone()));
                Some(normal.collect())
            }
            None => Some(value.clone()),
        },
        Kind::Struct(name) => {
            normal_struct(name, value).or_else(|| Some(value.clone())).filter(|value| !is_empty(value))
        }
        Kind::Pointer(name) => normal_struct(name, value).or_else(|| Some(value.clone())),
        Kind::Time => Some(normal_time(value)),
    }
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Bool(flag) => !flag,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        _ => false,
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => false,
    }
}

fn normal_quantity(value: &Value) -> Value {
    quantity::nanos(value).map_or_else(|| value.clone(), |nanos| Value::from(format!("{nanos}n")))
}

fn normal_quantities(value: &Value) -> Option<Value> {
    let Some(members) = value.as_object() else { return Some(value.clone()) };
    let normal = members.iter().map(|(key, member)| (key.clone(), normal_quantity(member)));
    Some(Value::Object(normal.collect())).filter(|value| !is_empty(value))
}

fn normal_time(value: &Value) -> Value {
    let time = value.as_str().and_then(|text| text.parse::<jiff::Timestamp>().ok());
    time.map_or_else(|| value.clone(), |time| Value::from(time.to_string()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn defaults_and_the_hash_label_make_no_difference() {
        let plain = json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "a"}]}});
        let mut labelled = plain.clone();
        labelled["metadata"]["labels"]["pod-template-hash"] = json!("abc");
        labelled["metadata"]["annotations"] = json!({});
        labelled["spec"]["nodeName"] = json!("");
        assert!(equal(&plain, &labelled));
        labelled["spec"]["containers"][0]["name"] = json!("b");
        assert!(!equal(&plain, &labelled));
    }

    #[test]
    fn times_are_compared_as_times() {
        let at = |time: &str| json!({"metadata": {"creationTimestamp": time}});
        assert!(equal(&at("2026-01-01T00:00:00Z"), &at("2026-01-01T01:00:00+01:00")));
        assert!(!equal(&at("2026-01-01T00:00:00Z"), &at("2026-01-01T00:00:01Z")));
        assert!(!equal(&at("soon"), &at("later")), "what is no time is text");
    }
}
