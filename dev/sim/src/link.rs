//! The world as an operator's engine sees it: each request goes out, and waits for its answer until
//! the simulator delivers it.

mod request;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Instant;

use ::engine::next::Next;
use ::engine::port::{self, Cause, Kind, Labels, Note, Port};
use ::engine::reconcile::{Outcome, Refusal};
use api::decode::{self, Parts};
use jiff::Timestamp;
use plan::selector::LabelSelector;
use plan::{Action, Event, Flavour, OwnerChange, ReplicaSet, Workload};
use serde_json::Value;
use serde_json::value::RawValue;
use world::{Object, Patch, Resource, Subresource};

use crate::conduct::Told;
use crate::history::{decode_set, is_marked, parts, workloads_of};
use crate::subject::Which;
use crate::tenant;
use crate::view::View;
pub(crate) use request::Request;
use request::namespace_of;

/// As many objects has a page of a list for a look.
pub(crate) const PAGE: usize = 4;

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
    OwnerChange(OwnerChange),
    Mark,
}

/// What is sent: a request, and for writes the decision behind it.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    /// For which Deployment.
    pub(crate) of: Which,
    /// By which attempt of the operator.
    pub(crate) attempt: u64,
    pub(crate) namespace: String,
    pub(crate) request: Request,
    pub(crate) decision: Option<Box<Decision>>,
}

/// What came back.
pub(crate) type Reply = Result<Vec<Object>, Refusal>;

/// Between a reconcile and the simulator.
#[derive(Debug, Default)]
pub(crate) struct Wire {
    pub(crate) sent: Option<Sent>,
    pub(crate) reply: Option<Reply>,
}

/// What the world of one operator is besides its engine: its clocks, and what there is to report.
pub(crate) struct Surroundings {
    /// The number of the process.
    pub(crate) process: u64,
    pub(crate) now: Instant,
    pub(crate) wall: Timestamp,
    /// The Deployments with pods that are watched.
    pub(crate) watches_pods: BTreeSet<Which>,
    /// What happened that somebody counts.
    pub(crate) events: Vec<&'static str>,
    /// Events that were recorded since the last request.
    pub(crate) told: Vec<Event>,
    /// What attempts reported since, each with its Deployment.
    pub(crate) notes: Vec<(Which, u64, Told)>,
    /// The keys that were forgotten since.
    pub(crate) forgotten: Vec<Which>,
    pub(crate) is_watch_broken: bool,
}

pub(crate) type Shared<T> = Arc<Mutex<T>>;

pub(crate) fn lock<T>(shared: &Shared<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What an attempt comes to.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) of: Which,
    pub(crate) next: Next,
    pub(crate) outcome: Option<Outcome>,
    pub(crate) view: Option<View>,
}

/// The world, for one attempt at one Deployment.
pub(crate) struct Link {
    pub(crate) of: Which,
    pub(crate) attempt: u64,
    pub(crate) flavour: Flavour,
    pub(crate) surroundings: Shared<Surroundings>,
    pub(crate) wire: Shared<Wire>,
    pub(crate) view: Shared<Option<View>>,
    pub(crate) outcome: Shared<Option<Outcome>>,
}

/// An object of the store, as a reply shows it.
pub(crate) struct Live(Object);

impl port::Object for Live {
    fn parts(&self) -> Parts<'_> {
        parts(&self.0)
    }

    fn version(&self) -> Cow<'_, str> {
        Cow::Owned(self.0.version().to_string())
    }

    fn metadata(&self, field: &str) -> &str {
        match field {
            "uid" => self.0.uid(),
            _ => self.parts().metadata.get(field).and_then(Value::as_str).unwrap_or_default(),
        }
    }
}

fn unreadable() -> Refusal {
    Refusal::new(0, "", "unreadable".to_owned())
}

/// How a reply to a request is shown.
enum Shown {
    Object,
    Version,
    Sets(Labels, Option<LabelSelector>),
    Pods,
    Values,
}

impl Shown {
    fn of(request: &port::Request) -> Self {
        match request {
            port::Request::Get { .. }
            | port::Request::Create { is_dry_run: true, .. }
            | port::Request::Patch { wants_object: true, .. } => Self::Object,
            port::Request::ListReplicaSets { labels, selector, .. } => Self::Sets(*labels, selector.clone()),
            port::Request::ListPods { .. } => Self::Pods,
            port::Request::PagePods { .. } | port::Request::ListWarnings { .. } => Self::Values,
            port::Request::Create { .. } | port::Request::Patch { .. } | port::Request::Delete { .. } => {
                Self::Version
            }
        }
    }
}

impl Link {
    async fn exchange(&self, namespace: String, request: Request, cause: Cause<'_>) -> Reply {
        let why = match cause {
            Cause::Look => None,
            Cause::Act(action) => Some(Decided::Act(action.clone())),
            Cause::OwnerChange(change) => Some(Decided::OwnerChange(change.clone())),
            Cause::Label => Some(Decided::Mark),
        };
        let decision = why.and_then(|why| {
            let view = lock(&self.view).clone()?;
            Some(Box::new(Decision { why, view }))
        });
        lock(&self.wire).sent =
            Some(Sent { of: self.of, attempt: self.attempt, namespace, request, decision });
        poll_fn(|_| lock(&self.wire).reply.take().map_or(Poll::Pending, Poll::Ready)).await
    }

    fn resource(&self, kind: Kind) -> Resource {
        match kind {
            Kind::Deployment => workloads_of(self.flavour),
            Kind::ReplicaSet => Resource::ReplicaSets,
            Kind::Job => Resource::Jobs,
        }
    }

    /// The request as the store takes it.
    fn request(&self, request: port::Request) -> Request {
        match request {
            port::Request::Get { kind, name, .. } => Request::Get(self.resource(kind), name),
            port::Request::ListReplicaSets { .. } => Request::List(Resource::ReplicaSets),
            port::Request::ListPods { .. } => Request::List(Resource::Pods),
            port::Request::PagePods { selector, from, .. } => Request::Page(selector, from),
            port::Request::ListWarnings { uid, .. } => Request::Warnings(uid),
            port::Request::Create { object, is_dry_run, .. } => {
                Request::Create { object: tree(&object), is_dry_run }
            }
            port::Request::Patch { kind, name, patch, of_status, .. } => {
                let patch = match patch {
                    port::Patch::Merge(patch) => Patch::Merge(patch),
                    port::Patch::Json(patch) => Patch::Json(tree(&patch)),
                    port::Patch::Strategic(patch) => Patch::Strategic(patch),
                };
                let subresource = if of_status { Subresource::Status } else { Subresource::Main };
                Request::Patch { resource: self.resource(kind), name, patch, subresource }
            }
            port::Request::Delete { kind, name, uid, version, .. } => Request::Delete {
                resource: self.resource(kind),
                name,
                uid,
                version: version.unwrap_or_default(),
            },
        }
    }

    fn reply(&self, mut objects: Vec<Object>, shown: &Shown) -> Result<port::Reply<Live>, Refusal> {
        Ok(match shown {
            Shown::Object => port::Reply::Object(Live(objects.pop().ok_or_else(unreadable)?)),
            Shown::Version => {
                let version = objects.pop().map(|object| object.version().to_string());
                port::Reply::Version(version.unwrap_or_default())
            }
            Shown::Sets(labels, selector) => {
                objects.retain(|object| self.shows(object, *labels, selector.as_ref()));
                port::Reply::Page(objects.into_iter().map(Live).collect(), None)
            }
            Shown::Values => {
                // One more than a page has shows that there is another.
                let is_last = objects.len() <= PAGE;
                objects.truncate(PAGE);
                let next = objects.last().filter(|_| !is_last).map(|last| last.name().to_owned());
                port::Reply::Values(objects.iter().map(Object::to_value).collect(), next)
            }
            Shown::Pods => {
                lock(&self.surroundings).watches_pods.insert(self.of);
                if let Some(view) = lock(&self.view).as_mut() {
                    view.running = Some(objects.iter().filter_map(runs_for).collect());
                }
                port::Reply::Pods(objects.iter().map(|pod| decode::pod(parts(pod))).collect())
            }
        })
    }

    fn shows(&self, object: &Object, labels: Labels, selector: Option<&LabelSelector>) -> bool {
        let set = decode_set(self.flavour, object);
        let is_marked = set.as_ref().is_some_and(is_marked);
        let is_wanted = match labels {
            Labels::Any => true,
            Labels::Unmanaged => !is_marked,
        };
        is_wanted && selector.is_none_or(|wanted| set.is_some_and(|set| wanted.matches(&set.labels)))
    }

    fn see(&self, note: impl FnOnce(&mut View)) {
        if let Some(view) = lock(&self.view).as_mut() {
            note(view);
        }
    }

    fn tell(&self, told: Told) {
        lock(&self.surroundings).notes.push((self.of, self.attempt, told));
    }

    fn count(&self, what: &'static str) {
        lock(&self.surroundings).events.push(what);
    }
}

impl Port for Link {
    type Object = Live;

    fn now(&self) -> Instant {
        lock(&self.surroundings).now
    }

    fn timestamp(&self) -> Timestamp {
        lock(&self.surroundings).wall
    }

    fn epoch(&self) -> Option<[u64; 3]> {
        Some([lock(&self.surroundings).process, 0, 0])
    }

    fn is_watch_broken(&self) -> bool {
        lock(&self.surroundings).is_watch_broken
    }

    async fn send(&self, request: port::Request, cause: Cause<'_>) -> Result<port::Reply<Live>, Refusal> {
        let shown = Shown::of(&request);
        let is_creation = matches!(cause, Cause::Act(Action::CreateReplicaSet(_)));
        let namespace = namespace_of(&request).to_owned();
        let objects = self.exchange(namespace, self.request(request), cause).await?;
        if let Some(set) =
            objects.first().filter(|_| is_creation).and_then(|live| decode_set(self.flavour, live))
        {
            self.see(|view| {
                view.found(set);
                view.is_created = true;
            });
        }
        self.reply(objects, &shown)
    }

    fn note(&self, note: Note<'_>) {
        match note {
            Note::ReadsLive => self.count("read live"),
            Note::ReadsEarly => self.count("read early"),
            Note::Begins(workload, sets) => {
                let epoch = self.epoch().map(|[process, term, stay]| format!("{process:x}-{term}-{stay}"));
                let mut view = shared(workload, sets);
                view.epoch = epoch;
                *lock(&self.view) = Some(view);
                self.tell(Told::begins(workload, sets));
            }
            Note::Owner(workload, owner) => self.see(|view| {
                let is_it = owner.is_some_and(|owner| owner.uid == workload.uid && !owner.deleting);
                view.may_adopt = Some(is_it);
            }),
            Note::DryRun(Some(digest)) => self.see(|view| view.stored = Some(digest)),
            Note::Found(set) => self.see(|view| view.found(set.clone())),
            Note::Acted(_, action, result) => {
                // What is missing when it should be deleted is gone as well.
                let is_gone = result.is_err_and(Refusal::is_not_found);
                let is_deletion = matches!(action, Action::DeleteReplicaSet(_));
                if result.is_ok() || (is_gone && is_deletion) {
                    self.see(|view| view.acted(action));
                }
            }
            Note::OwnerChanged(change) => self.see(|view| view.change_owner(change)),
            Note::Event(_, event) => {
                self.count(event.reason);
                if !tenant::owns(self.of) {
                    lock(&self.surroundings).told.push(event.clone());
                }
            }
            Note::PodsNoMore => _ = lock(&self.surroundings).watches_pods.remove(&self.of),
            Note::Forgotten => {
                let mut surroundings = lock(&self.surroundings);
                surroundings.watches_pods.remove(&self.of);
                surroundings.forgotten.push(self.of);
            }
            Note::GivesWay(..) => self.tell(Told::GivesWay),
            Note::Ended(outcome) => {
                if outcome.writes > usize::from(outcome.wrote_status) {
                    self.tell(Told::Moved);
                }
                *lock(&self.outcome) = Some(outcome.clone());
            }
            Note::CacheBehind
            | Note::DryRun(None)
            | Note::DryRunRefused(_)
            | Note::LabelRestored(_)
            | Note::LeftAlone(_)
            | Note::LabelsOrphan(_)
            | Note::Orphan(..)
            | Note::Changed(..)
            | Note::Why(_)
            | Note::Blocked(_)
            | Note::Requeued => {}
        }
    }
}

fn shared(workload: &Workload, sets: &[ReplicaSet]) -> View {
    View::of(Arc::new(workload.clone()), sets.iter().cloned().map(Arc::new).collect())
}

/// The ReplicaSet of a pod that may still do work.
fn runs_for(pod: &Object) -> Option<String> {
    let phase = pod.status.get("phase").and_then(Value::as_str);
    let is_running = !matches!(phase, Some("Failed" | "Succeeded"));
    pod.controller_uid().filter(|_| is_running).map(str::to_owned)
}

/// The store keeps trees.
fn tree(text: &RawValue) -> Value {
    serde_json::from_str(text.get()).unwrap_or_default()
}
