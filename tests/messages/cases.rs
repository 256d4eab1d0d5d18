//! What the tests that read these files share.

use serde_json::{Value, json};

/// Sets a value, making the objects on the way.
pub(crate) fn set(object: &mut Value, pointer: &str, value: &Value) {
    let mut node = object;
    for name in pointer.split('/').skip(1) {
        node = match name.parse::<usize>() {
            Ok(index) => &mut node[index],
            Err(_) => &mut node[name],
        };
    }
    *node = value.clone();
}

/// The object of a request: written out, or the base with changes.
pub(crate) fn changed(base: &Value, case: &Value, changes: &str) -> Value {
    let mut object = case.get("object").unwrap_or(base).clone();
    for (pointer, value) in case[changes].as_object().into_iter().flatten() {
        set(&mut object, pointer, value);
    }
    object
}

/// A `Status` without what is not about the object. Its causes are sorted, since the server goes through an object in
/// another order every time.
pub(crate) fn in_order(mut status: Value) -> Value {
    let entries = status.as_object_mut().unwrap();
    for name in ["kind", "apiVersion", "metadata", "status"] {
        entries.remove(name).unwrap();
    }
    let Some(causes) = status.pointer_mut("/details/causes").and_then(Value::as_array_mut) else {
        return status;
    };
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    causes.sort_by_key(|cause| (text(&cause["field"]), text(&cause["message"])));
    let mut texts: Vec<String> = Vec::new();
    for cause in causes {
        let text = format!("{}: {}", text(&cause["field"]), text(&cause["message"]));
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    let message = text(&status["message"]);
    let (head, _) = message.split_once(" is invalid").unwrap();
    let tail = if texts.len() == 1 { texts.concat() } else { format!("[{}]", texts.join(", ")) };
    status["message"] = json!(format!("{head} is invalid: {tail}"));
    status
}
