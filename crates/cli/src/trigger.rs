//! What a new template changes: its images, the time of a restart, or something else.
//!
//! A trigger is the pure difference of two templates of the same kind: both as declared, or both as stored,
//! since what the server stores has its defaults. Nothing decides by it: it is for people.

use plan::keys::RESTARTED_AT;
use serde_json::Value;

/// Why a rollout began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trigger {
    /// Images, and nothing else.
    NewImage,
    /// The annotation of `kubectl rollout restart`, and nothing else.
    Restart,
    /// Anything else.
    TemplateChanged,
}

impl Trigger {
    /// The word for it, for programs.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::NewImage => "NewImage",
            Self::Restart => "Restart",
            Self::TemplateChanged => "TemplateChanged",
        }
    }

    /// Why the second template took the place of the first one. Of equal templates it is
    /// [`Self::TemplateChanged`]: no rollout begins by them.
    pub(crate) fn between(before: &Value, after: &Value) -> Self {
        let is_equal = |without: fn(&Value) -> Value| without(before) == without(after);
        match (is_equal(without_images), is_equal(without_restart)) {
            (true, false) => Self::NewImage,
            (false, true) => Self::Restart,
            (true, true) | (false, false) => Self::TemplateChanged,
        }
    }
}

fn without_images(template: &Value) -> Value {
    let mut template = template.clone();
    for list in ["/spec/containers", "/spec/initContainers", "/spec/ephemeralContainers"] {
        let containers = template.pointer_mut(list).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten().filter_map(Value::as_object_mut) {
            container.remove("image");
        }
    }
    template
}

/// The first restart makes the annotations, too, and they are all that goes away without it.
fn without_restart(template: &Value) -> Value {
    let mut template = template.clone();
    let Some(metadata) = template.get_mut("metadata").and_then(Value::as_object_mut) else { return template };
    if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
        annotations.remove(RESTARTED_AT);
        if annotations.is_empty() {
            metadata.remove("annotations");
        }
    }
    if metadata.is_empty()
        && let Some(template) = template.as_object_mut()
    {
        template.remove("metadata");
    }
    template
}

#[cfg(test)]
mod tests;
