//! The audit log: a line for each request, in the form of a real server's (`audit.k8s.io/v1`, level
//! `Metadata`), so that what reads the one reads the other.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use http::{HeaderMap, Method, Uri, header};
use jiff::Timestamp;
use serde_json::{Value, json};
use world::Subresource;

use crate::path::{Part, Path};
use crate::query::Query;

/// Nobody has to authenticate here.
const USER: &str = "system:anonymous";

/// Where the lines go, and how many there are.
struct Log {
    out: Box<dyn Write + Send>,
    count: u64,
}

/// A log that all clones of a server write to.
#[derive(Clone)]
pub(crate) struct AuditLog(Arc<Mutex<Log>>);

/// The content of a line about a request.
pub(crate) struct Entry {
    line: Value,
}

impl Entry {
    /// What is known when the request has come.
    pub(crate) fn new(method: &Method, uri: &Uri, headers: &HeaderMap, now: Timestamp) -> Self {
        let path = Path::parse(uri.path());
        let query = Query::parse(uri.query().unwrap_or_default());
        let agent = headers.get(header::USER_AGENT).and_then(|agent| agent.to_str().ok());
        let mut line = json!({
            "kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "Metadata",
            "requestURI": uri.path_and_query().map_or("", |path| path.as_str()),
            "verb": verb(method, &path, &query),
            "user": { "username": USER },
            "userAgent": agent.unwrap_or_default(),
            "requestReceivedTimestamp": format!("{now:.6}"),
        });
        if let (Some(object), Some(members)) = (object(&path), line.as_object_mut()) {
            members.insert("objectRef".to_owned(), object);
        }
        Self { line }
    }
}

impl AuditLog {
    pub(crate) fn new(out: Box<dyn Write + Send>) -> Self {
        Self(Arc::new(Mutex::new(Log { out, count: 0 })))
    }

    /// Writes the line of a request that is answered now.
    ///
    /// # Errors
    /// When it cannot be written: then nothing more should be answered.
    pub(crate) fn write(&self, entry: Entry, code: u16, now: Timestamp) -> std::io::Result<()> {
        let mut line = entry.line;
        // A watch has begun; its end is not noted.
        let stage = if line.get("verb").is_some_and(|verb| verb == "watch") {
            "ResponseStarted"
        } else {
            "ResponseComplete"
        };
        let mut log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        log.count += 1;
        if let Some(members) = line.as_object_mut() {
            members.insert("auditID".to_owned(), log.count.to_string().into());
            members.insert("stage".to_owned(), stage.into());
            members.insert("responseStatus".to_owned(), json!({ "metadata": {}, "code": code }));
            members.insert("stageTimestamp".to_owned(), format!("{now:.6}").into());
        }
        log.out.write_all(format!("{line}\n").as_bytes())?;
        log.out.flush()
    }
}

/// Kubernetes' word for what is done.
fn verb(method: &Method, path: &Path, query: &Query) -> String {
    let is_one = match path {
        Path::Object { .. } => true,
        Path::Collection { .. } => false,
        _ => return method.as_str().to_ascii_lowercase(),
    };
    let verb = match (method.as_str(), is_one) {
        ("GET", true) => "get",
        ("GET", false) if query.is_set("watch") => "watch",
        ("GET", false) => "list",
        ("POST", _) => "create",
        ("PUT", _) => "update",
        ("PATCH", _) => "patch",
        ("DELETE", true) => "delete",
        ("DELETE", false) => "deletecollection",
        (other, _) => return other.to_ascii_lowercase(),
    };
    verb.to_owned()
}

/// The object or the collection that a path names.
fn object(path: &Path) -> Option<Value> {
    let (resource, namespace, name, part) = match path {
        Path::Collection { resource, namespace } => {
            (resource, namespace.as_deref().unwrap_or_default(), "", None)
        }
        Path::Object { resource, namespace, name, part } => {
            (resource, namespace.as_str(), name.as_str(), Some(part))
        }
        _ => return None,
    };
    let subresource = match part {
        Some(Part::Of(Subresource::Status)) => "status",
        Some(Part::Of(Subresource::Scale)) => "scale",
        Some(Part::Finalize) => "finalize",
        Some(Part::Log) => "log",
        Some(Part::Of(Subresource::Main)) | None => "",
    };
    let mut object = json!({
        "resource": resource.plural(), "namespace": namespace, "name": name,
        "apiGroup": resource.group(), "apiVersion": "v1", "subresource": subresource,
    });
    if let Some(members) = object.as_object_mut() {
        members.retain(|_, value| *value != "");
    }
    Some(object)
}
