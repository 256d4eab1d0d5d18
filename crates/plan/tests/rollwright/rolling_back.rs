//! `spec.rollbackTo` (S10, S5.7, and what rollwright.dev adds).

use plan::keys::CHANGE_CAUSE;
use plan::{Action, Failure, Verdict};

use crate::rollwright::check;
use crate::rollwright::failing::come_up;
use crate::world::{Set, World, created, fingerprint, ours, set, template};

fn revision(image: &str, size: i64, revision: &str) -> Set {
    set(image, size).revision(revision).scaled_for("3", "4").annotated(CHANGE_CAUSE, image)
}

/// `a` is revision 1, `b` revision 2, `c` is current.
fn third() -> World {
    let world = ours().template(template("c")).that(|it| {
        it.annotations.insert(CHANGE_CAUSE.to_owned(), "c".to_owned());
        it.annotations.insert("example.com/team".to_owned(), "blue".to_owned());
        it.progress_deadline_seconds = Some(600);
    });
    let current = revision("c", 3, "3").annotated("example.com/team", "blue");
    let mut world = world.with(revision("a", 0, "1")).with(revision("b", 0, "2")).with(current);
    world.settle(3);
    world
}

fn asked(mut world: World, revision: i64) -> World {
    world.observed.workload.rollback_to = Some(revision);
    world
}

#[test]
fn a_request_is_carried_out_recorded_and_cleared() {
    let to_b: &[&str] = &[
        "ask template of web-b",
        "roll back: b change-cause=b",
        "event DeploymentRollback",
        "status rollback=0:2:RolledBack recent=1",
    ];
    let to_a: &[&str] = &[
        "ask template of web-a",
        "roll back: a change-cause=a",
        "event DeploymentRollback",
        "status rollback=1:1:RolledBack recent=1",
    ];
    let nowhere = |requested: &'static str| -> [&'static str; 3] {
        ["event DeploymentRollbackRevisionNotFound", "roll back: clear", requested]
    };
    let unchanged: &[&str] = &[
        "event DeploymentRollbackTemplateUnchanged",
        "roll back: clear",
        "status rollback=3:3:TemplateUnchanged recent=0",
    ];
    let cases: [(&str, i64, &[&str]); 6] = [
        ("the previous one", 0, to_b),
        ("a given one", 1, to_a),
        ("the current one", 3, unchanged),
        ("one that was never there", 9, &nowhere("status rollback=9:0:RevisionNotFound recent=0")),
        ("a negative one", -1, &nowhere("status rollback=-1:0:RevisionNotFound recent=0")),
        (
            "the largest",
            i64::MAX,
            &nowhere("status rollback=9223372036854775807:0:RevisionNotFound recent=0"),
        ),
    ];
    for (name, requested, expected) in cases {
        let world = check(name, asked(third(), requested), &[expected]);
        let record = world.observed.workload.status.ours.rollback.as_ref().unwrap();
        assert_eq!(record.time, "2026-04-01T12:00:00Z", "{name}");
        assert_eq!(world.observed.workload.rollback_to, None, "{name}");
        let team = world.observed.workload.annotations.get("example.com/team").map(String::as_str);
        assert_eq!(team, Some("blue"), "{name}: other annotations stay");
    }
}

#[test]
fn previous_needs_another_revision() {
    let alone = ours().with(revision("a", 3, "4"));
    let mut alone = asked(alone, 0);
    let happened = alone.reconcile();
    assert_eq!(happened.first().map(String::as_str), Some("event DeploymentRollbackRevisionNotFound"));
    // Two ReplicaSets share the highest revision: the one that is not current is meant.
    let twins = ours().template(template("b")).with(revision("a", 0, "7")).with(revision("b", 3, "8"));
    let mut twins = asked(twins, 0);
    twins.find_mut("web-b").annotations.insert(plan::keys::REVISION.to_owned(), "7".to_owned());
    let happened = twins.reconcile();
    assert!(happened.contains(&"roll back: a change-cause=a".to_owned()), "{happened:?}");
    // S5.7: the current one's number does not matter, as long as the others have theirs.
    let mut garbled = asked(third(), 0);
    garbled.find_mut("web-c").annotations.insert(plan::keys::REVISION.to_owned(), "banana".to_owned());
    let happened = garbled.reconcile();
    assert!(happened.contains(&"roll back: b change-cause=b".to_owned()), "{happened:?}");
}

/// The ReplicaSet is found again whatever the server made of the restored template.
#[test]
fn the_target_is_marked_before_the_template_is_written() {
    let mut world = asked(third(), 1);
    world.find_mut("web-a").annotations.insert(plan::keys::FINGERPRINTS.to_owned(), "v1:sent".to_owned());
    world.find_mut("web-a").fingerprints = plan::template::Fingerprint::list("v1:sent");
    check(
        "marked",
        world,
        &[
            &[
                "ask template of web-a",
                "update web-a fingerprints=v1:sent,<a>",
                "roll back: a change-cause=a",
                "event DeploymentRollback",
                "status rollback=1:1:RolledBack recent=1",
            ],
            &[
                "update web-a 0->1 revision=4 revision-history=1 team=blue",
                "event ScalingReplicaSet",
                "status revision=4 Progressing=True:FoundNewReplicaSet",
            ],
        ],
    );
}

#[test]
fn the_change_cause_goes_when_the_target_has_none() {
    let world = third();
    let mut world = asked(world, 1);
    world.find_mut("web-a").annotations.remove(CHANGE_CAUSE);
    let happened = world.reconcile();
    assert!(happened.contains(&"roll back: a change-cause=(removed)".to_owned()), "{happened:?}");
    assert_eq!(world.change_cause(), None);
}

/// As a pod controller would: all ReplicaSets are as large as they should be, and available.
fn rolled_out(world: &mut World) {
    for _ in 0..20 {
        world.settle(12);
        let is_done = world.observed.sets.iter().all(|set| set.status.available == set.size);
        come_up(world, &[]);
        if is_done {
            return;
        }
    }
    panic!("no end of the rollout");
}

#[test]
fn an_undo_is_undone_by_the_next() {
    let mut world = third();
    for (current, revision) in [("b", 4), ("c", 5), ("b", 6)] {
        world = asked(world, 0);
        rolled_out(&mut world);
        let workload = &world.observed.workload;
        assert_eq!(workload.template.images, current);
        assert_eq!(workload.status.ours.revision, Some(revision));
        assert_eq!(world.change_cause(), Some(current));
        let size = world.find(&format!("web-{current}")).size;
        assert_eq!(size, 3, "{current}");
        assert_eq!(world.observed.sets.len(), 3, "nothing was created");
    }
}

/// Three rollbacks within ten minutes: `spec.rollbackTo` was left in a repository.
fn three_times() -> World {
    let mut world = third();
    for _ in 0..3 {
        world = asked(world, 0);
        rolled_out(&mut world);
        world.wait(60);
    }
    world
}

const REFUSED: &str = "status rollback=0:0:Refused recent=3 RollbackRefused=True:RepeatedRollback";

fn stalled(world: &World) -> Option<String> {
    let stalled = world.observed.workload.status.condition("Stalled")?;
    Some(stalled.reason.clone())
}

fn is_refused(world: &World) -> bool {
    world.observed.workload.status.condition("RollbackRefused").is_some_and(|it| it.status == "True")
}

#[test]
fn the_fourth_rollback_is_refused() {
    let mut world = check("refused", asked(three_times(), 0), &[&["event RepeatedRollback", REFUSED], &[]]);
    assert_eq!(world.observed.workload.rollback_to, Some(0), "the request is left to its author");
    // The rollout continues without it.
    world.observed.workload.replicas = 5;
    rolled_out(&mut world);
    assert_eq!(world.observed.workload.status.updated_replicas, 5);
    // Somebody has to do something, whatever the pods are like; unless all is held anyway.
    assert_eq!(stalled(&world).as_deref(), Some("RepeatedRollback"));
    let mut held = world.clone().that(|it| (it.paused, it.generation) = (true, it.generation + 1));
    held.settle(5);
    assert!(is_refused(&held));
    assert_eq!(stalled(&held), None);
    // Time alone does not help.
    world.wait(3600);
    check("still refused", world.clone(), &[&[]]);
    assert!(is_refused(&world));
}

/// The repository has the text without defaults, a rollback restores the one with them: that is no new template, as one
/// ReplicaSet stands for both.
#[test]
fn another_text_of_the_same_template_does_not_start_the_count_anew() {
    let mut world = third();
    let texts = ["b", "b, raw", "b, again"].map(|image| fingerprint(image).as_str().to_owned()).join(",");
    let set = world.find_mut("web-b");
    set.fingerprints = plan::template::Fingerprint::list(&texts);
    set.annotations.insert(plan::keys::FINGERPRINTS.to_owned(), texts);
    for _ in 0..3 {
        world = asked(world, 0);
        rolled_out(&mut world);
        if world.observed.workload.template.images == "b" {
            world.set_template(template("b, raw"));
            rolled_out(&mut world);
        }
        world.wait(60);
    }
    assert_eq!(world.observed.sets.len(), 3, "nothing was created");
    let mut world = check("refused", asked(world, 0), &[&["event RepeatedRollback", REFUSED], &[]]);
    // Nor does it end a refusal that has stood for an hour.
    world.wait(3600);
    world.set_template(template("b, again"));
    rolled_out(&mut world);
    assert!(is_refused(&world));
    assert_eq!(world.observed.workload.rollback_to, Some(0));
}

#[test]
fn rollbacks_that_are_far_apart_are_not_refused() {
    let mut world = third();
    for _ in 0..6 {
        world = asked(world, 0);
        rolled_out(&mut world);
        assert!(!is_refused(&world));
        assert_eq!(world.observed.workload.rollback_to, None);
        world.wait(301);
    }
}

#[test]
fn a_refusal_ends_with_its_request_or_with_a_new_template() {
    let refused = || {
        let mut world = asked(three_times(), 0);
        world.reconcile();
        assert!(is_refused(&world));
        world
    };
    let gone = refused().that(|it| it.rollback_to = None);
    let world = check("the request is gone", gone, &[&["status -RollbackRefused"], &[]]);
    assert!(!is_refused(&world));
    let mut world = refused();
    world.wait(3600);
    world.observed.workload.rollback_to = None;
    world.reconcile();
    let mut world = asked(world, 0);
    world.reconcile();
    assert_eq!(world.observed.workload.rollback_to, None, "asked anew, an hour later");
    let mut world = refused().template(template("d"));
    rolled_out(&mut world);
    assert!(!is_refused(&world), "a new template was written");
    assert_eq!(world.observed.workload.rollback_to, None);
}

/// AV-4: the ReplicaSet of a template that is replaced in the same reconcile gets no pods, and its place in the
/// history.
#[test]
fn a_template_that_never_ran_gets_a_revision_and_no_pods() {
    let strategies = [ours().observed.workload.strategy, plan::Strategy::Recreate];
    for strategy in strategies {
        let max = if strategy == plan::Strategy::Recreate { 3 } else { 4 };
        let world = third().template(template("d")).that(|it| it.strategy = strategy);
        let create = format!(
            "create (new) size=0 desired-replicas=3 max-replicas={max} revision=4 team=blue change-cause=c \
             fingerprints=<d>"
        );
        let reconcile: &[&str] = &[
            "ask template",
            "ask dry run",
            "ask template of web-a",
            &create,
            "roll back: a change-cause=a",
            "event DeploymentRollback",
            "status rollback=1:1:RolledBack recent=1 Progressing=True:NewReplicaSetCreated",
        ];
        let mut world = check("undone before it began", asked(world, 1), &[reconcile]);
        rolled_out(&mut world);
        assert_eq!(world.find("web-a").size, 3);
        assert_eq!(world.observed.workload.status.ours.revision, Some(5));
        // A rollback to it is still possible.
        let mut world = asked(world, 4);
        rolled_out(&mut world);
        assert_eq!(world.observed.workload.template.images, "d");
    }
}

/// The way out of such a template is a rollback, so it does not wait for the server to take what it replaces.
#[test]
fn a_template_that_the_server_never_takes_is_rolled_back() {
    for failure in
        [Failure::Invalid("limits: Invalid value".to_owned()), Failure::Refused("denied".to_owned())]
    {
        let mut world = asked(third().template(template("d")), 0);
        let plan = world.plan();
        let index = created(&plan).unwrap().0;
        let after = plan::after_failure(&world.observed, &plan, index, &failure, world.now);
        assert!(matches!(after.verdict, Verdict::PlanWithoutCreation(_)), "{:?}", after.verdict);
        let reasons: Vec<_> = after.events.iter().map(|event| event.reason).collect();
        assert_eq!((after.actions.len(), reasons), (0, vec!["ReplicaSetCreateError"]));
        world.observed.answers.refuses_creation = true;
        world.proceed();
        world.observed.answers.refuses_creation = false;
        rolled_out(&mut world);
        assert_eq!(world.observed.workload.template.images, "c", "the one that ran before");
        assert_eq!((world.observed.sets.len(), world.find("web-c").size), (3, 3));
    }
}

/// A request that comes to nothing leaves the empty ReplicaSet to the rollout.
#[test]
fn an_empty_set_grows_once_the_request_is_cleared() {
    let mut world = asked(third().template(template("d")), 77);
    world.reconcile();
    let new = world.observed.sets.last().unwrap().name.clone();
    assert_eq!((world.find(&new).size, world.observed.workload.rollback_to), (0, None));
    rolled_out(&mut world);
    assert_eq!(world.find(&new).size, 3);
}

#[test]
fn a_template_that_the_server_refuses_ends_the_request() {
    let mut world = asked(third(), 1);
    let plan = world.plan();
    let index =
        plan.actions.iter().position(|planned| matches!(planned.action, Action::RollBack(_))).unwrap();
    let after = |failure| plan::after_failure(&world.observed, &plan, index, &failure, world.now);
    let stale = after(Failure::Refused("the object has been modified".to_owned()));
    assert!(matches!(stale.verdict, Verdict::Retry(_)), "{:?}", stale.verdict);
    let refused = after(Failure::Invalid("env[1]: Duplicate value".to_owned()));
    assert!(matches!(refused.verdict, Verdict::End), "{:?}", refused.verdict);
    let reasons: Vec<_> = refused.events.iter().map(|event| event.reason).collect();
    assert_eq!(reasons, ["DeploymentRollbackInvalid"]);
    let [clear, told] = refused.actions.as_slice() else { panic!("{:?}", refused.actions) };
    assert!(matches!(&clear.action, Action::RollBack(write) if write.template.is_none()), "{clear:?}");
    let Action::WriteStatus(write) = &told.action else { panic!("{told:?}") };
    let record = write.status.ours.rollback.clone().unwrap();
    assert_eq!((record.requested, record.result.as_str()), (1, "Invalid"));
    assert_eq!(record.message.unwrap(), "Revision 1 cannot be put back: env[1]: Duplicate value");
    assert_eq!(record.recent, [], "it does not count as a rollback");
    // What only clears the request has no template to be wrong.
    let mut clearing = plan.clone();
    clearing.actions.clone_from(&refused.actions);
    let invalid = Failure::Invalid("spec.replicas: Invalid value".to_owned());
    let after = plan::after_failure(&world.observed, &clearing, 0, &invalid, world.now);
    assert!(
        matches!(&after.verdict, Verdict::Retry(why) if why.contains("spec.replicas")),
        "{:?}",
        after.verdict
    );
}

#[test]
fn a_refusal_tells_what_was_asked_for_and_when() {
    let mut world = asked(three_times(), 1);
    let before = world.now;
    world.reconcile();
    assert!(is_refused(&world));
    let record = world.observed.workload.status.ours.rollback.clone().unwrap();
    assert_eq!((record.requested, record.result.as_str()), (1, "Refused"));
    assert_eq!(record.time, before.to_string());
}
