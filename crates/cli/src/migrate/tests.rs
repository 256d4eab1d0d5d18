//! Every state that a killed migration leaves, in memory; the end-to-end tests do the same on a
//! real control plane.

use diagnosis::controller_of;
use serde_json::json;

use super::checks::{Neighbours, problems, warnings};
use super::facts::{Holder, marks};
use super::preview::{apply, preview, settle};
use super::step::{Next, next};
use super::*;
use crate::cluster::Deployment;

mod pinned;
mod refused;
mod reverted;
mod stepped;

fn template(image: &str) -> Value {
    json!({
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "app", "image": image}]},
    })
}

fn set(revision: i64, size: i64) -> Value {
    let mut template = template(&format!("app:v{revision}"));
    template["metadata"]["labels"]["pod-template-hash"] = json!(format!("h{revision}"));
    json!({
        "metadata": {
            "name": format!("web-h{revision}"),
            "uid": format!("set-{revision}"),
            "resourceVersion": "5",
            "creationTimestamp": format!("2026-01-0{revision}T00:00:00Z"),
            "labels": {"app": "web", "pod-template-hash": format!("h{revision}")},
            "annotations": {"deployment.kubernetes.io/revision": revision.to_string()},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "d1",
                "controller": true, "blockOwnerDeletion": true}],
        },
        "spec": {"replicas": size, "template": template},
        "status": {"replicas": size},
    })
}

fn deployment() -> Deployment {
    let body = json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": "web", "namespace": "shop", "uid": "d1", "resourceVersion": "9", "generation": 3,
            "labels": {"team": "a"},
            "annotations": {
                "deployment.kubernetes.io/revision": "3",
                "kubectl.kubernetes.io/last-applied-configuration": "{}",
                "kubernetes.io/change-cause": "third",
            },
        },
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": {"app": "web"}},
            "template": template("app:v3"),
        },
        "status": {"observedGeneration": 3},
    });
    Deployment { flavour: Flavour::AppsV1, body }
}

fn facts() -> Facts {
    Facts {
        name: "web".to_owned(),
        namespace: "shop".to_owned(),
        to: Flavour::Rollwright,
        source: Some(deployment()),
        target: None,
        sets: vec![set(1, 0), set(2, 0), set(3, 3)],
        scalers: vec![scaler()],
        hpa: Some(HpaChoice::Retarget),
        accepts_declared: false,
        dry_run: None,
    }
}

fn scaler() -> Value {
    json!({
        "metadata": {"name": "web", "uid": "h1", "resourceVersion": "2"},
        "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}},
    })
}

/// The same cluster, looked at from the other side.
fn reversed(facts: Facts) -> Facts {
    Facts { to: Facts::other(facts.to), source: facts.target, target: facts.source, ..facts }
}

/// Migrated to rollwright.dev, on the way back, with these numbers of pods.
fn returning(sizes: [i64; 3]) -> Facts {
    let mut facts = facts();
    run(&mut facts, usize::MAX);
    let mut facts = reversed(facts);
    resize(&mut facts, sizes);
    facts
}

fn resize(facts: &mut Facts, sizes: [i64; 3]) {
    for (set, size) in facts.sets.iter_mut().zip(sizes) {
        set["spec"]["replicas"] = json!(size);
        set["status"]["replicas"] = json!(size);
    }
}

fn neighbours() -> Neighbours {
    Neighbours { is_served: true, ..Neighbours::default() }
}

/// What must hold at every moment: somebody holds the spec, and no ReplicaSet of the history is a
/// controller's or an orphan while the one with the pods is in between.
fn check(facts: &Facts) {
    assert!(facts.source.is_some() || facts.target.is_some(), "the spec is nowhere: {facts:?}");
    let (current, holder) = facts.current().expect("a current set");
    assert_eq!(current["spec"]["replicas"], 3);
    let both = facts.source.is_some() && facts.target.is_some();
    let is_loose = |set: &Value| controller_of(set).is_none();
    let loose = facts.sets.iter().filter(|set| is_loose(set) && set["spec"]["replicas"] == 0).count();
    assert!(loose == 0 || (holder != Holder::Nobody && !both), "history is up for adoption: {facts:?}");
    let paused = |it: &Option<Deployment>| it.as_ref().is_none_or(Deployment::is_paused);
    assert!(!both || paused(&facts.source) || paused(&facts.target), "two that act: {facts:?}");
}

/// Writes this many times, or to the end; returns how often it wrote.
fn run(facts: &mut Facts, writes: usize) -> usize {
    for written in 0..writes {
        loop {
            check(facts);
            match next(facts) {
                Next::Write(write) => {
                    apply(facts, &write).expect("a write that fits");
                    break;
                }
                Next::Wait(what) => {
                    let before = format!("{facts:?}");
                    settle(facts);
                    assert_ne!(before, format!("{facts:?}"), "waits for ever for {what}");
                }
                Next::Done => return written,
                Next::Stuck(reason) => panic!("{reason}"),
            }
        }
    }
    writes
}

/// Writes to the end, and returns the spec of the target, which has the declared template.
fn migrated(facts: &mut Facts) -> &Value {
    let Next::Write(write) = next(facts) else { panic!("{:?}", next(facts)) };
    apply(facts, &write).expect("a write");
    run(facts, usize::MAX);
    let spec = &facts.target.as_ref().expect("of apps/v1").body["spec"];
    assert_eq!(spec["template"], template("app:v3"));
    spec
}

/// What is left of a cluster when versions, uids and generations are taken away.
fn essence(facts: &Facts) -> Value {
    let deployment = |deployment: &Option<Deployment>| {
        deployment.as_ref().map(|deployment| {
            let mut body = deployment.body.clone();
            body["metadata"]["annotations"]
                .as_object_mut()
                .expect("annotations")
                .retain(|key, _| !plan::keys::is_never_copied(key));
            for field in ["uid", "resourceVersion", "generation"] {
                body["metadata"].as_object_mut().expect("metadata").remove(field);
            }
            let paused = deployment.is_paused();
            body["spec"]["paused"] = json!(paused);
            body["status"] = Value::Null;
            body
        })
    };
    let owner = |set: &Value| set["metadata"]["ownerReferences"][0]["apiVersion"].clone();
    let marks = |set: &Value| marks(set).map(|(_, key)| key.to_owned()).collect::<Vec<_>>();
    let sets: Vec<_> =
        facts.sets.iter().map(|set| json!([set["metadata"]["name"], owner(set), marks(set)])).collect();
    let scaler = &facts.scalers[0]["spec"]["scaleTargetRef"]["apiVersion"];
    json!([deployment(&facts.source), deployment(&facts.target), sets, scaler])
}

#[test]
fn a_dry_run_lists_every_write() {
    let lines = preview(facts()).expect("a way");
    assert_eq!(
        lines,
        [
            "create deployment.rollwright.dev/web, paused",
            "attach replicaset.apps/web-h1 with replicaset.apps/web-h3",
            "attach replicaset.apps/web-h2 with replicaset.apps/web-h3",
            "hand over replicaset.apps/web-h3",
            "delete deployment.apps/web and leave its ReplicaSets",
            "release replicaset.apps/web-h1",
            "release replicaset.apps/web-h2",
            "let horizontalpodautoscaler/web scale deployment.rollwright.dev/web",
            "resume deployment.rollwright.dev/web",
        ]
    );
    let mut there = facts();
    run(&mut there, usize::MAX);
    let lines = preview(reversed(there)).expect("a way back");
    assert_eq!(
        lines,
        [
            "create deployment.apps/web, paused",
            "attach replicaset.apps/web-h1 with replicaset.apps/web-h3",
            "attach replicaset.apps/web-h2 with replicaset.apps/web-h3",
            "delete deployment.rollwright.dev/web and leave its ReplicaSets",
            "release replicaset.apps/web-h1",
            "release replicaset.apps/web-h2",
            "let horizontalpodautoscaler/web scale deployment.apps/web",
            "resume deployment.apps/web",
            "remove Rollwright's marks from replicaset.apps/web-h3",
        ]
    );
}

#[test]
fn what_is_made_has_what_people_wrote_and_nothing_else() {
    let mut facts = facts();
    run(&mut facts, usize::MAX);
    let body = &facts.target.as_ref().expect("ours").body;
    assert_eq!(body["metadata"]["labels"], json!({"team": "a"}));
    assert_eq!(body["metadata"]["annotations"], json!({"kubernetes.io/change-cause": "third"}));
    assert_eq!(body["spec"]["paused"], false);
    assert_eq!(body["spec"]["template"], template("app:v3"));
}

/// Killed after every write, and again after every write of what follows, in both directions.
#[test]
fn every_state_leads_on_and_back() {
    let mut there = facts();
    let writes = run(&mut there, usize::MAX);
    let there = essence(&there);
    let here = {
        let mut facts = facts();
        run(&mut facts, usize::MAX);
        let mut facts = reversed(facts);
        run(&mut facts, usize::MAX);
        essence(&facts)
    };
    for stop in 0..=writes {
        for switches in 0..=2 {
            for next_stop in 0..=writes + 2 {
                let mut state = facts();
                run(&mut state, stop);
                for _ in 0..switches {
                    state = reversed(state);
                    run(&mut state, next_stop);
                }
                let is_back = state.to == Flavour::AppsV1;
                run(&mut state, usize::MAX);
                let end = if is_back { &here } else { &there };
                let case = format!("{stop} writes, {switches} turns of {next_stop}");
                assert_eq!(essence(&state), *end, "{case}");
            }
        }
    }
}

/// An autoscaler changes the source after the target was made from it.
#[test]
fn the_last_word_of_the_source_counts() {
    let mut facts = facts();
    run(&mut facts, 3);
    let source = facts.source.as_mut().expect("the source");
    source.body["spec"]["replicas"] = json!(5);
    source.body["metadata"]["generation"] = json!(4);
    let Next::Write(write) = next(&facts) else { panic!("{:?}", next(&facts)) };
    assert_eq!(write.says, "copy the latest changes of deployment.apps/web");
    apply(&mut facts, &write).expect("a write");
    settle(&mut facts);
    assert_eq!(facts.target.as_ref().expect("ours").body["spec"]["replicas"], 5);
    assert!(matches!(next(&facts), Next::Wait(what) if what.contains("to have 5 pods")));
}

/// The operator ends after the old one was deleted, and before it has adopted anything.
#[test]
fn the_way_back_needs_no_operator() {
    let mut facts = facts();
    run(&mut facts, 5);
    assert_eq!(facts.current().map(|(_, holder)| holder), Some(Holder::Nobody));
    let mut facts = reversed(facts);
    loop {
        check(&facts);
        match next(&facts) {
            Next::Write(write) => apply(&mut facts, &write).expect("a write that fits"),
            // Only the controller of apps/v1 acts.
            Next::Wait(what) => {
                let ours = facts.source.take();
                let before = format!("{facts:?}");
                settle(&mut facts);
                assert_ne!(before, format!("{facts:?}"), "waits for ever for {what}");
                facts.source = ours;
            }
            Next::Done => break,
            Next::Stuck(reason) => panic!("{reason}"),
        }
    }
    assert!(facts.source.is_none());
    assert_eq!(facts.controlled_by(facts.target.as_ref().expect("of apps/v1")).count(), 3);
    assert!(facts.sets.iter().all(|set| marks(set).next().is_none()));
}

/// The ReplicaSet with the pods is somebody's before a ReplicaSet of the history may be adopted.
#[test]
fn a_source_that_comes_back_is_not_deleted() {
    let mut facts = facts();
    run(&mut facts, 5);
    settle(&mut facts);
    let mut again = deployment();
    again.body["metadata"]["uid"] = json!("d2");
    facts.source = Some(again);
    assert!(matches!(next(&facts), Next::Stuck(reason) if reason.contains("was created again")));
}

#[test]
fn two_that_nobody_migrated_are_left_alone() {
    let mut facts = facts();
    let other = Deployment { flavour: Flavour::Rollwright, ..deployment() };
    facts.target = Some(other);
    assert!(matches!(next(&facts), Next::Stuck(reason) if reason.contains("no migration created it")));
}

#[test]
fn nothing_is_done_twice() {
    let mut facts = facts();
    run(&mut facts, usize::MAX);
    assert_eq!(next(&facts), Next::Done);
    assert_eq!(preview(facts), Ok(Vec::new()));
}

#[test]
fn all_problems_are_listed_at_once() {
    let mut facts = facts();
    facts.hpa = None;
    facts.dry_run = Some(Err("spec.replicas: too large".to_owned()));
    facts.sets[1] = set(2, 1);
    let source = facts.source.as_mut().expect("the source");
    source.body["metadata"]["ownerReferences"] = json!([{"kind": "Shop", "name": "main", "uid": "s"}]);
    source.body["metadata"]["finalizers"] = json!(["example.com/wait"]);
    let mut other = deployment();
    other.body["metadata"]["name"] = json!("canary");
    let crowded = Neighbours {
        deployments: vec![other, deployment()],
        is_served: true,
        denied: vec!["delete deployments.apps".to_owned()],
        ..Neighbours::default()
    };
    let found = problems(&facts, &crowded);
    let expected = [
        "you may not delete deployments.apps in namespace shop",
        "deployment.apps/web belongs to Shop main",
        "has the finalizer example.com/wait",
        "deployment.apps/web is rolling out, it waits for the rollout to end, which replaces replicaset.apps/web-h2",
        "the selector of deployment.apps/canary matches replicaset.apps/web-h1",
        "horizontalpodautoscaler/web scales deployment.apps/web, which goes; add --hpa=retarget",
        "the API server would refuse deployment.rollwright.dev/web: spec.replicas: too large",
    ];
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for (found, expected) in found.iter().zip(expected) {
        assert!(found.contains(expected), "{found}");
    }
    let unserved = problems(&facts, &Neighbours::default());
    assert!(unserved[0].contains("does not know rollwright.dev/v1"), "{unserved:?}");
    let mut paused = super::tests::facts();
    paused.source.as_mut().expect("the source").body["spec"]["paused"] = json!(true);
    let found = problems(&paused, &neighbours());
    assert_eq!(
        found,
        ["deployment.apps/web is paused; resume it: kubectl rollwright resume deployment.apps/web -n shop"]
    );
}

#[test]
fn keepers_of_the_manifest_budgets_and_what_cannot_be_seen_are_named() {
    let mut facts = facts();
    let source = facts.source.as_mut().expect("the source");
    source.body["metadata"]["annotations"]["meta.helm.sh/release-name"] = json!("shop");
    let budget = json!({"metadata": {"name": "web"}, "spec": {"selector": {"matchLabels": {"app": "web"}}}});
    let other = json!({"metadata": {"name": "db"}, "spec": {"selector": {"matchLabels": {"app": "db"}}}});
    let unseen = vec!["horizontalpodautoscalers.autoscaling".to_owned()];
    let found =
        warnings(&facts, &Neighbours { budgets: vec![budget, other], unseen, ..Neighbours::default() });
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(found[0].contains("is kept by Helm release shop"), "{found:?}");
    assert!(found[1].contains("poddisruptionbudget/web selects the pods"), "{found:?}");
    assert!(
        found[2].contains("may not list horizontalpodautoscalers.autoscaling in namespace shop"),
        "{found:?}"
    );
}
