//! The server as a service in the same process: kube's client and watcher on it, under a clock
//! that only moves when everybody waits.

use std::sync::Arc;
use std::time::Duration;

use apiserver::{ApiServer, Shared, embed, live};
use futures::TryStreamExt as _;
use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod};
use kube::api::{
    Api, DeleteParams, ListParams, ObjectMeta, Patch, PatchParams, PostParams, WatchEvent, WatchParams,
};
use kube::runtime::watcher::{self, Event};
use serde_json::json;
use tokio::time::Instant;
use world::{Cluster, Conventions};

/// A cluster that lives, and a client on its service.
fn cluster(ready_after: Duration) -> (Arc<Shared<Cluster>>, kube::Client) {
    let policy = Conventions { ready_after, ..Conventions::default() };
    let cluster = embed(api::crd::crd(None).unwrap(), Box::new(policy)).unwrap();
    tokio::spawn(live(cluster.clone()));
    (cluster.clone(), kube::Client::new(ApiServer::new(&cluster), "default"))
}

fn set(name: &str, size: i32) -> ReplicaSet {
    let spec = json!({
        "apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": { "name": name },
        "spec": {
            "replicas": size, "selector": { "matchLabels": { "app": name } },
            "template": {
                "metadata": { "labels": { "app": name } },
                "spec": { "containers": [{ "name": "main", "image": "main:v1" }] },
            },
        },
    });
    serde_json::from_value(spec).unwrap()
}

#[tokio::test(start_paused = true)]
async fn time_goes_on_only_while_everybody_waits() {
    let (_cluster, client) = cluster(Duration::from_secs(3600));
    let begin = Instant::now();
    let sets: Api<ReplicaSet> = Api::default_namespaced(client.clone());
    sets.create(&PostParams::default(), &set("web", 3)).await.unwrap();
    let mut events = std::pin::pin!(watcher::watcher(sets, watcher::Config::default()));
    loop {
        let event = events.try_next().await.unwrap().unwrap();
        let (Event::Apply(set) | Event::InitApply(set)) = event else { continue };
        if set.status.and_then(|status| status.ready_replicas) == Some(3) {
            break;
        }
    }
    let passed = begin.elapsed();
    assert!((3600..3660).contains(&passed.as_secs()), "ready after {passed:?}");
    let pods: Api<Pod> = Api::default_namespaced(client);
    let ready = pods.list(&ListParams::default().fields("status.phase=Running")).await.unwrap();
    assert_eq!(ready.items.len(), 3);
}

/// A namespace may keep its pods from being listed, and nothing else.
#[tokio::test(start_paused = true)]
async fn pods_of_a_closed_namespace_are_listed_to_nobody() {
    let (_cluster, client) = cluster(Duration::ZERO);
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let closed = json!({ "metadata": { "annotations": { "fake.rollwright.dev/pods-forbidden": "true" } } });
    namespaces.patch("default", &PatchParams::default(), &Patch::Merge(closed)).await.unwrap();
    let pods: Api<Pod> = Api::default_namespaced(client.clone());
    let refused = pods.list(&ListParams::default()).await.unwrap_err();
    let kube::Error::Api(status) = refused else { panic!("{refused:?}") };
    let why = "pods is forbidden: User \"system:anonymous\" cannot list resource \"pods\" in API group \"\" in the \
               namespace \"default\"";
    assert_eq!((status.code, status.message.as_str()), (403, why));
    assert!(pods.watch(&WatchParams::default(), "0").await.is_err());
    let sets: Api<ReplicaSet> = Api::default_namespaced(client.clone());
    sets.list(&ListParams::default()).await.unwrap();
    Api::<Pod>::namespaced(client, "kube-system").list(&ListParams::default()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_watch_goes_on_from_where_the_last_one_ended() {
    let (cluster, client) = cluster(Duration::from_secs(1));
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    let map = |name: &str| ConfigMap {
        metadata: ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() },
        ..ConfigMap::default()
    };
    let start = maps.list(&ListParams::default()).await.unwrap().metadata.resource_version.unwrap();
    maps.create(&PostParams::default(), &map("a")).await.unwrap();
    let patch = Patch::Merge(json!({ "data": { "k": "v" } }));
    maps.patch("a", &PatchParams::default(), &patch).await.unwrap();
    maps.delete("a", &DeleteParams::default()).await.unwrap();
    let begin = Instant::now();
    let params = WatchParams::default().timeout(70);
    let kinds = async |from: &str| {
        let events = maps.watch(&params, from).await.unwrap();
        let events: Vec<WatchEvent<ConfigMap>> = events.try_collect().await.unwrap();
        let kind = |event: &WatchEvent<ConfigMap>| match event {
            WatchEvent::Added(_) => "added",
            WatchEvent::Modified(_) => "modified",
            WatchEvent::Deleted(_) => "deleted",
            WatchEvent::Bookmark(_) => "bookmark",
            WatchEvent::Error(_) => "error",
        };
        events.iter().map(kind).collect::<Vec<_>>()
    };
    assert_eq!(kinds(&start).await, ["added", "modified", "deleted", "bookmark", "bookmark"]);
    assert_eq!(begin.elapsed().as_secs(), 70);
    cluster.act(|cluster| cluster.store.compact(cluster.store.version()));
    assert_eq!(kinds(&start).await, ["error"]);
}
