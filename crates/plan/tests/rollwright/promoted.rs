//! Who promoted a revision, in the record of its rollout (SP-6).

use jiff::Timestamp;
use plan::keys::{ABORT, PROMOTE, RETRY, ROLLOUT};
use plan::{Action, Author, Outcome, Promotion, Record, Trigger};
use serde_json::{Value, json};

use crate::rollwright::failing::{come_up, memory, named};
use crate::rollwright::stepping::{Played, declare, example, play, promote, request, stepped};
use crate::world::World;

/// A promotion by a field manager.
fn promote_as(world: &mut World, manager: &str, text: &str) {
    promote(world, text);
    let (manager, operation) = (manager.to_owned(), "Update".to_owned());
    world.observed.workload.authors.promotion = Some(Author { manager, operation, user: None });
}

fn running(world: &World) -> Option<&Record> {
    world.observed.workload.status.ours.rollout.as_deref()
}

/// The step and the manager of each promotion, with the times in order.
fn by(record: &Record) -> Vec<(i64, &str)> {
    let times: Vec<Option<Timestamp>> = record.promotions.iter().map(|it| it.time).collect();
    assert!(times.is_sorted() && times.iter().all(Option::is_some), "{times:?}");
    record.promotions.iter().map(|it| (it.step, it.manager.as_str())).collect()
}

#[test]
fn a_record_names_who_promoted_to_which_step_and_when() {
    let mut world = example();
    play(&mut world, 30, &[]);
    assert_eq!(running(&world).unwrap().promotions, []);
    promote_as(&mut world, "kubectl-annotate", "3/25%");
    play(&mut world, 1, &[]);
    let first = Promotion {
        step: 2,
        manager: "kubectl-annotate".to_owned(),
        time: Timestamp::from_second(world.now.as_second()).ok(),
        is_forced: false,
    };
    let told = &running(&world).unwrap().promotions;
    assert_eq!(told.as_slice(), std::slice::from_ref(&first), "in the status that reports the step");
    let stored = json!([{"step": 2, "manager": "kubectl-annotate", "at": first.time.unwrap().to_string()}]);
    assert_eq!(memory(&world, &named(&world, "c"))["promotions"], stored, "with the step");
    play(&mut world, 30, &[]);
    // Neither of these changes the step.
    for text in ["3/1", "3/some", "3/25%/again", "2/all"] {
        promote_as(&mut world, "mallory", text);
        play(&mut world, 3, &[]);
    }
    promote_as(&mut world, "rollwright-cli", "3/all");
    let ended = play(&mut world, 60, &[]).ended;
    assert_eq!((ended.len(), ended[0].end.as_ref().unwrap().outcome), (1, Outcome::Succeeded));
    assert_eq!(ended[0].promotions[0], first);
    assert_eq!(by(&ended[0]), [(2, "kubectl-annotate"), (4, "rollwright-cli")]);
    // The next rollout has none of them, and neither has the way back from it.
    declare(&mut world, "d", 30, &[]);
    assert_eq!(running(&world).unwrap().promotions, []);
    let ended = request(&mut world, ABORT, "4", 60, &[]).ended;
    let told: Vec<_> = ended.iter().map(|it| (it.revision, it.trigger, by(it))).collect();
    let (new, back) = (Some(Trigger::NewImage), Some(Trigger::Revert));
    assert_eq!(told, [(4, new, Vec::new()), (3, back, Vec::new())]);
}

/// Reconciles that are killed after their first write.
fn killed(world: &mut World, seconds: i64) -> Vec<Record> {
    let mut ended = Vec::new();
    for _ in 0..seconds {
        world.wait(1);
        let plan = world.plan();
        let Some(first) = plan.actions.first() else { continue };
        world.act(&first.action);
        if let Action::WriteStatus(write) = &first.action {
            ended.extend(write.ended.clone());
        }
        come_up(world, &[]);
    }
    ended
}

#[test]
fn a_kill_between_two_writes_loses_no_promotion_and_counts_none_twice() {
    let mut world = example();
    killed(&mut world, 60);
    promote_as(&mut world, "alice", "3/25%");
    killed(&mut world, 60);
    promote_as(&mut world, "bob", "3/all");
    let ended = killed(&mut world, 120);
    assert_eq!(ended.len(), 1);
    assert_eq!(by(&ended[0]), [(2, "alice"), (4, "bob")]);
}

/// The status was not written yet when another template came.
#[test]
fn a_record_that_another_template_closes_has_what_its_replica_set_remembers() {
    let mut world = example();
    play(&mut world, 30, &[]);
    promote_as(&mut world, "alice", "3/25%");
    let set = named(&world, "c");
    while memory(&world, &set)["promotions"].is_null() {
        killed(&mut world, 1);
    }
    assert_eq!(running(&world).unwrap().promotions, [], "killed before the status");
    let ended = declare(&mut world, "d", 30, &[]).ended;
    assert_eq!((ended[0].revision, by(&ended[0])), (3, vec![(2, "alice")]));
    assert_eq!(running(&world).unwrap().promotions, []);
}

/// Somebody names the next revision before it is declared.
#[test]
fn a_promotion_in_advance_is_in_the_record_too() {
    for (text, first) in [("3/25%", 2), ("3/all", 4)] {
        let mut world = stepped(10, &["1/promoted", "25%/promoted", "50%/promoted"]);
        promote_as(&mut world, "alice", text);
        let mut ended = declare(&mut world, "c", 60, &[]).ended;
        let record = ended.pop().or_else(|| running(&world).cloned()).unwrap();
        assert_eq!((record.revision, by(&record)), (3, vec![(first, "alice")]), "{text}");
    }
    // To the first step, where it begins anyway.
    let mut world = example();
    promote_as(&mut world, "alice", "3/1");
    play(&mut world, 30, &[]);
    assert_eq!(running(&world).unwrap().promotions, []);
}

/// SP-9: its promotions of before no longer count.
#[test]
fn a_retry_begins_without_promotions() {
    let mut world = example();
    play(&mut world, 30, &[]);
    promote_as(&mut world, "alice", "3/25%");
    play(&mut world, 30, &[]);
    let Played { ended, .. } = request(&mut world, ABORT, "3", 60, &[]);
    let aborted = ended.iter().find(|record| record.revision == 3).unwrap();
    assert_eq!(
        (aborted.end.as_ref().unwrap().outcome, by(aborted)),
        (Outcome::Cancelled, vec![(2, "alice")])
    );
    request(&mut world, RETRY, "3", 60, &[]);
    let known = running(&world).unwrap();
    assert_eq!((known.step, known.promotions.as_slice()), (Some(1), &[] as &[_]));
    promote_as(&mut world, "bob", "3/25%/again");
    play(&mut world, 60, &[]);
    assert_eq!(by(running(&world).unwrap()), [(2, "bob")]);
}

#[test]
fn nobody_is_named_where_nobody_is_known_and_what_is_lost_stays_in_the_record() {
    let mut world = example();
    play(&mut world, 30, &[]);
    request(&mut world, PROMOTE, "3/25%", 30, &[]);
    assert_eq!(by(running(&world).unwrap()), [(2, "")]);
    let set = named(&world, "c");
    world.find_mut(&set).annotations.remove(ROLLOUT);
    play(&mut world, 10, &[]);
    assert_eq!(by(running(&world).unwrap()), [(2, "")]);
}

/// Garbage on the ReplicaSet, and a list without end.
#[test]
fn promotions_have_their_bounds() {
    let mut world = example();
    play(&mut world, 30, &[]);
    let set = named(&world, "c");
    let mut known = memory(&world, &set);
    let entry = |step: i64| json!({"step": step, "manager": "m".repeat(200), "at": "2026-04-01T12:00:00Z"});
    let garbage =
        [json!(7), json!(null), json!({"step": "1"}), json!({"step": 0, "at": "-009999-01-02T01:59:59Z"})];
    known["promotions"] = (1..=300).map(entry).chain(garbage).collect::<Vec<Value>>().into();
    world.find_mut(&set).annotations.insert(ROLLOUT.to_owned(), known.to_string());
    promote_as(&mut world, &"x".repeat(200), "3/all");
    let ended = play(&mut world, 90, &[]).ended;
    let promotions = &ended[0].promotions;
    assert_eq!((promotions.len(), promotions[0].step, promotions[19].step), (20, 282, 4));
    assert!(promotions.iter().all(|it| it.manager.len() <= 48), "{promotions:?}");
    assert_eq!(memory(&world, &set)["promotions"].as_array().unwrap().len(), 20);
}
