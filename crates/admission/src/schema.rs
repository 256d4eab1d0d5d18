//! A structural schema, read once.

use std::collections::BTreeMap;

use regex::Regex;
use serde_json::{Map, Value};

use crate::nearest;
use crate::rules::Rule;

/// Why a schema cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SchemaError {
    /// The document is not a `CustomResourceDefinition`, or lacks this part.
    #[error("the CustomResourceDefinition has no {0}")]
    Missing(&'static str),
    /// A keyword that this crate does not check. Ignoring it would let through what the server
    /// refuses.
    #[error("{at}: {keyword} is not supported")]
    Unsupported {
        /// Path of the node.
        at: String,
        /// The keyword.
        keyword: String,
    },
    /// A keyword with a value that has no meaning.
    #[error("{at}: {keyword} has a value that cannot be used: {value}")]
    Malformed {
        /// Path of the node.
        at: String,
        /// The keyword.
        keyword: String,
        /// The value.
        value: String,
    },
    /// A rule that does not parse.
    #[error("{at}: {error}")]
    Rule {
        /// Path of the node.
        at: String,
        /// The error of the parser.
        error: String,
    },
}

/// The types that a schema can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    Object,
    Array,
    String,
    Integer,
    Number,
    Boolean,
}

impl Type {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Object => "object",
            Self::Array => "array",
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
        }
    }

    fn parse(name: &str) -> Option<Self> {
        [Self::Object, Self::Array, Self::String, Self::Integer, Self::Number, Self::Boolean]
            .into_iter()
            .find(|kind| kind.name() == name)
    }
}

/// The formats that the server checks, of those that Rollwright's CRD uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Int32,
    Int64,
    DateTime,
}

impl Format {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Int32 => "int32",
            Self::Int64 => "int64",
            Self::DateTime => "date-time",
        }
    }

    fn parse(name: &str) -> Option<Self> {
        [Self::Int32, Self::Int64, Self::DateTime].into_iter().find(|format| format.name() == name)
    }
}

/// How a list is merged, which decides what must be unique in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum ListType {
    /// Replaced as a whole.
    #[default]
    Atomic,
    /// Each value once.
    Set,
    /// Each combination of these keys once.
    Map(Vec<String>),
}

/// A regular expression with its text.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    pub(crate) source: String,
    pub(crate) regex: Regex,
}

/// The bounds of a value.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bounds {
    pub(crate) minimum: Option<f64>,
    pub(crate) maximum: Option<f64>,
    pub(crate) min_length: Option<u64>,
    pub(crate) max_length: Option<u64>,
    pub(crate) min_items: Option<u64>,
    pub(crate) max_items: Option<u64>,
    pub(crate) min_properties: Option<u64>,
    pub(crate) max_properties: Option<u64>,
    pub(crate) pattern: Option<Pattern>,
}

/// A structural schema: `openAPIV3Schema` of a `CustomResourceDefinition`, or a part of it.
///
/// Reading it fails on a keyword that is not checked here, so that nothing is passed over in
/// silence.
#[derive(Clone, Debug, Default)]
pub struct Schema {
    pub(crate) kind: Option<Type>,
    pub(crate) int_or_string: bool,
    pub(crate) nullable: bool,
    pub(crate) preserve: bool,
    pub(crate) properties: BTreeMap<String, Schema>,
    pub(crate) entries: Option<Box<Schema>>,
    pub(crate) items: Option<Box<Schema>>,
    pub(crate) required: Vec<String>,
    pub(crate) values: Vec<Value>,
    pub(crate) bounds: Bounds,
    pub(crate) format: Option<Format>,
    pub(crate) not: Option<Box<Schema>>,
    pub(crate) list_type: ListType,
    pub(crate) default: Option<Value>,
    pub(crate) rules: Vec<Rule>,
    /// Whether this node or one below it has rules.
    pub(crate) has_rules: bool,
}

impl Schema {
    /// Reads a schema.
    ///
    /// # Errors
    ///
    /// If it has a keyword or a rule that cannot be checked.
    pub fn parse(schema: &Value) -> Result<Self, SchemaError> {
        Self::node(schema, "schema")
    }

    /// The schema of a property of an object.
    #[must_use]
    pub fn property(&self, name: &str) -> Option<&Self> {
        self.properties.get(name)
    }

    /// The path of the property that is spelled most like an unknown one, which has this path.
    pub(crate) fn like(&self, path: &str) -> Option<String> {
        let (holder, name) = path.rsplit_once('.').unwrap_or(("", path));
        let mut schema = self;
        for part in holder.split('.').filter(|part| !part.is_empty()) {
            let mut indices = part.split('[');
            schema = schema.entry(indices.next()?)?;
            for _ in indices {
                schema = schema.items.as_deref()?;
            }
        }
        let like = nearest(name, schema.properties.keys().map(String::as_str))?;
        Some(path.strip_suffix(name)?.to_owned() + like)
    }

    /// The schema of an entry of an object: of the property, or of additional ones.
    pub(crate) fn entry(&self, name: &str) -> Option<&Self> {
        self.properties.get(name).or(self.entries.as_deref())
    }

    fn node(schema: &Value, at: &str) -> Result<Self, SchemaError> {
        let mut node = Self::default();
        let Value::Object(keywords) = schema else {
            return Err(malformed(at, "schema", schema));
        };
        for (keyword, value) in keywords {
            let known = node.shape(keyword, value, at)?
                || node.children(keyword, value, at)?
                || node.bounds.read(keyword, value, at)?;
            if !known {
                return Err(SchemaError::Unsupported { at: at.to_owned(), keyword: keyword.clone() });
            }
        }
        node.list_type = list_type(keywords, at)?;
        let below = node.properties.values().chain(node.entries.as_deref()).chain(node.items.as_deref());
        node.has_rules = !node.rules.is_empty() || below.into_iter().any(|child| child.has_rules);
        Ok(node)
    }

    fn shape(&mut self, keyword: &str, value: &Value, at: &str) -> Result<bool, SchemaError> {
        let bad = || malformed(at, keyword, value);
        let flag = || value.as_bool().ok_or_else(bad);
        match keyword {
            "description"
            | "title"
            | "x-kubernetes-map-type"
            | "x-kubernetes-list-type"
            | "x-kubernetes-list-map-keys" => {}
            "type" => self.kind = Some(value.as_str().and_then(Type::parse).ok_or_else(bad)?),
            "format" => self.format = Some(value.as_str().and_then(Format::parse).ok_or_else(bad)?),
            "nullable" => self.nullable = flag()?,
            "x-kubernetes-int-or-string" => self.int_or_string = flag()?,
            "x-kubernetes-preserve-unknown-fields" => self.preserve = flag()?,
            "default" => self.default = Some(value.clone()),
            "enum" => self.values = value.as_array().ok_or_else(bad)?.clone(),
            "required" => self.required = strings(value).ok_or_else(bad)?,
            "x-kubernetes-validations" => {
                for rule in value.as_array().ok_or_else(bad)? {
                    self.rules.push(Rule::parse(rule, at)?);
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn children(&mut self, keyword: &str, value: &Value, at: &str) -> Result<bool, SchemaError> {
        match keyword {
            "properties" => {
                for (name, property) in value.as_object().ok_or_else(|| malformed(at, keyword, value))? {
                    let schema = Self::node(property, &format!("{at}.{name}"))?;
                    self.properties.insert(name.clone(), schema);
                }
            }
            "additionalProperties" => self.entries = Some(Box::new(Self::node(value, &format!("{at}{{}}"))?)),
            "items" => self.items = Some(Box::new(Self::node(value, &format!("{at}[]"))?)),
            "not" => self.not = Some(Box::new(Self::node(value, at)?)),
            _ => return Ok(false),
        }
        Ok(true)
    }
}

impl Bounds {
    fn read(&mut self, keyword: &str, value: &Value, at: &str) -> Result<bool, SchemaError> {
        let bad = || malformed(at, keyword, value);
        let size = || value.as_u64().ok_or_else(bad).map(Some);
        let number = || value.as_f64().ok_or_else(bad).map(Some);
        match keyword {
            "minimum" => self.minimum = number()?,
            "maximum" => self.maximum = number()?,
            "minLength" => self.min_length = size()?,
            "maxLength" => self.max_length = size()?,
            "minItems" => self.min_items = size()?,
            "maxItems" => self.max_items = size()?,
            "minProperties" => self.min_properties = size()?,
            "maxProperties" => self.max_properties = size()?,
            "pattern" => {
                let source = value.as_str().ok_or_else(bad)?.to_owned();
                let regex = Regex::new(&source).map_err(|_| bad())?;
                self.pattern = Some(Pattern { source, regex });
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

fn list_type(keywords: &Map<String, Value>, at: &str) -> Result<ListType, SchemaError> {
    let Some(value) = keywords.get("x-kubernetes-list-type") else { return Ok(ListType::Atomic) };
    let keys = keywords.get("x-kubernetes-list-map-keys").and_then(strings);
    match (value.as_str(), keys) {
        (Some("atomic"), _) => Ok(ListType::Atomic),
        (Some("set"), _) => Ok(ListType::Set),
        (Some("map"), Some(keys)) => Ok(ListType::Map(keys)),
        _ => Err(malformed(at, "x-kubernetes-list-type", value)),
    }
}

fn strings(value: &Value) -> Option<Vec<String>> {
    value.as_array()?.iter().map(|item| item.as_str().map(str::to_owned)).collect()
}

fn malformed(at: &str, keyword: &str, value: &Value) -> SchemaError {
    SchemaError::Malformed { at: at.to_owned(), keyword: keyword.to_owned(), value: value.to_string() }
}
