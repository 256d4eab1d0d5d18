//! The validation rules (CEL) of a schema.
//!
//! The `cel` crate parses and evaluates. Here is what the API server adds: which values a rule
//! sees, when a rule with `oldSelf` runs, and how a failure reads.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use cel::common::types::{CelBool, CelString};
use cel::objects::{Key, Map as CelMap, Opaque};
use cel::{Context, Env, ExecutionError, Program, Value as CelValue};
use regex::Regex;
use serde_json::Value;

use crate::cause::{Cause, Reason};
use crate::correlate::{Correlated, old_item};
use crate::schema::{Schema, SchemaError, Type};

/// What rules can call: CEL's standard library with the strings extension, as on the server.
static ENV: LazyLock<Result<Arc<Env>, String>> = LazyLock::new(|| {
    let mut env = Env::stdlib();
    cel::add_member_overload!(env, fn matches: (CelString<'_>, CelString<'_>) -> Result<CelBool>)
        .and_then(|()| env.add_extension(cel::extensions::strings).map(drop))
        .map_err(|error| error.to_string())?;
    Ok(Arc::new(env))
});

/// Patterns that rules use. They are literals in the rules of one schema, so they are few; the
/// bound is for those that are not.
static PATTERNS: LazyLock<Mutex<HashMap<String, Regex>>> = LazyLock::new(Mutex::default);
const MOST_PATTERNS: usize = 256;

fn matches(text: &CelString<'_>, pattern: &CelString<'_>) -> Result<CelBool, ExecutionError> {
    let mut patterns = PATTERNS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(regex) = patterns.get(pattern.inner()) {
        return Ok(CelBool::from(regex.is_match(text.inner())));
    }
    let regex = Regex::new(pattern.inner()).map_err(|error| ExecutionError::FunctionError {
        function: "matches".to_owned(),
        message: error.to_string(),
    })?;
    let matched = regex.is_match(text.inner());
    if patterns.len() >= MOST_PATTERNS {
        patterns.clear();
    }
    patterns.insert(pattern.inner().to_owned(), regex);
    Ok(CelBool::from(matched))
}

/// A rule of `x-kubernetes-validations`.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    program: Arc<Program>,
    message_program: Option<Arc<Program>>,
    /// What the message is when there is no expression for it, or that fails.
    message: String,
    /// How errors name the rule.
    name: String,
    /// The field, relative to the node of the rule, with a dot in front.
    field: String,
    reason: Reason,
    uses_old: bool,
}

impl Rule {
    pub(crate) fn parse(rule: &Value, at: &str) -> Result<Self, SchemaError> {
        let text = |name: &str| rule.get(name).and_then(Value::as_str).unwrap_or_default().trim();
        let program = compile(text("rule"), at)?;
        let message_program = match text("messageExpression") {
            "" => None,
            expression => Some(Arc::new(compile(expression, at)?)),
        };
        let (message, name) = match text("message") {
            "" => (format!("failed rule: {}", text("rule")), text("rule")),
            message => (message.to_owned(), message),
        };
        let field = text("fieldPath");
        if field.contains('[') || (!field.is_empty() && !field.starts_with('.')) {
            return Err(malformed(at, "fieldPath", field));
        }
        let reason = match text("reason") {
            "" | "FieldValueInvalid" => Reason::Invalid,
            "FieldValueForbidden" => Reason::Forbidden,
            "FieldValueRequired" => Reason::Required,
            "FieldValueDuplicate" => Reason::Duplicate,
            other => return Err(malformed(at, "reason", other)),
        };
        let uses_old = program.references().has_variable("oldSelf");
        if rule.get("optionalOldSelf") == Some(&Value::Bool(true)) {
            return Err(malformed(at, "optionalOldSelf", "true"));
        }
        Ok(Self {
            program: Arc::new(program),
            message_program,
            name: name.to_owned(),
            message,
            field: field.to_owned(),
            reason,
            uses_old,
        })
    }
}

fn compile(expression: &str, at: &str) -> Result<Program, SchemaError> {
    let error = |error: String| SchemaError::Rule { at: at.to_owned(), error };
    let env = ENV.as_ref().map_err(|why| error(why.clone()))?;
    env.compile(expression).map_err(|why| error(why.to_string()))
}

fn malformed(at: &str, keyword: &str, value: &str) -> SchemaError {
    SchemaError::Malformed { at: at.to_owned(), keyword: keyword.to_owned(), value: value.to_owned() }
}

/// An old value: the one that rules see as `oldSelf`, and the chain by which an unchanged value is
/// recognised. The two part ways in lists that have no keys.
#[derive(Clone, Copy)]
struct Old<'a> {
    value: Option<&'a Value>,
    node: Option<Correlated<'a>>,
    /// The nearest node above that has an old value.
    above: Option<Correlated<'a>>,
}

impl Old<'_> {
    fn unchanged(self) -> bool {
        self.node.or(self.above).is_some_and(Correlated::unchanged)
    }
}

/// Evaluates the rules of a schema for a value.
pub(crate) fn check(schema: &Schema, value: &Value, old: Option<&Value>) -> Vec<Cause> {
    let node = old.map(|old| Correlated::root(schema, value, old));
    let mut found = Vec::new();
    walk(schema, value, Old { value: old, node, above: None }, "", &mut found);
    found
}

fn walk(schema: &Schema, value: &Value, old: Old<'_>, path: &str, found: &mut Vec<Cause>) {
    if !schema.has_rules || value.is_null() {
        return;
    }
    evaluate(schema, value, old, path, found);
    match value {
        Value::Array(items) => {
            let Some(schema_of_item) = schema.items.as_deref() else { return };
            for (i, item) in items.iter().enumerate() {
                let old = Old {
                    value: old.value.and_then(|list| old_item(schema, i, item, list)),
                    node: old.node.and_then(|node| node.index(i)),
                    above: old.node.or(old.above),
                };
                walk(schema_of_item, item, old, &format!("{path}[{i}]"), found);
            }
        }
        Value::Object(entries) => {
            for (name, value) in entries {
                let Some(below) = schema.entry(name) else { continue };
                let old = Old {
                    value: old.value.and_then(|old| old.get(name)),
                    node: old.node.and_then(|node| node.key(name)),
                    above: old.node.or(old.above),
                };
                let path = match (schema.properties.contains_key(name), path) {
                    (true, "") => name.clone(),
                    (true, path) => format!("{path}.{name}"),
                    (false, path) => format!("{path}[{name}]"),
                };
                walk(below, value, old, &path, found);
            }
        }
        _ => {}
    }
}

fn evaluate(schema: &Schema, value: &Value, old: Old<'_>, path: &str, found: &mut Vec<Cause>) {
    if schema.rules.is_empty() {
        return;
    }
    let old_value = old.value.filter(|old| !old.is_null());
    let Ok(env) = ENV.as_ref() else { return };
    let mut context = Context::with_env(Arc::clone(env));
    context.add_variable_from_value("self", seen_by_rules(schema, value));
    if let Some(old) = old_value.filter(|_| schema.rules.iter().any(|rule| rule.uses_old)) {
        context.add_variable_from_value("oldSelf", seen_by_rules(schema, old));
    }
    for rule in schema.rules.iter().filter(|rule| !rule.uses_old || old_value.is_some()) {
        match rule.program.execute(&context) {
            Ok(CelValue::Bool(true)) => {}
            Ok(_) => {
                if rule.uses_old || !old.unchanged() {
                    found.push(rule.failure(schema, value, path, &context));
                }
            }
            Err(error) => found.push(rule.error(schema, &error, path)),
        }
    }
}

impl Rule {
    fn failure(&self, schema: &Schema, value: &Value, path: &str, context: &Context<'_, '_>) -> Cause {
        let message = self.message_program.as_ref().and_then(|program| match program.execute(context) {
            Ok(CelValue::String(text)) => Some(text.trim().to_owned()),
            _ => None,
        });
        let message = message
            .filter(|text| !text.is_empty() && !text.contains('\n') && text.len() <= MAX_MESSAGE)
            .unwrap_or_else(|| self.message.clone());
        let field = format!("{path}{}", self.field);
        let whole = matches!(schema.kind, Some(Type::Object | Type::Array));
        match self.reason {
            Reason::Forbidden => Cause::forbidden(field, &message),
            Reason::Required => Cause::required(field, &message),
            Reason::Duplicate if whole => Cause::duplicate_unquoted(field),
            Reason::Duplicate => Cause::duplicate(field, value),
            _ if whole => Cause::invalid_unquoted(field, &message),
            _ => Cause::invalid(field, value, &message),
        }
    }

    /// An expression that cannot be evaluated for this value.
    fn error(&self, schema: &Schema, error: &ExecutionError, path: &str) -> Cause {
        let detail = match error {
            ExecutionError::NoSuchOverload(overload)
                if overload.argument_types().iter().any(|name| name.contains(FLOAT_FOR_INTEGER)) =>
            {
                format!("invalid data, expected int, got float64 evaluating rule: {}", self.name)
            }
            ExecutionError::NoSuchOverload(_) => format!(
                "'no such overload': call arguments did not match a supported operator, function or macro \
                 signature for rule: {}",
                self.name
            ),
            ExecutionError::NoSuchKey(key) => format!("no such key: {key} evaluating rule: {}", self.name),
            other => format!("{other} evaluating rule: {}", self.name),
        };
        let kind = schema.kind.map_or("", Type::name);
        Cause::invalid(path, &Value::from(kind), &detail)
    }
}

/// The longest result of a `messageExpression` that the server uses.
const MAX_MESSAGE: usize = 5 * 1024;

/// A float where the schema has an integer. The schema lets it pass if it has no fraction; rules cannot use it.
#[derive(Debug, PartialEq, Eq)]
struct FloatForInteger;

const FLOAT_FOR_INTEGER: &str = "float64 for int";

impl Opaque for FloatForInteger {
    fn runtime_type_name(&self) -> &str {
        FLOAT_FOR_INTEGER
    }
}

/// A value as rules see it: what the schema does not know is absent, and so is a null property.
fn seen_by_rules(schema: &Schema, value: &Value) -> CelValue {
    match value {
        Value::Null => CelValue::Null,
        Value::Bool(flag) => CelValue::Bool(*flag),
        Value::Number(number) => match number.as_i64() {
            Some(integer) if schema.kind == Some(Type::Number) => CelValue::Float(integer as f64),
            Some(integer) => CelValue::Int(integer),
            None if schema.kind == Some(Type::Integer) => CelValue::Opaque(Arc::new(FloatForInteger)),
            None => CelValue::Float(number.as_f64().unwrap_or_default()),
        },
        Value::String(text) => CelValue::String(Arc::new(text.clone())),
        Value::Array(items) => {
            let Some(schema) = schema.items.as_deref() else { return CelValue::List(Arc::default()) };
            CelValue::List(Arc::new(items.iter().map(|item| seen_by_rules(schema, item)).collect()))
        }
        Value::Object(entries) => {
            let fixed = !schema.properties.is_empty();
            let seen = entries.iter().filter_map(|(name, value)| {
                let below = schema.entry(name)?;
                // A rule finds no field that is null, and yet counts it.
                let is_hidden = fixed && value.is_null();
                let name = if is_hidden { format!("\0{name}") } else { name.clone() };
                Some((Key::String(Arc::new(name)), seen_by_rules(below, value)))
            });
            CelValue::Map(CelMap { map: Arc::new(seen.collect()) })
        }
    }
}
