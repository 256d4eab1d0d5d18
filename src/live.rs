//! The real cluster, as a pass sees it: each action is one request with its preconditions.

use std::sync::Arc;

use api::{decode, encode};
use kube::Api;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams, Preconditions};
use kube::core::Request;
use pass::{Answer, Cluster, Owner, Refusal};
use plan::{
    Action, Ask, Claim, DryRun, Event, Flavour, NewReplicaSet, ReplicaSet, StatusWrite, Target, Workload,
};
use serde_json::Value;
use tracing::{debug, info};

use crate::caches;
use crate::clock;
use crate::controller::Controller;
use crate::events::About;
use crate::index::{Key, Placed};
use crate::object::{Kind, Object, Written};
use crate::requests::Server;
use crate::rivalry::{self, Counters};
use crate::rollouts;

/// Who we are in `metadata.managedFields`.
pub(crate) const FIELD_MANAGER: &str = "rollwright";

/// The cluster, for one pass over one Deployment.
pub(crate) struct Live<'a> {
    pub(crate) controller: &'a Arc<Controller>,
    pub(crate) key: &'a Key,
}

pub(crate) fn patch_params() -> PatchParams {
    PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() }
}

pub(crate) fn post_params(dry_run: bool) -> PostParams {
    PostParams { dry_run, field_manager: Some(FIELD_MANAGER.to_owned()) }
}

pub(crate) fn conflict(message: String) -> Refusal {
    Refusal { code: 409, reason: "Conflict".to_owned(), message, namespace_terminating: false }
}

/// An object that the server returned and that we cannot read.
pub(crate) fn unreadable(error: &decode::Rejected) -> Refusal {
    Refusal { code: 0, reason: String::new(), message: error.to_string(), namespace_terminating: false }
}

/// The Deployment and its candidate sets past the cache; `None` when it is gone.
pub(crate) async fn read(
    controller: &Controller,
    key: &Key,
) -> Result<Option<(Workload, Vec<ReplicaSet>)>, Refusal> {
    let (server, flavour) = (&controller.server, controller.flavour);
    let workloads = server.objects(Kind::Deployment(flavour), &key.namespace);
    let Some(mut live) = server.send("get", "deployments", workloads.get_opt(&key.name)).await? else {
        return Ok(None);
    };
    caches::slim(&mut live.body);
    let workload = caches::workload(flavour, &live.body).map_err(|error| unreadable(&error))?;
    let sets = server.objects(Kind::ReplicaSet, &key.namespace);
    let params = match flavour.set_labels() {
        Some((label, value)) => ListParams::default().labels(&format!("{label}={value}")),
        None => ListParams::default(),
    };
    let listed = server.send("list", "replicasets", sets.list(&params)).await?;
    // S17.3: what cannot be decoded is set aside, as by the watch.
    let sets = listed.items.iter().filter_map(|set| decode::replica_set(flavour, &set.body).ok());
    Ok(Some((workload, sets.collect())))
}

/// Looks at the ReplicaSet of a write whose answer never came (S14.4), so that the ledger knows
/// what the cache has to show.
pub(crate) async fn settle_doubt(controller: &Controller, key: &Key) -> Result<(), Refusal> {
    let Some(name) = controller.ledger().in_doubt(key).map(str::to_owned) else { return Ok(()) };
    let api = controller.server.objects(Kind::ReplicaSet, &key.namespace);
    let live = controller.server.send("get", "replicasets", api.get_opt(&name)).await?;
    controller.ledger().settled(key, live.as_ref().map(Object::resource_version), clock::now());
    Ok(())
}

impl Live<'_> {
    fn flavour(&self) -> Flavour {
        self.controller.flavour
    }

    fn workloads(&self) -> Api<Object> {
        self.controller.server.objects(Kind::Deployment(self.flavour()), &self.key.namespace)
    }

    fn workload_writes(&self) -> Request {
        Server::writes(Kind::Deployment(self.flavour()), &self.key.namespace)
    }

    fn set_writes(&self) -> Request {
        Server::writes(Kind::ReplicaSet, &self.key.namespace)
    }

    fn sets(&self) -> Api<Object> {
        self.controller.server.objects(Kind::ReplicaSet, &self.key.namespace)
    }

    /// A write to a ReplicaSet returned this version of it.
    fn wrote_set(&self, set: &Written) {
        self.controller.ledger().wrote_set(self.key, set.resource_version(), clock::now());
    }

    /// A write to the Deployment returned this version of it.
    fn wrote_workload(&self, workload: &Written) -> String {
        let version = workload.resource_version().to_owned();
        self.controller.ledger().wrote_workload(self.key, &version, clock::now());
        version
    }

    /// What came of a write to this ReplicaSet may be known to nobody.
    fn note_doubt(&self, sent: &Result<Written, Refusal>, name: &str) {
        if sent.as_ref().is_err_and(Refusal::leaves_doubt) {
            self.controller.ledger().doubts(self.key, name, clock::now());
        }
    }

    async fn patch_set(&self, target: &Target, patch: &Patch<Value>) -> Result<String, Refusal> {
        let request = self.set_writes().patch(&target.name, &patch_params(), patch);
        let sent = self.controller.server.write("patch", "replicasets", request).await;
        if sent.as_ref().is_err_and(Refusal::is_conflict) {
            self.refresh(target).await;
        }
        self.note_doubt(&sent, &target.name);
        let set = sent?;
        self.wrote_set(&set);
        Ok(set.resource_version().to_owned())
    }

    /// Brings a set in the cache up to date after a conflict: the next attempt would else be sent as
    /// this one was, until the watch comes along.
    async fn refresh(&self, target: &Target) {
        let api = self.sets();
        let request = api.get_opt(&target.name);
        let Ok(Some(live)) = self.controller.server.send("get", "replicasets", request).await else { return };
        let Ok(set) = decode::replica_set(self.flavour(), &live.body) else { return };
        let placed = Placed { namespace: self.key.namespace.clone(), set: Arc::new(set) };
        let woken = self.controller.index().refresh_set(placed);
        self.controller.queue.wake(woken.into_iter().filter(|other| other != self.key));
    }

    async fn patch_workload(&self, patch: &Patch<Value>) -> Result<String, Refusal> {
        let request = self.workload_writes().patch(&self.key.name, &patch_params(), patch);
        let workload = self.controller.server.write("patch", "deployments", request).await?;
        Ok(self.wrote_workload(&workload))
    }

    async fn write_status(&self, workload: &Workload, write: &StatusWrite) -> Result<String, Refusal> {
        let counters = Counters::of(&write.status);
        let rival = self.controller.rivalry().objection(self.key, &counters);
        if let Some(rival) = rival {
            return Err(rivalry::give_way(self.controller, self.key, workload, &rival));
        }
        let patch = Patch::Merge(encode::status_patch(self.flavour(), workload, write));
        let (requests, params) = (self.workload_writes(), patch_params());
        let request = requests.patch_subresource("status", &self.key.name, &params, &patch);
        let written = self.controller.server.write("patch_status", "deployments", request).await?;
        let version = self.wrote_workload(&written);
        if let Ok(version) = version.parse() {
            self.controller.rivalry().wrote(self.key, &workload.uid, version, counters);
        }
        Ok(version)
    }

    async fn create_set(&self, body: &Value, name: &str) -> Result<(), Refusal> {
        let request = self.set_writes().create(&post_params(false), body.to_string().into_bytes());
        let sent = self.controller.server.write("create", "replicasets", request).await;
        self.note_doubt(&sent, name);
        self.wrote_set(&sent?);
        Ok(())
    }

    async fn delete_set(&self, target: &Target) -> Result<(), Refusal> {
        let preconditions = Preconditions {
            uid: Some(target.uid.clone()),
            resource_version: Some(target.resource_version.clone()),
        };
        let api = self.sets();
        let params = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
        let request = api.delete(&target.name, &params);
        // Before the request: the watch may be faster than the answer.
        self.controller.index().expect_gone(&target.uid);
        if let Err(refusal) = self.controller.server.send("delete", "replicasets", request).await {
            self.controller.index().expect_no_more(&target.uid);
            if refusal.is_conflict() {
                self.refresh(target).await;
            }
            return Err(refusal);
        }
        self.controller.ledger().deleted_set(self.key, &target.uid, clock::now());
        Ok(())
    }

    async fn template(&self, workload: &Workload) -> Result<Value, Refusal> {
        let api = self.workloads();
        let live = self.controller.server.send("get", "deployments", api.get(&self.key.name)).await?;
        let template = live.body.pointer("/spec/template").cloned().unwrap_or(Value::Null);
        let is_the_same = live.uid() == workload.uid
            && self.flavour().fingerprint(&template) == workload.template.fingerprint;
        if is_the_same {
            Ok(template)
        } else {
            Err(conflict(format!("the template of {} has just been changed", self.key)))
        }
    }

    async fn set_template(&self, name: &str, uid: &str) -> Result<Value, Refusal> {
        let api = self.sets();
        let live = self.controller.server.send("get", "replicasets", api.get(name)).await?;
        if live.uid() != uid {
            return Err(conflict(format!("ReplicaSet {name} was replaced by another one of that name")));
        }
        Ok(live.body.pointer("/spec/template").cloned().unwrap_or(Value::Null))
    }

    async fn dry_run(&self, workload: &Workload, set: &NewReplicaSet) -> Result<DryRun, Refusal> {
        let fingerprint = &workload.template.fingerprint;
        if let Some(known) = self.controller.memory().dry_run(self.key, &workload.uid, fingerprint) {
            return Ok(known);
        }
        let (api, params) = (self.sets(), post_params(true));
        let body = Object::new(encode::dry_run_replica_set(self.flavour(), workload, set));
        let request = api.create(&params, &body);
        let result = self.controller.server.send("dry_run", "replicasets", request).await;
        let stored = result.map(|stored| {
            let template = stored.body.pointer("/spec/template").unwrap_or(&Value::Null);
            self.flavour().stored_digest(template)
        });
        if let Err(refusal) = &stored {
            debug!(key = %self.key, code = refusal.code, message = refusal.message, "dry run refused");
        }
        self.controller.memory().settle_dry_run(self.key, workload, stored, clock::now())
    }

    /// The one request that an action comes to.
    async fn request(&self, workload: &Workload, action: &Action) -> Result<Option<String>, Refusal> {
        let flavour = self.flavour();
        match action {
            Action::SetSelector(selector) => {
                let patch = Patch::Merge(encode::selector_patch(workload, selector));
                self.patch_workload(&patch).await.map(Some)
            }
            Action::CreateReplicaSet(set) => {
                let body = encode::replica_set(flavour, workload, set);
                self.create_set(&body, &set.name).await.map(|()| None)
            }
            Action::UpdateReplicaSet(update) => {
                let patch = Patch::Merge(encode::update_patch(update));
                self.patch_set(&update.target, &patch).await.map(|_| None)
            }
            Action::DeleteReplicaSet(target) => self.delete_set(target).await.map(|()| None),
            Action::WriteStatus(write) => self.write_status(workload, write).await.map(Some),
            Action::RollBack(write) => {
                let patch = serde_json::from_value(encode::rollback_patch(flavour, workload, write));
                let patch = patch.map(Patch::Json).map_err(|error| conflict(error.to_string()))?;
                self.patch_workload(&patch).await.map(Some)
            }
        }
    }

    /// One line per action that was carried out.
    fn say(&self, action: &Action) {
        let key = self.key;
        match action {
            Action::SetSelector(selector) => info!(%key, %selector, "selector taken from the template"),
            Action::CreateReplicaSet(set) => {
                info!(%key, set = set.name, size = set.size, "create ReplicaSet");
            }
            Action::UpdateReplicaSet(update) if update.size_from == update.size_to => {
                info!(%key, set = update.target.name, "update ReplicaSet");
            }
            Action::UpdateReplicaSet(update) => {
                info!(%key, set = update.target.name, from = update.size_from, to = update.size_to, "scale ReplicaSet");
            }
            Action::DeleteReplicaSet(target) => info!(%key, set = target.name, "delete ReplicaSet"),
            Action::WriteStatus(_) => debug!(%key, "write status"),
            Action::RollBack(write) if write.template.is_some() => info!(%key, "roll back"),
            Action::RollBack(_) => info!(%key, "clear rollback request"),
        }
    }
}

impl Cluster for Live<'_> {
    async fn owner(&self, _workload: &Workload) -> Result<Option<Owner>, Refusal> {
        let api = self.workloads();
        let live = self.controller.server.send("get", "deployments", api.get_opt(&self.key.name)).await?;
        Ok(live.map(|live| Owner {
            uid: live.uid().to_owned(),
            deleting: live.body.pointer("/metadata/deletionTimestamp").is_some_and(|value| !value.is_null()),
        }))
    }

    async fn claim(&self, workload: &Workload, claim: &Claim) -> Result<String, Refusal> {
        let (target, body) = match claim {
            Claim::Adopt(target) => {
                info!(key = %self.key, set = target.name, "adopt ReplicaSet");
                (target, encode::adopt_patch(self.flavour(), workload, target))
            }
            Claim::Release(target) => {
                info!(key = %self.key, set = target.name, "release ReplicaSet");
                (target, encode::release_patch(workload, target))
            }
        };
        let version = self.patch_set(target, &Patch::Strategic(body)).await?;
        rollouts::claimed(self.controller, claim);
        Ok(version)
    }

    async fn ask(&self, workload: &Workload, ask: &Ask) -> Result<Answer, Refusal> {
        Ok(match ask {
            Ask::Template => Answer::Template(self.template(workload).await?),
            Ask::DryRun(set) => Answer::DryRun(self.dry_run(workload, set).await?),
            Ask::SetTemplate { name, uid } => {
                Answer::SetTemplate(uid.clone(), self.set_template(name, uid).await?)
            }
            Ask::Pods => Answer::Pods(self.controller.pods.of(self.controller, self.key, workload).await?),
        })
    }

    async fn replica_set(&self, _workload: &Workload, name: &str) -> Result<Option<ReplicaSet>, Refusal> {
        let api = self.sets();
        let live = self.controller.server.send("get", "replicasets", api.get_opt(name)).await?;
        let decoded = live.map(|live| decode::replica_set(self.flavour(), &live.body)).transpose();
        decoded.map_err(|error| unreadable(&error))
    }

    async fn act(&self, workload: &Workload, action: &Action) -> Result<Option<String>, Refusal> {
        let result = self.request(workload, action).await;
        match &result {
            Ok(_) => {
                self.say(action);
                rollouts::acted(self.controller, self.key, workload, action);
            }
            Err(refusal) => {
                debug!(key = %self.key, code = refusal.code, message = refusal.message, "refused");
            }
        }
        result
    }

    fn record(&self, workload: &Workload, event: &Event) {
        self.controller.events.record(About::workload(self.flavour(), workload), event.clone());
    }
}
