//! UM-1, UM-2, UM-4, UM-6, UM-9, UM-20: what users mean by a way back, by a canary, by what they put aside, and by a
//! rollout. These checks read what users wrote, and which ReplicaSets there were. Of the operator's memory they read
//! the verdicts, and which ReplicaSet a step keeps.

use std::collections::{BTreeMap, BTreeSet};

use plan::intstr::IntOrPercent;
use plan::keys::{HASH_LABEL, RETRY, condition, reason};
use plan::{FailureAction, FailurePolicy, ReplicaSet, Strategy, Trigger, Workload};

use crate::actor::Actor;
use crate::checks::steps::{is_current, resized, stepped};
use crate::checks::{Accepted, Verdict};
use crate::truth::{SetTruth, Truth};
use crate::verdict::{began, pin, revision, says};
use crate::walk::{ceiling, end, is_skipped, list, steps, word};

/// What users asked for last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Asked {
    template: String,
    pin: Option<String>,
    retry: Option<String>,
    policy: Option<FailurePolicy>,
}

/// What may begin a rollout, aside from what is asked for: none of it is about the way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Setting {
    annotations: plan::Map,
    paused: bool,
    is_recreate: bool,
}

/// What is remembered of the acts of users, by uids of ReplicaSets.
#[derive(Debug, Default)]
pub(crate) struct Meant {
    asked: Asked,
    setting: Setting,
    generation: i64,
    /// What should run by the last act, if it is there.
    wanted: Option<String>,
    /// All that was ever to run, in the order of the first time.
    ever: Vec<String>,
    /// What the last way back left.
    left: Option<String>,
    /// What a pin, a rollback, or an abort put aside, and what ran instead.
    aside: BTreeMap<String, String>,
    /// What was declared while there were no replicas, although another revision is good.
    canaries: BTreeSet<String>,
    /// Why another revision runs than the declared one, as the status reports it.
    because: Option<String>,
    /// How often anybody else than the operator has written something, an edit of the way excepted (UM-6).
    acts: u64,
    /// The record that began last: its id, of what it is, and how it began.
    record: Option<(i64, Rollout, Beginning)>,
    /// Whether the record still runs.
    is_open: bool,
    /// The list of steps when the record ended, if that was because the rollout was late.
    late_at: Option<Vec<IntOrPercent>>,
}

/// Of what a record is: a revision, which one runs instead of the declared one, and how many acts came before.
#[derive(Debug, PartialEq, Eq)]
struct Rollout {
    revision: i64,
    instead: Option<String>,
    acts: u64,
}

/// The revision before, and why the rollout began.
type Beginning = (Option<i64>, Option<Trigger>);

impl Setting {
    fn of(workload: &Workload) -> Self {
        let is_recreate = workload.strategy == Strategy::Recreate;
        Self { annotations: workload.annotations.clone(), paused: workload.paused, is_recreate }
    }

    fn is_of(&self, workload: &Workload) -> bool {
        (self.paused, self.is_recreate) == (workload.paused, workload.strategy == Strategy::Recreate)
            && self.annotations == workload.annotations
    }
}

impl Meant {
    /// Something was written, by whomever.
    pub(crate) fn change(&mut self, truth: &Truth, actor: Actor) {
        let Some(workload) = truth.workload.as_deref() else {
            *self = Self::default();
            return;
        };
        let asked = Asked {
            template: workload.template.fingerprint.as_str().to_owned(),
            pin: pin(workload).map(|pin| pin.pod_template_hash.clone()),
            retry: workload.annotations.get(RETRY).cloned(),
            policy: workload.failure_policy.clone(),
        };
        let declared = truth.new_set();
        let wanted = match truth.pinned() {
            Some(pinned) => pinned,
            None => declared,
        };
        let uid = wanted.map(uid);
        self.count(workload, asked != self.asked, actor);
        if asked != self.asked {
            let is_released = asked.pin.is_none() && self.asked.pin.is_some();
            let is_put_aside = asked.pin.is_some() && asked.pin != self.asked.pin || actor.is_operator();
            self.acted(uid.clone(), is_put_aside);
            self.left.take_if(|_| is_released);
            self.asked = asked;
        } else if self.wanted.is_none() && uid.is_some() {
            // Its ReplicaSet is new.
            (self.wanted, self.left) = (uid, None);
            self.note_canary(truth, wanted);
        }
        let is_new = |wanted: &String| !self.ever.contains(wanted);
        // What the operator makes was declared, even if another template is there by then.
        let made = truth.owned().map(self::uid).filter(|_| actor.is_operator());
        let new: BTreeSet<String> = made.chain(self.wanted.clone()).filter(is_new).collect();
        self.ever.extend(new);
        let target = workload.status.ours.target.as_ref().filter(|target| target.is_reverted());
        let because = target.map(|target| target.reason.clone());
        if because.is_some() && because != self.because {
            // Where what a user went back to fails, the operator returns.
            let runs =
                |truth: &&SetTruth| truth.set.labels.get(HASH_LABEL) == target.map(|target| &target.hash);
            let runs = truth.owned().find(runs).map(self::uid);
            runs.iter().for_each(|runs| _ = self.aside.remove(runs));
            self.left = declared.map(self::uid);
            let is_aborted = because.as_deref() == Some("Aborted");
            self.aside.extend(self.left.clone().zip(runs).filter(|_| is_aborted));
        }
        if because.is_none() && self.because.is_some() {
            // The declared one runs again, for whatever reason.
            self.left = None;
            declared.into_iter().for_each(|declared| _ = self.aside.remove(&declared.set.uid));
        }
        self.because = because;
        let bound = truth.bounds.bound.as_ref().zip(steps(workload));
        if let Some((bound, _)) = bound.filter(|(bound, steps)| bound.step >= end(steps)) {
            // One that may have come to the end of its steps is no canary any more, even if it is declared again.
            self.canaries.remove(&bound.uid);
        }
    }

    fn count(&mut self, workload: &Workload, is_asked: bool, actor: Actor) {
        let is_same = self.setting.is_of(workload);
        let is_edit_of_way = workload.generation > self.generation && is_same && !is_asked;
        let is_act = is_asked || matches!(actor, Actor::Foreign | Actor::Rival) && !is_edit_of_way;
        self.acts += u64::from(is_act);
        self.generation = workload.generation;
        if !is_same {
            self.setting = Setting::of(workload);
        }
    }

    /// UM-6, UM-20: no rollout has a second record. Another rollout of the same revision begins if somebody has done
    /// something since. A rollout that was late, and now waits at a step of another list, has its record again.
    pub(super) fn recorded(&mut self, truth: &Truth) -> Option<Verdict> {
        let workload = truth.workload.as_deref()?;
        let Some(record) = workload.status.ours.rollout.as_deref() else {
            self.note_end(workload);
            return None;
        };
        self.is_open = true;
        if self.record.as_ref().is_some_and(|(id, ..)| *id == record.id) {
            return None;
        }
        let is_new_way = self.late_at.take().is_some_and(|known| known != list(&workload.steps));
        let goes_on = is_new_way && record.rest_start_time.is_some();
        let instead = workload.status.ours.target.as_ref().map(|target| target.hash.clone());
        let rollout = Rollout { revision: record.revision, instead, acts: self.acts };
        let (id, revision, beginning) = (record.id, record.revision, (record.from, record.trigger));
        let last = self.record.replace((id, rollout, beginning));
        let (before, known, first) = last.filter(|(_, it, _)| it.revision == revision)?;
        let is_twice = self.record.as_ref().is_some_and(|(_, now, _)| *now == known);
        let text = || format!("revision {revision} has records {before} and {id} of one rollout");
        Some(if is_twice && !goes_on {
            Err(text())
        } else if is_twice && beginning != first {
            Err(format!("{}: one began as {first:?}, and the other as {beginning:?}", text()))
        } else {
            Ok(())
        })
    }

    /// No record runs: if the last one has just ended, was that because the rollout was late?
    fn note_end(&mut self, workload: &Workload) {
        let progressing = workload.status.condition(condition::PROGRESSING);
        let is_late = progressing.is_some_and(|known| known.reason == reason::PROGRESS_DEADLINE_EXCEEDED);
        if std::mem::take(&mut self.is_open) {
            self.late_at = is_late.then(|| list(&workload.steps));
        }
    }

    /// A user, or the operator by a rollback, asks for another template, for a pin, or to retry.
    fn acted(&mut self, wanted: Option<String>, is_put_aside: bool) {
        let before = self.wanted.take();
        let place = |uid: &String| self.ever.iter().position(|known| known == uid);
        let is_back = |before: &String| wanted.as_ref().and_then(place) < place(before);
        self.left = before.filter(|before| wanted.is_some() && is_back(before));
        if is_put_aside {
            self.aside.extend(self.left.clone().zip(wanted.clone()));
        }
        if let Some(wanted) = &wanted {
            self.aside.remove(wanted);
        }
        self.wanted = wanted;
    }

    fn note_canary(&mut self, truth: &Truth, declared: Option<&SetTruth>) {
        let Some((workload, declared)) = truth.workload.as_ref().zip(declared) else { return };
        let is_good = |other: &SetTruth| other.set.uid != declared.set.uid && says(&other.set, "Good");
        let has_steps = steps(workload).is_some() && workload.replicas == 0 && declared.set.size == 0;
        if has_steps && truth.owned().any(is_good) {
            self.canaries.insert(uid(declared));
        }
    }

    /// UM-4: what was declared while there were no replicas stays within its steps once they return.
    pub(super) fn canary_grows(&self, write: &Accepted<'_>) -> Option<Verdict> {
        let (steps, new) = stepped(write)?;
        let (_, from, to) = resized(write).filter(|(uid, from, to)| to > from && *uid == new.uid)?;
        // Without its memory, it continues from the size that it has.
        let bound =
            write.truth.bounds.bound.as_ref().filter(|bound| bound.uid == new.uid && !bound.is_lost)?;
        let workload = &write.view().workload;
        if !is_certain(write) || !self.canaries.contains(&new.uid) || is_skipped(workload, new) {
            return None;
        }
        let step = bound.before.max(bound.step);
        if step >= end(steps) && write.view().is_scaling() {
            // All pods may be new, and a change of R is distributed with the surge (S8).
            return None;
        }
        let most = ceiling(steps, step, workload.replicas);
        let grew = format!("{} grew from {from} to {to}", new.name);
        Some(if to > most { Err(format!("{grew}, and its step allows {most}")) } else { Ok(()) })
    }

    /// UM-1, UM-9: what a user went away from gets no pods.
    pub(super) fn grows(&self, write: &Accepted<'_>) -> Option<Verdict> {
        let (uid, from, to) = resized(write).filter(|(_, from, to)| to > from)?;
        let (view, set) = (write.view(), &write.truth.sets.get(&uid)?.set);
        let has_gone_back = self.wanted.is_some() && (self.left.is_some() || !self.aside.is_empty());
        if !has_gone_back || !is_certain(write) || view.workload.paused || is_excused(write, set) {
            return None;
        }
        // The way back may lead on from there, and where what a user went back to fails, to what he put aside.
        let is_reverted = view.is_reverted();
        // One that is good serves until the other one does.
        let (is_good, serves) = (says(set, "Good"), from > 0);
        let is_left = self.left.as_ref() == Some(&uid)
            && !is_good
            && (!is_reverted || view.new_set().is_some_and(|new| new.set.uid == uid));
        let is_free = is_reverted || is_good && serves;
        // Where somebody deleted the memory of the declared one, what keeps the other pods is chosen again.
        let is_lost = write.truth.bounds.bound.as_ref().is_some_and(|bound| bound.is_lost);
        // What the user goes back to may be gone: cleanup may delete it just as the user asks for it.
        let is_made_again = matches!(write.action(), Some(plan::Action::CreateReplicaSet(_)))
            && !is_reverted
            && pin(&view.workload).is_none();
        let is_unasked = !is_free && !is_lost && !is_made_again;
        let grew = format!("{} grew from {from} to {to}", set.name);
        Some(if is_left {
            Err(format!("{grew}, and a user went back from it"))
        } else if !is_free && self.is_aside(write.truth, &uid) {
            Err(format!("{grew}, and a user put it aside"))
        } else if is_unasked && self.left.is_some() && !view.is_scaling() && !is_kept(write, set) {
            Err(format!("{grew} on a way back, and nobody asked for it"))
        } else {
            Ok(())
        })
    }

    /// Whether a user put a ReplicaSet aside, and what ran instead has not failed since.
    fn is_aside(&self, truth: &Truth, uid: &str) -> bool {
        let instead = self.aside.get(uid);
        instead.is_some_and(|by| truth.sets.get(by).is_none_or(|by| !says(&by.set, "Failed")))
    }

    /// UM-9: no status names what a user put aside.
    pub(super) fn names(&self, write: &Accepted<'_>) -> Option<Verdict> {
        let Some(plan::Action::WriteStatus(status)) = write.action() else { return None };
        let fallback = status.status.ours.fallback.as_ref()?;
        if self.aside.is_empty() || !is_certain(write) {
            return None;
        }
        // While nobody knows whether the declared one serves, what ran before it is the way back.
        let first = write.view().new_set().filter(|new| says(&new.set, "Good")).map(|new| began(&new.set))?;
        // What ran only before the declared one was put aside by a pin that nothing remembers (seeds 1816, 5012).
        let is_shown = |truth: &&SetTruth| revision(&truth.set) > Some(first);
        let mut aside = self.aside.keys().filter_map(|uid| write.truth.sets.get(uid)).filter(is_shown);
        let is_it = |truth: &&SetTruth| truth.set.labels.get(HASH_LABEL) == Some(&fallback.hash);
        Some(match aside.find(is_it) {
            Some(truth) => Err(format!("the fallback is {}, which a user put aside", truth.set.name)),
            None => Ok(()),
        })
    }
}

/// Whether the operator knew the last act, and nobody else changed sizes.
fn is_certain(write: &Accepted<'_>) -> bool {
    write.is_alone && !write.is_late && is_current(write.view(), write.truth)
}

/// Whether a ReplicaSet may grow although a user went away from it: the pages promise less there, or availability needs
/// it.
fn is_excused(write: &Accepted<'_>, set: &ReplicaSet) -> bool {
    let view = write.view();
    // What runs is what the user asks for now; while a failure is held, sizes follow R (FP-10).
    let is_asked_for = view.running_set().is_some_and(|running| running.set.uid == set.uid);
    // While two of them have pods, both follow R under a pin.
    let is_scaled = view.is_scaling() && pin(&view.workload).is_some();
    let continues =
        view.workload.failure_policy.as_ref().is_some_and(|it| it.action == FailureAction::Continue);
    // Where nothing is good, what the steps keep is all that serves.
    let is_good = |truth: &SetTruth| says(&truth.set, "Good") && truth.active > 0;
    let is_all_there_is = || !write.truth.owned().any(is_good) && is_kept(write, set);
    let without_rules = continues && view.workload.steps.is_empty();
    is_asked_for || view.is_held() || is_scaled || without_rules || is_all_there_is()
}

/// Whether the step of the declared ReplicaSet keeps this one.
fn is_kept(write: &Accepted<'_>, set: &ReplicaSet) -> bool {
    let kept = write.truth.new_set().and_then(|new| word(&new.set, "kept"));
    kept.as_ref() == Some(&set.name)
}

fn uid(truth: &SetTruth) -> String {
    truth.set.uid.clone()
}
