//! The ladder of an attempt: from a key to its reconcile, or to the reason why not now.
//!
//! Operator and simulator share it. Its order is the policy. First it settles what is in doubt. It plans
//! nothing from a cache that is behind the operator's own writes. Only then does it check whether the
//! rollout has a slot.

mod jobs;
mod listings;
mod live;
mod look;
mod orphans;
mod requests;
mod strays;

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use plan::{Action, Answers, Observed, Options, Pace, ReplicaSet, Requeue, StatusWrite, Why, Workload};

use crate::durations::{ASK_AGAIN, CACHE_PATIENCE, CACHE_PATIENCE_WITHOUT_WATCH, EARLY_AGAIN};
use crate::index::{Key, PackedSnapshot, Snapshot};
use crate::ledger::Readiness;
use crate::looks::Look;
use crate::next::Next;
use crate::port::{Note, Port};
use crate::queued::Telling;
use crate::reconcile::{self, Cluster as _, Outcome, Refusal};
use crate::starts;
use crate::state::{Engine, State};
use crate::waits::{Facts, Reason, Standing, Wait};

pub(crate) use listings::Listings;

/// One attempt at one key.
pub(crate) struct Attempt<'a, P> {
    engine: &'a Engine,
    port: &'a P,
    key: &'a Key,
    /// How long the server has asked this attempt to stay away.
    asked: Mutex<Option<Duration>>,
}

impl Engine {
    /// Reconciles a Deployment once, and returns when it comes again.
    pub async fn attempt<P: Port>(&self, port: &P, key: &Key) -> Next {
        let attempt = Attempt { engine: self, port, key, asked: Mutex::default() };
        let _slow = Slow { engine: self, key };
        let next = match attempt.ladder().await {
            Ok(next) => next,
            Err(refusal) => Next::Failed(refusal.into()),
        };
        if matches!(next, Next::Failed(_)) {
            attempt.failed();
        }
        next
    }
}

/// Ends what [`State::left_until`] has let begin, even if the attempt panics.
struct Slow<'a> {
    engine: &'a Engine,
    key: &'a Key,
}

impl Drop for Slow<'_> {
    fn drop(&mut self) {
        self.engine.state().slow.remove(self.key);
    }
}

impl<P: Port> Attempt<'_, P> {
    async fn ladder(&self) -> Result<Next, Refusal> {
        if let Some(next) = self.not_now() {
            return Ok(next);
        }
        self.settle_doubt().await?;
        let now = self.port.now();
        let cache = self.readiness(now);
        let is_early = self.engine.state().early.reads_live(self.key);
        if !is_early && let Some(next) = next(Facts { cache, ..Facts::at(now) }) {
            self.port.note(Note::CacheBehind);
            return Ok(next);
        }
        self.settle_strays().await?;
        self.look_for_orphans().await?;
        let seen = if is_early || cache == Readiness::Overdue {
            // The ledger keeps its entry: the cache is as old as it was, and the next reconcile must not plan from it
            // either. An owned ReplicaSet that it does not show would not be counted.
            self.port.note(if is_early { Note::ReadsEarly } else { Note::ReadsLive });
            self.read_live().await?
        } else {
            // Unpacked when the cache is free for others.
            let packed = self.engine.cache().packed(self.key);
            packed.map(PackedSnapshot::unpack).map(|Snapshot { workload, sets }| (workload, sets))
        };
        let Some((workload, sets)) = seen else {
            self.forget();
            return Ok(Next::Nothing);
        };
        let is_done = workload.status.is_complete(workload.replicas, workload.generation);
        let begun = self.port.timestamp();
        let observed = self.observed(workload, sets, begun);
        if let Standing::Wait(wait) = self.awaits_slot(&observed, begun) {
            return self.waits(wait, &observed.workload).await;
        }
        let next = self.reconcile(observed, begun).await;
        Ok(if self.engine.awaits_lists() { self.again(next, is_done) } else { next })
    }

    /// When to look again while lists are awaited. One that is complete leaves its place to another.
    fn again(&self, next: Next, is_done: bool) -> Next {
        if is_done {
            self.engine.state().early.completed(self.key);
            return next;
        }
        next.or(Wait { until: self.port.now() + EARLY_AGAIN, reason: Reason::Lists })
    }

    /// What keeps the key from its reconcile, whatever there is to do.
    fn not_now(&self) -> Option<Next> {
        if !self.port.is_ours() {
            self.forget();
            return Some(Next::Nothing);
        }
        if !self.engine.cache().covers(&self.key.namespace) {
            // Its lists are awaited, and requeue it.
            return Some(Next::Nothing);
        }
        let (mut state, now) = (self.engine.state(), self.port.now());
        if !state.early.admits(self.key, &self.engine.cache()) {
            // The lists are awaited, and requeue it.
            return Some(Next::Nothing);
        }
        let [spared_until, rival_until] = state.left_until(self.key, now);
        next(Facts { spared_until, rival_until, ..Facts::at(now) })
    }

    /// Whether the cache shows what was written before (S14.4).
    fn readiness(&self, now: Instant) -> Readiness {
        let is_broken = self.port.is_watch_broken();
        let patience = if is_broken { CACHE_PATIENCE_WITHOUT_WATCH } else { CACHE_PATIENCE };
        let mut state = self.engine.state();
        let cache = self.engine.cache();
        let known = state.known(self.key);
        let readiness =
            known.map_or(Readiness::Ready, |known| known.ledger.check(patience, self.key, &cache, now));
        drop(cache);
        if readiness == Readiness::Ready && !state.early.awaits_lists() {
            state.early.ended(self.key);
        }
        readiness
    }

    /// What keeps a reconcile from beginning, now that it is known what there is.
    fn awaits_slot(&self, observed: &Observed, time: Timestamp) -> Standing {
        let (settings, key, now) = (&self.engine.settings, self.key, self.port.now());
        let begins = settings.starts && starts::is_start(observed, time);
        let sets = &observed.sets;
        let mut state = self.engine.state();
        let is_served = sets.iter().all(ReplicaSet::is_served);
        let mut granted = if is_served { state.starts.served(key, now) } else { Vec::new() };
        if !begins {
            // Before a cooldown, so that no other rollout waits meanwhile for a slot that is not used.
            granted.extend(state.starts.declines(key, now));
        }
        // Bad news may come again after a write, for example when the server refused the status.
        let may_cool_down = settings.cooldowns && !state.queue.is_hurried(key);
        let cooldown_until = state.queue.cooldown_until(key, now).filter(|_| may_cool_down);
        let is_settled = sets.iter().all(ReplicaSet::is_settled);
        let facts = Facts { cooldown_until, is_settled, ..Facts::at(now) };
        let mut standing = facts.standing();
        if standing == Standing::Now && begins {
            let grant = state.starts.ask(key, now);
            granted.extend(grant.others);
            let queued_until = (!grant.is_now).then_some(now + ASK_AGAIN);
            standing = Facts { queued_until, ..facts }.standing();
        }
        // One that cools down may still be queued.
        if standing == Standing::Now {
            state.known(key).into_iter().for_each(|known| known.queued = None);
        }
        let requeued = state.requeue(granted, now);
        drop(state);
        self.tell_if(requeued);
        standing
    }

    /// Reports in the status that a rollout has waited long for a slot.
    async fn waits(&self, wait: Wait, workload: &Workload) -> Result<Next, Refusal> {
        let (flavour, now) = (self.engine.flavour, self.port.now());
        if wait.reason != Reason::Queued || !flavour.has_status_extras() {
            return Ok(Next::Wait(wait));
        }
        let Some(time) = self.engine.state().reports_queued(self.key, now) else {
            return Ok(Next::Wait(wait));
        };
        if time > now {
            return Ok(Next::Wait(Wait { until: wait.until.min(time), ..wait }));
        }
        if let Some(write) = StatusWrite::queued(flavour, workload, self.port.timestamp()) {
            self.act(workload, &Action::WriteStatus(Box::new(write))).await?;
        }
        self.engine.state().entry(self.key).queued = Some(Telling::Told);
        Ok(Next::Wait(wait))
    }

    /// One reconcile, and what it means for this Deployment and for others.
    async fn reconcile(&self, observed: Observed, begun: Timestamp) -> Next {
        let (workload, since) = (&observed.workload, self.port.now());
        self.port.note(Note::Begins(workload, &observed.sets));
        let uid = workload.uid.clone();
        let awaits_deadline = workload.status.awaits_deadline();
        let mut outcome = reconcile::run(self, observed, begun).await;
        if outcome.requeue == Requeue::Again && !awaits_deadline {
            // S9.15 asks again and again once the end is near. What was complete has no deadline (S9.11).
            outcome.requeue = Requeue::OnChange;
        }
        self.note_why(&uid, outcome.why.as_ref());
        let rival = self.note_reconcile(&uid, &outcome, begun);
        if let Some(next) = rival {
            return next;
        }
        let look = self.look(&outcome).await;
        let next = Next::after(outcome, begun, since);
        match look {
            Some(wait) => next.or(wait),
            None => next,
        }
    }

    /// A reconcile is over: what is remembered of it, and what keeps the key if another controller does.
    fn note_reconcile(&self, uid: &str, outcome: &Outcome, begun: Timestamp) -> Option<Next> {
        if is_through_with_pods(outcome) {
            self.port.note(Note::PodsNoMore);
        }
        let (key, now) = (self.key, self.port.now());
        let mut state = self.engine.state();
        state.entry(key).of(uid).memory.note_status(outcome, begun);
        if outcome.wrote_status {
            state.load.wrote(now);
        }
        let requeued = state.reconciled(key, outcome, now);
        let rival_until = state.known(key).and_then(|known| known.rivalry.yields_until(now));
        drop(state);
        self.tell_if(requeued);
        self.port.note(Note::Ended(outcome));
        next(Facts { rival_until, ..Facts::at(now) })
    }

    /// What a reconcile starts from that begins now.
    fn observed(&self, workload: Workload, sets: Vec<ReplicaSet>, now: Timestamp) -> Observed {
        let (flavour, key, uid) = (self.engine.flavour, self.key, &workload.uid);
        let mut state = self.engine.state();
        // One that was labelled meanwhile is no orphan any more.
        let is_hurried = state.queue.is_hurried(key);
        let is_busy =
            state.starts.has_waiting() || state.load.height(self.port.now()) >= self.engine.settings.busy_at;
        let entry = state.entry(key).of(uid);
        let mut orphans = entry.memory.orphans();
        orphans.retain(|name| sets.iter().all(|set| set.name != *name));
        let look = entry.look.as_deref();
        let findings = look.and_then(Look::findings);
        let evidence = look.map(Look::evidence).unwrap_or_default();
        let held = entry.pauses.left(workload.generation, self.port.now());
        let names_held = held.and_then(|left| now.checked_add(left).ok());
        let answers = Answers { orphans, findings, evidence, names_held, ..Answers::default() };
        let pace = if is_hurried {
            Pace::EachReconcile
        } else {
            let since = entry.memory.status_waits_since.unwrap_or(now);
            Pace::Paced { flavour, since: Some(since), is_busy }
        };
        let mut options = Options::new(true, pace).in_epoch(self.port.epoch());
        options.runs_jobs = self.engine.settings.runs_jobs;
        Observed { flavour, workload, sets, answers, options }
    }

    /// Decisions, each once.
    fn note_why(&self, uid: &str, why: Option<&Why>) {
        let Some(why) = why else { return };
        // What blocks it is noted by itself; its words change more often.
        let is_news =
            self.engine.state().entry(self.key).of(uid).memory.note_why(&why.unblocked().to_string());
        if is_news {
            self.port.note(Note::Why(&why.to_string()));
        }
    }

    /// Another rollout gets the slot that this one could not use; but while the server asks to be left alone, it
    /// would only be refused, too.
    fn failed(&self) {
        let now = self.port.now();
        let mut state = self.engine.state();
        if let Some(asked) = self.asked() {
            state.entry(self.key).patience.wait(now + asked);
            return;
        }
        let granted = state.starts.failed(self.key, now);
        let requeued = state.requeue(granted, now);
        drop(state);
        self.tell_if(requeued);
    }

    /// The Deployment is gone, or belongs to this operator no longer.
    fn forget(&self) {
        let requeued = self.engine.state().forget(self.key, self.port.now());
        self.port.note(Note::Forgotten);
        self.tell_if(requeued);
    }

    fn tell_if(&self, requeued: bool) {
        if requeued {
            self.port.note(Note::Requeued);
        }
    }

    fn asked(&self) -> Option<Duration> {
        *self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The server asked to be left alone for a while (`Retry-After`).
    fn heed(&self, refusal: &Refusal) {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        *asked = (*asked).max(refusal.retry_after);
    }
}

/// What keeps a key for which this is known.
fn next(facts: Facts) -> Option<Next> {
    match facts.standing() {
        Standing::Now => None,
        Standing::Wait(wait) => Some(Next::Wait(wait)),
    }
}

/// Whether the pods of the Deployment need not be watched any more.
fn is_through_with_pods(outcome: &Outcome) -> bool {
    outcome.why.as_ref().map(Why::itself) != Some(&Why::WaitingForTermination)
}

impl State {
    /// What a reconcile means for the key's cooldown and for those who wait. Returns whether others were requeued.
    fn reconciled(&mut self, key: &Key, outcome: &Outcome, now: Instant) -> bool {
        let wrote_sets = outcome.writes > usize::from(outcome.wrote_status);
        if wrote_sets {
            // The report may have left the counters to the reconcile that sees the outcome.
            self.queue.hurry_again(key);
        }
        if outcome.writes > 0 {
            let others = self.starts.others(key, now);
            self.queue.cool_down(key, others, now);
        }
        let granted = if outcome.why.as_ref().map(Why::itself) == Some(&Why::Converged) {
            self.starts.ended(key, now)
        } else if wrote_sets {
            self.starts.moved(key, now)
        } else {
            Vec::new()
        };
        self.requeue(granted, now)
    }
}

#[cfg(test)]
mod tests;
