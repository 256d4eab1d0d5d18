//! Digest, fingerprint and hash of a template (S4.17, S16.5a).

use plan::keys::HASH_LABEL;
use plan::template::{Fingerprint, Template, digest, pod_template_hash};
use serde_json::Value;

use crate::input;

/// A JSON list: a template, and the annotation with fingerprints of a ReplicaSet.
pub(crate) fn run(data: &[u8]) {
    let Some((template, annotation)) = input::pair(data) else { return };
    let bare = Template::of(&template).without_hash_label().tree();
    assert_eq!(digest(&template), digest(&bare));
    assert_eq!(Template::of(&bare).without_hash_label().tree(), bare);
    let hash = pod_template_hash(&template, None);
    assert_eq!(hash, pod_template_hash(&bare, None));
    let collided = pod_template_hash(&template, Some(i32::MAX));
    for hash in [&hash, &collided] {
        assert!((1..=10).contains(&hash.len()) && hash.bytes().all(|byte| b"456789bcdf".contains(&byte)));
    }
    let labels = |value: &Value| value.pointer("/metadata/labels").and_then(Value::as_object).cloned();
    let labelled = Template::of(&bare).with_hash_label(&hash).tree();
    if let Some(label) = labels(&labelled).and_then(|labels| labels.get(HASH_LABEL).cloned()) {
        assert_eq!(label, Value::from(hash.as_str()));
    }
    if labels(&bare).is_some() {
        assert_eq!(digest(&labelled), digest(&template));
    }
    assert_eq!(digest(&Template::of(&template)), digest(&template), "text or tree");
    fingerprints(&template, annotation.as_str().unwrap_or_default());
    with_null(&template);
}

fn fingerprints(template: &Value, annotation: &str) {
    let own = Fingerprint::of(template);
    let known = Fingerprint::list(annotation);
    let new = own.appended_to(&known);
    let again = Fingerprint::list(&new);
    assert!(again.len() <= 16 && again.last() == Some(&own));
    assert_eq!(own.appended_to(&again), new);
    assert!(again.iter().all(|entry| *entry == own || known.contains(entry)));
}

/// A member that is null is none.
fn with_null(template: &Value) {
    let mut more = template.clone();
    if let Some(members) = more.as_object_mut() {
        members.entry("fuzz").or_insert(Value::Null);
        if !template.as_object().is_some_and(|members| members.contains_key("fuzz")) {
            assert_eq!(digest(&more), digest(template));
        }
    }
}
