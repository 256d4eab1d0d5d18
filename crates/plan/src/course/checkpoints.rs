//! Gates and hooks: which Job has to succeed now, and what its result means (GA-1 to GA-6; rollwright.dev only).
//!
//! The declared ReplicaSet remembers which Job was begun, and how it ended once somebody saw that. So a Job that is
//! deleted later counts, one of an earlier attempt does not, and a crash begins none twice: its name follows from the
//! memory.

use jiff::Timestamp;

use crate::course::Hold;
use crate::course::advance::Advanced;
use crate::course::closing::going;
use crate::course::held::{self, Noted};
use crate::course::judge::Judgment;
use crate::course::memory::{Memory, Note, Proof};
use crate::course::situation::Situation;
use crate::course::view::View;
use crate::model::action::{Ask, Event};
use crate::model::checkpoint::{Checkpoint, Job, JobSpec, JobState, NewJob, Outlook};
use crate::model::conditions::whole_seconds;
use crate::model::durations::JOB_AGAIN;
use crate::model::keys::{HASH_LABEL, ROLLOUT, reason};
use crate::model::observed::{ReplicaSet, Workload};
use crate::model::position::Walk;
use crate::model::revision;
use crate::model::runs::{Run, Runs};
use crate::model::steps::Steps;

/// What the Jobs of a rollout come to in a reconcile.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Jobs {
    /// What the declared ReplicaSet has to remember of them.
    pub(crate) runs: Runs,
    /// What is known of the Job that has to end now.
    pub(crate) outlook: Outlook,
    /// What the planner has to know first.
    pub(crate) ask: Option<Ask>,
    /// What is written to a Job.
    pub(crate) write: Option<JobWrite>,
    /// Why the server does not accept a Job of a revision that has not begun yet, in words.
    pub(crate) refused: Option<String>,
    /// Whether the rollout waits for the hook before it.
    pub(crate) holds: bool,
    /// Whether no pod of the declared ReplicaSet may come, whatever the situation is: its hook has not passed (GA-1).
    pub(crate) bars: bool,
    /// Whether a rollout with all its pods waits for the hook after it (GA-1).
    pub(crate) awaits_after: bool,
    /// Whether the Job that was begun is not there, so that it is made again; and whether for the last time (GA-3).
    is_gone: Option<bool>,
    /// Whether somebody edited the steps: no gate has passed (GA-2).
    is_edited: bool,
    /// Whether the rollout waits for a word after a restart: no Job begins, and none takes too long (HO-3).
    pub(crate) is_held: bool,
    /// A ReplicaSet that has to forget its Job.
    pub(crate) stray: Option<Box<Note>>,
    /// When to look again, if nothing changes before.
    pub(crate) due: Option<Timestamp>,
    /// What is reported once the memory is written.
    pub(crate) events: Vec<Event>,
}

/// A write to a Job.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum JobWrite {
    Create(Box<NewJob>),
    Delete { name: String, uid: String },
}

/// What the Job that was begun has come to since.
pub(crate) fn look(view: View<'_>, is_held: bool) -> Jobs {
    let nothing = Jobs { is_held, ..Jobs::default() };
    let has_memory =
        |set: &&ReplicaSet| set.annotations.get(ROLLOUT).is_some_and(|it| it.contains("\"jobs\""));
    let set = view.begun().filter(|_| view.observed.flavour.has_safeguards()).map(|(_, set)| set);
    let Some(set) = set.filter(has_memory) else { return nothing };
    let Some(memory) = Memory::valid(set) else { return nothing };
    let mut jobs = Jobs { runs: memory.runs, ..nothing };
    if view.workload().deleting {
        return jobs;
    }
    jobs.observe(view, set, memory.revision);
    let position = memory.walk.as_ref().and_then(Walk::position);
    jobs.is_edited = position.is_some_and(|known| known.list != Steps(&view.workload().steps).digest());
    if jobs.is_edited {
        jobs.runs.ended.retain(|ended| ended.at.step().is_none());
    }
    jobs
}

impl Jobs {
    fn observe(&mut self, view: View<'_>, set: &ReplicaSet, revision: i64) {
        let workload = view.workload();
        let Some(open) = self.runs.open.clone() else { return };
        // An edited template is another Job.
        let Some(spec) = workload.job_at(open.at).filter(|spec| spec.digest == open.digest) else { return };
        let name = self.runs.name(&workload.name, revision, open.at);
        let Some(found) = view.observed.answers.job.as_ref().filter(|found| found.name == name) else {
            self.ask = Some(Ask::Job { name });
            return;
        };
        let is_ours = |job: &&Job| {
            let is_same = open.uid.as_ref().is_none_or(|uid| *uid == job.uid);
            is_same && job.controller_uid.as_ref() == Some(&set.uid) && job.digest == open.digest
        };
        let is_open = |job: &Job| {
            let has_ended = matches!(job.state, JobState::Succeeded | JobState::Failed(_));
            !has_ended && job.controller_uid.as_ref() == Some(&set.uid)
        };
        match &found.job {
            Err(why) => {
                self.outlook = Outlook::Unknown(why.clone());
                self.look_again(view.now);
            }
            Ok(job) => match job.as_ref().filter(is_ours) {
                Some(job) => self.seen(view, job, open, spec, &name),
                None if job.is_none() && open.uid.is_none() => {}
                // The operator deleted it, and could not store that.
                None if open.running.is_some_and(|since| spec.limit(since) <= view.now) => {
                    self.end(open, &name, Some(spec.too_long()));
                }
                None if open.uid.is_some() && open.is_second => {
                    self.outlook =
                        Outlook::Unknown(format!("somebody deleted Job {name}, as the one before"));
                }
                // GA-2: it was created from an earlier template, and that was not stored.
                None if job.as_ref().is_some_and(is_open) => _ = self.close(view, set, name),
                // GA-3: somebody deleted it, or the name is that of another Job.
                None => self.is_gone = Some(open.uid.is_some() || open.is_second),
            },
        }
    }

    /// The Job as the server has it.
    fn seen(&mut self, view: View<'_>, job: &Job, open: Run, spec: &JobSpec, name: &str) {
        let now = whole_seconds(view.now);
        let open = Run { uid: Some(job.uid.clone()), ..open };
        match &job.state {
            JobState::Succeeded => self.end(open, name, None),
            JobState::Failed(why) => self.end(open, name, Some(why.clone())),
            JobState::Waiting(why) => {
                self.outlook = Outlook::Waiting(why.clone());
                self.look_again(view.now);
                self.runs.open = Some(open);
            }
            // HO-3: its time begins again after that.
            JobState::Running if self.is_held => {
                self.outlook = Outlook::Running(open.running.unwrap_or(now));
                self.runs.open = Some(Run { running: None, ..open });
            }
            JobState::Running | JobState::Deleting => {
                // GA-4: the time begins when the pod runs. One in the future means that the clock was set back.
                let since = open.running.unwrap_or(now).min(now);
                let end = spec.limit(since);
                if end <= view.now {
                    self.write = Some(JobWrite::Delete { name: name.to_owned(), uid: job.uid.clone() });
                    return self.end(open, name, Some(spec.too_long()));
                }
                if job.state == JobState::Deleting {
                    self.outlook = going(name);
                    return self.look_again(view.now);
                }
                self.outlook = Outlook::Running(since);
                self.due = Some(end);
                self.runs.open = Some(Run { running: Some(since), ..open });
            }
        }
    }

    fn end(&mut self, run: Run, name: &str, cause: Option<String>) {
        let words = capitalized(&run.at.words());
        self.events.push(match &cause {
            None => Event::normal(reason::JOB_PASSED, format!("{words} has passed: Job {name} succeeded")),
            Some(cause) => Event::warning(reason::JOB_FAILED, format!("{words} failed: Job {name}: {cause}")),
        });
        self.runs.end(run, cause);
    }

    pub(super) fn look_again(&mut self, now: Timestamp) {
        self.due = now.checked_add(JOB_AGAIN).ok();
    }

    /// What comes next. Returns what the declared ReplicaSet remembers of a revision that begins.
    pub(crate) fn go_on(
        &mut self,
        view: View<'_>,
        judgment: &Judgment,
        situation: &Situation,
        advanced: &Advanced,
    ) -> Option<Runs> {
        // OW-3: the garbage collector deletes the Jobs, too.
        if !view.observed.flavour.has_safeguards() || view.workload().deleting {
            return None;
        }
        if view.begun().is_some() {
            self.settle(view, judgment, situation, advanced);
            return None;
        }
        let is_proven = view.sets.declared.is_some_and(|declared| judgment.of(declared) == Proof::Good);
        self.begin(view, is_proven, situation);
        self.tidy(view, None);
        Some(self.runs.clone())
    }

    /// What comes before the rollout.
    pub(crate) fn hold(&self) -> Option<Hold> {
        self.refused.clone().map(Hold::JobRefused).or(self.holds.then_some(Hold::Hook))
    }

    /// What the declared ReplicaSet has to remember, with its Jobs and their events.
    pub(crate) fn remembered(&mut self, view: View<'_>, noted: Option<Noted>) -> Option<Noted> {
        let Some((_, set)) = view.begun() else { return noted };
        let stored = || Box::new((Memory::known(set), Vec::new()));
        let is_news = !self.events.is_empty() || self.runs != Runs::default();
        let mut noted = noted.or_else(|| is_news.then(stored).filter(|stored| stored.0.runs != self.runs))?;
        noted.0.runs.clone_from(&self.runs);
        noted.1.splice(0..0, self.events.drain(..));
        Some(noted)
    }

    /// What a revision that begins remembers, and whether the server accepts its Jobs (GA-5). A good revision that
    /// skips steps, and one that somebody rolled back to, run none (GA-6).
    pub(crate) fn begin(&mut self, view: View<'_>, is_proven: bool, situation: &Situation) {
        let workload = view.workload();
        if workload.checkpoints().next().is_none() {
            return;
        }
        let is_pinned = workload.pin_in_force().is_some() && situation.is_declared();
        let skips = is_proven && workload.good_skips_steps || held::is_rolled_back(view) || is_pinned;
        let hooks = if skips { Vec::new() } else { workload.hooks() };
        self.runs = Runs { hooks, skips, ..Runs::default() };
        // The ReplicaSet is created without pods.
        self.bars = self.awaits(workload, Checkpoint::Before);
        self.holds = situation.is_declared() && workload.replicas > 0 && self.bars;
        let begins =
            situation.is_declared() && !workload.paused && !workload.deleting && workload.selector.is_some();
        if skips || !begins {
            return;
        }
        if !view.observed.options.runs_jobs {
            return self.refuse(forbidden(workload));
        }
        match &view.observed.answers.jobs_checked {
            None => self.ask = Some(Ask::CheckJobs),
            Some(Ok(())) => {}
            Some(Err(why)) => {
                self.refuse(why.clone());
                self.look_again(view.now);
            }
        }
    }

    fn refuse(&mut self, why: String) {
        (self.refused, self.bars) = (Some(why), true);
    }

    /// Begins the Job that has to succeed now, and ends those that nobody needs any more.
    pub(crate) fn settle(
        &mut self,
        view: View<'_>,
        judgment: &Judgment,
        situation: &Situation,
        advanced: &Advanced,
    ) {
        let workload = view.workload();
        let is_free = !judgment.ruling.is_failure() && workload.pin_in_force().is_none();
        let runs = matches!(situation, Situation::Declared(_)) && is_free;
        if judgment.ruling.is_retried {
            let (hooks, runs) = (workload.hooks(), std::mem::take(&mut self.runs));
            self.runs = Runs { hooks, skips: false, ended: Vec::new(), ..runs };
        }
        self.bars = self.awaits(workload, Checkpoint::Before);
        // Also if it failed: then nothing else keeps a rollout with all its pods from being complete.
        let is_due = situation.is_declared() && workload.replicas > 0;
        self.awaits_after = is_due && self.awaits(workload, Checkpoint::After);
        let place = view.begun();
        if let (Some((_, set)), Some(open)) = (place, self.runs.open.clone()) {
            let is_its = |spec: &JobSpec| spec.digest == open.digest;
            let is_behind = |step: usize| advanced.stage.as_ref().is_none_or(|stage| stage.step != step);
            let is_past = open.at.step().is_some_and(|step| is_behind(step) || self.is_edited);
            if !runs || is_past || !workload.job_at(open.at).is_some_and(is_its) {
                let revision = revision::of(set).or_zero();
                let name = self.runs.name(&workload.name, revision, open.at);
                if self.is_gone.is_some() || self.close(view, set, name) {
                    self.runs.open = None;
                    (self.outlook, self.due) = (Outlook::Due, None);
                }
                return;
            }
        }
        let is_tidy = self.tidy(view, view.sets.declared);
        self.holds = runs && workload.replicas > 0 && self.bars;
        let is_still = self.is_held || workload.paused || workload.deleting;
        let may_start = runs && !is_still && is_tidy && workload.replicas > 0;
        if let Some((_, set)) = place.filter(|_| may_start) {
            self.start(view, set, advanced);
        }
    }

    /// Whether the hook before the rollout has to pass.
    pub(crate) fn awaits_before(&self, view: View<'_>) -> bool {
        self.awaits(view.workload(), Checkpoint::Before)
    }

    /// Whether a hook has to pass: not for a pin (GA-6). One that passed does not run again, even if somebody edits it.
    fn awaits(&self, workload: &Workload, at: Checkpoint) -> bool {
        let has_passed = self.runs.ended.iter().any(|ended| ended.at == at && ended.cause.is_none());
        let is_asked = self.runs.hooks.contains(&at) && workload.pin_in_force().is_none();
        is_asked && workload.job_at(at).is_some() && !has_passed
    }

    fn start(&mut self, view: View<'_>, set: &ReplicaSet, advanced: &Advanced) {
        let workload = view.workload();
        let Some(revision) = revision::of(set).number() else { return };
        let is_reported = workload.status.ours.revision == Some(revision);
        let is_complete = || {
            let is_at_end = advanced.stage.as_ref().is_none_or(|stage| stage.step >= stage.end);
            is_at_end && is_reported && workload.is_stored_complete() && set.is_settled()
        };
        let wanted = if self.holds {
            Some(Checkpoint::Before)
        } else if let Some(step) = advanced.gate {
            Some(workload.checkpoint(step))
        } else {
            Some(Checkpoint::After).filter(|_| self.awaits_after && is_complete())
        };
        let Some((at, spec)) = wanted.and_then(|at| Some((at, workload.job_at(at)?))) else { return };
        if let Some(ended) = self.runs.ended(at, &spec.digest) {
            if let Some(cause) = &ended.cause {
                self.outlook = Outlook::Failed(cause.clone());
            }
            return;
        }
        if self.runs.open.is_none() || self.is_gone.is_some() {
            self.runs.begin(at, &spec.digest, self.is_gone == Some(true));
        }
        self.create(view, set, revision, spec);
    }

    /// Creates the Job that was begun, unless the server refused that in this reconcile.
    fn create(&mut self, view: View<'_>, set: &ReplicaSet, revision: i64, spec: &JobSpec) {
        let (workload, answers) = (view.workload(), &view.observed.answers);
        let Some(at) = self.runs.open.as_ref().map(|open| open.at) else { return };
        if self.outlook != Outlook::Due || self.write.is_some() || self.ask.is_some() {
            return;
        }
        let why = answers.job_refused.clone();
        if let Some(why) = why.or_else(|| (!view.observed.options.runs_jobs).then(|| forbidden(workload))) {
            self.outlook = Outlook::Unknown(why);
            return self.look_again(view.now);
        }
        let step = if let Checkpoint::Step(_) = at { at.text() } else { String::new() };
        let name = self.runs.name(&workload.name, revision, at);
        let environment = vec![
            ("ROLLWRIGHT_DEPLOYMENT", workload.name.clone()),
            ("ROLLWRIGHT_NAMESPACE", workload.namespace.clone()),
            ("ROLLWRIGHT_REVISION", revision.to_string()),
            ("ROLLWRIGHT_POD_TEMPLATE_HASH", set.labels.get(HASH_LABEL).cloned().unwrap_or_default()),
            ("ROLLWRIGHT_STEP", step),
            ("ROLLWRIGHT_UPDATED", set.size.to_string()),
            ("ROLLWRIGHT_REPLICAS", workload.replicas.to_string()),
            ("ROLLWRIGHT_JOB", name.clone()),
        ];
        let (set, set_uid) = (set.name.clone(), set.uid.clone());
        let digest = spec.digest.clone();
        self.write = Some(JobWrite::Create(Box::new(NewJob { name, at, digest, set, set_uid, environment })));
    }
}

fn forbidden(workload: &Workload) -> String {
    let at = workload.checkpoints().next().map_or_else(String::new, Checkpoint::words);
    format!(
        "{at}: this operator does not run Jobs: start it with --jobs (chart value controller.jobs), or remove the field"
    )
}

fn capitalized(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
