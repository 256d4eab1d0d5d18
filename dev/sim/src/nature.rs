//! What becomes of pods, and what admission does: everything about the cluster that a scenario
//! chooses and that nobody decides.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use world::{
    Admission, Course, Fate, Object, Operation, Policy, Refused, Request, Resource, Store, Subresource,
};

use crate::chance::{Dice, mix};
use crate::record::digest;
use crate::scenario::Pods;

/// From this image on, no pod ever becomes ready.
pub(crate) const BAD_IMAGE: u8 = 8;

/// The name of an image.
pub(crate) fn image(number: u8) -> String {
    if number >= BAD_IMAGE { format!("app:bad{number}") } else { format!("app:{number}") }
}

/// Draws the course of each pod from its uid.
#[derive(Debug)]
pub(crate) struct Nature {
    pub(crate) salt: u64,
    pub(crate) pods: Pods,
    /// Nothing goes wrong by itself any more.
    pub(crate) is_healed: bool,
}

impl Policy for Nature {
    fn course(&mut self, pod: &Object, before: Option<&Course>) -> Course {
        if let Some(before) = before {
            let unready_after = before.unready_after.filter(|_| !self.is_healed);
            return Course { unready_after, ..*before };
        }
        let mut dice = Dice::new(self.salt, mix(digest(pod.uid())));
        let containers = pod.spec.pointer("/containers/0/image").and_then(Value::as_str);
        let is_bad = containers.is_some_and(|image| image.contains("bad"));
        let is_flaky = !self.is_healed && dice.percent(self.pods.flaky_percent);
        Course {
            node: Some(usize::try_from(dice.below(8)).unwrap_or(0)),
            bound_after: Duration::from_millis(dice.below(20)),
            fate: if is_bad { Fate::ImagePull } else { Fate::Runs },
            ready_after: Some(Duration::from_millis(dice.below(self.pods.ready_max + 1))),
            unready_after: is_flaky.then(|| Duration::from_millis(dice.below(20_000))),
            gone_after: Duration::from_millis(dice.below(self.pods.gone_max + 1)),
        }
    }
}

/// What admission does, switched on and off as the scenario says.
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
}

/// The step of admission that obeys the switches.
#[derive(Debug)]
pub(crate) struct Gate(pub(crate) Arc<Switches>);

impl Admission for Gate {
    fn admit(&self, store: &Store, request: &Request<'_>, object: &mut Object) -> Result<(), Refused> {
        if request.operation != Operation::Create || request.subresource != Subresource::Main {
            return Ok(());
        }
        let limit = match request.resource {
            Resource::Pods => &self.0.pods,
            Resource::ReplicaSets => &self.0.sets,
            _ => return Ok(()),
        };
        let limit = limit.load(Ordering::Relaxed);
        if limit > 0 {
            let there = store.list(request.resource, None).count();
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

/// Takes our annotation off a set, and numbers its template.
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
