//! Objects as a watch delivers them: with decoded metadata, and the rest still text.
//!
//! As a tree of JSON, an object takes many times its text, and a page of a list holds many objects. So each is read
//! only when it is needed, and not at all if it lies in a namespace of another shard. Its template always stays text.

use std::collections::BTreeMap;
use std::fmt;

use api::decode::Rejected;
use plan::template::Template;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::client::object::{Metadata, Object, With};

/// An object with only its metadata read; the rest by name.
pub(crate) type Unread = With<Vec<(String, Box<RawValue>)>>;

impl Unread {
    /// Its name and such.
    pub(crate) fn metadata(&self) -> &Object {
        &self.object
    }

    /// The whole object. If a member of it cannot be read, as when it is nested too deeply, it is not whole, and the
    /// problem is returned, too.
    pub(crate) fn read(self) -> (Object, Result<(), Rejected>) {
        let (mut object, mut result) = (self.object, Ok(()));
        for (name, text) in self.more {
            let value = if name == SPEC {
                spec(&text).map(|(spec, template)| {
                    object.template = template;
                    spec
                })
            } else {
                serde_json::from_str(text.get())
            };
            let value = value.unwrap_or_else(|error| {
                result = Err(Rejected { field: name.clone(), problem: error.to_string() });
                Value::Null
            });
            if let Some(members) = object.body.as_object_mut() {
                members.insert(name, value);
            }
        }
        (object, result)
    }
}

const SPEC: &str = "spec";

/// A spec, and apart from it its template.
fn spec(text: &RawValue) -> Result<(Value, Option<Template>), serde_json::Error> {
    let Ok(mut members) = serde_json::from_str::<BTreeMap<String, &RawValue>>(text.get()) else {
        return Ok((serde_json::from_str(text.get())?, None));
    };
    let template = members.remove("template").map(|text| Template::new(text.to_owned())).transpose()?;
    let members = members.into_iter().map(|(name, text)| Ok((name, serde_json::from_str(text.get())?)));
    Ok((Value::Object(members.collect::<Result<_, serde_json::Error>>()?), template))
}

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (object, result) = Unread::deserialize(deserializer)?.read();
        result.map(|()| object).map_err(D::Error::custom)
    }
}

impl<'de> Deserialize<'de> for Unread {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(UnreadVisitor)
    }
}

struct UnreadVisitor;

impl<'de> Visitor<'de> for UnreadVisitor {
    type Value = Unread;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Unread, A::Error> {
        let (mut body, mut status_writer, mut rest) = (Map::new(), None, Vec::new());
        // A reader that knows how many members there are has read them: an event with its type last.
        let is_text = members.size_hint().is_none();
        while let Some(name) = members.next_key::<String>()? {
            if name == "metadata" {
                let metadata: Option<Metadata> = members.next_value()?;
                let value = metadata.map_or(Value::Null, |metadata| {
                    status_writer = metadata.status_writer;
                    Value::Object(metadata.members)
                });
                body.insert(name, value);
            } else if is_text {
                rest.push((name, members.next_value()?));
            } else {
                body.insert(name, members.next_value()?);
            }
        }
        let mut object = Object::new(Value::Object(body));
        object.status_writer = status_writer;
        Ok(Unread { object, more: rest })
    }
}

#[cfg(test)]
mod tests {
    use kube::core::{ObjectList, WatchEvent};
    use serde_json::json;

    use super::*;

    /// With everything that a round trip could lose; the objects of a watch come in these wrappers.
    fn odd() -> String {
        let object = json!({
            "apiVersion": "apps/v1", "kind": "ReplicaSet", "empty": {}, "none": null, "": [],
            "metadata": {"namespace": "ns", "name": "web", "uid": "u", "resourceVersion": "7",
                "managedFields": [{"manager": "kubectl", "subresource": "status"}]},
            "spec": {
                "large": [u64::MAX, i64::MIN, 1e300, 0.1, -0.0, "1e300", "007"],
                "text": "\"\\\u{0}\u{7f}\u{2028}\u{1F600}/</script>",
                "template": {"z": 1, "a": {"A": [[[[[{}]]]]]}, " a": "", "a ": null},
            },
        });
        object.to_string()
    }

    #[test]
    fn what_is_read_later_is_what_would_have_been_read_at_once() {
        let at_once: Object = serde_json::from_str(&odd()).unwrap();
        let list = format!(r#"{{"kind":"L","metadata":{{"resourceVersion":"9"}},"items":[{}]}}"#, odd());
        let list: ObjectList<Unread> = serde_json::from_str(&list).unwrap();
        let event = |text: String| match serde_json::from_str(&text) {
            Ok(WatchEvent::<Unread>::Added(unread)) => unread,
            other => panic!("{other:?}"),
        };
        let first = event(format!(r#"{{"type":"ADDED","object":{}}}"#, odd()));
        let last = event(format!(r#"{{"object":{},"type":"ADDED"}}"#, odd()));
        let is_text = |unread: &Unread| unread.more.iter().any(|(name, _)| name == "spec");
        assert_eq!((is_text(&first), is_text(&last)), (true, false));
        for unread in list.items.into_iter().chain([first, last]) {
            assert_eq!((unread.metadata().namespace(), unread.metadata().uid()), ("ns", "u"));
            let (object, result) = unread.read();
            assert_eq!(object.whole().to_string(), at_once.whole().to_string());
            assert_eq!(object.status_writer, at_once.status_writer);
            assert_eq!(result, Ok(()));
        }
    }

    #[test]
    fn one_that_cannot_be_read_is_named_and_does_not_break_the_others() {
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        for odd in [deep.as_str(), "1e999"] {
            let list = format!(
                r#"{{"items":[{{"spec":{odd},"metadata":{{"name":"odd"}}}},{{"metadata":{{"name":"web"}}}}]}}"#
            );
            let list: ObjectList<Unread> = serde_json::from_str(&list).unwrap();
            let read: Vec<_> = list.items.into_iter().map(Unread::read).collect();
            let names: Vec<_> = read.iter().map(|(object, _)| object.name()).collect();
            assert_eq!(names, ["odd", "web"]);
            assert_eq!(read[0].1.as_ref().unwrap_err().field, "spec");
            assert!(read[1].1.is_ok());
        }
    }
}
