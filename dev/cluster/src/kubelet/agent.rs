//! Acts: one watch for all pods, one small task per pod, few requests at a time.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use futures::{StreamExt as _, pin_mut};
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event, watcher};
use serde_json::json;
use tokio::sync::{Semaphore, watch};

use crate::kubelet::decide::{self, Memory, Shown, Step};
use crate::kubelet::pod::SlimPod;
use crate::kubelet::status::{self, Transitions};
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
    let mut agents: HashMap<String, watch::Sender<SlimPod>> = HashMap::new();
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

fn update(node: &Arc<Node>, agents: &mut HashMap<String, watch::Sender<SlimPod>>, mut pod: SlimPod) {
    let is_ours = match &node.settings.borrow().not_ours {
        Some((label, value)) => {
            pod.metadata.labels.as_ref().and_then(|labels| labels.get(label)) != Some(value)
        }
        None => true,
    };
    if !is_ours {
        return;
    }
    pod.metadata.managed_fields = None;
    pod.metadata.labels = None;
    pod.metadata.owner_references = None;
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
async fn look_after(node: Arc<Node>, mut updates: watch::Receiver<SlimPod>) {
    let mut settings = node.settings.clone();
    let mut agent = Agent::new(&node, &updates.borrow());
    loop {
        let pod = updates.borrow_and_update().clone();
        let options = settings.borrow_and_update().clone();
        let until = agent.work(&node, &pod, &options).await;
        tokio::select! {
            changed = updates.changed() => if changed.is_err() { return },
            changed = settings.changed() => if changed.is_err() { return },
            () = tokio::time::sleep_until(until.into()) => {}
        }
    }
}

struct Agent {
    memory: Memory,
    transitions: Transitions,
    address: String,
    /// Pause after the next request that fails.
    retry: Duration,
}

impl Agent {
    fn new(node: &Node, pod: &SlimPod) -> Self {
        let number = node.addresses.fetch_add(1, Ordering::Relaxed);
        let [_, second, third, fourth] = number.to_be_bytes();
        let mut memory = Memory::default();
        // After a restart of the kubelet a pod is as old as its status shows.
        if let Some(start) = pod.status.start_time {
            let age = jiff::Timestamp::now().duration_since(start).unsigned_abs();
            memory.bound = Instant::now().checked_sub(age);
        }
        Self {
            memory,
            transitions: Transitions::new(),
            address: format!("10.{second}.{third}.{fourth}"),
            retry: RETRY_FIRST,
        }
    }

    /// Does the next thing and returns when to look again at the latest.
    async fn work(&mut self, node: &Node, pod: &SlimPod, options: &KubeletOptions) -> Instant {
        let now = Instant::now();
        self.notice(pod, now);
        let step = match decide::next(pod, &self.memory, options, now) {
            Step::Wait(until) => return until.unwrap_or(now + IDLE),
            step => step,
        };
        match self.act(node, pod, step).await {
            Ok(()) => {
                self.retry = RETRY_FIRST;
                Instant::now()
            }
            Err(error) => {
                tracing::debug!(%error, pod = pod.name(), "acting on a pod");
                let pause = self.retry;
                self.retry = (pause * 2).min(RETRY_LAST);
                Instant::now() + pause
            }
        }
    }

    fn notice(&mut self, pod: &SlimPod, now: Instant) {
        if pod.spec.node_name.is_some() {
            self.memory.bound.get_or_insert(now);
        }
        if pod.metadata.deletion_timestamp.is_some() {
            self.memory.deleting.get_or_insert(now);
        }
    }

    async fn act(&mut self, node: &Node, pod: &SlimPod, step: Step) -> Result<(), kube::Error> {
        // The semaphore is never closed, so this cannot fail.
        let _permit = node.requests.acquire().await;
        let pods: Api<SlimPod> = Api::namespaced(node.client.clone(), pod.namespace());
        match step {
            Step::Bind => {
                bind(&pods, pod).await?;
                self.memory.bound = Some(Instant::now());
            }
            Step::Show(shown) => {
                self.show(&pods, pod, shown).await?;
                self.memory.shown = Some(shown);
            }
            Step::Remove => {
                remove(&pods, pod).await?;
                self.memory.removed = true;
            }
            Step::Wait(_) => {}
        }
        Ok(())
    }

    async fn show(&mut self, pods: &Api<SlimPod>, pod: &SlimPod, shown: Shown) -> Result<(), kube::Error> {
        let patch = status::patch(pod, shown, &mut self.transitions, &self.address, jiff::Timestamp::now());
        let written = pods.patch_status(pod.name(), &PatchParams::default(), &Patch::Merge(&patch)).await;
        ignore_gone(written)
    }
}

async fn bind(pods: &Api<SlimPod>, pod: &SlimPod) -> Result<(), kube::Error> {
    let binding = json!({
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": pod.name(), "uid": pod.uid()},
        "target": {"apiVersion": "v1", "kind": "Node", "name": NODE_NAME},
    });
    let bound: Result<serde_json::Value, _> =
        pods.create_subresource("binding", pod.name(), &PostParams::default(), &binding).await;
    ignore_gone(bound)
}

async fn remove(pods: &Api<SlimPod>, pod: &SlimPod) -> Result<(), kube::Error> {
    let preconditions = Preconditions { uid: pod.metadata.uid.clone(), resource_version: None };
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
