//! `spec.strategy.rollingUpdate.steps`: how a rollout advances from step to step (SP-1 to SP-9).

use jiff::SignedDuration;
use plan::intstr::IntOrPercent;
use plan::keys::{PROMOTE, condition};
use plan::{Action, Event, Planned, Record, Requeue, Strategy, Until, UpdateStep};
use serde_json::{Value, json};

use crate::rollwright::failing::{come_up, memory, named};
use crate::rollwright::pinning::{count, label, says, settle};
use crate::world::{Kstatus, World, ours, set, template};

/// Steps as `updated`, or `updated/promoted`, or `updated/seconds`.
pub(crate) fn steps(list: &[&str]) -> Vec<UpdateStep> {
    let step = |text: &&str| {
        let (updated, wait) = text.split_once('/').unwrap_or((text, ""));
        let promoted = (wait == "promoted").then_some(Until::Promoted);
        UpdateStep {
            updated: updated.parse().map_or(IntOrPercent::Text(updated.to_owned()), IntOrPercent::Int),
            until: promoted.or(wait.parse().ok().map(Until::Seconds)).into_iter().collect(),
            gate: None,
        }
    };
    list.iter().map(step).collect()
}

/// Revision 2 has all pods, and is good; surge 1, unavailable 0.
pub(crate) fn stepped(replicas: i64, list: &[&str]) -> World {
    let text = |number: i64| number.to_string();
    let world = ours().template(template("b")).with(set("a", 0).revision("1"));
    let world = world
        .with(set("b", replicas).revision("2").scaled_for(&text(replicas), &text(replicas + 1)))
        .that(|it| {
            (it.replicas, it.steps, it.progress_deadline_seconds) = (replicas, steps(list), Some(600));
            let pods = |number| Some(IntOrPercent::Int(number));
            it.strategy = Strategy::RollingUpdate { max_surge: pods(1), max_unavailable: pods(0) };
        });
    let mut world = world;
    for name in ["a", "b"] {
        label(&mut world, name);
    }
    settle(&mut world);
    assert_eq!(world.kstatus(), Kstatus::Current);
    world
}

/// The example of the documentation, with revision 3 on its way.
pub(crate) fn example() -> World {
    let mut world = stepped(10, &["1/promoted", "25%/600", "50%"]);
    world.set_template(template("c"));
    world
}

/// The sizes, oldest first, without those of revision 1.
pub(crate) fn sizes(world: &World) -> String {
    let others = world.observed.sets.iter().filter(|set| set.name != "web-a");
    others.map(|set| set.size.to_string()).collect::<Vec<_>>().join("+")
}

/// What happened.
#[derive(Default)]
pub(crate) struct Played {
    /// The sizes after each write that changed one.
    pub(crate) path: Vec<String>,
    pub(crate) events: Vec<Event>,
    /// The records that closed.
    pub(crate) ended: Vec<Record>,
    /// All writes.
    pub(crate) writes: usize,
}

/// Reconciles once a second, while pods come up.
pub(crate) fn play(world: &mut World, seconds: i64, dead: &[&str]) -> Played {
    let mut played = Played { path: vec![sizes(world)], ..Played::default() };
    for _ in 0..seconds {
        world.wait(1);
        let plan = world.plan();
        for planned in &plan.actions {
            world.act(&planned.action);
            played.writes += 1;
            played.events.extend(planned.events.clone());
            if let Action::WriteStatus(write) = &planned.action {
                played.ended.extend(write.ended.clone());
            }
            if played.path.last() != Some(&sizes(world))
                && !matches!(planned.action, Action::DeleteReplicaSet(_))
            {
                played.path.push(sizes(world));
            }
        }
        come_up(world, dead);
    }
    played
}

/// As [`play`], after another template is declared.
pub(crate) fn declare(world: &mut World, image: &str, seconds: i64, dead: &[&str]) -> Played {
    world.set_template(template(image));
    play(world, seconds, dead)
}

/// As [`play`], after a change of R.
pub(crate) fn scale(world: &mut World, replicas: i64, seconds: i64, dead: &[&str]) -> Played {
    world.observed.workload.replicas = replicas;
    play(world, seconds, dead)
}

/// As [`play`], after somebody annotates the Deployment.
pub(crate) fn request(world: &mut World, key: &str, text: &str, seconds: i64, dead: &[&str]) -> Played {
    world.observed.workload.annotations.insert(key.to_owned(), text.to_owned());
    play(world, seconds, dead)
}

pub(crate) fn promote(world: &mut World, text: &str) {
    world.observed.workload.annotations.insert(PROMOTE.to_owned(), text.to_owned());
}

/// The running rollout, if it is at a step.
pub(crate) fn step(world: &World) -> Option<&Record> {
    world.observed.workload.status.ours.rollout.as_deref().filter(|record| record.step.is_some())
}

fn reconciling(world: &World) -> String {
    let status = &world.observed.workload.status;
    status.condition(condition::RECONCILING).map_or_else(String::new, |it| it.message.clone())
}

/// The first step.
#[test]
fn a_rollout_waits_at_a_step_until_somebody_promotes_it() {
    let mut world = example();
    let played = play(&mut world, 30, &[]);
    assert_eq!(played.path[1..], ["10+1", "9+1"]);
    assert_eq!(count(&played.events, "StepReached"), 1);
    let rests = ("Unknown".to_owned(), "RestingAtStep".to_owned());
    assert_eq!((says(&world, condition::PROGRESSING), world.kstatus()), (rests, Kstatus::InProgress));
    assert_eq!(reconciling(&world), "step 1 of 4: 1 of 10 updated, rests until somebody promotes it");
    let known = step(&world).unwrap();
    assert_eq!([known.step, known.steps, known.updated, known.target_pods], [1, 4, 1, 1].map(Some));
    assert!(known.rest_start_time.is_some());
    assert_eq!(world.plan().why.to_string(), reconciling(&world));
    // A rollout that rests at a step causes no writes, however long it rests.
    world.now += SignedDuration::from_hours(100);
    assert_eq!((play(&mut world, 20, &[]).writes, world.plan().requeue), (0, Requeue::OnChange));
}

/// The second one.
#[test]
fn a_rollout_waits_at_a_step_for_its_time() {
    let mut world = example();
    play(&mut world, 30, &[]);
    let played = request(&mut world, PROMOTE, "3/25%", 30, &[]);
    assert_eq!(played.path[1..], ["9+2", "8+2", "8+3", "7+3"]);
    assert_eq!((count(&played.events, "Promoted"), count(&played.events, "StepReached")), (1, 1));
    let known = step(&world).unwrap();
    // The second in which it was reached may be nearly over.
    let end = known.rest_start_time.unwrap() + SignedDuration::from_secs(601);
    assert_eq!((known.step, world.clone().plan().requeue), (Some(2), Requeue::Deadline(end)));
    let time = end.to_string().split_once('T').unwrap().1.to_owned();
    assert_eq!(reconciling(&world), format!("step 2 of 4: 3 of 10 updated, rests until {time}"));
    assert_eq!(says(&world, condition::PROGRESSING).1, "RestingAtStep");
    let rest = &memory(&world, &named(&world, "c"))["steps"];
    assert_eq!((&rest["kept"], &rest["step"], &rest["pods"]), (&json!("web-b"), &json!(2), &json!(3)));
    world.now = end - SignedDuration::from_secs(2);
    assert_eq!(play(&mut world, 1, &[]).writes, 0, "not yet");
    assert_ne!(play(&mut world, 1, &[]).writes, 0);
}

/// The rollout does not wait at the last two.
#[test]
fn a_rollout_goes_on_to_the_end() {
    let mut world = example();
    let played = request(&mut world, PROMOTE, "3/50%", 60, &[]);
    assert_eq!(played.path[1..4], ["10+1", "9+1", "9+2"]);
    assert_eq!((played.path.last().unwrap().as_str(), count(&played.events, "StepReached")), ("0+10", 1));
    assert_eq!((world.kstatus(), step(&world)), (Kstatus::Current, None));
    assert_eq!(memory(&world, &named(&world, "c"))["verdict"], "Good", "without a policy, too");
    assert_eq!(play(&mut world, 30, &[]).writes, 0);
}

/// The operator is killed after this number of writes, and what is left of that plan is lost. Returns how many there
/// were.
fn killed_after(writes: usize) -> usize {
    let mut world = example();
    let mut number = 0;
    for second in 0..800 {
        if second == 40 {
            promote(&mut world, "3/25%");
        }
        let plan = world.plan();
        for planned in &plan.actions {
            world.act(&planned.action);
            number += 1;
            let most = if second < 40 { 1 } else { 3 };
            let running = world.observed.sets.last().map_or(0, |set| set.size);
            assert!(
                running <= most || second > 640,
                "{running} pods at {second} s, killed after {writes} writes"
            );
            let all: i64 = world.observed.sets.iter().map(|set| set.size).sum();
            assert!((10..=11).contains(&all), "{all} pods, killed after {writes} writes");
            if number == writes {
                break;
            }
        }
        play(&mut world, 1, &[]);
    }
    assert_eq!(
        (sizes(&world).as_str(), world.kstatus()),
        ("0+10", Kstatus::Current),
        "killed after {writes} writes"
    );
    number
}

#[test]
fn a_kill_after_any_write_loses_no_step_and_no_pod() {
    let writes = killed_after(usize::MAX);
    assert!(writes > 10, "{writes}");
    for number in 1..=writes {
        killed_after(number);
    }
    println!("killed after each of {writes} writes");
}

/// SP-5: the write that grows the ReplicaSet has the step that allows it.
#[test]
fn a_step_is_recorded_with_the_size_that_follows_from_it() {
    let writes = |list: &[&str]| {
        let mut world = stepped(10, list);
        world.set_template(template("c"));
        let mut writes = Vec::new();
        while sizes(&world) != "0+10" {
            let of_set = |planned: &Planned| match &planned.action {
                Action::UpdateReplicaSet(update) => Some((update.size_from, update.size_to)),
                _ => None,
            };
            writes.extend(world.plan().actions.iter().filter_map(of_set));
            play(&mut world, 1, &[]);
        }
        writes
    };
    let with_steps = writes(&["1", "30%"]);
    assert!(with_steps.iter().all(|(from, to)| from != to), "{with_steps:?}");
    assert_eq!(with_steps.len(), writes(&[]).len(), "no more of them than without steps");
}

#[test]
fn a_first_rollout_has_no_steps() {
    let mut world = ours().that(|it| {
        (it.replicas, it.steps) = (10, steps(&["1/promoted"]));
    });
    let played = play(&mut world, 10, &[]);
    assert_eq!((played.path.last().unwrap().as_str(), world.kstatus()), ("10", Kstatus::Current));
    // The first rollout gets no steps while the Deployment is scaled, either, whatever is lost of the status.
    let mut world = ours().that(|it| (it.replicas, it.steps) = (10, steps(&["1/promoted"])));
    play(&mut world, 1, &["a"]);
    let name = named(&world, "a");
    assert_eq!(memory(&world, &name)["steps"], json!({}));
    scale(&mut world, 20, 10, &[]);
    assert_eq!(world.find(&name).size, 20);
}

/// SP-9.
#[test]
fn a_revision_that_is_good_has_no_steps_unless_it_is_to_have_them() {
    for good_skips_steps in [true, false] {
        let mut world = example();
        request(&mut world, PROMOTE, "3/all", 60, &[]);
        assert_eq!(sizes(&world), "0+10");
        world.observed.workload.good_skips_steps = good_skips_steps;
        declare(&mut world, "b", 60, &[]);
        assert_eq!(sizes(&world), if good_skips_steps { "10+0" } else { "1+9" });
    }
}

#[test]
fn a_revision_that_is_declared_again_begins_at_the_first_step() {
    let mut world = example();
    request(&mut world, PROMOTE, "3/25%", 30, &[]);
    let name = named(&world, "c");
    assert_eq!(sizes(&world), "7+3");
    declare(&mut world, "d", 30, &[]);
    assert_eq!(sizes(&world), "9+0+1", "the good one is kept");
    declare(&mut world, "c", 30, &[]);
    // Its promotion was one of revision 3.
    assert_eq!((sizes(&world).as_str(), world.find(&name).size), ("9+1+0", 1));
    let walk = memory(&world, &name);
    assert_eq!((&walk["revision"], &walk["steps"]["step"]), (&json!(5), &json!(1)));
}

/// SP-3: the third revision comes while the second one is dead.
#[test]
fn a_revision_that_was_never_good_is_not_kept() {
    let mut world = example();
    request(&mut world, PROMOTE, "3/25%", 30, &[]);
    let dead = ["c"];
    play(&mut world, 1, &dead);
    let played = declare(&mut world, "d", 40, &dead);
    assert_eq!(played.path.last().unwrap(), "9+0+1", "{:?}", played.path);
    assert_eq!(world.observed.workload.status.available_replicas, 10);
}

/// SP-7.
#[test]
fn scaling_at_a_step_keeps_its_share_and_adds_no_surge() {
    let mut world = stepped(20, &["30%/promoted"]);
    declare(&mut world, "c", 60, &[]);
    for (replicas, path) in [
        (19, &["14+6", "13+6"] as &[_]),
        (20, &["13+6", "14+6"]),
        (10, &["14+6", "7+6", "7+3"]),
        (0, &["7+3", "0+3", "0+0"]),
        (10, &["0+0", "7+0", "7+3"]),
        (1, &["7+3", "1+3", "1+0"]),
        (10, &["1+0", "7+0", "7+3"]),
    ] {
        world.observed.workload.replicas = replicas;
        world.observed.workload.generation += 1;
        let played = play(&mut world, 20, &[]);
        assert_eq!(played.path, path, "{replicas}");
        assert_eq!(play(&mut world, 10, &[]).writes, 0, "{replicas}");
        assert_eq!(says(&world, condition::PROGRESSING).1, "RestingAtStep", "{replicas}");
        let words =
            if replicas == 0 { "rests while there are no replicas" } else { "until somebody promotes it" };
        assert!(reconciling(&world).contains(words), "{}", reconciling(&world));
    }
    let known = step(&world).unwrap();
    assert_eq!(
        (known.step, known.updated, known.rest_start_time.is_some()),
        (Some(1), Some(3), true),
        "not promoted"
    );
}

/// A rollout in transit can be paused, too, and its time restarts.
#[test]
fn a_pause_holds_the_step_and_its_sizes_follow_r() {
    let mut world = stepped(10, &["30%/600"]);
    declare(&mut world, "c", 30, &[]);
    world.observed.workload.paused = true;
    assert_eq!(play(&mut world, 30, &[]).path, ["7+3"]);
    world.wait(600);
    assert_eq!(scale(&mut world, 20, 10, &[]).path, ["7+3", "14+3", "14+6"]);
    scale(&mut world, 0, 10, &[]);
    assert_eq!(scale(&mut world, 10, 10, &[]).path, ["0+0", "7+0", "7+3"]);
    world.observed.workload.paused = false;
    play(&mut world, 2, &[]);
    let since = step(&world).unwrap().rest_start_time.unwrap();
    assert_eq!(world.now.duration_since(since).as_secs(), 1);
    assert_eq!(play(&mut world, 590, &[]).path, ["7+3"]);
    assert_eq!(play(&mut world, 60, &[]).path.last().unwrap(), "0+10");
}

#[test]
fn the_time_of_a_step_begins_anew_after_a_break_but_not_after_a_change_of_r() {
    let mut world = stepped(10, &["30%/600"]);
    declare(&mut world, "c", 30, &[]);
    let since = |world: &World| step(world).and_then(|it| it.rest_start_time);
    let first = since(&world).unwrap();
    // Pods that a change of R starts are no break.
    scale(&mut world, 20, 20, &[]);
    assert_eq!((sizes(&world).as_str(), since(&world)), ("14+6", Some(first)));
    // One that was there is one.
    let name = named(&world, "c");
    world.find_mut(&name).status.available = 5;
    world.proceed();
    assert_eq!((memory(&world, &name)["steps"]["reached"].clone(), since(&world)), (Value::Null, None));
    assert_eq!(says(&world, condition::PROGRESSING), ("True".to_owned(), "ReplicaSetUpdated".to_owned()));
    play(&mut world, 5, &[]);
    let second = since(&world).unwrap();
    assert!(second > first);
    // Without replicas, the clock stands still.
    play(&mut world, 100, &[]);
    scale(&mut world, 0, 5, &[]);
    world.now += SignedDuration::from_hours(10);
    assert_eq!(scale(&mut world, 20, 480, &[]).path.last().unwrap(), "14+6");
    assert_eq!(play(&mut world, 80, &[]).path.last().unwrap(), "0+20");
}

/// SP-1: there is no pod of it to look at, so time shows nothing.
#[test]
fn with_one_replica_a_person_promotes_and_time_has_no_effect() {
    let mut world = stepped(1, &["25%/600", "50%/promoted", "75%/600"]);
    let played = declare(&mut world, "c", 20, &[]);
    assert_eq!((played.path.last().unwrap().as_str(), count(&played.events, "StepReached")), ("1+0", 2));
    let text = reconciling(&world);
    assert!(text.contains("steps with waitSeconds alone do not wait"), "{text}");
    assert_eq!(request(&mut world, PROMOTE, "3/75%", 20, &[]).path[1..], ["1+1", "0+1"]);
    // A rollout that has begun continues.
    let mut world = stepped(10, &["30%/600"]);
    declare(&mut world, "c", 60, &[]);
    assert_eq!(scale(&mut world, 1, 480, &[]).path, ["7+3", "1+3", "1+0"]);
    assert_eq!(play(&mut world, 120, &[]).path[1..], ["1+1", "0+1"]);
}
