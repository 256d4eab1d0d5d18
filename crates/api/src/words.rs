//! Enumerations that take a word of a newer version, too.

use schemars::{Schema, json_schema};
use serde_json::Value;

/// The schema of an enumeration without its variant for other words: the definition lists the words, and a reader takes
/// any.
pub(crate) fn known(schema: &mut Schema) {
    let mut words = Vec::new();
    collect(schema.as_value(), &mut words);
    *schema = json_schema!({ "type": "string", "enum": words });
}

fn collect(schema: &Value, words: &mut Vec<Value>) {
    words.extend(schema.get("const").cloned());
    for options in ["anyOf", "oneOf"] {
        let options = schema.get(options).and_then(Value::as_array);
        options.into_iter().flatten().for_each(|option| collect(option, words));
    }
}
