//! The cluster as a pass of an operator sees it: each request goes out, and waits for its answer
//! until the simulator delivers it. Otherwise this is what the operator's `src/live.rs` does.

use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Instant;

use api::{decode, encode};
use dispatch::index::{Index, Key, Placed};
use dispatch::ledger::{Ledger, Readiness};
use dispatch::memory::Memory;
use dispatch::next::Next;
use jiff::Timestamp;
use pass::{Answer, Cluster, Outcome, Owner, Refusal};
use plan::{Action, Ask, Claim, DryRun, Event, Flavour, ReplicaSet, Target, Workload};
use serde_json::Value;
use world::{Object, Patch, Resource, Subresource};

use crate::history::{decode_set, decode_workload, is_marked, parts, workloads_of};
use crate::view::View;

/// A request on its way.
#[derive(Clone, Debug)]
pub(crate) enum Request {
    Get(Resource, String),
    List(Resource),
    Create { object: Value, is_dry_run: bool },
    Patch { resource: Resource, name: String, patch: Patch, subresource: Subresource },
    Delete { name: String, uid: String, version: String },
}

impl Request {
    pub(crate) fn is_write(&self) -> bool {
        !matches!(self, Self::Get(..) | Self::List(_) | Self::Create { is_dry_run: true, .. })
    }
}

/// Why a write was sent, and what was known then.
#[derive(Clone, Debug)]
pub(crate) struct Decision {
    pub(crate) why: Decided,
    pub(crate) view: View,
}

/// What was decided.
#[derive(Clone, Debug)]
pub(crate) enum Decided {
    Act(Action),
    Claim(Claim),
    Mark,
}

/// What is sent: a request, and for writes the decision behind it.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) request: Request,
    pub(crate) decision: Option<Box<Decision>>,
}

/// What came back.
pub(crate) type Reply = Result<Vec<Object>, Refusal>;

/// Between a pass and the simulator.
#[derive(Debug, Default)]
pub(crate) struct Wire {
    pub(crate) sent: Option<Sent>,
    pub(crate) reply: Option<Reply>,
}

/// What one operator remembers, and its clocks.
pub(crate) struct Brain {
    pub(crate) flavour: Flavour,
    pub(crate) index: Index,
    pub(crate) ledger: Ledger,
    pub(crate) memory: Memory,
    pub(crate) now: Instant,
    pub(crate) wall: Timestamp,
    /// Whether pods are watched.
    pub(crate) watches_pods: bool,
    /// What happened that somebody counts.
    pub(crate) events: Vec<&'static str>,
    /// Events that were recorded since the last request.
    pub(crate) told: Vec<Event>,
    /// Deployments that were woken by what a pass put into the cache.
    pub(crate) woken: Vec<Key>,
}

pub(crate) type Shared<T> = Arc<Mutex<T>>;

pub(crate) fn lock<T>(shared: &Shared<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a pass comes to.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) next: Next,
    pub(crate) outcome: Option<Outcome>,
    pub(crate) view: Option<View>,
}

/// The cluster, for one pass over one Deployment.
pub(crate) struct Link {
    pub(crate) key: Key,
    pub(crate) flavour: Flavour,
    pub(crate) brain: Shared<Brain>,
    pub(crate) wire: Shared<Wire>,
    pub(crate) view: Shared<Option<View>>,
}

fn conflict(message: String) -> Refusal {
    Refusal { code: 409, reason: "Conflict".to_owned(), message, namespace_terminating: false }
}

pub(crate) fn unreadable() -> Refusal {
    Refusal { code: 0, reason: String::new(), message: "unreadable".to_owned(), namespace_terminating: false }
}

impl Link {
    pub(crate) async fn send(&self, request: Request, why: Option<Decided>) -> Reply {
        let decision = why.and_then(|why| {
            let view = lock(&self.view).clone()?;
            Some(Box::new(Decision { why, view }))
        });
        lock(&self.wire).sent = Some(Sent { request, decision });
        poll_fn(|_| lock(&self.wire).reply.take().map_or(Poll::Pending, Poll::Ready)).await
    }

    async fn one(&self, request: Request, why: Option<Decided>) -> Result<Object, Refusal> {
        self.send(request, why).await?.pop().ok_or_else(unreadable)
    }

    pub(crate) async fn get(&self, resource: Resource, name: &str) -> Result<Option<Object>, Refusal> {
        match self.send(Request::Get(resource, name.to_owned()), None).await {
            Ok(mut found) => Ok(found.pop()),
            Err(refusal) if refusal.is_not_found() => Ok(None),
            Err(refusal) => Err(refusal),
        }
    }

    async fn workload(&self) -> Result<Option<Object>, Refusal> {
        self.get(workloads_of(self.flavour), &self.key.name).await
    }

    /// One pass, as `src/worker.rs` makes it.
    pub(crate) async fn pass(self) -> Ended {
        let without_pass = |next| Ended { next, outcome: None, view: None };
        if let Err(refusal) = self.settle_doubt().await {
            return without_pass(Next::Failed(refusal.into()));
        }
        let readiness = {
            let mut brain = lock(&self.brain);
            let Brain { ledger, index, now, .. } = &mut *brain;
            ledger.check(&self.key, index, *now)
        };
        if let Readiness::Wait(until) = readiness {
            return without_pass(Next::Parked(until));
        }
        let is_overdue = readiness == Readiness::Overdue;
        let looked = match self.settle_strays().await {
            Ok(()) => self.look_for_orphans().await,
            Err(refusal) => Err(refusal),
        };
        if let Err(refusal) = looked {
            return without_pass(Next::Failed(refusal.into()));
        }
        let seen = if is_overdue {
            match self.read_live().await {
                Ok(seen) => seen.map(|(workload, sets)| (shared(&workload, &sets), workload, sets)),
                Err(refusal) => return without_pass(Next::Failed(refusal.into())),
            }
        } else {
            self.cached()
        };
        let Some((view, workload, sets)) = seen else {
            let mut brain = lock(&self.brain);
            brain.memory.forget(&self.key);
            brain.ledger.clear(&self.key);
            brain.watches_pods = false;
            return Ended { next: Next::Nothing, outcome: None, view: None };
        };
        let (observed, wall) = {
            let mut brain = lock(&self.brain);
            (dispatch::observed(self.flavour, &mut brain.memory, &self.key, workload, sets), brain.wall)
        };
        *lock(&self.view) = Some(view);
        let uid = observed.workload.uid.clone();
        let outcome = pass::run(&self, observed, wall).await;
        let mut brain = lock(&self.brain);
        dispatch::note(&mut brain.memory, &self.key, &uid, &outcome, wall);
        if dispatch::is_through_with_pods(&outcome) {
            brain.watches_pods = false;
        }
        let next = Next::after(outcome.clone(), brain.wall);
        drop(brain);
        let view = lock(&self.view).take();
        Ended { next, outcome: Some(outcome), view }
    }

    /// What the cache shows, for the pass and for those who check.
    fn cached(&self) -> Option<(View, Workload, Vec<ReplicaSet>)> {
        let (workload, sets) = dispatch::from_cache(&lock(&self.brain).index, &self.key)?;
        let seen = sets.iter().cloned().map(Arc::new).collect();
        Some((View::of(Arc::new(workload.clone()), seen), workload, sets))
    }

    async fn read_live(&self) -> Result<Option<(Workload, Vec<ReplicaSet>)>, Refusal> {
        lock(&self.brain).events.push("read live");
        let Some(live) = self.workload().await? else { return Ok(None) };
        let workload = decode_workload(self.flavour, &live).ok_or_else(unreadable)?;
        let listed = self.send(Request::List(Resource::ReplicaSets), None).await?;
        let sets = listed.iter().filter_map(|object| decode_set(self.flavour, object));
        let sets = sets.filter(|set| self.flavour.set_labels().is_none() || is_marked(set));
        Ok(Some((workload, sets.collect())))
    }

    pub(crate) async fn patch(
        &self,
        resource: Resource,
        name: &str,
        patch: Patch,
        subresource: Subresource,
        why: Decided,
    ) -> Result<Object, Refusal> {
        self.one(Request::Patch { resource, name: name.to_owned(), patch, subresource }, Some(why)).await
    }

    async fn patch_set(&self, name: &str, patch: Patch, why: Decided) -> Result<Object, Refusal> {
        let sent = self.patch(Resource::ReplicaSets, name, patch, Subresource::Main, why).await;
        if sent.as_ref().is_err_and(Refusal::is_conflict) {
            self.refresh(name).await;
        }
        self.note_doubt(&sent, name);
        let live = sent?;
        self.wrote_set(&live);
        Ok(live)
    }

    /// Brings a set in the cache up to date after a conflict.
    async fn refresh(&self, name: &str) {
        let Ok(Some(live)) = self.get(Resource::ReplicaSets, name).await else { return };
        let Some(set) = decode_set(self.flavour, &live) else { return };
        let placed = Placed { namespace: self.key.namespace.clone(), set: Arc::new(set) };
        let mut brain = lock(&self.brain);
        let woken = brain.index.refresh_set(placed);
        brain.woken.extend(woken.into_iter().filter(|other| *other != self.key));
    }

    fn note_doubt(&self, sent: &Result<Object, Refusal>, name: &str) {
        if sent.as_ref().is_err_and(Refusal::leaves_doubt) {
            let mut brain = lock(&self.brain);
            let now = brain.now;
            brain.ledger.doubts(&self.key, name, now);
        }
    }

    async fn settle_doubt(&self) -> Result<(), Refusal> {
        let Some(name) = lock(&self.brain).ledger.in_doubt(&self.key).map(str::to_owned) else {
            return Ok(());
        };
        let live = self.get(Resource::ReplicaSets, &name).await?;
        let version = live.map(|live| live.version().to_string());
        let mut brain = lock(&self.brain);
        let now = brain.now;
        brain.ledger.settled(&self.key, version.as_deref(), now);
        Ok(())
    }

    fn wrote_set(&self, live: &Object) {
        let mut brain = lock(&self.brain);
        let now = brain.now;
        brain.ledger.wrote_set(&self.key, &live.version().to_string(), now);
    }

    async fn patch_workload(
        &self,
        patch: Patch,
        subresource: Subresource,
        why: Decided,
    ) -> Result<String, Refusal> {
        let live = self.patch(workloads_of(self.flavour), &self.key.name, patch, subresource, why).await?;
        let version = live.version().to_string();
        let mut brain = lock(&self.brain);
        let now = brain.now;
        brain.ledger.wrote_workload(&self.key, &version, now);
        Ok(version)
    }

    async fn delete(&self, target: &Target, why: Decided) -> Result<(), Refusal> {
        lock(&self.brain).index.expect_gone(&target.uid);
        let request = Request::Delete {
            name: target.name.clone(),
            uid: target.uid.clone(),
            version: target.resource_version.clone(),
        };
        if let Err(refusal) = self.send(request, Some(why)).await {
            lock(&self.brain).index.expect_no_more(&target.uid);
            if refusal.is_conflict() {
                self.refresh(&target.name).await;
            }
            return Err(refusal);
        }
        let mut brain = lock(&self.brain);
        let now = brain.now;
        brain.ledger.deleted_set(&self.key, &target.uid, now);
        Ok(())
    }

    async fn template(&self, workload: &Workload) -> Result<Value, Refusal> {
        let Some(live) = self.workload().await? else {
            let message = format!("{} not found", self.key);
            return Err(Refusal {
                code: 404,
                reason: "NotFound".to_owned(),
                message,
                namespace_terminating: false,
            });
        };
        let template = live.spec.get("template").cloned().unwrap_or(Value::Null);
        if live.uid() == workload.uid && self.flavour.fingerprint(&template) == workload.template.fingerprint
        {
            Ok(template)
        } else {
            Err(conflict(format!("the template of {} has just been changed", self.key)))
        }
    }

    async fn dry_run(&self, workload: &Workload, object: Value) -> Result<DryRun, Refusal> {
        let fingerprint = &workload.template.fingerprint;
        if let Some(known) = lock(&self.brain).memory.dry_run(&self.key, &workload.uid, fingerprint) {
            return Ok(known);
        }
        let result = self.one(Request::Create { object, is_dry_run: true }, None).await;
        let stored = result
            .map(|stored| self.flavour.stored_digest(stored.spec.get("template").unwrap_or(&Value::Null)));
        let mut brain = lock(&self.brain);
        let now = brain.now;
        brain.memory.settle_dry_run(&self.key, workload, stored, now)
    }

    async fn request(&self, workload: &Workload, action: &Action) -> Result<Option<String>, Refusal> {
        let (flavour, why) = (self.flavour, Decided::Act(action.clone()));
        match action {
            Action::SetSelector(selector) => {
                let patch = Patch::Merge(encode::selector_patch(workload, selector));
                self.patch_workload(patch, Subresource::Main, why).await.map(Some)
            }
            Action::CreateReplicaSet(set) => {
                let object = encode::replica_set(flavour, workload, set);
                let sent = self.one(Request::Create { object, is_dry_run: false }, Some(why)).await;
                self.note_doubt(&sent, &set.name);
                let live = sent?;
                self.wrote_set(&live);
                if let (Some(view), Some(set)) = (lock(&self.view).as_mut(), decode_set(flavour, &live)) {
                    view.found(set);
                    view.is_created = true;
                }
                Ok(None)
            }
            Action::UpdateReplicaSet(update) => {
                let patch = Patch::Merge(encode::update_patch(update));
                self.patch_set(&update.target.name, patch, why).await.map(|_| None)
            }
            Action::DeleteReplicaSet(target) => self.delete(target, why).await.map(|()| None),
            Action::WriteStatus(write) => {
                let patch = Patch::Merge(encode::status_patch(flavour, workload, write));
                self.patch_workload(patch, Subresource::Status, why).await.map(Some)
            }
            Action::RollBack(write) => {
                let patch = Patch::Json(encode::rollback_patch(flavour, workload, write));
                self.patch_workload(patch, Subresource::Main, why).await.map(Some)
            }
        }
    }
}

fn shared(workload: &Workload, sets: &[ReplicaSet]) -> View {
    View::of(Arc::new(workload.clone()), sets.iter().cloned().map(Arc::new).collect())
}

/// The set of a pod that may still do work.
fn runs_for(pod: &Object) -> Option<String> {
    let phase = pod.status.get("phase").and_then(Value::as_str);
    let is_running = !matches!(phase, Some("Failed" | "Succeeded"));
    pod.controller_uid().filter(|_| is_running).map(str::to_owned)
}

impl Cluster for Link {
    async fn owner(&self, workload: &Workload) -> Result<Option<Owner>, Refusal> {
        let live = self.workload().await?;
        let owner = live.map(|live| Owner { uid: live.uid().to_owned(), deleting: live.is_deleting() });
        if let Some(view) = lock(&self.view).as_mut() {
            view.may_adopt =
                Some(owner.as_ref().is_some_and(|owner| owner.uid == workload.uid && !owner.deleting));
        }
        Ok(owner)
    }

    async fn claim(&self, workload: &Workload, claim: &Claim) -> Result<String, Refusal> {
        let (target, patch) = match claim {
            Claim::Adopt(target) => (target, encode::adopt_patch(self.flavour, workload, target)),
            Claim::Release(target) => (target, encode::release_patch(workload, target)),
        };
        let live =
            self.patch_set(&target.name, Patch::Strategic(patch), Decided::Claim(claim.clone())).await?;
        if let Some(view) = lock(&self.view).as_mut() {
            view.claim(claim);
        }
        Ok(live.version().to_string())
    }

    async fn ask(&self, workload: &Workload, ask: &Ask) -> Result<Answer, Refusal> {
        Ok(match ask {
            Ask::Template => Answer::Template(self.template(workload).await?),
            Ask::DryRun(set) => {
                let object = encode::dry_run_replica_set(self.flavour, workload, set);
                let answer = self.dry_run(workload, object).await?;
                if let (Some(view), DryRun::Stored(digest)) = (lock(&self.view).as_mut(), &answer) {
                    view.stored = Some(*digest);
                }
                Answer::DryRun(answer)
            }
            Ask::SetTemplate { name, uid } => {
                let live = self.get(Resource::ReplicaSets, name).await?;
                let Some(live) = live.filter(|live| live.uid() == uid) else {
                    return Err(conflict(format!(
                        "ReplicaSet {name} was replaced by another one of that name"
                    )));
                };
                Answer::SetTemplate(uid.clone(), live.spec.get("template").cloned().unwrap_or(Value::Null))
            }
            Ask::Pods => {
                let listed = self.send(Request::List(Resource::Pods), None).await?;
                lock(&self.brain).watches_pods = true;
                if let Some(view) = lock(&self.view).as_mut() {
                    view.running = Some(listed.iter().filter_map(runs_for).collect());
                }
                Answer::Pods(listed.iter().map(|pod| decode::pod(parts(pod))).collect())
            }
        })
    }

    async fn replica_set(&self, _workload: &Workload, name: &str) -> Result<Option<ReplicaSet>, Refusal> {
        let live = self.get(Resource::ReplicaSets, name).await?;
        let set = live.and_then(|live| decode_set(self.flavour, &live));
        if let (Some(view), Some(set)) = (lock(&self.view).as_mut(), &set) {
            view.found(set.clone());
        }
        Ok(set)
    }

    async fn act(&self, workload: &Workload, action: &Action) -> Result<Option<String>, Refusal> {
        let result = self.request(workload, action).await;
        // What was to be deleted and is not there is gone as well.
        let is_gone = matches!(&result, Err(refusal) if refusal.is_not_found());
        let is_done = result.is_ok() || (is_gone && matches!(action, Action::DeleteReplicaSet(_)));
        if let Some(view) = lock(&self.view).as_mut().filter(|_| is_done) {
            view.acted(action);
        }
        result
    }

    fn record(&self, _workload: &Workload, event: &Event) {
        let mut brain = lock(&self.brain);
        brain.events.push(event.reason);
        brain.told.push(event.clone());
    }
}
