//! What a path names.

use world::{Resource, Subresource};

/// A part of the API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Path {
    /// `/livez` and its like.
    Health,
    /// `/version`.
    Version,
    /// `/api`.
    Legacy,
    /// `/apis`.
    Groups,
    /// `/apis/GROUP`.
    Group(String),
    /// `/api/v1` with an empty group, and `/apis/GROUP/v1`.
    Resources(String),
    /// `/openapi/v2`.
    OpenApiV2,
    /// `/openapi/v3`.
    OpenApi,
    /// `/openapi/v3/…` of a group.
    OpenApiGroup(String),
    /// All objects of a kind, or of a namespace.
    Collection {
        /// Their kind.
        resource: Resource,
        /// Their namespace.
        namespace: Option<String>,
    },
    /// An object, or a part of it.
    Object {
        /// Its kind.
        resource: Resource,
        /// Its namespace; empty if it has none.
        namespace: String,
        /// Its name.
        name: String,
        /// The part.
        part: Part,
    },
    /// A question about rights.
    Review,
    /// Nothing that is served.
    Unknown,
}

/// A part of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// The whole, the status or the size.
    Of(Subresource),
    /// `finalize` of a namespace.
    Finalize,
    /// The log of a pod.
    Log,
}

impl Path {
    pub(crate) fn parse(path: &str) -> Self {
        let decoded: Vec<String> = path.split('/').filter(|part| !part.is_empty()).map(decode).collect();
        let parts: Vec<&str> = decoded.iter().map(String::as_str).collect();
        match parts.as_slice() {
            ["livez" | "readyz" | "healthz", ..] => Self::Health,
            ["version"] => Self::Version,
            ["api"] => Self::Legacy,
            ["apis"] => Self::Groups,
            ["apis", group] => Self::Group((*group).to_owned()),
            ["api", "v1"] => Self::Resources(String::new()),
            ["apis", AUTHORIZATION, "v1", "selfsubjectaccessreviews" | "subjectaccessreviews"] => {
                Self::Review
            }
            ["apis", group, version] if is_served(group, version) => Self::Resources((*group).to_owned()),
            ["openapi", "v2"] => Self::OpenApiV2,
            ["openapi", "v3"] => Self::OpenApi,
            ["openapi", "v3", "api", "v1"] => Self::OpenApiGroup(String::new()),
            ["openapi", "v3", "apis", group, version] if is_served(group, version) => {
                Self::OpenApiGroup((*group).to_owned())
            }
            ["api", "v1", rest @ ..] => objects("", rest),
            ["apis", group, version, rest @ ..] if is_served(group, version) => objects(group, rest),
            _ => Self::Unknown,
        }
    }
}

/// The group of questions about rights. It has no objects.
const AUTHORIZATION: &str = "authorization.k8s.io";

fn is_served(group: &str, version: &str) -> bool {
    Resource::version_of(group) == version
}

fn decode(part: &str) -> String {
    // A plus is itself in a path.
    let text = part.replace('+', "%2B");
    form_urlencoded::parse(text.as_bytes()).next().map_or_else(String::new, |(name, _)| name.into_owned())
}

fn objects(group: &str, parts: &[&str]) -> Path {
    let (namespace, rest) = match parts {
        ["namespaces", _] | ["namespaces", _, "status" | "finalize"] => (None, parts),
        ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (Some((*namespace).to_owned()), rest),
        _ => (None, parts),
    };
    let Some((plural, rest)) = rest.split_first() else { return Path::Unknown };
    let Some(resource) = Resource::find(group, plural) else { return Path::Unknown };
    if namespace.is_some() && !resource.is_namespaced() {
        return Path::Unknown;
    }
    match rest {
        [] => Path::Collection { resource, namespace },
        [name, rest @ ..] => {
            let (Some(part), true) = (part(resource, rest), namespace.is_some() == resource.is_namespaced())
            else {
                return Path::Unknown;
            };
            let namespace = namespace.unwrap_or_default();
            Path::Object { resource, namespace, name: (*name).to_owned(), part }
        }
    }
}

fn part(resource: Resource, rest: &[&str]) -> Option<Part> {
    match rest {
        [] => Some(Part::Of(Subresource::Main)),
        ["status"] if resource.has_status() => Some(Part::Of(Subresource::Status)),
        ["scale"] if resource.has_scale() => Some(Part::Of(Subresource::Scale)),
        ["finalize"] if resource == Resource::Namespaces => Some(Part::Finalize),
        ["log"] if resource == Resource::Pods => Some(Part::Log),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(resource: Resource, namespace: &str, name: &str, part: Part) -> Path {
        Path::Object { resource, namespace: namespace.to_owned(), name: name.to_owned(), part }
    }

    #[test]
    fn paths() {
        let main = || Part::Of(Subresource::Main);
        let all = |resource| Path::Collection { resource, namespace: None };
        let cases = [
            ("/api/v1/namespaces", all(Resource::Namespaces)),
            ("/api/v1/namespaces/a", object(Resource::Namespaces, "", "a", main())),
            ("/api/v1/namespaces/a/finalize", object(Resource::Namespaces, "", "a", Part::Finalize)),
            ("/api/v1/namespaces/a/pods/b%2Fc", object(Resource::Pods, "a", "b/c", main())),
            ("/api/v1/namespaces/a/pods/b/log", object(Resource::Pods, "a", "b", Part::Log)),
            ("/apis/rollwright.dev/v1/deployments", all(Resource::Deployments)),
            ("/apis/apps/v1/deployments/a", Path::Unknown),
            ("/apis/apps/v1beta1/deployments", Path::Unknown),
            ("/api/v1/namespaces/a/nodes", Path::Unknown),
            ("/apis/apps/v1", Path::Resources("apps".to_owned())),
            ("/apis/autoscaling/v2", Path::Resources("autoscaling".to_owned())),
            ("/apis/autoscaling/v1", Path::Unknown),
            ("/apis/autoscaling/v2/horizontalpodautoscalers", all(Resource::HorizontalPodAutoscalers)),
            ("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", Path::Review),
            ("/nowhere", Path::Unknown),
        ];
        for (text, path) in cases {
            assert_eq!(Path::parse(text), path, "{text}");
        }
    }
}
