use plan::Flavour;
use serde_json::json;

use super::*;
use crate::code::Code;
use crate::pinned::samples;

fn now() -> Timestamp {
    "2026-04-01T12:05:00Z".parse().unwrap()
}

fn promoted(deployment: &Deployment, to: Option<&str>) -> Result<Promotion, (Code, String)> {
    promote(deployment, &samples::revisions(), to, Gates::Awaited, now())
        .map_err(|error| (error.code(), error.to_string()))
}

fn requested(place: &str, request: &str) -> Result<Promotion, (Code, String)> {
    let patch = Patch::Merge(
        json!({"metadata": {"annotations": {PROMOTE: format!("{request}/2026-04-01T12:05:00Z")}}}),
    );
    Ok(Promotion::Request(format!("promotion of revision 7 to {place} requested"), patch))
}

#[test]
fn a_promotion_names_the_revision_and_the_next_step() {
    for deployment in [samples::resting_until_promoted(), samples::resting_for_some_time()] {
        assert_eq!(promoted(&deployment, None), requested("step 3 of 4 (50%)", "7/50%"));
        assert_eq!(promoted(&deployment, Some("50%")), requested("step 3 of 4 (50%)", "7/50%"));
        assert_eq!(promoted(&deployment, Some("2")), requested("step 3 of 4 (50%)", "7/2"));
        assert_eq!(promoted(&deployment, Some("3")), requested("all pods", "7/3"));
        assert_eq!(promoted(&deployment, Some("all")), requested("all pods", "7/all"));
        let already = Promotion::Nothing("is at step 2 of 4 already".to_owned());
        assert_eq!(promoted(&deployment, Some("25%")), Ok(already));
    }
}

#[test]
fn a_number_between_two_steps_names_where_it_leads() {
    let mut deployment = samples::resting_until_promoted();
    deployment.body["spec"]["replicas"] = json!(10);
    for (to, outcome) in [
        ("4", "to step 3 of 4 (50%) requested: no step has 4 pods, and this is the first one with more"),
        ("31%", "to step 3 of 4 (50%) requested: no step has 4 pods, and this is the first one with more"),
        ("7", "to all pods requested: no step has 7 pods, and this is the first one with more"),
        ("41%", "to step 3 of 4 (50%) requested"),
        ("10", "to all pods requested"),
        ("2", "is at step 2 of 4 already: no step has 2 pods, and this is the first one with more"),
    ] {
        let Ok(Promotion::Request(words, _) | Promotion::Nothing(words)) = promoted(&deployment, Some(to))
        else {
            panic!("{to}")
        };
        assert!(words.ends_with(outcome), "{to}: {words}");
    }
}

#[test]
fn after_the_last_listed_step_come_all_pods() {
    let mut deployment = samples::resting_until_promoted();
    deployment.body["status"]["rollout"]["step"] = json!(3);
    assert_eq!(promoted(&deployment, None), requested("all pods", "7/all"));
    let steps = |deployment: &mut Deployment, last: &str| {
        let steps = json!([{"updated": 1}, {"updated": 1}, {"updated": "50%"}, {"updated": last}]);
        deployment.body["spec"]["strategy"]["rollingUpdate"]["steps"] = steps;
    };
    steps(&mut deployment, "100%");
    assert_eq!(promoted(&deployment, None), requested("all pods", "7/all"));
    // One with the number of another is known by that.
    deployment.body["status"]["rollout"]["step"] = json!(1);
    assert_eq!(promoted(&deployment, None), requested("step 3 of 4 (50%)", "7/50%"));
}

#[test]
fn a_wrong_name_is_a_mistake_of_the_command_line() {
    for name in ["some", "-1", "30%%", "1.5"] {
        let (code, message) = promoted(&samples::resting_until_promoted(), Some(name)).err().unwrap();
        assert_eq!(code, Code::Usage, "{message}");
        assert!(message.starts_with(&format!("--to {name} names no step: write a listed step")), "{message}");
    }
}

#[test]
fn what_is_not_at_a_step_is_not_promoted() {
    let resting = samples::resting_until_promoted;
    let refused = |deployment: &Deployment| promoted(deployment, None).err().unwrap();
    let mut none = resting();
    none.body["spec"]["strategy"] = json!(null);
    let mut complete = resting();
    complete.body["status"]["rollout"] = json!(null);
    let mut before = resting();
    before.body["status"]["rollout"]["revision"] = json!(6);
    let mut on_its_way = resting();
    on_its_way.body["status"]["rollout"]["restStartTime"] = json!(null);
    on_its_way.body["status"]["conditions"] = json!([]);
    let mut failed = resting();
    failed.body["status"]["conditions"] =
        json!([{"type": "Stalled", "status": "True", "reason": "RolloutFailed", "message": "failed"}]);
    let mut empty = resting();
    empty.body["spec"]["replicas"] = json!(0);
    let mut pinned = resting();
    pinned.body["spec"]["pin"] = json!({"podTemplateHash": "h6"});
    let mut asked = resting();
    asked.body["metadata"]["annotations"] = json!({PROMOTE: "7/25%/2026-04-01T12:04:59Z"});
    let command = |verb| format!("kubectl rollwright {verb} deployment.rollwright.dev/web -n shop");
    for (deployment, words, fix) in [
        (none, "has no spec.strategy.rollingUpdate.steps", "stop at no step".to_owned()),
        (complete, "revision 7 of web is at no step", command("why")),
        (before, "revision 7 of web is at no step", command("why")),
        (on_its_way, "has not reached step 2 of 4 yet", format!("{} --to=PODS", command("promote"))),
        (failed, "revision 7 of web failed", command("retry")),
        (empty, "has no replicas", format!("{} --replicas=COUNT", command("scale"))),
        (pinned, "is pinned", command("unpin")),
        (samples::newer(resting()), "nothing would come of a promotion", "remove the field".to_owned()),
        (asked, "has not answered the last promotion", command("why")),
    ] {
        let (code, message) = refused(&deployment);
        assert_eq!(code, Code::Failed, "{message}");
        assert!(message.contains(words) && message.ends_with(&fix), "{message}");
    }
    let mut paused = resting();
    paused.body["spec"]["paused"] = json!(true);
    assert_eq!(refused(&paused).0, Code::Paused);
    let apps = Deployment { flavour: Flavour::AppsV1, ..resting() };
    let (code, message) = refused(&apps);
    assert_eq!(code, Code::Usage);
    assert!(message.ends_with("migrate deployment.apps/web -n shop"), "{message}");
}

/// The planner refuses it, and would report that in an event.
#[test]
fn a_step_behind_is_refused_in_the_words_of_the_planner() {
    let mut deployment = samples::resting_until_promoted();
    deployment.body["spec"]["strategy"]["rollingUpdate"]["steps"][1]["updated"] = json!("50%");
    let all = crate::history::revisions(vec![samples::set(6, 1), samples::set(7, 2)]);
    let refused = promote(&deployment, &all, Some("1"), Gates::Awaited, now()).err().unwrap();
    assert_eq!(refused.code(), Code::Failed);
    let words = "revision 7 of web is not promoted: rollwright.dev/promote=7/1/2026-04-01T12:05:00Z names step 1 of 4, \
                 and revision 7 is at step 2: name one ahead";
    assert_eq!(refused.to_string(), words);
    assert!(promote(&deployment, &all, Some("all"), Gates::Awaited, now()).is_ok());
}
