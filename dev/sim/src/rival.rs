//! Another controller that writes the same statuses as the operator.

use ::engine::rivalry::{FIELD_MANAGER, ManagedFields, Writer};
use serde_json::{Value, json};
use world::{Change, Mode, Patch, Resource, Subresource};

use crate::actor::Actor;
use crate::engine::{Engine, Event, MILLISECOND, SECOND, Time};
use crate::subject::Which;

/// What it calls itself.
const RIVAL: &str = "kube-controller-manager";
/// How often it writes, whatever others do.
const PERIOD: Time = 7 * SECOND;

/// Whether it is the competing controller. Of two writers in the same second, it is taken for the last one.
pub(crate) fn is_rival(writer: &Writer) -> bool {
    writer.manager == RIVAL
}

/// Who writes a Deployment's status.
#[derive(Debug, Default)]
pub(crate) struct Rivalry {
    /// How many troubles let the competing controller write.
    pub(crate) active: u32,
    /// How often it has written: each time something else.
    count: i64,
    /// When an operator wrote the status last, and the competing controller, in seconds as they stand in
    /// `metadata.managedFields`.
    ours: Option<String>,
    theirs: Option<String>,
}

impl Rivalry {
    /// The last writer, as everybody takes it from `metadata.managedFields`.
    fn writer(&self) -> Option<Writer> {
        let entry = |manager: &str, time: &Option<String>| {
            time.as_ref().map(|time| json!({ "manager": manager, "time": time, "subresource": "status" }))
        };
        let entries = [entry(FIELD_MANAGER, &self.ours), entry(RIVAL, &self.theirs)];
        let entries: Value = entries.into_iter().flatten().collect();
        serde_json::from_value::<ManagedFields>(entries).ok().and_then(Writer::of_status)
    }
}

impl Engine<'_> {
    /// A competing controller appears: it writes immediately, and now and then until it goes.
    pub(crate) fn rival_comes(&mut self, which: Which, duration: Time) {
        if let Some(subject) = self.subjects.get_mut(which) {
            subject.rivalry.active += 1;
        }
        for number in 0..=duration / PERIOD {
            self.after(number * PERIOD, Event::Rival(which));
        }
    }

    pub(crate) fn rival_goes(&mut self, which: Which) {
        if let Some(subject) = self.subjects.get_mut(which) {
            subject.rivalry.active = subject.rivalry.active.saturating_sub(1);
        }
    }

    /// An operator wrote these: a competing controller undoes its statuses.
    pub(crate) fn provoke(&mut self, changes: &[Change]) {
        if self.scenario.fleet.is_none() {
            return;
        }
        let is_status = |change: &&Change| {
            matches!(change.object.resource, Resource::Deployments | Resource::AppsDeployments)
                && change.before.as_ref().is_some_and(|before| before.spec == change.object.spec)
        };
        for change in changes.iter().filter(is_status) {
            let which = self.whose(&change.object);
            if self.subjects.get(which).is_some_and(|subject| subject.rivalry.active > 0) {
                let delay = self.delay(5 * MILLISECOND, 400 * MILLISECOND);
                self.after(delay, Event::Rival(which));
            }
        }
    }

    /// The competing controller writes what it takes for the truth.
    pub(crate) fn undo(&mut self, which: Which) {
        let key = self.workload_key(which);
        let Some(subject) = self.subjects.get_mut(which).filter(|subject| subject.rivalry.active > 0) else {
            return;
        };
        if self.store.get(&key).is_none_or(|object| object.status_number("observedGeneration").is_none()) {
            return;
        }
        subject.rivalry.count += 1;
        let replicas = 70 + subject.rivalry.count % 7;
        let patch = Patch::Merge(json!({ "status": { "replicas": replicas } }));
        // A Deployment that is going away may be gone.
        _ = self.store.patch(&key, &patch, Subresource::Status, Mode::Store);
        self.settle(Actor::Rival);
    }

    /// Who wrote the status of a Deployment last, if anybody fights over it.
    pub(crate) fn status_writer(&mut self, which: Which, change: &Change, actor: Actor) -> Option<Writer> {
        self.scenario.fleet.as_ref()?;
        let wall = self.wall().as_second().to_string();
        let subject = self.subjects.get_mut(which)?;
        let is_status = change.before.as_ref().is_none_or(|before| before.status != change.object.status);
        let rivalry = &mut subject.rivalry;
        match actor {
            _ if !is_status => {}
            Actor::Operator(_) => rivalry.ours = Some(wall),
            Actor::Rival => rivalry.theirs = Some(wall),
            Actor::SetController | Actor::Cluster | Actor::Foreign => {}
        }
        rivalry.theirs.as_ref()?;
        rivalry.writer()
    }
}
