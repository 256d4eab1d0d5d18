//! The fate of pods, and what admission does: everything about the cluster that a scenario chooses and that nobody
//! decides.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use world::{
    Admission, Course, Defaults, Fate, Object, Operation, Policy, Refused, Request, Resource, Store,
    Subresource,
};

use crate::chance::{Dice, mix};
use crate::record::digest;
use crate::scenario::{Doing, Pods};
use crate::tenant::TENANT;

/// From this image on, no pod ever becomes ready.
pub(crate) const BAD_IMAGE: u8 = 8;
/// From this image on, every other pod does.
pub(crate) const HALF_BAD_IMAGE: u8 = 16;
/// From this image on, pods become ready, and do not stay so for long.
pub(crate) const CRASHING_IMAGE: u8 = 24;

/// From this image on, containers restart again and again, before the pod is ready or after.
pub(crate) const RESTARTING_IMAGE: u8 = 32;
/// From this image on, pods are never ready in between.
pub(crate) const LOOPING_IMAGE: u8 = 40;

/// The name of an image.
pub(crate) fn image(number: u8) -> String {
    match number {
        0..BAD_IMAGE => format!("app:{number}"),
        BAD_IMAGE..HALF_BAD_IMAGE => format!("app:bad{number}"),
        HALF_BAD_IMAGE..CRASHING_IMAGE => format!("app:half{number}"),
        CRASHING_IMAGE..RESTARTING_IMAGE => format!("app:crashing{number}"),
        RESTARTING_IMAGE..LOOPING_IMAGE => format!("app:restarting{number}"),
        _ => format!("app:looping{number}"),
    }
}

/// Draws the course of each pod from its uid.
#[derive(Debug, Default)]
pub(crate) struct Nature {
    pub(crate) salt: u64,
    pub(crate) pods: Pods,
    /// Nothing goes wrong by itself any more.
    pub(crate) is_healed: bool,
    /// The Deployments without a ready pod, since all of them lack something; and whether there ever was one. With an
    /// image after the name, it is about those pods.
    pub(crate) lacking: BTreeSet<String>,
    pub(crate) has_lacked: bool,
    /// The Deployments with pods that all crash again and again.
    pub(crate) crashing: BTreeSet<String>,
}

/// The name of the image of a Job.
pub(crate) fn probe_image(doing: Doing, number: u8) -> String {
    format!("job:{doing:?}{number}")
}

impl Policy for Nature {
    fn course(&mut self, pod: &Object, before: Option<&Course>) -> Course {
        if let Some(doing) = image_of(pod).strip_prefix("job:") {
            return self.of_job(pod, doing);
        }
        if let Some(before) = before.filter(|_| !self.has_lacked) {
            return if self.is_healed { Self::healed(pod, *before) } else { *before };
        }
        let course = self.drawn(pod);
        let is_of = |these: &BTreeSet<String>| {
            let is_it = |app| these.contains(app) || these.contains(&format!("{app} {}", image_of(pod)));
            pod.label("app").is_some_and(is_it)
        };
        let (is_lacking, is_crashing) = (is_of(&self.lacking), is_of(&self.crashing));
        let fate = if is_crashing && course.fate == Fate::Runs { self.restarts(pod) } else { course.fate };
        Course { ready_after: course.ready_after.filter(|_| !is_lacking), fate, ..course }
    }
}

impl Nature {
    /// The fate of the pod of a Job. Once all is healed, each ends, and one that could not is good.
    fn of_job(&self, pod: &Object, doing: &str) -> Course {
        let mut dice = Dice::new(self.salt, mix(digest(pod.uid())));
        let is_blocked = doing.starts_with("Waits") && !self.is_healed;
        let lasts = doing.starts_with("Lasts") && !self.is_healed;
        let most = dice.one_of(&[500, 3000, 20_000], 3000);
        let after = (!lasts).then(|| Duration::from_millis(dice.below(most)));
        let ends = Fate::Ends { after, code: u8::from(doing.starts_with("Fails")) };
        Course {
            node: Some(usize::try_from(dice.below(8)).unwrap_or(0)),
            bound_after: Duration::from_millis(dice.below(20)),
            fate: if is_blocked { Fate::ImagePull } else { ends },
            ready_after: Some(Duration::from_millis(dice.below(3000))),
            unready_after: None,
            gone_after: Duration::from_millis(dice.below(self.pods.gone_max + 1)),
        }
    }

    /// The fate of a pod once nothing goes wrong by itself any more.
    fn healed(pod: &Object, course: Course) -> Course {
        let is_healed = matches!(course.fate, Fate::Restarts { .. }) || image_of(pod).contains(":half");
        let fate = if is_healed { Fate::Runs } else { course.fate };
        Course {
            unready_after: None,
            fate,
            ready_after: course.ready_after.or(Some(Duration::ZERO)),
            ..course
        }
    }

    /// Its container ends again and again.
    fn restarts(&self, pod: &Object) -> Fate {
        let mut dice = Dice::new(self.salt, mix(digest(pod.uid()) ^ 1));
        Fate::Restarts { every: Duration::from_millis(dice.between(2000, 12_000)) }
    }

    /// The fate of a pod that lacks nothing: always the same, until all is healed.
    fn drawn(&self, pod: &Object) -> Course {
        let mut dice = Dice::new(self.salt, mix(digest(pod.uid())));
        let image = image_of(pod);
        let is_flaky = !self.is_healed && dice.percent(self.pods.flaky_percent);
        let course = Course {
            node: Some(usize::try_from(dice.below(8)).unwrap_or(0)),
            bound_after: Duration::from_millis(dice.below(20)),
            fate: if image.contains(":bad") { Fate::ImagePull } else { Fate::Runs },
            ready_after: Some(Duration::from_millis(dice.below(self.pods.ready_max + 1))),
            unready_after: is_flaky.then(|| Duration::from_millis(dice.below(20_000))),
            gone_after: Duration::from_millis(dice.below(self.pods.gone_max + 1)),
        };
        if self.is_healed {
            return course;
        }
        if image.contains(":restarting") || image.contains(":looping") {
            let ready_after = course.ready_after.filter(|_| image.contains(":restarting"));
            return Course { fate: self.restarts(pod), ready_after, ..course };
        }
        if image.contains(":half") && dice.percent(50) {
            return Course { fate: Fate::ImagePull, ..course };
        }
        let is_crashing = image.contains(":crashing");
        let unready_after = is_crashing.then(|| Duration::from_millis(dice.below(15_000)));
        Course { unready_after: unready_after.or(course.unready_after), ..course }
    }
}

fn image_of(pod: &Object) -> &str {
    pod.spec.pointer("/containers/0/image").and_then(Value::as_str).unwrap_or_default()
}

/// What admission does, switched on and off by the scenario.
#[derive(Debug, Default)]
pub(crate) struct Switches {
    /// More pods than this are refused; 0 is no limit.
    pub(crate) pods: AtomicI64,
    /// More ReplicaSets than this are refused; 0 is no limit.
    pub(crate) sets: AtomicI64,
    /// A webhook changes the template of every new ReplicaSet.
    pub(crate) webhook: AtomicI64,
    /// A webhook makes every new ReplicaSet unrecognisable; counts them.
    pub(crate) stripping: AtomicI64,
    /// No Job is created.
    pub(crate) jobs: AtomicI64,
    /// As the server fills in what a Job lacks.
    pub(crate) defaults: Defaults,
}

/// The step of admission that obeys the switches.
#[derive(Debug)]
pub(crate) struct Gate(pub(crate) Arc<Switches>);

impl Admission for Gate {
    fn admit(&self, store: &Store, request: &Request<'_>, object: &mut Object) -> Result<(), Refused> {
        let is_creation = request.operation == Operation::Create && request.subresource == Subresource::Main;
        if !is_creation || object.namespace() == TENANT {
            return Ok(());
        }
        if request.resource == Resource::Jobs {
            if self.0.jobs.load(Ordering::Relaxed) > 0 {
                let why = "exceeded quota: jobs.batch";
                return Err(Refused::forbidden(request.resource, object.name(), why));
            }
            return self.0.defaults.admit(store, request, object);
        }
        let limit = match request.resource {
            Resource::Pods => &self.0.pods,
            Resource::ReplicaSets => &self.0.sets,
            _ => return Ok(()),
        };
        let limit = limit.load(Ordering::Relaxed);
        if limit > 0 {
            let there = store.list(request.resource, None).filter(|one| one.namespace() != TENANT).count();
            if i64::try_from(there).unwrap_or(i64::MAX) >= limit {
                let why = format!("exceeded quota: {limit} of {limit} used");
                return Err(Refused::forbidden(request.resource, object.name(), &why));
            }
        }
        if request.resource == Resource::ReplicaSets && self.0.stripping.load(Ordering::Relaxed) > 0 {
            let count = self.0.stripping.fetch_add(1, Ordering::Relaxed);
            strip(object, count);
        }
        if request.resource == Resource::ReplicaSets && self.0.webhook.load(Ordering::Relaxed) > 0 {
            let spec = Arc::make_mut(&mut object.spec);
            if let Some(metadata) = spec.pointer_mut("/template/metadata").and_then(Value::as_object_mut) {
                metadata.insert("annotations".to_owned(), json!({ "injected": "yes" }));
            }
        }
        Ok(())
    }
}

/// Takes the operator's annotation off a ReplicaSet, and numbers its template.
fn strip(object: &mut Object, count: i64) {
    let metadata = Arc::make_mut(&mut object.metadata).edit();
    if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
        annotations.remove(plan::keys::FINGERPRINTS);
    }
    let spec = Arc::make_mut(&mut object.spec);
    if let Some(metadata) = spec.pointer_mut("/template/metadata").and_then(Value::as_object_mut) {
        metadata.insert("annotations".to_owned(), json!({ "number": count.to_string() }));
    }
}
