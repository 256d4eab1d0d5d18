//! A page of a list, and the token with which it continues.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use world::{Object, Refused, Resource, Store};

use crate::criteria::Criteria;
use crate::query::Query;

/// Objects of a kind, as of a version.
pub(crate) struct Page {
    pub(crate) objects: Vec<Object>,
    pub(crate) version: u64,
    pub(crate) token: Option<String>,
    pub(crate) remaining: Option<usize>,
}

/// Where a list continues: after an object, as of the version of its first page.
struct Token {
    version: u64,
    start: (String, String),
}

impl Token {
    fn encode(version: u64, last: &Object) -> String {
        let start = format!("{}/{}\u{0}", last.namespace(), last.name());
        URL_SAFE_NO_PAD.encode(json!({ "v": "meta.k8s.io/v1", "rv": version, "start": start }).to_string())
    }

    fn decode(text: &str) -> Result<Self, Refused> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok();
        let value: Option<Value> = bytes.as_deref().and_then(|bytes| serde_json::from_slice(bytes).ok());
        let token = value.as_ref().and_then(|value| {
            let (namespace, name) =
                value.get("start")?.as_str()?.trim_end_matches('\u{0}').split_once('/')?;
            let start = (namespace.to_owned(), name.to_owned());
            Some(Self { version: value.get("rv")?.as_u64()?, start })
        });
        token.ok_or_else(|| {
            let why = match bytes.as_deref().and_then(<[u8]>::first) {
                None => "illegal base64 data at input byte 0".to_owned(),
                Some(first) if first.is_ascii_graphic() => {
                    format!("invalid character '{}' looking for beginning of value", char::from(*first))
                }
                Some(first) => format!("invalid character '\\u{first:04x}' looking for beginning of value"),
            };
            Refused::bad_request(format!("invalid continue token: continue key is not valid: {why}"))
        })
    }
}

/// The page that a query asks for.
pub(crate) fn page(
    store: &Store,
    resource: Resource,
    namespace: Option<&str>,
    criteria: &Criteria,
    query: &Query,
) -> Result<Page, Refused> {
    let token = query.text("continue").map(Token::decode).transpose()?;
    let asked = query.version()?;
    if let Some(asked) = asked.filter(|asked| *asked > store.version()) {
        return Err(too_large(asked, store.version()));
    }
    let version = match (&token, asked, query.text("resourceVersionMatch")) {
        (Some(token), None, _) => token.version,
        (Some(_), Some(_), _) => {
            let message = "specifying resource version is not allowed when using continue";
            return Err(Refused::bad_request(message));
        }
        (None, Some(asked), Some("Exact")) => asked,
        _ => store.version(),
    };
    let objects = as_of(store, resource, namespace, version, token.is_some())?;
    let objects = objects.into_iter().filter(|object| criteria.matches(object));
    let start = token.map(|token| token.start).unwrap_or_default();
    let mut objects: Vec<Object> = objects
        .filter(|object| (object.namespace(), object.name()) > (start.0.as_str(), start.1.as_str()))
        .collect();
    let total = objects.len();
    let limit = query.number::<usize>("limit").filter(|limit| *limit > 0).unwrap_or(total);
    objects.truncate(limit);
    let token = (total > limit).then(|| objects.last().map(|last| Token::encode(version, last))).flatten();
    // With selectors the server does not know how many would still match.
    let remaining = (token.is_some() && criteria.is_empty()).then(|| total - limit);
    Ok(Page { objects, version, token, remaining })
}

/// The objects as they were at a version.
fn as_of(
    store: &Store,
    resource: Resource,
    namespace: Option<&str>,
    version: u64,
    is_continued: bool,
) -> Result<Vec<Object>, Refused> {
    let now = store.list(resource, namespace).cloned();
    if version == store.version() {
        return Ok(now.collect());
    }
    let changes = store.changes(resource, version).map_err(|expired| {
        let message = if is_continued {
            "The provided continue parameter is too old to display a consistent list result. You can start \
             a new list without the continue parameter."
                .to_owned()
        } else {
            expired.to_string()
        };
        Refused::new(410, "Expired", message)
    })?;
    let key = |object: &Object| (object.namespace().to_owned(), object.name().to_owned());
    let mut objects: BTreeMap<_, _> = now.map(|object| (key(&object), object)).collect();
    let mut seen = std::collections::BTreeSet::new();
    for change in changes {
        let key = key(&change.object);
        let is_elsewhere = namespace.is_some_and(|namespace| namespace != key.0);
        if is_elsewhere || !seen.insert(key.clone()) {
            continue;
        }
        match &change.before {
            Some(before) => objects.insert(key, before.clone()),
            None => objects.remove(&key),
        };
    }
    Ok(objects.into_values().collect())
}

/// The version asked for is still to come.
pub(crate) fn too_large(asked: u64, current: u64) -> Refused {
    let message = format!("Too large resource version: {asked}, current: {current}");
    let mut refused = Refused::new(504, "Timeout", message.clone());
    refused.details = json!({
        "causes": [{ "reason": "ResourceVersionTooLarge", "message": "Too large resource version" }],
        "retryAfterSeconds": 1,
    });
    refused
}
