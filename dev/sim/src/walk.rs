//! At which step a rollout may be by the words of its users (list, promotions, time), and by what its pods have shown.
//! Computed here once more, so that a mistake of the planner does not excuse itself (SP-1, SP-2, SP-5, SP-6).

mod listed;

use jiff::Timestamp;
use plan::intstr::IntOrPercent;
use plan::keys::{DESIRED_REPLICAS, HASH_LABEL, PROMOTE};
use plan::{Pin, ReplicaSet, Until, UpdateStep, Workload};
use serde_json::Value;

use crate::shown::after;
use crate::verdict::{memory, pin, revision, says, serves};
use listed::named;
pub(crate) use listed::{ceiling, end, first_with, list, seconds, steps, time};

fn scaled_for(set: &ReplicaSet) -> Option<i64> {
    set.annotations.get(DESIRED_REPLICAS)?.parse().ok()
}

/// The promotion of a revision: its whole text.
fn asked(workload: &Workload, number: i64) -> Option<&str> {
    let text = workload.annotations.get(PROMOTE)?;
    (text.split('/').next()?.parse() == Ok(number)).then_some(text.as_str())
}

/// What a ReplicaSet remembers of its steps.
pub(crate) fn remembered(set: &ReplicaSet) -> Option<Value> {
    memory(set)?.get("steps").cloned()
}

/// A word of that.
pub(crate) fn word(set: &ReplicaSet, field: &str) -> Option<String> {
    remembered(set)?.get(field)?.as_str().map(str::to_owned)
}

/// The step that a ReplicaSet remembers, from 0; the end if it remembers none.
pub(crate) fn step_of(set: &ReplicaSet, steps: &[UpdateStep]) -> Option<usize> {
    let remembered = remembered(set)?;
    remembered.get("kept")?;
    let step = remembered.get("step").and_then(Value::as_u64).and_then(|step| usize::try_from(step).ok());
    Some(step.map_or(end(steps), |step| step.saturating_sub(1)).min(end(steps)))
}

/// Whether a ReplicaSet has no steps, since nothing else had pods when it was declared (SP-4).
pub(crate) fn is_first(set: &ReplicaSet) -> bool {
    remembered(set).is_some_and(|steps| steps.as_object().is_some_and(serde_json::Map::is_empty))
}

/// Whether it has none because it is known to be good (SP-9).
pub(crate) fn is_skipped(workload: &Workload, set: &ReplicaSet) -> bool {
    says(set, "Good") && (workload.good_skips_steps || remembered(set).is_none())
}

type Known = (Option<String>, Option<usize>, bool);

fn known(set: &ReplicaSet, steps: &[UpdateStep]) -> Known {
    (word(set, "list"), step_of(set, steps), word(set, "reached").is_some())
}

/// The promotion that the operator handled last.
fn heard(set: &ReplicaSet) -> Option<String> {
    memory(set)?.get("promote")?.as_str().map(str::to_owned)
}

/// How far the declared ReplicaSet may go, at the most.
#[derive(Clone, Debug)]
pub(crate) struct Bound {
    pub(crate) uid: String,
    revision: i64,
    list: Vec<IntOrPercent>,
    /// The highest step at which it may be, and where it might be before the last change.
    pub(crate) step: usize,
    pub(crate) before: usize,
    /// Since when the step has been reached, at the earliest.
    reached: Option<Timestamp>,
    /// When its wait ends, if nothing breaks it, the step at which it is then, and whether that is reached already.
    over: Option<(Timestamp, usize, bool)>,
    /// Where it was reached last, and has not been left since.
    pub(crate) rested: Option<usize>,
    /// The promotion that counted last.
    heard: Option<String>,
    /// The size of the Deployment that a promotion counts by.
    replicas: i64,
    /// Its size, and the one of the Deployment that it was scaled for then.
    size: (i64, Option<i64>),
    had_failed: bool,
    /// Whether somebody deleted what the ReplicaSet remembers: then it continues where what runs has room.
    pub(crate) is_lost: bool,
    /// Whether somebody wrote another promotion before the last one was handled, which may not count then.
    pub(crate) is_unheard: bool,
    /// Whether the list was edited, and no operator has noted it yet.
    is_unnoted: bool,
    /// By what the operator recognizes the list, the step at which it is, and whether it knows that this is reached.
    known: Known,
}

/// The walk of one Deployment.
#[derive(Debug, Default)]
pub(crate) struct Bounds {
    /// Whether the clock of operators is off at some time of the run: then no wait is sure to last.
    is_untimed: bool,
    had_steps: bool,
    pub(crate) bound: Option<Bound>,
    /// The bounds of those that were declared before.
    aside: Vec<Bound>,
    /// When sizes, numbers of pods, or words of users changed last, or a memory was lost.
    pub(crate) stirred: Timestamp,
    form: Vec<String>,
}

impl Bounds {
    pub(crate) fn new(is_untimed: bool) -> Self {
        Self { is_untimed, ..Self::default() }
    }

    /// There is no Deployment.
    pub(crate) fn forget(&mut self) {
        (self.had_steps, self.bound, self.aside) = (false, None, Vec::new());
    }

    /// After a change of the Deployment or of one of its ReplicaSets.
    pub(crate) fn next(
        &mut self,
        workload: &Workload,
        (sets, declared): (&[&ReplicaSet], Option<&ReplicaSet>),
        now: Timestamp,
        opens: &dyn Fn(&str, usize) -> bool,
    ) {
        let known = self.bound.take();
        let Some(steps) = steps(workload) else {
            self.had_steps = false;
            self.aside.clear();
            return;
        };
        let form = form(workload, sets);
        if self.form != form {
            (self.form, self.stirred) = (form, now);
        }
        let had_steps = std::mem::replace(&mut self.had_steps, true);
        let Some((set, number)) = declared.and_then(|set| Some((set, revision(set)?))) else {
            self.bound = known;
            return;
        };
        let is_known = |known: &Bound| known.uid == set.uid && known.revision == number;
        let is_same = |known: &Bound| is_known(known) && (!known.had_failed || says(set, "Failed"));
        let was_there = known.as_ref().is_some_and(is_known);
        let was_at_end = known.as_ref().is_some_and(|known| known.step == end(steps));
        // The write that gives it its number may scale it, too; the operator looked at the size of before.
        let before =
            known.as_ref().filter(|known| known.uid == set.uid).map_or(set.size, |known| known.size.0);
        // A template that returns before an operator has seen another one was never away.
        self.aside.extend(known);
        let kept = self.aside.iter().rposition(is_same).map(|place| self.aside.remove(place));
        self.aside.retain(|known| known.uid != set.uid);
        let mut bound = match kept {
            Some(known) => known,
            None => {
                // What serves, or is retried while no other one has pods, loses none (SP-9).
                let is_alone = || sets.iter().all(|other| other.uid == set.uid || other.size == 0);
                let is_new = had_steps && if was_there { !is_alone() } else { !serves(sets, set) };
                let fresh = Bound::fresh(workload, steps, (set, number, before), (is_new, was_there));
                // One that failed at the end stays there, whatever R has become since: nothing keeps other pods (SP-9).
                let step = if was_there && was_at_end && !is_new { end(steps) } else { fresh.step };
                Bound { step, ..fresh }
            }
        };
        bound.end_wait(now);
        bound.before = bound.step;
        if bound.follow(workload, steps, set) {
            self.stirred = now;
        }
        let opens = |step: usize| opens(&set.uid, step);
        bound.hear(workload, steps, set, &opens);
        while bound.advances(workload, steps, (sets, set), (now, self.is_untimed), &opens) {}
        self.bound = Some(bound);
    }
}

impl Bound {
    /// Of a ReplicaSet that is declared now, or retried: then no promotion of before counts.
    fn fresh(
        workload: &Workload,
        steps: &[UpdateStep],
        (set, number, size): (&ReplicaSet, i64, i64),
        (is_new, is_retried): (bool, bool),
    ) -> Self {
        let step = if is_new { 0 } else { first_with(steps, size, workload.replicas) };
        Self {
            uid: set.uid.clone(),
            revision: number,
            list: list(steps),
            step,
            before: step,
            reached: None,
            over: None,
            rested: None,
            heard: heard(set).filter(|_| is_retried),
            replicas: workload.replicas,
            size: (set.size, scaled_for(set)),
            had_failed: false,
            is_lost: false,
            is_unheard: false,
            is_unnoted: false,
            known: known(set, steps),
        }
    }

    /// Whether it is about this list.
    pub(crate) fn is_of(&self, steps: &[UpdateStep]) -> bool {
        self.list == list(steps)
    }

    /// Its wait may have ended since the last change.
    fn end_wait(&mut self, now: Timestamp) {
        if let Some((end, next, is_there)) = self.over.take().filter(|(end, ..)| *end <= now) {
            (self.step, self.reached) = (next, is_there.then_some(end));
        }
    }

    /// What others did to the list and to the memory. Returns whether the memory is lost by that.
    fn follow(&mut self, workload: &Workload, steps: &[UpdateStep], set: &ReplicaSet) -> bool {
        let replicas = workload.replicas;
        if self.list != list(steps) {
            self.list = list(steps);
            (self.step, self.reached) = (first_with(steps, set.size, replicas), None);
            (self.rested, self.is_unnoted) = (None, true);
            self.forget_unheard(set);
        }
        if self.replicas != replicas {
            self.replicas = replicas;
            self.forget_unheard(set);
        }
        let known = known(set, steps);
        let is_noted = known.0 != self.known.0;
        if is_noted || self.is_unnoted {
            // The rollout continues from the size that it had then; who does not know the list may scale it before.
            let (size, scaled_for) = self.size;
            let with = |replicas| first_with(steps, size, replicas);
            self.step = self.step.max(scaled_for.map_or(with(replicas), with).min(with(replicas)));
        }
        self.is_unnoted &= !is_noted;
        let is_lost = known.0.is_none() && self.known.0.is_some();
        self.is_lost |= is_lost;
        if self.known.1 == known.1 && self.known.2 && !known.2 {
            // The wait broke.
            self.reached = None;
        }
        (self.known, self.had_failed) = (known, says(set, "Failed"));
        self.size = (set.size, scaled_for(set));
        is_lost
    }

    /// A promotion that the operator has not handled yet counts by the list and the size that there are then.
    fn forget_unheard(&mut self, set: &ReplicaSet) {
        self.heard = self.heard.take().filter(|text| heard(set).as_ref() == Some(text));
    }

    fn hear(
        &mut self,
        workload: &Workload,
        steps: &[UpdateStep],
        set: &ReplicaSet,
        opens: &dyn Fn(usize) -> bool,
    ) {
        let known = self.heard.as_deref();
        let Some(text) = asked(workload, self.revision).filter(|text| known != Some(*text)) else { return };
        self.is_unheard |= self.heard.is_some() && heard(set) != self.heard;
        if let Some(step) = named(steps, text, workload.replicas).filter(|step| *step > self.step) {
            // GA-8: while no operator has refused it, the gate may still pass.
            let is_closed = |step: usize| steps.get(step).is_some_and(|it| it.gate.is_some()) && !opens(step);
            let is_barred = text.split('/').nth(2) != Some("force") && (self.step..step).any(is_closed);
            if is_barred && heard(set).as_deref() != Some(text) {
                return;
            }
            if !is_barred {
                (self.step, self.reached) = (step, None);
            }
        }
        self.heard = Some(text.to_owned());
    }

    /// Whether it leaves its step by itself.
    fn advances(
        &mut self,
        workload: &Workload,
        steps: &[UpdateStep],
        (sets, set): (&[&ReplicaSet], &ReplicaSet),
        (now, is_untimed): (Timestamp, bool),
        opens: &dyn Fn(usize) -> bool,
    ) -> bool {
        let Some(step) = steps.get(self.step).filter(|_| self.step < end(steps)) else { return false };
        let ceiling = ceiling(steps, self.step, workload.replicas);
        let is_other = |pin: &Pin| set.labels.get(HASH_LABEL) != Some(&pin.pod_template_hash);
        let is_frozen = workload.paused || pin(workload).is_some_and(is_other);
        if is_frozen || !is_reached(workload, (steps, self.step), sets, set) {
            return false;
        }
        let reached = *self.reached.get_or_insert(now);
        self.rested = Some(self.step).filter(|_| !step.until.is_empty());
        // GA-1: beside all else, the gate has to pass.
        if step.gate.is_some() && !opens(self.step) {
            return false;
        }
        let is_over = match time(step) {
            None => step.until.iter().all(|until| *until == Until::Gate),
            Some(_) if is_untimed || ceiling == 0 => true,
            Some(seconds) => {
                // A rollout immediately passes those that ask for no more pods.
                let is_free = |at: usize, step: &UpdateStep| {
                    step.until.iter().all(|until| *until == Until::Gate) && (step.gate.is_none() || opens(at))
                };
                let has_none =
                    |at: usize| at < end(steps) && steps.get(at).is_none_or(|step| is_free(at, step));
                let is_passed = |at: &usize| has_none(*at) && is_reached(workload, (steps, *at), sets, set);
                let next = (self.step + 1..).find(|at| !is_passed(at)).unwrap_or(self.step + 1);
                let is_there = next < end(steps) && is_reached(workload, (steps, next), sets, set);
                self.over = Some((after(reached, seconds), next, is_there));
                after(reached, seconds) <= now
            }
        };
        if is_over {
            (self.step, self.reached, self.over) = (self.step + 1, None, None);
        }
        is_over
    }
}

/// What a write at a rest may be about.
fn form(workload: &Workload, sets: &[&ReplicaSet]) -> Vec<String> {
    let of_set = |set: &&ReplicaSet| format!("{} {} {:?}", set.uid, set.size, set.status);
    sets.iter().map(of_set).chain([format!("{} {:?}", workload.generation, workload.annotations)]).collect()
}

/// Whether the pods of a step are there, and one other ReplicaSet has all that is left. R counts, or the number for
/// which the sizes were computed.
fn is_reached(
    workload: &Workload,
    at: (&[UpdateStep], usize),
    sets: &[&ReplicaSet],
    declared: &ReplicaSet,
) -> bool {
    let before = scaled_for(declared).filter(|_| workload.replicas > 0);
    [Some(workload.replicas), before]
        .into_iter()
        .flatten()
        .any(|replicas| is_reached_with(replicas, at, sets, declared))
}

/// The same for one number of replicas. At a step that does not wait, the other ReplicaSet may have been cut for the next step
/// already, and what runs may have more than the step allows.
fn is_reached_with(
    replicas: i64,
    (steps, step): (&[UpdateStep], usize),
    sets: &[&ReplicaSet],
    declared: &ReplicaSet,
) -> bool {
    let ceiling = ceiling(steps, step, replicas);
    let waits = steps.get(step).is_some_and(|step| !step.until.is_empty());
    let others = || sets.iter().filter(|set| set.uid != declared.uid && set.size > 0);
    let (left, size) = (replicas - ceiling, others().map(|set| set.size).sum::<i64>());
    replicas > 0
        && (declared.size == ceiling || declared.size > ceiling && !waits)
        && declared.status.available >= ceiling
        && (size == left || size < left && !waits)
        && others().count() <= 1
}
