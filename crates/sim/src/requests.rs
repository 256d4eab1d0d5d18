//! Operators and the server: passes that send, requests that arrive, answers that come back or
//! do not.

use ::engine::next::Scheduled;
use ::engine::pass::Refusal;
use plan::{Action, Claim};
use world::{Deletion, Key, Mode, Object, Preconditions, Refused, Resource, Subresource};

use crate::actor::Actor;
use crate::checks::Accepted;
use crate::engine::{Engine, Event, MILLISECOND, NAMESPACE, SECOND};
use crate::history::workloads_of;
use crate::link::{Decided, Decision, Ended, Reply, Request, Sent, lock};
use crate::operator::{Operator, Polled, Watch};
use crate::scenario::{Fault, WriteFault};

/// After so long an operator takes silence for an answer.
const DEADLINE: u64 = 10 * SECOND;

impl Engine<'_> {
    pub(crate) fn start_operator(&mut self, back: u64) {
        if self.holds.restarts > 0 {
            self.after(SECOND, Event::Start(back));
            return;
        }
        self.born += 1;
        let id = self.born;
        let mut operator = Operator::new(self.flavour, self.instant(), self.operator_wall());
        if back > 0 {
            let version = self.store.version().saturating_sub(back);
            let now = self.instant();
            operator.list(Watch::Workloads, &self.history, version, now);
            operator.list(Watch::Sets, &self.history, version, now);
        }
        self.operators.insert(id, operator);
        for watch in [Watch::Workloads, Watch::Sets] {
            if let Some(operator) = self.operators.get_mut(&id) {
                operator.cursor(watch).is_due = true;
            }
            let delay = self.delay(MILLISECOND, 100 * MILLISECOND);
            self.after(delay, Event::News(id, watch));
        }
    }

    /// Kill -9: what it knew is gone; what it sent is not.
    pub(crate) fn kill(&mut self, id: u64) {
        if self.operators.remove(&id).is_some() {
            self.trace.note(&[self.now, 4, id]);
            let delay = self.delay(100 * MILLISECOND, 3 * SECOND);
            self.after(delay, Event::Start(0));
        }
    }

    pub(crate) fn deliver(&mut self, id: u64, watch: Watch) {
        let is_held = match watch {
            Watch::Workloads => self.holds.workloads > 0,
            Watch::Sets => self.holds.sets > 0,
        };
        let (now, version) = (self.instant(), self.store.version());
        let Some(operator) = self.operators.get_mut(&id) else { return };
        let cursor = operator.cursor(watch);
        if is_held {
            // The trouble's end brings the news.
            cursor.is_due = false;
            if !cursor.is_synced {
                cursor.is_due = true;
                self.after(SECOND, Event::News(id, watch));
            }
            return;
        }
        cursor.is_due = false;
        if cursor.is_synced {
            operator.read(watch, &self.history, version, now);
        } else {
            operator.list(watch, &self.history, version, now);
        }
        self.set_alarm(id);
    }

    /// Arranges for an operator to look at its queue in time.
    pub(crate) fn set_alarm(&mut self, id: u64) {
        let now = self.instant();
        let at = self.now;
        let Some(operator) = self.operators.get_mut(&id) else { return };
        let Some(due) = operator.next_due(now) else { return };
        let wait = u64::try_from(due.saturating_duration_since(now).as_nanos()).unwrap_or(u64::MAX);
        let due = at.saturating_add(wait);
        if operator.alarm.is_none_or(|alarm| alarm > due || alarm < at) {
            operator.alarm = Some(due);
            self.at(due, Event::Alarm(id));
        }
    }

    pub(crate) fn alarm(&mut self, id: u64) {
        let now = self.instant();
        let Some(operator) = self.operators.get_mut(&id) else { return };
        if operator.alarm == Some(self.now) {
            operator.alarm = None;
        }
        if operator.is_busy() {
            return;
        }
        operator.start(now);
        self.go_on(id);
    }

    /// Lets the pass of an operator run until it waits for an answer or is over.
    fn go_on(&mut self, id: u64) {
        let (now, wall) = (self.instant(), self.operator_wall());
        let Some(operator) = self.operators.get_mut(&id) else { return };
        operator.set_clocks(now, wall);
        let polled = operator.poll();
        for event in std::mem::take(&mut lock(&operator.surroundings).told) {
            self.checks.requests.told(id, &event, self.now);
        }
        match polled {
            Polled::Idle => {}
            Polled::Sends(sent) => return self.send(id, sent),
            Polled::Ended(key, ended) => {
                let scheduled = operator.finish(&key, &ended, now);
                let events = std::mem::take(&mut lock(&operator.surroundings).events);
                for reason in events {
                    self.coverage.hit(reason);
                }
                self.ended(&ended, scheduled);
            }
        }
        self.set_alarm(id);
    }

    fn ended(&mut self, ended: &Ended, scheduled: Scheduled) {
        match scheduled {
            Scheduled::Retry(..) => self.coverage.hit("retry"),
            Scheduled::Parked => self.coverage.hit("parked"),
            _ => {}
        }
        let (Some(outcome), Some(view)) = (&ended.outcome, &ended.view) else { return };
        let text = || format!("{:>8} ms pass: {:?} {:?}", self.now / MILLISECOND, outcome.error, outcome.why);
        let text = self.trace.is_verbose().then(text);
        self.trace.say(|| text.unwrap_or_default());
        if matches!(outcome.why.as_ref().map(plan::Why::itself), Some(plan::Why::WaitingForTermination)) {
            self.coverage.hit("recreate waits");
        }
        if outcome.error.is_none() {
            if view.is_scaling() && view.claimed().filter(|set| set.set.is_active()).count() > 1 {
                self.coverage.hit("scaled in proportion");
            }
            self.checks.pass(view);
        }
    }

    /// A request leaves an operator.
    fn send(&mut self, id: u64, sent: Sent) {
        self.checks.requests.sent(id, &sent.request, self.now);
        let fault = self.fault_of(&sent.request);
        let latency = self.delay(MILLISECOND / 2, 10 * MILLISECOND);
        let sent = Box::new(sent);
        match fault {
            None => self.after(latency, Event::Arrive(id, sent)),
            Some(Trick::Refuse(code)) => {
                self.coverage.hit(if sent.request.is_write() {
                    "fault refused"
                } else {
                    "fault read refused"
                });
                self.after(2 * latency, Event::Answer(id, Box::new(Err(refusal(code)))));
            }
            Some(Trick::Write(WriteFault::CrashBefore)) => {
                self.coverage.hit("fault crash before");
                self.kill(id);
            }
            Some(Trick::Write(WriteFault::Zombie(delay))) => {
                self.coverage.hit("fault zombie");
                self.is_alone = false;
                self.kill(id);
                self.after(delay * MILLISECOND, Event::Arrive(id, sent));
            }
            Some(Trick::Write(WriteFault::Slow(delay))) => {
                self.coverage.hit("fault slow");
                self.after(delay * MILLISECOND, Event::Arrive(id, sent));
            }
            Some(Trick::Write(fault)) => {
                self.strike(id, &sent, fault);
            }
        }
    }

    /// Faults that come after the write was carried out.
    fn strike(&mut self, id: u64, sent: &Sent, fault: WriteFault) {
        let reply = self.carry_out(id, sent);
        match fault {
            WriteFault::CrashCommitted => {
                self.coverage.hit("fault crash committed");
                self.kill(id);
            }
            WriteFault::CrashAfter => {
                self.coverage.hit("fault crash after");
                self.after(MILLISECOND, Event::Answer(id, Box::new(reply)));
                self.after(MILLISECOND, Event::Die(id));
            }
            WriteFault::LostAnswer => {
                self.coverage.hit("fault lost answer");
                self.after(MILLISECOND, Event::Answer(id, Box::new(Err(refusal(504)))));
            }
            _ => {
                self.coverage.hit("fault silence");
                self.after(DEADLINE, Event::Answer(id, Box::new(Err(refusal(0)))));
            }
        }
    }

    fn fault_of(&mut self, request: &Request) -> Option<Trick> {
        let (writes, reads) = self.sent;
        let faults = if self.nature.is_healed { &[] } else { self.scenario.faults.as_slice() };
        if request.is_write() {
            self.sent.0 += 1;
            self.counts.sent_writes += 1;
            faults.iter().find_map(|fault| match fault {
                Fault::Write(nth, WriteFault::Refused(code)) if *nth == writes => Some(Trick::Refuse(*code)),
                Fault::Write(nth, fault) if *nth == writes => Some(Trick::Write(*fault)),
                _ => None,
            })
        } else {
            self.sent.1 += 1;
            faults.iter().find_map(|fault| match fault {
                Fault::Read(nth, code) if *nth == reads => Some(Trick::Refuse(*code)),
                _ => None,
            })
        }
    }

    pub(crate) fn arrive(&mut self, id: u64, sent: &Sent) {
        // The write of somebody who has died meanwhile.
        self.is_alone &= self.operators.contains_key(&id) || !sent.request.is_write();
        let reply = self.carry_out(id, sent);
        if !self.operators.contains_key(&id) && sent.request.is_write() {
            self.coverage.hit(if reply.is_ok() { "zombie accepted" } else { "zombie rejected" });
        }
        if let Some(object) = reply.as_ref().ok().and_then(|objects| objects.first())
            && sent.decision.is_some()
        {
            self.checks.requests.answered(id, object);
        }
        let latency = self.delay(MILLISECOND / 2, 10 * MILLISECOND);
        self.after(latency, Event::Answer(id, Box::new(reply)));
    }

    pub(crate) fn answer(&mut self, id: u64, reply: Reply) {
        let Some(operator) = self.operators.get_mut(&id) else { return };
        operator.reply(reply);
        self.go_on(id);
    }

    /// The server does what it is asked, and everybody looks at it.
    fn carry_out(&mut self, id: u64, sent: &Sent) -> Reply {
        if self.operators.contains_key(&id) {
            self.counts.requests += 1;
            self.counts.last_request = self.now;
        }
        self.trace.note(&[self.now, 5, id, u64::from(sent.request.is_write())]);
        if let Some(code) = self.outages.last().copied() {
            let verdict = self.checks.requests.refused(id, self.now);
            self.checks.fail("WA-2", verdict);
            return Err(refusal(code));
        }
        let key = self.key_of(&sent.request);
        let before = key.as_ref().and_then(|key| self.store.get(key)).cloned();
        let total_before = self.truth.total();
        let version = self.store.version();
        let result = self.serve(&sent.request);
        let (now, is_ok) =
            (self.now / MILLISECOND, result.as_ref().map(|_| ()).map_err(|refused| refused.message.clone()));
        self.trace.say(|| format!("{now:>8} ms operator {id}: {} -> {is_ok:?}", describe(sent)));
        self.settle(Actor::Operator(id));
        if let Some(decision) = &sent.decision {
            let kind = kind_of(decision);
            match &result {
                Ok(after) => {
                    self.coverage.hit(kind.accepted);
                    self.count(sent, self.store.version() > version);
                    let after = after.first();
                    self.check(sent, decision, before.as_ref(), after, total_before);
                }
                Err(refused) if refused.reason == "Conflict" => {
                    self.coverage.hit(kind.conflict);
                    self.tripped(id, before.as_ref(), false);
                }
                Err(refused) if refused.reason == "AlreadyExists" => {
                    self.coverage.hit("collision");
                    self.coverage.hit(kind.conflict);
                    let there = self.named_by(&sent.request);
                    self.checks.taken.extend(there.iter().map(|there| there.name().to_owned()));
                    // What others took away or garbled may be in the way with good reason.
                    let there = there.filter(|there| self.is_alone && !self.is_stripped(there, decision));
                    self.tripped(id, there.as_ref(), true);
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

    /// Whether a webhook took our mark off a set, and the pass that runs into it had seen it: it is
    /// known, but cannot be told from a set of others (NS-1).
    fn is_stripped(&self, there: &Object, decision: &Decision) -> bool {
        self.flavour.marks_sets()
            && there.annotation(plan::keys::FINGERPRINTS).is_none()
            && decision.view.find(there.uid()).is_some()
    }

    /// RW-1: was it this operator's own write that it did not know of?
    fn tripped(&mut self, id: u64, there: Option<&Object>, is_creation: bool) {
        let owner = self.truth.workload.as_ref().map(|workload| workload.uid.as_str());
        // A set that is not the Deployment's any more may well be known and in the way.
        if let Some(there) = there.filter(|there| !is_creation || there.controller_uid() == owner) {
            let verdict = self.checks.requests.tripped(id, there, is_creation);
            self.checks.fail("RW-1", verdict);
        }
    }

    /// The object that has the name of one that was to be created.
    fn named_by(&self, request: &Request) -> Option<Object> {
        let Request::Create { object, .. } = request else { return None };
        let name = object.pointer("/metadata/name")?.as_str()?;
        self.store.get(&Key::new(Resource::ReplicaSets, NAMESPACE, name)).cloned()
    }

    fn check(
        &mut self,
        sent: &Sent,
        decision: &Decision,
        before: Option<&Object>,
        after: Option<&Object>,
        total_before: i64,
    ) {
        let Self { truth, history, checks, is_alone, flavour, .. } = self;
        let request = &sent.request;
        let (is_alone, flavour) = (*is_alone, *flavour);
        let accepted = Accepted { request, decision, before, after, total_before, truth, is_alone, flavour };
        checks.write(&accepted, history);
    }

    fn count(&mut self, sent: &Sent, is_new: bool) {
        self.counts.writes += u64::from(is_new);
        match sent.request {
            Request::Create { .. } => self.counts.creations += 1,
            Request::Delete { .. } => self.counts.deletions += 1,
            _ => {}
        }
    }

    fn key_of(&self, request: &Request) -> Option<Key> {
        match request {
            Request::Get(resource, name) | Request::Patch { resource, name, .. } => {
                Some(Key::new(*resource, NAMESPACE, name))
            }
            Request::Delete { name, .. } => Some(Key::new(Resource::ReplicaSets, NAMESPACE, name)),
            Request::List(_) | Request::Create { .. } => None,
        }
    }

    fn serve(&mut self, request: &Request) -> Result<Vec<Object>, Refused> {
        match request {
            Request::Get(resource, name) => {
                let key = Key::new(*resource, NAMESPACE, name);
                let found = self.store.get(&key).cloned();
                found.map(|object| vec![object]).ok_or_else(|| Refused::not_found(*resource, name))
            }
            Request::List(resource) => Ok(self.store.list(*resource, Some(NAMESPACE)).cloned().collect()),
            Request::Create { object, is_dry_run } => {
                let object = Object::from_value(Resource::ReplicaSets, object.clone());
                let mode = if *is_dry_run { Mode::DryRun } else { Mode::Store };
                self.store.create(object, mode).map(|object| vec![object])
            }
            Request::Patch { resource, name, patch, subresource } => {
                let key = Key::new(*resource, NAMESPACE, name);
                self.store.patch(&key, patch, *subresource, Mode::Store).map(|object| vec![object])
            }
            Request::Delete { name, uid, version } => {
                let key = Key::new(Resource::ReplicaSets, NAMESPACE, name);
                let given = |text: &String| (!text.is_empty()).then(|| text.clone());
                let preconditions = Preconditions { uid: given(uid), resource_version: given(version) };
                let deletion = Deletion { preconditions, ..Deletion::default() };
                self.store.delete(&key, &deletion).map(|object| vec![object])
            }
        }
    }

    /// The Deployment's key.
    pub(crate) fn workload_key(&self) -> Key {
        Key::new(workloads_of(self.flavour), NAMESPACE, crate::engine::NAME)
    }

    /// A write of somebody else, through the main door.
    pub(crate) fn edit(&mut self, key: &Key, patch: serde_json::Value) {
        // Whoever edits what is not there any more has bad luck.
        _ = self.store.patch(key, &world::Patch::Merge(patch), Subresource::Main, Mode::Store);
        self.settle(Actor::Foreign);
    }
}

/// What happens to a request instead of its being served.
enum Trick {
    Refuse(u16),
    Write(WriteFault),
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
            Decided::Claim(claim) => format!("{claim:?}"),
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
        Decided::Claim(Claim::Adopt(_)) => ("accepted adopt", "conflict adopt"),
        Decided::Claim(Claim::Release(_)) => ("accepted release", "conflict release"),
        Decided::Mark => ("accepted mark", "conflict mark"),
    };
    Kind { accepted, conflict }
}

/// A refusal that the server has no reason for.
pub(crate) fn refusal(code: u16) -> Refusal {
    let reason = match code {
        403 => "Forbidden",
        404 => "NotFound",
        409 => "Conflict",
        422 => "Invalid",
        429 => "TooManyRequests",
        500 => "InternalError",
        503 => "ServiceUnavailable",
        504 => "Timeout",
        _ => "",
    };
    let message = format!("simulated {code}");
    Refusal::new(code, reason, message)
}

fn translate(refused: Refused) -> Refusal {
    let causes = refused.details.get("causes").and_then(serde_json::Value::as_array);
    let mut causes = causes.into_iter().flatten().filter_map(|cause| cause.get("reason")?.as_str());
    let namespace_terminating = causes.any(|reason| reason == "NamespaceTerminating");
    Refusal { namespace_terminating, ..Refusal::new(refused.code, &refused.reason, refused.message) }
}
