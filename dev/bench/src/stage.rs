//! Small Deployments in a namespace of their own, what is done to them, and when each was complete, as a watch shows it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use cluster::{Cluster, User};
use futures::{StreamExt as _, TryStreamExt as _, pin_mut, stream};
use jiff::Timestamp;
use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use kube::runtime::watcher;
use kube::{Api, Client};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::failure::Failure;
use crate::side::Side;

/// Edits that are on their way at the same time.
const PARALLEL: usize = 32;
/// Of one change of all Deployments.
const DEADLINE: Duration = Duration::from_secs(900);
/// What makes one template differ from the next.
const VERSION: &str = "example.org/version";

/// What is done to a Deployment.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    /// Creates it with the first template, and this many replicas.
    Create(i64),
    Patch(Value),
}

impl Change {
    /// Gives it the template of this version.
    pub(crate) fn template(version: usize) -> Self {
        let annotations = json!({VERSION: version.to_string()});
        Self::Patch(json!({"spec": {"template": {"metadata": {"annotations": annotations}}}}))
    }

    pub(crate) fn size(replicas: i64) -> Self {
        Self::Patch(json!({"spec": {"replicas": replicas}}))
    }
}

/// An edit: which generation it made, and when it was sent.
#[derive(Clone, Debug)]
pub(crate) struct Edit {
    pub(crate) name: String,
    pub(crate) generation: i64,
    pub(crate) sent: Instant,
    /// The same on the clock of the audit log.
    pub(crate) sent_at: Timestamp,
}

/// The newest generation that was complete, and when that was seen first.
type Seen = HashMap<String, (i64, Instant)>;

/// Follows its Deployments until dropped.
pub(crate) struct Stage {
    pub(crate) client: Client,
    pub(crate) namespace: String,
    pub(crate) deployments: Api<DynamicObject>,
    side: Side,
    seen: Arc<Mutex<Seen>>,
    changed: Arc<Notify>,
    task: JoinHandle<()>,
}

impl Stage {
    pub(crate) async fn new(cluster: &Cluster, side: Side) -> Result<Self, Failure> {
        let namespace = cluster.create_namespace(side.short()).await?;
        let client = cluster.client(User::Admin).await?;
        let deployments = Api::<DynamicObject>::namespaced_with(client.clone(), &namespace, &side.resource());
        let seen = Arc::<Mutex<Seen>>::default();
        let changed = Arc::<Notify>::default();
        let task = tokio::spawn(follow(deployments.clone(), seen.clone(), changed.clone()));
        Ok(Self { client, namespace, deployments, side, seen, changed, task })
    }

    /// Changes this many Deployments at once, waits until they are complete, and returns how long each took.
    pub(crate) async fn change(
        &self,
        count: usize,
        change: &Change,
    ) -> Result<(Vec<Edit>, Vec<Duration>), Failure> {
        let edits = (0..count).map(|number| self.edit(format!("web-{number}"), change));
        let edits: Vec<Edit> = stream::iter(edits).buffer_unordered(PARALLEL).try_collect().await?;
        let times = self.wait(&edits).await?;
        Ok((edits, times))
    }

    pub(crate) async fn edit(&self, name: String, change: &Change) -> Result<Edit, Failure> {
        let (api, sent, sent_at) = (&self.deployments, Instant::now(), Timestamp::now());
        let made = match change {
            Change::Create(replicas) => {
                let object = serde_json::from_value(self.manifest(&name, *replicas))?;
                api.create(&PostParams::default(), &object).await?
            }
            Change::Patch(patch) => api.patch(&name, &PatchParams::default(), &Patch::Merge(patch)).await?,
        };
        Ok(Edit { name, generation: made.metadata.generation.unwrap_or(1), sent, sent_at })
    }

    fn manifest(&self, name: &str, replicas: i64) -> Value {
        let resource = self.side.resource();
        let mut manifest = json!({
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "metadata": {"name": name},
            "spec": {
                "replicas": replicas,
                "selector": {"matchLabels": {"app": name}},
                "template": {
                    "metadata": {"labels": {"app": name}, "annotations": {VERSION: "1"}},
                    "spec": {"containers": [{"name": "app", "image": "registry.example.org/shop/web:1.0"}]},
                },
            },
        });
        if let (Side::ArgoRollouts, Some(Value::Object(spec))) = (self.side, manifest.get_mut("spec")) {
            // Without steps, and with the defaults of a Deployment.
            let canary = json!({"canary": {"maxSurge": "25%", "maxUnavailable": "25%"}});
            spec.insert("strategy".to_owned(), canary);
        }
        manifest
    }

    /// Waits until all edits are complete and returns how long each took, in their order.
    pub(crate) async fn wait(&self, edits: &[Edit]) -> Result<Vec<Duration>, Failure> {
        let waiting = async {
            loop {
                let changed = self.changed.notified();
                let times: Vec<Duration> = self.times(edits);
                if times.len() == edits.len() {
                    return times;
                }
                changed.await;
            }
        };
        let late = |_| {
            let (missing, all) = (edits.len() - self.times(edits).len(), edits.len());
            Failure::Other(format!("{missing} of {all} are not complete after {DEADLINE:?}"))
        };
        tokio::time::timeout(DEADLINE, waiting).await.map_err(late)
    }

    /// Of those that are complete.
    fn times(&self, edits: &[Edit]) -> Vec<Duration> {
        let seen = lock(&self.seen);
        let time = |edit: &Edit| {
            let (generation, at) = seen.get(&edit.name)?;
            (*generation >= edit.generation).then(|| at.saturating_duration_since(edit.sent))
        };
        edits.iter().filter_map(time).collect()
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn lock(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn follow(api: Api<DynamicObject>, seen: Arc<Mutex<Seen>>, changed: Arc<Notify>) {
    let events = watcher(api, watcher::Config::default());
    pin_mut!(events);
    while let Some(event) = events.next().await {
        // The watcher tries again by itself.
        let Ok(watcher::Event::Apply(object) | watcher::Event::InitApply(object)) = event else { continue };
        let (Some(name), Some(generation)) = (object.metadata.name, object.metadata.generation) else {
            continue;
        };
        if !is_complete(generation, &object.data) {
            continue;
        }
        let mut seen = lock(&seen);
        if seen.get(&name).is_none_or(|(known, _)| *known < generation) {
            seen.insert(name, (generation, Instant::now()));
            changed.notify_waiters();
        }
    }
}

/// What `kubectl rollout status` looks at, on either kind, and the phase, by which Argo Rollouts' command line decides.
fn is_complete(generation: i64, object: &Value) -> bool {
    let number = |path: &str| object.pointer(path).and_then(Value::as_i64);
    let wanted = number("/spec/replicas").unwrap_or(1);
    // Argo Rollouts writes it as a text.
    let text = |path: &str| object.pointer(path).and_then(Value::as_str);
    let observed = text("/status/observedGeneration").and_then(|observed| observed.parse().ok());
    observed.or(number("/status/observedGeneration")).is_some_and(|observed: i64| observed >= generation)
        && text("/status/phase").is_none_or(|phase| phase == "Healthy")
        && ["updatedReplicas", "replicas", "availableReplicas"]
            .iter()
            .all(|field| number(&format!("/status/{field}")).unwrap_or(0) == wanted)
}
