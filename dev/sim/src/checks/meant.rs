//! UM-1, UM-4, UM-9: what users mean by a way back, a canary, and what they put aside. It reads what users wrote, and which
//! ReplicaSets there are; what the operator remembers of them counts only where a user has to be told.

use std::collections::BTreeSet;

use plan::keys::{HASH_LABEL, RETRY};
use plan::{FailureAction, FailurePolicy};

use crate::actor::Actor;
use crate::checks::steps::{is_current, resized};
use crate::checks::{Accepted, Verdict};
use crate::truth::{SetTruth, Truth};
use crate::verdict::{began, pin, revision, says};
use crate::walk::{steps, word};

/// What users asked for last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Asked {
    template: String,
    pin: Option<String>,
    retry: Option<String>,
    policy: Option<FailurePolicy>,
}

/// What is remembered of the acts of users, by uids of ReplicaSets.
#[derive(Debug, Default)]
pub(crate) struct Meant {
    asked: Asked,
    /// What is to run by the last act, if it is there.
    wanted: Option<String>,
    /// All that was ever to run, in the order of the first time.
    ever: Vec<String>,
    /// What the last way back left.
    left: Option<String>,
    /// What a pin, a rollback, or an abort put aside.
    aside: BTreeSet<String>,
    /// What was declared while there were no replicas, although another revision is good.
    canaries: BTreeSet<String>,
    /// Why another revision runs than the declared one, as the status says.
    because: Option<String>,
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
            pin: pin(workload).map(|pin| pin.hash.clone()),
            retry: workload.annotations.get(RETRY).cloned(),
            policy: workload.failure_policy.clone(),
        };
        let declared = truth.new_set();
        let wanted = match truth.pinned() {
            Some(pinned) => pinned,
            None => declared,
        };
        let uid = wanted.map(uid);
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
        let is_new = |wanted: &&String| !self.ever.contains(wanted);
        self.ever.extend(self.wanted.as_ref().filter(is_new).cloned());
        let target = workload.status.ours.target.as_ref().filter(|target| target.is_reverted());
        let because = target.map(|target| target.because.clone());
        if because.is_some() && because != self.because {
            // Where what a user went back to fails, the operator returns.
            let runs =
                |truth: &&SetTruth| truth.set.labels.get(HASH_LABEL) == target.map(|target| &target.hash);
            truth.owned().find(runs).into_iter().for_each(|runs| _ = self.aside.remove(&runs.set.uid));
            self.left = declared.map(self::uid);
            self.aside.extend(self.left.clone().filter(|_| because.as_deref() == Some("Aborted")));
        }
        if because.is_none() && self.because.is_some() {
            // The declared one runs again, for whatever reason.
            self.left = None;
            declared.into_iter().for_each(|declared| _ = self.aside.remove(&declared.set.uid));
        }
        self.because = because;
    }

    /// A user, or the operator by a rollback, asks for another template, for a pin, or to retry.
    fn acted(&mut self, wanted: Option<String>, is_put_aside: bool) {
        let before = self.wanted.take();
        let place = |uid: &String| self.ever.iter().position(|known| known == uid);
        let is_back = |before: &String| wanted.as_ref().and_then(place) < place(before);
        self.left = before.filter(|before| wanted.is_some() && is_back(before));
        if is_put_aside {
            self.aside.extend(self.left.clone());
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

    /// Whether a set was declared while there were no replicas, although another revision is good.
    pub(crate) fn is_canary(&self, uid: &str) -> bool {
        self.canaries.contains(uid)
    }

    /// UM-1, UM-9: what a user went away from gets no pods.
    pub(super) fn grows(&self, write: &Accepted<'_>) -> Option<Verdict> {
        let (uid, from, to) = resized(write).filter(|(_, from, to)| to > from)?;
        let view = write.view();
        let is_certain = write.is_alone && !write.is_late && is_current(view, write.truth);
        if !is_certain || view.workload.paused || self.wanted.is_none() || self.left.is_none() {
            return None;
        }
        // What runs is what the user asks for now; while a failure is held, sizes follow R by FP-10.
        if view.is_held() || view.running_set().is_some_and(|running| running.set.uid == uid) {
            return None;
        }
        // While two of them have pods, both follow R under a pin.
        let is_scaled = view.is_scaling() && pin(&view.workload).is_some();
        let stays = view.workload.failure_policy.as_ref().is_some_and(|it| it.action == FailureAction::Stay);
        if stays && view.workload.steps.is_empty() {
            return None;
        }
        // What serves keeps the pods that others leave: what is good, and what the steps keep where nothing else is.
        let is_good = |truth: &&SetTruth| says(&truth.set, "Good") && truth.active > 0;
        let is_best = !write.truth.owned().any(|truth| is_good(&truth));
        let kept = write.truth.new_set().and_then(|new| word(&new.set, "kept"));
        let its = write.truth.sets.get(&uid);
        if its.is_some_and(|its| says(&its.set, "Good") || is_best && kept.as_ref() == Some(&its.set.name)) {
            return None;
        }
        // The way back may lead on from there, and where what a user went back to fails, to what he put aside.
        if view.is_reverted() && view.new_set().map(|new| &new.set.uid) != self.left.as_ref() {
            return None;
        }
        let name = write.truth.sets.get(&uid).map_or(&uid, |truth| &truth.set.name);
        Some(if self.left.as_ref() == Some(&uid) && !is_scaled {
            Err(format!("{name} grew from {from} to {to}, and a user went back from it"))
        } else if self.aside.contains(&uid) && !is_scaled && !view.is_reverted() {
            Err(format!("{name} grew from {from} to {to}, and a user put it aside"))
        } else {
            Ok(())
        })
    }

    /// UM-9: no status names what a user put aside.
    pub(super) fn names(&self, write: &Accepted<'_>) -> Option<Verdict> {
        let Some(plan::Action::WriteStatus(status)) = write.action() else { return None };
        let fallback = status.status.ours.fallback.as_ref()?;
        if self.aside.is_empty() || !write.is_alone || write.is_late || !is_current(write.view(), write.truth)
        {
            return None;
        }
        // While nobody knows whether the declared one serves, what ran before it is the way back.
        let first = write.view().new_set().filter(|new| says(&new.set, "Good")).map(|new| began(&new.set))?;
        // What ran only before the declared one was put aside by a pin that nothing remembers (seeds 1816, 5012).
        let is_shown = |truth: &&SetTruth| revision(&truth.set) > Some(first);
        let mut aside = self.aside.iter().filter_map(|uid| write.truth.sets.get(uid)).filter(is_shown);
        let is_it = |truth: &&SetTruth| truth.set.labels.get(HASH_LABEL) == Some(&fallback.hash);
        Some(match aside.find(is_it) {
            Some(truth) => Err(format!("the fallback is {}, which a user put aside", truth.set.name)),
            None => Ok(()),
        })
    }
}

fn uid(truth: &SetTruth) -> String {
    truth.set.uid.clone()
}
