//! How what operators do is seen, and which check looks at it.

use ::engine::durations::{HEED_AFTER, SLOTS_LOOK};
use ::engine::next::{Next, Scheduled};
use ::engine::waits::Reason;
use plan::keys::reason;
use plan::{Why, Workload};
use world::Resource;

use super::{FAILURES_MANY, Grant, Waiting, is_start};
use crate::checks::{news, promises, slots, waits};
use crate::engine::{Engine, Event, MILLISECOND, Time, nanoseconds};
use crate::fleet::Fleet;
use crate::link::{Decided, Decision, Ended, Reply, Request, Sent};
use crate::subject::Which;

/// Something that an attempt reported.
#[derive(Clone, Debug)]
pub(crate) enum Told {
    /// A reconcile begins; and whether it begins a rollout.
    Begins(bool),
    /// A reconcile wrote a ReplicaSet. The attempt continues: it may look at pods.
    Moved,
    /// The Deployment is left to another controller.
    GivesWay,
}

impl Told {
    pub(crate) fn begins(workload: &Workload, sets: &[plan::ReplicaSet]) -> Self {
        Self::Begins(is_start(workload, sets))
    }
}

/// Whether there is nothing to do for a Deployment before something happens.
fn is_at_rest(workload: &Workload) -> bool {
    let status = &workload.status;
    if workload.deleting {
        return true;
    }
    let moves = [reason::REPLICA_SET_UPDATED, reason::NEW_REPLICA_SET_CREATED, reason::FOUND_NEW_REPLICA_SET];
    let progressing = status.condition(plan::keys::condition::PROGRESSING);
    let awaits_deadline = workload.progress_deadline_seconds.is_some()
        && !workload.paused
        && progressing.is_some_and(|known| moves.contains(&known.reason.as_str()));
    status.observed_generation >= workload.generation && !awaits_deadline && promises::due(workload).is_none()
}

impl Engine<'_> {
    fn time(&self, at: std::time::Instant) -> Time {
        let until = at.saturating_duration_since(self.instant());
        self.now + nanoseconds(until)
    }

    pub(super) fn violates(&mut self, of: Which, verdict: Result<(), (&'static str, String)>) {
        if let Err((check, text)) = verdict {
            self.checks.fail(check, Err(format!("Deployment {of}: {text}")));
        }
    }

    /// Whether the operator could take a key now.
    pub(crate) fn judge_able(&mut self, id: u64) {
        let now = self.now;
        if let Some(operator) = self.operators.get_mut(&id).filter(|_| self.scenario.fleet.is_some()) {
            let is_able = operator.may_start();
            operator.conduct.is_able(is_able, now);
        }
    }

    /// A worker took a key.
    pub(crate) fn saw_taken(&mut self, id: u64, of: Which) {
        let now = self.now;
        let Some(operator) = self.operators.get_mut(&id).filter(|_| self.scenario.fleet.is_some()) else {
            return;
        };
        let namespace = self.subjects.get(of).map_or("", |subject| &subject.namespace);
        operator.conduct.may_use(of, namespace, now);
        let known = operator.conduct.of(of).clone();
        let verdict = waits::taken_in_time(&operator.conduct, &known, now);
        let at_once = news::taken_at_once(&operator.conduct, &known, now);
        let known = operator.conduct.of(of);
        known.taken(now);
        self.violates(of, verdict);
        self.violates(of, at_once.map_err(|text| ("BN-1", text)));
    }

    /// An attempt has come to where it asks for a slot.
    fn saw_asking(&mut self, id: u64, of: Which) {
        let now = self.now;
        let Some(truth) = self.subjects.get(of).map(|subject| &subject.truth) else { return };
        let Some(operator) = self.operators.get_mut(&id) else { return };
        let uid = truth.workload.as_ref().map(|workload| workload.uid.as_str()).unwrap_or_default();
        let has_pods = truth.owned().all(|owned| super::has_pods(&owned.set));
        let through = operator.sets.version;
        if has_pods && operator.conduct.shows_pods(of, uid, through) {
            operator.conduct.of(of).served(now);
        }
    }

    /// An attempt reported something.
    pub(crate) fn saw_told(&mut self, id: u64, of: Which, attempt: u64, told: &Told) {
        match told {
            Told::Begins(starts) => {
                self.saw_asking(id, of);
                self.saw_begin(id, of, attempt, *starts);
            }
            Told::Moved => {
                let now = self.now;
                if let Some(operator) = self.operators.get_mut(&id) {
                    operator.conduct.of(of).moved(now);
                }
            }
            Told::GivesWay => {
                self.coverage.hit("rival");
                let now = self.now;
                if let Some(operator) = self.operators.get_mut(&id) {
                    operator.conduct.of(of).heard = now;
                }
            }
        }
    }

    fn saw_begin(&mut self, id: u64, of: Which, attempt: u64, starts: bool) {
        let (now, namespace) = (self.now, self.subjects.get(of).map(|subject| subject.namespace.clone()));
        let Some(operator) = self.operators.get_mut(&id) else { return };
        let known = operator.conduct.of(of);
        let verdict = waits::nothing_in_doubt(known, attempt);
        // The rollout may have been let begin long before, while it waited for something else.
        let is_slow = known.failures >= FAILURES_MANY;
        let had_waited = known.queued.take().is_some() && !std::mem::take(&mut known.is_detained);
        if starts {
            known.begins(now);
        }
        if starts && had_waited {
            self.coverage.hit("granted");
            // A key that has failed often heeds its slot later, and the next namespace had a slot meanwhile.
            let late = if is_slow { nanoseconds(HEED_AFTER) } else { 0 };
            let namespace = namespace.unwrap_or_default();
            operator.conduct.grants.push(Grant { at: now.saturating_sub(late), namespace });
            operator.conduct.grants.sort_by_key(|grant| grant.at);
        }
        self.checks.fail("LD-1", verdict);
    }

    /// An attempt is over.
    pub(crate) fn saw_ended(&mut self, id: u64, ended: &Ended, scheduled: Scheduled) {
        let (now, of) = (self.now, ended.of);
        let wait = match (&ended.next, scheduled) {
            (Next::Wait(wait) | Next::After(wait), _) => Some((wait.reason, self.time(wait.until))),
            (_, Scheduled::Retry(delay, _)) => Some((Reason::BackingOff, self.time(self.instant() + delay))),
            _ => None,
        };
        if let Some((Reason::Cooldown | Reason::Queued, _)) = wait {
            self.saw_asking(id, of);
        }
        let namespace = self.subjects.get(of).map_or("", |subject| &subject.namespace).to_owned();
        let now_in_ms = now / MILLISECOND;
        self.trace.say(|| format!("{now_in_ms:>8} ms operator {id}: attempt at {of} ended: {wait:?}"));
        let Some(operator) = self.operators.get_mut(&id) else { return };
        let shown = (operator.workloads.newest, operator.sets.newest);
        operator.conduct.may_use(of, &namespace, now);
        let known = operator.conduct.of(of);
        known.is_in_work = false;
        known.ended = now;
        known.wait = wait.map(|(reason, until)| Waiting { reason, since: now, until });
        known.failures = match scheduled {
            Scheduled::Retry(_, count) => count,
            Scheduled::Waits => known.failures,
            Scheduled::Fine | Scheduled::Yielded | Scheduled::GivenUp => 0,
        };
        known.has_given_up = scheduled == Scheduled::GivenUp;
        if let (Next::Failed(_), Some(asked)) = (&ended.next, known.asking.take()) {
            known.asked = now + asked;
        }
        let was_asked = known.asked > now;
        let mut gave_back = false;
        if let Some(outcome) = &ended.outcome {
            if outcome.writes > 0 {
                known.wrote = now;
            }
            // A status uses no slot.
            if outcome.writes > usize::from(outcome.wrote_status) {
                known.granted = None;
            }
            if outcome.why.as_ref().map(Why::itself) == Some(&Why::Converged) {
                gave_back = known.slot.take().is_some();
            }
        }
        if matches!(ended.next, Next::Failed(_)) {
            known.granted = None;
            if !known.has_written && !was_asked {
                known.slot = None;
            }
        }
        let verdict = known.wait.map_or(Ok(()), |wait| waits::has_a_reason(known, shown, &wait));
        let is_used = news::slot_is_used(known, now);
        let is_queued = wait.is_some_and(|(reason, _)| reason == Reason::Queued);
        if is_queued {
            known.queued = known.queued.or(Some(now));
        }
        known.is_detained = known.queued.is_some() && !is_queued;
        if gave_back && operator.conduct.keys.values().any(|known| known.queued.is_some()) {
            self.coverage.hit("slot given back");
        }
        if is_queued {
            self.coverage.hit("queued");
            self.tick_on(id);
        }
        self.violates(of, verdict);
        self.violates(of, is_used.map_err(|text| ("TU-4", text)));
        self.saw_bad_news_told(id, ended);
        self.saw_promise(id, ended);
    }

    /// A reconcile went well, of what the server has, and wrote nothing that returns as an event.
    fn saw_promise(&mut self, id: u64, ended: &Ended) {
        let has_written = ended.outcome.as_ref().is_some_and(|outcome| outcome.writes > 0);
        if !matches!(ended.next, Next::After(_)) || has_written {
            return;
        }
        let of = ended.of;
        let workload = self.subjects.get(of).and_then(|subject| subject.truth.workload.as_deref());
        let Some((workload, operator)) = workload.zip(self.operators.get_mut(&id)) else { return };
        let version = workload.resource_version.parse().unwrap_or(u64::MAX);
        let known = operator.conduct.of(of);
        let wait = known.wait.filter(|_| known.news.is_none() && self.clock_off == 0);
        let due = promises::due(workload).and_then(|due| due.checked_add(promises::ROUNDING).ok());
        if let Some((wait, due)) = wait.zip(due).filter(|_| version <= operator.workloads.newest) {
            let due = self.time_of(due);
            if due > self.now {
                self.checks.premises.hit("UM-7: an attempt ends before a time that a status shows");
                self.violates(of, promises::is_kept(&wait, due).map_err(|text| ("UM-7", text)));
            }
        }
    }

    /// The key of a Deployment that is gone is forgotten by its attempt.
    pub(crate) fn saw_forgotten(&mut self, id: u64, of: Which) {
        if let Some(operator) = self.operators.get_mut(&id) {
            let known = operator.conduct.of(of);
            (known.slot, known.queued, known.granted) = (None, None, None);
            known.doubts.clear();
        }
    }

    /// A request of an attempt was answered.
    pub(crate) fn saw_answer(&mut self, id: u64, sent: &Sent, reply: &Reply) {
        let version = self.store.version();
        // A list has those of others, too.
        let sets = reply.iter().flatten().filter(|object| object.resource == Resource::ReplicaSets);
        let sets: Vec<_> =
            sets.map(|object| (object.uid().to_owned(), (self.whose(object), object.version()))).collect();
        let Some(operator) = self.operators.get_mut(&id).filter(|_| self.scenario.fleet.is_some()) else {
            return;
        };
        let (of, attempt) = (sent.of, sent.attempt);
        let refusal = match reply {
            Ok(_) => {
                let reads = !sent.request.is_write() || sent.decision.is_none() || is_mark(sent);
                if reads {
                    operator.conduct.ahead.extend(sets);
                }
                let known = operator.conduct.of(of);
                if sent.request.is_write() {
                    match sent.request {
                        Request::Patch {
                            resource: Resource::Deployments | Resource::AppsDeployments,
                            ..
                        } => {
                            known.known.0 = version;
                        }
                        _ => known.known.1 = version,
                    }
                }
                looked_at(known, &sent.request, version);
                return;
            }
            Err(refusal) => refusal,
        };
        let known = operator.conduct.of(of);
        if refusal.code == 404 {
            looked_at(known, &sent.request, version);
        }
        if let Some(asked) = refusal.retry_after {
            let asked = nanoseconds(asked);
            known.asking = known.asking.max(Some(asked));
        }
        // After a conflict, the cache is behind, as where a name is taken.
        let leaves_doubt = refusal.code == 0 || refusal.code >= 500 || refusal.code == 409;
        let set = match &sent.request {
            // A Job is read whenever it may be there.
            Request::Create { object, is_dry_run: false }
                if Request::created(object) == Resource::ReplicaSets =>
            {
                object.pointer("/metadata/name").and_then(serde_json::Value::as_str)
            }
            Request::Patch { resource: Resource::ReplicaSets, name, .. } => {
                Some(name.as_str()).filter(|_| sent.decision.is_some() && !is_mark(sent))
            }
            Request::Delete { resource: Resource::ReplicaSets, name, .. } => Some(name.as_str()),
            _ => None,
        };
        if let Some(set) = set.filter(|_| leaves_doubt) {
            known.doubts.insert(set.to_owned(), attempt);
        }
    }

    /// Slots are granted, and the next time is arranged for, as long as somebody waits.
    fn tick_on(&mut self, id: u64) {
        let look = nanoseconds(SLOTS_LOOK);
        let Some(operator) = self.operators.get_mut(&id).filter(|operator| !operator.conduct.is_ticking)
        else {
            return;
        };
        operator.conduct.is_ticking = true;
        let due = (self.now / look + 1) * look;
        self.at(due, Event::Tick(id));
    }

    /// Slots are granted: [`Engine::grant_slots`](::engine::Engine::grant_slots), every quarter of a second.
    pub(crate) fn tick(&mut self, id: u64) {
        let (now, at) = (self.now, self.instant());
        let limit = self.scenario.fleet.as_ref().map_or(1, Fleet::least);
        let subjects = &self.subjects;
        let Some(operator) = self.operators.get_mut(&id) else { return };
        operator.conduct.is_ticking = false;
        let kept = slots::kept_waiting(&operator.conduct, limit, now);
        let in_rotation = slots::rotate(&operator.conduct, now, |which| {
            subjects.get(which).map(|subject| subject.namespace.as_str())
        });
        operator.grant_slots(at);
        operator.conduct.give_away();
        operator.conduct.told = now;
        operator.conduct.waited = operator.conduct.queued();
        operator.conduct.room = limit.saturating_sub(operator.conduct.holders(now));
        let conduct = &operator.conduct;
        let text = || {
            let slots =
                conduct.keys.iter().filter_map(|(which, known)| Some((which, known.slot? / MILLISECOND)));
            let slots: Vec<_> = slots.collect();
            format!(
                "{:>8} ms operator {id}: slots; {:?} wait, slots until {slots:?}",
                now / MILLISECOND,
                conduct.queued()
            )
        };
        self.trace.say(text);
        let is_waiting = operator.conduct.keys.values().any(|known| known.queued.is_some());
        if let Some((check, text)) = kept {
            self.checks.fail(check, Err(text));
        }
        self.checks.fail("TU-3", in_rotation);
        self.nobody_is_forgotten(id);
        if is_waiting {
            self.tick_on(id);
        }
        self.set_alarm(id);
    }

    /// KF-1 of all Deployments that an operator has been shown.
    pub(crate) fn nobody_is_forgotten(&mut self, id: u64) {
        let Some(operator) = self.operators.get(&id).filter(|_| self.scenario.fleet.is_some()) else {
            return;
        };
        if !operator.may_start() {
            return;
        }
        let shown = (operator.workloads.version, operator.sets.version);
        let mut verdicts = Vec::new();
        for (which, subject) in self.subjects.iter().enumerate() {
            let Some(workload) = &subject.truth.workload else { continue };
            let (of_workload, of_sets) = subject.truth.changed;
            let known = operator.conduct.keys.get(&which);
            let has_given_up = known.is_some_and(|known| known.has_given_up);
            let is_shown = of_workload <= shown.0 && of_sets <= shown.1;
            if is_shown && !has_given_up {
                let comes = operator.comes(subject);
                verdicts.push(waits::remembered(which, is_at_rest(workload), comes, known));
            }
        }
        for verdict in verdicts {
            self.checks.fail("KF-1", verdict);
        }
    }
}

/// Whether it puts the operator's label on a ReplicaSet.
fn is_mark(sent: &Sent) -> bool {
    let is_mark = |decision: &Decision| matches!(decision.why, Decided::Mark);
    sent.decision.as_deref().is_some_and(is_mark)
}

/// A ReplicaSet in doubt was looked at.
fn looked_at(known: &mut super::Known, request: &Request, version: u64) {
    if let Request::Get(Resource::ReplicaSets, name) = request
        && known.doubts.remove(name).is_some()
    {
        known.known.1 = version;
    }
}
