//! Four watches, one stream of changes. Each watch keeps the order of its
//! kind, so no state of a ReplicaSet or a pod passes unseen.

use futures::StreamExt as _;
use futures::stream::{BoxStream, SelectAll};
use kube::Api;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::reflector::{Store, reflector, store::Writer};
use kube::runtime::watcher::{self, watcher};

use crate::world::World;

/// The namespace of the demo: that of a fresh kubeconfig.
pub(crate) const NAMESPACE: &str = "default";
/// The name of the Deployment in the example manifest.
pub(crate) const NAME: &str = "web";

/// A kind, version `v1` of this API group.
pub(crate) fn kind(group: &str, kind: &str) -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1", kind))
}

/// What the demo watches.
pub(crate) struct Watches {
    deployments: Store<DynamicObject>,
    sets: Store<DynamicObject>,
    pods: Store<DynamicObject>,
    events: Store<DynamicObject>,
    changes: SelectAll<BoxStream<'static, ()>>,
}

impl Watches {
    /// Starts them.
    pub(crate) fn start(client: &kube::Client) -> Self {
        let mut changes = SelectAll::new();
        let mut watch = |kind: ApiResource| {
            let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), NAMESPACE, &kind);
            let writer = Writer::new(kind);
            let store = writer.as_reader();
            // After an error the watcher backs off and lists again by itself.
            let events = watcher(api, watcher::Config::default()).default_backoff();
            changes.push(reflector(writer, events).map(drop).boxed());
            store
        };
        Self {
            deployments: watch(kind("rollwright.dev", "Deployment")),
            sets: watch(kind("apps", "ReplicaSet")),
            pods: watch(kind("", "Pod")),
            events: watch(kind("", "Event")),
            changes,
        }
    }

    /// Waits for a change, and returns the state after it.
    pub(crate) async fn change(&mut self) -> World {
        if self.changes.next().await.is_none() {
            std::future::pending::<()>().await;
        }
        let Self { deployments, sets, pods, events, .. } = self;
        let [deployments, sets, pods, events] = [deployments, sets, pods, events].map(|store| {
            store.state().iter().filter_map(|object| serde_json::to_value(&**object).ok()).collect::<Vec<_>>()
        });
        World::read(&deployments, &sets, &pods, &events)
    }
}
