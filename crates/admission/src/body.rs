//! The values of an object against its schema, in the words of the server's OpenAPI validator.
//!
//! The order within a node is the server's. The order of an object's properties is random there;
//! here it is that of their names.

use std::collections::BTreeSet;

use serde_json::{Number, Value, json};

use crate::cause::Cause;
use crate::correlate::Correlated;
use crate::format::is_date_time;
use crate::go_text;
use crate::schema::{Format, Schema, Type};

/// Field of a cause that the server reports without one.
const NO_FIELD: &str = "<nil>";

/// Something that the validator found, with its text before the field is put in front; equal texts
/// are reported once.
pub(crate) struct Finding {
    text: String,
    cause: Cause,
}

/// Checks a value. `prefix` is where the schema's root stands in the object, and `old` what the
/// value replaces.
pub(crate) fn check(schema: &Schema, value: &Value, prefix: &str, old: Option<Correlated<'_>>) -> Vec<Cause> {
    let mut seen = BTreeSet::new();
    Node { schema, path: String::new(), prefix, root: true }
        .check(value, old)
        .into_iter()
        .filter(|finding| seen.insert(finding.text.clone()))
        .map(|finding| finding.cause)
        .collect()
}

struct Node<'a> {
    schema: &'a Schema,
    path: String,
    prefix: &'a str,
    root: bool,
}

impl<'a> Node<'a> {
    fn check(&self, value: &Value, old: Option<Correlated<'_>>) -> Vec<Finding> {
        let found = self.findings(value, old);
        if !found.is_empty() && old.is_some_and(Correlated::unchanged) { Vec::new() } else { found }
    }

    fn findings(&self, value: &Value, old: Option<Correlated<'_>>) -> Vec<Finding> {
        let mut found: Vec<Finding> = self.type_of(value).into_iter().collect();
        if value.is_null() {
            found.extend(self.enumeration(value));
            return found;
        }
        found.extend(self.exclusion(value));
        match value {
            Value::String(text) => {
                found.extend(self.string(text));
                found.extend(self.string_format(text));
            }
            Value::Number(number) => found.extend(self.number(number)),
            Value::Array(items) => found.extend(self.items(items, old)),
            _ => {}
        }
        found.extend(self.enumeration(value));
        if let Value::Object(entries) = value {
            found.extend(self.object(entries, old));
        }
        found
    }

    fn finding(&self, text: String, cause: impl FnOnce(String, &str) -> Cause) -> Finding {
        let path = self.path.strip_prefix('.').unwrap_or(&self.path);
        let field = match (self.prefix, path) {
            ("", "") => NO_FIELD.to_owned(),
            ("", path) => path.to_owned(),
            (prefix, "") => prefix.to_owned(),
            (prefix, path) => format!("{prefix}.{path}"),
        };
        let cause = cause(field, &text);
        Finding { text, cause }
    }

    /// A finding that the server reports without the field and the value.
    fn bare(&self, text: String) -> Finding {
        let field = if self.prefix.is_empty() { NO_FIELD } else { self.prefix };
        let cause = Cause::invalid(field, &json!(""), &text);
        Finding { text, cause }
    }

    fn invalid(&self, value: &Value, what: &str) -> Finding {
        self.finding(format!("{} in body {what}", self.path), |field, text| {
            Cause::invalid(field, value, text)
        })
    }

    fn wrong_type(&self, wanted: &str, got: &str) -> Finding {
        let text = format!("{} in body must be of type {wanted}: {}", self.path, go_text::quoted(got));
        self.finding(text, |field, text| Cause::type_invalid(field, &json!(got), text))
    }

    fn type_of(&self, value: &Value) -> Option<Finding> {
        let schema = self.schema;
        let wanted = self.type_names();
        if value.is_null() {
            return (!wanted.is_empty() && !schema.nullable)
                .then(|| self.wrong_type(&wanted.join(","), "null"));
        }
        if wanted.is_empty() && schema.format.is_none() {
            return None;
        }
        let (got, got_format) = type_and_format(value);
        let fits = wanted.contains(&got)
            || (got == "number" && is_whole(value) && wanted.contains(&"integer"))
            || (got == "integer" && wanted.contains(&"number"));
        let text_or_list = matches!(value, Value::String(_) | Value::Array(_));
        let numeric = wanted.contains(&"number") || wanted.contains(&"integer");
        match schema.format {
            Some(format) if !text_or_list && !fits && got_format != format.name() => {
                Some(self.wrong_type(format.name(), got_format))
            }
            // So the server: a list passes for a string with a format.
            Some(_) if !numeric && text_or_list => None,
            _ => (!fits).then(|| self.wrong_type(&wanted.join(","), got)),
        }
    }

    fn type_names(&self) -> Vec<&'static str> {
        if self.schema.int_or_string {
            return vec!["integer", "string"];
        }
        self.schema.kind.iter().map(|kind| kind.name()).collect()
    }

    fn exclusion(&self, value: &Value) -> Option<Finding> {
        let not = self.schema.not.as_deref()?;
        let inner = Node { schema: not, path: self.path.clone(), prefix: self.prefix, root: false };
        let text = format!("{} must not validate the schema (not)", go_text::quoted(&self.path));
        inner.check(value, None).is_empty().then(|| self.bare(text))
    }

    fn string(&self, text: &str) -> Option<Finding> {
        let bounds = &self.schema.bounds;
        let length = text.chars().count() as u64;
        if let Some(max) = bounds.max_length.filter(|max| length > *max) {
            let text = format!("{} in body should be at most {max} chars long", self.path);
            return Some(self.finding(text, |field, _| Cause::too_long(field, max)));
        }
        if let Some(min) = bounds.min_length.filter(|min| length < *min) {
            return Some(self.invalid(&json!(text), &format!("should be at least {min} chars long")));
        }
        let pattern = bounds.pattern.as_ref().filter(|pattern| !pattern.regex.is_match(text))?;
        Some(self.invalid(&json!(text), &format!("should match '{}'", pattern.source)))
    }

    fn string_format(&self, text: &str) -> Option<Finding> {
        let wrong = self.schema.format == Some(Format::DateTime) && !is_date_time(text);
        wrong.then(|| self.wrong_type("date-time", text)).map(|finding| self.of_type(finding, text))
    }

    /// The quoted value of a malformed string is the string.
    fn of_type(&self, finding: Finding, text: &str) -> Finding {
        self.finding(finding.text, |field, message| Cause::type_invalid(field, &json!(text), message))
    }

    fn number(&self, number: &Number) -> Vec<Finding> {
        let mut found: Vec<Finding> = self.out_of_range(number).into_iter().collect();
        let value = Value::Number(number.clone());
        // Integers are compared as such, floats as floats; so are the bounds shown.
        let shown = |bound: f64| match number.as_i64() {
            Some(_) => format!("{bound:.0}"),
            None => go_text::float(bound),
        };
        let size = number.as_f64().unwrap_or_default();
        if let Some(min) = self.schema.bounds.minimum.filter(|min| size < *min) {
            found.push(self.invalid(&value, &format!("should be greater than or equal to {}", shown(min))));
        }
        if let Some(max) = self.schema.bounds.maximum.filter(|max| size > *max) {
            found.push(self.invalid(&value, &format!("should be less than or equal to {}", shown(max))));
        }
        found
    }

    fn out_of_range(&self, number: &Number) -> Option<Finding> {
        if self.schema.kind != Some(Type::Integer) {
            return None;
        }
        let integer = number.as_i64().or_else(|| whole(number));
        let (fits, format) = match self.schema.format {
            Some(Format::Int32) => (integer.is_some_and(|n| i32::try_from(n).is_ok()), "with format int32"),
            Some(Format::Int64) => (integer.is_some(), "with format int64"),
            _ => (integer.is_some(), "(default format)"),
        };
        let text = format!("Checked value must be of type integer {format} in {}", self.path);
        (!fits).then(|| self.bare(text))
    }

    fn items(&self, items: &[Value], old: Option<Correlated<'_>>) -> Vec<Finding> {
        let mut found = Vec::new();
        if let Some(schema) = self.schema.items.as_deref() {
            for (i, item) in items.iter().enumerate() {
                let node =
                    Node { schema, path: format!("{}[{i}]", self.path), prefix: self.prefix, root: false };
                found.extend(node.check(item, old.and_then(|old| old.index(i))));
            }
        }
        let count = items.len() as u64;
        if let Some(min) = self.schema.bounds.min_items.filter(|min| count < *min) {
            found.push(self.invalid(&json!(count), &format!("should have at least {min} items")));
        }
        if let Some(max) = self.schema.bounds.max_items.filter(|max| count > *max) {
            let text = format!("{} in body should have at most {max} items", self.path);
            found.push(self.finding(text, |field, _| Cause::too_many(field, items.len(), max)));
        }
        found
    }

    fn enumeration(&self, value: &Value) -> Option<Finding> {
        let allowed = &self.schema.values;
        if allowed.is_empty() || (!value.is_null() && allowed.contains(value)) {
            return None;
        }
        let names: Vec<String> = allowed
            .iter()
            .map(|name| name.as_str().map_or_else(|| go_text::json(name), str::to_owned))
            .collect();
        let text = format!("{} in body should be one of [{}]", self.path, names.join(" "));
        Some(self.finding(text, |field, _| Cause::not_supported(field, value, &names)))
    }

    fn object(&self, entries: &serde_json::Map<String, Value>, old: Option<Correlated<'_>>) -> Vec<Finding> {
        let mut found = self.entry_count(entries.len());
        if let Some(schema) = self.schema.entries.as_deref() {
            for (name, value) in
                entries.iter().filter(|(name, _)| !self.schema.properties.contains_key(*name))
            {
                let path = format!("{}.{name}", self.path);
                found.extend(self.child(schema, path, name, value, old));
            }
        }
        for (name, schema) in &self.schema.properties {
            if let Some(value) = entries.get(name) {
                let path = if self.path.is_empty() { name.clone() } else { format!("{}.{name}", self.path) };
                found.extend(self.child(schema, path, name, value, old));
            }
        }
        for name in self.schema.required.iter().filter(|name| !entries.contains_key(*name)) {
            let node = Node { schema: self.schema, path: format!("{}.{name}", self.path), ..*self };
            let text = format!("{} in body is required", node.path);
            found.push(node.finding(text, |field, _| Cause::required(field, "")));
        }
        found
    }

    fn child(
        &self,
        schema: &'a Schema,
        path: String,
        name: &str,
        value: &Value,
        old: Option<Correlated<'_>>,
    ) -> Vec<Finding> {
        let visible = !(self.root && matches!(name, "apiVersion" | "kind"));
        let old = old.filter(|_| visible).and_then(|old| old.key(name));
        Node { schema, path, prefix: self.prefix, root: false }.check(value, old)
    }

    fn entry_count(&self, count: usize) -> Vec<Finding> {
        let mut found = Vec::new();
        let bounds = &self.schema.bounds;
        if let Some(min) = bounds.min_properties.filter(|min| (count as u64) < *min) {
            found.push(self.invalid(&json!(count), &format!("should have at least {min} properties")));
        }
        if let Some(max) = bounds.max_properties.filter(|max| (count as u64) > *max) {
            let text = format!("{} in body should have at most {max} properties", self.path);
            found.push(self.finding(text, |field, _| Cause::too_many(field, count, max)));
        }
        found
    }
}

fn type_and_format(value: &Value) -> (&'static str, &'static str) {
    match value {
        Value::Null => ("null", ""),
        Value::Bool(_) => ("boolean", ""),
        Value::String(_) => ("string", ""),
        Value::Number(number) if number.as_i64().is_some() => ("integer", "int64"),
        Value::Number(_) => ("number", "float64"),
        Value::Array(_) => ("array", ""),
        Value::Object(_) => ("object", ""),
    }
}

/// Whether a float can be taken for an integer: without a fraction, and exact.
fn is_whole(value: &Value) -> bool {
    const EXACT: f64 = 9_007_199_254_740_991.0;
    value.as_f64().is_some_and(|float| float.fract() == 0.0 && float.abs() <= EXACT)
}

/// A float without a fraction as an integer.
fn whole(number: &Number) -> Option<i64> {
    let text = format!("{}", number.as_f64().filter(|float| float.fract() == 0.0)?);
    text.parse().ok()
}
