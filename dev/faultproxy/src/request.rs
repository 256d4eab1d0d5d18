//! What a request asks for, read from its method, path and query.

use http::{Method, Uri};

/// A request to the Kubernetes API.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Kubernetes verb: `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`,
    /// `deletecollection`, or the method of anything else.
    pub verb: String,
    /// API group; empty for the core group and for paths that are no resources.
    pub group: String,
    /// Plural resource name; empty for paths that are no resources.
    pub resource: String,
    /// Subresource, such as `status`; empty without one.
    pub subresource: String,
    /// Namespace; empty for cluster-wide requests.
    pub namespace: String,
    /// Object name; empty for collections.
    pub name: String,
    /// The path as it came.
    pub path: String,
    /// The query as it came.
    pub query: String,
    /// The body's media type.
    pub content_type: String,
}

impl Request {
    /// Reads method and URI.
    #[must_use]
    pub fn new(method: &Method, uri: &Uri) -> Self {
        let query = uri.query().unwrap_or_default().to_owned();
        let mut request = Self { path: uri.path().to_owned(), query, ..Self::default() };
        let segments: Vec<&str> = uri.path().split('/').filter(|segment| !segment.is_empty()).collect();
        let rest = match segments.as_slice() {
            ["api", _, rest @ ..] => rest,
            ["apis", group, _, rest @ ..] => {
                (*group).clone_into(&mut request.group);
                rest
            }
            _ => &[],
        };
        request.locate(rest);
        request.verb = request.verb_of(method);
        request
    }

    fn locate(&mut self, segments: &[&str]) {
        let segments = match segments {
            ["namespaces", namespace, rest @ ..] if !rest.is_empty() => {
                (*namespace).clone_into(&mut self.namespace);
                rest
            }
            all => all,
        };
        let segment = |index: usize| segments.get(index).copied().unwrap_or_default().to_owned();
        (self.resource, self.name, self.subresource) = (segment(0), segment(1), segment(2));
    }

    fn verb_of(&self, method: &Method) -> String {
        let is_named = !self.name.is_empty();
        let verb = match method.as_str() {
            _ if self.resource.is_empty() => return method.as_str().to_lowercase(),
            "GET" if self.is_true("watch") => "watch",
            "GET" if is_named => "get",
            "GET" => "list",
            "POST" => "create",
            "PUT" => "update",
            "PATCH" => "patch",
            "DELETE" if is_named => "delete",
            "DELETE" => "deletecollection",
            other => return other.to_lowercase(),
        };
        verb.to_owned()
    }

    /// The value of a query parameter, as it stands in the query.
    #[must_use]
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
    }

    fn is_true(&self, parameter: &str) -> bool {
        matches!(self.parameter(parameter), Some("true" | "1"))
    }

    /// Whether the server is asked to change nothing.
    #[must_use]
    pub fn is_dry_run(&self) -> bool {
        self.parameter("dryRun").is_some()
    }

    /// Whether the request may change something; dry runs do not.
    #[must_use]
    pub fn is_write(&self) -> bool {
        !matches!(self.verb.as_str(), "get" | "list" | "watch" | "head" | "options") && !self.is_dry_run()
    }

    /// Verb and resource in one word, such as `patch deployments/status`.
    #[must_use]
    pub fn label(&self) -> String {
        let slash = if self.subresource.is_empty() { "" } else { "/" };
        let thing = if self.resource.is_empty() { &self.path } else { &self.resource };
        format!("{} {thing}{slash}{}", self.verb, self.subresource)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn read(method: &str, uri: &str) -> Request {
        Request::new(&method.parse().unwrap(), &uri.parse().unwrap())
    }

    #[test]
    fn tells_verbs_and_places() {
        let cases = [
            ("GET", "/apis/apps/v1/replicasets?watch=true&labelSelector=a", "watch replicasets", ""),
            ("GET", "/apis/apps/v1/replicasets?limit=500", "list replicasets", ""),
            ("GET", "/apis/apps/v1/namespaces/n/replicasets/r", "get replicasets", "r"),
            ("POST", "/apis/apps/v1/namespaces/n/replicasets?fieldManager=x", "create replicasets", ""),
            (
                "PATCH",
                "/apis/rollwright.dev/v1/namespaces/n/deployments/d/status",
                "patch deployments/status",
                "d",
            ),
            ("DELETE", "/apis/apps/v1/namespaces/n/replicasets/r", "delete replicasets", "r"),
            ("DELETE", "/api/v1/namespaces/n/pods", "deletecollection pods", ""),
            ("GET", "/api/v1/namespaces/n", "get namespaces", "n"),
            ("GET", "/openapi/v3/apis/apps/v1", "get /openapi/v3/apis/apps/v1", ""),
        ];
        for (method, uri, label, name) in cases {
            let request = read(method, uri);
            assert_eq!((request.label().as_str(), request.name.as_str()), (label, name), "{uri}");
        }
    }

    #[test]
    fn knows_what_is_a_write() {
        assert!(read("POST", "/apis/apps/v1/namespaces/n/replicasets").is_write());
        assert!(!read("POST", "/apis/apps/v1/namespaces/n/replicasets?dryRun=All").is_write());
        assert!(!read("GET", "/apis/apps/v1/replicasets?watch=1").is_write());
        assert_eq!(read("GET", "/api/v1/pods?limit=5&continue=x").parameter("limit"), Some("5"));
    }
}
