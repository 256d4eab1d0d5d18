//! Bodies in protobuf, which kubectl's `create` commands always send. Only the fields that those commands
//! set are known; the server refuses a body with another one.

use serde_json::{Map, Value};

/// What all bodies begin with.
const MAGIC: &[u8] = b"k8s\0";

/// What a field holds.
#[derive(Clone, Copy)]
enum Shape {
    Text,
    Texts,
    Number,
    /// A number with a meaning for zero.
    Count,
    Flag,
    TextMap,
    Message(&'static [Field]),
    Messages(&'static [Field]),
    /// Filled by the server: what a client sends is dropped.
    Dropped,
}

/// Number, name and content of a field.
type Field = (u64, &'static str, Shape);

const METADATA: &[Field] = &[
    (1, "name", Shape::Text),
    (2, "generateName", Shape::Text),
    (3, "namespace", Shape::Text),
    (4, "selfLink", Shape::Dropped),
    (5, "uid", Shape::Text),
    (6, "resourceVersion", Shape::Text),
    (7, "generation", Shape::Dropped),
    (8, "creationTimestamp", Shape::Dropped),
    (11, "labels", Shape::TextMap),
    (12, "annotations", Shape::TextMap),
    (13, "finalizers", Shape::Texts),
];
const PORT: &[Field] = &[
    (1, "name", Shape::Text),
    (2, "hostPort", Shape::Number),
    (3, "containerPort", Shape::Number),
    (4, "protocol", Shape::Text),
    (5, "hostIP", Shape::Text),
];
const VARIABLE: &[Field] = &[(1, "name", Shape::Text), (2, "value", Shape::Text)];
const CONTAINER: &[Field] = &[
    (1, "name", Shape::Text),
    (2, "image", Shape::Text),
    (3, "command", Shape::Texts),
    (4, "args", Shape::Texts),
    (5, "workingDir", Shape::Text),
    (6, "ports", Shape::Messages(PORT)),
    (7, "env", Shape::Messages(VARIABLE)),
    (8, "resources", Shape::Message(&[])),
    (13, "terminationMessagePath", Shape::Text),
    (14, "imagePullPolicy", Shape::Text),
    (16, "stdin", Shape::Flag),
    (17, "stdinOnce", Shape::Flag),
    (18, "tty", Shape::Flag),
    (20, "terminationMessagePolicy", Shape::Text),
];
const POD_SPEC: &[Field] = &[
    (2, "containers", Shape::Messages(CONTAINER)),
    (3, "restartPolicy", Shape::Text),
    (4, "terminationGracePeriodSeconds", Shape::Count),
    (6, "dnsPolicy", Shape::Text),
    (8, "serviceAccountName", Shape::Text),
    (9, "serviceAccount", Shape::Text),
    (10, "nodeName", Shape::Text),
    (11, "hostNetwork", Shape::Flag),
    (12, "hostPID", Shape::Flag),
    (13, "hostIPC", Shape::Flag),
    (16, "hostname", Shape::Text),
    (17, "subdomain", Shape::Text),
    (19, "schedulerName", Shape::Text),
    (24, "priorityClassName", Shape::Text),
];
const TEMPLATE: &[Field] =
    &[(1, "metadata", Shape::Message(METADATA)), (2, "spec", Shape::Message(POD_SPEC))];
const DEPLOYMENT_SPEC: &[Field] = &[
    (1, "replicas", Shape::Count),
    (2, "selector", Shape::Message(&[(1, "matchLabels", Shape::TextMap)])),
    (3, "template", Shape::Message(TEMPLATE)),
    (4, "strategy", Shape::Message(&[(1, "type", Shape::Text)])),
    (5, "minReadySeconds", Shape::Number),
    (6, "revisionHistoryLimit", Shape::Count),
    (7, "paused", Shape::Flag),
    (9, "progressDeadlineSeconds", Shape::Count),
];

const RIGHT: &[Field] = &[
    (1, "namespace", Shape::Text),
    (2, "verb", Shape::Text),
    (3, "group", Shape::Text),
    (4, "version", Shape::Text),
    (5, "resource", Shape::Text),
    (6, "subresource", Shape::Text),
    (7, "name", Shape::Text),
];

/// What the kinds look like that can be decoded.
fn fields(kind: &str) -> Option<&'static [Field]> {
    Some(match kind {
        "Namespace" => &[
            (1, "metadata", Shape::Message(METADATA)),
            (2, "spec", Shape::Dropped),
            (3, "status", Shape::Dropped),
        ],
        "ConfigMap" => &[(1, "metadata", Shape::Message(METADATA)), (2, "data", Shape::TextMap)],
        "ServiceAccount" => &[(1, "metadata", Shape::Message(METADATA))],
        "Deployment" => &[
            (1, "metadata", Shape::Message(METADATA)),
            (2, "spec", Shape::Message(DEPLOYMENT_SPEC)),
            (3, "status", Shape::Dropped),
        ],
        "SelfSubjectAccessReview" => &[
            (1, "metadata", Shape::Message(METADATA)),
            (2, "spec", Shape::Message(&[(1, "resourceAttributes", Shape::Message(RIGHT))])),
            (3, "status", Shape::Dropped),
        ],
        // Its preconditions are not among them.
        "DeleteOptions" => &[
            (1, "gracePeriodSeconds", Shape::Count),
            (3, "orphanDependents", Shape::Flag),
            (4, "propagationPolicy", Shape::Text),
            (5, "dryRun", Shape::Texts),
        ],
        _ => return None,
    })
}

/// Reads a body; `None` if it is none, or contains more than can be understood here.
pub(crate) fn decode(body: &[u8]) -> Option<Value> {
    const UNKNOWN: &[Field] = &[
        (1, "type", Shape::Message(&[(1, "apiVersion", Shape::Text), (2, "kind", Shape::Text)])),
        (2, "raw", Shape::Dropped),
        (3, "contentEncoding", Shape::Text),
        (4, "contentType", Shape::Text),
    ];
    let envelope = body.strip_prefix(MAGIC)?;
    let outer = message(envelope, UNKNOWN)?;
    let (version, kind) = (outer.pointer("/type/apiVersion")?, outer.pointer("/type/kind")?);
    let mut inner = &[][..];
    let mut rest = envelope;
    while !rest.is_empty() {
        if let (2, Part::Bytes(bytes)) = part(&mut rest)? {
            inner = bytes;
        }
    }
    let mut object = message(inner, fields(kind.as_str()?)?)?;
    let members = object.as_object_mut()?;
    members.insert("apiVersion".to_owned(), version.clone());
    members.insert("kind".to_owned(), kind.clone());
    Some(object)
}

enum Part<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// The next field: its number and what it holds.
fn part<'a>(rest: &mut &'a [u8]) -> Option<(u64, Part<'a>)> {
    let tag = varint(rest)?;
    let part = match tag & 7 {
        0 => Part::Number(varint(rest)?),
        2 => {
            let length = usize::try_from(varint(rest)?).ok()?;
            let (bytes, after) = rest.split_at_checked(length)?;
            *rest = after;
            Part::Bytes(bytes)
        }
        _ => return None,
    };
    Some((tag >> 3, part))
}

fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..64).step_by(7) {
        let (byte, after) = rest.split_first()?;
        *rest = after;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

fn message(mut rest: &[u8], fields: &[Field]) -> Option<Value> {
    let mut members = Map::new();
    while !rest.is_empty() {
        let (number, part) = part(&mut rest)?;
        let (_, name, shape) = fields.iter().find(|(known, ..)| *known == number)?;
        add(&mut members, name, *shape, &part)?;
    }
    Some(Value::Object(members))
}

/// Adds a field, unless it holds what an absent one means: Go writes those, too.
fn add(members: &mut Map<String, Value>, name: &str, shape: Shape, part: &Part<'_>) -> Option<()> {
    let value = match (shape, part) {
        (Shape::Dropped, _) | (Shape::Number, Part::Number(0)) => return Some(()),
        (Shape::Number | Shape::Count, Part::Number(number)) => Value::from(number.cast_signed()),
        (Shape::Flag, Part::Number(number)) => {
            if *number == 0 {
                return Some(());
            }
            Value::from(true)
        }
        (Shape::Text, Part::Bytes([])) => return Some(()),
        (Shape::Text, Part::Bytes(bytes)) => Value::from(text(bytes)?),
        (Shape::Message(fields), Part::Bytes(bytes)) => message(bytes, fields)?,
        (Shape::Texts, Part::Bytes(bytes)) => return push(members, name, Value::from(text(bytes)?)),
        (Shape::Messages(fields), Part::Bytes(bytes)) => return push(members, name, message(bytes, fields)?),
        (Shape::TextMap, Part::Bytes(bytes)) => {
            let entry = message(bytes, &[(1, "key", Shape::Text), (2, "value", Shape::Text)])?;
            let of = |field: &str| entry.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
            let map = members.entry(name).or_insert_with(|| Value::Object(Map::new()));
            map.as_object_mut()?.insert(of("key"), Value::from(of("value")));
            return Some(());
        }
        _ => return None,
    };
    members.insert(name.to_owned(), value);
    Some(())
}

fn push(members: &mut Map<String, Value>, name: &str, value: Value) -> Option<()> {
    members.entry(name).or_insert_with(|| Value::Array(Vec::new())).as_array_mut()?.push(value);
    Some(())
}

fn text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
        let length = u8::try_from(bytes.len()).unwrap();
        [&[number << 3 | 2, length], bytes].concat()
    }

    fn body(kind: &str, object: &[u8]) -> Vec<u8> {
        let kind = [field(1, b"v1"), field(2, kind.as_bytes())].concat();
        [MAGIC.to_vec(), field(1, &kind), field(2, object), field(3, b""), field(4, b"")].concat()
    }

    #[test]
    fn a_config_map() {
        let entry = [field(1, b"a"), field(2, b"1")].concat();
        let object = [field(1, &field(1, b"web")), field(2, &entry)].concat();
        let expected = serde_json::json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "web" }, "data": { "a": "1" },
        });
        assert_eq!(decode(&body("ConfigMap", &object)), Some(expected));
    }

    #[test]
    fn what_is_not_understood_is_not_dropped() {
        let immutable = [&[4 << 3, 1], &field(1, &field(1, b"web"))[..]].concat();
        assert_eq!(decode(&body("ConfigMap", &immutable)), None);
        assert_eq!(decode(&body("Secret", b"")), None);
        assert_eq!(decode(b"k8s\0\x0a\xff"), None);
        assert_eq!(decode(b"{}"), None);
    }
}
