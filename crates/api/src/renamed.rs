//! Fields of manifests from before 0.1.0 that have another name now. Nothing reads them under the old one.

/// Path of the field, with indices left out, and what to write instead.
const RENAMED: [(&str, &str); 5] = [
    ("spec.failurePolicy.minPods", "spec.failurePolicy.when.minPods"),
    ("spec.failurePolicy.when.deadline", "spec.failurePolicy.when.deadlineExceeded"),
    ("spec.pin.hash", "spec.pin.podTemplateHash"),
    ("spec.pin.whileTemplate", "spec.pin.templateFingerprint"),
    ("spec.strategy.rollingUpdate.steps[].pause", "approval: Required, or waitSeconds"),
];

/// What to write instead of a field that the definition does not have, by its path; `None` if it was not renamed.
#[must_use]
pub fn instead_of(field: &str) -> Option<&'static str> {
    let mut parts = field.split('[');
    let mut path = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        path.push('[');
        path.push_str(part.trim_start_matches(|c: char| c.is_ascii_digit()));
    }
    RENAMED.iter().find(|(old, _)| *old == path).map(|(_, new)| *new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_renamed_field_is_found_at_any_index() {
        let steps = "spec.strategy.rollingUpdate.steps";
        assert_eq!(instead_of(&format!("{steps}[12].pause")), Some("approval: Required, or waitSeconds"));
        assert_eq!(instead_of("spec.pin.hash"), Some("spec.pin.podTemplateHash"));
        assert_eq!(instead_of(&format!("{steps}[0].paused")), None);
    }
}
