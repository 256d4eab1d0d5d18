//! Why a rollout began: the pure difference of two declared templates.
//!
//! The old template is gone when the new one comes, so an [`Outline`] of it is kept: three digests, one each
//! for the images, the time of the last restart, and everything else. Nothing decides by it: it is for people.

use std::cell::RefCell;
use std::fmt;
use std::hash::Hasher;

use serde_json::Deserializer;

use crate::model::canonical::{self, Brackets, Form, Scalar, write_scalar};
use crate::model::place::Place;
use crate::model::template::Json;

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

    /// The outline of a template.
    #[must_use]
    pub fn of<'a>(template: impl Into<Json<'a>>) -> Self {
        let (parts, mut rest) = (RefCell::default(), Vec::new());
        // What is canonical has its members in order, and can be read.
        let canonical = template.into().canonical();
        let form = Remainder { place: Place::Template, parts: &parts };
        _ = canonical::write(&mut Deserializer::from_slice(&canonical), form, &mut rest);
        let Parts { images, restart } = parts.into_inner();
        let digests = [&images, &restart, &rest].map(|text| digest(text));
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

/// What is not the rest.
#[derive(Default)]
struct Parts {
    images: Vec<u8>,
    restart: Vec<u8>,
}

/// The form of the rest.
#[derive(Clone, Copy)]
struct Remainder<'a> {
    place: Place,
    parts: &'a RefCell<Parts>,
}

impl Remainder<'_> {
    fn at(self, place: Place) -> Self {
        Self { place, ..self }
    }

    /// Takes what is not the rest. Returns whether it did.
    fn takes(self, written: &[u8]) -> bool {
        let mut parts = self.parts.borrow_mut();
        match self.place {
            Place::ContainerImage | Place::HelperImage => parts.images.extend_from_slice(written),
            Place::RestartedAt => parts.restart.extend_from_slice(written),
            _ => return false,
        }
        true
    }
}

impl Form for Remainder<'_> {
    fn member(self, key: &str) -> Self {
        self.at(self.place.of_member(key))
    }

    fn item(self) -> Self {
        self.at(self.place.of_item())
    }

    fn begins(self) {
        if matches!(self.place, Place::Container | Place::Helper) {
            // The container of an image counts, too.
            self.parts.borrow_mut().images.push(b',');
        }
    }

    fn scalar(self, scalar: Scalar<'_>, out: &mut Vec<u8>) -> bool {
        let start = out.len();
        write_scalar(scalar, out);
        self.takes(out.get(start..).unwrap_or_default())
    }

    /// Nothing in an object may be the same as no object: the first restart makes the annotations, and with them the
    /// metadata.
    fn is_absent(self, _: Brackets, written: &[u8]) -> bool {
        let may_be_empty = matches!(self.place, Place::Metadata | Place::Labels | Place::Annotations);
        (may_be_empty && written == b"{}") || self.takes(written)
    }
}
