//! Updates of objects that were stored under another schema, which no request to a server can make
//! without a second schema; and texts that vary too much for the files of `tests/messages`.
use admission::{Schema, SchemaError, metadata, validate};
use serde_json::{Value, json};

fn schema() -> Schema {
    Schema::parse(&serde_json::from_str(include_str!("schema.json")).unwrap()).unwrap()
}

fn texts(new: &Value, old: &Value) -> Vec<String> {
    validate(&schema(), new, Some(old)).iter().map(ToString::to_string).collect()
}

#[test]
fn what_has_not_changed_is_not_refused() {
    for object in [
        json!({"size": 9}),
        json!({"count": 0}),
        json!({"parts": [{"name": "a", "size": 9}]}),
        json!({"plain": [9, 1]}),
        json!({"named": {"a": 0}}),
    ] {
        let mut changed = object.clone();
        changed["grown"] = json!(1);
        assert_eq!(texts(&changed, &object), Vec::<String>::new(), "{object}");
        assert_eq!(validate(&schema(), &object, None).len(), 1, "{object}");
    }
}

#[test]
fn what_has_changed_is_refused() {
    let over = "in body should be less than or equal to 5";
    for (old, new, expected) in [
        (json!({"size": 9}), json!({"size": 8}), format!("size: Invalid value: 8: size {over}")),
        (json!({"count": 0}), json!({"count": -1}), "count: Invalid value: -1: must be positive".into()),
        (
            json!({"parts": [{"name": "a", "size": 9}]}),
            json!({"parts": [{"name": "b", "size": 9}]}),
            format!("parts[0].size: Invalid value: 9: parts[0].size {over}"),
        ),
        (
            json!({"plain": [9]}),
            json!({"plain": [9, 1]}),
            format!("plain[0]: Invalid value: 9: plain[0] {over}"),
        ),
        (
            json!({"named": {"a": 0}}),
            json!({"named": {"a": 0, "b": 0}}),
            "named[b]: Invalid value: 0: must be positive".into(),
        ),
    ] {
        assert_eq!(texts(&new, &old), [expected]);
    }
}

#[test]
fn items_are_found_by_their_keys() {
    let old = json!({"parts": [{"name": "a", "size": 9}, {"name": "b", "size": 1}]});
    let new = json!({"parts": [{"name": "b", "size": 2}, {"name": "a", "size": 9}]});
    assert_eq!(texts(&new, &old), Vec::<String>::new());
}

#[test]
fn a_rule_about_a_change_needs_an_old_value() {
    let shrunk = "grown: Invalid value: 1: must not shrink";
    assert_eq!(texts(&json!({"grown": 1}), &json!({"grown": 2})), [shrunk]);
    assert_eq!(texts(&json!({"grown": 1}), &json!({})), Vec::<String>::new());
    assert_eq!(validate(&schema(), &json!({"grown": 1}), None), []);
}

#[test]
fn what_cannot_be_checked_is_no_schema() {
    for (schema, keyword) in [
        (json!({"type": "object", "properties": {"a": {"multipleOf": 2}}}), "multipleOf"),
        (json!({"anyOf": []}), "anyOf"),
    ] {
        match Schema::parse(&schema) {
            Err(SchemaError::Unsupported { keyword: found, .. }) => assert_eq!(found, keyword),
            other => panic!("{other:?}"),
        }
    }
    let rule = json!({"type": "object", "x-kubernetes-validations": [{"rule": "self.("}]});
    assert!(matches!(Schema::parse(&rule), Err(SchemaError::Rule { .. })));
}

#[test]
fn annotations_have_a_limit() {
    let object = |size: usize| json!({"metadata": {"name": "a", "namespace": "b", "annotations": {"key": "x".repeat(size - 3)}}});
    assert_eq!(metadata::on_create(&object(262_144)), []);
    let found = metadata::on_create(&object(262_145));
    let texts: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert_eq!(texts, ["metadata.annotations: Too long: may not be more than 262144 bytes"]);
}

#[test]
fn a_refused_patch_is_quoted() {
    let complaints = ["unknown field \"spec.foo\"".to_owned()];
    let status = admission::patch_refused(&json!({"spec": {"foo": "<", "a": 1}}), &complaints);
    assert_eq!(
        status["message"],
        " \"\" is invalid: patch: Invalid value: \"{\\\"spec\\\":{\\\"a\\\":1,\\\"foo\\\":\\\"\\\\u003c\\\"}}\": \
         strict decoding error: unknown field \"spec.foo\""
    );
}

/// A hundred times the items may take a hundred times the time, not ten thousand times.
#[test]
fn long_lists_take_no_quadratic_time() {
    let schema = Schema::parse(&json!({
        "type": "object",
        "properties": {"env": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": {"type": "object", "properties": {"name": {"type": "string"}}},
        }},
    }))
    .unwrap();
    let items = |count: u32| (0..count).map(|i| json!({"name": format!("VARIABLE_{i}")})).collect::<Value>();
    let time = |count: u32| {
        let (old, new) = (json!({"env": items(count)}), json!({"env": items(count + 1)}));
        let start = std::time::Instant::now();
        assert_eq!(validate(&schema, &new, Some(&old)), []);
        start.elapsed()
    };
    // The quickest of several: on a busy machine, any single one may wait for a processor.
    let quickest = |count| (0..5).map(|_| time(count)).min().unwrap();
    let (short, long) = (quickest(100), quickest(10_000));
    assert!(long < short * 1_000, "{short:?} for 100 items, {long:?} for 10,000");
}
