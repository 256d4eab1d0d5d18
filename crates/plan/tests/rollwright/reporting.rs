//! What is written where: revision, scale and columns in the status, annotations on the ReplicaSets.

use plan::intstr::IntOrPercent;
use plan::keys::{CHANGE_CAUSE, LAST_APPLIED, MANAGED_LABEL, REVISION};
use plan::{Action, Failure, Map, Plan, Planned, Strategy, Verdict};

use crate::rollwright::check;
use crate::world::{World, ours, set, written};

fn in_step(image: &str, size: i64, revision: &str) -> crate::world::Set {
    set(image, size).revision(revision).scaled_for("3", "4")
}

/// Nothing is written to the object's metadata.
#[test]
fn the_revision_lives_in_the_status() {
    let world = ours().with(in_step("b", 0, "4")).with(in_step("a", 3, "2"));
    let world = check(
        "an old revision is raised",
        world,
        &[&["update web-a revision=5 revision-history=2", "status revision=5"], &[]],
    );
    assert_eq!(world.observed.workload.annotations, Map::new());
    assert_eq!(world.observed.workload.status.ours.revision, Some(5));
    let world = ours().with(in_step("a", 3, "nonsense"));
    check("garbage is repaired", world, &[&["update web-a revision=1", "status revision=1"], &[]]);
    // S5.2: what has no successor does not count.
    let beyond = ours().with(in_step("b", 0, "4")).with(in_step("c", 0, &i64::MAX.to_string()));
    check(
        "the end of the number line",
        beyond.with(in_step("a", 3, "1")),
        &[&["update web-a revision=5 revision-history=1", "status revision=5"], &[]],
    );
    let paused = ours().that(|it| it.paused = true).with(in_step("a", 3, "7"));
    check("a paused one reports too", paused, &[&["status revision=7"], &[]]);
}

/// Old pods stay because new ones are not available: the status has to report that.
#[test]
fn a_rollout_waits_for_its_new_pods_before_its_old_ones() {
    for (available, why) in [
        (0, "waiting for pods of web-a: 0 of 3 available"),
        (2, "waiting for pods of web-a: 2 of 3 available"),
        (3, "waiting for old pods to go: 1 left"),
    ] {
        let mut world = ours().that(|it| it.replicas = 3);
        world = world.with(in_step("b", 1, "1")).with(in_step("a", 3, "2"));
        world.find_mut("web-a").status.available = available;
        world.find_mut("web-b").size = if available == 3 { 0 } else { 1 };
        // Whatever this reconcile resizes comes first.
        world.reconcile();
        assert_eq!(world.plan().why.to_string(), why);
    }
}

/// A reconcile that only takes old pods away is a step too.
#[test]
fn a_reconcile_that_cuts_says_so() {
    let world = ours().that(|it| it.replicas = 3);
    let plan = world.with(in_step("b", 1, "1")).with(in_step("a", 3, "2")).plan();
    let cuts = plan.actions.iter().filter(|planned| matches!(planned.action, Action::UpdateReplicaSet(_)));
    assert_eq!((cuts.count(), plan.why.to_string().as_str()), (1, "creating or resizing ReplicaSets"));
}

/// The spec cannot be carried out, and nothing else is wrong: that is not "converged".
#[test]
fn a_surge_that_cannot_be_read_is_why_nothing_moves() {
    let unreadable = Strategy::RollingUpdate {
        max_surge: Some(IntOrPercent::Text("many".to_owned())),
        max_unavailable: Some(IntOrPercent::Int(1)),
    };
    let mut world = ours().that(|it| it.strategy = unreadable).with(in_step("a", 2, "1"));
    let plan = world.plan();
    assert!(plan.actions.is_empty());
    assert!(plan.error.is_some_and(|error| error.contains("many")));
    assert!(plan.why.to_string().starts_with("blocked: invalid value"), "{}", plan.why);
}

/// Sizes of the old ReplicaSet and the new one, all pods available; R is 4, within 3 and 5.
fn of_four(old: i64, new: i64) -> World {
    let of_four = |image, size, revision| set(image, size).revision(revision).scaled_for("4", "5");
    ours().that(|it| it.replicas = 4).with(of_four("b", old, "1")).with(of_four("a", new, "2"))
}

fn resized(planned: &[Planned]) -> Vec<(i64, i64)> {
    let sizes = |planned: &Planned| match &planned.action {
        Action::UpdateReplicaSet(update) => Some((update.size_from, update.size_to)),
        _ => None,
    };
    planned.iter().filter_map(sizes).collect()
}

/// The cut comes first: before it there would be too many pods. Events report the steps one by one.
#[test]
fn the_room_that_a_cut_makes_is_used_in_the_same_reconcile() {
    for (old, new, sizes) in [
        (4, 1, vec![(4, 2), (1, 3)]),
        (2, 2, vec![(2, 1), (2, 4)]),
        (2, 3, vec![(2, 0), (3, 4)]),
        (1, 4, vec![(1, 0)]),
        (4, 0, vec![(4, 3), (0, 2)]),
        (0, 4, vec![]),
    ] {
        let plan = of_four(old, new).plan();
        assert_eq!(resized(&plan.actions), sizes, "{old} and {new}: {plan:#?}");
    }
    let events = |plan: &Plan| {
        let events = plan.actions.iter().flat_map(|planned| &planned.events);
        events.map(|event| event.message.clone()).collect::<Vec<_>>()
    };
    let name = |set: &str| format!("replica set web-{set} from");
    assert_eq!(
        events(&of_four(2, 2).plan()),
        [
            format!("Scaled down {} 2 to 1", name("b")),
            format!("Scaled up {} 2 to 3", name("a")),
            format!("Scaled up {} 3 to 4", name("a")),
        ]
    );
}

/// Without the cut there is room for one pod only, and the status reports that step.
#[test]
fn a_refused_cut_leaves_the_step_up() {
    let mut world = of_four(2, 2);
    let plan = world.plan();
    let after = |failure| plan::after_failure(&world.observed, &plan, 0, &failure, world.now);
    let refused = after(Failure::Refused("the webhook says no".to_owned()));
    assert!(matches!(refused.verdict, Verdict::PlanWithoutCuts(_)), "{:?}", refused.verdict);
    assert_eq!((refused.actions, refused.deviation), (Vec::new(), Some("S6.13")));
    // The operator looks again at what is out of date.
    let conflict = after(Failure::Conflict("the object has been modified".to_owned()));
    assert!(matches!(conflict.verdict, Verdict::Retry(_)), "{:?}", conflict.verdict);
    assert_eq!(conflict.actions, Vec::new());

    world.observed.answers.refuses_cuts = true;
    let plan = world.plan();
    assert_eq!(resized(&plan.actions), [(2, 3)]);
    assert_eq!(written(&plan).map(|write| write.status.unavailable_replicas), Some(1), "{plan:#?}");
}

#[test]
fn surge_never_shows_as_the_size_that_an_autoscaler_sees() {
    // R, pods of the old ReplicaSet, pods of the new ReplicaSet, what the scale subresource shows
    for (replicas, old, new, shown) in [(3, 0, 3, 3), (3, 1, 3, 3), (3, 3, 1, 3), (3, 0, 1, 1), (0, 0, 2, 0)]
    {
        let mut world = ours().that(|it| it.replicas = replicas);
        world = world.with(in_step("b", old, "1")).with(in_step("a", new, "2"));
        world.reconcile();
        let status = &world.observed.workload.status;
        assert_eq!(status.replicas, old + new);
        assert_eq!(status.ours.scale_replicas, Some(shown), "R={replicas} {old}+{new}");
        assert_eq!(status.ours.ready, Some(format!("{}/{replicas}", old + new)));
        assert_eq!(status.ours.selector.as_deref(), Some("app=web"));
    }
}

#[test]
fn annotations_of_ours_and_of_tools_are_never_copied() {
    let annotated = |annotations: &mut Map| {
        for key in [
            "rollwright.dev/fingerprints",
            "rollwright.dev/anything",
            LAST_APPLIED,
            REVISION,
            "deployment.kubernetes.io/max-replicas",
            "deployment.kubernetes.io/revision-history",
        ] {
            annotations.insert(key.to_owned(), "from the Deployment".to_owned());
        }
        annotations.insert(CHANGE_CAUSE.to_owned(), "tuesday".to_owned());
        annotations.insert("example.com/team".to_owned(), "blue".to_owned());
    };
    let created = "create (new) size=3 desired-replicas=3 max-replicas=4 revision=1 team=blue \
                   change-cause=tuesday fingerprints=<a>";
    let creates: &[&str] = &["ask template", created, "event ScalingReplicaSet", "status revision=1"];
    let world = check("new", ours().that(|it| annotated(&mut it.annotations)), &[creates]);
    let labels = &world.observed.sets.first().unwrap().labels;
    assert_eq!(labels.get(MANAGED_LABEL).map(String::as_str), Some("true"));
    check(
        "existing",
        ours().that(|it| annotated(&mut it.annotations)).with(in_step("a", 3, "1")),
        &[&["update web-a team=blue change-cause=tuesday", "status revision=1"], &[]],
    );
}

/// Only the status is written: no owner, no size, no annotation, no selector.
#[test]
fn a_deployment_that_is_being_deleted_leaves_its_sets_alone() {
    let deleting = || ours().that(|it| it.deleting = true);
    let mut orphan = in_step("b", 3, "1");
    orphan.owner = None;
    let mut strayed = deleting().with(in_step("a", 3, "1"));
    strayed.find_mut("web-a").labels = Map::from([("app".to_owned(), "other".to_owned())]);
    let cases = [
        ("without sets", deleting(), "status"),
        ("with an orphan in sight", deleting().with(orphan), "status"),
        ("with a set whose labels do not match", strayed, "status"),
        ("with a set out of step", deleting().with(set("a", 1).revision("1")), "status revision=1"),
        (
            "in a rollout",
            deleting().with(in_step("b", 3, "1")).with(in_step("a", 1, "2")),
            "status revision=2",
        ),
        (
            "asked to scale",
            deleting().with(set("a", 3).revision("1").scaled_for("9", "9")),
            "status revision=1",
        ),
        (
            "asked to roll back",
            deleting().that(|it| it.rollback_to = Some(1)).with(in_step("a", 3, "1")),
            "status revision=1",
        ),
        ("paused", deleting().that(|it| it.paused = true).with(in_step("a", 1, "1")), "status revision=1"),
    ];
    for (name, mut world, status) in cases {
        let before = format!("{:?}", world.observed.sets);
        let plan = world.plan();
        assert!(
            plan.actions.iter().all(|planned| matches!(planned.action, Action::WriteStatus(_))),
            "{name}: {:?}",
            plan.actions
        );
        let world = check(name, world, &[&[status], &[]]);
        assert_eq!(format!("{:?}", world.observed.sets), before, "{name}");
    }
}
