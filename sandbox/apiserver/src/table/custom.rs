//! The columns of the custom kind, from its definition.

use jiff::Timestamp;
use serde_json::{Value, json};
use world::{Object, Store};

use super::cell::definition;
use crate::definition::{installed, version};
use crate::duration::since;

/// `additionalPrinterColumns` of the definition.
#[derive(Clone, Debug)]
pub(crate) struct Columns(Vec<Column>);

#[derive(Clone, Debug)]
struct Column {
    name: String,
    kind: String,
    priority: u8,
    description: String,
    path: Vec<String>,
}

impl Columns {
    pub(crate) fn of(store: &Store) -> Self {
        let columns =
            installed(store).and_then(version).and_then(|version| version.get("additionalPrinterColumns"));
        let columns = columns.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        if columns.is_empty() {
            let age = json!({ "name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp" });
            return Self(vec![Column::read(&age)]);
        }
        Self(columns.iter().map(Column::read).collect())
    }

    pub(crate) fn definitions(&self) -> Value {
        let name = definition("Name", "string", 0, "");
        let columns = self
            .0
            .iter()
            .map(|column| definition(&column.name, &column.kind, column.priority, &column.description));
        std::iter::once(name).chain(columns).collect()
    }

    pub(crate) fn cells(&self, object: &Object, now: Timestamp) -> Vec<Value> {
        let value = object.to_value();
        let name = Value::from(object.name());
        let cells = self.0.iter().map(|column| column.cell(&value, now));
        std::iter::once(name).chain(cells).collect()
    }
}

impl Column {
    fn read(column: &Value) -> Self {
        let text = |field: &str| column.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
        let path = text("jsonPath");
        Self {
            name: text("name"),
            kind: text("type"),
            priority: column
                .get("priority")
                .and_then(Value::as_u64)
                .and_then(|n| n.try_into().ok())
                .unwrap_or(0),
            description: text("description"),
            // Only plain paths; that is all that Rollwright's definition has.
            path: path.split('.').filter(|part| !part.is_empty()).map(str::to_owned).collect(),
        }
    }

    fn cell(&self, object: &Value, now: Timestamp) -> Value {
        let found = self.path.iter().try_fold(object, |value, member| value.get(member));
        let Some(found) = found else { return Value::Null };
        match (self.kind.as_str(), found) {
            ("date", Value::String(time)) => Value::from(since(time, now)),
            ("integer", Value::Number(number)) => json!(number.as_i64()),
            ("number", Value::Number(_)) | ("boolean", Value::Bool(_)) | ("string", Value::String(_)) => {
                found.clone()
            }
            ("string", other) if !other.is_null() => Value::from(other.to_string()),
            _ => Value::Null,
        }
    }
}
