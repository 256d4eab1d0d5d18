//! Strict decoding (`fieldValidation`): unknown and duplicate fields.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Value, json};

use crate::cause::{self, Cause};
use crate::go_text;

/// The most complaints about duplicate fields.
const MOST: usize = 100;

/// What a request asks for in `fieldValidation`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FieldValidation {
    /// Unknown and duplicate fields pass in silence.
    Ignore,
    /// Unknown fields pass with a warning each; what a request that does not ask gets.
    #[default]
    Warn,
    /// Unknown fields are refused; what kubectl asks for.
    Strict,
}

impl FieldValidation {
    /// Reads the value of the query parameter.
    #[must_use]
    pub fn parse(value: &str) -> Option<Self> {
        match value {
            "Ignore" => Some(Self::Ignore),
            "" | "Warn" => Some(Self::Warn),
            "Strict" => Some(Self::Strict),
            _ => None,
        }
    }
}

/// The server's message for complaints under [`FieldValidation::Strict`]. Under
/// [`FieldValidation::Warn`] each is a warning of its own.
#[must_use]
pub fn strict_error(complaints: &[String]) -> String {
    format!("strict decoding error: {}", complaints.join(", "))
}

/// The `Status` (422) for a JSON patch or merge patch with unknown fields in its result.
#[must_use]
pub fn patch_refused(patched: &Value, complaints: &[String]) -> Value {
    let value = json!(go_text::json(patched));
    cause::invalid("", "", "", &[Cause::invalid("patch", &value, &strict_error(complaints))])
}

/// What a strict decoder returns for fields that a JSON text has twice, such as `duplicate field "spec.replicas"`. A
/// text that is not JSON has none.
#[must_use]
pub fn duplicate_fields(text: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    let mut reader = serde_json::Deserializer::from_slice(text);
    let scan = Scan { path: String::new(), found: &mut found };
    if scan.deserialize(&mut reader).is_err() {
        return Vec::new();
    }
    let mut seen = BTreeSet::new();
    found.retain(|path| seen.insert(path.clone()));
    found.truncate(MOST);
    found.into_iter().map(|path| format!("duplicate field {}", go_text::quoted(&path))).collect()
}

/// Reads a value at a path and notes the fields that it has twice.
struct Scan<'a> {
    path: String,
    found: &'a mut Vec<String>,
}

impl<'de> DeserializeSeed<'de> for Scan<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Scan<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        let mut seen = BTreeSet::new();
        while let Some(name) = entries.next_key::<String>()? {
            let path = if self.path.is_empty() { name.clone() } else { format!("{}.{name}", self.path) };
            if !seen.insert(name) {
                self.found.push(path.clone());
            }
            entries.next_value_seed(Scan { path, found: &mut *self.found })?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let mut i = 0;
        loop {
            let path = format!("{}[{i}]", self.path);
            if items.next_element_seed(Scan { path, found: &mut *self.found })?.is_none() {
                return Ok(());
            }
            i += 1;
        }
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(IgnoredAny).map(drop)
    }
}
