//! When two pod templates are the same to the API's types (S16.5).
//!
//! A template is brought into a form in which everything that Go's types cannot distinguish is the same:
//! absent and zero values, empty and missing lists, two spellings of a quantity. Two templates are equal if
//! these forms are. `pod-types.txt` lists the type of each field.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::model::canonical::{Brackets, Form, Scalar, write_scalar};
use crate::model::place::Place;
pub use crate::model::quantity::nanos;
use crate::model::template::{self, Digest, Json};

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
pub fn equal<'a>(a: impl Into<Json<'a>>, b: impl Into<Json<'a>>) -> bool {
    normal_text(a.into()) == normal_text(b.into())
}

/// Digest of the normal form.
#[must_use]
pub fn digest<'a>(template: impl Into<Json<'a>>) -> Digest {
    template::digest_of_text(&normal_text(template.into()))
}

/// The canonical text of the normal form.
fn normal_text(template: Json<'_>) -> Vec<u8> {
    let text =
        template.write(Normal { kind: Some(Kind::Pointer("PodTemplateSpec")), place: Place::Template });
    // What is no object is no template.
    if text.starts_with(b"{") { text } else { b"null".to_vec() }
}

/// The form in which a member is left out when the types cannot distinguish it from an absent one. A value of the wrong
/// JSON type is written as it stands: it is equal only to itself.
#[derive(Clone, Copy)]
struct Normal {
    /// `None` for what the types do not have.
    kind: Option<Kind>,
    place: Place,
}

impl Form for Normal {
    fn member(self, key: &str) -> Self {
        let kind = match self.kind {
            Some(Kind::Struct(name) | Kind::Pointer(name)) => {
                TYPES.get(name).and_then(|fields| fields.get(key)).copied()
            }
            Some(Kind::QuantityMap) => Some(Kind::QuantityPointer),
            _ => None,
        };
        Self { kind, place: self.place.of_member(key) }
    }

    fn item(self) -> Self {
        let kind = match self.kind {
            Some(Kind::List(name)) => Some(Kind::Pointer(name)),
            _ => None,
        };
        Self { kind, place: Place::Elsewhere }
    }

    fn counts(self) -> bool {
        self.place.counts()
    }

    fn scalar(self, scalar: Scalar<'_>, out: &mut Vec<u8>) -> bool {
        match (self.kind, scalar) {
            (Some(Kind::Quantity | Kind::QuantityPointer), scalar) => write_quantity(scalar, out),
            (Some(Kind::Time), Scalar::Text(text)) => write_time(text, out),
            _ => {
                return self.place.scalar(scalar, out) || self.kind.is_some_and(|kind| is_zero(kind, scalar));
            }
        }
        matches!(scalar, Scalar::Null) || self.kind.is_some_and(|kind| is_zero(kind, scalar))
    }

    fn is_absent(self, brackets: Brackets, written: &[u8]) -> bool {
        let is_empty = matches!(brackets, Brackets::Object(0) | Brackets::Array(0));
        self.place.is_absent(brackets, written)
            || match self.kind {
                Some(Kind::StringMap | Kind::ScalarList) => is_empty,
                Some(Kind::QuantityMap) => brackets == Brackets::Object(0),
                Some(Kind::List(_)) => brackets == Brackets::Array(0),
                Some(Kind::Struct(_)) => matches!(written, b"{}" | b"[]"),
                _ => false,
            }
    }
}

/// Whether a value is the zero value of its kind.
fn is_zero(kind: Kind, scalar: Scalar<'_>) -> bool {
    match (kind, scalar) {
        (Kind::Zero, Scalar::Bool(flag)) => !flag,
        (Kind::Zero, Scalar::Float(number)) => number == 0.0,
        (Kind::Zero, Scalar::Text(text)) => text.is_empty(),
        (Kind::Zero | Kind::IntOrString, Scalar::Signed(number)) => number == 0,
        (Kind::Zero | Kind::IntOrString, Scalar::Unsigned(number)) => number == 0,
        (Kind::Quantity, scalar) => quantity(scalar) == Some(0),
        _ => false,
    }
}

fn quantity(scalar: Scalar<'_>) -> Option<i128> {
    match scalar {
        Scalar::Text(text) => nanos(text),
        Scalar::Signed(_) | Scalar::Unsigned(_) | Scalar::Float(_) => {
            let mut text = Vec::new();
            write_scalar(scalar, &mut text);
            nanos(str::from_utf8(&text).ok()?)
        }
        Scalar::Null | Scalar::Bool(_) => None,
    }
}

fn write_quantity(scalar: Scalar<'_>, out: &mut Vec<u8>) {
    match quantity(scalar) {
        Some(nanos) => write_scalar(Scalar::Text(&format!("{nanos}n")), out),
        None => write_scalar(scalar, out),
    }
}

fn write_time(text: &str, out: &mut Vec<u8>) {
    match text.parse::<jiff::Timestamp>() {
        Ok(time) => write_scalar(Scalar::Text(&time.to_string()), out),
        Err(_) => write_scalar(Scalar::Text(text), out),
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
