//! At which step the rollout of the declared ReplicaSet is, which one keeps the other pods meanwhile, and what of this
//! is to be remembered (SP-2 to SP-6, SP-9; rollwright.dev only).
//!
//! The memory of it stands on the declared ReplicaSet, and is written with the size that follows from it. Without
//! it, the rollout goes on at the first step that has room for what runs.

use jiff::{SignedDuration, Timestamp};

use crate::action::Event;
use crate::conditions::whole_seconds;
use crate::judge::{Proof, Rulings};
use crate::keys::{PROMOTE, condition, reason};
use crate::memory::{Memory, Shown, newer};
use crate::observed::{Observed, ReplicaSet, Strategy, Workload};
use crate::position::{Fresh, Position, Rest, Walk};
use crate::record::Promotion;
use crate::requests::asked;
use crate::revision;
use crate::runs::{is_held, run};
use crate::sets::{Counted, Sets};
use crate::stage::{Resting, Stage, Until, Walked};
use crate::steps::Steps;

/// What is looked at.
#[derive(Clone, Copy)]
struct Scene<'a> {
    workload: &'a Workload,
    steps: Steps<'a>,
    sets: &'a Sets<'a>,
    now: Timestamp,
}

/// Where the rollout is. What is to be remembered joins the notes of the rulings.
pub(crate) fn walk(observed: &Observed, sets: &Sets<'_>, rulings: &mut Rulings, now: Timestamp) -> Walked {
    let workload = &observed.workload;
    let is_rolling = matches!(workload.strategy, Strategy::RollingUpdate { .. });
    let is_known = is_rolling && observed.flavour.has_safeguards() && !workload.deleting;
    if workload.steps.is_empty() || !is_known {
        return Walked::default();
    }
    let (steps, skips_proven) = (Steps(&workload.steps), workload.skips_proven);
    let scene = Scene { workload, steps, sets, now };
    if newer(observed, sets).is_some() {
        return Walked { stage: scene.remembered(skips_proven), ..Walked::default() };
    }
    let is_proven = sets.declared.is_some_and(|index| rulings.of(index) == Proof::Good);
    let next = revision::next_of(sets).number;
    let is_new = sets.declared().is_none_or(|set| revision::of(set).or_zero() < next);
    let runs = run(workload, sets, rulings).1.is_none();
    if is_new || rulings.is_retried {
        let fresh = if is_proven && skips_proven { Fresh::default() } else { scene.begin(next, rulings) };
        rulings.begin(sets.declared, fresh.walk.as_ref());
        let position = fresh.walk.as_ref().and_then(Walk::position).filter(|_| runs);
        let stage = position.and_then(|position| scene.stage(position, rulings));
        return Walked { fresh, stage };
    }
    let (Some(index), Some(set), true) = (sets.declared, sets.declared(), runs) else {
        return Walked::default();
    };
    let stored = rulings.memory(index, set);
    if is_proven && (skips_proven || stored.walk.is_none()) {
        return Walked::default();
    }
    let Some(position) = scene.position(stored.walk.as_ref(), rulings) else { return Walked::default() };
    let mut pace = Pace { scene, position, memory: stored.clone(), events: Vec::new() };
    if !rulings.is_new_failure() {
        pace.go_on(rulings);
        let Pace { position, memory, events, .. } = &mut pace;
        let memory = Memory { walk: Some(Walk::At(position.clone())), ..memory.clone() };
        if memory != stored {
            rulings.remember(index, memory, std::mem::take(events));
        }
    }
    let stage = scene.stage(&pace.position, rulings);
    rulings.due = rulings.due.into_iter().chain(stage.as_ref().and_then(|stage| stage.rest?.time())).min();
    Walked { fresh: Fresh::default(), stage }
}

impl<'a> Scene<'a> {
    fn counted(&self, index: usize) -> Counted {
        self.sets.counted.get(index).copied().unwrap_or_default()
    }

    /// The numbers of the declared set.
    fn run(&self) -> Counted {
        self.sets.declared.map_or_else(Counted::default, |index| self.counted(index))
    }

    /// Where the declared revision is by its memory alone: what a newer operator left stops it there (SP-10).
    fn remembered(&self, skips_proven: bool) -> Option<Stage> {
        let memory = self.sets.declared().and_then(Memory::valid)?;
        let is_proven = memory.shown == Some(Shown::Good) && skips_proven;
        let position = memory.walk.as_ref().and_then(Walk::position).filter(|_| !is_proven)?;
        let rulings = Rulings::default();
        let runs = run(self.workload, self.sets, &rulings).1.is_none();
        self.stage(position, &rulings).filter(|_| runs)
    }

    /// Where a revision begins that is declared now, or retried: at the first step, unless no other one has pods
    /// (SP-4), or somebody has promoted it already. What was heard before a retry is not heard again.
    fn begin(&self, revision: i64, rulings: &Rulings) -> Fresh {
        let promote = asked(self.workload, PROMOTE, revision).filter(|_| !rulings.is_retried);
        let step = promote.as_ref().and_then(|text| self.promoted(text)).unwrap_or(0);
        let position = self.at(step, rulings);
        let is_ahead = position.is_some() && step > 0;
        let promotion = is_ahead.then(|| self.promotion(step));
        Fresh { walk: Some(position.map_or(Walk::Without, Walk::At)), promote, promotion }
    }

    /// The step that a promotion names.
    fn promoted(&self, text: &str) -> Option<usize> {
        self.steps.named(text.split('/').nth(1)?, self.workload.replicas)
    }

    /// One that is carried out now.
    fn promotion(&self, step: usize) -> Promotion {
        let author = self.workload.authors.promotion.as_ref();
        Promotion {
            step: i64::try_from(step.saturating_add(1)).unwrap_or(i64::MAX),
            manager: author.map(|author| author.manager.clone()).unwrap_or_default(),
            at: Some(whole_seconds(self.now)),
        }
    }

    /// The position at a step, with the best set that is there now; `None` if no other one has pods.
    fn at(&self, step: usize, rulings: &Rulings) -> Option<Position> {
        let has_pods = |(_, set): (usize, &ReplicaSet)| set.is_active() || set.status.replicas > 0;
        if !self.sets.olds().any(has_pods) {
            return None;
        }
        let kept = self.sets.get(self.best(rulings)?)?.name.clone();
        let step = Some(step).filter(|step| *step < self.steps.end());
        Some(Position { kept, list: self.steps.digest(), step, rest: None })
    }

    /// The newest set that is good, or was about to become so; without any, the one with the most available pods.
    fn best(&self, rulings: &Rulings) -> Option<usize> {
        let olds = || self.sets.olds().filter(|(_, set)| !set.deleting);
        let is_proven =
            |(index, set): &(usize, &ReplicaSet)| rulings.of(*index) == Proof::Good || self.bakes(set);
        let newest =
            olds().filter(is_proven).max_by_key(|(index, set)| (revision::of(set).or_zero(), *index));
        let largest = || olds().max_by_key(|(index, set)| (self.counted(*index).available, set.size, *index));
        newest.or_else(largest).map(|(index, _)| index)
    }

    /// Whether it was declared until now, complete, and baked without a break.
    fn bakes(&self, set: &ReplicaSet) -> bool {
        let Workload { replicas, strategy, status, .. } = self.workload;
        let bake = status.ours.bake.as_ref();
        bake.is_some_and(|bake| Some(bake.revision) == revision::of(set).number())
            && set.status.available >= strategy.floor((*replicas).min(set.size))
    }

    /// Where the declared revision is by its memory. What is lost of that follows from what runs (SP-2).
    fn position(&self, known: Option<&Walk>, rulings: &Rulings) -> Option<Position> {
        let Some(known) = known else { return self.at(self.first_with_room(), rulings) };
        let position = known.position()?;
        if self.kept(position).is_some() {
            return Some(position.clone());
        }
        let kept = self.sets.get(self.best(rulings)?)?.name.clone();
        Some(Position { kept, ..position.clone() })
    }

    /// The first step that has room for what runs, at R, or at the one that this was last scaled for.
    fn first_with_room(&self) -> usize {
        let (run, replicas) = (self.run(), self.workload.replicas);
        let before = run.desired.filter(|_| run.is_active()).unwrap_or(replicas);
        self.steps.first_with(run.size, before).min(self.steps.first_with(run.size, replicas))
    }

    /// Index of the set that is kept.
    fn kept(&self, position: &Position) -> Option<usize> {
        self.sets.olds().find(|(_, set)| set.name == position.kept && !set.deleting).map(|(index, _)| index)
    }

    fn step(&self, position: &Position) -> usize {
        position.step.unwrap_or(self.steps.end()).min(self.steps.end())
    }

    fn ceiling(&self, step: usize) -> i64 {
        self.steps.ceiling(step, self.workload.replicas)
    }

    fn stage(&self, position: &Position, rulings: &Rulings) -> Option<Stage> {
        let (step, end, keep) = (self.step(position), self.steps.end(), self.kept(position)?);
        let rank = |index: &usize| match rulings.of(*index) {
            Proof::Failed => 0,
            Proof::Unproven => 1,
            Proof::Good => 2,
        };
        let mut order: Vec<usize> =
            self.sets.olds().map(|(index, _)| index).filter(|it| *it != keep).collect();
        order.sort_by_key(rank);
        // What runs may have more than its step allows, as a revision that is declared again: it is on its way.
        let is_there = self.is_reached(step, keep) && self.run().size == self.ceiling(step);
        let is_reached = is_there && !self.workload.paused;
        let rest = position.rest.filter(|_| is_reached).and_then(|rest| self.resting(step, rest));
        let since = position.rest.map(|rest| rest.since);
        let is_idle = self.workload.replicas == 0 && step < end;
        let rest = rest.or(is_idle.then_some(Resting { since, until: Until::Replicas }));
        let is_at_rest = self.is_at_rest(step, keep);
        Some(Stage { step, end, ceiling: self.ceiling(step), keep, order, is_at_rest, rest })
    }

    /// What a step waits for.
    fn resting(&self, step: usize, Rest { since, .. }: Rest) -> Option<Resting> {
        let of = self.steps.get(step)?;
        // `since` lacks the fraction of its second.
        let time = |seconds: i64| {
            let length = SignedDuration::from_secs(seconds.saturating_add(1));
            since.checked_add(length).unwrap_or(Timestamp::MAX)
        };
        let until = match of.seconds {
            _ if of.until_promoted => Until::Promoted,
            Some(seconds) => Until::Time(time(seconds)),
            None => return None,
        };
        Some(Resting { since: Some(since), until })
    }

    /// SP-5: the sizes are those of the step, their pods are there, and the statuses show it.
    fn is_reached(&self, step: usize, keep: usize) -> bool {
        let (ceiling, run, kept) = (self.ceiling(step), self.run(), self.counted(keep).size);
        let left = self.workload.replicas - ceiling;
        // Without a pause, the kept set may have been cut for the next step already, by a reconcile that ended before
        // this set grew.
        let has_pause = self.steps.get(step).is_some_and(|of| of.until_promoted || of.seconds.is_some());
        let is_cut = kept < left && !has_pause;
        let mut others = self.sets.olds().filter(|(index, _)| *index != keep);
        let mut sets = self.sets.all.iter().enumerate();
        self.workload.replicas > 0
            && step < self.steps.end()
            && run.size >= ceiling
            && run.available >= ceiling
            && (kept == left || is_cut)
            && others.all(|(_, set)| set.size == 0 && set.status.replicas == 0)
            && sets.all(|(index, set)| index == keep && is_cut || set.is_served())
    }

    /// SP-7. Each set is compared with the R that it was last scaled for: a reconcile may have ended between two.
    fn is_at_rest(&self, step: usize, keep: usize) -> bool {
        let (kept, run) = (self.counted(keep), self.run());
        let replicas = |set: Counted| set.desired.unwrap_or(self.workload.replicas);
        let left = |replicas: i64| replicas - self.steps.ceiling(step, replicas);
        let mut others = self.sets.olds().filter(|(index, _)| *index != keep);
        // What has no pods was not scaled when R changed.
        let last = if run.size > 0 { run } else { kept };
        run.size == self.steps.ceiling(step, replicas(last))
            && (kept.size == 0 || kept.size == left(replicas(kept)))
            && others.all(|(_, set)| set.size == 0)
    }
}

/// A rollout that goes on, as far as it may.
struct Pace<'a> {
    scene: Scene<'a>,
    position: Position,
    memory: Memory,
    events: Vec<Event>,
}

impl Pace<'_> {
    fn go_on(&mut self, rulings: &Rulings) {
        let Scene { workload, sets, now, .. } = self.scene;
        let now = whole_seconds(now);
        // Paused and frozen, it stays, and the time begins anew after that.
        let status = &workload.status;
        let stalled = status.condition(condition::STALLED).filter(|stalled| stalled.status == "True");
        let was_frozen =
            stalled.is_some_and(|known| known.reason == reason::NEWER_SPEC) || status.ours.target.is_some();
        // SP-10
        let is_frozen = workload.paused || is_held(workload, sets, rulings);
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
        if let Some(rest) = &mut self.position.rest
            && let Some(stopped) = rest.stopped.take()
        {
            // Both times lack the fractions of their seconds.
            let stood = SignedDuration::from_secs(now.duration_since(stopped).as_secs().saturating_add(1));
            rest.since = rest.since.checked_add(stood).unwrap_or(now).min(now);
        }
        self.follow_list();
        self.hear();
        while !is_frozen && self.advance(now) {}
    }

    /// SP-2: an edited list goes on where what runs has room.
    fn follow_list(&mut self) {
        let list = self.scene.steps.digest();
        if self.position.list != list {
            self.position.list = list;
            self.move_to(self.scene.first_with_room());
        }
    }

    fn move_to(&mut self, step: usize) {
        self.position.step = Some(step).filter(|step| *step < self.scene.steps.end());
        self.position.rest = None;
    }

    /// SP-6.
    fn hear(&mut self) {
        let Scene { steps, workload, .. } = self.scene;
        let revision = self.memory.revision;
        let heard =
            asked(workload, PROMOTE, revision).filter(|text| self.memory.promote.as_ref() != Some(text));
        let Some(text) = heard else { return };
        let (now_at, of) = (self.scene.step(&self.position), steps.end() + 1);
        match self.scene.promoted(&text) {
            Some(step) if step > now_at => {
                let message = format!("Revision {revision} is promoted to step {} of {of}", step + 1);
                self.events.push(Event::normal(reason::PROMOTED, message));
                self.memory.promotions.push(self.scene.promotion(step));
                Promotion::cut(&mut self.memory.promotions);
                self.move_to(step);
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
                let message = format!(
                    "{PROMOTE}={text} names no step: write {revision}/ and a number of pods, a percentage, or all"
                );
                self.events.push(Event::warning(reason::PROMOTION_REFUSED, message));
            }
        }
        self.memory.promote = Some(text);
    }

    /// Whether it leaves the step where it is, or else what it waits for there.
    fn advance(&mut self, now: Timestamp) -> bool {
        let scene = self.scene;
        let step = scene.step(&self.position);
        let (Some(of), Some(keep)) = (scene.steps.get(step), scene.kept(&self.position)) else {
            return false;
        };
        let (ceiling, available) = (scene.ceiling(step), scene.run().available);
        let is_reached = scene.is_reached(step, keep);
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
        // Without a pod, time shows nothing.
        let is_void = is_first && ceiling == 0 && of.seconds.is_some() && !of.until_promoted;
        if is_first {
            self.reached(step, is_void);
        }
        let is_over = || match scene.resting(step, rest) {
            None => true,
            Some(rest) => is_void || rest.time().is_some_and(|until| until <= now),
        };
        // The kept set may have been cut already, by a reconcile that ended before this set grew.
        if available.min(scene.run().size) < ceiling || !is_over() {
            return false;
        }
        self.move_to(step + 1);
        true
    }

    fn reached(&mut self, step: usize, is_void: bool) {
        let Scene { steps, workload, .. } = self.scene;
        let (number, of, updated) = (step + 1, steps.end() + 1, self.scene.run().size);
        let why = if is_void { "; its pause has no effect, because no pod is updated" } else { "" };
        let message = format!(
            "Revision {} has reached step {number} of {of}: {updated} of {} pods are updated{why}",
            self.memory.revision, workload.replicas
        );
        self.events.push(Event::normal(reason::STEP_REACHED, message));
    }
}
