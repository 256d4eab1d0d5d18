//! The pod template as opaque JSON: canonical text, fingerprint and `pod-template-hash`.

use std::hash::Hasher;

use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use crate::keys::HASH_LABEL;

/// SHA-256 over the canonical text of a template, hash label aside.
pub type Digest = [u8; 32];

/// Which template a ReplicaSet stands for: a version prefix and the digest in hexadecimal.
///
/// The version names the canonical form, so that a later form can be added
/// without mistaking one for the other.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint(String);

/// The version prefix that we write.
const FINGERPRINT_VERSION: &str = "v1:";
/// Room that is made at first for the canonical text of a template, in bytes.
const TEXT_ROOM: usize = 4096;
/// A set may stand for several templates; the oldest entries go first. 16 × 68 bytes fit
/// easily into an annotation, and a lost entry is found again by a dry run.
const FINGERPRINTS_MAX: usize = 16;

impl Fingerprint {
    /// The fingerprint of a template: keys sorted, nulls dropped, hash label dropped.
    #[must_use]
    pub fn of(template: &Value) -> Self {
        Self::from_digest(&digest(template))
    }

    /// The fingerprint that belongs to a digest.
    #[must_use]
    pub fn from_digest(digest: &Digest) -> Self {
        let mut text = String::with_capacity(FINGERPRINT_VERSION.len() + 64);
        text.push_str(FINGERPRINT_VERSION);
        for byte in digest {
            for nibble in [byte >> 4, byte & 15] {
                text.push(char::from_digit(u32::from(nibble), 16).unwrap_or('0'));
            }
        }
        Self(text)
    }

    /// Reads the annotation of a ReplicaSet; entries that are not fingerprints are kept as they
    /// are and match nothing.
    #[must_use]
    pub fn list(annotation: &str) -> Vec<Self> {
        annotation.split(',').map(str::trim).filter(|s| !s.is_empty()).map(|s| Self(s.to_owned())).collect()
    }

    /// What [`Self::as_str`] gave once.
    #[must_use]
    pub fn restored(text: String) -> Self {
        Self(text)
    }

    /// The annotation that names `known` and this one.
    #[must_use]
    pub fn appended_to(&self, known: &[Self]) -> String {
        let others = || known.iter().filter(|other| *other != self);
        let excess = (others().count() + 1).saturating_sub(FINGERPRINTS_MAX);
        let kept = others().skip(excess).chain([self]);
        kept.map(Self::as_str).collect::<Vec<_>>().join(",")
    }

    /// The text as it stands in the annotation.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The digest of a template's canonical text, hash label aside.
#[must_use]
pub fn digest(template: &Value) -> Digest {
    digest_of_text(&canonical(template))
}

pub(crate) fn digest_of_text(text: &[u8]) -> Digest {
    Sha256::digest(text).into()
}

/// The canonical text, hash label aside. Every new template comes by here, so nothing is copied to
/// leave something out.
fn canonical(template: &Value) -> Vec<u8> {
    let mut text = new_text();
    write_canonical(template, Place::Template, &mut text);
    text
}

pub(crate) fn new_text() -> Vec<u8> {
    Vec::with_capacity(TEXT_ROOM)
}

/// The template without the label `pod-template-hash` (S16.5a).
#[must_use]
pub fn without_hash_label(template: &Value) -> Value {
    let mut template = template.clone();
    if let Some(labels) = template.pointer_mut("/metadata/labels").and_then(Value::as_object_mut) {
        labels.remove(HASH_LABEL);
        if labels.is_empty()
            && let Some(metadata) = template.get_mut("metadata").and_then(Value::as_object_mut)
        {
            metadata.remove("labels");
        }
    }
    template
}

/// The template with the label `pod-template-hash` set (S4.10).
#[must_use]
pub fn with_hash_label(template: &Value, hash: &str) -> Value {
    let mut template = template.clone();
    if let Some(root) = as_object(&mut template) {
        let metadata = root.entry("metadata").or_insert_with(empty);
        if let Some(metadata) = as_object(metadata) {
            let labels = metadata.entry("labels").or_insert_with(empty);
            if let Some(labels) = as_object(labels) {
                labels.insert(HASH_LABEL.to_owned(), Value::from(hash));
            }
        }
    }
    template
}

fn empty() -> Value {
    Value::Object(Map::new())
}

fn as_object(value: &mut Value) -> Option<&mut Map<String, Value>> {
    if value.is_null() {
        *value = empty();
    }
    value.as_object_mut()
}

/// The label value for a template and a collision count: FNV-1a 64 over the canonical
/// template and the count, folded to 32 bits (S4.17, S4.19), in the alphabet of S4.18.
#[must_use]
pub fn pod_template_hash(template: &Value, collision_count: Option<i32>) -> String {
    let mut hasher = fnv::FnvHasher::default();
    hasher.write(&canonical(template));
    if let Some(count) = collision_count {
        hasher.write(&count.to_le_bytes());
    }
    let wide = hasher.finish();
    let [a, b, c, d, e, f, g, h] = wide.to_le_bytes();
    encode(u32::from_le_bytes([a, b, c, d]) ^ u32::from_le_bytes([e, f, g, h]))
}

/// The decimal digits of `number`, each mapped into an alphabet without vowels (S4.18).
#[must_use]
pub fn encode(number: u32) -> String {
    const ALPHABET: [char; 10] = ['4', '5', '6', '7', '8', '9', 'b', 'c', 'd', 'f'];
    let digits = number.to_string();
    digits.chars().filter_map(|c| c.to_digit(10)).filter_map(|d| ALPHABET.get(d as usize)).collect()
}

/// Where in a template a value stands, as far as the hash label is concerned.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Template,
    Metadata,
    Labels,
    Elsewhere,
}

impl Place {
    pub(crate) fn of_member(self, key: &str) -> Self {
        match (self, key) {
            (Self::Template, "metadata") => Self::Metadata,
            (Self::Metadata, "labels") => Self::Labels,
            _ => Self::Elsewhere,
        }
    }

    /// Nulls, the hash label, and labels that have nothing beside it.
    pub(crate) fn leaves_out(self, key: &str, member: &Value) -> bool {
        let is_hash_label = |place: Self, key: &str| place == Self::Labels && key == HASH_LABEL;
        let place = self.of_member(key);
        let labels = member.as_object().filter(|_| place == Self::Labels);
        member.is_null()
            || is_hash_label(self, key)
            || labels.is_some_and(|labels| labels.keys().all(|key| is_hash_label(place, key)))
    }
}

/// JSON with keys sorted and object members that are null left out.
pub(crate) fn write_canonical(value: &Value, place: Place, out: &mut Vec<u8>) {
    match value {
        Value::Object(members) => write_object(members, out, |key, member, out| {
            let is_kept = !place.leaves_out(key, member);
            if is_kept {
                write_canonical(member, place.of_member(key), out);
            }
            is_kept
        }),
        Value::Array(items) => {
            write_array(items, out, |item, out| write_canonical(item, Place::Elsewhere, out));
        }
        Value::String(text) => write_text(text, out),
        scalar => write_json(scalar, out),
    }
}

/// An object by its keys. `write` writes a value, or returns false: then the member is left out.
pub(crate) fn write_object(
    members: &Map<String, Value>,
    out: &mut Vec<u8>,
    mut write: impl FnMut(&str, &Value, &mut Vec<u8>) -> bool,
) {
    let mut separator = b'{';
    let mut write_member = |(key, member): (&String, &Value)| {
        let start = out.len();
        out.push(separator);
        write_text(key, out);
        out.push(b':');
        if write(key, member, out) {
            separator = b',';
        } else {
            out.truncate(start);
        }
    };
    if members.keys().is_sorted() {
        members.iter().for_each(write_member);
    } else {
        let mut sorted: Vec<_> = members.iter().collect();
        sorted.sort_unstable_by_key(|(key, _)| *key);
        sorted.into_iter().for_each(&mut write_member);
    }
    if separator == b'{' {
        out.push(b'{');
    }
    out.push(b'}');
}

pub(crate) fn write_array(items: &[Value], out: &mut Vec<u8>, mut write: impl FnMut(&Value, &mut Vec<u8>)) {
    out.push(b'[');
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write(item, out);
    }
    out.push(b']');
}

/// A text as serde_json writes it; mostly nothing of it has to be escaped.
fn write_text(text: &str, out: &mut Vec<u8>) {
    let is_plain = |plain: bool, byte: u8| plain & (byte >= b' ') & (byte != b'"') & (byte != b'\\');
    if text.bytes().fold(true, is_plain) {
        out.push(b'"');
        out.extend_from_slice(text.as_bytes());
        out.push(b'"');
    } else {
        write_json(text, out);
    }
}

pub(crate) fn write_json(value: &(impl serde::Serialize + ?Sized), out: &mut Vec<u8>) {
    // Texts, numbers and truth values can be written, and memory takes what is written to it.
    _ = serde_json::to_writer(out, value);
}
