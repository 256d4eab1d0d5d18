//! Operators and the server: passes that send, requests that arrive, answers that come back or
//! do not.

mod server;

use ::engine::next::Scheduled;
use ::engine::pass::Refusal;
use world::{Key, Mode, Subresource};

use crate::actor::Actor;
use crate::engine::{Engine, Event, MILLISECOND, NAMESPACE, SECOND};
use crate::history::workloads_of;
use crate::link::{Ended, Reply, Request, Sent, lock};
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
