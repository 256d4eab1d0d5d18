//! Checks manifests of Rollwright Deployments offline: reports what the API server would refuse, with its
//! messages and the line of each error.
//!
//! The checks are those of this crate, with the schema and the rules of the definition that the program
//! contains. They are strict, as with kubectl. Only a cluster knows about webhooks, quotas, taken names, and
//! fields that must not change, so nothing here checks those.

pub mod files;
mod yaml;

use crate::pod_spec::pod_spec;
use crate::{Cause, Crd, default_pod_template, nearest};
use serde::Serialize;
use serde_json::Value;

use self::yaml::{Document, Lines};

/// What is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The line, from 1.
    pub line: usize,
    /// Name of the Deployment; empty if it has none, or if the text is not YAML.
    pub name: String,
    /// Path of the field; empty where there is none.
    pub field: String,
    /// As the server words it.
    pub message: String,
}

/// The outcome of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Deployments that were checked.
    pub checked: usize,
    /// Other objects.
    pub skipped: usize,
    /// What is wrong, in the order of lines.
    pub findings: Vec<Finding>,
}

/// Which Deployments to check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// Those of Rollwright's API group.
    Ours,
    /// Those of apps/v1 too, as they would be with Rollwright's `apiVersion`.
    AppsToo,
}

/// Checks manifests by one definition.
#[derive(Debug)]
pub struct Linter {
    crd: Crd,
    which: Which,
}

/// The objects of a text as kubectl reads them: YAML with any number of documents, or JSON; those of
/// lists one by one.
///
/// # Errors
/// When the text is not YAML; names the line.
pub fn objects(text: &str) -> Result<Vec<Value>, String> {
    let (documents, malformed) = yaml::read(text);
    match malformed {
        Some(malformed) => Err(format!("line {}: not YAML: {}", malformed.line, malformed.problem)),
        None => {
            let all = documents.into_iter().flat_map(|document| members(document.value));
            Ok(all.map(|(_, object)| object).collect())
        }
    }
}

/// An object, or those of a list, each with its place in the document.
fn members(value: Value) -> Vec<(String, Value)> {
    let is_list = text(&value, "/apiVersion") == "v1" && text(&value, "/kind") == "List";
    match value.pointer("/items").and_then(Value::as_array) {
        Some(items) if is_list => {
            let at = |(index, item): (usize, &Value)| (format!("items[{index}]"), item.clone());
            items.iter().enumerate().map(at).collect()
        }
        _ => vec![(String::new(), value)],
    }
}

impl Linter {
    /// With the definition that `rollwright crd` prints.
    ///
    /// # Errors
    /// When it cannot be read, which a test excludes.
    pub fn new(which: Which) -> Result<Self, String> {
        let definition = api::crd::crd(None).map_err(|error| error.to_string())?;
        let crd = Crd::parse(&definition).map_err(|error| error.to_string())?;
        Ok(Self { crd, which })
    }

    /// Checks all objects of a text: YAML with any number of documents, or JSON; lists too.
    #[must_use]
    pub fn check(&self, text: &str) -> Report {
        let mut report = Report::default();
        let (documents, malformed) = yaml::read(text);
        for document in documents {
            self.document(document, &mut report);
        }
        if let Some(malformed) = malformed {
            let message = format!("not YAML: {}", malformed.problem);
            let finding =
                Finding { line: malformed.line, name: String::new(), field: String::new(), message };
            report.findings.push(finding);
        }
        report.findings.sort_by_key(|finding| finding.line);
        report
    }

    /// What to write instead of an unknown field at this path, to append to a message; `None` if no known field is
    /// similar.
    #[must_use]
    pub fn hint(&self, field: &str) -> Option<String> {
        let renamed = api::renamed::instead_of(field).map(|new| format!("; write {new} instead"));
        renamed.or_else(|| self.crd.schema().like(field).map(|like| format!("; did you mean {like}?")))
    }

    fn document(&self, document: Document, report: &mut Report) {
        let Document { value, lines, duplicates } = document;
        for (place, object) in members(value) {
            let place = Place { lines: &lines, prefix: &place, name: text(&object, "/metadata/name") };
            match self.kind(&object) {
                Kind::Checked => {
                    report.checked += 1;
                    report.findings.extend(self.object(object, &place, &duplicates));
                }
                Kind::Unknown(message) => report.findings.push(place.finding("kind", message)),
                Kind::Other => report.skipped += 1,
            }
        }
    }

    fn kind(&self, object: &Value) -> Kind {
        let (version, kind) = (text(object, "/apiVersion"), text(object, "/kind"));
        let group = version.split('/').next().unwrap_or_default();
        let is_checked = match version.as_str() {
            "rollwright.dev/v1" => true,
            "apps/v1" => self.which == Which::AppsToo,
            _ => false,
        };
        if is_checked && kind == "Deployment" {
            Kind::Checked
        } else if group == api::crd::GROUP {
            let message = format!(
                "no matches for kind \"{kind}\" in version \"{version}\": it is Deployment in rollwright.dev/v1"
            );
            Kind::Unknown(message)
        } else if let Some(meant) = meant(group, &kind) {
            let message =
                format!("no matches for kind \"{kind}\" in version \"{version}\": did you mean {meant}?");
            Kind::Unknown(message)
        } else {
            Kind::Other
        }
    }

    /// The way of a creation through the server.
    fn object(&self, mut object: Value, place: &Place<'_>, duplicates: &[(String, usize)]) -> Vec<Finding> {
        if let Some(members) = object.as_object_mut() {
            members.insert("apiVersion".to_owned(), "rollwright.dev/v1".into());
        }
        let twice = duplicates.iter().filter_map(|(path, line)| {
            let field = place.own(path)?;
            Some(Finding { line: *line, ..place.finding(field, format!("duplicate field \"{field}\"")) })
        });
        let mut findings: Vec<_> = twice.collect();
        match self.crd.decode(&mut object) {
            Err(message) => {
                findings.push(place.finding("metadata", message));
                return findings;
            }
            Ok(unknown) => findings.extend(unknown.into_iter().map(|message| {
                // `unknown field "spec.foo"`
                let field = message.split('"').nth(1).unwrap_or_default().to_owned();
                let hint = self.hint(&field);
                place.finding(&field, message + &hint.unwrap_or_default())
            })),
        }
        // kubectl fills in the namespace of its context.
        if let Some(members) = object.as_object_mut()
            && let Some(metadata) =
                members.entry("metadata").or_insert_with(|| Value::Object(Default::default())).as_object_mut()
        {
            metadata.entry("namespace").or_insert_with(|| "default".into());
        }
        self.crd.prepare_create(&mut object);
        let causes = self.crd.create(&object);
        let of_pods = pods(&mut object);
        // The operator creates a ReplicaSet with the template.
        let of_pods = of_pods.iter().filter(|pod| causes.iter().all(|known| !is_about(known, &pod.field)));
        let of_pods = of_pods
            .map(|cause| place.finding(&cause.field, format!("{cause}; no ReplicaSet can be created")));
        findings
            .extend(causes.iter().map(|cause| place.finding(&cause.field, cause.to_string())).chain(of_pods));
        findings
    }
}

/// The Deployment that a misspelled group or kind means.
fn meant(group: &str, kind: &str) -> Option<&'static str> {
    let is_ours = nearest(group, [api::crd::GROUP]).is_some() && nearest(kind, ["Deployment"]).is_some();
    let is_misspelled = group == "apps" && kind != "Deployment" && nearest(kind, ["Deployment"]).is_some();
    if is_ours {
        Some("Deployment in rollwright.dev/v1")
    } else {
        is_misspelled.then_some("Deployment in apps/v1")
    }
}

/// What the server refuses in the pods of a Deployment, and so in its `ReplicaSet`.
fn pods(object: &mut Value) -> Vec<Cause> {
    let mut found = Vec::new();
    if let Some(template) = object.pointer_mut("/spec/template") {
        default_pod_template(template);
        let spec = template.get("spec").unwrap_or(&Value::Null);
        pod_spec(spec, "spec.template.spec", &mut found);
    }
    found
}

/// Whether a cause is about this field, or one around it.
fn is_about(cause: &Cause, field: &str) -> bool {
    let rest = field.strip_prefix(cause.field.as_str());
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// What an object is to the linter.
enum Kind {
    Checked,
    Unknown(String),
    Other,
}

/// Where an object is in its document.
struct Place<'a> {
    lines: &'a Lines,
    prefix: &'a str,
    name: String,
}

impl Place<'_> {
    fn finding(&self, field: &str, message: String) -> Finding {
        // The server begins the path of what its scale subresource minds with a dot.
        let field = if field == "<nil>" { "" } else { field.trim_start_matches('.') };
        let path = match (self.prefix.is_empty(), field.is_empty()) {
            (true, _) => field.to_owned(),
            (false, true) => self.prefix.to_owned(),
            (false, false) => format!("{}.{field}", self.prefix),
        };
        Finding { line: self.lines.of(&path), name: self.name.clone(), field: field.to_owned(), message }
    }

    /// A path within the document as one within the object, if it is there.
    fn own<'p>(&self, path: &'p str) -> Option<&'p str> {
        if self.prefix.is_empty() { Some(path) } else { path.strip_prefix(self.prefix)?.strip_prefix('.') }
    }
}

fn text(object: &Value, pointer: &str) -> String {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}
