//! What an operator asks of the server.

use ::engine::port;
use serde_json::Value;
use world::{Patch, Resource, Subresource};

/// A request on its way.
#[derive(Clone, Debug)]
pub(crate) enum Request {
    Get(Resource, String),
    List(Resource),
    /// A page of pods: by this selector, and after this name.
    Page(String, Option<String>),
    /// Warnings about the pod with this uid.
    Warnings(String),
    Create {
        object: Value,
        is_dry_run: bool,
    },
    Patch {
        resource: Resource,
        name: String,
        patch: Patch,
        subresource: Subresource,
    },
    Delete {
        resource: Resource,
        name: String,
        uid: String,
        version: String,
    },
}

impl Request {
    pub(crate) fn is_write(&self) -> bool {
        let is_read = self.is_look() || matches!(self, Self::Get(..) | Self::List(_));
        !is_read && !matches!(self, Self::Create { is_dry_run: true, .. })
    }

    /// What a creation is about.
    pub(crate) fn created(object: &Value) -> Resource {
        let kind = object.get("kind").and_then(Value::as_str);
        if kind == Some("Job") { Resource::Jobs } else { Resource::ReplicaSets }
    }

    /// Whether it has to find out what blocks a rollout, or what its pods show.
    pub(crate) fn is_look(&self) -> bool {
        matches!(self, Self::Page(..) | Self::Warnings(_))
    }
}

/// Where the objects are that a request is about.
pub(super) fn namespace_of(request: &port::Request) -> &str {
    match request {
        port::Request::ListPods { key, .. } => &key.namespace,
        port::Request::Get { namespace, .. }
        | port::Request::ListReplicaSets { namespace, .. }
        | port::Request::PagePods { namespace, .. }
        | port::Request::ListWarnings { namespace, .. }
        | port::Request::Create { namespace, .. }
        | port::Request::Patch { namespace, .. }
        | port::Request::Delete { namespace, .. } => namespace,
    }
}
