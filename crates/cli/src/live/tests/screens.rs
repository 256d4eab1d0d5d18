//! What a user sees of each kind of rollout.

use serde_json::json;

use super::cluster::{Rollout, deleted, forty, pod, watched};
use super::*;

const BACK_OFF: (&str, &str) = (
    "ImagePullBackOff",
    "Back-off pulling image \"registry.example.com/platform/storefront/web-frontend:v1.42.0\": ErrImagePull: rpc error: \
     code = NotFound desc = failed to pull and unpack image: not found",
);

fn compare_view(name: &str, model: &Model) {
    compare(name, &|frame| render(model, frame));
}

fn scaled(second: i64) -> Rollout {
    let mut rollout = forty(second);
    rollout.event(0, "Normal", "ScalingReplicaSet", "Scaled up replica set web-7b9f8c5d4 from 0 to 6");
    rollout
}

/// The new pods never start.
pub(super) fn bad_image(second: i64) -> Rollout {
    let state = if second < 4 { ("ContainerCreating", "") } else { BACK_OFF };
    let mut pods: Vec<_> = (0..6).map(|index| pod(7, index, 0, Err(state))).collect();
    pods.extend((2..40).map(|index| pod(6, index, -86_400, Ok(-86_390))));
    let mut rollout = Rollout::of(40, pods);
    rollout.event(0, "Normal", "ScalingReplicaSet", "Scaled up replica set web-7b9f8c5d4 from 0 to 6");
    if second > 4 {
        rollout.event(4, "Warning", "RolloutBlocked", "6 of 6 pods cannot pull the image");
        let message = "cannot pull the image of container app";
        rollout.deployment["status"]["blockers"] =
            json!([{"cause": "ImagePull", "pods": 6, "totalPods": 6, "message": message}]);
    }
    rollout
}

/// Ten pods with steps at 1, 30%, and 60%; the second waits for somebody.
pub(super) fn at_step(second: i64) -> Rollout {
    let new = [(0, 0), (40, 1), (50, 2)];
    let state =
        |created| if created + 8 <= second { Ok(created + 8) } else { Err(("ContainerCreating", "")) };
    let mut pods: Vec<_> = new
        .iter()
        .filter(|(created, _)| *created <= second)
        .map(|(created, index)| pod(7, *index, *created, state(*created)))
        .collect();
    let gone = [9, 49, 59];
    for index in 0..10 {
        let old = pod(6, index, -86_400, Ok(-86_390));
        match gone.get(usize::try_from(index).unwrap()) {
            Some(gone) if gone + 30 < second => {}
            Some(gone) if *gone <= second => pods.push(deleted(old, *gone)),
            _ => pods.push(old),
        }
    }
    let mut rollout = Rollout::of(10, pods);
    rollout.deployment["spec"]["strategy"]["rollingUpdate"] = json!({"maxSurge": 1, "maxUnavailable": 0, "steps": [
        {"updated": 1, "waitSeconds": 30}, {"updated": "30%", "approval": "Required"}, {"updated": "60%"}]});
    let status = &mut rollout.deployment["status"];
    let step = if second < 40 { 1 } else { 2 };
    let more = json!({"step": step, "steps": 4, "updated": step * 2 - 1, "targetPods": step * 2 - 1});
    status["rollout"].as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    if second >= 60 {
        status["rollout"]["restStartTime"] = json!(at(60).to_string());
        let words = "step 2 of 4: 3 of 10 updated, rests until somebody promotes it";
        status["conditions"] = json!([
            {"type": "Progressing", "status": "Unknown", "reason": "RestingAtStep", "message": words},
            {"type": "Reconciling", "status": "True", "reason": "RestingAtStep", "message": words},
        ]);
    }
    rollout
}

/// The same bad image, with a policy that reverts after 20 seconds.
fn reverted(second: i64) -> Rollout {
    let mut rollout = bad_image(second);
    if second < 20 {
        return rollout;
    }
    rollout.pods = (0..6).map(|index| deleted(pod(7, index, 0, Err(BACK_OFF)), 20)).collect();
    rollout.pods.extend((2..40).map(|index| pod(6, index, -86_400, Ok(-86_390))));
    rollout.pods.extend((0..2).map(|index| {
        pod(6, 50 + index, 21, if second > 28 { Ok(29) } else { Err(("ContainerCreating", "")) })
    }));
    let events = rollout.events;
    rollout = Rollout::of(40, rollout.pods);
    rollout.events = events;
    rollout.deployment["spec"]["failurePolicy"] = json!({"action": "Revert"});
    rollout.event(20, "Warning", "Reverted", "Revision 7 failed; revision 6 runs again");
    let status = &mut rollout.deployment["status"];
    status["fallback"] = json!({"revision": 6, "podTemplateHash": "6d4cf56db6"});
    status["target"] =
        json!({"revision": 6, "podTemplateHash": "6d4cf56db6", "reason": "Reverted", "declaredRevision": 7});
    let failed = json!({"id": 7, "revision": 7, "trigger": "NewImage", "outcome": "Failed", "reason": "ImagePull",
                        "startTime": at(0).to_string(), "completionTime": at(20).to_string()});
    status["history"].as_array_mut().unwrap().insert(0, failed);
    status["rollout"] = json!({"id": 8, "revision": 6, "trigger": "Revert", "startTime": at(20).to_string()});
    status["conditions"] = json!([{"type": "Progressing", "status": "False", "reason": "RolledBack"},
                                  {"type": "Stalled", "status": "True", "reason": "RolledBack"}]);
    if second > 28 {
        status["rollout"]["outcome"] = json!("Succeeded");
        status["rollout"]["completionTime"] = json!(at(29).to_string());
        let ended = status["rollout"].take();
        status["history"].as_array_mut().unwrap().insert(0, ended);
    }
    rollout
}

fn queued(_: i64) -> Rollout {
    let pods = (0..12).map(|index| pod(6, index, -86_400, Ok(-86_390))).collect();
    let mut rollout = Rollout::of(12, pods);
    rollout.sets[1] = json!({});
    rollout.deployment["metadata"]["generation"] = json!(10);
    let status = &mut rollout.deployment["status"];
    status["rollout"] = json!(null);
    status["revision"] = json!(6);
    status["conditions"] = json!([{
        "type": "Progressing", "status": "Unknown", "reason": "Queued",
        "message": "waiting in the queue for a rollout slot: 23 Deployments are before it",
    }]);
    rollout
}

#[test]
fn a_rolling_update_of_forty_pods() {
    compare_view("rolling", &watched(&scaled, 43));
}

#[test]
fn a_rolling_update_that_is_complete() {
    let ended = |second: i64| {
        let mut rollout = scaled(second);
        if second >= 92 {
            let mut record = rollout.deployment["status"]["rollout"].take();
            record["completionTime"] = json!(at(92).to_string());
            record["outcome"] = json!("Succeeded");
            rollout.deployment["status"]["history"].as_array_mut().unwrap().insert(0, record);
        }
        rollout
    };
    compare_view("complete", &watched(&ended, 240));
}

#[test]
fn a_view_that_is_opened_late_shows_what_the_pods_show() {
    let mut model = Model::new("web".to_owned(), at(43), Ink { has_color: true });
    model.see(Ok(scaled(43).seen(43)));
    compare_view("late", &model);
}

#[test]
fn a_bad_image() {
    compare_view("bad-image", &watched(&bad_image, 75));
}

#[test]
fn a_step_that_waits_for_somebody() {
    compare_view("at-step", &watched(&at_step, 90));
}

#[test]
fn a_revert() {
    compare_view("revert", &watched(&reverted, 45));
}

#[test]
fn a_rollout_in_the_queue() {
    compare_view("queued", &watched(&queued, 5));
}

#[test]
fn the_other_pages() {
    let mut model = watched(&at_step, 90);
    for (key, name) in [('?', "keys"), ('h', "history"), ('e', "events")] {
        model.press(Key::Letter(key));
        compare_view(name, &model);
    }
    assert_eq!(model.page, Page::Events);
}

#[test]
fn without_colors_nothing_is_colored() {
    let mut model = watched(&scaled, 43);
    model.ink = Ink { has_color: false };
    for size in SIZES {
        let buffer = screen(size, |frame| render(&model, frame));
        assert!(buffer.content.iter().all(|cell| cell.fg == Color::Reset && cell.bg == Color::Reset));
        assert!(buffer.content.iter().any(|cell| cell.symbol() == "█"));
        assert!(buffer.content.iter().any(|cell| cell.symbol() == "▓"));
    }
}

#[test]
fn a_connection_that_is_lost_leaves_the_picture() {
    let mut model = watched(&scaled, 43);
    model.see(Err(crate::failure::Failure::Rollout("the API server cannot be reached".to_owned())));
    model.now = at(50);
    let text = drawn(&screen(SIZES[0], |frame| render(&model, frame)));
    assert!(text.contains("old since 7s ago: the API server cannot be reached"), "{text}");
    assert!(text.contains("Rolling"), "{text}");
}

#[test]
fn what_was_deleted_does_not_look_alive_and_what_takes_long_is_named() {
    let mut model = watched(&scaled, 43);
    model.notice = Some("waiting for https://host:6443 to answer, tried once".to_owned());
    let text = |model: &Model| drawn(&screen(SIZES[0], |frame| render(model, frame)));
    assert!(text(&model).contains("waiting for https://host:6443 to answer"), "{}", text(&model));
    let (name, namespace) = ("web".to_owned(), "shop".to_owned());
    model.see(Err(crate::failure::Failure::NotFound { name, namespace, hint: String::new() }));
    model.now = at(50);
    assert!(text(&model).contains("deleted 7s ago"), "{}", text(&model));
    assert!(!text(&model).contains("waiting for https"), "{}", text(&model));
    assert_eq!(crate::live::code(&model), crate::code::Code::NotFound);
}

#[test]
fn no_size_is_too_small() {
    let model = watched(&bad_image, 75);
    for size in [(1, 1), (2, 30), (20, 5), (39, 11), (300, 3), (300, 100)] {
        screen(size, |frame| render(&model, frame));
    }
}

#[test]
fn a_pace_is_told_where_nothing_holds_the_rollout() {
    let left = |model: &Model| model.expected_end().map(|end| end.duration_since(model.now).as_secs());
    assert_eq!(left(&watched(&scaled, 43)), Some(52), "18 pods in 43 seconds, and 22 are left");
    assert_eq!(left(&watched(&scaled, 3)), None, "no pod is ready yet");
    assert_eq!(left(&watched(&bad_image, 75)), None, "a cause holds it");
    assert_eq!(left(&watched(&at_step, 55)), None, "it stops at a step");
    let last_step = |second: i64| {
        let mut rollout = scaled(second);
        let step = if second < 25 { 1 } else { 2 };
        rollout.deployment["status"]["rollout"]["step"] = json!(step);
        rollout.deployment["status"]["rollout"]["steps"] = json!(2);
        rollout
    };
    assert_eq!(left(&watched(&last_step, 43)), Some(66), "6 pods in the 18 seconds of the last step");
}
