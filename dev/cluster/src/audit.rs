//! Reads the API server's audit log: who asked for what, and was it allowed.
//!
//! The server writes a request's line when it has answered it, so an answered request is in the log or about to be.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;

use jiff::Timestamp;
use serde::Deserialize;

use crate::error::Error;

const WRITES: [&str; 5] = ["create", "update", "patch", "delete", "deletecollection"];

/// One finished request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Kubernetes verb, such as `create` or `watch`.
    pub verb: String,
    /// API group; empty for the core group.
    pub group: String,
    /// Plural resource name; empty for paths that are no resources.
    pub resource: String,
    /// Subresource, such as `status`; empty without one.
    pub subresource: String,
    /// Object name; empty for collections.
    pub name: String,
    /// Namespace; empty for cluster-wide requests.
    pub namespace: String,
    /// HTTP status of the answer.
    pub code: u16,
    /// What the server answered when it refused; else mostly empty.
    pub message: String,
    /// User name; the impersonated one if there was impersonation.
    pub user: String,
    /// Whether the request asked the server to change nothing.
    pub dry_run: bool,
    /// When the server received it.
    pub timestamp: Timestamp,
    /// When it had answered.
    pub answered: Timestamp,
}

impl Request {
    /// Whether the request may change something (dry runs do not, but count).
    pub fn is_write(&self) -> bool {
        WRITES.contains(&self.verb.as_str())
    }
}

/// All requests by a user which the server received at `since` or later.
///
/// # Errors
/// If the file cannot be read, or a line that is complete cannot be parsed.
pub fn requests(path: &Path, since: Timestamp, user: &str) -> Result<Vec<Request>, Error> {
    read(path, user, |request| request.user == user && request.timestamp >= since)
}

/// All requests about objects of a namespace, by any client.
///
/// # Errors
/// As [`requests`].
pub fn requests_in(path: &Path, namespace: &str) -> Result<Vec<Request>, Error> {
    read(path, namespace, |request| request.namespace == namespace)
}

/// The requests with this text in their lines which are of interest.
fn read(path: &Path, text: &str, is_of_interest: impl Fn(&Request) -> bool) -> Result<Vec<Request>, Error> {
    let mut reader = BufReader::new(File::open(path).map_err(Error::io("opening", path))?);
    let mut found = Vec::new();
    let mut line = String::new();
    loop {
        line.clear();
        reader.read_line(&mut line).map_err(Error::io("reading", path))?;
        // The last line may be half written still.
        if !line.ends_with('\n') {
            return Ok(found);
        }
        // Most lines are by others; parsing them would take most of the time.
        if !line.contains(text) {
            continue;
        }
        let request = serde_json::from_str::<Line>(&line)?.into_request();
        found.extend(request.filter(&is_of_interest));
    }
}

/// The writes among [`requests`].
///
/// # Errors
/// As [`requests`].
pub fn writes(path: &Path, since: Timestamp, user: &str) -> Result<Vec<Request>, Error> {
    let mut found = requests(path, since, user)?;
    found.retain(Request::is_write);
    Ok(found)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    stage: String,
    #[serde(rename = "requestURI", default)]
    uri: String,
    verb: String,
    user: UserInfo,
    impersonated_user: Option<UserInfo>,
    #[serde(default)]
    object_ref: ObjectRef,
    #[serde(default)]
    response_status: ResponseStatus,
    request_received_timestamp: Timestamp,
    stage_timestamp: Timestamp,
}

#[derive(Deserialize)]
struct UserInfo {
    #[serde(default)]
    username: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ObjectRef {
    api_group: String,
    resource: String,
    subresource: String,
    name: String,
    namespace: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ResponseStatus {
    code: u16,
    message: String,
}

impl Line {
    /// A watch has a line when it starts and one when it ends: the latter
    /// counts, and stands for all requests.
    fn into_request(self) -> Option<Request> {
        if self.stage == "ResponseStarted" {
            return None;
        }
        Some(Request {
            verb: self.verb,
            group: self.object_ref.api_group,
            resource: self.object_ref.resource,
            subresource: self.object_ref.subresource,
            name: self.object_ref.name,
            namespace: self.object_ref.namespace,
            code: self.response_status.code,
            message: self.response_status.message,
            user: self.impersonated_user.unwrap_or(self.user).username,
            dry_run: self.uri.contains("dryRun="),
            timestamp: self.request_received_timestamp,
            answered: self.stage_timestamp,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","auditID":"1","stage":"ResponseComplete","requestURI":"/api/v1/namespaces/n/pods/p/status?dryRun=All","verb":"patch","user":{"username":"admin","groups":["system:masters"]},"impersonatedUser":{"username":"operator"},"sourceIPs":["127.0.0.1"],"userAgent":"kubectl","objectRef":{"resource":"pods","namespace":"n","name":"p","apiVersion":"v1","subresource":"status"},"responseStatus":{"metadata":{},"code":200},"requestReceivedTimestamp":"2026-01-01T00:00:05.123456Z","stageTimestamp":"2026-01-01T00:00:05.2Z"}"#;

    fn at(second: u32) -> Timestamp {
        format!("2026-01-01T00:00:{second:02}Z").parse().unwrap()
    }

    #[test]
    fn finds_requests_by_effective_user_and_time() {
        let path = std::env::temp_dir().join(format!("audit-{}.log", std::process::id()));
        std::fs::write(&path, format!("{LINE}\n{}", LINE.get(..100).unwrap())).unwrap();
        let found = writes(&path, at(5), "operator").unwrap();
        assert_eq!(found.len(), 1);
        let request = found.first().unwrap();
        assert_eq!(
            (request.verb.as_str(), request.subresource.as_str(), request.code),
            ("patch", "status", 200)
        );
        assert!(request.dry_run);
        assert!(request.answered > request.timestamp);
        assert_eq!(requests_in(&path, "n").unwrap().len(), 1);
        assert_eq!(requests_in(&path, "p").unwrap(), []);
        assert_eq!(writes(&path, at(6), "operator").unwrap(), []);
        assert_eq!(writes(&path, at(5), "admin").unwrap(), []);
        std::fs::remove_file(&path).unwrap();
    }
}
