//! A custom resource: decoding and admission as the server does them, in its order.

use serde_json::Value;

use crate::cause::{self, Cause};
use crate::correlate::Correlated;
use crate::schema::{Schema, SchemaError};
use crate::{body, go_text, lists, metadata, prune, rules};

/// After these the server does not evaluate the rules, and reports that.
const RULES_NOT_CHECKED: &str = "some validation rules were not checked because the object was invalid; correct the \
    existing errors to complete validation";

/// A custom resource, as its `CustomResourceDefinition` describes it.
#[derive(Clone, Debug)]
pub struct Crd {
    group: String,
    version: String,
    kind: String,
    schema: Schema,
    has_status: bool,
    scale: Option<Scale>,
}

/// The paths of the scale subresource, without the dot in front.
#[derive(Clone, Debug)]
struct Scale {
    replicas: String,
    status_replicas: String,
    selector: Option<String>,
}

/// The text of a field of a definition.
fn text<'a>(value: &'a Value, pointer: &'static str) -> Result<&'a str, SchemaError> {
    value.pointer(pointer).and_then(Value::as_str).ok_or(SchemaError::Missing(pointer))
}

impl Crd {
    /// Reads a `CustomResourceDefinition`: the version that is stored.
    ///
    /// # Errors
    ///
    /// If it is incomplete, or its schema asks for something that this crate cannot check.
    pub fn parse(crd: &Value) -> Result<Self, SchemaError> {
        let versions = crd.pointer("/spec/versions").and_then(Value::as_array);
        let version = versions
            .and_then(|all| all.iter().find(|version| version.get("storage") == Some(&Value::Bool(true))))
            .ok_or(SchemaError::Missing("stored version"))?;
        let schema = version
            .pointer("/schema/openAPIV3Schema")
            .ok_or(SchemaError::Missing("schema"))
            .and_then(Schema::parse)?;
        if !schema.rules.is_empty() {
            // The rules would see `metadata`, which this crate does not show them.
            let keyword = "x-kubernetes-validations".to_owned();
            return Err(SchemaError::Unsupported { at: "schema".to_owned(), keyword });
        }
        let path = |value: &Value| value.as_str().map(|path| path.trim_start_matches('.').to_owned());
        let scale = version.pointer("/subresources/scale").map(|scale| {
            let get = |name: &str| scale.get(name).and_then(path);
            Scale {
                replicas: get("specReplicasPath").unwrap_or_default(),
                status_replicas: get("statusReplicasPath").unwrap_or_default(),
                selector: get("labelSelectorPath"),
            }
        });
        Ok(Self {
            group: text(crd, "/spec/group")?.to_owned(),
            version: text(version, "/name")?.to_owned(),
            kind: text(crd, "/spec/names/kind")?.to_owned(),
            schema,
            has_status: version.pointer("/subresources/status").is_some(),
            scale,
        })
    }

    /// The schema of the resource.
    #[must_use]
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Decodes an object in place: unknown fields and meaningless nulls are dropped, then defaults
    /// filled in. Returns what a strict decoder complains of, such as `unknown field "spec.foo"`;
    /// see [`crate::strict_error`].
    ///
    /// # Errors
    ///
    /// The server's message if `metadata` has a value of the wrong type; see
    /// [`crate::undecodable`].
    pub fn decode(&self, object: &mut Value) -> Result<Vec<String>, String> {
        let mut unknown = metadata::decode(object)?;
        unknown.extend(prune::prune(&self.schema, object));
        prune::drop_nulls(Some(&self.schema), object);
        prune::default(&self.schema, object);
        Ok(unknown.into_iter().map(|path| format!("unknown field \"{path}\"")).collect())
    }

    /// What is wrong with an object to create. It has been decoded, and [prepared](Self::prepare_create).
    #[must_use]
    pub fn create(&self, object: &Value) -> Vec<Cause> {
        let mut found = self.type_meta(object);
        if found.is_empty() {
            found.extend(metadata::on_create(object));
            found.extend(body::check(&self.schema, object, "", None));
            found.extend(self.scale_spec(object));
            found.extend(self.scale_status(object));
        }
        lists::check(&self.schema, object, "", &mut found);
        self.rules(object, None, &mut found);
        found
    }

    /// What is wrong with an object that replaces another.
    #[must_use]
    pub fn update(&self, new: &Value, old: &Value) -> Vec<Cause> {
        let mut found = self.type_meta(new);
        if found.is_empty() {
            found.extend(metadata::on_update(new, old));
            let root = Correlated::root(&self.schema, new, old);
            found.extend(body::check(&self.schema, new, "", Some(root)));
            found.extend(self.scale_spec(new));
            found.extend(self.scale_status(new));
        }
        self.new_duplicates(new, old, &mut found);
        self.rules(new, Some(old), &mut found);
        found
    }

    /// What is wrong with an object when a request replaces its status.
    #[must_use]
    pub fn update_status(&self, new: &Value, old: &Value) -> Vec<Cause> {
        let mut found = self.type_meta(new);
        if found.is_empty() {
            found.extend(metadata::on_update(new, old));
            if let (Some(schema), Some(status)) = (self.schema.property("status"), new.get("status")) {
                let root = Correlated::root(&self.schema, new, old).key("status");
                found.extend(body::check(schema, status, "status", root));
            }
            found.extend(self.scale_status(new));
        }
        self.new_duplicates(new, old, &mut found);
        self.rules(new, Some(old), &mut found);
        found
    }

    /// What the server does to a new object between decoding and checking it: nobody creates a
    /// status, and the generation is 1.
    pub fn prepare_create(&self, object: &mut Value) {
        let Some(object) = object.as_object_mut() else { return };
        if self.has_status {
            object.remove("status");
        }
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.insert("generation".to_owned(), 1.into());
        }
    }

    /// The `Status` (422) for an object of this kind that is refused.
    #[must_use]
    pub fn invalid(&self, name: &str, causes: &[Cause]) -> Value {
        cause::invalid(&self.group, &self.kind, name, causes)
    }

    /// The `Status` (400) for a body that cannot be decoded, or may not be as it is.
    #[must_use]
    pub fn undecodable(&self, why: &str) -> Value {
        cause::undecodable(&self.kind, &self.version, why)
    }

    fn type_meta(&self, object: &Value) -> Vec<Cause> {
        let api_version = format!("{}/{}", self.group, self.version);
        [("kind", &self.kind), ("apiVersion", &api_version)]
            .into_iter()
            .filter_map(|(name, wanted)| {
                let given = object.get(name).and_then(Value::as_str).unwrap_or_default();
                let why = format!("must be {wanted}");
                (given != wanted).then(|| Cause::invalid(name, &Value::from(given), &why))
            })
            .collect()
    }

    fn rules(&self, new: &Value, old: Option<&Value>, found: &mut Vec<Cause>) {
        if found.iter().any(|cause| cause.reason.blocks_rules()) {
            found.push(Cause::invalid("<nil>", &Value::Null, RULES_NOT_CHECKED));
        } else {
            found.extend(rules::check(&self.schema, new, old));
        }
    }

    fn new_duplicates(&self, new: &Value, old: &Value, found: &mut Vec<Cause>) {
        let mut before = Vec::new();
        lists::check(&self.schema, old, "", &mut before);
        if before.is_empty() {
            lists::check(&self.schema, new, "", found);
        }
    }

    fn scale_spec(&self, object: &Value) -> Option<Cause> {
        count(object, &self.scale.as_ref()?.replicas)
    }

    fn scale_status(&self, object: &Value) -> Vec<Cause> {
        let Some(scale) = &self.scale else { return Vec::new() };
        let selector = scale.selector.as_ref().and_then(|path| {
            let wrong = match nested(object, path) {
                Ok(Some(value)) if !value.is_string() => Some(accessor_error(path, value, "string")),
                Ok(_) => None,
                Err(why) => Some(why),
            };
            wrong.map(|why| Cause::invalid(format!(".{path}"), &Value::from(""), &why))
        });
        count(object, &scale.status_replicas).into_iter().chain(selector).collect()
    }
}

/// Checks a number of replicas that the scale subresource shows.
fn count(object: &Value, path: &str) -> Option<Cause> {
    let field = format!(".{path}");
    let value = match nested(object, path) {
        Ok(value) => value?,
        Err(why) => return Some(Cause::invalid(field, &Value::from(0), &why)),
    };
    match value.as_i64() {
        None => Some(Cause::invalid(field, &Value::from(0), &accessor_error(path, value, "int64"))),
        Some(n) if n < 0 => Some(Cause::invalid(field, value, "should be a non-negative integer")),
        Some(n) if n > i64::from(i32::MAX) => {
            Some(Cause::invalid(field, value, &format!("should be less than or equal to {}", i32::MAX)))
        }
        Some(_) => None,
    }
}

fn nested<'a>(object: &'a Value, path: &str) -> Result<Option<&'a Value>, String> {
    let mut value = object;
    let mut walked = String::new();
    for name in path.split('.') {
        walked.push_str(if walked.is_empty() { "" } else { "." });
        walked.push_str(name);
        match value {
            Value::Null => return Ok(None),
            Value::Object(entries) => match entries.get(name) {
                Some(below) => value = below,
                None => return Ok(None),
            },
            other => return Err(accessor_error(&walked, other, "map[string]interface{}")),
        }
    }
    Ok(Some(value))
}

fn accessor_error(path: &str, value: &Value, wanted: &str) -> String {
    let (shown, got) = (go_text::plain(value), go_text::type_name(value));
    format!(".{path} accessor error: {shown} is of the type {got}, expected {wanted}")
}
