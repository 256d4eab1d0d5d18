//! What of a pod template is kept when the template itself is not.

use std::cell::RefCell;

use crate::model::canonical::{Brackets, Form, Scalar};
use crate::model::flavour::Flavour;
use crate::model::labels::Map;
use crate::model::place::Place;
use crate::model::template::{Fingerprint, Json};
use crate::model::trigger::Outline;

/// What of the pod template is kept when the template itself is not.
#[derive(Clone, Debug)]
pub struct TemplateSummary {
    /// Identity of the template in this flavour's sense of equality.
    pub fingerprint: Fingerprint,
    /// What the trigger of a rollout is found by (rollwright.dev).
    pub outline: Outline,
    /// `template.metadata.labels`.
    pub labels: Map,
    /// Container names, comma-separated, for the printer column.
    pub containers: String,
    /// Container images, comma-separated, for the printer column.
    pub images: String,
}

impl TemplateSummary {
    /// The summary of a template.
    #[must_use]
    pub fn of<'a>(flavour: Flavour, template: impl Into<Json<'a>>) -> Self {
        let template = template.into();
        let picked = RefCell::default();
        drop(template.write(Pick { place: Place::Template, picked: &picked }));
        let Picked { labels, names, images, .. } = picked.into_inner();
        // apps/v1 has no place for records.
        let outline = if flavour.has_status_extras() { Outline::of(template) } else { Outline::default() };
        Self {
            fingerprint: flavour.fingerprint(template),
            outline,
            labels,
            containers: names.join(","),
            images: images.join(","),
        }
    }
}

#[derive(Default)]
struct Picked {
    /// The key of the label that is read.
    key: String,
    labels: Map,
    names: Vec<String>,
    images: Vec<String>,
}

/// A form in which nothing is written; what is needed is picked on the way.
#[derive(Clone, Copy)]
struct Pick<'a> {
    place: Place,
    picked: &'a RefCell<Picked>,
}

impl Pick<'_> {
    fn at(self, place: Place) -> Self {
        Self { place, ..self }
    }
}

impl Form for Pick<'_> {
    fn member(self, key: &str) -> Self {
        if self.place == Place::Labels {
            key.clone_into(&mut self.picked.borrow_mut().key);
        }
        self.at(self.place.of_member(key))
    }

    fn item(self) -> Self {
        self.at(self.place.of_item())
    }

    fn scalar(self, scalar: Scalar<'_>, _: &mut Vec<u8>) -> bool {
        let Scalar::Text(text) = scalar else { return true };
        let mut picked = self.picked.borrow_mut();
        match self.place {
            Place::Label | Place::HashLabel => {
                let key = std::mem::take(&mut picked.key);
                picked.labels.insert(key, text.to_owned());
            }
            Place::ContainerName => picked.names.push(text.to_owned()),
            Place::ContainerImage => picked.images.push(text.to_owned()),
            _ => {}
        }
        true
    }

    fn is_absent(self, _: Brackets, _: &[u8]) -> bool {
        true
    }
}
