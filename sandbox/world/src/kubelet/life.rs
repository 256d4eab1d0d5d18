//! The life of one pod: what a kubelet remembers of it, what comes next, and which status shows it.
//!
//! It writes nothing. That is up to who looks at the pod: [`Kubelets`](crate::Kubelets) in memory, and the kubelet of
//! the tests' cluster with a real API server.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use super::course::{Course, Fate};
use super::status::{Parts, Report, Shape, Shown, Transitions, node_in};
use crate::object::Object;
use crate::status::Status;

/// A pod that is ready sooner than this goes from pending to ready in one write, which halves the work when
/// thousands of pods start.
const VISIBLE_START: Duration = Duration::from_secs(1);
/// Restarts of a crashing container are at least this far apart.
const RESTART_LEAST: Duration = Duration::from_millis(100);

/// The next thing to do about a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// To give it a node.
    Bind,
    /// To write the [`Life::report`] of this.
    Show(Shown),
    /// To delete it for good.
    Remove,
    /// Nothing until the pod changes or this moment comes.
    Wait(Option<Timestamp>),
}

/// What a kubelet remembers of a pod.
#[derive(Clone, Debug, Default)]
pub struct Life {
    bound: Option<Timestamp>,
    /// When its containers started last.
    started: Option<Timestamp>,
    deleting: Option<Timestamp>,
    restarts: u64,
    shown: Option<Shown>,
    transitions: Transitions,
    address: u32,
}

impl Life {
    /// The life of a pod that nobody has looked at, with an address from this number.
    #[must_use]
    pub fn new(address: u32) -> Self {
        Self { address, ..Self::default() }
    }

    /// One look at the pod, as it is now.
    #[must_use]
    pub fn look(&mut self, pod: &Object, course: &Course, now: Timestamp) -> Next {
        self.note(pod, now);
        if self.deleting.is_none() && self.ends_at(course).is_some_and(|end| end <= now) {
            self.restart(now);
        }
        self.next(pod, course, now)
    }

    /// The pod has got its node.
    pub fn bind(&mut self, now: Timestamp) {
        self.bound = Some(now);
        self.started = Some(now);
        self.shown = None;
        self.transitions.set_scheduled(now);
    }

    /// The status that shows this, in a cluster with `nodes` nodes.
    #[must_use]
    pub fn report(&mut self, pod: &Object, shown: Shown, nodes: usize, now: Timestamp) -> Status {
        let parts = Parts { metadata: &pod.metadata, spec: &pod.spec, status: &pod.status };
        Status::reported(Report::new(&parts, shown, &mut self.transitions, self.address, nodes, now))
    }

    /// The status that shows this is written.
    pub fn has_shown(&mut self, shown: Shown) {
        self.shown = Some(shown);
    }

    /// A container of a running pod ends and is started again.
    pub(super) fn restart(&mut self, now: Timestamp) {
        if self.started.is_some() {
            self.restarts += 1;
            self.started = Some(now);
        }
    }

    /// Somebody else has written that the pod is not ready.
    pub(super) fn lose(&mut self, now: Timestamp) {
        self.shown = None;
        self.transitions.set_ready(false, now);
    }

    /// Takes in what others did to the pod.
    fn note(&mut self, pod: &Object, now: Timestamp) {
        if self.bound.is_none() && !node_in(&pod.spec).is_empty() {
            // After a restart of the kubelet a pod is as old as its status shows.
            let start = pod.status.get("startTime").and_then(Value::as_str).and_then(|at| at.parse().ok());
            self.bound = Some(start.unwrap_or(now));
            self.started = self.bound;
        }
        if pod.is_deleting() {
            self.deleting.get_or_insert(now);
        }
    }

    /// When a container that runs ends by itself.
    fn ends_at(&self, course: &Course) -> Option<Timestamp> {
        match course.fate {
            Fate::Restarts { every } => Some(after(self.started?, every.max(RESTART_LEAST))),
            _ => None,
        }
    }

    fn next(&self, pod: &Object, course: &Course, now: Timestamp) -> Next {
        if let Some(deleting) = self.deleting {
            let gone = after(deleting, course.gone_after);
            // Who sets a finalizer has the last word on a pod that has no time left.
            let is_held = pod.finalizers().next().is_some()
                && pod.metadata.get("deletionGracePeriodSeconds") == Some(&Value::from(0));
            return match now >= gone {
                true if is_held => Next::Wait(None),
                true => Next::Remove,
                false => Next::Wait(Some(gone)),
            };
        }
        let is_gated = pod.spec.get("schedulingGates").and_then(Value::as_array);
        if pod.status.pod().phase.is_finished() || is_gated.is_some_and(|gates| !gates.is_empty()) {
            return Next::Wait(None);
        }
        let Some(bound) = self.bound else { return Next::Bind };
        let (shape, until) = self.shape(course, bound, now);
        let Some(shape) = shape else { return Next::Wait(until) };
        let is_counted = !matches!(course.fate, Fate::Crashes { .. });
        let restarts = if is_counted { self.restarts } else { crashes(course, bound, now) };
        let ended = self.started.filter(|_| is_counted && restarts > 0);
        let until = until.into_iter().chain(self.ends_at(course)).min();
        self.show(Shown { shape, gates_met: gates_are_met(pod), restarts, ended }, until)
    }

    /// To show this, unless that was done last.
    pub(super) fn show(&self, shown: Shown, until: Option<Timestamp>) -> Next {
        if self.shown == Some(shown) { Next::Wait(until) } else { Next::Show(shown) }
    }

    /// The shape of the pod now, and when it changes by itself. No shape: not worth a write yet.
    fn shape(&self, course: &Course, bound: Timestamp, now: Timestamp) -> (Option<Shape>, Option<Timestamp>) {
        let started = self.started.unwrap_or(bound);
        match course.fate {
            Fate::ImagePull => return (Some(Shape::ImagePull), None),
            Fate::Waits => return (Some(Shape::Waiting), None),
            Fate::Crashes { every } => {
                let every = every.max(RESTART_LEAST);
                let crashes = u32::try_from(crashes(course, bound, now)).unwrap_or(u32::MAX);
                return (Some(Shape::Crashing), Some(after(bound, every.saturating_mul(crashes))));
            }
            Fate::Restarts { .. } if course.ready_after.is_none() && self.restarts > 0 => {
                return (Some(Shape::Crashing), None);
            }
            Fate::Runs | Fate::Restarts { .. } | Fate::Ends { .. } => {}
        }
        let Some(ready_after) = course.ready_after else { return (Some(Shape::NotReady), None) };
        let ready_at = after(started, ready_after);
        if now < ready_at {
            let is_visible = ready_after >= VISIBLE_START || self.restarts > 0;
            return (is_visible.then_some(Shape::NotReady), Some(ready_at));
        }
        if let Fate::Ends { after: lasts, code } = course.fate {
            let end = lasts.map(|lasts| after(ready_at, lasts));
            return match end {
                Some(end) if now >= end => (Some(Shape::Ended { code }), None),
                end => (Some(Shape::Ready), end),
            };
        }
        match course.unready_after.map(|unready_after| after(ready_at, unready_after)) {
            Some(unready_at) if now >= unready_at => (Some(Shape::NotReady), None),
            until => (Some(Shape::Ready), until),
        }
    }
}

pub(super) fn after(time: Timestamp, duration: Duration) -> Timestamp {
    time.saturating_add(duration).unwrap_or(Timestamp::MAX)
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
