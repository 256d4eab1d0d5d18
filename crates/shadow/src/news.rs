//! What the two watches bring, of Deployments and of ReplicaSets.

use jiff::Timestamp;
use serde_json::Value;

/// Which watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Which {
    /// The watch of Deployments.
    Deployments,
    /// The watch of ReplicaSets.
    ReplicaSets,
}

impl Which {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Deployments, Self::ReplicaSets];

    /// What the API calls these objects.
    #[must_use]
    pub fn plural(self) -> &'static str {
        match self {
            Self::Deployments => "deployments",
            Self::ReplicaSets => "replicasets",
        }
    }
}

/// An object, and apart from it what the server noted about its authors.
#[derive(Clone, Debug)]
pub struct Signed {
    /// The object, without `metadata.managedFields`.
    pub body: Value,
    /// `metadata.managedFields`.
    pub managed_fields: Value,
}

impl Signed {
    /// Takes apart what the server sent.
    #[must_use]
    pub fn new(mut body: Value) -> Self {
        let metadata = body.get_mut("metadata").and_then(Value::as_object_mut);
        let managed_fields = metadata.and_then(|metadata| metadata.remove("managedFields"));
        Self { body, managed_fields: managed_fields.unwrap_or_default() }
    }

    pub(crate) fn namespace(&self) -> &str {
        self.metadata("namespace")
    }

    pub(crate) fn name(&self) -> &str {
        self.metadata("name")
    }

    pub(crate) fn uid(&self) -> &str {
        self.metadata("uid")
    }

    /// Versions order the news. The API calls them opaque, and comparing them is what every server
    /// that stores objects in etcd allows.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.metadata("resourceVersion").parse().unwrap_or(0)
    }

    fn metadata(&self, field: &str) -> &str {
        let value = self.body.get("metadata").and_then(|metadata| metadata.get(field));
        value.and_then(Value::as_str).unwrap_or_default()
    }
}

/// What a watch brings.
#[derive(Debug)]
pub enum News {
    /// An object was added or changed, or is gone.
    Object {
        /// Of this watch.
        which: Which,
        /// When it came.
        at: Timestamp,
        /// Whether the object was deleted.
        is_gone: bool,
        /// As it is, or was at last.
        object: Box<Signed>,
    },
    /// These are all objects there are.
    Listed {
        /// Of this watch.
        which: Which,
        /// When they came.
        at: Timestamp,
        /// All of them.
        objects: Vec<Signed>,
    },
}
