//! Pages of lists, sized by bytes: an object can have more than a megabyte.
//!
//! The first page is small. Each further one is as large as the objects of the one before allow. A page that turns out
//! to be too large is not read to its end, and is asked for again with fewer objects.

use std::fmt;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::client::object::Metadata;

/// How many objects are asked for at first, and at most.
const FIRST: u32 = 10;
const MOST: u32 = 100;
/// As many bytes a page should have, and may have.
const BYTES: usize = 1 << 20;
pub(super) const BYTES_MAX: usize = 4 << 20;

/// Where a page begins, and how many objects it may have. As a text, it is what the engine sends back for the next
/// page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) limit: u32,
    token: String,
}

impl Place {
    /// The place that the page before names; the first page, without that.
    pub(super) fn from(text: Option<&str>) -> Self {
        let parts = text.and_then(|text| text.split_once(' '));
        let read = parts.and_then(|(limit, token)| Some((limit.parse().ok()?, token.to_owned())));
        let (limit, token) = read.unwrap_or_else(|| (FIRST, text.unwrap_or_default().to_owned()));
        Self { limit, token }
    }

    /// The server's own word for it.
    pub(super) fn token(&self) -> Option<String> {
        Some(self.token.clone()).filter(|token| !token.is_empty())
    }

    /// The next page, after one with this many objects and bytes; `None` if that was the last.
    pub(super) fn after(self, token: Option<String>, count: usize, bytes: usize) -> Option<Self> {
        let token = token.filter(|token| !token.is_empty())?;
        let each = bytes / count.max(1);
        let limit = u32::try_from(BYTES / each.max(1)).unwrap_or(MOST);
        Some(Self { limit: limit.clamp(1, MOST), token })
    }

    /// The same page with fewer objects, as it was too large; `None` if it cannot have fewer.
    pub(super) fn smaller(self) -> Option<Self> {
        (self.limit > 1).then(|| Self { limit: self.limit.div_ceil(8), ..self })
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.limit, self.token)
    }
}

/// A page of a list.
#[derive(Deserialize)]
pub(super) struct Page<T> {
    #[serde(default)]
    metadata: Continue,
    pub(super) items: Vec<T>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Continue {
    #[serde(rename = "continue")]
    token: Option<String>,
}

impl<T> Page<T> {
    /// Where the next one begins.
    pub(super) fn next(&mut self, place: Place, bytes: usize) -> Option<String> {
        let next = place.after(self.metadata.token.take(), self.items.len(), bytes);
        next.map(|next| next.to_string())
    }
}

/// A pod without its spec, which nobody reads.
#[derive(Deserialize)]
pub(super) struct Pod {
    metadata: Option<Metadata>,
    #[serde(default)]
    status: Value,
}

impl Pod {
    pub(super) fn into_value(self) -> Value {
        let metadata = self.metadata.map_or(Value::Null, |metadata| Value::Object(metadata.members));
        json!({ "metadata": metadata, "status": self.status })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(place: &Place, count: usize, bytes: usize) -> Option<Place> {
        let text = place.clone().after(Some("token with spaces".to_owned()), count, bytes)?.to_string();
        Some(Place::from(Some(&text)))
    }

    #[test]
    fn the_next_page_is_as_large_as_the_objects_allow() {
        let first = Place::from(None);
        assert_eq!((first.limit, first.token()), (FIRST, None));
        for (each, limit) in [(300, 100), (10_000, 100), (100_000, 10), (1_300_000, 1), (9_000_000, 1)] {
            let next = next(&first, 10, 10 * each).expect("another page");
            assert_eq!((next.limit, next.token().as_deref()), (limit, Some("token with spaces")), "{each}");
        }
        assert_eq!(first.clone().after(None, 10, 10), None);
        assert_eq!(first.clone().after(Some(String::new()), 0, 0), None);
        assert_eq!(next(&first, 0, 0).map(|next| next.limit), Some(MOST), "an empty page");
    }

    #[test]
    fn a_page_that_is_too_large_is_asked_for_again_in_parts() {
        let mut limits = Vec::new();
        let mut place = next(&Place::from(None), 10, 10);
        while let Some(known) = place {
            assert_eq!(known.token().as_deref(), Some("token with spaces"));
            limits.push(known.limit);
            place = known.smaller();
        }
        assert_eq!(limits, [100, 13, 2, 1]);
    }

    #[test]
    fn what_is_not_of_ours_begins_the_first_page_there() {
        assert_eq!(Place::from(Some("token")), Place { limit: FIRST, token: "token".to_owned() });
    }

    #[test]
    fn a_pod_is_read_without_its_spec() {
        let pod = json!({
            "metadata": { "name": "web", "uid": "u", "managedFields": [{ "manager": "kubelet" }] },
            "spec": { "containers": [{ "env": "x".repeat(1000) }] },
            "status": { "phase": "Pending" },
        });
        let list = json!({ "metadata": { "continue": "c" }, "items": [pod, {}] }).to_string();
        let mut page: Page<Pod> = serde_json::from_str(&list).expect("a page");
        assert_eq!(page.next(Place::from(None), 20).as_deref(), Some("100 c"));
        let read: Vec<Value> = page.items.into_iter().map(Pod::into_value).collect();
        let metadata = json!({ "name": "web", "uid": "u" });
        assert_eq!(read[0], json!({ "metadata": metadata, "status": { "phase": "Pending" } }));
        assert_eq!(read[1], json!({ "metadata": null, "status": null }));
    }
}
