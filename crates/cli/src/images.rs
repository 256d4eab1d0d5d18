//! Images of a pod template.

use serde_json::{Value, json};

use crate::failure::Failure;

/// A container and the image that it is to get.
pub(crate) type Change = (String, String);

/// The images of the containers, in their order, each once.
pub(crate) fn of(template: &Value) -> Vec<&str> {
    let mut images: Vec<&str> = Vec::new();
    for container in containers(template) {
        let image = container.get("image").and_then(Value::as_str).unwrap_or_default();
        if !images.contains(&image) {
            images.push(image);
        }
    }
    images
}

fn containers(template: &Value) -> impl Iterator<Item = &Value> {
    template.pointer("/spec/containers").and_then(Value::as_array).into_iter().flatten()
}

/// A strategic merge of containers is not known to custom resources: a JSON patch by position,
/// which only applies to the containers that were read.
///
/// # Errors
/// When a container is not there, or nothing would change.
pub(crate) fn patch(deployment: &Value, changes: &[Change]) -> Result<Vec<Value>, Failure> {
    let mut operations = Vec::new();
    for (container, image) in changes {
        let mut is_there = false;
        for list in ["initContainers", "containers"] {
            let path = format!("/spec/template/spec/{list}");
            let all = deployment.pointer(&path).and_then(Value::as_array);
            for (position, found) in all.into_iter().flatten().enumerate() {
                let name = found.get("name").and_then(Value::as_str).unwrap_or_default();
                if container != "*" && container != name {
                    continue;
                }
                is_there = true;
                if found.get("image").and_then(Value::as_str) == Some(image) {
                    continue;
                }
                operations
                    .push(json!({"op": "test", "path": format!("{path}/{position}/name"), "value": name}));
                operations
                    .push(json!({"op": "add", "path": format!("{path}/{position}/image"), "value": image}));
            }
        }
        if !is_there {
            return Err(Failure::Usage(format!(
                "there is no container \"{container}\"; there are: {}",
                names(deployment).join(", ")
            )));
        }
    }
    Ok(operations)
}

fn names(deployment: &Value) -> Vec<&str> {
    let lists = ["/spec/template/spec/initContainers", "/spec/template/spec/containers"];
    let all = lists.iter().filter_map(|path| deployment.pointer(path)?.as_array()).flatten();
    all.filter_map(|container| container.get("name")?.as_str()).collect()
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
