//! Bytes as the kinds of input that the targets take.

use serde_json::Value;

/// Bytes as text; what is no UTF-8 is replaced.
pub(crate) fn text(data: &[u8]) -> String {
    String::from_utf8_lossy(data).into_owned()
}

/// Bytes as texts, one a line.
pub(crate) fn lines(data: &[u8]) -> Vec<String> {
    text(data).split('\n').map(str::to_owned).collect()
}

/// Bytes as JSON, as the client reads an answer of the server.
pub(crate) fn json(data: &[u8]) -> Option<Value> {
    serde_json::from_slice(data).ok()
}

/// The first two members of a JSON list.
pub(crate) fn pair(data: &[u8]) -> Option<(Value, Value)> {
    match json(data)? {
        Value::Array(items) => {
            let mut items = items.into_iter();
            Some((items.next()?, items.next()?))
        }
        _ => None,
    }
}

/// The numbers of a line, apart by spaces; what is none is left out.
pub(crate) fn numbers(line: &str) -> Vec<i64> {
    line.split(' ').filter_map(|word| word.parse().ok()).collect()
}
