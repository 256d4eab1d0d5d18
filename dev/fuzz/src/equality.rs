//! When two templates are the same to the API's types (S16.5).

use plan::equality::{digest, equal};
use plan::template::Template;
use serde_json::{Value, json};

use crate::input;

/// A JSON list: two templates.
pub(crate) fn run(data: &[u8]) {
    let Some((a, b)) = input::pair(data) else { return };
    assert_eq!(equal(&a, &b), equal(&b, &a));
    assert_eq!(equal(&a, &b), digest(&a) == digest(&b));
    for template in [&a, &b] {
        assert!(equal(template, template));
        assert!(equal(template, &Template::of(template).without_hash_label()));
        with_zeros(template);
    }
}

/// What the API server's types cannot distinguish, written in.
fn with_zeros(template: &Value) {
    let mut more = template.clone();
    let Some(spec) = more.get_mut("spec").and_then(Value::as_object_mut) else { return };
    let zeros = [
        ("nodeName", json!("")),
        ("hostNetwork", json!(false)),
        ("nodeSelector", json!({})),
        ("tolerations", json!([])),
        ("affinity", Value::Null),
    ];
    for (field, zero) in zeros {
        spec.entry(field).or_insert(zero);
    }
    assert!(equal(template, &more), "{template}");
}
