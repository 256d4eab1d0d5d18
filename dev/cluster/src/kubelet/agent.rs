//! Acts: one watch for all pods, one small task per pod, few requests at a time.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures::{StreamExt as _, pin_mut};
use jiff::Timestamp;
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event, watcher};
use serde_json::{Value, json};
use tokio::sync::{Semaphore, watch};
use world::{Life, Next, Object, Policy as _};

use crate::kubelet::pod::SlimPod;
use crate::kubelet::{KubeletOptions, NODE_NAME};

const RETRY_FIRST: Duration = Duration::from_millis(100);
const RETRY_LAST: Duration = Duration::from_secs(2);
/// Stands for "never": nothing but a change gives work to an agent with nothing to do.
const IDLE: Duration = Duration::from_secs(86_400);

/// What all agents share.
struct Node {
    client: kube::Client,
    settings: watch::Receiver<KubeletOptions>,
    requests: Semaphore,
    addresses: AtomicU32,
}

/// Watches all pods and keeps an agent for each, for ever.
pub(super) async fn watch_pods(client: kube::Client, settings: watch::Receiver<KubeletOptions>) {
    let requests = Semaphore::new(settings.borrow().parallel_requests.max(1));
    let pods: Api<SlimPod> = Api::all(client.clone());
    let node = Arc::new(Node { client, settings, requests, addresses: AtomicU32::new(1) });
    let events = watcher(pods, watcher::Config::default()).default_backoff();
    pin_mut!(events);
    let mut agents: HashMap<String, watch::Sender<Object>> = HashMap::new();
    let mut listed: HashSet<String> = HashSet::new();
    while let Some(event) = events.next().await {
        match event {
            Ok(Event::Init) => listed.clear(),
            Ok(Event::InitApply(pod)) => {
                listed.insert(pod.uid().to_owned());
                update(&node, &mut agents, pod);
            }
            // Pods that went while the watch was broken send no event.
            Ok(Event::InitDone) => agents.retain(|uid, _| listed.contains(uid)),
            Ok(Event::Apply(pod)) => update(&node, &mut agents, pod),
            // Dropping the sender ends the agent.
            Ok(Event::Delete(pod)) => drop(agents.remove(pod.uid())),
            Err(error) => tracing::debug!(%error, "watching pods"),
        }
    }
}

fn update(node: &Arc<Node>, agents: &mut HashMap<String, watch::Sender<Object>>, pod: SlimPod) {
    let is_ours = match &node.settings.borrow().not_ours {
        Some((label, value)) => {
            pod.metadata.labels.as_ref().and_then(|labels| labels.get(label)) != Some(value)
        }
        None => true,
    };
    if !is_ours {
        return;
    }
    let pod = pod.into_object();
    if let Some(agent) = agents.get(pod.uid()) {
        agent.send_replace(pod);
        return;
    }
    let uid = pod.uid().to_owned();
    let (sender, receiver) = watch::channel(pod);
    agents.insert(uid, sender);
    tokio::spawn(look_after(Arc::clone(node), receiver));
}

/// The life of one pod, until it is gone.
async fn look_after(node: Arc<Node>, mut updates: watch::Receiver<Object>) {
    let mut settings = node.settings.clone();
    let address = node.addresses.fetch_add(1, Ordering::Relaxed);
    let mut agent = Agent { life: Life::new(address), is_removed: false, retry: RETRY_FIRST };
    loop {
        let pod = updates.borrow_and_update().clone();
        let options = settings.borrow_and_update().clone();
        let pause = agent.work(&node, &pod, &options).await;
        tokio::select! {
            changed = updates.changed() => if changed.is_err() { return },
            changed = settings.changed() => if changed.is_err() { return },
            () = tokio::time::sleep(pause) => {}
        }
    }
}

struct Agent {
    life: Life,
    is_removed: bool,
    /// Pause after the next request that fails.
    retry: Duration,
}

impl Agent {
    /// Does the next thing and returns for how long to rest at most.
    async fn work(&mut self, node: &Node, pod: &Object, options: &KubeletOptions) -> Duration {
        let now = Timestamp::now();
        let course = options.pods.clone().course(pod, None);
        let next = match self.life.look(pod, &course, now) {
            Next::Wait(Some(until)) => return until.duration_since(now).unsigned_abs().min(IDLE),
            Next::Wait(None) => return IDLE,
            Next::Bind if options.cordoned => return IDLE,
            Next::Remove if self.is_removed => return IDLE,
            next => next,
        };
        match self.act(node, pod, next).await {
            Ok(()) => {
                self.retry = RETRY_FIRST;
                Duration::ZERO
            }
            Err(error) => {
                tracing::debug!(%error, pod = pod.name(), "acting on a pod");
                let pause = self.retry;
                self.retry = (pause * 2).min(RETRY_LAST);
                pause
            }
        }
    }

    async fn act(&mut self, node: &Node, pod: &Object, next: Next) -> Result<(), kube::Error> {
        // The semaphore is never closed, so this cannot fail.
        let _permit = node.requests.acquire().await;
        let pods: Api<SlimPod> = Api::namespaced(node.client.clone(), pod.namespace());
        match next {
            Next::Bind => {
                bind(&pods, pod).await?;
                self.life.bind(Timestamp::now());
            }
            Next::Show(shown) => {
                // The only node.
                let status = self.life.report(pod, shown, 1, Timestamp::now());
                show(&pods, pod, &status).await?;
                self.life.has_shown(shown);
            }
            Next::Remove => {
                remove(&pods, pod).await?;
                self.is_removed = true;
            }
            Next::Wait(_) => {}
        }
        Ok(())
    }
}

/// The uid keeps the status from another pod that has taken the name.
async fn show(pods: &Api<SlimPod>, pod: &Object, status: &Value) -> Result<(), kube::Error> {
    let patch = json!({"metadata": {"uid": pod.uid()}, "status": status});
    ignore_gone(pods.patch_status(pod.name(), &PatchParams::default(), &Patch::Merge(&patch)).await)
}

async fn bind(pods: &Api<SlimPod>, pod: &Object) -> Result<(), kube::Error> {
    let binding = json!({
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": pod.name(), "uid": pod.uid()},
        "target": {"apiVersion": "v1", "kind": "Node", "name": NODE_NAME},
    });
    let bound: Result<Value, _> =
        pods.create_subresource("binding", pod.name(), &PostParams::default(), &binding).await;
    ignore_gone(bound)
}

async fn remove(pods: &Api<SlimPod>, pod: &Object) -> Result<(), kube::Error> {
    let preconditions = Preconditions { uid: Some(pod.uid().to_owned()), resource_version: None };
    let params =
        DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default().grace_period(0) };
    ignore_gone(pods.delete(pod.name(), &params).await)
}

/// A pod that is gone, replaced or bound already needs nothing more; the watch will show that soon.
fn ignore_gone<T>(result: Result<T, kube::Error>) -> Result<(), kube::Error> {
    match result {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.is_not_found() || status.is_conflict() => Ok(()),
        Err(error) => Err(error),
    }
}
