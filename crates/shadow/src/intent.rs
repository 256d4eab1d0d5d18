//! What the planner would do: one reconcile over a cluster that records the requests.
//!
//! The reconcile is the operator's own ([`engine::reconcile::run`]). The watches answer its questions, with two
//! exceptions: the result of a dry run (it is a create, and shadow sends none), and the pods that a
//! Recreate waits for (shadow does not read pods). For these, [`Circumstances`] states what to assume.

use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use engine::reconcile::{Answer, Cluster, Owner, Refusal};
use jiff::Timestamp;
use plan::template::Digest;
use plan::template::Template;
use plan::{
    Action, Answers, Ask, DryRun, Event, Flavour, FoundJob, Observed, Options, OwnerChange, Pace, Pod,
    ReplicaSet, Status, Why, Workload,
};
use serde_json::Value;

use crate::fleet::View;
use crate::reports;

/// What a view leaves open.
#[derive(Clone, Debug)]
pub(crate) struct Circumstances {
    pub(crate) flavour: Flavour,
    pub(crate) now: Timestamp,
    /// Whether ReplicaSets report how many of their pods terminate (S9.4).
    pub(crate) terminating_replicas: bool,
    /// Whether old pods still run when a Recreate asks for them (S7.3).
    pub(crate) old_pods: bool,
    /// What a dry run would return for the current template; `None`: refused.
    pub(crate) dry_run: Option<Digest>,
    /// The words in which the server refuses to create a ReplicaSet, if it does.
    pub(crate) refusal: Option<String>,
}

/// What the planner would do.
#[derive(Debug)]
pub(crate) struct Intent {
    pub(crate) owner_changes: Vec<OwnerChange>,
    pub(crate) actions: Vec<Action>,
    pub(crate) events: Vec<Event>,
    /// Statuses before the one that is written.
    pub(crate) on_the_way: Vec<Status>,
    pub(crate) why: Option<Why>,
    pub(crate) deviations: BTreeSet<&'static str>,
    /// Whether the answer to a question about pods was assumed.
    pub(crate) asked_for_pods: bool,
}

impl Intent {
    /// Whether there is nothing to do.
    pub(crate) fn is_idle(&self) -> bool {
        self.owner_changes.is_empty() && self.actions.is_empty()
    }
}

/// One reconcile from this view.
pub(crate) fn intend(view: &View, circumstances: &Circumstances) -> Intent {
    let observed = Observed {
        flavour: circumstances.flavour,
        workload: view.workload.decoded.clone(),
        sets: view.sets.iter().map(|set| set.decoded.clone()).collect(),
        answers: Answers::default(),
        options: Options::new(circumstances.terminating_replicas, Pace::EachReconcile),
    };
    let mirror = Mirror { view, circumstances, noted: Mutex::default() };
    let outcome = at_once(engine::reconcile::run(&mirror, observed, circumstances.now));
    let Noted { owner_changes, actions, events, asked_for_pods } =
        mirror.noted.into_inner().unwrap_or_else(PoisonError::into_inner);
    let on_the_way = reports::on_the_way(view, &actions, &events, circumstances.now);
    let (why, deviations) = (outcome.why, outcome.deviations);
    Intent { owner_changes, actions, events, on_the_way, why, deviations, asked_for_pods }
}

/// A mirror answers immediately, so one poll is enough.
fn at_once<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
    }
}

/// A cluster that only remembers.
struct Mirror<'a> {
    view: &'a View,
    circumstances: &'a Circumstances,
    noted: Mutex<Noted>,
}

#[derive(Default)]
struct Noted {
    owner_changes: Vec<OwnerChange>,
    actions: Vec<Action>,
    events: Vec<Event>,
    asked_for_pods: bool,
}

impl Mirror<'_> {
    fn noted(&self) -> MutexGuard<'_, Noted> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Pods of the old ReplicaSets, if they are assumed to run.
    fn pods(&self) -> Vec<Pod> {
        if !self.circumstances.old_pods {
            return Vec::new();
        }
        let pod = |uid: &String| Pod { controller_uid: Some(uid.clone()), phase: "Running".to_owned() };
        self.view.sets.iter().map(|set| pod(&set.decoded.uid)).collect()
    }

    fn template(body: &Value) -> Template {
        Template::of(body.pointer("/spec/template").unwrap_or(&Value::Null))
    }
}

fn refusal(code: u16, reason: &str, message: String) -> Refusal {
    Refusal::new(code, reason, message)
}

impl Cluster for Mirror<'_> {
    async fn owner(&self, workload: &Workload) -> Result<Option<Owner>, Refusal> {
        Ok(Some(Owner { uid: workload.uid.clone(), deleting: workload.deleting }))
    }

    async fn change_owner(&self, _: &Workload, change: &OwnerChange) -> Result<String, Refusal> {
        self.noted().owner_changes.push(change.clone());
        let (OwnerChange::Adopt(target) | OwnerChange::Release(target)) = change;
        Ok(target.resource_version.clone())
    }

    async fn ask(&self, _: &Workload, ask: &Ask) -> Result<Answer, Refusal> {
        match ask {
            Ask::Template => Ok(Answer::Template(Self::template(&self.view.workload.body))),
            Ask::DryRun(_) => {
                Ok(Answer::DryRun(self.circumstances.dry_run.map_or(DryRun::Refused, DryRun::Stored)))
            }
            Ask::SetTemplate { name, uid } => {
                let set = self.view.sets.iter().find(|set| set.decoded.uid == *uid);
                let template = set.map(|set| Self::template(&set.body));
                template
                    .map(|template| Answer::SetTemplate(uid.clone(), template))
                    .ok_or_else(|| refusal(404, "NotFound", format!("replicasets.apps \"{name}\" not found")))
            }
            Ask::Pods => {
                self.noted().asked_for_pods = true;
                Ok(Answer::Pods(self.pods()))
            }
            // apps/v1 has none.
            Ask::Job { name } => Ok(Answer::Job(FoundJob { name: name.clone(), job: Ok(None) })),
            Ask::CheckJobs => Ok(Answer::JobsChecked(Ok(()))),
        }
    }

    async fn replica_set(&self, _: &Workload, name: &str) -> Result<Option<ReplicaSet>, Refusal> {
        let set = self.view.sets.iter().find(|set| set.decoded.name == name);
        Ok(set.map(|set| set.decoded.clone()))
    }

    async fn act(&self, workload: &Workload, action: &Action) -> Result<Option<String>, Refusal> {
        self.noted().actions.push(action.clone());
        if let (Action::CreateReplicaSet(_), Some(text)) = (action, &self.circumstances.refusal) {
            return Err(refusal(403, "Forbidden", text.clone()));
        }
        let writes_workload =
            matches!(action, Action::SetSelector(_) | Action::WriteStatus(_) | Action::RollBack(_));
        Ok(writes_workload.then(|| workload.resource_version.clone()))
    }

    fn record(&self, _: &Workload, event: &Event) {
        self.noted().events.push(event.clone());
    }
}
