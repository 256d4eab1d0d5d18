//! Time of each parser by the size of its input: `cargo run --release -p fuzz --bin growth`.

use std::hint::black_box;
use std::time::Instant;

use plan::revision::{HISTORY_LENGTH_MAX, Revision};
use plan::selector::LabelSelector;
use plan::template::Fingerprint;
use plan::{Flavour, equality, template};
use serde_json::{Value, json};

/// The largest is what all annotations of an object may have together.
const SIZES: [usize; 5] = [16, 32, 64, 128, 256];

type Parser = (&'static str, fn(usize) -> Value, fn(&Value));

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn list(length: usize) -> Value {
    Value::from("1,".repeat(length / 2))
}

fn digits(length: usize) -> Value {
    Value::from("9".repeat(length))
}

fn members(length: usize) -> Value {
    (0..length / 16)
        .map(|number| (format!("key-{number:06}"), Value::from("v")))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

fn items(length: usize) -> Value {
    let item = json!({"name": "a", "value": "b"});
    json!({"spec": {"containers": [{"env": vec![item; length / 24]}]}})
}

fn selector(length: usize) -> Value {
    json!({"matchLabels": members(length / 2), "matchExpressions": [
        {"key": "key-000001", "operator": "In", "values": vec!["x"; length / 8]},
    ]})
}

fn conditions(length: usize) -> Value {
    let condition = json!({"type": "a", "status": "True", "lastUpdateTime": "2026-04-01T12:00:00Z"});
    json!({"conditions": vec![condition; length / 72]})
}

const PARSERS: &[Parser] = &[
    ("revision-history", list, |it| {
        drop(black_box(Revision::with_history_entry(HISTORY_LENGTH_MAX, Some(text(it)), "7")));
    }),
    ("revision", digits, |it| _ = black_box(Revision::read(Some(text(it))))),
    ("quantity", digits, |it| _ = black_box(equality::nanos(text(it)))),
    ("fingerprints", list, |it| drop(black_box(Fingerprint::list(text(it))))),
    ("selector", selector, |it| _ = black_box(LabelSelector::deserialize_from(it))),
    ("template", members, |it| _ = black_box(template::digest(it))),
    ("equality", items, |it| _ = black_box(equality::digest(it))),
    ("status", conditions, |it| drop(black_box(api::decode::status(it)))),
    ("workload", items, |it| _ = black_box(plan::TemplateSummary::of(Flavour::AppsV1, it))),
];

/// Reads a selector, and tries it.
trait Tried {
    fn deserialize_from(value: &Value) -> bool;
}

impl Tried for LabelSelector {
    fn deserialize_from(value: &Value) -> bool {
        serde_json::from_value::<Self>(value.clone()).is_ok_and(|it| it.matches(&plan::Map::new()))
    }
}

fn main() {
    println!("KiB              {}", SIZES.map(|size| format!("{size:>9}")).join(""));
    for (name, input, parse) in PARSERS {
        let times = SIZES.map(|size| {
            let value = input(size * 1024);
            let runs = (0..20).map(|_| {
                let start = Instant::now();
                parse(&value);
                start.elapsed().as_secs_f64() * 1e6
            });
            format!("{:>9.0}", runs.fold(f64::INFINITY, f64::min))
        });
        println!("{name:16} {}  µs", times.join(""));
    }
}
