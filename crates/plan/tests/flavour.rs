//! What the two APIs differ in: the list of methods of `Flavour`, and that on apps/v1 nothing of rollwright.dev appears
//! in what is written.

use crate::rollwright::come_up;
use crate::world::{OWNER, World, created, refusal, set, template, world};
use plan::keys::{CHANGED_BY, FINGERPRINTS, OUR_PREFIX, condition};
use plan::{Action, Flavour, Map, Plan, Pod, Status, Strategy};

/// All differences, with what each is about. A new one needs a line here and a reason.
const METHODS: [(&str, &str); 12] = [
    ("api_version", "how owner references name the kind"),
    ("fingerprint", "when two templates are the same (S16.5)"),
    ("fingerprints_of_set", "the templates that a set stands for"),
    ("stored_digest", "what a dry run is compared with"),
    ("marks_sets", "whether sets carry their fingerprint, and the server is asked about those without"),
    ("set_labels", "labels of new sets beside the template's"),
    (
        "has_status_extras",
        "whether the status has fields, and events tell of transitions, that apps/v1 has not",
    ),
    ("goes_by_annotations", "where revision and rollback stand, and what comes back (S5.6, S10.1, S10.7)"),
    ("has_safeguards", "whether sets are bounded in number (NS-1, NS-2, AV-4)"),
    ("is_custom_resource", "whether definition and defaults are ours to bring (S1.1–S1.10)"),
    ("controller_name", "the label by which metrics tell the two apart"),
    ("reporter", "who reports events"),
];
const METHODS_MAX: usize = 12;

const CONDITIONS: [&str; 3] = [condition::AVAILABLE, condition::PROGRESSING, condition::REPLICA_FAILURE];
const RECONCILES_MAX: usize = 20;

#[test]
fn the_differences_are_these_and_no_others() {
    let source =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/src/model/flavour.rs")).unwrap();
    let found: Vec<_> = source
        .lines()
        .filter_map(|line| line.trim().strip_prefix("pub fn ").or_else(|| line.trim().strip_prefix("fn ")))
        .map(|line| line.split(['(', '<']).next().unwrap())
        .collect();
    assert_eq!(found, METHODS.map(|(name, _)| name));
    assert!(METHODS.len() <= METHODS_MAX, "the APIs have grown too far apart");
}

/// A Deployment with a Rollwright annotation, which must not get any further.
fn annotated(flavour: Flavour) -> World {
    world(flavour).that(|it| {
        it.annotations = Map::from([
            (format!("{OUR_PREFIX}note"), "ours".to_owned()),
            ("example.com/note".to_owned(), "theirs".to_owned()),
        ]);
        it.progress_deadline_seconds = Some(600);
    })
}

fn of(image: &str, size: i64, revision: &str) -> crate::world::Set {
    set(image, size).without_fingerprint().revision(revision).scaled_for("3", "4")
}

/// One Deployment for each rung of the ladder, and for what may stand in its way.
fn situations(flavour: Flavour) -> Vec<(&'static str, World)> {
    let rolling = || annotated(flavour).with(of("b", 3, "1"));
    let mut orphan = of("b", 3, "1");
    orphan.owner = None;
    let mut failing = rolling();
    failing.find_mut("web-b").status.failure = refusal("quota");
    let mut waiting = annotated(flavour).that(|it| it.strategy = Strategy::Recreate).with(of("b", 0, "1"));
    waiting.pods =
        vec![Pod { controller_uid: Some(waiting.find("web-b").uid.clone()), phase: "Running".to_owned() }];
    let back = |revision| rolling().with(of("a", 3, "2")).that(|it| it.rollback_to = Some(revision));
    vec![
        ("created", annotated(flavour)),
        ("rolled out", rolling()),
        ("rolled out after a second change", rolling().with(of("c", 1, "2")).template(template("d"))),
        ("an orphan adopted", annotated(flavour).with(orphan)),
        ("scaled", rolling().with(of("a", 1, "2")).that(|it| it.replicas = 9)),
        ("paused", rolling().that(|it| it.paused = true)),
        ("paused and scaled", rolling().that(|it| it.paused = true).that(|it| it.replicas = 5)),
        ("rolled back", back(1)),
        ("rolled back to nowhere", back(77)),
        ("rolled back to where it is", back(2)),
        ("recreated", annotated(flavour).that(|it| it.strategy = Strategy::Recreate).with(of("b", 3, "1"))),
        ("recreated, waiting", waiting),
        ("a name taken", rolling().with(of("x", 1, "9").owned_by("other"))),
        ("pods refused", failing),
        ("deleted", rolling().that(|it| it.deleting = true)),
        ("an unknown strategy", rolling().that(|it| it.strategy = Strategy::Unknown("Other".to_owned()))),
        ("no selector", annotated(flavour).that(|it| it.selector = None)),
        ("no history", rolling().with(of("c", 0, "0")).that(|it| it.revision_history_limit = Some(0))),
    ]
}

/// Everything planned until nothing is left to do, and the world after it.
fn settle(mut world: World) -> (Vec<Plan>, World) {
    let mut plans = Vec::new();
    for _ in 0..RECONCILES_MAX {
        let plan = world.plan();
        if plan.actions.is_empty() {
            break;
        }
        world.apply(&plan);
        plans.push(plan);
        // The pods follow immediately.
        come_up(&mut world, &[]);
    }
    (plans, world)
}

fn actions(plans: &[Plan]) -> impl Iterator<Item = &Action> {
    plans.iter().flat_map(|plan| &plan.actions).map(|planned| &planned.action)
}

fn nothing_of_ours(name: &str, map: &Map) {
    let ours: Vec<_> = map.keys().filter(|key| key.starts_with(OUR_PREFIX)).collect();
    assert!(ours.is_empty(), "{name}: {ours:?}");
}

fn is_upstreams(name: &str, status: &Status) {
    assert_eq!(status.ours, plan::Status::default().ours, "{name}: no field of ours is kept in mind");
    for entry in &status.conditions {
        assert!(CONDITIONS.contains(&entry.kind.as_str()), "{name}: condition {}", entry.kind);
    }
}

fn check(name: &str, action: &Action) {
    match action {
        Action::CreateReplicaSet(new) => {
            nothing_of_ours(name, &new.labels);
            nothing_of_ours(name, &new.annotations);
            let text = new.template.text();
            assert!(!text.contains(OUR_PREFIX), "{name}: template {text}");
            assert!(!new.selector.to_string().contains(OUR_PREFIX), "{name}: selector");
            assert_eq!(new.annotations.get("example.com/note").map(String::as_str), Some("theirs"), "{name}");
        }
        Action::UpdateReplicaSet(update) => nothing_of_ours(name, &update.annotations),
        Action::WriteStatus(write) => is_upstreams(name, &write.status),
        Action::RollBack(write) => {
            let set: Vec<_> = write.annotations.iter().filter(|(_, value)| value.is_some()).collect();
            assert!(set.iter().all(|(key, _)| !key.starts_with(OUR_PREFIX)), "{name}: {set:?}");
        }
        Action::SetSelector(_) => panic!("{name}: upstream writes no selector"),
        Action::CreateJob(_) | Action::DeleteJob { .. } => panic!("{name}: apps/v1 has no Jobs"),
        Action::DeleteReplicaSet(_) => {}
    }
}

#[test]
fn on_apps_v1_nothing_of_ours_is_written() {
    let mut kinds = std::collections::BTreeSet::new();
    for (name, world) in situations(Flavour::AppsV1) {
        let given: Vec<_> = world.observed.sets.iter().map(|set| set.uid.clone()).collect();
        let (plans, after) = settle(world);
        for action in actions(&plans) {
            check(name, action);
            kinds.insert(kind(action));
        }
        for set in after.observed.sets.iter().filter(|set| set.controller_uid.as_deref() == Some(OWNER)) {
            nothing_of_ours(name, &set.annotations);
            assert!(given.contains(&set.uid) || set.labels.len() == 2, "{name}: {:?}", set.labels);
        }
    }
    // Nothing was checked in vain.
    assert_eq!(kinds.into_iter().collect::<Vec<_>>(), ["create", "delete", "roll back", "status", "update"]);
}

fn kind(action: &Action) -> &'static str {
    match action {
        Action::SetSelector(_) => "selector",
        Action::CreateReplicaSet(_) => "create",
        Action::UpdateReplicaSet(_) => "update",
        Action::DeleteReplicaSet(_) => "delete",
        Action::WriteStatus(_) => "status",
        Action::RollBack(_) => "roll back",
        Action::CreateJob(_) | Action::DeleteJob { .. } => "job",
    }
}

/// The same check does find what is of rollwright.dev, where it belongs.
#[test]
fn on_our_kind_it_is() {
    let (plans, _) = settle(annotated(Flavour::Rollwright));
    let (_, new) = plans.iter().find_map(created).unwrap();
    assert!(new.labels.keys().any(|key| key.starts_with(OUR_PREFIX)), "{:?}", new.labels);
    assert!(new.annotations.contains_key(FINGERPRINTS), "{:?}", new.annotations);
    assert!(!new.annotations.contains_key(&format!("{OUR_PREFIX}note")), "the user's own is not copied");
    let has_extras = |action: &Action| matches!(action, Action::WriteStatus(write) if write.status.ours.revision.is_some());
    assert!(actions(&plans).any(has_extras));
}

/// Upstream restores all annotations of the ReplicaSet; the person is not the one who made it.
#[test]
fn after_a_rollback_the_person_is_the_one_who_asked() {
    let old = of("b", 3, "1").annotated(CHANGED_BY, "dev-1");
    let asked = annotated(Flavour::AppsV1).with(old).with(of("a", 3, "2")).that(|it| {
        it.rollback_to = Some(1);
        it.annotations.insert(CHANGED_BY.to_owned(), "dev-5".to_owned());
    });
    let (plans, after) = settle(asked);
    assert!(actions(&plans).any(|action| kind(action) == "roll back"));
    let maps = [&after.observed.workload.annotations, &after.find("web-b").annotations];
    assert_eq!(maps.map(|map| map.get(CHANGED_BY).map(String::as_str)), [Some("dev-5"); 2]);
    assert_eq!(
        after.find("web-a").annotations.get(CHANGED_BY),
        None,
        "it is not the person of what was there"
    );
}
