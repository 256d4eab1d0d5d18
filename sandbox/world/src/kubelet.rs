//! Scheduler and kubelets in one: pods get a node, start, become ready, crash, and go.
//!
//! Nothing runs. The fate of a pod is its [`Course`], and a [`Policy`] of the driver decides which; [`Conventions`] are
//! those of the tests' cluster, by image name and annotation.

mod annotations;
mod course;
pub(crate) mod event;
mod life;
mod nodes;
pub(crate) mod status;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use crate::object::Object;
use crate::refusal::Refused;
use crate::resource::Resource;
use crate::store::Store;
use crate::store::key::Key;
use crate::write::{Deletion, Mode, Preconditions, Subresource};
use life::after;
use status::{Shape, node_in};

pub use annotations::{
    ENDS_AFTER_MS, EXIT_CODE, LAST_WORDS, NEVER, NEVER_READY, READY_AFTER_MS, TERMINATE_AFTER_MS,
    UNREADY_AFTER_MS, WAITS,
};
pub use course::{Conventions, Course, Fate, Policy};
pub use life::{Life, Next};
pub use status::Shown;

/// Pause after a write that was refused.
const RETRY: Duration = Duration::from_secs(1);

/// The outcome of a look at a pod.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PodStep {
    /// Whether something was written; then the pod needs another look immediately.
    pub wrote: bool,
    /// When to look again without an event.
    pub again: Option<Timestamp>,
}

/// What is remembered of a pod.
#[derive(Clone, Debug)]
struct Memory {
    uid: String,
    seen: Timestamp,
    course: Option<Course>,
    life: Life,
}

#[derive(Clone, Debug)]
struct Node {
    name: String,
    is_lost: bool,
}

/// The scheduler and the kubelets of all nodes.
#[derive(Clone, Debug)]
pub struct Kubelets {
    nodes: Vec<Node>,
    memory: BTreeMap<Key, Memory>,
    addresses: u32,
}

impl Kubelets {
    /// Kubelets of nodes with these names.
    #[must_use]
    pub fn new(nodes: &[&str]) -> Self {
        let nodes = nodes.iter().map(|name| Node { name: (*name).to_owned(), is_lost: false });
        Self { nodes: nodes.collect(), memory: BTreeMap::new(), addresses: 0 }
    }

    /// One look at one pod, as it is now; at most one write.
    pub fn step(&mut self, store: &mut Store, key: &Key, policy: &mut dyn Policy) -> PodStep {
        let Some(pod) = store.get(key).cloned() else {
            self.memory.remove(key);
            return PodStep::default();
        };
        let now = store.now();
        let Self { nodes, memory, addresses } = self;
        let mut born = || {
            *addresses += 1;
            Memory { uid: pod.uid().to_owned(), seen: now, course: None, life: Life::new(*addresses) }
        };
        if !memory.contains_key(key) {
            memory.insert(key.clone(), born());
        }
        let Some(memory) = memory.get_mut(key) else { return PodStep::default() };
        if memory.uid != pod.uid() {
            *memory = born();
        }
        let course = policy.course(&pod, memory.course.as_ref());
        memory.course = Some(course);
        let next = match memory.life.look(&pod, &course, now) {
            _ if is_lost(nodes, bound_to(&pod)) => Next::Wait(None),
            Next::Bind => schedule(nodes, store, memory, &course),
            next => next,
        };
        if let Next::Wait(again) = next {
            return PodStep { wrote: false, again };
        }
        match act(nodes, store, &pod, &mut memory.life, &course, next) {
            Ok(()) => PodStep { wrote: true, again: None },
            Err(_) => PodStep { wrote: false, again: Some(after(now, RETRY)) },
        }
    }

    /// A container of a running pod ends and is started again: the pod is not ready until it is.
    /// The effect shows with its next look.
    pub fn restart(&mut self, key: &Key, now: Timestamp) {
        if let Some(memory) = self.memory.get_mut(key) {
            memory.life.restart(now);
        }
    }
}

fn schedule(nodes: &[Node], store: &Store, memory: &Memory, course: &Course) -> Next {
    let at = after(memory.seen, course.bound_after);
    if store.now() < at {
        return Next::Wait(Some(at));
    }
    if node_for(nodes, store, course).is_some() {
        return Next::Bind;
    }
    let cordoned = nodes.iter().any(|node| is_cordoned(store, &node.name));
    let shape = Shape::Unschedulable { cordoned };
    memory.life.show(Shown { shape, gates_met: true, restarts: 0, ended: None }, None)
}

/// The node of a course, or else the first one that takes pods.
fn node_for<'a>(nodes: &'a [Node], store: &Store, course: &Course) -> Option<&'a Node> {
    let takes_pods = |node: &&Node| !node.is_lost && !is_cordoned(store, &node.name);
    let wanted = nodes.get(course.node? % nodes.len().max(1));
    wanted.filter(takes_pods).or_else(|| nodes.iter().find(takes_pods))
}

fn act(
    nodes: &[Node],
    store: &mut Store,
    pod: &Object,
    life: &mut Life,
    course: &Course,
    next: Next,
) -> Result<(), Refused> {
    let now = store.now();
    match next {
        Next::Bind => {
            let Some(node) = node_for(nodes, store, course) else { return Ok(()) };
            store.bind(&Key::of(pod), &node.name)?;
            life.bind(now);
        }
        Next::Show(shown) => {
            let status = Arc::new(life.report(pod, shown, nodes.len(), now));
            store.replace(Object { status, ..pod.clone() }, Subresource::Status, Mode::Store)?;
            life.has_shown(shown);
            event::write(store, pod, shown.shape);
        }
        Next::Remove => {
            store.delete(&Key::of(pod), &at_once(pod))?;
        }
        Next::Wait(_) => {}
    }
    Ok(())
}

/// The name of a pod's node; empty when it has none.
fn bound_to(pod: &Object) -> &str {
    node_in(&pod.spec)
}

/// The end of a pod that has nothing left to run. What it owns is not the kubelet's to decide.
fn at_once(pod: &Object) -> Deletion {
    let preconditions = Preconditions { uid: Some(pod.uid().to_owned()), resource_version: None };
    Deletion { preconditions, grace_seconds: Some(0), ..Deletion::default() }
}

/// Whether a node takes no new pods (`kubectl cordon`).
fn is_cordoned(store: &Store, name: &str) -> bool {
    let node = store.get(&Key::new(Resource::Nodes, "", name));
    node.is_some_and(|node| node.spec.get("unschedulable").and_then(Value::as_bool) == Some(true))
}

/// Every pod that has no node yet.
pub(crate) fn homeless(store: &Store) -> impl Iterator<Item = Key> + '_ {
    store.list(Resource::Pods, None).filter(|pod| bound_to(pod).is_empty()).map(Key::of)
}

fn is_lost(nodes: &[Node], name: &str) -> bool {
    nodes.iter().any(|node| node.is_lost && node.name == name)
}

fn pods_on(store: &Store, node: &str) -> Vec<Object> {
    store.list(Resource::Pods, None).filter(|pod| bound_to(pod) == node).cloned().collect()
}
