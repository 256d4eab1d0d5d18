//! Which objects of a kind a request is for.

use world::{Object, Refused, Resource};

use crate::query::Query;
use crate::selector::{Fields, Labels};

/// Selectors of a request; all must hold.
#[derive(Clone, Debug, Default)]
pub(crate) struct Criteria {
    labels: Labels,
    fields: Fields,
}

impl Criteria {
    pub(crate) fn of(resource: Resource, query: &Query) -> Result<Self, Refused> {
        let labels = Labels::parse(query.text("labelSelector").unwrap_or_default())?;
        let fields = Fields::parse(resource, query.text("fieldSelector").unwrap_or_default())?;
        Ok(Self { labels, fields })
    }

    pub(crate) fn matches(&self, object: &Object) -> bool {
        self.labels.matches(object) && self.fields.matches(object)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }
}
