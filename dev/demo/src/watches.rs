//! Four watches, one stream of changes. Each watch keeps the order of its
//! kind, so no state of a ReplicaSet or a pod passes unseen.

use std::collections::{BTreeMap, BTreeSet};

use futures::StreamExt as _;
use kube::Api;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, watcher};
use serde_json::Value;
use tokio::sync::mpsc;

use crate::world::{self, Deployment, Event, Pod, Set, World};

/// The namespace of the demo: that of a fresh kubeconfig.
pub(crate) const NAMESPACE: &str = "default";
/// The name of the Deployment in the example manifest.
pub(crate) const NAME: &str = "web";

const CHANNEL: usize = 256;

/// Which watch a change comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Deployment,
    ReplicaSet,
    Pod,
    Event,
}

impl Kind {
    const ALL: [Self; 4] = [Self::Deployment, Self::ReplicaSet, Self::Pod, Self::Event];

    pub(crate) fn resource(self) -> ApiResource {
        let (group, kind) = match self {
            Self::Deployment => ("rollwright.dev", "Deployment"),
            Self::ReplicaSet => ("apps", "ReplicaSet"),
            Self::Pod => ("", "Pod"),
            Self::Event => ("", "Event"),
        };
        ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1", kind))
    }
}

/// Something that a watch has seen.
#[derive(Debug)]
pub(crate) enum Change {
    /// An object came, or is different now.
    Present { kind: Kind, uid: String, object: Value },
    /// An object is gone.
    Gone { kind: Kind, uid: String },
    /// A list is complete: nothing else of this kind exists.
    Only { kind: Kind, uids: BTreeSet<String> },
}

/// Starts the watches; they end when the receiver is dropped.
pub(crate) fn start(client: &kube::Client) -> mpsc::Receiver<Change> {
    let (sender, receiver) = mpsc::channel(CHANNEL);
    for kind in Kind::ALL {
        tokio::spawn(watch(client.clone(), kind, sender.clone()));
    }
    receiver
}

async fn watch(client: kube::Client, kind: Kind, changes: mpsc::Sender<Change>) {
    let api: Api<DynamicObject> = Api::namespaced_with(client, NAMESPACE, &kind.resource());
    let mut events = watcher(api, watcher::Config::default()).default_backoff().boxed();
    let mut listed = BTreeSet::new();
    loop {
        let event = tokio::select! {
            event = events.next() => event,
            () = changes.closed() => None,
        };
        let change = match event {
            Some(Ok(watcher::Event::Apply(object))) => present(kind, object),
            Some(Ok(watcher::Event::InitApply(object))) => {
                listed.insert(uid(&object));
                present(kind, object)
            }
            Some(Ok(watcher::Event::Delete(object))) => Some(Change::Gone { kind, uid: uid(&object) }),
            Some(Ok(watcher::Event::InitDone)) => {
                Some(Change::Only { kind, uids: std::mem::take(&mut listed) })
            }
            Some(Ok(watcher::Event::Init)) => {
                listed.clear();
                None
            }
            // The watcher backs off and lists again by itself.
            Some(Err(_)) => None,
            None => return,
        };
        if let Some(change) = change
            && changes.send(change).await.is_err()
        {
            return;
        }
    }
}

fn present(kind: Kind, object: DynamicObject) -> Option<Change> {
    let uid = uid(&object);
    Some(Change::Present { kind, uid, object: serde_json::to_value(object).ok()? })
}

fn uid(object: &DynamicObject) -> String {
    object.metadata.uid.clone().unwrap_or_default()
}

impl Change {
    /// Brings the world up to date.
    pub(crate) fn apply(self, world: &mut World) {
        match self {
            Self::Present { kind: Kind::Deployment, object, .. } => {
                if object.pointer("/metadata/name").and_then(Value::as_str) == Some(NAME) {
                    world.deployment = Some(Deployment::read(&object));
                }
            }
            Self::Present { kind: Kind::ReplicaSet, uid, object } => {
                let owner = world.deployment.as_ref().map(|deployment| deployment.uid.as_str());
                // The set's own watch may be faster than the Deployment's.
                if owner.is_none() || world::controller(&object).as_deref() == owner {
                    world.sets.insert(uid, Set::read(&object));
                }
            }
            Self::Present { kind: Kind::Pod, uid, object } => {
                world.pods.insert(uid, Pod::read(&object));
            }
            Self::Present { kind: Kind::Event, uid, object } => {
                if let Some(event) = Event::read(&object, NAME) {
                    world.record(uid, event);
                }
            }
            Self::Gone { kind, uid } => retain(world, kind, |other| *other != uid),
            Self::Only { kind, uids } => retain(world, kind, |uid| uids.contains(uid)),
        }
    }
}

fn retain(world: &mut World, kind: Kind, keep: impl Fn(&String) -> bool) {
    fn of<V>(map: &mut BTreeMap<String, V>, keep: impl Fn(&String) -> bool) {
        map.retain(|uid, _| keep(uid));
    }
    match kind {
        Kind::Deployment => {
            world.deployment = world.deployment.take().filter(|deployment| keep(&deployment.uid));
        }
        Kind::ReplicaSet => of(&mut world.sets, keep),
        Kind::Pod => of(&mut world.pods, keep),
        Kind::Event => of(&mut world.events, keep),
    }
}
