//! Where in a pod template a value stands, as far as anything depends on it.

use crate::model::keys::{HASH_LABEL, RESTARTED_AT};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Template,
    Metadata,
    Labels,
    Label,
    HashLabel,
    Annotations,
    RestartedAt,
    Spec,
    Containers,
    Container,
    ContainerName,
    ContainerImage,
    /// Containers of another kind: those that come first, and those of a debugger.
    Helpers,
    Helper,
    HelperImage,
    Elsewhere,
}

impl Place {
    pub(crate) fn of_member(self, key: &str) -> Self {
        match (self, key) {
            (Self::Template, "metadata") => Self::Metadata,
            (Self::Template, "spec") => Self::Spec,
            (Self::Metadata, "labels") => Self::Labels,
            (Self::Metadata, "annotations") => Self::Annotations,
            (Self::Labels, HASH_LABEL) => Self::HashLabel,
            (Self::Labels, _) => Self::Label,
            (Self::Annotations, RESTARTED_AT) => Self::RestartedAt,
            (Self::Spec, "containers") => Self::Containers,
            (Self::Spec, "initContainers" | "ephemeralContainers") => Self::Helpers,
            (Self::Container, "name") => Self::ContainerName,
            (Self::Container, "image") => Self::ContainerImage,
            (Self::Helper, "image") => Self::HelperImage,
            _ => Self::Elsewhere,
        }
    }

    pub(crate) fn of_item(self) -> Self {
        match self {
            Self::Containers => Self::Container,
            Self::Helpers => Self::Helper,
            _ => Self::Elsewhere,
        }
    }
}
