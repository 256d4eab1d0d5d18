//! The Jobs of gates and hooks as the world has them: who made them for which revision, and how they ended.

use std::collections::BTreeMap;

use jiff::Timestamp;
use plan::intstr::IntOrPercent;
use plan::keys::HASH_LABEL;
use plan::{Checkpoint, Workload};
use world::{Change, ChangeKind, Object};

use crate::actor::Actor;
use crate::engine::{Engine, MILLISECOND, SECOND};
use crate::scenario::{Fault, Scenario, Trouble};
use crate::shown::after;
use crate::subject::{Subject, Which};
use crate::truth::Truth;
use crate::verdict::{pin, revision, says};
use crate::view::View;
use crate::walk::{list, steps};

/// An operator has seen what happened this number of seconds ago, if nothing disturbs it.
const SEEN: i64 = 5;

/// Whether a pod is that of a Job.
pub(crate) fn is_of_job(pod: &Object) -> bool {
    pod.label("batch.kubernetes.io/job-name").is_some()
}

/// A Job, also one that is gone.
#[derive(Clone, Debug)]
pub(crate) struct JobTruth {
    pub(crate) name: String,
    uid: String,
    /// uid of the ReplicaSet that owns it.
    pub(crate) set: String,
    pub(crate) at: Checkpoint,
    /// What its template is recognized by.
    pub(crate) digest: String,
    /// The list of steps when it was created.
    pub(crate) list: Vec<IntOrPercent>,
    /// Since when its pod is ready.
    pub(crate) running: Option<Timestamp>,
    /// Whether it succeeded, and when it ended.
    pub(crate) end: Option<(bool, Timestamp)>,
    pub(crate) is_gone: bool,
    /// Whether somebody deleted it before an operator has certainly seen its end.
    pub(crate) is_taken: bool,
    /// When it was created, and whether an operator has certainly seen it before it was gone.
    pub(crate) born: Timestamp,
    pub(crate) is_known: bool,
    /// Since when nobody asks for it: another revision runs, or its template was edited.
    pub(crate) strayed: Option<Timestamp>,
    pub(crate) had_strayed: bool,
    /// Whether it succeeded as the spec asks for it.
    passed: bool,
}

impl JobTruth {
    pub(crate) fn is_open(&self) -> bool {
        self.end.is_none() && !self.is_gone
    }

    fn new(job: &Object, workload: Option<&Workload>, born: Timestamp) -> Option<Self> {
        let digest = job.annotation("rollwright.dev/template")?.to_owned();
        let mut words = job.name().rsplit('-').skip(1);
        let at = match words.next()? {
            "before" => Checkpoint::Before,
            "after" => Checkpoint::After,
            number => Checkpoint::Step(number.parse::<usize>().ok()?.checked_sub(1)?),
        };
        Some(Self {
            name: job.name().to_owned(),
            uid: job.uid().to_owned(),
            set: job.controller_uid()?.to_owned(),
            at,
            digest,
            list: workload.and_then(steps).map_or_else(Vec::new, list),
            running: None,
            end: None,
            is_gone: false,
            is_taken: false,
            born,
            is_known: false,
            strayed: None,
            had_strayed: false,
            passed: false,
        })
    }
}

/// From the write that gave a ReplicaSet its revision, or voided its failure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Era {
    begun: u64,
    /// Whether there were a hook before and one after.
    pub(crate) hooks: [bool; 2],
    /// Whether it runs Jobs; `None` where nobody knows.
    pub(crate) runs: Option<bool>,
}

/// The Jobs of a Deployment.
#[derive(Debug, Default)]
pub(crate) struct Jobs {
    pub(crate) all: Vec<JobTruth>,
    eras: BTreeMap<String, Era>,
    /// By what the template is recognized that a rollback restored.
    rolled_back: Option<String>,
    /// Whether something goes wrong: then an operator may see what happens late.
    pub(crate) is_disturbed: bool,
    pub(crate) is_unreadable: bool,
    /// The generation of the Deployment, and since when.
    edited: (i64, Timestamp),
    /// When a pin was in force last.
    pub(crate) pinned: Timestamp,
    /// Whether the operator runs none.
    pub(crate) lacks_jobs: bool,
}

impl Jobs {
    pub(crate) fn new(scenario: &Scenario) -> Self {
        let (is_disturbed, lacks_jobs) = (!scenario.faults.is_empty(), scenario.lacks_jobs);
        let is_unreadable = |fault: &Fault| matches!(fault, Fault::During(_, _, Trouble::JobsUnreadable));
        let is_unreadable = scenario.faults.iter().any(is_unreadable);
        Self { is_disturbed, is_unreadable, lacks_jobs, ..Self::default() }
    }
}

impl Truth {
    /// The era of a ReplicaSet, if it began with a write of an operator.
    pub(crate) fn era(&self, set: &str) -> Option<Era> {
        let begun = self.sets.get(set)?.begun;
        self.jobs.eras.get(set).copied().filter(|era| era.begun == begun)
    }

    /// The Jobs of a ReplicaSet since its revision began.
    pub(crate) fn jobs_of<'a>(&'a self, set: &'a str) -> impl Iterator<Item = &'a JobTruth> {
        // A Job may come just before the write that stores a retry.
        let begun = self.sets.get(set).map_or(Timestamp::MIN, |set| after(set.since, -1));
        self.jobs.all.iter().filter(move |job| job.set == set && job.born >= begun)
    }

    /// Whether a Job of this checkpoint has succeeded. A gate is one of a list of steps.
    pub(crate) fn has_passed(&self, set: &str, at: Checkpoint) -> bool {
        let list = self.workload.as_deref().and_then(steps).map_or_else(Vec::new, list);
        let is_its = |job: &JobTruth| !matches!(at, Checkpoint::Step(_)) || job.list == list;
        self.jobs_of(set).any(|job| job.at == at && job.passed && is_its(job))
    }

    /// Whether the Deployment has gates or hooks.
    pub(crate) fn asks_for_jobs(&self) -> bool {
        self.workload.as_ref().is_some_and(|workload| workload.checkpoints().next().is_some())
    }

    /// Whether a rollout may pass a gate.
    pub(crate) fn opens(&self, set: &str, step: usize) -> bool {
        let runs = self.era(set).and_then(|era| era.runs);
        let is_pinned = self.workload.as_ref().is_some_and(|workload| pin(workload).is_some());
        is_pinned || runs != Some(true) || self.has_passed(set, Checkpoint::Step(step))
    }

    /// Whether a checkpoint waits for a person: its Job failed, or somebody deleted two.
    pub(crate) fn is_stuck(&self, set: &str, at: Checkpoint) -> bool {
        let jobs: Vec<_> = self.jobs_of(set).filter(|job| job.at == at).collect();
        let failed = |job: &&&JobTruth| {
            let has_failed = job.end.is_some_and(|(is_good, _)| !is_good);
            has_failed || job.end.is_none() && job.is_gone && !job.is_taken
        };
        let taken = jobs.iter().filter(|job| job.is_taken).count();
        self.jobs.lacks_jobs || taken > 1 || jobs.iter().any(|job| failed(&job))
    }

    fn note_job(&mut self, change: &Change, actor: Actor, now: Timestamp) {
        let (object, jobs) = (&change.object, &mut self.jobs);
        if !jobs.all.iter().any(|job| job.uid == object.uid()) {
            jobs.all.extend(JobTruth::new(object, self.workload.as_deref(), now));
        }
        self.bounds.stirred = now;
        let Some(job) = jobs.all.iter_mut().find(|job| job.uid == object.uid()) else { return };
        let conditions = object.status.get("conditions").and_then(serde_json::Value::as_array);
        let holds = |kind: &str| {
            let mut all = conditions.into_iter().flatten();
            all.any(|one| one["type"] == kind && one["status"] == "True")
        };
        let end = if holds("Failed") { Some(false) } else { holds("Complete").then_some(true) };
        // What ends while it is deleted counts for nothing.
        job.end = job.end.or(end.filter(|_| !job.is_gone).map(|is_good| (is_good, now)));
        if object.status_number("ready").is_some_and(|ready| ready > 0) {
            job.running = job.running.or(Some(now));
        }
        if (change.kind == ChangeKind::Deleted || object.is_deleting()) && !job.is_gone {
            job.is_gone = true;
            let is_new = job.end.is_none_or(|(_, end)| jobs.is_disturbed || after(end, SEEN) > now);
            job.is_taken = is_new && !actor.is_operator();
            job.is_known = after(job.born, SEEN) < now && !jobs.is_disturbed;
        }
    }

    /// What of the Jobs its users ask for.
    pub(crate) fn judge_jobs(&mut self, now: Timestamp) {
        let Some(workload) = self.workload.clone() else { return };
        if self.jobs.edited.0 != workload.generation {
            self.jobs.edited = (workload.generation, now);
        }
        let template = workload.template.fingerprint.as_str();
        self.jobs.rolled_back.take_if(|known| known != template);
        if pin(&workload).is_some() {
            self.jobs.pinned = now;
        }
        let new = self.new_set().map(|new| new.set.clone());
        let is_free = !workload.deleting && pin(&workload).is_none();
        let runs = new.filter(|new| is_free && !says(new, "Failed"));
        let is_disturbed = self.jobs.is_disturbed;
        for job in &mut self.jobs.all {
            let is_same = workload.job_at(job.at).is_some_and(|spec| spec.digest == job.digest);
            let is_wanted = is_same && runs.as_ref().is_some_and(|new| new.uid == job.set);
            job.strayed = if is_wanted { None } else { job.strayed.or(Some(now)) };
            // What ends meanwhile, nobody may have seen.
            job.had_strayed |= !is_wanted && (is_disturbed || job.is_open());
            let is_late = is_disturbed || job.strayed.is_none_or(|since| after(since, SEEN) > now);
            job.passed |= job.end.is_some_and(|(is_good, _)| is_good) && (is_same || is_late);
        }
    }

    /// A write of an operator was accepted: which revision did it begin?
    pub(crate) fn note_era(&mut self, view: &View, version: u64, is_rollback: bool) {
        let workload = &view.workload;
        if is_rollback {
            self.jobs.rolled_back =
                self.workload.as_ref().map(|it| it.template.fingerprint.as_str().to_owned());
        }
        let rollback = workload.status.ours.rollback.as_ref();
        let is_reported = rollback.is_some_and(|known| known.result == "RolledBack");
        let has_verdicts = view.owned().any(|it| says(&it.set, "Good") || says(&it.set, "Failed"));
        for (uid, truth) in self.sets.iter().filter(|(_, truth)| truth.begun > version) {
            let known = view.find(uid).map(|known| &known.set);
            let mut prints = truth.set.fingerprints.iter();
            let is_back =
                self.jobs.rolled_back.as_ref().is_some_and(|back| prints.any(|it| it.as_str() == back));
            let hash = truth.set.labels.get(HASH_LABEL);
            let is_pinned = pin(workload).is_some_and(|pin| Some(&pin.pod_template_hash) == hash);
            let runs = match known {
                Some(known) if revision(known) == revision(&truth.set) => Some(true),
                // What reports a rollback may be lost.
                _ if is_back => is_reported.then_some(false),
                _ if is_pinned => Some(false),
                Some(known) if says(known, "Good") => Some(!workload.good_skips_steps),
                Some(_) => has_verdicts.then_some(true),
                None => Some(true),
            };
            let hooks = [workload.before_hook.is_some(), workload.after_hook.is_some()];
            self.jobs.eras.insert(uid.clone(), Era { begun: truth.begun, hooks, runs });
        }
    }

    /// Where nothing goes wrong with operators, a Job that nobody asks for is deleted, and so is one that takes too
    /// long (GA-4, GA-9). Whether there is one at all.
    pub(crate) fn overdue(&self, now: Timestamp) -> Option<Result<(), String>> {
        let workload = self.workload.as_deref().filter(|it| !it.deleting && !self.jobs.is_disturbed)?;
        let is_past = |since: Timestamp, seconds: i64| after(since, seconds + 15) < now;
        let is_owned = |job: &&JobTruth| self.owned().any(|it| it.set.uid == job.set);
        let open = || self.jobs.all.iter().filter(|job| job.is_open()).filter(is_owned);
        let is_still = is_past(self.jobs.edited.1, 0);
        for job in open().filter(|_| is_still) {
            let limit = workload.job_at(job.at).map_or(0, |spec| spec.timeout_seconds);
            let is_long = job.running.is_some_and(|since| is_past(since, limit));
            if job.strayed.is_some_and(|since| is_past(since, 0)) || is_long {
                return Some(Err(format!("Job {} is there: {:?} {:?}", job.name, job.strayed, job.running)));
            }
        }
        open().next().map(|_| Ok(()))
    }
}

impl Engine<'_> {
    pub(crate) fn take_in_job(&mut self, which: Which, change: &Change, actor: Actor) {
        let now = self.wall();
        let Some(Subject { truth, is_alone, .. }) = self.subjects.get_mut(which) else { return };
        truth.note_job(change, actor, now);
        truth.judge(now);
        let open: Vec<_> = truth.jobs.all.iter().filter(|job| job.is_open()).map(|job| &job.name).collect();
        // One that cannot be read cannot be deleted.
        if open.len() > 1 && *is_alone && !truth.jobs.is_unreadable {
            self.checks.fail("GA-2", Err(format!("{open:?} are open")));
        }
    }

    pub(crate) fn jobs_are_ended(&mut self, which: Which) {
        let Some(subject) = self.subjects.get(which) else { return };
        if let Some(verdict) = subject.truth.overdue(self.wall()) {
            self.coverage.hit("GA-9: a Job is open, and nothing goes wrong");
            self.checks.fail("GA-9", verdict);
        }
    }

    /// A Job changed: the watch of each operator is going to show that.
    pub(crate) fn tell_of_job(&mut self, job: &Object) {
        let of = self.whose(job);
        let ids: Vec<u64> = self.operators.keys().copied().collect();
        for id in ids {
            let delay = self.delay(MILLISECOND, 30 * MILLISECOND);
            self.after(delay, crate::engine::Event::JobNews(id, of));
        }
    }

    /// The operator learns of it, unless watches stand still.
    pub(crate) fn hear_of_job(&mut self, id: u64, of: Which) {
        if self.holds.sets > 0 {
            return self.after(SECOND, crate::engine::Event::JobNews(id, of));
        }
        self.after(0, crate::engine::Event::PodNews(id, vec![of]));
    }
}
