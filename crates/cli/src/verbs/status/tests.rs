use plan::keys::RETRY;

use super::*;
use crate::pinned::samples;

#[test]
fn a_pin_is_a_failure_of_the_declared_revision_only() {
    let deployment = samples::pinned();
    assert_eq!(Stand::of(&deployment, Goal::Complete, &[]).end, Some(Code::Failed));
    let mut waiting = deployment;
    let available = Stand::of(&waiting, Goal::Available, &[]);
    assert_eq!(available.end, None, "{}", available.message);
    waiting.body["status"]["conditions"] = json!([{"type": "Available", "status": "True"}]);
    assert_eq!(Stand::of(&waiting, Goal::Available, &[]).end, Some(Code::Done));
    assert_eq!(Stand::of(&samples::missing(), Goal::Available, &[]).end, Some(Code::Failed));
}

#[test]
fn a_revert_is_a_failure_until_somebody_asks_for_a_retry() {
    let (mut deployment, all) = (samples::reverted(), samples::revisions());
    let stand = Stand::of(&deployment, Goal::Complete, &all);
    assert_eq!(stand.end, Some(Code::Failed));
    assert!(stand.message.ends_with(&samples::reverted_words()), "{}", stand.message);
    assert_eq!(Stand::of(&deployment, Goal::Available, &all).end, None);
    let held = samples::held("NoGoodRevision");
    for goal in [Goal::Complete, Goal::Available] {
        assert_eq!(Stand::of(&held, goal, &all).end, Some(Code::Failed), "{goal:?}");
    }
    deployment.body["metadata"]["annotations"] = json!({RETRY: "7/again"});
    let stand = Stand::of(&deployment, Goal::Complete, &all);
    assert_eq!(stand.end, None, "{}", stand.message);
}

#[test]
fn a_wait_at_a_step_ends_the_command_only_where_somebody_has_to_act() {
    let (timed, person) = (samples::resting_for_some_time(), samples::resting_until_promoted());
    let now = |deployment: &Deployment, goal| {
        let stand = Stand::of(deployment, goal, &[]);
        (stand.end, stand.rest().map(Rest::code))
    };
    assert_eq!(now(&timed, Goal::Complete), (None, Some(Code::Unfinished)));
    assert_eq!(now(&person, Goal::Complete), (Some(Code::Paused), Some(Code::Paused)));
    for deployment in [timed, person] {
        assert_eq!(now(&deployment, Goal::Available), (None, None), "pods come and go meanwhile");
    }
}

#[test]
fn a_wait_for_a_pin_ends_when_all_pods_are_of_its_revision() {
    let deployment = samples::pinned();
    let target = by_pin(&deployment).unwrap_or_default();
    let towards = |sizes: [i64; 2]| {
        let [pinned, other] = sizes;
        let all = revisions(vec![samples::set(6, pinned), samples::set(7, other)]);
        Stand::towards_pin(&deployment, &target, &all)
    };
    for (sizes, words) in [
        ([0, 3], "0 out of 3 pinned replicas have been created"),
        ([3, 1], "1 other replicas are pending termination"),
    ] {
        let stand = towards(sizes);
        assert_eq!(stand.end, None, "{}", stand.message);
        assert!(stand.message.contains(words), "{}", stand.message);
    }
    let stand = towards([3, 0]);
    assert_eq!(stand.end, Some(Code::Done), "{}", stand.message);
    assert_eq!(stand.message, "deployment \"web\" runs the pinned revision 6");
}

#[test]
fn programs_get_one_document_for_a_wait() {
    let mut lines = Lines { format: Some(Format::Json), ..Lines::default() };
    let waiting = samples::resting_for_some_time();
    let stand = Stand::of(&waiting, Goal::Complete, &[]);
    lines.show(&waiting, &stand).unwrap();
    let exit_code = |lines: &Lines| lines.result.as_ref().map(|(_, result)| result["exitCode"].clone());
    assert_eq!(exit_code(&lines), Some(Value::Null), "nothing is printed before the end");
    lines.mark(Code::Unfinished);
    assert_eq!(exit_code(&lines), Some(json!(3)));
    let person = samples::resting_until_promoted();
    lines.show(&person, &Stand::of(&person, Goal::Complete, &[])).unwrap();
    assert_eq!(exit_code(&lines), Some(json!(4)), "the last one counts");
    lines.end().unwrap();
    assert_eq!(exit_code(&lines), None, "it is printed once");
}
