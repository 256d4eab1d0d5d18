//! Deletion of Deployments in all propagation modes, and of their namespace.

use std::time::Duration;

use cluster::webhook::{Registration, Verdict, Webhook};
use cluster::{Cluster, audit, kubelet, wait_for};
use jiff::Timestamp;
use kube::Api;
use kube::api::{DeleteParams, ListParams};
use k8s_openapi::api::core::v1::Namespace;
use serde_json::{Value, json};

use crate::bench::{Bench, SOON, check, controller_uid, deployment, describe, image_of, size_of, uid_of};

/// A Deployment whose rollouts take some seconds, pod by pod.
fn slow(image: &str) -> Value {
    let mut manifest = deployment("web", 4, image);
    manifest["spec"]["strategy"] = json!({ "rollingUpdate": { "maxSurge": 1, "maxUnavailable": 0 } });
    let annotations = json!({ kubelet::READY_AFTER_MS: "1500" });
    manifest["spec"]["template"]["metadata"]["annotations"] = annotations;
    manifest
}

/// A Deployment that is deleted without its sets in the middle of a rollout and created anew
/// goes on where it was: same sets, no pod of the new template restarts (S2.20).
pub(crate) async fn orphan_and_resume(bench: &Bench) {
    let first = bench.create(slow("web:1")).await;
    bench.until_complete("web").await;
    bench.patch("web", &slow("web:2")).await;
    let is_half_way = |sets: &[_]| {
        let sizes: Vec<i32> = sets.iter().map(size_of).collect();
        sizes.len() == 2 && sizes[0] < 4 && sizes[1] > 0
    };
    bench.until_sets("a rollout being half-way", &first, is_half_way).await;
    bench.delete("web", &DeleteParams::orphan()).await;
    until_gone(bench, "web").await;
    let orphans = bench.all_sets().await.unwrap();
    assert_eq!(orphans.len(), 2, "{}", describe(&orphans));
    assert!(orphans.iter().all(|set| controller_uid(set).is_none()));
    assert!(orphans.iter().all(|set| size_of(set) > 0), "not half-way: {}", describe(&orphans));
    let pods = bench.pods_of(&[uid_of(&orphans[1])]).await;

    let second = bench.create(slow("web:2")).await;
    bench.until_complete("web").await;
    let sets = bench.sets_of(&second).await.unwrap();
    let uids = |sets: &[_]| sets.iter().map(uid_of).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(uids(&sets), uids(&orphans));
    let sizes: Vec<_> = sets.iter().map(|set| (image_of(set), size_of(set))).collect();
    assert_eq!(sizes, [("web:1", 0), ("web:2", 4)]);
    assert_eq!(bench.all_sets().await.unwrap().len(), 2);
    let later = bench.pods_of(&[uid_of(&orphans[1])]).await;
    assert!(pods.iter().all(|pod| later.contains(pod)), "pods of the new template were restarted");
}

/// Foreground deletion: the Deployment outlives its sets, gets its status and nothing else; an
/// edit in between makes no set (deviation from S3.5: the sets are not touched).
pub(crate) async fn foreground(bench: &Bench) {
    let mut manifest = deployment("web", 2, "web:1");
    let annotations = json!({ kubelet::TERMINATE_AFTER_MS: "3000" });
    manifest["spec"]["template"]["metadata"]["annotations"] = annotations;
    let owner = bench.create(manifest).await;
    bench.until_complete("web").await;
    bench.delete("web", &DeleteParams::foreground()).await;
    bench.set_image("web", "web:2").await;
    wait_for("the Deployment going after its sets", SOON, async || {
        // The sets are read after the Deployment, so none may be left once it is gone.
        let object = bench.get("web").await;
        let sets = bench.all_sets().await?;
        assert!(sets.iter().all(|set| image_of(set) == "web:1"), "a set was made for a Deployment that goes");
        assert!(sets.iter().all(|set| controller_uid(set) == Some(owner.as_str())));
        match object {
            Ok(object) => check(false, || object["status"].to_string()),
            Err(_) => {
                assert!(sets.is_empty(), "it went before {}", describe(&sets));
                Ok(())
            }
        }
    })
    .await
    .unwrap();
}

/// Background deletion: the Deployment goes at once, the garbage collector takes the rest, and
/// nothing comes back.
pub(crate) async fn background(bench: &Bench) {
    bench.create(deployment("web", 2, "web:1")).await;
    bench.until_complete("web").await;
    bench.delete("web", &DeleteParams::background()).await;
    until_gone(bench, "web").await;
    wait_for("sets and pods going", SOON, async || {
        let sets = bench.all_sets().await?;
        let pods = bench.pods().list(&ListParams::default()).await?.items.len();
        check(sets.is_empty() && pods == 0, || format!("{pods} pods, {}", describe(&sets)))
    })
    .await
    .unwrap();
}

async fn until_gone(bench: &Bench, name: &str) {
    wait_for(&format!("{name} going"), SOON, async || {
        let found = bench.deployments().get_opt(name).await?;
        check(found.is_none(), || "it is there".to_owned())
    })
    .await
    .unwrap();
}

/// A namespace goes away with a Deployment in it that cannot be deleted yet: its sets vanish and
/// cannot be created again. That is no error (S14.3): few requests, no storm of events.
pub(crate) async fn namespace(bench: &Bench, cluster: &Cluster, operator: &str) {
    const WINDOW: Duration = Duration::from_secs(8);
    const REQUESTS_MAX: usize = 24;
    bench.create(deployment("web", 2, "web:1")).await;
    bench.until_complete("web").await;
    let mut guard = Webhook::serve(|_| Verdict::Deny { code: 403, message: "not yet".to_owned() }).await.unwrap();
    let (group, version) = bench.flavour.api_version().split_once('/').unwrap();
    let registration = Registration {
        group: group.to_owned(),
        version: version.to_owned(),
        resource: "deployments".to_owned(),
        ..Registration::replica_sets(&bench.namespace, &["DELETE"])
    };
    guard.register(&bench.client, &registration).await.unwrap();

    let since = Timestamp::now();
    let namespaces: Api<Namespace> = Api::all(bench.client.clone());
    let _ = namespaces.delete(&bench.namespace, &DeleteParams::default()).await.unwrap();
    wait_for("the sets going", SOON, async || {
        let sets = bench.all_sets().await?;
        check(sets.is_empty(), || describe(&sets))
    })
    .await
    .unwrap();
    tokio::time::sleep(WINDOW).await;
    assert!(bench.deployments().get("web").await.is_ok(), "the Deployment went too soon");
    let requests = audit::requests(&cluster.audit_log(), since, operator).unwrap();
    let requests: Vec<_> = requests.into_iter().filter(|request| request.namespace == bench.namespace).collect();
    assert!(requests.len() <= REQUESTS_MAX, "{} requests: {requests:#?}", requests.len());

    guard.remove(&bench.client).await.unwrap();
    wait_for("the namespace going", SOON, async || {
        let found = namespaces.get_opt(&bench.namespace).await?;
        check(found.is_none(), || format!("{:?}", found.and_then(|found| found.status)))
    })
    .await
    .unwrap();
}
