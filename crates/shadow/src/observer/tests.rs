//! Whole stories, as the watches show them.

mod story;

use serde_json::{Value, json};

use super::*;
use story::*;

/// What the planner would do with what this view shows.
fn intend(view: &crate::fleet::View) -> crate::intent::Intent {
    let circumstances = crate::intent::Circumstances {
        flavour: Flavour::AppsV1,
        now: Timestamp::now(),
        terminating_replicas: true,
        old_pods: false,
        dry_run: None,
        refusal: None,
    };
    crate::intent::intend(view, &circumstances)
}

/// Creation, write by write, as upstream makes it, each of them changed by one of these.
fn creation(name: &str, change: impl Fn(&str, &mut Value)) -> Value {
    let mut story = Story::new(name);
    story.user(&deployment(3));
    let changed = |step: &str, mut object: Value| {
        change(step, &mut object);
        object
    };
    story.set(&changed("create", set(3)));
    story.status(&changed("early", with_status(deployment(3), created_status())));
    story.status(&changed("counters", with_status(deployment(3), counted_status(3))));
    story.counts()
}

#[test]
fn upstreams_writes_one_by_one_agree_with_our_one_plan() {
    let counts = creation("agree", |_, _| {});
    assert_eq!(counts["writes"], json!({"create": 1, "status": 2}), "{counts}");
    assert_eq!(counts["agreed"], 3, "{counts}");
    assert_eq!(counts["diverged"], json!({}), "{counts}");
    assert_eq!(counts["agreement"], 1.0, "{counts}");
}

#[test]
fn every_wrong_detail_of_a_write_is_a_divergence() {
    let annotation = |key: &str| format!("/metadata/annotations/deployment.kubernetes.io~1{key}");
    let wrong: [(&str, String, Value); 11] = [
        ("create", "/spec/replicas".to_owned(), json!(2)),
        ("create", annotation("max-replicas"), json!("5")),
        ("create", annotation("revision"), json!("2")),
        ("create", "/metadata/name".to_owned(), json!("web-else")),
        ("create", "/metadata/labels/app".to_owned(), json!("other")),
        ("create", "/spec/template/spec/containers/0/image".to_owned(), json!("app:v2")),
        ("create", "/spec/selector/matchLabels/app".to_owned(), json!("other")),
        ("early", "/status/conditions/0/reason".to_owned(), json!("FoundNewReplicaSet")),
        ("early", "/status/conditions/0/message".to_owned(), json!("Created new replica set \"x\"")),
        ("counters", "/status/unavailableReplicas".to_owned(), json!(2)),
        ("counters", "/status/conditions/1/status".to_owned(), json!("True")),
    ];
    for (number, (step, pointer, value)) in wrong.into_iter().enumerate() {
        let counts = creation(&format!("wrong-{number}"), |now, object| {
            if now == step {
                *object.pointer_mut(&pointer).unwrap_or_else(|| panic!("{pointer}")) = value.clone();
            }
        });
        let diverged = counts["diverged"].as_object().map_or(0, serde_json::Map::len);
        assert!(diverged > 0, "{step} {pointer}: {counts}");
        assert!(counts["agreement"].as_f64().unwrap() < 1.0, "{counts}");
    }
}

#[test]
fn times_and_the_order_of_conditions_are_apart() {
    let counts = creation("apart", |step, object| {
        if step == "counters" {
            let conditions = object["status"]["conditions"].as_array_mut().unwrap();
            conditions.reverse();
            conditions[0]["lastUpdateTime"] = json!("2026-01-01T00:05:05Z");
        }
    });
    assert_eq!(counts["agreed"], 3, "{counts}");
}

#[test]
fn what_others_write_is_ignored_by_kind() {
    let mut story = Story::new("others");
    story.user(&deployment(3));
    story.set(&set(3));
    let mut scaled = set(3);
    scaled["spec"]["replicas"] = json!(7);
    story.tell(Which::ReplicaSets, &scaled, &by("kubectl", "scale", "spec"), false);
    scaled["status"]["replicas"] = json!(3);
    story.set_status(&scaled);
    story.tell(Which::ReplicaSets, &scaled, &by("kubectl", "", "spec"), true);
    let mut stray = with_status(deployment(3), json!({"replicas": 70}));
    story.tell(Which::Deployments, &stray, &by("somebody", "status", "status"), false);
    stray["status"]["collisionCount"] = json!(1);
    story.status(&stray);
    story.tell(Which::Deployments, &stray, &by("kubectl", "", "spec"), true);
    let counts = story.counts();
    assert_eq!(counts["compared"], 1, "{counts}");
    let expected = json!({
        "collision": 1, "deleted-by-others": 1, "deployment-by-others": 2, "replicaset-by-others": 1,
        "replicaset-status": 1, "status-by-others": 1,
    });
    assert_eq!(counts["ignored"], expected, "{counts}");
}

#[test]
fn a_divergence_is_saved_as_a_case() {
    let mut story = Story::new("case");
    story.user(&deployment(3));
    story.set(&set(2));
    story.observer.tick(Timestamp::now(), true);
    let text = std::fs::read_to_string(story.directory.join("create-102.jsonl")).unwrap();
    let case: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(case["input"]["deployment"]["metadata"]["name"], "web");
    assert_eq!(case["input"]["replicaSets"], json!([]));
    assert_eq!(case["expected"]["writes"][0]["replicas"], 2);
    assert_eq!(case["expected"]["writes"][0]["name"], "web-<hash>");
    assert_eq!(case["sequence"][0]["sets"]["web-<hash>"]["owned"], true);
    assert!(!text.contains("managedFields"));
    story.counts();
}

#[test]
fn nothing_is_said_of_what_happened_before_the_start() {
    let mut story = Story::new("start");
    let mut listed = deployment(3);
    listed["metadata"]["resourceVersion"] = json!("500");
    let listed = Signed::new(listed);
    story.observer.list(Which::Deployments, Timestamp::now(), vec![listed]);
    story.version = 400;
    story.set(&set(1));
    let counts = story.counts();
    assert_eq!(counts["compared"], 0, "{counts}");
    assert_eq!(counts["ignored"]["missed"], 2, "{counts}");
}

/// Two cuts in one plan are two writes of upstream's (S6.10, S6.11).
#[test]
fn sizes_on_the_way_agree() {
    for (sizes, agreed) in [(vec![8, 5], 2), (vec![5], 1), (vec![7], 0), (vec![8, 4], 1), (vec![6], 0)] {
        let mut story = Story::new(&format!("way-{sizes:?}"));
        rolling(&mut story);
        for size in &sizes {
            let mut old = old_set();
            old["spec"]["replicas"] = json!(size);
            old["metadata"]["annotations"]["deployment.kubernetes.io/max-replicas"] = json!("10");
            story.set(&old);
        }
        let counts = story.counts();
        assert_eq!(counts["compared"], sizes.len(), "{counts}");
        assert_eq!(counts["agreed"], agreed, "{sizes:?}: {counts}");
    }
}

/// A person gives the ReplicaSet of a complete Deployment two pods more. Upstream takes them away, and reports what
/// was missing by the size before that (S6.6, S9.3).
#[test]
fn the_report_of_a_repaired_size_agrees() {
    for (unavailable, agreed) in [(2, 2), (1, 1)] {
        let mut story = Story::new(&format!("repair-{unavailable}"));
        story.tell(Which::Deployments, &complete(None), &by("nobody", "", "spec"), false);
        for (size, author) in [(3, "nobody"), (5, "kubectl"), (3, KCM)] {
            story.tell(Which::ReplicaSets, &available(size), &by(author, "", "spec"), false);
        }
        story.status(&complete(Some(unavailable)));
        let counts = story.counts();
        assert_eq!(counts["compared"], 2, "{counts}");
        assert_eq!(counts["agreed"], agreed, "{unavailable}: {counts}");
    }
}

fn complete(unavailable: Option<i64>) -> Value {
    let mut status = json!({"replicas": 3, "readyReplicas": 3, "availableReplicas": 3, "updatedReplicas": 3,
    "terminatingReplicas": 0, "observedGeneration": 1, "conditions": [
        condition("Available", "True", "MinimumReplicasAvailable", "Deployment has minimum availability."),
        condition("Progressing", "True", "NewReplicaSetAvailable",
            "ReplicaSet \"web-7d9f6b5c4\" has successfully progressed."),
    ]});
    if let Some(unavailable) = unavailable {
        status["unavailableReplicas"] = json!(unavailable);
    }
    with_status(deployment(3), status)
}

/// The ReplicaSet of three available pods, when it is given this size.
fn available(size: i64) -> Value {
    let mut set = set(3);
    set["spec"]["replicas"] = json!(size);
    set["status"] = json!({"replicas": 3, "readyReplicas": 3, "availableReplicas": 3, "observedGeneration": 1,
        "terminatingReplicas": 0});
    set
}

/// Ten wanted, three may be missing: an old ReplicaSet of ten with two unhealthy pods, and a new one.
fn rolling(story: &mut Story) {
    let mut changed = deployment(10);
    changed["spec"]["strategy"]["rollingUpdate"] = json!({"maxSurge": 0, "maxUnavailable": 5});
    changed["spec"]["template"] = template("app:v2");
    let mut new = set(0);
    new["metadata"]["name"] = json!("web-4455");
    new["metadata"]["uid"] = json!("s-2");
    new["metadata"]["creationTimestamp"] = json!("2026-01-02T00:00:00Z");
    new["metadata"]["annotations"]["deployment.kubernetes.io/revision"] = json!("2");
    new["spec"]["template"]["spec"]["containers"][0]["image"] = json!("app:v2");
    story.observer.list(Which::ReplicaSets, Timestamp::now(), Vec::new());
    for object in [old_set(), new] {
        story.tell(Which::ReplicaSets, &object, &by("nobody", "", "spec"), false);
    }
    story.user(&changed);
}

fn old_set() -> Value {
    let mut old = set(10);
    old["metadata"]["annotations"]["deployment.kubernetes.io/max-replicas"] = json!("10");
    old["status"] = json!({"replicas": 10, "readyReplicas": 8, "availableReplicas": 8, "observedGeneration": 1,
        "terminatingReplicas": 0});
    old
}

/// Five old pods go and five new ones come in one plan. Upstream reports the cut before the growth, by the ten pods
/// that the ReplicaSets had: two of them are not available.
#[test]
fn the_report_before_a_growth_is_on_the_way() {
    let mut story = Story::new("growth");
    rolling(&mut story);
    // There is nothing to report of the new ReplicaSet first.
    let mut known = deployment(10);
    known["spec"]["strategy"]["rollingUpdate"] = json!({"maxSurge": 0, "maxUnavailable": 5});
    known["spec"]["template"] = template("app:v2");
    known["metadata"]["annotations"]["deployment.kubernetes.io/revision"] = json!("2");
    let progressing = json!({"type": "Progressing", "status": "True", "reason": "ReplicaSetUpdated"});
    known["status"] = json!({"conditions": [progressing]});
    story.user(&known);
    let key = Key { namespace: "n".to_owned(), name: "web".to_owned() };
    let view = story.observer.fleet.newest(&key).unwrap();
    let intent = intend(&view);
    let written = intent.actions.iter().find_map(|action| match action {
        plan::Action::WriteStatus(write) => Some(&write.status),
        _ => None,
    });
    let written = written.unwrap();
    assert_eq!(written.unavailable_replicas, 0, "{:?}", intent.actions);
    let unavailable = |pods: i64| plan::Status { unavailable_replicas: pods, ..written.clone() };
    assert!(intent.on_the_way.contains(&unavailable(2)), "{:?}", intent.on_the_way);
    assert!(!intent.on_the_way.contains(&unavailable(7)), "no sizes ever came to fifteen");
}

/// What is sent on must still show the same: the oracle's input is decoded, and planned once more.
#[test]
fn a_masked_case_leads_to_the_same_plan() {
    let mut story = Story::new("masked");
    rolling(&mut story);
    let key = Key { namespace: "n".to_owned(), name: "web".to_owned() };
    let view = story.observer.fleet.newest(&key).unwrap();
    let mut wrong = old_set();
    wrong["spec"]["replicas"] = json!(9);
    story.set(&wrong);
    story.observer.tick(Timestamp::now(), true);
    let file = story.directory.join(format!("scale-{}.jsonl", story.version));
    let mut case: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    crate::mask::Mask::default().case(&mut case);
    assert!(!case.to_string().contains("\"web"), "{case}");
    let items = |pointer: &str| case.pointer(pointer).unwrap().as_array().unwrap().clone();
    let body = case.pointer("/input/deployment").unwrap().clone();
    let decoded = decode::workload(Flavour::AppsV1, &body, Defaults::of(Flavour::AppsV1)).unwrap();
    let workload = Arc::new(Item { decoded, body });
    let sets = items("/input/replicaSets")
        .into_iter()
        .map(|body| Arc::new(Item { decoded: decode::replica_set(Flavour::AppsV1, &body).unwrap(), body }));
    let masked = crate::fleet::View { workload, sets: sets.collect() };
    let sizes = |view: &crate::fleet::View| {
        let intent = intend(view);
        let size = |action: &plan::Action| match action {
            plan::Action::UpdateReplicaSet(update) => Some((update.size_from, update.size_to)),
            _ => None,
        };
        (intent.actions.len(), intent.actions.iter().filter_map(size).collect::<Vec<_>>())
    };
    assert_eq!(sizes(&masked), sizes(&view));
    assert_eq!(sizes(&masked).1, [(10, 5)]);
    story.counts();
}

#[test]
fn a_wanted_deviation_is_counted_by_its_rule() {
    let mut story = Story::new("wanted");
    story.user(&deployment(3));
    story.set(&set(3));
    let mut deleting = deployment(3);
    deleting["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    deleting["metadata"]["annotations"]["example.com/a"] = json!("1");
    story.user(&deleting);
    let mut annotated = set(3);
    annotated["metadata"]["annotations"]["example.com/a"] = json!("1");
    story.set(&annotated);
    let counts = story.counts();
    assert_eq!(counts["wanted"], json!({"S3.5": 1}), "{counts}");
    assert_eq!((&counts["diverged"], &counts["agreement"]), (&json!({}), &json!(1.0)), "{counts}");
}

/// What the controller does not do is seen once nothing has happened for long enough.
#[test]
fn something_left_undone_is_a_divergence_at_rest() {
    let mut story = Story::new("rest");
    story.user(&deployment(3));
    let after = |seconds| Timestamp::now() + SignedDuration::from_secs(seconds);
    for seconds in [6, 12, 60] {
        story.observer.tick(after(seconds), false);
        assert_eq!(story.observer.tally.json(1, 0)["diverged"], json!({}));
    }
    story.observer.tick(after(130), false);
    let counts = story.counts();
    assert_eq!(counts["diverged"], json!({"at-rest": 1}), "{counts}");
    assert_eq!(counts["atRest"], json!({"looks": 1, "agreed": 0}), "{counts}");
}

#[test]
fn a_refused_creation_agrees_by_what_its_status_says() {
    for (words, agreed) in [("Failed to create new replica set \"web-7d9f\": quota", 1), ("Failed: quota", 0)]
    {
        let mut story = Story::new(&format!("refused-{agreed}"));
        story.user(&deployment(3));
        let mut failed = deployment(3);
        failed["status"] =
            json!({"conditions": [condition("Progressing", "False", "ReplicaSetCreateError", words)]});
        story.status(&failed);
        let counts = story.counts();
        assert_eq!(counts["agreed"], agreed, "{words}: {counts}");
        assert_eq!(counts["compared"], 1, "{words}: {counts}");
    }
}

#[test]
fn adoptions_and_releases_are_compared() {
    for (label, agreed) in [("web", 1), ("other", 0)] {
        let mut story = Story::new(&format!("adopt-{label}"));
        let mut orphan = set(3);
        orphan["metadata"]["labels"]["app"] = json!(label);
        orphan["metadata"].as_object_mut().unwrap().remove("ownerReferences");
        story.tell(Which::ReplicaSets, &orphan, &by("nobody", "", "spec"), false);
        story.user(&deployment(3));
        let mut owned = orphan.clone();
        owned["metadata"]["ownerReferences"] = set(3)["metadata"]["ownerReferences"].clone();
        story.set(&owned);
        // The other way round it is a release, of a ReplicaSet that matches and of one that does not.
        story.set(&orphan);
        let counts = story.counts();
        assert_eq!(counts["writes"], json!({"adopt": 1, "release": 1}), "{counts}");
        assert_eq!(counts["agreed"], 1, "{label}: {counts}");
        let expected = if agreed == 1 { json!({"release": 1}) } else { json!({"adopt": 1}) };
        assert_eq!(counts["diverged"], expected, "{counts}");
    }
}
