//! The pod template as opaque JSON: canonical text, fingerprint and `pod-template-hash`.

use std::collections::BTreeMap;
use std::hash::Hasher;
use std::sync::Arc;

use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use sha2::{Digest as _, Sha256};

use crate::model::canonical::{self, Brackets, Form, Scalar, write_scalar};
use crate::model::keys::HASH_LABEL;
use crate::model::place::Place;

/// SHA-256 over the canonical text of a template, hash label aside.
pub type Digest = [u8; 32];

/// Which template a ReplicaSet stands for: a version prefix and the digest in hexadecimal.
///
/// The version names the canonical form, so that a later form can be added
/// without mistaking one for the other.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint(String);

/// The version prefix that the operator writes.
const FINGERPRINT_VERSION: &str = "v1:";
/// A ReplicaSet may stand for several templates; the oldest entries go first. 16 × 68 bytes fit
/// easily into an annotation, and a lost entry is found again by a dry run.
const FINGERPRINTS_MAX: usize = 16;

impl Fingerprint {
    /// The fingerprint of a template: keys sorted, nulls dropped, hash label dropped.
    #[must_use]
    pub fn of<'a>(template: impl Into<Json<'a>>) -> Self {
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

/// A pod template as the text that its object has. As a tree, it takes many times the memory.
#[derive(Clone, Debug)]
pub struct Template {
    text: Arc<RawValue>,
    /// Of the canonical form. Making it shows that the text can be read.
    digest: Digest,
}

impl Template {
    /// From a text.
    ///
    /// # Errors
    /// When it cannot be read, as when it is nested too deeply.
    pub fn new(text: Box<RawValue>) -> Result<Self, serde_json::Error> {
        let mut canonical = Vec::new();
        canonical::write(&*text, Place::Template, &mut canonical)?;
        Ok(Self { digest: digest_of_text(&canonical), text: text.into() })
    }

    /// From a tree.
    #[must_use]
    pub fn of(tree: &Value) -> Self {
        Self { digest: digest(tree), text: raw(tree).into() }
    }

    /// As its object has it.
    #[must_use]
    pub fn text(&self) -> &str {
        self.text.get()
    }

    /// As a tree.
    #[must_use]
    pub fn tree(&self) -> Value {
        serde_json::from_str(self.text()).unwrap_or_default()
    }

    /// Without the label `pod-template-hash` (S16.5a).
    #[must_use]
    pub fn without_hash_label(&self) -> Self {
        let Some((root, mut metadata, mut labels)) = self.opened() else { return self.clone() };
        let Some(_) = metadata.remove(LABELS) else { return self.clone() };
        // Kubernetes before 1.34 adds it to what it stores, as null.
        if metadata.get(CREATED).is_some_and(|time| time.get() == "null") {
            metadata.remove(CREATED);
        }
        labels.remove(HASH_LABEL);
        if !labels.is_empty() {
            metadata.insert(LABELS.to_owned(), raw(&labels));
        }
        self.closed(root, &metadata)
    }

    /// With the label `pod-template-hash` set (S4.10).
    #[must_use]
    pub fn with_hash_label(&self, hash: &str) -> Self {
        let Some((root, mut metadata, mut labels)) = self.opened() else { return self.clone() };
        labels.insert(HASH_LABEL.to_owned(), raw(hash));
        metadata.insert(LABELS.to_owned(), raw(&labels));
        self.closed(root, &metadata)
    }

    /// Its members, those of its metadata, and the labels; `None` if one of them is no object.
    fn opened(&self) -> Option<(Members, Members, Members)> {
        let root = members(Some(&self.text))?;
        let metadata = members(root.get(METADATA).map(AsRef::as_ref))?;
        let labels = members(metadata.get(LABELS).map(AsRef::as_ref))?;
        Some((root, metadata, labels))
    }

    fn closed(&self, mut root: Members, metadata: &Members) -> Self {
        root.insert(METADATA.to_owned(), raw(metadata));
        // Each part of it could be read before.
        Self::new(raw(&root)).unwrap_or_else(|_| self.clone())
    }
}

impl PartialEq for Template {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}

impl Eq for Template {}

impl Serialize for Template {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.text.serialize(serializer)
    }
}

const METADATA: &str = "metadata";
const LABELS: &str = "labels";
const CREATED: &str = "creationTimestamp";

/// The members of an object, each as text.
type Members = BTreeMap<String, Box<RawValue>>;

/// Those of an object; nothing, and null, have none.
fn members(object: Option<&RawValue>) -> Option<Members> {
    let text = object.map_or("null", RawValue::get);
    serde_json::from_str::<Option<Members>>(text).ok().map(Option::unwrap_or_default)
}

fn raw(value: &(impl Serialize + ?Sized)) -> Box<RawValue> {
    // Each key is a text, so that all of it can be written.
    to_raw_value(value).unwrap_or_default()
}

/// A pod template wherever it comes from.
#[derive(Clone, Copy, Debug)]
pub enum Json<'a> {
    /// From an object that was read as a whole.
    Tree(&'a Value),
    /// From an object that was read with its template left as a text.
    Text(&'a Template),
}

impl<'a> From<&'a Value> for Json<'a> {
    fn from(tree: &'a Value) -> Self {
        Self::Tree(tree)
    }
}

impl<'a> From<&'a Template> for Json<'a> {
    fn from(template: &'a Template) -> Self {
        Self::Text(template)
    }
}

impl Json<'_> {
    /// As text.
    #[must_use]
    pub fn text(self) -> Template {
        match self {
            Self::Tree(tree) => Template::of(tree),
            Self::Text(template) => template.clone(),
        }
    }

    /// Writes it in a form.
    pub(crate) fn write(self, form: impl Form) -> Vec<u8> {
        let mut text = Vec::new();
        // Trees can be read, and so can a text that has become a template.
        _ = match self {
            Self::Tree(tree) => canonical::write(tree, form, &mut text),
            Self::Text(template) => canonical::write(&*template.text, form, &mut text),
        };
        text
    }

    /// The canonical text, hash label aside.
    pub(crate) fn canonical(self) -> Vec<u8> {
        self.write(Place::Template)
    }
}

/// The digest of a template's canonical text, hash label aside.
#[must_use]
pub fn digest<'a>(template: impl Into<Json<'a>>) -> Digest {
    match template.into() {
        Json::Text(template) => template.digest,
        tree => digest_of_text(&tree.canonical()),
    }
}

pub(crate) fn digest_of_text(text: &[u8]) -> Digest {
    Sha256::digest(text).into()
}

/// The label value for a template and a collision count: FNV-1a 64 over the canonical
/// template and the count, folded to 32 bits (S4.17, S4.19), in the alphabet of S4.18.
#[must_use]
pub fn pod_template_hash<'a>(template: impl Into<Json<'a>>, collision_count: Option<i32>) -> String {
    let mut hasher = fnv::FnvHasher::default();
    hasher.write(&template.into().canonical());
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

/// The canonical form: members in order, without those that are null, and without the hash label.
impl Form for Place {
    fn member(self, key: &str) -> Self {
        self.of_member(key)
    }

    fn item(self) -> Self {
        self.of_item()
    }

    fn counts(self) -> bool {
        self != Self::HashLabel
    }

    fn scalar(self, scalar: Scalar<'_>, out: &mut Vec<u8>) -> bool {
        write_scalar(scalar, out);
        matches!(scalar, Scalar::Null) || self == Self::HashLabel
    }

    /// Labels that have nothing beside the hash label are none.
    fn is_absent(self, brackets: Brackets, _: &[u8]) -> bool {
        self == Self::HashLabel || (self == Self::Labels && brackets == Brackets::Object(0))
    }
}
