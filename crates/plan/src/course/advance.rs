//! At which step the rollout of the declared ReplicaSet is, which one keeps the other pods meanwhile, and what of this
//! the ReplicaSet has to remember (SP-2 to SP-6, SP-9; rollwright.dev only).
//!
//! The memory of it stands on the declared ReplicaSet, and is written with the size that follows from it. Without it,
//! the rollout continues at the first step that has room for what runs.

use jiff::{SignedDuration, Timestamp};

use crate::course::judge::Judgment;
use crate::course::memory::{Memory, Proof};
use crate::course::requests::asked;
use crate::course::situation::Situation;
use crate::course::stage::{Rollout, Stage, Wait};
use crate::course::view::View;
use crate::model::action::Event;
use crate::model::conditions::whole_seconds;
use crate::model::keys::{DESIRED_REPLICAS, PROMOTE, ROLLOUT, condition, reason};
use crate::model::position::{Fresh, Position, Rest, Walk};
use crate::model::record::Promotion;
use crate::model::revision;
use crate::model::steps::STEP_NAMES;

/// What the steps come to in a reconcile.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Advanced {
    /// What a revision remembers from the start that this reconcile declares.
    pub(crate) fresh: Fresh,
    /// Where the declared revision is, if it runs and has steps.
    pub(crate) stage: Option<Stage>,
    /// What the declared ReplicaSet has to remember, with what is reported then, if that is news.
    pub(crate) memory: Option<Box<(Memory, Vec<Event>)>>,
    /// When the wait at the step ends by itself.
    pub(crate) due: Option<Timestamp>,
    /// The step that it has reached, if its gate has to pass (GA-1).
    pub(crate) gate: Option<usize>,
}

/// Where the rollout is, and how far it advances.
pub(crate) fn advance(view: View<'_>, judgment: &Judgment, situation: &Situation, is_held: bool) -> Advanced {
    let Some(rollout) = Rollout::new(view, judgment) else {
        let memory = forgotten(view, judgment).filter(|_| situation.is_declared());
        return Advanced { memory, ..Advanced::default() };
    };
    let View { sets, .. } = view;
    let (good_skips_steps, runs) = (rollout.workload.good_skips_steps, situation.is_declared());
    let is_proven = sets.declared.is_some_and(|index| judgment.of(index) == Proof::Good);
    let next = revision::next_of(sets).number;
    if view.begun().is_none() || judgment.ruling.is_retried {
        let fresh = if is_proven && good_skips_steps { Fresh::default() } else { rollout.begin(next) };
        let position = fresh.walk.as_ref().and_then(Walk::position).filter(|_| runs);
        let stage = position.map(|position| rollout.stage(position));
        // A revision that is retried begins again among its steps, in the write of the retry (SP-9).
        let retried = judgment.ruling.memory.as_deref().filter(|_| judgment.ruling.is_retried);
        let begun = |memory: &Memory| (Memory { walk: fresh.walk.clone(), ..memory.clone() }, Vec::new());
        let memory = retried.map(begun).map(Box::new);
        return Advanced { fresh, stage, memory, due: None, gate: None };
    }
    let Some(set) = sets.declared().filter(|_| runs) else { return Advanced::default() };
    let stored = judgment.ruling.memory.as_deref().cloned().unwrap_or_else(|| Memory::known(set));
    if is_proven && (good_skips_steps || stored.walk.is_none()) {
        return Advanced::default();
    }
    let Some(position) = rollout.position(stored.walk.as_ref()) else { return Advanced::default() };
    rollout.gone_on(position, &stored, is_held || matches!(situation, Situation::Failed { .. }))
}

/// What is left to remember without steps: those that come later find the revision where it is then.
fn forgotten(view: View<'_>, judgment: &Judgment) -> Option<Box<(Memory, Vec<Event>)>> {
    let workload = view.workload();
    let is_asked = workload.steps.is_empty() && view.observed.flavour.has_safeguards() && !workload.deleting;
    let (_, set) = view.begun().filter(|_| is_asked && !judgment.ruling.is_failure())?;
    // To read all of it costs more.
    set.annotations.get(ROLLOUT).filter(|text| text.contains("\"steps\""))?;
    let stored = judgment.ruling.memory.as_deref().cloned().unwrap_or_else(|| Memory::known(set));
    let is_ahead = stored.walk.as_ref()?.position()?.step.is_some();
    is_ahead.then(|| Box::new((Memory { walk: None, ..stored }, Vec::new())))
}

impl Advanced {
    /// Where the declared revision is by its memory alone: what a newer operator left stops it there (SP-10).
    pub(crate) fn remembered(view: View<'_>, judgment: &Judgment, situation: &Situation) -> Self {
        let stage = Rollout::new(view, judgment).and_then(Rollout::remembered);
        Self { stage: stage.filter(|_| situation.is_declared()), ..Self::default() }
    }
}

impl<'a> Rollout<'a> {
    /// The rollout as far as it may go. While a failure is not stored yet, that is nowhere (FP-2).
    fn gone_on(self, position: Position, stored: &Memory, is_held: bool) -> Advanced {
        if self.judgment.ruling.is_failure() {
            return self.at_stage(&position, None);
        }
        let mut advance = Advance { rollout: self, position, memory: stored.clone(), events: Vec::new() };
        advance.go_on(is_held);
        let Advance { position, memory, events, .. } = advance;
        let memory = Memory { walk: Some(Walk::At(position.clone())), ..memory };
        // A process begins with its rollout (CU-1).
        let is_due = position.rest.is_some() || self.steps.is_custom();
        let gate = is_due.then(|| self.step(&position)).filter(|step| self.awaits_gate(*step));
        let advanced = self.at_stage(&position, (memory != *stored).then(|| Box::new((memory, events))));
        Advanced { gate, ..advanced }
    }

    fn at_stage(self, position: &Position, memory: Option<Box<(Memory, Vec<Event>)>>) -> Advanced {
        // The time of a step that was reached runs, whatever happens to sizes meanwhile.
        let rest = position.rest.filter(|rest| rest.stopped.is_none());
        let wait = rest.and_then(|rest| self.wait(self.step(position), rest));
        let due = wait.as_ref().and_then(Wait::end).filter(|end| *end > self.view.now);
        Advanced { fresh: Fresh::default(), stage: Some(self.stage(position)), memory, due, gate: None }
    }

    fn remembered(self) -> Option<Stage> {
        let memory = self.view.sets.declared().and_then(Memory::valid)?;
        let is_proven = memory.shown == Proof::Good && self.workload.good_skips_steps;
        let position = memory.walk.as_ref().and_then(Walk::position).filter(|_| !is_proven)?;
        Some(self.stage(position))
    }

    /// Where a revision begins that is declared now, or retried: at the first step, unless no other one has pods
    /// (SP-4), or somebody has promoted it already. The operator does not repeat a request that it handled before a
    /// retry.
    fn begin(&self, revision: i64) -> Fresh {
        let is_heard = !self.judgment.ruling.is_retried && !self.steps.is_custom();
        let promote = asked(self.workload, PROMOTE, revision).filter(|_| is_heard);
        // GA-8: one that skips a gate is left to the next reconcile, which refuses it, or knows that no gate counts.
        let is_gated =
            |to: usize| (0..to).any(|step| self.steps.get(step).is_some_and(|of| of.gate.is_some()));
        let promote = promote.filter(|text| !self.promoted(text).is_some_and(is_gated));
        let promoted = promote.as_ref().and_then(|text| self.promoted(text)).unwrap_or(0);
        // What serves loses no pod to a way back that begins.
        let step = if self.serves() { promoted.max(self.first_with_room()) } else { promoted };
        let position = self.at(step).or_else(|| self.begun_again(step));
        let is_ahead = position.is_some() && promoted > 0;
        let promotion = is_ahead.then(|| self.promotion(promoted, false));
        let walk = Some(position.map_or(Walk::Without, Walk::At));
        Fresh { walk, promote, promotion, ..Fresh::default() }
    }

    /// The position of one that is retried where nothing keeps the other pods any more: its steps still hold, unless it
    /// came to their end before it failed (SP-9).
    fn begun_again(&self, step: usize) -> Option<Position> {
        let index = self.view.sets.declared.filter(|_| self.judgment.ruling.is_retried)?;
        let known = self.judgment.memory(index)?.walk.as_ref()?.position()?;
        let step = known.step.and(Some(step)).filter(|step| *step < self.steps.end());
        let (list, allowed) = (self.steps.digest(), self.allowance());
        Some(Position { step, list, rest: None, allowed, ..known.clone() })
    }

    /// The step that a promotion names.
    fn promoted(&self, text: &str) -> Option<usize> {
        self.steps.named(text.split('/').nth(1)?, self.workload.replicas)
    }

    /// One that is carried out now.
    pub(crate) fn promotion(&self, step: usize, is_forced: bool) -> Promotion {
        let author = self.workload.authors.promotion.as_ref();
        Promotion {
            step: i64::try_from(step.saturating_add(1)).unwrap_or(i64::MAX),
            manager: author.map(|author| author.manager.clone()).unwrap_or_default(),
            time: Some(whole_seconds(self.view.now)),
            is_forced,
        }
    }

    /// The position at a step, with the ReplicaSet that keeps the other pods; `None` where there is none to do so.
    fn at(&self, step: usize) -> Option<Position> {
        let kept = self.view.sets.get(self.keeper()?)?.name.clone();
        let step = Some(step).filter(|step| *step < self.steps.end());
        Some(Position { kept, list: self.steps.digest(), step, rest: None, allowed: self.allowance() })
    }

    /// Where the declared revision is by its memory. What is lost of that follows from what runs (SP-2).
    fn position(&self, known: Option<&Walk>) -> Option<Position> {
        // Without memory and without replicas, what ran has no steps: it had all pods.
        let Some(known) = known else {
            return self.at(self.first_with_room()).filter(|_| self.workload.replicas > 0);
        };
        let position = known.position()?;
        if self.kept(position).is_some_and(|kept| self.still_keeps(kept)) {
            return Some(position.clone());
        }
        let idle = || self.last_good().filter(|_| !self.is_first_choice());
        match self.keeper().or_else(idle).and_then(|index| self.view.sets.get(index)) {
            Some(kept) => Some(Position { kept: kept.name.clone(), ..position.clone() }),
            // Nothing takes its place. What runs stays at its step, which somebody chose.
            None => Some(position.clone()).filter(|_| self.step(position) < self.steps.end()),
        }
    }

    /// The first step that has room for what runs, at R, or at the one that this was last scaled for.
    fn first_with_room(&self) -> usize {
        let (run, replicas) = (self.run(), self.workload.replicas);
        let before = run.desired.filter(|_| run.is_active()).unwrap_or(replicas);
        self.steps.first_with(run.size, before).min(self.steps.first_with(run.size, replicas))
    }
}

/// A rollout that advances as far as it may.
pub(crate) struct Advance<'a> {
    pub(crate) rollout: Rollout<'a>,
    pub(crate) position: Position,
    pub(crate) memory: Memory,
    pub(crate) events: Vec<Event>,
}

impl Advance<'_> {
    fn go_on(&mut self, is_held: bool) {
        let workload = self.rollout.workload;
        let now = whole_seconds(self.rollout.view.now);
        // A paused or frozen rollout stays at its step, and the time starts again after that.
        let status = &workload.status;
        let stalled = status.condition(condition::STALLED).filter(|stalled| stalled.status == "True");
        let was_frozen =
            stalled.is_some_and(|known| known.reason == reason::NEWER_SPEC) || status.ours.target.is_some();
        // SP-10
        let is_frozen = workload.paused || is_held;
        if was_frozen || is_frozen {
            self.position.rest = None;
        }
        // A time in the future means that the clock was set back.
        if let Some(rest) = &mut self.position.rest {
            rest.since = rest.since.min(now);
        }
        if workload.replicas == 0 {
            // No step is reached or left, and the clock stands still.
            if let Some(rest) = &mut self.position.rest {
                (rest.pods, rest.stopped) = (0, rest.stopped.or(Some(now)));
            }
            return;
        }
        let stopped = self.position.rest.as_mut().and_then(|rest| rest.stopped.take());
        let kept = self.rollout.kept(&self.position).and_then(|kept| self.rollout.view.sets.get(kept));
        // `Counted` has this only of those with a size.
        let scaled_for = kept.and_then(|kept| kept.annotations.get(DESIRED_REPLICAS));
        if let Some((rest, stopped)) = self.position.rest.as_mut().zip(stopped) {
            // Both times lack the fractions of their seconds.
            let stood = SignedDuration::from_secs(now.duration_since(stopped).as_secs().saturating_add(1));
            rest.since = rest.since.checked_add(stood).unwrap_or(now).min(now);
        } else if scaled_for.is_some_and(|replicas| replicas == "0") {
            // The kept ReplicaSet was scaled for no replicas, and the write that stops the clock was lost (SP-5).
            self.position.rest = None;
        }
        self.follow_list();
        self.take_promotion();
        while !is_frozen && self.leave_step(now) {}
    }

    /// SP-2: after an edit of the list, the rollout continues where what runs has room.
    fn follow_list(&mut self) {
        let list = self.rollout.steps.digest();
        if self.position.list != list {
            self.position.list = list;
            self.position.allowed = self.rollout.allowance();
            self.move_to(self.rollout.first_with_room());
        }
    }

    fn move_to(&mut self, step: usize) {
        self.position.step = Some(step).filter(|step| *step < self.rollout.steps.end());
        self.position.rest = None;
    }

    /// SP-6.
    fn take_promotion(&mut self) {
        if self.take_allowance() {
            return;
        }
        let Rollout { steps, workload, .. } = self.rollout;
        let revision = self.memory.revision;
        let heard =
            asked(workload, PROMOTE, revision).filter(|text| self.memory.promote.as_ref() != Some(text));
        let Some(text) = heard else { return };
        let (now_at, of) = (self.rollout.step(&self.position), steps.end() + 1);
        let promoted = self.rollout.promoted(&text);
        // GA-8: what waits for a Job waits for it.
        let gate = promoted.and_then(|step| (now_at..step).find(|step| self.rollout.awaits_gate(*step)));
        let is_forced = gate.is_some() && text.split('/').nth(2) == Some("force");
        match promoted {
            Some(step) if step > now_at && (gate.is_none() || is_forced) => {
                let message = format!("Revision {revision} is promoted to step {} of {of}", step + 1);
                self.events.push(Event::normal(reason::PROMOTED, message));
                self.memory.promotions.push(self.rollout.promotion(step, is_forced));
                Promotion::cut(&mut self.memory.promotions);
                self.move_to(step);
            }
            Some(step) if step > now_at => {
                let what = gate.map_or_else(String::new, |gate| workload.checkpoint(gate).words());
                let name = text.split('/').nth(1).unwrap_or_default();
                let message =
                    format!("{what} has not passed: wait, or write {PROMOTE}={revision}/{name}/force");
                self.events.push(Event::warning(reason::PROMOTION_REFUSED, message));
            }
            Some(step) if step < now_at => {
                let at = now_at + 1;
                let message = format!(
                    "{PROMOTE}={text} names step {} of {of}, and revision {revision} is at step {at}: name one ahead",
                    step + 1
                );
                self.events.push(Event::warning(reason::PROMOTION_REFUSED, message));
            }
            Some(_) => {}
            None => {
                let message =
                    format!("{PROMOTE}={text} names no step: write {revision}/ followed by {STEP_NAMES}");
                self.events.push(Event::warning(reason::PROMOTION_REFUSED, message));
            }
        }
        self.memory.promote = Some(text);
    }

    /// Whether it leaves the step where it is, or else what it waits for there.
    fn leave_step(&mut self, now: Timestamp) -> bool {
        let rollout = self.rollout;
        let step = rollout.step(&self.position);
        if step >= rollout.steps.end() {
            return false;
        }
        // CU-3: a process that succeeds allows all.
        if rollout.steps.is_custom() && !rollout.awaits_gate(step) {
            self.move_to(step + 1);
            return true;
        }
        let keep = rollout.kept(&self.position);
        let (ceiling, available) = (rollout.ceiling(step), rollout.run().available);
        let is_reached = rollout.is_reached(step, keep);
        let rest = match self.position.rest {
            // The break of a wait.
            Some(rest) if available < rest.pods.min(ceiling) => None,
            Some(rest) if available >= ceiling => Some(Rest { pods: ceiling, ..rest }),
            Some(rest) => Some(Rest { pods: rest.pods.min(ceiling), ..rest }),
            None => is_reached.then_some(Rest { since: now, pods: ceiling, stopped: None }),
        };
        let is_first = self.position.rest.is_none();
        self.position.rest = rest;
        let Some(rest) = rest else { return false };
        let wait = rollout.wait(step, rest);
        let end = wait.as_ref().and_then(Wait::end);
        // Without a pod, time shows nothing.
        let is_void = is_first && ceiling == 0 && end.is_some();
        if is_first {
            self.reached(step, is_void);
        }
        let is_over = wait.is_none() || is_void || end.is_some_and(|end| end <= now);
        // The kept ReplicaSet may have been cut already, by a reconcile that ended before this ReplicaSet grew.
        if available.min(rollout.run().size) < ceiling || !is_over {
            return false;
        }
        self.move_to(step + 1);
        true
    }

    fn reached(&mut self, step: usize, is_void: bool) {
        let Rollout { steps, workload, .. } = self.rollout;
        let (number, of, updated) = (step + 1, steps.end() + 1, self.rollout.run().size);
        if workload.is_custom() && updated == 0 {
            return;
        }
        let why = if is_void { "; waitSeconds has no effect, because no pod is updated" } else { "" };
        let place = workload
            .allowed()
            .map_or_else(|| format!("step {number} of {of}"), |it| format!("{it} of its pods"));
        let message = format!(
            "Revision {} has reached {place}: {updated} of {} pods are updated{why}",
            self.memory.revision, workload.replicas
        );
        self.events.push(Event::normal(reason::STEP_REACHED, message));
    }
}
