//! The cluster of a case: objects in memory, optimistic locking, and the case's faults.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use api::{decode, encode};
use engine::reconcile::{Answer, Cluster, Owner, Refusal};
use jiff::Timestamp;
use plan::template::Template;
use plan::{Action, Ask, DryRun, Event, NewReplicaSet, OwnerChange, ReplicaSet, Workload};
use serde_json::{Value, json};

use crate::case::Case;
use crate::writes::{self, Write, tree};

/// Where the case's objects live.
pub(crate) struct Store<'a> {
    case: &'a Case,
    now: Timestamp,
    state: Mutex<State>,
}

struct State {
    deployment: Value,
    sets: BTreeMap<String, Value>,
    /// The last resourceVersion given out.
    version: u64,
    writes: Vec<Value>,
    events: Vec<Value>,
    /// Everything that was sent, reads and events too, with bodies.
    requests: Vec<Value>,
}

impl<'a> Store<'a> {
    pub(crate) fn new(case: &'a Case, now: Timestamp) -> Self {
        let input = &case.input;
        let namespace = input.deployment.pointer("/metadata/namespace");
        let all = input.replica_sets.iter().chain(&input.uncached_replica_sets);
        // Sets of other namespaces are out of reach.
        let near = all.filter(|set| set.pointer("/metadata/namespace") == namespace);
        let sets: BTreeMap<_, _> = near.map(|set| (name_of(set), set.clone())).collect();
        let versions = sets.values().chain([&input.deployment]).map(version_of);
        let version = versions.max().unwrap_or(0);
        let state = State {
            deployment: input.deployment.clone(),
            sets,
            version,
            writes: Vec::new(),
            events: Vec::new(),
            requests: Vec::new(),
        };
        Self { case, now, state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Rises with every change.
    pub(crate) fn version(&self) -> u64 {
        self.state().version
    }

    pub(crate) fn deployment(&self) -> Value {
        self.state().deployment.clone()
    }

    /// What the cache shows.
    pub(crate) fn sets(&self, is_first: bool) -> Vec<Value> {
        let hidden = &self.case.input.uncached_replica_sets;
        let is_hidden = |set: &&Value| is_first && hidden.iter().any(|other| name_of(other) == name_of(set));
        self.state().sets.values().filter(|set| !is_hidden(set)).cloned().collect()
    }

    /// Writes and events since the last call.
    pub(crate) fn take_log(&self) -> (Vec<Value>, Vec<Value>) {
        let mut state = self.state();
        (std::mem::take(&mut state.writes), std::mem::take(&mut state.events))
    }

    /// Requests since the last call.
    pub(crate) fn take_requests(&self) -> Value {
        Value::from(std::mem::take(&mut self.state().requests))
    }

    fn sent_read(&self, verb: &str, resource: &str, name: &str) {
        let request = json!({ "verb": verb, "resource": resource, "name": name });
        self.state().requests.push(request);
    }

    /// Logs a write, and carries it out unless the case refuses it. Returns the new version.
    fn write(&self, write: &Write) -> Result<String, Refusal> {
        let mut state = self.state();
        state.requests.push(write.request());
        let mut entry = write.entry(&state.deployment, state.sets.get(write.name()));
        let result = self.refusal(&state, write).map_or_else(|| state.apply(write, self.now), Err);
        if let Err(refusal) = &result {
            entry["error"] = json!({ "code": refusal.code, "reason": refusal.reason });
        }
        state.writes.push(entry);
        result
    }

    /// This server stores a template as it came, unless it refuses creations.
    fn dry_run(&self, workload: &Workload, set: &NewReplicaSet) -> DryRun {
        let flavour = self.case.flavour();
        let body = tree(&encode::dry_run_replica_set(flavour, workload, set));
        let request = json!({ "verb": "create", "resource": "replicasets", "dryRun": "All", "body": body });
        self.state().requests.push(request);
        let mut faults = self.case.input.faults.iter();
        if faults.any(|fault| fault.verb == "create" && fault.name.is_none()) {
            return DryRun::Refused;
        }
        DryRun::Stored(flavour.stored_digest(&set.template))
    }

    /// The refusal that the case wants, before any locking is looked at.
    fn refusal(&self, state: &State, write: &Write) -> Option<Refusal> {
        let (verb, resource, name) = (write.verb(), write.resource(), write.name());
        if resource == "deployments" && self.case.input.api_deployment.missing {
            return Some(refuse(404, "NotFound", format!("deployments.apps \"{name}\" not found")));
        }
        let exists = state.sets.contains_key(name);
        if resource == "replicasets" && verb != "create" && !exists {
            return Some(refuse(404, "NotFound", format!("replicasets.apps \"{name}\" not found")));
        }
        let due = |fault: &&crate::case::Fault| {
            fault.verb == verb
                && fault.resource == resource
                && fault.name.as_ref().is_none_or(|wanted| wanted == name)
        };
        if let Some(fault) = self.case.input.faults.iter().find(due) {
            let refusal = refuse(fault.code, &fault.reason, fault.message.replace("{name}", name));
            let namespace_terminating = fault.cause.as_deref() == Some("NamespaceTerminating");
            return Some(Refusal { namespace_terminating, ..refusal });
        }
        (verb == "create" && exists)
            .then(|| refuse(409, "AlreadyExists", format!("replicasets.apps \"{name}\" already exists")))
    }
}

impl State {
    fn apply(&mut self, write: &Write, now: Timestamp) -> Result<String, Refusal> {
        let stored = match write.resource() {
            "deployments" => Some(&self.deployment),
            _ => self.sets.get(write.name()),
        };
        if let Some(stored) = stored {
            let expected = write.expected_version();
            if expected.is_some_and(|expected| expected != version_text(stored)) {
                let message =
                    format!("{} \"{}\": the object has been modified", write.resource(), write.name());
                return Err(refuse(409, "Conflict", message));
            }
        }
        let (before, after) = write.result(stored, &self.deployment, now, self.version + 1);
        if before == after {
            return Ok(stored.map(version_text).unwrap_or_default());
        }
        self.version += 1;
        let version = self.version.to_string();
        match (write.resource(), after) {
            ("deployments", Some(mut object)) => {
                object["metadata"]["resourceVersion"] = Value::from(version.clone());
                self.deployment = object;
            }
            (_, Some(mut object)) => {
                object["metadata"]["resourceVersion"] = Value::from(version.clone());
                self.sets.insert(write.name().to_owned(), object);
            }
            (_, None) => {
                self.sets.remove(write.name());
            }
        }
        Ok(version)
    }
}

impl Cluster for Store<'_> {
    async fn owner(&self, workload: &Workload) -> Result<Option<Owner>, Refusal> {
        self.sent_read("get", "deployments", &workload.name);
        let case = &self.case.input;
        let is_get = |fault: &&crate::case::Fault| fault.verb == "get" && fault.resource == "deployments";
        if let Some(fault) = case.faults.iter().find(is_get) {
            return Err(refuse(fault.code, &fault.reason, fault.message.clone()));
        }
        if case.api_deployment.missing {
            return Ok(None);
        }
        let state = self.state();
        let stored = &state.deployment["metadata"];
        let uid = case.api_deployment.uid.clone();
        let uid = uid.unwrap_or_else(|| stored["uid"].as_str().unwrap_or_default().to_owned());
        let deleting =
            case.api_deployment.deletion_timestamp.is_some() || !stored["deletionTimestamp"].is_null();
        Ok(Some(Owner { uid, deleting }))
    }

    async fn change_owner(&self, workload: &Workload, change: &OwnerChange) -> Result<String, Refusal> {
        let flavour = self.case.flavour();
        self.write(&match change {
            OwnerChange::Adopt(target) => {
                Write::change_owner(target, "adopt", encode::adopt_patch(flavour, workload, target))
            }
            OwnerChange::Release(target) => {
                Write::change_owner(target, "release", encode::release_patch(workload, target))
            }
        })
    }

    async fn ask(&self, workload: &Workload, ask: &Ask) -> Result<Answer, Refusal> {
        match ask {
            Ask::Template => {
                self.sent_read("get", "deployments", &workload.name);
                Ok(Answer::Template(Template::of(&self.deployment()["spec"]["template"])))
            }
            Ask::SetTemplate { name, uid } => {
                self.sent_read("get", "replicasets", name);
                let state = self.state();
                let template =
                    state.sets.get(name).and_then(|set| set.pointer("/spec/template")).map(Template::of);
                template
                    .map(|template| Answer::SetTemplate(uid.clone(), template))
                    .ok_or_else(|| refuse(404, "NotFound", format!("replicasets.apps \"{name}\" not found")))
            }
            Ask::DryRun(set) => Ok(Answer::DryRun(self.dry_run(workload, set))),
            Ask::Pods => {
                self.sent_read("list", "pods", "");
                Ok(Answer::Pods(self.case.input.pods.iter().map(decode::pod).collect()))
            }
            Ask::Job { .. } | Ask::CheckJobs => {
                Err(refuse(500, "InternalError", "apps/v1 has no Jobs".to_owned()))
            }
        }
    }

    async fn replica_set(&self, _: &Workload, name: &str) -> Result<Option<ReplicaSet>, Refusal> {
        self.sent_read("get", "replicasets", name);
        let state = self.state();
        let set = state.sets.get(name).map(|set| decode::replica_set(self.case.flavour(), set));
        set.transpose().map_err(|error| refuse(500, "InternalError", error.to_string()))
    }

    async fn act(&self, workload: &Workload, action: &Action) -> Result<Option<String>, Refusal> {
        let write = writes::of(self.case.flavour(), workload, action);
        let version = self.write(&write)?;
        Ok((write.resource() == "deployments").then_some(version))
    }

    fn record(&self, _: &Workload, event: &Event) {
        let entry = json!({ "type": event.kind.as_str(), "reason": event.reason, "message": event.message });
        let mut state = self.state();
        state.requests.push(json!({ "verb": "create", "resource": "events", "body": entry }));
        state.events.push(entry);
    }
}

fn refuse(code: u16, reason: &str, message: String) -> Refusal {
    Refusal::new(code, reason, message)
}

fn name_of(object: &Value) -> String {
    object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default().to_owned()
}

pub(crate) fn version_text(object: &Value) -> String {
    object.pointer("/metadata/resourceVersion").and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn version_of(object: &Value) -> u64 {
    version_text(object).parse().unwrap_or(0)
}
