//! Operators and the server: reconciles that send, requests that arrive, answers that arrive or do not.

mod server;
mod trick;

use ::engine::next::Scheduled;
use ::engine::reconcile::Refusal;
use world::{Key, Mode, Subresource};

use crate::actor::Actor;
use crate::engine::{Engine, Event, MILLISECOND, SECOND, Time, nanoseconds};
use crate::link::{Ended, Reply, Sent, lock};
use crate::operator::{Operator, Polled, Watch};
use crate::scenario::{LookFault, WriteFault};
use crate::tenant;
use trick::Trick;

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
        let mut operator =
            Operator::new(id, self.flavour, self.scenario, self.instant(), self.operator_wall());
        if back > 0 {
            let version = self.version_before(back);
            let now = self.instant();
            operator.list(Watch::Workloads, &self.history, version, now);
            operator.list(Watch::Sets, &self.history, version, now);
        }
        self.operators.insert(id, operator);
        if back > 0 {
            let version = self.version_before(back);
            self.saw_list(id, Watch::Workloads, version);
            self.saw_list(id, Watch::Sets, version);
        }
        for watch in [Watch::Workloads, Watch::Sets] {
            if let Some(operator) = self.operators.get_mut(&id) {
                operator.cursor(watch).is_due = true;
            }
            // The list of ReplicaSets is the longest. Where nothing goes wrong, it is short.
            let is_long = watch == Watch::Sets && id > 1;
            let most = if is_long { 5 * SECOND } else { 100 * MILLISECOND };
            let delay = self.delay(MILLISECOND, most);
            self.after(delay, Event::News(id, watch));
        }
    }

    /// Kill -9: what it knew is gone; what it sent is not.
    pub(crate) fn kill(&mut self, id: u64) {
        self.note_death(id);
        if self.operators.remove(&id).is_some() {
            self.trace.note(&[self.now, 4, id]);
            let delay = self.delay(100 * MILLISECOND, 3 * SECOND);
            self.after(delay, Event::Start(0));
        }
    }

    /// An operator dies: does anybody wait for a slot?
    pub(crate) fn note_death(&mut self, id: u64) {
        let dying = self.operators.get(&id);
        if dying.is_some_and(|operator| operator.conduct.keys.values().any(|known| known.queued.is_some())) {
            self.coverage.hit("takeover while queued");
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
            let after = cursor.version;
            operator.read(watch, &self.history, version, now);
            self.saw_news(id, watch, after);
        } else {
            operator.list(watch, &self.history, version, now);
            self.saw_list(id, watch, version);
        }
        self.set_alarm(id);
    }

    /// Arranges for an operator to look at its queue in time.
    pub(crate) fn set_alarm(&mut self, id: u64) {
        self.judge_able(id);
        self.note_watches(id);
        let now = self.instant();
        let at = self.now;
        let Some(operator) = self.operators.get_mut(&id) else { return };
        let Some(due) = operator.next_due(now) else { return };
        let due = at.saturating_add(nanoseconds(due.saturating_duration_since(now)));
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
        if !operator.has_worker() {
            return;
        }
        match operator.start(now) {
            Some((attempt, of)) => {
                self.saw_taken(id, of);
                self.count_lures(of);
                self.go_on(id, attempt);
            }
            None => self.set_alarm(id),
        }
    }

    /// Lets an attempt of an operator run until it waits for an answer or is over, and then those that
    /// waited for it.
    fn go_on(&mut self, id: u64, attempt: u64) {
        if self.poll(id, attempt) {
            loop {
                let blocked = self.operators.get(&id).map_or_else(Vec::new, Operator::blocked);
                if !blocked.into_iter().any(|attempt| self.poll(id, attempt)) {
                    break;
                }
            }
        }
        self.set_alarm(id);
    }

    /// Lets one attempt run. Whether it got anywhere.
    fn poll(&mut self, id: u64, attempt: u64) -> bool {
        let (now, wall) = (self.instant(), self.operator_wall());
        let Some(operator) = self.operators.get_mut(&id) else { return false };
        operator.set_clocks(now, wall, self.holds.broken > 0);
        let polled = operator.poll(attempt);
        for event in std::mem::take(&mut lock(&operator.surroundings).told) {
            self.checks.requests.told(id, &event, self.now);
        }
        self.hear(id);
        match polled {
            Polled::Idle => return false,
            Polled::Sends(sent) => self.send(id, sent),
            Polled::Ended(key, ended) => {
                let Some(operator) = self.operators.get_mut(&id) else { return true };
                let scheduled = operator.finish(&key, &ended, now);
                let events = std::mem::take(&mut lock(&operator.surroundings).events);
                for reason in events {
                    self.coverage.hit(reason);
                }
                self.ended(&ended, scheduled);
                if self.scenario.fleet.is_some() {
                    self.saw_ended(id, &ended, scheduled);
                }
            }
        }
        true
    }

    /// What attempts of an operator reported since it was last asked.
    fn hear(&mut self, id: u64) {
        let Some(operator) = self.operators.get(&id) else { return };
        let mut surroundings = lock(&operator.surroundings);
        let forgotten = std::mem::take(&mut surroundings.forgotten);
        let notes = std::mem::take(&mut surroundings.notes);
        drop(surroundings);
        if self.scenario.fleet.is_none() {
            return;
        }
        for of in forgotten {
            self.saw_forgotten(id, of);
        }
        for (of, attempt, told) in notes {
            self.saw_told(id, of, attempt, &told);
        }
    }

    fn ended(&mut self, ended: &Ended, scheduled: Scheduled) {
        match scheduled {
            Scheduled::Retry(..) => self.coverage.hit("retry"),
            Scheduled::Waits => self.coverage.hit("waits"),
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
            if view.is_scaling() && view.owned().filter(|set| set.set.is_active()).count() > 1 {
                self.coverage.hit("scaled in proportion");
            }
            if let Some(subject) = self.subjects.get(ended.of) {
                self.checks.reconciled(view, &subject.truth, subject.is_alone);
            }
        }
    }

    /// A request leaves an operator.
    fn send(&mut self, id: u64, sent: Sent) {
        if !tenant::owns(sent.of) {
            self.checks.requests.sent(id, &sent, self.now);
        }
        let fault = self.fault_of(&sent);
        let latency = self.latency(sent.of);
        let sent = Box::new(sent);
        match fault {
            None => self.after(latency, Event::Arrive(id, sent)),
            Some(Trick::Refuse(code)) => {
                self.coverage.hit(if sent.request.is_write() {
                    "fault refused"
                } else {
                    "fault read refused"
                });
                self.reply(2 * latency, id, &sent, Err(refusal(code)));
            }
            Some(Trick::Look(fault)) => self.disturb(id, sent, fault, latency),
            Some(Trick::Write(WriteFault::RetryAfter(seconds))) => {
                self.coverage.hit("retry after");
                self.reply(2 * latency, id, &sent, Err(spare(seconds)));
            }
            Some(Trick::Write(WriteFault::CrashBefore)) => {
                self.coverage.hit("fault crash before");
                self.kill(id);
            }
            Some(Trick::Write(WriteFault::Zombie(delay))) => {
                self.coverage.hit("fault zombie");
                self.is_meddled_with(sent.of);
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

    /// Faults of a look at pods.
    fn disturb(&mut self, id: u64, sent: Box<Sent>, fault: LookFault, latency: Time) {
        match fault {
            LookFault::Refused(code) => {
                self.coverage.hit("fault look refused");
                self.reply(2 * latency, id, &sent, Err(refusal(code)));
            }
            LookFault::Silence => {
                self.coverage.hit("fault look silence");
                self.reply(DEADLINE, id, &sent, Err(refusal(0)));
            }
            LookFault::Slow(delay) => {
                self.coverage.hit("fault look slow");
                self.after(delay * MILLISECOND, Event::Arrive(id, sent));
            }
            LookFault::Stale(delay) => {
                self.coverage.hit("fault look stale");
                let reply = self.carry_out(id, &sent);
                self.reply(delay * MILLISECOND, id, &sent, reply);
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
                self.reply(MILLISECOND, id, sent, reply);
                self.after(MILLISECOND, Event::Die(id));
            }
            WriteFault::LostAnswer => {
                self.coverage.hit("fault lost answer");
                self.reply(MILLISECOND, id, sent, Err(refusal(504)));
            }
            _ => {
                self.coverage.hit("fault silence");
                self.reply(DEADLINE, id, sent, Err(refusal(0)));
            }
        }
    }

    /// An answer goes back.
    fn reply(&mut self, delay: Time, id: u64, sent: &Sent, reply: Reply) {
        self.saw_answer(id, sent, &reply);
        self.after(delay, Event::Answer(id, sent.attempt, Box::new(reply)));
    }

    pub(crate) fn arrive(&mut self, id: u64, sent: &Sent) {
        // The write of somebody who has died meanwhile.
        if !self.operators.contains_key(&id) && sent.request.is_write() {
            self.is_meddled_with(sent.of);
        }
        let reply = self.carry_out(id, sent);
        if !self.operators.contains_key(&id) && sent.request.is_write() {
            self.coverage.hit(if reply.is_ok() { "zombie accepted" } else { "zombie rejected" });
        }
        if let Some(object) = reply.as_ref().ok().and_then(|objects| objects.first())
            && sent.decision.is_some()
        {
            self.checks.requests.answered(id, object);
        }
        let latency = self.latency(sent.of);
        self.reply(latency, id, sent, reply);
    }

    pub(crate) fn answer(&mut self, id: u64, attempt: u64, reply: Reply) {
        let Some(operator) = self.operators.get_mut(&id) else { return };
        operator.reply(attempt, reply);
        self.go_on(id, attempt);
    }

    /// A write of somebody else, through the main door.
    pub(crate) fn edit(&mut self, key: &Key, patch: serde_json::Value) {
        // An edit of what is not there any more fails.
        _ = self.store.patch(key, &world::Patch::Merge(patch), Subresource::Main, Mode::Store);
        self.settle(Actor::Foreign);
    }
}

/// A refusal by a server that has too much to do.
pub(crate) fn spare(seconds: u64) -> Refusal {
    Refusal { retry_after: Some(std::time::Duration::from_secs(seconds)), ..refusal(429) }
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
