//! Fingerprints and hashes of templates as they are stored in users' clusters.

use crate::world::{Server, fingerprint, ours, set, template};
use plan::template::{Fingerprint, Json, Template, pod_template_hash};
use plan::{Action, Flavour, Outline, equality};
use serde_json::value::RawValue;
use serde_json::{Value, json};

const WARNING: &str = "\
a fingerprint or a pod-template-hash is no longer what it was. They are stored on every \
ReplicaSet of every user: if they change, the operator does not know its ReplicaSets any more, \
and THE UPGRADE RESTARTS EVERY WORKLOAD OF EVERY USER. Do not edit tests/golden/templates.json; \
add a new version prefix that is understood beside the old one";

fn entries() -> Vec<Value> {
    let data: Value = serde_json::from_str(include_str!("golden/templates.json")).unwrap();
    data.as_array().unwrap().clone()
}

fn hashes<'a>(template: impl Into<Json<'a>>) -> Value {
    let template = template.into();
    json!([None, Some(0), Some(1)].map(|collisions| pod_template_hash(template, collisions)))
}

#[test]
fn stored_fingerprints_and_hashes_stay_as_they_are() {
    let entries = entries();
    assert!(entries.len() >= 12, "{} templates", entries.len());
    for entry in &entries {
        let template = &entry["template"];
        let now = json!({
            "name": entry["name"],
            "template": template,
            "fingerprint": Flavour::Rollwright.fingerprint(template).as_str(),
            "normalForm": Fingerprint::from_digest(&equality::digest(template)).as_str(),
            "hashes": hashes(template),
        });
        assert_eq!(now, *entry, "{WARNING}\nnow: {now}");
    }
}

/// Names of two entries, and whether they are one template to the operator.
const SAME: [(&str, &str, bool); 9] = [
    ("plain", "nulls", true),
    ("plain", "hash label", true),
    ("plain", "explicit default", false),
    ("key order", "key order, reversed", true),
    ("list order", "list order, reversed", false),
    ("unicode", "unicode, decomposed", false),
    ("number", "number as text", false),
    ("empty", "plain", false),
    ("labels only", "no labels", false),
];

#[test]
fn templates_are_the_same_or_not() {
    let entries = entries();
    let find = |name: &str| entries.iter().find(|entry| entry["name"] == name).unwrap();
    for (a, b, same) in SAME {
        assert_eq!(find(a)["fingerprint"] == find(b)["fingerprint"], same, "fingerprints of {a} and {b}");
        assert_eq!(find(a)["hashes"] == find(b)["hashes"], same, "hashes of {a} and {b}");
    }
}

/// The same template in another text: members in reverse order, each after another one of its name, and nothing but
/// escapes in texts.
fn respelled(value: &Value) -> String {
    let text = |text: &str| -> String {
        let escapes: String = text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
        format!("\"{escapes}\"")
    };
    match value {
        Value::Object(members) => {
            let member = |(key, value): (&String, &Value)| {
                format!("{0} : {{\"x\": [null]}} , {0}:{1}", text(key), respelled(value))
            };
            format!("{{ {} }}", members.iter().rev().map(member).collect::<Vec<_>>().join("\n,"))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(respelled).collect::<Vec<_>>().join(" ,")),
        Value::String(value) => text(value),
        other => other.to_string(),
    }
}

/// A template stays text, so that no tree has put its members in order.
#[test]
fn the_order_of_a_text_and_its_escapes_do_not_matter() {
    for entry in &entries() {
        let template = &entry["template"];
        let text = RawValue::from_string(respelled(template)).unwrap();
        assert_ne!(text.get(), template.to_string());
        let text = Template::new(text).unwrap();
        assert_eq!(hashes(&text), entry["hashes"], "{WARNING}: {template}");
        assert_eq!(Fingerprint::of(&text).as_str(), entry["fingerprint"], "{WARNING}: {template}");
        let normal = Fingerprint::from_digest(&equality::digest(&text));
        assert_eq!(normal.as_str(), entry["normalForm"], "{WARNING}: {template}");
        assert_eq!(Outline::of(&text), Outline::of(template), "{template}");
        // The label is put into a text, and taken from it.
        assert_eq!(
            Fingerprint::of(&text.with_hash_label("abc").without_hash_label()),
            Fingerprint::of(&text.with_hash_label("abc"))
        );
    }
}

/// Kubernetes before 1.34 stores a null there.
#[test]
fn a_template_that_is_restored_has_no_time_of_creation() {
    let text =
        r#"{"metadata":{"creationTimestamp":null,"labels":{"a":"b","pod-template-hash":"x"}},"spec":{}}"#;
    let stored = Template::new(RawValue::from_string(text.to_owned()).unwrap()).unwrap();
    assert_eq!(stored.without_hash_label().tree(), json!({"metadata": {"labels": {"a": "b"}}, "spec": {}}));
}

/// A later version of the operator writes another kind of fingerprint. Going back to this one restarts nothing: its own
/// is found beside it, or added after a dry run shows that it fits.
#[test]
fn an_unknown_fingerprint_version_restarts_nothing() {
    let unknown = "v2:0123456789abcdef";
    let ours_is = fingerprint("a");
    let lists = [
        (format!("{unknown},{}", ours_is.as_str()), None),
        (format!("{}, {unknown}", ours_is.as_str()), None),
        (unknown.to_owned(), Some(format!("{unknown},{}", ours_is.as_str()))),
    ];
    for (list, appended) in lists {
        let set = set("a", 3).revision("1").scaled_for("3", "4").fingerprints(&list);
        let mut world = ours().server(Server::Plain).with(set);
        let plan = world.plan();
        let mut updates = 0;
        for planned in &plan.actions {
            match &planned.action {
                Action::UpdateReplicaSet(update) => {
                    updates += 1;
                    assert_eq!(update.size_from, update.size_to, "{list}");
                    let written = update.annotations.get(plan::keys::FINGERPRINTS);
                    assert_eq!(written, appended.as_ref(), "{list}");
                }
                Action::WriteStatus(_) => {}
                other => unreachable!("{list}: {other:?}"),
            }
        }
        assert_eq!(updates, usize::from(appended.is_some()), "{list}");
        world.apply(&plan);
        world.settle(3);
        assert_eq!(world.observed.sets.len(), 1, "{list}");
        assert_eq!(world.observed.workload.status.updated_replicas, 3, "{list}");
        assert!(world.find("web-a").carries(&ours_is), "{list}");
    }
}

/// The list of fingerprints is bounded, and the newest ones stay.
#[test]
fn the_oldest_fingerprints_go_first() {
    let known: Vec<_> = (0..40).map(|n| Fingerprint::of(&template(&n.to_string()))).collect();
    let newest = fingerprint("a");
    let list = Fingerprint::list(&newest.appended_to(&known));
    assert_eq!(list.len(), 16);
    assert_eq!(list.last(), Some(&newest));
    assert_eq!(list.first(), known.get(25));
}
