//! Decides what to do next about one pod. Pure: the agent acts.

use std::time::{Duration, Instant};

use crate::kubelet::KubeletOptions;
use crate::kubelet::pod::SlimPod;

/// Below this delay a pod goes from pending to ready in one write, which
/// halves the work when thousands of pods start.
const VISIBLE_START: Duration = Duration::from_secs(1);

/// The state of a pod as its status shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// Containers run but are not ready.
    NotReady,
    /// Containers run and are ready.
    Ready,
    /// At least one image cannot be pulled.
    ImagePull,
    /// Containers wait for what the pod's annotation names.
    Waiting,
    /// At least one container crashes again and again.
    Crashing {
        restarts: u64,
    },
    Succeeded,
    Failed,
}

/// What was written last. The gates are part of it, for they change the
/// pod's readiness although its containers stay as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shown {
    pub(super) shape: Shape,
    pub(super) gates_met: bool,
}

/// What the agent of a pod remembers about it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Memory {
    /// Since when the pod has a node.
    pub(super) bound: Option<Instant>,
    /// Since when it is being deleted.
    pub(super) deleting: Option<Instant>,
    pub(super) shown: Option<Shown>,
    pub(super) removed: bool,
}

/// The next thing to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Bind,
    Show(Shown),
    Remove,
    /// Nothing until the pod changes or this moment comes.
    Wait(Option<Instant>),
}

pub(super) fn next(pod: &SlimPod, memory: &Memory, options: &KubeletOptions, now: Instant) -> Step {
    if memory.removed {
        return Step::Wait(None);
    }
    if pod.metadata.deletion_timestamp.is_some() {
        let gone = memory.deleting.unwrap_or(now) + pod.terminate_after(options);
        return if now >= gone { Step::Remove } else { Step::Wait(Some(gone)) };
    }
    if pod.is_finished() || !pod.spec.scheduling_gates.is_empty() {
        return Step::Wait(None);
    }
    let Some(bound) = memory.bound else {
        return if options.cordoned { Step::Wait(None) } else { Step::Bind };
    };
    let (shape, until) = shape(pod, options, bound, now);
    let Some(shape) = shape else { return Step::Wait(until) };
    let shown = Shown { shape, gates_met: pod.gates_are_met() };
    if memory.shown == Some(shown) { Step::Wait(until) } else { Step::Show(shown) }
}

/// The shape of a pod now and the moment at which it changes by itself. No
/// shape means that it is not worth a write yet.
fn shape(
    pod: &SlimPod,
    options: &KubeletOptions,
    bound: Instant,
    now: Instant,
) -> (Option<Shape>, Option<Instant>) {
    let ready_after = pod.ready_after(options);
    let ready_at = bound + ready_after;
    if pod.spec.containers.iter().any(super::pod::Container::is_bad) {
        return (Some(Shape::ImagePull), None);
    }
    if pod.waits().is_some() {
        return (Some(Shape::Waiting), None);
    }
    let crashing = pod.spec.containers.iter().any(super::pod::Container::is_crashing);
    if crashing && !pod.runs_to_completion() {
        return crash(options, bound, now);
    }
    if now < ready_at {
        let visible = ready_after >= VISIBLE_START;
        return (visible.then_some(Shape::NotReady), Some(ready_at));
    }
    if pod.runs_to_completion() {
        return (Some(if crashing { Shape::Failed } else { Shape::Succeeded }), None);
    }
    if pod.is_never_ready(options) {
        return (Some(Shape::NotReady), None);
    }
    match pod.unready_after().map(|after| ready_at + after) {
        Some(unready_at) if now >= unready_at => (Some(Shape::NotReady), None),
        until => (Some(Shape::Ready), until),
    }
}

fn crash(options: &KubeletOptions, bound: Instant, now: Instant) -> (Option<Shape>, Option<Instant>) {
    let every = options.restart_every.max(Duration::from_millis(100));
    let periods = now.saturating_duration_since(bound).as_millis() / every.as_millis();
    let restarts = u32::try_from(periods).unwrap_or(u32::MAX - 1).saturating_add(1);
    (Some(Shape::Crashing { restarts: u64::from(restarts) }), Some(bound + every.saturating_mul(restarts)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const SECOND: Duration = Duration::from_secs(1);

    fn pod(image: &str, annotations: &serde_json::Value, policy: &str) -> SlimPod {
        serde_json::from_value(json!({
            "metadata": {"name": "p", "annotations": annotations},
            "spec": {"restartPolicy": policy, "containers": [{"name": "c", "image": image}]},
        }))
        .unwrap()
    }

    fn check(pod: &SlimPod, after: Duration, expected: Step) {
        let bound = Instant::now();
        let memory = Memory { bound: Some(bound), ..Memory::default() };
        let step = next(pod, &memory, &KubeletOptions::default(), bound + after);
        // Moments are compared by the kind of step only.
        match (step, expected) {
            (Step::Wait(Some(_)), Step::Wait(Some(_))) => {}
            (step, expected) => assert_eq!(step, expected),
        }
    }

    fn show(shape: Shape) -> Step {
        Step::Show(Shown { shape, gates_met: true })
    }

    #[test]
    fn a_new_pod_is_bound_first() {
        let pod = pod("app:1", &json!({}), "Always");
        let step = next(&pod, &Memory::default(), &KubeletOptions::default(), Instant::now());
        assert_eq!(step, Step::Bind);
    }

    #[test]
    fn a_cordoned_node_gets_no_new_pod_and_keeps_those_it_has() {
        let (pod, now) = (pod("app:1", &json!({}), "Always"), Instant::now());
        let options = KubeletOptions { cordoned: true, ..KubeletOptions::default() };
        assert_eq!(next(&pod, &Memory::default(), &options, now), Step::Wait(None));
        let bound = Memory { bound: Some(now), ..Memory::default() };
        assert_eq!(next(&pod, &bound, &options, now + SECOND), show(Shape::Ready));
    }

    #[test]
    fn images_and_annotations_decide_the_shape() {
        let later = Step::Wait(Some(Instant::now()));
        let plain = json!({});
        check(&pod("app:1", &plain, "Always"), Duration::ZERO, later);
        check(&pod("app:1", &plain, "Always"), SECOND, show(Shape::Ready));
        check(&pod("bad:1", &plain, "Always"), SECOND, show(Shape::ImagePull));
        check(&pod("crash:1", &plain, "Always"), SECOND, show(Shape::Crashing { restarts: 1 }));
        check(&pod("crash:1", &plain, "Always"), 25 * SECOND, show(Shape::Crashing { restarts: 3 }));
        check(&pod("app:1", &plain, "Never"), SECOND, show(Shape::Succeeded));
        check(&pod("crash:1", &plain, "Never"), SECOND, show(Shape::Failed));
        check(&pod("app:1", &json!({NEVER: "true"}), "Always"), SECOND, show(Shape::NotReady));
        let waits = json!({super::super::WAITS: "ContainerCreating"});
        check(&pod("app:1", &waits, "Always"), SECOND, show(Shape::Waiting));
        let slow = pod("app:1", &json!({super::super::READY_AFTER_MS: "5000"}), "Always");
        check(&slow, SECOND, show(Shape::NotReady));
        check(&slow, 6 * SECOND, show(Shape::Ready));
        let flips = pod("app:1", &json!({super::super::UNREADY_AFTER_MS: "2000"}), "Always");
        check(&flips, SECOND, show(Shape::Ready));
        check(&flips, 3 * SECOND, show(Shape::NotReady));
    }

    const NEVER: &str = super::super::NEVER_READY;

    #[test]
    fn a_deleted_pod_lingers_as_long_as_it_says() {
        let mut pod = pod("app:1", &json!({super::super::TERMINATE_AFTER_MS: "1000"}), "Always");
        let now = Instant::now();
        pod.metadata.deletion_timestamp =
            Some(serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap());
        let memory = Memory { bound: Some(now), deleting: Some(now), ..Memory::default() };
        let options = KubeletOptions::default();
        assert_eq!(next(&pod, &memory, &options, now), Step::Wait(Some(now + SECOND)));
        assert_eq!(next(&pod, &memory, &options, now + SECOND), Step::Remove);
    }
}
