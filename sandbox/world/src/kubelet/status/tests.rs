use super::*;
use crate::object::Object;

const SHAPES: [Shape; 9] = [
    Shape::Unschedulable { cordoned: false },
    Shape::Unschedulable { cordoned: true },
    Shape::NotReady,
    Shape::Ready,
    Shape::ImagePull,
    Shape::Waiting,
    Shape::Crashing,
    Shape::Ended { code: 0 },
    Shape::Ended { code: 3 },
];

fn at(second: i64) -> Timestamp {
    // Objects carry whole seconds, the store's clock does not.
    Timestamp::new(1_767_225_600 + second, 700_000_000).unwrap()
}

fn pod(images: &[&str]) -> Object {
    let containers: Vec<Value> = images.iter().map(|image| json!({"name": image, "image": image})).collect();
    let spec = json!({"containers": containers});
    let others = json!({"phase": "Pending", "conditions": [{"type": "Theirs", "status": "True"}]});
    Object::from_value(
        crate::Resource::Pods,
        json!({"metadata": {"name": "a"}, "spec": spec, "status": others}),
    )
}

fn parts(pod: &Object) -> Parts<'_> {
    Parts { metadata: &pod.metadata, spec: &pod.spec, status: &pod.status }
}

fn restarts_in(status: &Value) -> u64 {
    let statuses = status.get("containerStatuses").and_then(Value::as_array).into_iter().flatten();
    statuses.filter_map(|one| one.get("restartCount")?.as_u64()).max().unwrap_or(0)
}

/// Controllers see in a report what the JSON shows that is made from it.
#[test]
fn reports_say_what_their_json_says() {
    for images in [&["app:1"][..], &["crash:1", "app:1"], &[]] {
        let pod = pod(images);
        let mut transitions = Transitions::default();
        for (second, shape) in (0..).zip(SHAPES.into_iter().chain([Shape::Ready, Shape::Ready])) {
            for (gates_met, restarts) in [(true, 0), (false, 3), (true, 3)] {
                let shown = Shown { shape, gates_met, restarts, ended: None };
                let report = Report::new(&parts(&pod), shown, &mut transitions, 1, 3, at(second));
                let json = report.to_json();
                let what = format!("{images:?} {shown:?} {json}");
                assert_eq!(report.state(), Status::from(json.clone()).pod(), "{what}");
                assert_eq!(report.restarts().unwrap_or(0), restarts_in(&json), "{what}");
                assert_eq!(json["conditions"][0]["type"], "Theirs", "{what}");
                // The pod was read before it got its node.
                let is_scheduled = !matches!(shape, Shape::Unschedulable { .. });
                assert_eq!(json.get("startTime").is_some(), is_scheduled, "{what}");
            }
        }
    }
}

#[test]
fn a_container_beside_one_that_crashes_runs() {
    let pod = pod(&["crash:1", "app:1"]);
    let shown = Shown { shape: Shape::Crashing, gates_met: true, restarts: 3, ended: None };
    let status = Report::new(&parts(&pod), shown, &mut Transitions::default(), 1, 3, at(0)).to_json();
    let beside = &status["containerStatuses"][1];
    assert_eq!((&beside["restartCount"], &beside["lastState"]), (&json!(0), &json!({})));
}

/// Reports stand on what others wrote, not on each other: a pod that crashes for days stays small.
#[test]
fn reports_do_not_pile_up() {
    let mut pod = pod(&["crash:1"]);
    let others = Arc::clone(&pod.status);
    let mut transitions = Transitions::default();
    let waits =
        Shown { shape: Shape::Unschedulable { cordoned: false }, gates_met: true, restarts: 0, ended: None };
    let report = Report::new(&parts(&pod), waits, &mut transitions, 1, 3, at(0));
    pod.status = Arc::new(Status::reported(report));
    assert_eq!(pod.status.get("startTime"), None);
    pod.spec = Arc::new(json!({"containers": [{"name": "a", "image": "crash:1"}], "nodeName": "node-1"}));
    pod.status = Arc::new(Status::bound(&pod.status, at(1)));
    assert_eq!(pod.status["conditions"][1]["status"], "True");
    for restarts in 1..4 {
        let shown = Shown { shape: Shape::Crashing, gates_met: true, restarts, ended: None };
        let now = at(10 * i64::try_from(restarts).unwrap());
        let report = Report::new(&parts(&pod), shown, &mut transitions, 1, 3, now);
        pod.status = Arc::new(Status::reported(report));
        assert!(Arc::ptr_eq(&pod.status.of_others(), &others));
        // The first report with a node has the time when it started.
        assert_eq!(pod.status["startTime"], "2026-01-01T00:00:10Z");
        assert_eq!(restarts_in(&pod.status), restarts);
    }
}
