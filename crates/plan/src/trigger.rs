//! Why a rollout began: the pure difference of two declared templates.
//!
//! The old template is gone when the new one comes, so an [`Outline`] of it is kept: three digests, one each
//! for the images, the time of the last restart, and everything else. Nothing decides by it: it is for people.

use std::fmt;
use std::hash::Hasher;

use serde_json::{Map, Value};

use crate::keys::{HASH_LABEL, RESTARTED_AT};
use crate::template::{new_text, write_array, write_json, write_object};

/// Why a rollout began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Trigger {
    /// Images changed, and nothing else.
    NewImage,
    /// The annotation of `kubectl rollout restart` changed, and nothing else.
    Restart,
    /// A rollback put an earlier template back.
    Rollback,
    /// `spec.pin` was set, changed, or removed (FP-11).
    Pin,
    /// The declared revision failed, and an earlier one took over, or that has ended (FP-6).
    Revert,
    /// Anything else; also the first rollout of a Deployment.
    TemplateChanged,
}

impl Trigger {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::NewImage, Self::Restart, Self::Rollback, Self::Pin, Self::Revert, Self::TemplateChanged];

    /// The word for it in the status and in metrics.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NewImage => "NewImage",
            Self::Restart => "Restart",
            Self::Rollback => "Rollback",
            Self::Pin => "Pin",
            Self::Revert => "Revert",
            Self::TemplateChanged => "TemplateChanged",
        }
    }

    /// Why the second template took the place of the first one. Of equal templates it is
    /// [`Self::TemplateChanged`]: no rollout begins by them.
    #[must_use]
    pub fn between(before: Outline, after: Outline) -> Self {
        let same = before.parts().zip(after.parts()).map(|(before, after)| before == after);
        match same.collect::<Vec<_>>()[..] {
            [false, true, true] => Self::NewImage,
            [true, false, true] => Self::Restart,
            _ => Self::TemplateChanged,
        }
    }
}

/// Three digests of a template, of four bytes each: of its images, of the time of its last restart, and of the
/// rest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outline(pub [u8; Self::LENGTH]);

impl Outline {
    const LENGTH: usize = 12;
    const PART: usize = 4;

    /// That of a template.
    #[must_use]
    pub fn of(template: &Value) -> Self {
        let mut parts = Parts { images: Vec::new(), restart: Vec::new() };
        let mut rest = new_text();
        parts.write(template, Place::Template, &mut rest);
        let digests = [&parts.images, &parts.restart, &rest].map(|text| digest(text));
        let mut outline = Self::default();
        for (place, byte) in outline.0.iter_mut().zip(digests.iter().flatten()) {
            *place = *byte;
        }
        outline
    }

    fn parts(&self) -> impl Iterator<Item = &[u8]> {
        self.0.chunks(Self::PART)
    }

    /// Reads what [`fmt::Display`] writes.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let mut outline = Self::default();
        if text.len() != 2 * Self::LENGTH || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        for (index, byte) in outline.0.iter_mut().enumerate() {
            *byte = u8::from_str_radix(text.get(2 * index..2 * index + 2)?, 16).ok()?;
        }
        Some(outline)
    }
}

impl fmt::Display for Outline {
    /// In hexadecimal.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// FNV-1a 64, folded: nobody gains anything by two texts with the same digest.
fn digest(text: &[u8]) -> [u8; Outline::PART] {
    let mut hasher = fnv::FnvHasher::default();
    hasher.write(text);
    let [a, b, c, d, e, f, g, h] = hasher.finish().to_le_bytes();
    [a ^ e, b ^ f, c ^ g, d ^ h]
}

/// Where in a template a value stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Template,
    Metadata,
    Labels,
    Annotations,
    Spec,
    Containers,
    Container,
    Elsewhere,
}

impl Place {
    fn of_member(self, key: &str) -> Self {
        match (self, key) {
            (Self::Template, "metadata") => Self::Metadata,
            (Self::Template, "spec") => Self::Spec,
            (Self::Metadata, "labels") => Self::Labels,
            (Self::Metadata, "annotations") => Self::Annotations,
            (Self::Spec, "containers" | "initContainers" | "ephemeralContainers") => Self::Containers,
            _ => Self::Elsewhere,
        }
    }

    /// Whether nothing in an object is the same as no object: the first restart makes the annotations, and with
    /// them the metadata.
    fn may_be_empty(self) -> bool {
        matches!(self, Self::Metadata | Self::Labels | Self::Annotations)
    }
}

/// What is not the rest.
struct Parts {
    images: Vec<u8>,
    restart: Vec<u8>,
}

impl Parts {
    /// The rest as canonical text: keys in order, without nulls.
    fn write(&mut self, value: &Value, place: Place, out: &mut Vec<u8>) {
        match value {
            Value::Object(members) => self.write_members(members, place, out),
            Value::Array(items) => {
                let of_items = if place == Place::Containers { Place::Container } else { Place::Elsewhere };
                write_array(items, out, |item, out| self.write(item, of_items, out));
            }
            scalar => write_json(scalar, out),
        }
    }

    fn write_members(&mut self, members: &Map<String, Value>, place: Place, out: &mut Vec<u8>) {
        if place == Place::Container {
            // Whose image it is counts, too.
            self.images.push(b',');
        }
        write_object(members, out, |key, member, out| {
            match (place, key) {
                _ if member.is_null() => return false,
                (Place::Container, "image") => {
                    write_json(member, &mut self.images);
                    return false;
                }
                (Place::Annotations, RESTARTED_AT) => {
                    write_json(member, &mut self.restart);
                    return false;
                }
                (Place::Labels, HASH_LABEL) => return false,
                _ => {}
            }
            let start = out.len();
            let of_member = place.of_member(key);
            self.write(member, of_member, out);
            !(of_member.may_be_empty() && out.get(start..) == Some(b"{}".as_slice()))
        });
    }
}
