//! Environment variables of containers, changed as `kubectl set env` does.

use serde_json::{Map, Value, json};

use crate::containers::{self, Container};
use crate::failure::Failure;
use crate::name;
use crate::terminal::clean;

/// The change of a variable.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Change {
    /// The variable gets this entry of the list `env`.
    Set { name: String, entry: Value },
    /// The variable goes.
    Remove(String),
}

impl Change {
    fn name(&self) -> &str {
        match self {
            Self::Set { name, .. } | Self::Remove(name) => name,
        }
    }
}

/// Whether a word of the command line is a change, and no name of a Deployment.
pub(crate) fn is_change(word: &str) -> bool {
    word.contains('=') || word.ends_with('-')
}

/// Reads `KEY=VALUE` or `KEY-`.
///
/// # Errors
/// When it is neither.
pub(crate) fn change(word: &str) -> Result<Change, Failure> {
    let wrong = || {
        Failure::Usage(format!("\"{word}\" must be KEY=VALUE, or KEY- to remove it, for example LOG=debug"))
    };
    let (name, change) = match (word.split_once('='), word.strip_suffix('-')) {
        (Some((name, value)), _) => (name, set(name, json!({"name": name, "value": value}))),
        (None, Some(name)) => (name, Change::Remove(name.to_owned())),
        (None, None) => return Err(wrong()),
    };
    if name.is_empty() { Err(wrong()) } else { Ok(change) }
}

fn set(name: &str, entry: Value) -> Change {
    Change::Set { name: name.to_owned(), entry }
}

/// A ConfigMap or Secret with keys that become variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Source {
    pub(crate) is_secret: bool,
    pub(crate) name: String,
}

/// Reads `configmap/NAME` or `secret/NAME`.
///
/// # Errors
/// When it is neither.
pub(crate) fn source(word: &str) -> Result<Source, Failure> {
    let (kind, name) = match word.split_once('/') {
        Some(("configmap" | "configmaps" | "cm", name)) if !name.is_empty() => ("configmap", name),
        Some(("secret" | "secrets", name)) if !name.is_empty() => ("secret", name),
        _ => return Err(Failure::Usage(format!("--from {word}: must be configmap/NAME or secret/NAME"))),
    };
    Ok(Source { is_secret: kind == "secret", name: name::of_object(kind, name)?.to_owned() })
}

/// One variable for each key, or for those that are wanted; each refers to the key, so that a
/// secret stays where it is.
///
/// # Errors
/// When a key that is wanted is not there.
pub(crate) fn references(
    source: &Source,
    object: &Value,
    prefix: &str,
    wanted: &[String],
) -> Result<Vec<Change>, Failure> {
    let data = object.get("data").and_then(Value::as_object);
    let keys: Vec<&String> = data.into_iter().flat_map(Map::keys).collect();
    if let Some(missing) = wanted.iter().find(|key| !keys.contains(key)) {
        return Err(Failure::Usage(format!("--keys: there is no key \"{missing}\" in {}", source.name)));
    }
    let member = if source.is_secret { "secretKeyRef" } else { "configMapKeyRef" };
    let chosen = keys.into_iter().filter(|key| wanted.is_empty() || wanted.contains(key));
    Ok(chosen
        .map(|key| {
            let name = format!("{prefix}{}", variable(key));
            let from = json!({(member): {"name": source.name, "key": key}});
            set(&name, json!({"name": name, "valueFrom": from}))
        })
        .collect())
}

/// The name of the variable for a key, as kubectl makes it.
fn variable(key: &str) -> String {
    let letter =
        |letter: char| if letter.is_ascii_alphanumeric() { letter.to_ascii_uppercase() } else { '_' };
    key.chars().map(letter).collect()
}

/// The operations that change the variables of all containers with a matching name.
///
/// # Errors
/// When there is no such container, or a variable is there that may not be overwritten.
pub(crate) fn patch(
    deployment: &Value,
    pattern: &str,
    changes: &[Change],
    may_overwrite: bool,
) -> Result<Vec<Value>, Failure> {
    let mut operations = Vec::new();
    for container in containers::matching(deployment, pattern)? {
        let before = variables(&container);
        let after = changed(before, changes, may_overwrite)?;
        if before != after.as_slice() {
            operations.extend(container.set("env", &Value::from(after)));
        }
    }
    Ok(operations)
}

fn variables<'a>(container: &Container<'a>) -> &'a [Value] {
    container.body.get("env").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn name_of(entry: &Value) -> &str {
    entry.get("name").and_then(Value::as_str).unwrap_or_default()
}

/// Variables keep their places: later ones may refer to earlier ones.
fn changed(before: &[Value], changes: &[Change], may_overwrite: bool) -> Result<Vec<Value>, Failure> {
    let mut after = before.to_vec();
    for change in changes {
        let place = after.iter().position(|entry| name_of(entry) == change.name());
        match (change, place) {
            (Change::Remove(_), Some(place)) => _ = after.remove(place),
            (Change::Remove(_), None) => {}
            (Change::Set { entry, .. }, None) => after.push(entry.clone()),
            (Change::Set { name, entry }, Some(place)) => {
                if let Some(found) = after.get_mut(place).filter(|found| *found != entry) {
                    if !may_overwrite {
                        return Err(Failure::Rollout(format!(
                            "{name} has a value already; --overwrite replaces it"
                        )));
                    }
                    found.clone_from(entry);
                }
            }
        }
    }
    Ok(after)
}

/// The variables of all containers with a matching name, as text that a shell can read.
///
/// # Errors
/// When there is no such container.
pub(crate) fn listing(deployment: &Value, full_name: &str, pattern: &str) -> Result<String, Failure> {
    let mut text = String::new();
    for container in containers::matching(deployment, pattern)? {
        text.push_str(&format!("# {full_name}, container {}\n", container.name));
        for entry in variables(&container) {
            let name = name_of(entry);
            let line = match entry.get("valueFrom") {
                Some(from) => format!("# {name} from {}", origin(from)),
                None => format!("{name}={}", entry.get("value").and_then(Value::as_str).unwrap_or_default()),
            };
            text.push_str(&clean(&line));
            text.push('\n');
        }
    }
    Ok(text)
}

/// Where a value comes from, in a few words.
fn origin(from: &Value) -> String {
    let text = |path: &str| from.pointer(path).and_then(Value::as_str).unwrap_or_default();
    for (member, kind) in [("secretKeyRef", "secret"), ("configMapKeyRef", "configmap")] {
        if from.get(member).is_some() {
            let (name, key) = (text(&format!("/{member}/name")), text(&format!("/{member}/key")));
            return format!("{kind} {name}, key {key}");
        }
    }
    match text("/fieldRef/fieldPath") {
        "" => from.to_string(),
        path => format!("field path {path}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deployment() -> Value {
        json!({"spec": {"template": {"spec": {"containers": [
            {"name": "app", "env": [
                {"name": "A", "value": "1"},
                {"name": "B", "valueFrom": {"secretKeyRef": {"name": "s", "key": "b"}}},
            ]},
            {"name": "side"},
        ]}}}})
    }

    fn patched(pattern: &str, words: &[&str], may_overwrite: bool) -> Option<Vec<(String, Value)>> {
        let changes: Vec<Change> = words.iter().filter_map(|word| change(word).ok()).collect();
        assert_eq!(changes.len(), words.len());
        let operations = patch(&deployment(), pattern, &changes, may_overwrite).ok()?;
        let sets = operations.iter().filter(|operation| operation["op"] == "add");
        Some(sets.map(|set| (set["path"].as_str().unwrap_or("").to_owned(), set["value"].clone())).collect())
    }

    #[test]
    fn variables_keep_their_places() {
        let path = |position: i32| format!("/spec/template/spec/containers/{position}/env");
        let one = json!({"name": "A", "value": "2"});
        let two = json!({"name": "B", "value": "x=y"});
        let three = json!({"name": "C", "value": ""});
        assert_eq!(
            patched("app", &["B=x=y", "A=2", "C="], true),
            Some(vec![(path(0), json!([one, two, three]))])
        );
        assert_eq!(patched("*", &["C="], true).map(|changes| changes.len()), Some(2));
        assert_eq!(
            patched("app", &["B-", "Z-"], true),
            Some(vec![(path(0), json!([{"name": "A", "value": "1"}]))])
        );
    }

    #[test]
    fn what_is_so_already_is_no_change() {
        assert_eq!(patched("app", &["A=1"], false), Some(Vec::new()));
        assert_eq!(patched("*", &["Z-"], true), Some(Vec::new()));
        assert_eq!(patched("app", &["A=2"], false), None, "not overwritten");
        assert_eq!(patched("none", &["A=2"], true), None, "no such container");
    }

    #[test]
    fn wrong_words_are_refused() {
        for wrong in ["A", "=1", "-", ""] {
            assert!(change(wrong).is_err(), "{wrong}");
        }
        for wrong in ["s", "pod/s", "secret/"] {
            assert!(source(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn keys_become_variables_that_refer_to_them() {
        let object = json!({"data": {"db.password": "c2VjcmV0", "user": "dQ=="}});
        let secret = Source { is_secret: true, name: "db".to_owned() };
        let all = references(&secret, &object, "DB_", &[]).unwrap_or_default();
        let names: Vec<&str> = all.iter().map(Change::name).collect();
        assert_eq!(names, ["DB_DB_PASSWORD", "DB_USER"]);
        let one = references(&secret, &object, "", &["user".to_owned()]).unwrap_or_default();
        let entry = json!({"name": "USER", "valueFrom": {"secretKeyRef": {"name": "db", "key": "user"}}});
        assert_eq!(one, [set("USER", entry)]);
        assert!(references(&secret, &object, "", &["none".to_owned()]).is_err());
    }

    #[test]
    fn a_listing_shows_no_secret() {
        let text = listing(&deployment(), "deployment.apps/web", "app").unwrap_or_default();
        assert_eq!(text, "# deployment.apps/web, container app\nA=1\n# B from secret s, key b\n");
    }
}
