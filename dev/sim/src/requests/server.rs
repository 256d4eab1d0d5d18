//! The server: what it makes of a request, and who looks at it.

use ::engine::reconcile::Refusal;
use plan::{Action, OwnerChange, Trigger};
use serde_json::Value;
use world::{Deletion, Key, Mode, Object, Preconditions, Refused, Resource};

use super::{refusal, spare};
use crate::actor::Actor;
use crate::checks::Accepted;
use crate::engine::{Engine, MILLISECOND};
use crate::link::{Decided, Decision, PAGE, Reply, Request, Sent};
use crate::subject::{Look, Subject, Which};

impl Engine<'_> {
    /// The server does what it is asked, and everybody looks at it.
    pub(super) fn carry_out(&mut self, id: u64, sent: &Sent) -> Reply {
        if self.operators.contains_key(&id) {
            self.counts.requests += 1;
            let reads_job = matches!(sent.request, Request::Get(Resource::Jobs, _));
            self.counts.looks += u64::from(sent.request.is_look() || reads_job);
            self.counts.last_request = self.now;
        }
        self.trace.note(&[self.now, 5, id, u64::from(sent.request.is_write())]);
        let (of, namespace) = (sent.of, &sent.namespace);
        if let Some(code) = self.outages.last().copied() {
            let verdict = self.checks.requests.refused(id, of, self.now);
            self.checks.fail("WA-2", verdict);
            return Err(refusal(code));
        }
        if self.unreadable_jobs > 0 && matches!(sent.request, Request::Get(Resource::Jobs, _)) {
            return Err(refusal(403));
        }
        if let Some(seconds) = self.overload {
            self.coverage.hit("retry after");
            return Err(spare(seconds));
        }
        let key = key_of(namespace, &sent.request);
        let before = key.as_ref().and_then(|key| self.store.get(key)).cloned();
        let total_before = self.subjects.get(of).map_or(0, |subject| subject.truth.total());
        let version = self.store.version();
        let result = self.serve(of, namespace, &sent.request);
        self.note_page(id, sent, &result);
        let (now, is_ok) =
            (self.now / MILLISECOND, result.as_ref().map(|_| ()).map_err(|refused| refused.message.clone()));
        self.trace.say(|| format!("{now:>8} ms operator {id}: {} -> {is_ok:?}", describe(sent)));
        self.settle(Actor::Operator(id));
        if let Some(decision) = &sent.decision {
            let kind = kind_of(decision);
            match &result {
                Ok(after) => {
                    self.coverage.hit(kind.accepted);
                    self.count_records(decision);
                    self.count(sent, self.store.version() > version);
                    if let Some(subject) = self.subjects.get_mut(of) {
                        let is_rollback = matches!(decision.why, Decided::Act(Action::RollBack(_)));
                        subject.truth.note_era(&decision.view, version, is_rollback);
                    }
                    let after = after.first();
                    let is_late = !self.operators.contains_key(&id);
                    self.check((id, sent), decision, (before.as_ref(), after), total_before, is_late);
                }
                Err(refused) if refused.reason == "Conflict" => {
                    self.coverage.hit(kind.conflict);
                    self.tripped(id, of, before.as_ref(), false);
                }
                Err(refused) if refused.reason == "AlreadyExists" => {
                    self.coverage.hit("collision");
                    self.coverage.hit(kind.conflict);
                    let there = self.named_by(namespace, &sent.request);
                    let is_alone = self.note_taken(of, there.as_ref());
                    // What others took away or garbled may be in the way with good reason.
                    let there = there.filter(|there| is_alone && !self.is_stripped(there, decision));
                    self.tripped(id, of, there.as_ref(), true);
                }
                Err(_) => {}
            }
        } else {
            match &sent.request {
                Request::Create { .. } => self.coverage.hit("dry run"),
                Request::Patch { .. } if result.is_ok() => self.coverage.hit("accepted mark"),
                _ => {}
            }
        }
        result.map_err(translate)
    }

    /// Whether a webhook took the operator's mark off a ReplicaSet, and the reconcile that runs into it had seen it: it
    /// is known, but looks like a ReplicaSet of others (NS-1).
    fn is_stripped(&self, there: &Object, decision: &Decision) -> bool {
        self.flavour.marks_sets()
            && there.annotation(plan::keys::FINGERPRINTS).is_none()
            && decision.view.find(there.uid()).is_some()
    }

    /// RW-1: was it this operator's own write that it did not know of?
    fn tripped(&mut self, id: u64, of: Which, there: Option<&Object>, is_creation: bool) {
        let truth = self.subjects.get(of).map(|subject| &subject.truth);
        let owner = truth.and_then(|truth| truth.workload.as_ref()).map(|workload| workload.uid.as_str());
        // A ReplicaSet that is not the Deployment's any more may well be known and in the way.
        if let Some(there) = there.filter(|there| !is_creation || there.controller_uid() == owner) {
            let verdict = self.checks.requests.tripped(id, there, is_creation);
            self.checks.fail("RW-1", verdict);
        }
    }

    /// The object that has the name of one that the operator wanted to create.
    fn named_by(&self, namespace: &str, request: &Request) -> Option<Object> {
        let Request::Create { object, .. } = request else { return None };
        Some(()).filter(|()| Request::created(object) == Resource::ReplicaSets)?;
        let name = object.pointer("/metadata/name")?.as_str()?;
        self.store.get(&Key::new(Resource::ReplicaSets, namespace, name)).cloned()
    }

    /// A name was taken by this one. Whether nobody else has a hand in the Deployment's ReplicaSets.
    fn note_taken(&mut self, of: Which, there: Option<&Object>) -> bool {
        let Some(subject) = self.subjects.get_mut(of) else { return false };
        subject.marks.taken.extend(there.map(|there| there.name().to_owned()));
        subject.is_alone
    }

    /// How rollouts began and ended.
    fn count_records(&mut self, decision: &Decision) {
        let Decided::Act(Action::WriteStatus(write)) = &decision.why else { return };
        for record in &write.ended {
            let words =
                [record.end.as_ref().map(|end| end.outcome.as_str()), record.trigger.map(Trigger::as_str)];
            words.into_iter().flatten().for_each(|word| self.coverage.hit(word));
        }
    }

    fn check(
        &mut self,
        (id, sent): (u64, &Sent),
        decision: &Decision,
        (before, after): (Option<&Object>, Option<&Object>),
        total_before: i64,
        is_late: bool,
    ) {
        let (now, is_clock_right) = (self.wall(), self.is_clock_right());
        let is_quiet = self.scenario.faults.is_empty();
        let Self { subjects, history, checks, flavour, .. } = self;
        let Some(Subject { truth, marks, is_alone, looks, .. }) = subjects.get_mut(sent.of) else { return };
        let request = &sent.request;
        let (truth, is_alone, flavour) = (&*truth, *is_alone, *flavour);
        let accepted = Accepted {
            request,
            decision,
            before,
            after,
            total_before,
            truth,
            is_alone,
            is_late,
            flavour,
            now,
            is_clock_right,
            is_quiet,
            looked: looks.get(&id).and_then(|look| look.whole),
        };
        checks.write(&accepted, marks, history);
    }

    /// Whether the clock of operators was never off.
    fn is_clock_right(&self) -> bool {
        self.scenario.clock_off() == 0
    }

    /// An operator looks at pods: when did it begin, and when was it through?
    fn note_page(&mut self, id: u64, sent: &Sent, result: &Result<Vec<Object>, Refused>) {
        let (Request::Page(selector, after), Ok(pods)) = (&sent.request, result) else { return };
        let (now, is_last) = (self.wall(), pods.len() <= PAGE);
        self.coverage.hit(if after.is_none() && is_last { "look" } else { "look in pages" });
        // One at the pods of a single ReplicaSet is about what blocks it, and nobody is judged by that.
        let is_evidence = !selector.contains(plan::keys::HASH_LABEL) && !selector.contains("controller-uid");
        let Some(subject) = self.subjects.get_mut(sent.of).filter(|_| is_evidence) else { return };
        let look = subject.looks.entry(id).or_insert(Look { began: now, whole: None });
        if after.is_none() {
            look.began = now;
        }
        if is_last {
            look.whole = Some((look.began, now));
        }
    }

    fn count(&mut self, sent: &Sent, is_new: bool) {
        self.counts.writes += u64::from(is_new);
        match &sent.request {
            Request::Create { object, .. } if Request::created(object) == Resource::ReplicaSets => {
                self.counts.creations += 1;
            }
            Request::Delete { resource: Resource::ReplicaSets, .. } => self.counts.deletions += 1,
            _ => {}
        }
    }

    fn serve(&mut self, of: Which, namespace: &str, request: &Request) -> Result<Vec<Object>, Refused> {
        match request {
            Request::Get(resource, name) => {
                let key = Key::new(*resource, namespace, name);
                let found = self.store.get(&key).cloned();
                found.map(|object| vec![object]).ok_or_else(|| Refused::not_found(*resource, name))
            }
            Request::List(resource) => {
                let there = self.store.list(*resource, Some(namespace));
                // The selectors of two Deployments have no pod in common.
                let is_shown = |object: &&Object| *resource != Resource::Pods || self.whose(object) == of;
                Ok(there.filter(is_shown).cloned().collect())
            }
            Request::Page(selector, after) => {
                let is_selected = |object: &&Object| {
                    let mut terms = selector.split(',').filter_map(|term| term.split_once('='));
                    terms.all(|(key, value)| object.label(key) == Some(value))
                };
                let rest = self.store.list(Resource::Pods, Some(namespace)).filter(is_selected);
                let rest = rest.filter(|pod| after.as_ref().is_none_or(|after| pod.name() > after.as_str()));
                Ok(rest.take(PAGE + 1).cloned().collect())
            }
            Request::Warnings(uid) => {
                let uid_of = |event: &Object| event.rest.get("involvedObject")?.get("uid").cloned();
                let is_about = |event: &&Object| uid_of(event).is_some_and(|about| about == *uid);
                let there = self.store.list(Resource::Events, Some(namespace));
                Ok(there.filter(is_about).take(PAGE).cloned().collect())
            }
            Request::Create { object, is_dry_run } => {
                let object = Object::from_value(Request::created(object), object.clone());
                let mode = if *is_dry_run { Mode::DryRun } else { Mode::Store };
                self.store.create(object, mode).map(|object| vec![object])
            }
            Request::Patch { resource, name, patch, subresource } => {
                let key = Key::new(*resource, namespace, name);
                self.store.patch(&key, patch, *subresource, Mode::Store).map(|object| vec![object])
            }
            Request::Delete { resource, name, uid, version } => {
                let key = Key::new(*resource, namespace, name);
                let given = |text: &String| (!text.is_empty()).then(|| text.clone());
                let preconditions = Preconditions { uid: given(uid), resource_version: given(version) };
                let deletion = Deletion { preconditions, ..Deletion::default() };
                self.store.delete(&key, &deletion).map(|object| vec![object])
            }
        }
    }
}

fn key_of(namespace: &str, request: &Request) -> Option<Key> {
    match request {
        Request::Get(resource, name)
        | Request::Patch { resource, name, .. }
        | Request::Delete { resource, name, .. } => Some(Key::new(*resource, namespace, name)),
        Request::List(_) | Request::Page(..) | Request::Warnings(_) | Request::Create { .. } => None,
    }
}

fn describe(sent: &Sent) -> String {
    match &sent.decision {
        Some(decision) => match &decision.why {
            Decided::Act(Action::WriteStatus(write)) => format!(
                "status {:?}",
                write
                    .status
                    .conditions
                    .iter()
                    .map(|one| (&one.kind, &one.status, &one.reason))
                    .collect::<Vec<_>>()
            ),
            Decided::Act(Action::CreateReplicaSet(set)) => {
                format!("create {} of size {}", set.name, set.size)
            }
            Decided::Act(action) => format!("{action:?}"),
            Decided::OwnerChange(change) => format!("{change:?}"),
            Decided::Mark => "mark".to_owned(),
        },
        None => match &sent.request {
            Request::Create { .. } => "dry run".to_owned(),
            other => format!("{other:?}"),
        },
    }
}

struct Kind {
    accepted: &'static str,
    conflict: &'static str,
}

fn kind_of(decision: &Decision) -> Kind {
    let (accepted, conflict) = match &decision.why {
        Decided::Act(Action::CreateReplicaSet(_)) => ("accepted create", "conflict create"),
        Decided::Act(Action::UpdateReplicaSet(_)) => ("accepted update", "conflict update"),
        Decided::Act(Action::DeleteReplicaSet(_)) => ("accepted delete", "conflict delete"),
        Decided::Act(Action::WriteStatus(_)) => ("accepted status", "conflict status"),
        Decided::Act(Action::RollBack(_)) => ("accepted rollback", "conflict rollback"),
        Decided::Act(Action::SetSelector(_)) => ("accepted selector", "conflict selector"),
        Decided::Act(Action::CreateJob(_)) => ("accepted create of a Job", "conflict create of a Job"),
        Decided::Act(Action::DeleteJob { .. }) => ("accepted delete of a Job", "conflict delete of a Job"),
        Decided::OwnerChange(OwnerChange::Adopt(_)) => ("accepted adopt", "conflict adopt"),
        Decided::OwnerChange(OwnerChange::Release(_)) => ("accepted release", "conflict release"),
        Decided::Mark => ("accepted mark", "conflict mark"),
    };
    Kind { accepted, conflict }
}

fn translate(refused: Refused) -> Refusal {
    let causes = refused.details.get("causes").and_then(Value::as_array);
    let mut causes = causes.into_iter().flatten().filter_map(|cause| cause.get("reason")?.as_str());
    let namespace_terminating = causes.any(|reason| reason == "NamespaceTerminating");
    Refusal { namespace_terminating, ..Refusal::new(refused.code, &refused.reason, refused.message) }
}
