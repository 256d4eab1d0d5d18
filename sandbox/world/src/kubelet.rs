//! Scheduler and kubelets in one: pods get a node, start, become ready, crash, and go.
//!
//! Nothing runs. The fate of a pod is its [`Course`], and a [`Policy`] of the driver decides which; [`Conventions`] are
//! those of the tests' cluster, by image name and annotation.

mod annotations;
mod course;
mod event;
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
use crate::status::Status;
use crate::store::Store;
use crate::store::key::Key;
use crate::write::{Deletion, Mode, Preconditions, Subresource};
use status::{Parts, Report, Shape, Shown, Transitions, node_in};

pub use annotations::{LAST_WORDS, NEVER_READY, READY_AFTER_MS, TERMINATE_AFTER_MS, UNREADY_AFTER_MS, WAITS};
pub use course::{Conventions, Course, Fate, Policy};

/// A pod that is ready sooner than this goes from pending to ready in one write.
const VISIBLE_START: Duration = Duration::from_secs(1);
/// Pause after a write that was refused.
const RETRY: Duration = Duration::from_secs(1);
/// Restarts of a crashing container are at least this far apart.
const RESTART_LEAST: Duration = Duration::from_millis(100);

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
    bound: Option<Timestamp>,
    /// When its containers started last.
    started: Option<Timestamp>,
    deleting: Option<Timestamp>,
    restarts: u64,
    course: Option<Course>,
    shown: Option<Shown>,
    transitions: Transitions,
    address: u32,
}

impl Memory {
    fn new(pod: &Object, now: Timestamp, address: u32) -> Self {
        Self {
            uid: pod.uid().to_owned(),
            seen: now,
            bound: None,
            started: None,
            deleting: None,
            restarts: 0,
            course: None,
            shown: None,
            transitions: Transitions::default(),
            address,
        }
    }

    /// Takes in what others did to the pod.
    fn note(&mut self, pod: &Object, now: Timestamp) {
        if self.bound.is_none() && !bound_to(pod).is_empty() {
            // After a restart of the kubelet a pod is as old as its status shows.
            let start = pod.status.get("startTime").and_then(Value::as_str).and_then(|at| at.parse().ok());
            self.bound = Some(start.unwrap_or(now));
            self.started = self.bound;
        }
        if pod.is_deleting() {
            self.deleting.get_or_insert(now);
        }
    }

    /// A container ends by itself.
    fn restart_if_due(&mut self, course: &Course, now: Timestamp) {
        if self.deleting.is_none() && self.ends_at(course).is_some_and(|end| end <= now) {
            self.restarts += 1;
            self.started = Some(now);
        }
    }

    /// When a container that runs ends by itself.
    fn ends_at(&self, course: &Course) -> Option<Timestamp> {
        match course.fate {
            Fate::Restarts { every } => Some(after(self.started?, every.max(RESTART_LEAST))),
            _ => None,
        }
    }
}

/// The next thing to do about a pod.
enum Action {
    Bind(usize),
    Show(Shown),
    Remove,
    Wait(Option<Timestamp>),
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
            Memory::new(&pod, now, *addresses)
        };
        if !memory.contains_key(key) {
            memory.insert(key.clone(), born());
        }
        let Some(memory) = memory.get_mut(key) else { return PodStep::default() };
        if memory.uid != pod.uid() {
            *memory = born();
        }
        memory.note(&pod, now);
        let course = policy.course(&pod, memory.course.as_ref());
        memory.course = Some(course);
        memory.restart_if_due(&course, now);
        match next(nodes, store, &pod, memory, &course) {
            Action::Wait(again) => PodStep { wrote: false, again },
            action => match act(nodes, store, &pod, memory, &action) {
                Ok(()) => PodStep { wrote: true, again: None },
                Err(_) => PodStep { wrote: false, again: Some(after(now, RETRY)) },
            },
        }
    }

    /// A container of a running pod ends and is started again: the pod is not ready until it is.
    /// The effect shows with its next look.
    pub fn restart(&mut self, key: &Key, now: Timestamp) {
        if let Some(memory) = self.memory.get_mut(key).filter(|memory| memory.started.is_some()) {
            memory.restarts += 1;
            memory.started = Some(now);
        }
    }
}

fn next(nodes: &[Node], store: &Store, pod: &Object, memory: &Memory, course: &Course) -> Action {
    let now = store.now();
    if is_lost(nodes, bound_to(pod)) {
        return Action::Wait(None);
    }
    if let Some(deleting) = memory.deleting {
        let gone = after(deleting, course.gone_after);
        return if now >= gone { Action::Remove } else { Action::Wait(Some(gone)) };
    }
    let is_gated = pod.spec.get("schedulingGates").and_then(Value::as_array);
    if pod.status.pod().phase.is_finished() || is_gated.is_some_and(|gates| !gates.is_empty()) {
        return Action::Wait(None);
    }
    let Some(bound) = memory.bound else { return schedule(nodes, store, memory, course) };
    let (shape, until) = shape(memory, course, bound, now);
    let Some(shape) = shape else { return Action::Wait(until) };
    let is_counted = !matches!(course.fate, Fate::Crashes { .. });
    let restarts = if is_counted { memory.restarts } else { crashes(course, bound, now) };
    let ended = memory.started.filter(|_| is_counted && restarts > 0);
    let until = until.into_iter().chain(memory.ends_at(course)).min();
    let shown = Shown { shape, gates_met: gates_are_met(pod), restarts, ended };
    if memory.shown == Some(shown) { Action::Wait(until) } else { Action::Show(shown) }
}

fn schedule(nodes: &[Node], store: &Store, memory: &Memory, course: &Course) -> Action {
    let at = after(memory.seen, course.bound_after);
    if store.now() < at {
        return Action::Wait(Some(at));
    }
    let is_cordoned = |node: &Node| is_cordoned(store, &node.name);
    let alive = |index: usize| nodes.get(index).is_some_and(|node| !node.is_lost && !is_cordoned(node));
    let wanted = course.node.map(|node| node % nodes.len().max(1));
    let node = wanted.and_then(|wanted| {
        let elsewhere = (0..nodes.len()).find(|index| alive(*index));
        if alive(wanted) { Some(wanted) } else { elsewhere }
    });
    if let Some(node) = node {
        return Action::Bind(node);
    }
    let cordoned = nodes.iter().any(is_cordoned);
    let shown = Shown { shape: Shape::Unschedulable { cordoned }, gates_met: true, restarts: 0, ended: None };
    if memory.shown == Some(shown) { Action::Wait(None) } else { Action::Show(shown) }
}

fn act(
    nodes: &[Node],
    store: &mut Store,
    pod: &Object,
    memory: &mut Memory,
    action: &Action,
) -> Result<(), Refused> {
    let now = store.now();
    match action {
        Action::Bind(index) => {
            let Some(node) = nodes.get(*index) else { return Ok(()) };
            store.bind(&Key::of(pod), &node.name)?;
            memory.bound = Some(now);
            memory.started = Some(now);
            memory.shown = None;
            memory.transitions.set_scheduled(now);
        }
        Action::Show(shown) => {
            let transitions = &mut memory.transitions;
            let parts = Parts { metadata: &pod.metadata, spec: &pod.spec, status: &pod.status };
            let report = Report::new(&parts, *shown, transitions, memory.address, nodes.len(), now);
            let sent = Object { status: Arc::new(Status::reported(report)), ..pod.clone() };
            store.replace(sent, Subresource::Status, Mode::Store)?;
            memory.shown = Some(*shown);
            event::write(store, pod, shown.shape);
        }
        Action::Remove => {
            store.delete(&Key::of(pod), &at_once(pod))?;
        }
        Action::Wait(_) => {}
    }
    Ok(())
}

/// The name of a pod's node; empty when it has none.
fn bound_to(pod: &Object) -> &str {
    node_in(&pod.spec)
}

fn after(time: Timestamp, duration: Duration) -> Timestamp {
    time.saturating_add(duration).unwrap_or(Timestamp::MAX)
}

/// The shape of a pod now, and when it changes by itself. No shape: not worth a write yet.
fn shape(
    memory: &Memory,
    course: &Course,
    bound: Timestamp,
    now: Timestamp,
) -> (Option<Shape>, Option<Timestamp>) {
    let started = memory.started.unwrap_or(bound);
    match course.fate {
        Fate::ImagePull => return (Some(Shape::ImagePull), None),
        Fate::Waits => return (Some(Shape::Waiting), None),
        Fate::Crashes { every } => {
            let every = every.max(RESTART_LEAST);
            let crashes = u32::try_from(crashes(course, bound, now)).unwrap_or(u32::MAX);
            return (Some(Shape::Crashing), Some(after(bound, every.saturating_mul(crashes))));
        }
        Fate::Restarts { .. } if course.ready_after.is_none() && memory.restarts > 0 => {
            return (Some(Shape::Crashing), None);
        }
        Fate::Runs | Fate::Restarts { .. } | Fate::Completes | Fate::Fails => {}
    }
    let Some(ready_after) = course.ready_after else { return (Some(Shape::NotReady), None) };
    let ready_at = after(started, ready_after);
    if now < ready_at {
        let is_visible = ready_after >= VISIBLE_START || memory.restarts > 0;
        return (is_visible.then_some(Shape::NotReady), Some(ready_at));
    }
    match course.fate {
        Fate::Completes => return (Some(Shape::Succeeded), None),
        Fate::Fails => return (Some(Shape::Failed), None),
        _ => {}
    }
    match course.unready_after.map(|unready_after| after(ready_at, unready_after)) {
        Some(unready_at) if now >= unready_at => (Some(Shape::NotReady), None),
        until => (Some(Shape::Ready), until),
    }
}

fn crashes(course: &Course, bound: Timestamp, now: Timestamp) -> u64 {
    let Fate::Crashes { every } = course.fate else { return 0 };
    let age = now.duration_since(bound).unsigned_abs();
    let periods = age.as_millis() / every.max(RESTART_LEAST).as_millis();
    u64::try_from(periods).unwrap_or(u64::MAX).saturating_add(1)
}

/// Whether somebody else has set every condition that the pod's readiness depends on.
fn gates_are_met(pod: &Object) -> bool {
    let gates = pod.spec.get("readinessGates").and_then(Value::as_array).into_iter().flatten();
    let mut kinds = gates.filter_map(|gate| gate.get("conditionType")?.as_str());
    let conditions = || pod.status.get("conditions").and_then(Value::as_array);
    kinds.all(|kind| {
        conditions().into_iter().flatten().any(|condition| {
            condition.get("type").and_then(Value::as_str) == Some(kind)
                && condition.get("status").and_then(Value::as_str) == Some("True")
        })
    })
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
