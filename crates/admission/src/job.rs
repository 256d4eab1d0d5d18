//! Jobs: what the server checks of them that an operator or a person at a command line can run into.

use serde_json::{Value, json};

use crate::built_in::{at, not_negative, pod_template};
use crate::cause::Cause;
use crate::metadata;

const POLICY: &str = "spec.template.spec.restartPolicy";
const POLICIES: [&str; 2] = ["OnFailure", "Never"];

/// What is wrong with a Job to create; it has its defaults, labels, and selector.
#[must_use]
pub fn on_create(job: &Value) -> Vec<Cause> {
    let mut found = metadata::on_create(job);
    spec(job, &mut found);
    found
}

/// What is wrong with a Job that replaces another.
#[must_use]
pub fn on_update(new: &Value, old: &Value) -> Vec<Cause> {
    let mut found = metadata::on_update(new, old);
    spec(new, &mut found);
    for field in ["completions", "selector", "template", "completionMode"] {
        let value = |job| at(job, "/spec").get(field).unwrap_or(&Value::Null);
        if value(new) != value(old) {
            found.push(Cause::invalid(format!("spec.{field}"), value(new), "field is immutable"));
        }
    }
    found
}

fn spec(job: &Value, found: &mut Vec<Cause>) {
    let spec = at(job, "/spec");
    let counts =
        ["parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished"];
    for name in counts {
        let count = spec.get(name).and_then(Value::as_i64).unwrap_or_default();
        not_negative(count, &format!("spec.{name}"), found);
    }
    pod_template(at(spec, "/template"), found);
    let policy = at(spec, "/template/spec/restartPolicy");
    match policy.as_str() {
        None | Some("" | "Always") => {
            let valid = POLICIES.map(|policy| json!(policy).to_string()).join(", ");
            found.push(Cause::required(POLICY, &format!("valid values: {valid}")));
        }
        Some(known) if POLICIES.contains(&known) => {}
        Some(_) => found.push(Cause::not_supported(POLICY, policy, &POLICIES.map(str::to_owned))),
    }
}
