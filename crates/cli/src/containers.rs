//! Containers of a Deployment's pod template: found by name, changed one field at a time.

use serde_json::{Value, json};

use crate::failure::Failure;

/// A container, and where it is.
pub(crate) struct Container<'a> {
    /// JSON pointer into the Deployment.
    path: String,
    pub(crate) name: &'a str,
    pub(crate) body: &'a Value,
}

impl Container<'_> {
    /// Gives a field of this container another value. A strategic merge by name is not known to
    /// custom resources: this is a JSON patch by position, which applies only as long as the
    /// container of that name is still there.
    pub(crate) fn set(&self, field: &str, value: &Value) -> [Value; 2] {
        [
            json!({"op": "test", "path": format!("{}/name", self.path), "value": self.name}),
            json!({"op": "add", "path": format!("{}/{field}", self.path), "value": value}),
        ]
    }
}

/// All of them; those of the initialisation first.
pub(crate) fn all(deployment: &Value) -> Vec<Container<'_>> {
    let mut all = Vec::new();
    for list in ["initContainers", "containers"] {
        let path = format!("/spec/template/spec/{list}");
        let of_list = deployment.pointer(&path).and_then(Value::as_array);
        for (position, body) in of_list.into_iter().flatten().enumerate() {
            let name = body.get("name").and_then(Value::as_str).unwrap_or_default();
            all.push(Container { path: format!("{path}/{position}"), name, body });
        }
    }
    all
}

/// Those of this name, in which `*` stands for any letters.
///
/// # Errors
/// When there is none.
pub(crate) fn matching<'a>(deployment: &'a Value, pattern: &str) -> Result<Vec<Container<'a>>, Failure> {
    let (found, others): (Vec<_>, Vec<_>) =
        all(deployment).into_iter().partition(|container| matches(pattern, container.name));
    if found.is_empty() {
        let names: Vec<&str> = others.iter().map(|container| container.name).collect();
        return Err(Failure::Usage(format!(
            "there is no container \"{pattern}\"; there are: {}",
            names.join(", ")
        )));
    }
    Ok(found)
}

fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((head, tail)) => name.strip_prefix(head).is_some_and(|rest| {
            // Every place at which the rest of the pattern may continue.
            rest.char_indices()
                .map(|(at, _)| at)
                .chain([rest.len()])
                .any(|at| rest.get(at..).is_some_and(|rest| matches(tail, rest)))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deployment() -> Value {
        json!({"spec": {"template": {"spec": {
            "initContainers": [{"name": "setup"}],
            "containers": [{"name": "app"}, {"name": "app-proxy"}],
        }}}})
    }

    fn found(pattern: &str) -> Vec<String> {
        let deployment = deployment();
        let found = matching(&deployment, pattern).unwrap_or_default();
        found.iter().map(|container| container.name.to_owned()).collect()
    }

    #[test]
    fn a_star_stands_for_any_letters() {
        assert_eq!(found("*"), ["setup", "app", "app-proxy"]);
        assert_eq!(found("app*"), ["app", "app-proxy"]);
        assert_eq!(found("*p*y"), ["app-proxy"]);
        assert_eq!(found("app"), ["app"]);
        assert_eq!(found("ap"), [""; 0]);
    }

    #[test]
    fn a_change_holds_only_for_the_container_that_was_read() {
        let deployment = deployment();
        let changes = all(&deployment)[2].set("image", &json!("a:2"));
        assert_eq!(
            changes,
            [
                json!({"op": "test", "path": "/spec/template/spec/containers/1/name", "value": "app-proxy"}),
                json!({"op": "add", "path": "/spec/template/spec/containers/1/image", "value": "a:2"}),
            ]
        );
    }
}
