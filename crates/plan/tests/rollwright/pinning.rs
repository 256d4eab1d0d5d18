//! `spec.pin`: an earlier revision runs, the template stays, and the status reports it (FP-9, FP-11, FP-12).

use jiff::SignedDuration;
use plan::keys::{HASH_LABEL, REVISION, condition};
use plan::{
    Action, Event, Failure, Outcome, Pin, Pod, Strategy, TargetRecord, Trigger, Verdict, after_failure,
};

use crate::rollwright::failing::come_up;
use crate::world::{Kstatus, World, created, fingerprint, ours, set, template, written};

/// Revision 2 is complete, and revision 1 has no pods: what somebody finds who looks for a way back.
pub(crate) fn complete() -> World {
    let mut world = ours()
        .that(|it| it.progress_deadline_seconds = Some(600))
        .template(template("b"))
        .with(set("a", 0).revision("1"))
        .with(set("b", 3).revision("2").scaled_for("3", "4"));
    for name in ["a", "b"] {
        label(&mut world, name);
    }
    settle(&mut world);
    assert_eq!(world.kstatus(), Kstatus::Current);
    world
}

/// A ReplicaSet's hash is its image in these tests.
pub(crate) fn label(world: &mut World, image: &str) {
    let set = world.find_mut(&format!("web-{image}"));
    set.labels.insert(HASH_LABEL.to_owned(), image.to_owned());
}

fn pin(hash: &str) -> Pin {
    Pin {
        pod_template_hash: hash.to_owned(),
        template_fingerprint: None,
        reason: Some("INC-4711".to_owned()),
    }
}

fn pinned(hash: &str) -> World {
    let mut world = complete();
    set_pin(&mut world, Some(pin(hash)));
    world
}

fn set_pin(world: &mut World, pin: Option<Pin>) {
    let workload = &mut world.observed.workload;
    (workload.pin, workload.generation) = (pin, workload.generation + 1);
}

/// Reconciles in which each ReplicaSet has the pods that it should have, until nothing is left to do.
pub(crate) fn settle(world: &mut World) -> Vec<Event> {
    let mut events = Vec::new();
    for _ in 0..30 {
        world.wait(1);
        let plan = world.plan();
        let is_busy = !plan.actions.is_empty();
        world.apply(&plan);
        events.extend(plan.actions.into_iter().flat_map(|planned| planned.events));
        let has_moved = world.observed.sets.iter().any(|set| set.status.replicas != set.size);
        come_up(world, &[]);
        if !is_busy && !has_moved {
            return events;
        }
    }
    panic!("still busy: {:?}", world.plan().actions);
}

pub(crate) fn sizes(world: &World) -> Vec<(&str, i64)> {
    world.observed.sets.iter().map(|set| (set.name.as_str(), set.size)).collect()
}

pub(crate) fn target(world: &World) -> Option<TargetRecord> {
    world.observed.workload.status.ours.target.clone()
}

pub(crate) fn says(world: &World, kind: &str) -> (String, String) {
    let status = &world.observed.workload.status;
    status.condition(kind).map(|it| (it.status.clone(), it.reason.clone())).unwrap_or_default()
}

pub(crate) fn count(events: &[Event], reason: &str) -> usize {
    events.iter().filter(|event| event.reason == reason).count()
}

fn by_revision(revision: i64, declared: i64) -> Option<TargetRecord> {
    Some(TargetRecord {
        revision: Some(revision),
        hash: "a".to_owned(),
        reason: "Pinned".to_owned(),
        declared_revision: Some(declared),
    })
}

#[test]
fn the_pinned_revision_takes_over_and_everything_reports_it() {
    let mut world = pinned("a");
    let events = settle(&mut world);
    assert_eq!(sizes(&world), [("web-a", 3), ("web-b", 0)]);
    assert_eq!(world.find("web-a").annotations[REVISION], "1", "running it again does not renumber it");
    assert_eq!(target(&world), by_revision(1, 2));
    let rolled_back = |status: &str| (status.to_owned(), "RolledBack".to_owned());
    assert_eq!(says(&world, condition::PROGRESSING), rolled_back("False"));
    assert_eq!(says(&world, condition::STALLED), rolled_back("True"));
    assert_eq!(says(&world, condition::READY), rolled_back("False"));
    assert_eq!(says(&world, condition::AVAILABLE).0, "True");
    let status = world.observed.workload.status.clone();
    assert_eq!((status.updated_replicas, status.available_replicas, status.ours.revision), (0, 3, Some(2)));
    let words = "revision 1 runs instead of the declared revision 2, because spec.pin names it (INC-4711)";
    assert_eq!(world.plan().why.to_string(), words);
    assert_eq!(status.condition(condition::STALLED).unwrap().message, words);
    assert_eq!(count(&events, "Pinned"), 1, "{events:?}");
    assert_eq!(world.template, template("b"), "the template is its author's");
}

#[test]
fn its_rollout_has_a_record_and_its_end_another() {
    let mut world = complete();
    let mut ended = Vec::new();
    let mut play = |world: &mut World| {
        for _ in 0..12 {
            world.wait(1);
            ended.extend(written(&world.proceed()).into_iter().flat_map(|write| write.ended.clone()));
            come_up(world, &[]);
        }
    };
    play(&mut world);
    set_pin(&mut world, Some(pin("a")));
    play(&mut world);
    set_pin(&mut world, None);
    play(&mut world);
    let found: Vec<_> =
        ended.iter().map(|it| (it.revision, it.from, it.trigger, it.cause.as_deref())).collect();
    assert_eq!(
        found[found.len() - 2..],
        [(1, Some(2), Some(Trigger::Pin), Some("INC-4711")), (2, Some(1), Some(Trigger::Pin), None),]
    );
    assert!(ended.iter().all(|it| it.end.as_ref().unwrap().outcome == Outcome::Succeeded), "{ended:?}");
}

/// Under Recreate, the next ReplicaSet comes when the pods of the last one are gone.
#[test]
fn a_template_that_ends_a_pin_has_one_record_and_its_own_trigger() {
    let mut world = pinned("a").that(|it| it.strategy = Strategy::Recreate);
    settle(&mut world);
    world.set_template(template("c"));
    set_pin(&mut world, None);
    world.proceed();
    let ours = &world.observed.workload.status.ours;
    assert_eq!((ours.revision, ours.rollout.as_deref()), (Some(2), None), "c has no revision yet");
    while world.observed.workload.status.ours.rollout.is_none() {
        world.wait(1);
        world.find_mut("web-a").status = Default::default();
        world.proceed();
    }
    let record = world.observed.workload.status.ours.rollout.as_deref().unwrap();
    assert_eq!((record.revision, record.trigger), (3, Some(Trigger::NewImage)));
}

#[test]
fn a_new_template_has_its_revision_and_no_pods() {
    let mut world = pinned("a");
    settle(&mut world);
    world.set_template(template("c"));
    settle(&mut world);
    let new: Vec<_> = world.observed.sets.iter().filter(|set| set.carries(&fingerprint("c"))).collect();
    assert_eq!((new.len(), new[0].size, new[0].annotations[REVISION].as_str()), (1, 0, "3"));
    assert_eq!(world.find("web-a").size, 3);
    assert_eq!(target(&world), by_revision(1, 3));
}

#[test]
fn without_the_pin_the_template_rolls_out_with_a_deadline_of_its_own() {
    let mut world = pinned("a");
    settle(&mut world);
    world.now += SignedDuration::from_hours(24);
    set_pin(&mut world, None);
    let events = settle(&mut world);
    assert_eq!(sizes(&world), [("web-a", 0), ("web-b", 3)]);
    assert_eq!((target(&world), count(&events, "PinReleased")), (None, 1));
    assert_eq!(count(&events, "ProgressDeadlineExceeded"), 0, "{events:?}");
    assert_eq!(world.kstatus(), Kstatus::Current);
}

#[test]
fn a_pin_for_one_template_ends_with_the_next() {
    let mut world = complete();
    let for_b = Pin { template_fingerprint: Some(fingerprint("b").as_str().to_owned()), ..pin("a") };
    set_pin(&mut world, Some(for_b));
    settle(&mut world);
    assert_eq!(world.find("web-a").size, 3);
    world.set_template(template("c"));
    settle(&mut world);
    let running: Vec<_> = world.observed.sets.iter().filter(|set| set.size > 0).collect();
    assert!(running.len() == 1 && running[0].carries(&fingerprint("c")), "{:?}", sizes(&world));
    assert_eq!(target(&world), None);
    // Git goes back to the template that the pin was for: the pin is in force again.
    world.set_template(template("b"));
    settle(&mut world);
    assert_eq!(world.find("web-a").size, 3);
}

#[test]
fn nothing_runs_in_the_place_of_a_set_that_is_gone() {
    let mut world = pinned("gone");
    let events = settle(&mut world);
    assert_eq!(sizes(&world), [("web-a", 0), ("web-b", 3)], "what runs stays");
    assert_eq!(count(&events, "PinTargetMissing"), 1, "{events:?}");
    assert_eq!(says(&world, condition::STALLED), ("True".to_owned(), "PinTargetMissing".to_owned()));
    assert_eq!(says(&world, condition::PROGRESSING), ("False".to_owned(), "PinTargetMissing".to_owned()));
    assert_eq!(target(&world).unwrap().revision, None);
    assert!(world.plan().why.to_string().contains("remove spec.pin"));
    world.observed.workload.replicas = 5;
    settle(&mut world);
    assert_eq!(sizes(&world), [("web-a", 0), ("web-b", 5)], "sizes follow R");
    world.set_template(template("c"));
    settle(&mut world);
    assert_eq!(sizes(&world), [("web-a", 0), ("web-b", 5)], "no rollout begins");
    // Nobody starts the template that was pinned away.
    let mut world = pinned("a");
    settle(&mut world);
    world.observed.sets.retain(|set| set.name != "web-a");
    settle(&mut world);
    assert_eq!(sizes(&world), [("web-b", 0)]);
}

/// In the middle of a rollout, too: nothing moves before R does.
#[test]
fn a_pin_without_a_target_stops_a_rollout_where_it_is() {
    let mut world = complete();
    world.set_template(template("c"));
    for _ in 0..2 {
        world.proceed();
    }
    let before: Vec<i64> = world.observed.sets.iter().map(|set| set.size).collect();
    assert_eq!(before.iter().filter(|size| **size > 0).count(), 2, "{before:?}");
    for set in &mut world.observed.sets {
        set.status.available = set.size;
    }
    set_pin(&mut world, Some(pin("gone")));
    settle(&mut world);
    assert_eq!(world.observed.sets.iter().map(|set| set.size).collect::<Vec<_>>(), before);
}

#[test]
fn a_size_is_that_of_what_runs() {
    let mut world = pinned("a");
    settle(&mut world);
    for (replicas, expected) in [(5, 5), (0, 0), (2, 2)] {
        world.observed.workload.replicas = replicas;
        world.observed.workload.generation += 1;
        settle(&mut world);
        assert_eq!(sizes(&world), [("web-a", expected), ("web-b", 0)]);
        assert_eq!(says(&world, condition::READY).0, "False", "R = {replicas}");
        assert_eq!(target(&world), by_revision(1, 2));
    }
}

/// The status named the ReplicaSet that the earlier pin did not find, for as long as the pause lasted.
#[test]
fn a_pin_that_is_corrected_during_a_pause_leaves_no_name_behind() {
    let mut world = pinned("gone");
    settle(&mut world);
    assert_eq!(target(&world).unwrap().hash, "gone");
    world.observed.workload.paused = true;
    set_pin(&mut world, Some(pin("a")));
    settle(&mut world);
    assert_eq!((target(&world), sizes(&world)), (None, vec![("web-a", 0), ("web-b", 3)]));
    assert_eq!(world.observed.workload.status.ours.rollout, None, "nothing begins during a pause");
    assert_eq!(says(&world, condition::READY).1, "DeploymentPaused");
    world.observed.workload.paused = false;
    settle(&mut world);
    assert_eq!(target(&world), by_revision(1, 2));
}

#[test]
fn a_pause_freezes_what_runs() {
    let mut world = pinned("a");
    world.observed.workload.paused = true;
    settle(&mut world);
    assert_eq!(sizes(&world), [("web-a", 0), ("web-b", 3)]);
    world.observed.workload.paused = false;
    settle(&mut world);
    world.observed.workload.paused = true;
    set_pin(&mut world, None);
    settle(&mut world);
    assert_eq!(sizes(&world), [("web-a", 3), ("web-b", 0)]);
    assert_eq!(says(&world, condition::PROGRESSING).1, "DeploymentPaused");
}

#[test]
fn a_pinned_set_is_not_cleaned_up_even_if_its_pin_is_not_in_force() {
    let beyond_the_limit = |pin: Option<Pin>| {
        let mut world = complete().that(|it| it.revision_history_limit = Some(0));
        world = world.with(set("x", 0).revision("0"));
        set_pin(&mut world, pin);
        settle(&mut world);
        world.observed.sets.iter().map(|set| set.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(beyond_the_limit(None), ["web-b"]);
    let of_another = Pin { template_fingerprint: Some("v1:0".to_owned()), ..pin("a") };
    assert_eq!(beyond_the_limit(Some(of_another)), ["web-a", "web-b"]);
}

#[test]
fn under_recreate_the_declared_pods_go_first() {
    let mut world = pinned("a");
    world.observed.workload.strategy = Strategy::Recreate;
    world.reconcile();
    assert_eq!(sizes(&world), [("web-a", 0), ("web-b", 0)]);
    let controller_uid = Some(world.find("web-b").uid.clone());
    world.find_mut("web-b").status.replicas = 0;
    world.pods = vec![Pod { controller_uid, phase: "Running".to_owned() }];
    world.reconcile();
    assert_eq!(world.find("web-a").size, 0, "a pod of the declared set runs on");
    world.pods.clear();
    settle(&mut world);
    assert_eq!(sizes(&world), [("web-a", 3), ("web-b", 0)]);
}

#[test]
fn a_rollback_changes_the_template_and_not_what_is_pinned() {
    let mut world = pinned("a");
    settle(&mut world);
    world.set_template(template("c"));
    settle(&mut world);
    world.observed.workload.rollback_to = Some(2);
    settle(&mut world);
    assert_eq!((world.template.clone(), world.observed.workload.rollback_to), (template("b"), None));
    assert_eq!(world.find("web-a").size, 3);
    assert_eq!(world.find("web-b").size, 0);
}

#[test]
fn what_runs_counts_as_available_as_the_deployment_says() {
    let mut world = pinned("a");
    settle(&mut world);
    world.observed.workload.min_ready_seconds = 7;
    settle(&mut world);
    assert_eq!([world.find("web-a").min_ready_seconds, world.find("web-b").min_ready_seconds], [7, 7]);
}

#[test]
fn a_pin_of_the_declared_set_changes_no_plan() {
    let mut without = complete();
    without.observed.workload.replicas = 5;
    let mut with = without.clone();
    with.observed.workload.pin = Some(pin("b"));
    assert_eq!(without.reconcile(), with.reconcile());
}

/// The pinned revision runs all the same, and the status reports that immediately.
#[test]
fn a_refused_replica_set_beside_a_pin_holds_nothing_up() {
    let mut world = complete();
    world.set_template(template("c"));
    set_pin(&mut world, Some(pin("a")));
    let plan = world.plan();
    let (create, _) = created(&plan).unwrap();
    for (failure, retries) in [
        (Failure::Refused("exceeded quota".to_owned()), true),
        (Failure::NameTaken(None), true),
        (Failure::NamespaceTerminating("going".to_owned()), false),
    ] {
        let after = after_failure(&world.observed, &plan, create, &failure, world.now);
        assert_eq!(matches!(after.verdict, Verdict::Retry(_)), retries, "{failure:?}: {:?}", after.verdict);
        let is_told = |actions: &[plan::Planned]| {
            let mut actions = actions.iter();
            actions.any(
                |it| matches!(&it.action, Action::WriteStatus(write) if write.status.ours.target.is_some()),
            )
        };
        let is_told = is_told(&plan.actions[..create]) || is_told(&after.actions);
        assert_eq!(is_told, retries, "{failure:?}: {:?}", after.actions);
        let events =
            |actions: &[plan::Planned]| actions.iter().flat_map(|it| it.events.clone()).collect::<Vec<_>>();
        let told = [events(&plan.actions[..create]), events(&after.actions)].concat();
        assert_eq!(count(&told, "Pinned"), usize::from(retries), "{failure:?}: {told:?}");
    }
    // A foreign ReplicaSet has the name: the next one is tried, and the rest of the status stays.
    let foreign = Failure::NameTaken(Some(Box::new(world.find("web-b").clone())));
    let after = after_failure(&world.observed, &plan, create, &foreign, world.now);
    let Some(Action::WriteStatus(write)) = after.actions.first().map(|it| &it.action) else {
        panic!("{after:?}")
    };
    assert_eq!((write.status.collision_count, write.status.ours.target.is_some()), (Some(1), true));
    assert_eq!(write.status.conditions.len(), world.observed.workload.status.conditions.len() + 1);
}
