//! Writes JSON values as block-style YAML: enough for manifests, with stable output.

use serde_json::Value;

/// `value` as a YAML document. Strings that YAML could take for something else are written in
/// JSON's quotes, which YAML shares.
#[must_use]
pub fn to_yaml(value: &Value) -> String {
    let mut out = String::new();
    block(value, 0, &mut out);
    out
}

fn block(value: &Value, indent: usize, out: &mut String) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            for (i, (key, child)) in map.iter().enumerate() {
                if i > 0 {
                    out.push_str(&" ".repeat(indent));
                }
                out.push_str(&scalar_text(key));
                out.push(':');
                let deeper = if child.is_array() { indent } else { indent + 2 };
                nested(child, deeper, out);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push_str(&" ".repeat(indent));
                }
                out.push_str("- ");
                block(item, indent + 2, out);
            }
        }
        scalar => {
            out.push_str(&scalar_value(scalar));
            out.push('\n');
        }
    }
}

fn nested(value: &Value, indent: usize, out: &mut String) {
    let is_block = match value {
        Value::Object(map) => !map.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => false,
    };
    if is_block {
        out.push('\n');
        out.push_str(&" ".repeat(indent));
    } else {
        out.push(' ');
    }
    block(value, indent, out);
}

fn scalar_value(value: &Value) -> String {
    match value {
        Value::String(text) => scalar_text(text),
        other => other.to_string(),
    }
}

fn scalar_text(text: &str) -> String {
    if is_plain(text) { text.to_owned() } else { Value::String(text.to_owned()).to_string() }
}

/// Whether a string reads back as itself without quotes. Errs on the side of quoting.
fn is_plain(text: &str) -> bool {
    const WORDS: [&str; 9] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    let safe = |c: char| c.is_ascii_alphanumeric() || " -_./$".contains(c);
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '$' || c == '/')
        && text.chars().all(safe)
        && !text.ends_with(' ')
        && !WORDS.contains(&text.to_ascii_lowercase().as_str())
}
