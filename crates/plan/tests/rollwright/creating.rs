//! A name that is taken is settled by a live read (S4.15).

use plan::{Action, Failure, Flavour, Map, Verdict};

use crate::rollwright::check;
use crate::world::{SUMMARIES, Set, World, created, ours, set, world};

fn rolling_out() -> World {
    ours().that(|it| it.progress_deadline_seconds = Some(600))
}

/// What follows when the creation is refused: the verdict, then actions and events.
fn after(world: &mut World, failure: &Failure) -> Vec<String> {
    let plan = world.plan();
    let after = plan::after_failure(&world.observed, &plan, created(&plan).unwrap().0, failure, world.now);
    let verdict = match after.verdict {
        Verdict::Continue => "continue".to_owned(),
        Verdict::End => "end".to_owned(),
        Verdict::PlanAgain(set) => format!("plan again with {}", set.name),
        Verdict::Retry(_) => "retry".to_owned(),
        Verdict::PlanWithoutCuts(_) => "plan without cuts".to_owned(),
        Verdict::PlanWithoutCreation(_) => "plan without creation".to_owned(),
        Verdict::PlanWithoutJob(_) => "plan without job".to_owned(),
        Verdict::GiveUp(_) => "give up".to_owned(),
    };
    let mut lines = vec![verdict];
    for planned in &after.actions {
        let Action::WriteStatus(write) = &planned.action else { panic!("{planned:?}") };
        let collisions = write.status.collision_count.unwrap_or(0);
        let told = write.status.conditions.iter().filter(|entry| !SUMMARIES.contains(&entry.kind.as_str()));
        let conditions = told.map(|condition| condition.reason.as_str());
        lines.push(format!("status collisions={collisions} {}", conditions.collect::<String>()));
    }
    lines.extend(after.events.iter().map(|event| format!("event {}", event.reason)));
    lines
}

#[test]
fn a_refused_creation_is_settled_by_a_live_read() {
    let taken = |set: Set| Failure::NameTaken(Some(Box::new(rolling_out().replica_set(set))));
    let orphan = |mut set: Set| {
        set.owner = None;
        set
    };
    let refused = "exceeded quota".to_owned();
    let cases: [(&str, Failure, &[&str]); 8] = [
        ("ours, made from this template", taken(set("a", 3)), &["plan again with web-a"]),
        ("ours, made from another", taken(set("b", 3)), &["retry", "status collisions=1 "]),
        ("ours, unmarked", taken(set("a", 3).without_fingerprint()), &["retry", "status collisions=1 "]),
        ("somebody else's", taken(set("a", 3).owned_by("other")), &["retry", "status collisions=1 "]),
        ("nobody's", taken(orphan(set("a", 3))), &["retry", "status collisions=1 "]),
        ("gone again", Failure::NameTaken(None), &["retry"]),
        ("the namespace goes", Failure::NamespaceTerminating(refused.clone()), &["give up"]),
        (
            "refused",
            Failure::Refused(refused),
            &["retry", "status collisions=0 ReplicaSetCreateError", "event ReplicaSetCreateError"],
        ),
    ];
    for (name, failure, expected) in cases {
        assert_eq!(after(&mut rolling_out(), &failure), expected, "{name}");
    }
}

/// The oracle counts these: upstream believes its cache (S4.15).
#[test]
fn what_is_settled_by_a_live_read_is_a_deviation() {
    let plan = rolling_out().plan();
    let index = created(&plan).unwrap().0;
    let world = rolling_out();
    let deviation =
        |failure| plan::after_failure(&world.observed, &plan, index, &failure, world.now).deviation;
    for taken in [Some(set("a", 3)), Some(set("b", 3)), None] {
        let taken = taken.map(|set| Box::new(rolling_out().replica_set(set)));
        assert_eq!(deviation(Failure::NameTaken(taken)), Some("S4.15"));
    }
    assert_eq!(deviation(Failure::Refused("exceeded quota".to_owned())), None);
}

#[test]
fn failures_are_told_in_the_words_of_the_server() {
    assert_eq!(Failure::Refused("exceeded quota".to_owned()).to_string(), "exceeded quota");
    assert_eq!(Failure::NameTaken(None).to_string(), "a ReplicaSet of that name exists already");
}

/// A foreign ReplicaSet has the name: the next reconcile takes another one, and only one ReplicaSet comes of it.
#[test]
fn a_collision_takes_another_name() {
    let probe = ours().plan();
    let (_, wanted) = created(&probe).unwrap();
    let world = ours().with(set("a", 3).named(&wanted.name).owned_by("other"));
    let creates = "create (new) size=3 desired-replicas=3 max-replicas=4 revision=1 fingerprints=<a>";
    let tried = creates.replace("(new)", &wanted.name);
    let world = check(
        "collision",
        world,
        &[
            &["ask template", &tried, "event ScalingReplicaSet", "status revision=1"],
            &["ask template", creates, "event ScalingReplicaSet", "status revision=1"],
            &[],
        ],
    );
    assert_eq!(world.observed.workload.status.collision_count, Some(1));
    assert_eq!(world.observed.sets.len(), 2);
    assert_eq!(world.find(&wanted.name).annotations, set("a", 3).annotations, "not ours to change");
}

/// Annotations of a Deployment that leave no room for the operator's in a ReplicaSet.
fn bulky(flavour: Flavour) -> World {
    world(flavour).that(|it| {
        it.annotations = Map::from([
            ("a".to_owned(), "small".to_owned()),
            ("b".to_owned(), "x".repeat(200 * 1024)),
            ("c".to_owned(), "x".repeat(60 * 1024)),
            ("d".to_owned(), "small".to_owned()),
        ]);
    })
}

fn keys_of_new_set(mut world: World) -> Vec<String> {
    let plan = world.plan();
    created(&plan).unwrap().1.annotations.keys().filter(|key| key.len() == 1).cloned().collect()
}

#[test]
fn an_annotation_that_has_no_room_in_the_set_is_not_copied() {
    assert_eq!(keys_of_new_set(bulky(Flavour::Rollwright)), ["a", "b", "d"]);
    assert_eq!(keys_of_new_set(bulky(Flavour::AppsV1)), ["a", "b", "c", "d"], "as upstream");
}

#[test]
fn an_annotation_that_has_no_room_beside_those_of_the_set_is_not_copied_later() {
    let mut world = bulky(Flavour::Rollwright);
    world.reconcile();
    world.observed.workload.annotations.insert("e".to_owned(), "x".repeat(50 * 1024));
    assert!(world.clone().plan().actions.is_empty(), "and nobody tries again and again");
    world.observed.workload.annotations.insert("f".to_owned(), "small".to_owned());
    world.reconcile();
    let set = world.observed.sets.first().unwrap();
    assert!(set.annotations.contains_key("f") && !set.annotations.contains_key("e"));
}

#[test]
fn a_value_that_has_no_room_leaves_the_old_one_and_that_counts() {
    let with = |world: &mut World, key: &str, kilobytes: usize| {
        world.observed.workload.annotations.insert(key.to_owned(), "x".repeat(kilobytes * 1024));
    };
    let mut world = rolling_out();
    with(&mut world, "k", 200);
    world.reconcile();
    with(&mut world, "a", 100);
    with(&mut world, "k", 150);
    world.reconcile();
    world.reconcile();
    let set = world.observed.sets.first().unwrap();
    let total: usize = set.annotations.iter().map(|(key, value)| key.len() + value.len()).sum();
    assert!(total <= 256 * 1024, "{total}");
    assert_eq!(set.annotations["k"].len(), 150 * 1024);
}
