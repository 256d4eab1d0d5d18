//! A Deployment as the watch brings it.

use api::decode::{self, Defaults};
use api::encode;
use plan::template::Template;
use plan::{Answers, Flavour, Observed, Options, Pace, StatusWrite, Step};
use serde_json::Value;

use crate::input;

/// The object as JSON.
pub(crate) fn run(data: &[u8]) {
    let Some(object) = input::json(data) else { return };
    for (flavour, defaults) in [
        (Flavour::Rollwright, Defaults::Apply),
        (Flavour::AppsV1, Defaults::Literal),
        (Flavour::AppsV1, Defaults::Apply),
    ] {
        decoded(flavour, defaults, &object);
    }
}

fn decoded(flavour: Flavour, defaults: Defaults, object: &Value) {
    let workload = match decode::workload(flavour, object, defaults) {
        Ok(workload) => workload,
        Err(rejected) => {
            assert!(!rejected.field.is_empty() && !rejected.problem.is_empty());
            return;
        }
    };
    let again = decode::workload(flavour, object, defaults).unwrap();
    assert_eq!(format!("{workload:?}"), format!("{again:?}"));
    let write = StatusWrite { status: workload.status.clone(), ..StatusWrite::default() };
    let patch = encode::status_patch(flavour, &workload, &write);
    assert_eq!(patch.pointer("/metadata/uid").and_then(Value::as_str), Some(workload.uid.as_str()));
    let template = object.pointer("/spec/template").map(Template::of);
    let answers = Answers { template, ..Answers::default() };
    let observed = Observed {
        flavour,
        workload,
        sets: Vec::new(),
        answers,
        options: Options::new(true, Pace::EachReconcile),
    };
    let step = plan::plan(&observed, "2026-04-01T12:00:00Z".parse().unwrap());
    // Without ReplicaSets there is nothing to adopt or release, and nothing to compare with a dry run.
    assert!(!matches!(step, Step::ChangeOwners(_)), "{step:?}");
}
