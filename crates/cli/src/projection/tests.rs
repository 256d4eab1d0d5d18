use plan::Flavour;
use plan::keys::REVISION;
use serde_json::json;

use super::*;

fn template(image: &str) -> Value {
    json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "app", "image": image}]}})
}

fn deployment(flavour: Flavour, replicas: i64, strategy: &Value) -> Deployment {
    let body = json!({
        "metadata": {"name": "web", "namespace": "x", "uid": "d", "resourceVersion": "1", "generation": 2},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "strategy": strategy,
                 "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600, "template": template("app:2")},
    });
    Deployment { flavour, body }
}

fn old_set(size: i64) -> Value {
    let mut template = template("app:1");
    template["metadata"]["labels"]["pod-template-hash"] = json!("1");
    json!({
        "metadata": {"name": "web-1", "namespace": "x", "uid": "s1", "resourceVersion": "1", "generation": 1,
                     "creationTimestamp": "2026-01-01T00:00:00Z",
                     "labels": {"app": "web", "pod-template-hash": "1", "rollwright.dev/managed": "true"},
                     "annotations": {REVISION: "1"},
                     "ownerReferences": [{"uid": "d", "controller": true, "kind": "Deployment"}]},
        "spec": {"replicas": size, "template": template},
        "status": {"replicas": size, "readyReplicas": size, "availableReplicas": size, "observedGeneration": 1},
    })
}

fn rolling(surge: i64, unavailable: i64) -> Value {
    json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}})
}

fn projected(flavour: Flavour, strategy: &Value) -> Projection {
    let now = "2026-01-02T00:00:00Z".parse().unwrap_or_default();
    project(&deployment(flavour, 4, strategy), &[old_set(4)], now)
        .unwrap_or_else(|error| unreachable!("{error}"))
}

#[test]
fn a_rolling_update_reaches_its_limits_and_not_more() {
    for flavour in [Flavour::Rollwright, Flavour::AppsV1] {
        for (surge, unavailable) in [(1, 0), (0, 1), (1, 1), (2, 2)] {
            let projection = projected(flavour, &rolling(surge, unavailable));
            assert_eq!((projection.floor, projection.ceiling), (4 - unavailable, 4 + surge));
            assert_eq!(projection.lowest(), projection.floor, "{projection:?}");
            assert_eq!(projection.highest(), projection.ceiling, "{projection:?}");
            let last = projection.rows.last().map(|row| row.sizes.iter().map(|size| size.2).collect());
            assert_eq!(last, Some(vec![0, 4]), "{projection:?}");
            assert_eq!(projection.end, Why::Converged);
        }
    }
}

#[test]
fn recreate_goes_through_nothing() {
    let projection = projected(Flavour::Rollwright, &json!({"type": "Recreate"}));
    let pods: Vec<i64> = projection.rows.iter().map(|row| row.pods).collect();
    assert_eq!(pods, [4, 0, 4]);
    assert_eq!(projection.lowest(), 0);
}

#[test]
fn a_paused_one_stands_still() {
    let mut paused = deployment(Flavour::Rollwright, 4, &rolling(1, 1));
    paused.body["spec"]["paused"] = json!(true);
    let projection = project(&paused, &[old_set(4)], jiff::Timestamp::UNIX_EPOCH);
    let projection = projection.unwrap_or_else(|error| unreachable!("{error}"));
    assert_eq!(projection.rows.len(), 1, "{projection:?}");
    assert_eq!(projection.end, Why::Paused);
}

#[test]
fn a_pinned_revision_gets_the_pods_and_the_declared_one_a_set_without_any() {
    let mut pinned = deployment(Flavour::Rollwright, 4, &rolling(1, 0));
    pinned.body["spec"]["pin"] = json!({"podTemplateHash": "1"});
    let projection = project(&pinned, &[old_set(0)], jiff::Timestamp::UNIX_EPOCH);
    let projection = projection.unwrap_or_else(|error| unreachable!("{error}"));
    let last = projection.rows.last().map(|row| row.sizes.iter().map(|size| size.2).collect());
    assert_eq!(last, Some(vec![4, 0]), "{projection:?}");
    assert_eq!(projection.end.itself(), &Why::Converged);
    let words = "revision 1 runs instead of the declared revision 2";
    assert!(projection.end.to_string().starts_with(words), "{}", projection.end);
}

#[test]
fn the_first_rollout_begins_with_nothing() {
    let fresh = deployment(Flavour::AppsV1, 3, &rolling(1, 1));
    let projection = project(&fresh, &[], jiff::Timestamp::UNIX_EPOCH);
    let projection = projection.unwrap_or_else(|error| unreachable!("{error}"));
    assert_eq!(projection.rows.iter().map(|row| row.pods).collect::<Vec<_>>(), [0, 3]);
}

fn stepped(replicas: i64, steps: &Value) -> Projection {
    let mut strategy = rolling(1, 0);
    strategy["rollingUpdate"]["steps"] = steps.clone();
    let now = "2026-01-02T00:00:00Z".parse().unwrap_or_default();
    project(&deployment(Flavour::Rollwright, replicas, &strategy), &[old_set(replicas)], now)
        .unwrap_or_else(|error| unreachable!("{error}"))
}

fn stops(projection: &Projection) -> Vec<(Vec<i64>, String)> {
    let reached = projection.rows.iter().flat_map(|row| row.stops.iter().map(move |stop| (row, stop)));
    reached.map(|(row, stop)| (row.sizes.iter().map(|size| size.2).collect(), stop.to_string())).collect()
}

#[test]
fn each_step_is_shown_with_its_sizes_up_to_the_end() {
    let projection = stepped(
        10,
        &json!([
            {"updated": 1, "approval": "Required"},
            {"updated": "25%", "waitSeconds": 600},
            {"updated": "50%"},
        ]),
    );
    let expected = [
        (vec![9, 1], "step 1 of 4, until promoted"),
        (vec![7, 3], "step 2 of 4, for 600 s"),
        (vec![5, 5], "step 3 of 4"),
    ];
    assert_eq!(
        stops(&projection),
        expected.map(|(sizes, words)| (sizes, words.to_owned())),
        "{projection:?}"
    );
    assert_eq!((projection.lowest(), projection.highest()), (10, 11));
    assert_eq!(
        projection.rows.last().map(|row| row.sizes.iter().map(|it| it.2).collect()),
        Some(vec![0, 10])
    );
    assert_eq!(projection.end, Why::Converged);
}

#[test]
fn with_one_replica_only_a_person_is_waited_for() {
    let projection = stepped(
        1,
        &json!([
            {"updated": "10%", "waitSeconds": 600},
            {"updated": "30%", "approval": "Required"},
            {"updated": "50%", "approval": "Required"},
        ]),
    );
    let words: Vec<String> = stops(&projection).into_iter().map(|(_, words)| words).collect();
    assert_eq!(words, ["step 1 of 4", "step 2 of 4, until promoted", "step 3 of 4, until promoted"]);
    assert_eq!(projection.end, Why::Converged);
}
