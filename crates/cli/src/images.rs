//! Images of a pod template.

use serde_json::Value;

use crate::containers;
use crate::failure::Failure;

/// A container and the image that it gets.
pub(crate) type Change = (String, String);

/// The images of the containers, in their order, each once.
pub(crate) fn of(template: &Value) -> Vec<&str> {
    let mut images: Vec<&str> = Vec::new();
    for container in template.pointer("/spec/containers").and_then(Value::as_array).into_iter().flatten() {
        let image = container.get("image").and_then(Value::as_str).unwrap_or_default();
        if !images.contains(&image) {
            images.push(image);
        }
    }
    images
}

/// The operations that give the containers their images; none for those that have them already.
///
/// # Errors
/// When a container is not there.
pub(crate) fn patch(deployment: &Value, changes: &[Change]) -> Result<Vec<Value>, Failure> {
    let mut operations = Vec::new();
    for (pattern, image) in changes {
        let found = containers::matching(deployment, pattern)?;
        let others = found.iter().filter(|it| it.body.get("image").and_then(Value::as_str) != Some(image));
        operations.extend(others.flat_map(|container| container.set("image", &Value::from(image.as_str()))));
    }
    Ok(operations)
}

/// Splits `CONTAINER=IMAGE`.
pub(crate) fn change(word: &str) -> Result<Change, Failure> {
    match word.split_once('=') {
        Some((container, image)) if !container.is_empty() && !image.is_empty() => {
            Ok((container.to_owned(), image.to_owned()))
        }
        _ => Err(Failure::Usage(format!("\"{word}\" must be CONTAINER=IMAGE, for example app=nginx:1.29"))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn deployment() -> Value {
        json!({"spec": {"template": {"spec": {
            "initContainers": [{"name": "init", "image": "i:1"}],
            "containers": [{"name": "app", "image": "a:1"}, {"name": "side", "image": "s:1"}],
        }}}})
    }

    fn patched(changes: &[(&str, &str)]) -> Option<Vec<String>> {
        let changes: Vec<_> = changes.iter().map(|(c, i)| ((*c).to_owned(), (*i).to_owned())).collect();
        let operations = patch(&deployment(), &changes).ok()?;
        let paths = operations.iter().filter(|operation| operation["op"] == "add");
        Some(paths.map(|operation| operation["path"].to_string()).collect())
    }

    #[test]
    fn only_what_changes_is_patched() {
        assert_eq!(
            patched(&[("side", "s:2")]),
            Some(vec!["\"/spec/template/spec/containers/1/image\"".to_owned()])
        );
        assert_eq!(patched(&[("*", "a:1")]).map(|paths| paths.len()), Some(2));
        assert_eq!(patched(&[("app", "a:1")]), Some(Vec::new()));
        assert_eq!(patched(&[("none", "a:1")]), None);
    }

    #[test]
    fn images_are_named_once() {
        assert_eq!(of(&deployment()["spec"]["template"]), ["a:1", "s:1"]);
    }
}
