//! Reads past the cache: the objects of a reconcile, a write with an unknown outcome, and a ReplicaSet that
//! another client has changed.

use std::mem::Discriminant;
use std::sync::Arc;
use std::time::Instant;

use api::decode;
use plan::keys::LAST_APPLIED;
use plan::selector::LabelSelector;
use plan::{Flavour, ReplicaSet, Workload};

use super::Attempt;
use super::strays::is_watched;
use crate::durations::ANSWER_LIMIT;
use crate::index::Placed;
use crate::port::{Cause, Kind, Labels, Note, Object, Port, Reply, Request};
use crate::reconcile::Refusal;

/// An object that the server returned and that cannot be read.
fn unreadable(problem: &impl ToString) -> Refusal {
    Refusal::new(0, "", problem.to_string())
}

/// The reply has another form than what was asked for.
fn unexpected() -> Refusal {
    unreadable(&"the server's reply is of another form than the request asks for")
}

/// A Deployment in a reply, as the watch would bring it.
pub(super) fn workload(flavour: Flavour, object: &impl Object) -> Result<Workload, Refusal> {
    let decoded = decode::workload(flavour, object.parts(), decode::Defaults::of(flavour));
    let mut workload = decoded.map_err(|error| unreadable(&error))?;
    workload.resource_version = object.version().into_owned();
    // Nobody reads it, and it is large. The key stays: it shows that there are annotations at all.
    if let Some(applied) = workload.annotations.get_mut(LAST_APPLIED) {
        applied.clear();
    }
    Ok(workload)
}

/// A ReplicaSet in a reply.
pub(super) fn set(flavour: Flavour, object: &impl Object) -> Result<ReplicaSet, Refusal> {
    let decoded = decode::replica_set(flavour, object.parts());
    let mut set = decoded.map_err(|error| unreadable(&error))?;
    set.resource_version = object.version().into_owned();
    Ok(set)
}

impl<P: Port> Attempt<'_, P> {
    /// Sends a request, and takes in what the server asks for beside its answer.
    pub(super) async fn send(&self, request: Request, cause: Cause<'_>) -> Result<Reply<P::Object>, Refusal> {
        let written = request.is_write().then(|| (std::mem::discriminant(&request), self.port.now()));
        let mut reply = self.port.send(request, cause).await;
        if let Some(written) = written {
            self.note_pace(reply.as_mut().err(), written);
        }
        if let Err(refusal) = &reply {
            self.heed(refusal);
            if refusal.code == 429 {
                self.engine.state().starts.refused(self.port.now());
            }
        }
        reply
    }

    /// How long the server took for a write of this kind, or a dry run of one, that was sent then.
    fn note_pace(&self, refusal: Option<&mut Refusal>, (kind, sent): (Discriminant<Request>, Instant)) {
        let (now, mut state) = (self.port.now(), self.engine.state());
        let patience = &mut state.entry(self.key).patience;
        let took = now.saturating_duration_since(sent);
        // The server has a limit, too.
        let is_given_up = |refusal: &Refusal| refusal.code == 504 && took >= ANSWER_LIMIT;
        match refusal {
            Some(refusal) if refusal.is_unanswered() || is_given_up(refusal) => {
                let next = patience.unanswered(kind, now).as_secs();
                refusal.message.push_str(&format!("; the next try waits for up to {next} s"));
            }
            // Nobody knows how long it would have taken.
            Some(refusal) if refusal.code == 0 => {}
            _ => patience.answered(kind, took),
        }
    }

    /// An object as it is now; `None` when it is gone.
    pub(super) async fn get(&self, kind: Kind, name: &str) -> Result<Option<P::Object>, Refusal> {
        let (namespace, name) = (self.key.namespace.clone(), name.to_owned());
        match self.send(Request::Get { kind, namespace, name }, Cause::Look).await {
            Ok(Reply::Object(object)) => Ok(Some(object)),
            Ok(_) => Err(unexpected()),
            Err(refusal) if refusal.is_not_found() => Ok(None),
            Err(refusal) => Err(refusal),
        }
    }

    /// A ReplicaSet as it is now; `None` when it is gone.
    pub(super) async fn get_set(&self, name: &str) -> Result<Option<P::Object>, Refusal> {
        self.get(Kind::ReplicaSet, name).await
    }

    /// The ReplicaSets of the namespace, a page at a time; only what a selector selects, if there is one.
    pub(super) async fn list_sets<T>(
        &self,
        labels: Labels,
        selector: Option<&LabelSelector>,
        keep: impl Fn(&P::Object) -> Option<T>,
    ) -> Result<Vec<T>, Refusal> {
        let (mut kept, mut from) = (Vec::new(), None);
        loop {
            let namespace = self.key.namespace.clone();
            let request = Request::ListReplicaSets { namespace, labels, selector: selector.cloned(), from };
            let Reply::Page(objects, next) = self.send(request, Cause::Look).await? else {
                return Err(unexpected());
            };
            kept.extend(objects.iter().filter_map(&keep));
            if next.is_none() {
                return Ok(kept);
            }
            from = next;
        }
    }

    /// Sends what is answered with an object.
    pub(super) async fn send_for_object(
        &self,
        request: Request,
        cause: Cause<'_>,
    ) -> Result<P::Object, Refusal> {
        match self.send(request, cause).await? {
            Reply::Object(object) => Ok(object),
            _ => Err(unexpected()),
        }
    }

    /// Sends a write; returns the version that it made.
    pub(super) async fn send_for_version(
        &self,
        request: Request,
        cause: Cause<'_>,
    ) -> Result<String, Refusal> {
        match self.send(request, cause).await? {
            Reply::Version(version) => Ok(version),
            _ => Err(unexpected()),
        }
    }

    /// The Deployment and its candidate ReplicaSets past the cache; `None` when it is gone.
    pub(super) async fn read_live(&self) -> Result<Option<(Workload, Vec<ReplicaSet>)>, Refusal> {
        let flavour = self.engine.flavour;
        let Some(live) = self.get(Kind::Deployment, &self.key.name).await? else { return Ok(None) };
        let workload = workload(flavour, &live)?;
        // One that it owns and does not select is released when the cache shows it (S2.14).
        let selector = workload.selector.as_ref().filter(|selector| !selector.is_empty());
        // S17.3: what cannot be decoded is set aside, as by the watch. S2.11, SU-1: the pods of an owned ReplicaSet
        // count although it has lost the operator's label, which is restored later.
        let is_shown =
            |set: &ReplicaSet| set.controller_uid.as_ref() == Some(&workload.uid) || is_watched(flavour, set);
        let keep = |object: &P::Object| set(flavour, object).ok().filter(is_shown);
        let sets = self.list_sets(Labels::Any, selector, keep).await?;
        Ok(Some((workload, sets)))
    }

    /// Looks at the ReplicaSets of writes without an answer (S14.4), or with a conflict (S14.5), so that the ledger
    /// knows what the cache has to show.
    pub(super) async fn settle_doubt(&self) -> Result<(), Refusal> {
        while let Some(name) = self.in_doubt() {
            let live = self.get_set(&name).await?;
            let version = live.as_ref().map(Object::version);
            let now = self.port.now();
            self.engine.state().entry(self.key).ledger.settled(&name, version.as_deref(), now);
        }
        Ok(())
    }

    fn in_doubt(&self) -> Option<String> {
        self.engine.state().known(self.key)?.ledger.in_doubt().map(str::to_owned)
    }

    /// Takes over a ReplicaSet that a live read or a write returned, ahead of the watch.
    pub(super) fn put(&self, set: ReplicaSet) {
        let placed = Placed { namespace: self.key.namespace.clone(), set: Arc::new(set) };
        let requeued = self.engine.cache().put_set(placed);
        self.requeue_others(requeued);
    }

    fn requeue_others(&self, mut requeued: Vec<crate::index::Key>) {
        requeued.retain(|other| other != self.key);
        if self.engine.state().requeue(requeued, self.port.now()) {
            self.port.note(Note::Requeued);
        }
    }
}
