//! Who changed what of a Deployment, by `metadata.managedFields`.
//!
//! The API server notes for every manager which fields it set last, and when. Of two managers that own a part of
//! the template, the author is the one with the later time.

use jiff::Timestamp;
use plan::{Author, Authors, Scaler};
use serde_json::Value;

/// The fields below `spec` that somebody may ask about. Of an entry of `managedFields`, all else may be dropped but
/// that it owns a part of `spec`, that it applies, and [`PROMOTE`].
pub const FIELDS: [&str; 4] = ["f:template", "f:rollbackTo", "f:replicas", "f:pin"];

/// The annotation that somebody may ask about.
pub const PROMOTE: &str = "f:rollwright.dev/promote";

/// The authors that `metadata` shows.
pub(crate) fn authors(metadata: &Value) -> Authors {
    let last = |path: &[&str]| {
        let owners = entries(metadata).filter(|entry| owns(entry, path));
        owners.max_by_key(|entry| text(entry, "time"))
    };
    let [template, rollback, replicas, pin] = FIELDS.map(|field| last(&["f:spec", field]));
    let scaler = |entry: &Value, time: Option<Timestamp>| Scaler {
        manager: text(entry, "manager").to_owned(),
        subresource: text(entry, "subresource").to_owned(),
        time,
    };
    let promotion = last(&["f:metadata", "f:annotations", PROMOTE]);
    let author = |entry: &Value| Author {
        manager: text(entry, "manager").to_owned(),
        operation: text(entry, "operation").to_owned(),
        user: None,
    };
    Authors {
        template: template.map(author),
        rollback: rollback.map(author),
        pin: pin.map(author),
        promotion: promotion.map(author),
        // Nobody owns the default of a field that left a manifest: who removed it wrote the spec last.
        replicas: match replicas {
            Some(entry) => Some(scaler(entry, text(entry, "time").parse().ok())),
            None => last(&["f:spec"]).map(|entry| scaler(entry, None)),
        },
    }
}

/// The operation of server-side apply.
pub const APPLY: &str = "Apply";

/// Whether there are managers that nobody needs: none of them applies server-side.
pub(crate) fn are_needless(metadata: &Value) -> bool {
    let managers = metadata.get("managedFields").and_then(Value::as_array);
    let applies = |entry: &Value| text(entry, "operation") == APPLY;
    managers.is_some_and(|managers| !managers.is_empty() && !managers.iter().any(applies))
}

/// Who owns a field below `spec`, or a part of it, in the order of the entries.
pub fn owners<'a>(object: &'a Value, field: &'a str) -> impl Iterator<Item = &'a str> {
    let entries = object.get("metadata").into_iter().flat_map(entries);
    entries.filter(move |entry| owns(entry, &["f:spec", field])).map(|entry| text(entry, "manager"))
}

/// The entries that name somebody who wrote something other than status.
fn entries(metadata: &Value) -> impl Iterator<Item = &Value> {
    let entries = metadata.get("managedFields").and_then(Value::as_array);
    let named = |entry: &&Value| !text(entry, "manager").is_empty() && text(entry, "subresource") != "status";
    entries.into_iter().flatten().filter(named)
}

fn owns(entry: &Value, path: &[&str]) -> bool {
    let fields = entry.get("fieldsV1");
    fields.and_then(|fields| path.iter().try_fold(fields, |fields, name| fields.get(name))).is_some()
}

fn text<'a>(entry: &'a Value, field: &str) -> &'a str {
    entry.get(field).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry(manager: &str, subresource: Option<&str>, time: &str, fields: &Value) -> Value {
        json!({"manager": manager, "operation": "Update", "subresource": subresource, "time": time,
               "fieldsV1": {"f:spec": fields}})
    }

    /// Who wrote a promotion, and nothing of the spec.
    fn annotated(manager: &str, time: &str) -> Value {
        assert_eq!(PROMOTE, format!("f:{}", plan::keys::PROMOTE));
        json!({"manager": manager, "operation": "Update", "time": time,
               "fieldsV1": {"f:metadata": {"f:annotations": {PROMOTE: {}}}}})
    }

    #[test]
    fn the_last_owner_of_a_field_is_its_author() {
        let found = authors(&json!({"managedFields": [
            entry("kubectl-client-side-apply", None, "2026-04-01T12:00:00Z",
                  &json!({"f:template": {"f:spec": {}}, "f:replicas": {}})),
            entry("kubectl-set", None, "2026-04-01T12:05:00Z", &json!({"f:template": {"f:spec": {}}})),
            entry("kube-controller-manager", Some("scale"), "2026-04-01T12:09:00Z", &json!({"f:replicas": {}})),
            entry("kubectl-edit", None, "2026-04-01T12:07:00Z", &json!({"f:rollbackTo": {}})),
            entry("rollwright-cli", None, "2026-04-01T12:08:00Z", &json!({"f:pin": {"f:hash": {}}})),
            entry("kubectl-patch", None, "2026-04-01T12:06:00Z", &json!({"f:pin": {"f:reason": {}}})),
            entry("rollwright", Some("status"), "2026-04-01T13:00:00Z", &json!({"f:template": {}})),
            annotated("kubectl-annotate", "2026-04-01T12:04:00Z"),
            annotated("alice", "2026-04-01T12:05:00Z"),
        ]}));
        let manager = |author: Option<Author>| author.map(|author| author.manager);
        assert_eq!(manager(found.promotion).as_deref(), Some("alice"));
        assert_eq!(manager(found.pin).as_deref(), Some("rollwright-cli"));
        assert_eq!(manager(found.template).as_deref(), Some("kubectl-set"));
        assert_eq!(manager(found.rollback).as_deref(), Some("kubectl-edit"));
        let scaler = found.replicas.unwrap_or_default();
        assert_eq!(
            (scaler.manager.as_str(), scaler.subresource.as_str()),
            ("kube-controller-manager", "scale")
        );
        assert_eq!(scaler.time, "2026-04-01T12:09:00Z".parse().ok());
    }

    #[test]
    fn who_removed_the_number_of_replicas_changed_it() {
        let found = authors(&json!({"managedFields": [
            entry("kubectl-set", None, "2026-04-01T12:00:00Z", &json!({"f:template": {"f:spec": {}}})),
            entry("argocd-controller", None, "2026-04-01T12:05:00Z", &json!({"f:strategy": {}})),
            entry("rollwright", Some("status"), "2026-04-01T13:00:00Z", &json!({"f:template": {}})),
            annotated("alice", "2026-04-01T12:06:00Z"),
        ]}));
        assert_eq!(found.replicas.map(|scaler| scaler.manager).as_deref(), Some("argocd-controller"));
    }

    #[test]
    fn all_who_own_a_part_of_a_field_are_its_owners() {
        let object = json!({"metadata": {"managedFields": [
            entry("argocd-controller", None, "2026-04-01T12:00:00Z", &json!({"f:template": {"f:spec": {}}})),
            entry("kubectl-set", None, "2026-04-01T12:05:00Z", &json!({"f:template": {"f:spec": {}}})),
            entry("kubectl-edit", None, "2026-04-01T12:07:00Z", &json!({"f:replicas": {}})),
            entry("rollwright", Some("status"), "2026-04-01T13:00:00Z", &json!({"f:template": {}})),
        ]}});
        assert_eq!(owners(&object, "f:template").collect::<Vec<_>>(), ["argocd-controller", "kubectl-set"]);
        assert_eq!(owners(&json!(null), "f:template").count(), 0);
    }

    #[test]
    fn server_side_apply_needs_its_managers() {
        let updates = entry("rollwright", None, "2026-04-01T12:00:00Z", &json!({"f:replicas": {}}));
        let applies = json!({"manager": "argocd-controller", "operation": "Apply"});
        for (managers, expected) in [
            (json!(null), false),
            (json!([]), false),
            (json!([updates]), true),
            (json!([updates, applies]), false),
        ] {
            assert_eq!(are_needless(&json!({"managedFields": managers})), expected, "{managers}");
        }
    }

    #[test]
    fn garbage_names_nobody() {
        for odd in [
            json!(null),
            json!([]),
            json!("x"),
            json!([1, null, {"fieldsV1": "x"}, {"fieldsV1": {"f:spec": []}}]),
            json!([{"fieldsV1": {"f:spec": {"f:template": {}}}}]),
        ] {
            let object = json!({"metadata": {"managedFields": odd}});
            assert_eq!(authors(&object["metadata"]), Authors::default());
            assert_eq!(owners(&object, "f:template").count(), 0);
        }
    }
}
