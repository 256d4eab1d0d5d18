//! When two pod templates are the same to the API's types (S16.5).
//!
//! A template is brought into a form in which everything that Go's types cannot distinguish is the same:
//! absent and zero values, empty and missing lists, two spellings of a quantity. Two templates are equal if
//! these forms are. `pod-types.txt` lists the type of each field.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::{Map, Value};

pub use crate::quantity::nanos;
use crate::template::{self, Digest, Place, write_array, write_canonical, write_object};

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
    normal_text(a) == normal_text(b)
}

/// Digest of the normal form.
#[must_use]
pub fn digest(template: &Value) -> Digest {
    template::digest_of_text(&normal_text(template))
}

/// The canonical text of the normal form. It is written straight away, since every new template
/// comes by here.
fn normal_text(template: &Value) -> Vec<u8> {
    let mut text = template::new_text();
    match template.as_object() {
        Some(members) => write_struct("PodTemplateSpec", members, Place::Template, &mut text),
        None => write_canonical(&Value::Null, Place::Template, &mut text),
    }
    text
}

/// The members that say something.
fn write_struct(name: &str, members: &Map<String, Value>, place: Place, out: &mut Vec<u8>) {
    let fields = TYPES.get(name);
    write_object(members, out, |key, member, out| {
        if place.leaves_out(key, member) {
            return false;
        }
        let place = place.of_member(key);
        match fields.and_then(|fields| fields.get(key)) {
            Some(kind) => write_member(*kind, member, place, out),
            None => {
                write_canonical(member, place, out);
                true
            }
        }
    });
}

/// Writes a member in normal form; false when it equals an absent one. A value of the wrong JSON
/// type is written as it stands: it is equal only to itself.
fn write_member(kind: Kind, value: &Value, place: Place, out: &mut Vec<u8>) -> bool {
    let start = out.len();
    match (kind, value) {
        (Kind::Zero, value) if is_zero(value) => return false,
        (Kind::IntOrString, value) if value.as_i64() == Some(0) => return false,
        (Kind::Quantity, value) if nanos(value) == Some(0) => return false,
        (Kind::StringMap | Kind::ScalarList, value) if is_empty(value) => return false,
        (Kind::QuantityMap, Value::Object(members)) if members.is_empty() => return false,
        (Kind::List(_), Value::Array(items)) if items.is_empty() => return false,
        (Kind::Quantity | Kind::QuantityPointer, value) => write_quantity(value, out),
        (Kind::QuantityMap, Value::Object(members)) => write_object(members, out, |_, member, out| {
            write_quantity(member, out);
            !member.is_null()
        }),
        (Kind::List(name), Value::Array(items)) => write_array(items, out, |item, out| match item {
            Value::Object(members) => write_struct(name, members, Place::Elsewhere, out),
            other => write_canonical(other, Place::Elsewhere, out),
        }),
        (Kind::Struct(name) | Kind::Pointer(name), Value::Object(members)) => {
            write_struct(name, members, place, out);
        }
        (Kind::Time, value) => write_time(value, out),
        (_, value) => write_canonical(value, place, out),
    }
    let is_nothing = || matches!(out.get(start..), Some(b"{}" | b"[]"));
    !(matches!(kind, Kind::Struct(_)) && is_nothing())
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

fn write_quantity(value: &Value, out: &mut Vec<u8>) {
    match nanos(value) {
        Some(nanos) => write_canonical(&Value::from(format!("{nanos}n")), Place::Elsewhere, out),
        None => write_canonical(value, Place::Elsewhere, out),
    }
}

fn write_time(value: &Value, out: &mut Vec<u8>) {
    let time = value.as_str().and_then(|text| text.parse::<jiff::Timestamp>().ok());
    match time {
        Some(time) => write_canonical(&Value::from(time.to_string()), Place::Elsewhere, out),
        None => write_canonical(value, Place::Elsewhere, out),
    }
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
