//! FP-1, FP-2, FP-4, FP-5, FP-9: a verdict is true, it is stored before anything moves, and each request counts once.

use jiff::Timestamp;
use plan::keys::{ABORT, PROMOTE, RETRY, ROLLOUT, condition, reason};
use plan::{Action, FailureAction, ReplicaSet, UpdateReplicaSet, Workload};
use serde_json::Value;

use crate::checks::{Accepted, Verdict, jobs};
use crate::shown::{Shown, after, compared, counts, is_held_back};
use crate::verdict::{inferred, is_aborted, memory, pin, revision, says};

/// Times are whole seconds, and of two clocks that are read one after the other.
pub(super) const SLACK: i64 = 2;

/// What a write contains of a ReplicaSet: what it remembered, and what it remembers afterwards.
pub(super) struct Said<'a> {
    pub(super) update: &'a UpdateReplicaSet,
    pub(super) set: &'a ReplicaSet,
    before: Option<Value>,
    after: Value,
}

/// Why a revision failed by itself, as its memory describes in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Criterion {
    Deadline,
    Restarts,
    /// The pods are stuck for this cause.
    Stuck(&'static str),
    /// A Job failed.
    Job,
}

fn word<'a>(memory: &'a Value, field: &str) -> Option<&'a str> {
    memory.get(field).and_then(Value::as_str)
}

impl<'a> Said<'a> {
    pub(super) fn of(write: &'a Accepted<'_>) -> Option<Self> {
        let Some(Action::UpdateReplicaSet(update)) = write.action() else { return None };
        let after = serde_json::from_str(update.annotations.get(ROLLOUT)?).ok()?;
        let set = &*write.view().find(&update.target.uid)?.set;
        Some(Self { update, set, before: memory(set), after })
    }

    pub(super) fn was(&self, verdict: &str) -> bool {
        self.before.as_ref().is_some_and(|before| word(before, "verdict") == Some(verdict))
    }

    pub(super) fn is(&self, verdict: &str) -> bool {
        word(&self.after, "verdict") == Some(verdict)
    }

    /// The criterion by which it fails with this write.
    pub(super) fn criterion(&self) -> Option<Criterion> {
        let cause = word(&self.after, "cause").filter(|_| self.fails())?;
        let is_pull = cause.contains("cannot pull the image");
        Some(match () {
            () if cause.starts_with("it made no progress") => Criterion::Deadline,
            () if cause.starts_with("the gate") || cause.starts_with("the hook") => Criterion::Job,
            () if cause.ends_with("times or more") => Criterion::Restarts,
            () => Criterion::Stuck(if is_pull { "ImagePull" } else { "CrashLoop" }),
        })
    }

    /// Since when restarts count, by the write.
    pub(super) fn since(&self) -> Option<Timestamp> {
        word(&self.after, "since")?.parse().ok()
    }

    /// Whether it fails by itself with this write.
    pub(super) fn fails(&self) -> bool {
        self.is("Failed") && !self.is_abort() && !self.was("Failed")
    }

    fn is_abort(&self) -> bool {
        let heard = |memory: &Value| word(memory, "abort").map(str::to_owned);
        is_aborted(&self.after) && heard(&self.after) != self.before.as_ref().and_then(heard)
    }
}

/// The request about this revision.
fn asked<'a>(workload: &'a Workload, key: &str, number: Option<i64>) -> Option<&'a str> {
    let text = workload.annotations.get(key)?;
    let about = text.split_once('/').map_or(text.as_str(), |(about, _)| about);
    (about.parse().ok() == number).then_some(text.as_str())
}

/// FP-2: no size changes in a reconcile that stores a failure, unless the Deployment is paused or a pin is in force.
pub(super) fn stored_first(write: &Accepted<'_>) -> Option<Verdict> {
    let view = write.view();
    let said = Said::of(write).filter(|said| said.is("Failed") && !said.was("Failed"));
    let is_free = view.workload.paused || pin(&view.workload).is_some();
    if is_free || !(view.is_judged || said.is_some()) {
        return None;
    }
    let is_moved = |one: &crate::view::SetView| one.size != one.set.size;
    let moves = match write.action() {
        Some(Action::UpdateReplicaSet(update)) => update.size_to != update.size_from,
        Some(Action::CreateReplicaSet(set)) => set.size > 0,
        _ => false,
    };
    let before = view.owned().find(|one| said.is_some() && is_moved(one)).map(|one| one.set.name.clone());
    Some(match before {
        Some(name) => Err(format!("a failure was stored after the size of {name} had changed")),
        None if moves => Err("sizes change in the reconcile that stores a failure".to_owned()),
        None => Ok(()),
    })
}

/// FP-2, FP-4: a revision that failed by itself was late, and nothing excused it from judgment.
pub(super) fn failure_is_true(write: &Accepted<'_>) -> Option<Verdict> {
    let said = Said::of(write).filter(Said::fails)?;
    let (view, number) = (write.view(), revision(said.set));
    let workload = &*view.workload;
    if said.criterion() == Some(Criterion::Job) {
        let verdict = if workload.paused {
            Err("it is paused".to_owned())
        } else {
            jobs::it_failed(write.truth, &said.set.uid)
        };
        return Some(
            verdict.map_err(|text| format!("{} failed by a Job, and {text}", said.update.target.name)),
        );
    }
    let Some(policy) = &workload.failure_policy else {
        return Some(Err("failed without a policy".to_owned()));
    };
    let ours = &workload.status.ours;
    let is_declared = view.new_set().is_some_and(|new| new.set.uid == said.set.uid);
    let excuses = [
        (!is_declared, "it is not declared"),
        (policy.action == FailureAction::Continue, "the policy is to continue"),
        (said.was("Good"), "it is good"),
        (workload.paused, "it is paused"),
        (workload.deleting, "the Deployment is being deleted"),
        (workload.replicas == 0, "it has no pods"),
        (pin(workload).is_some(), "a pin is in force"),
        (ours.target.is_some(), "another revision runs"),
        (ours.revision != number, "the status is not about it"),
    ];
    let name = &said.update.target.name;
    if let Some((_, excuse)) = excuses.into_iter().find(|(is_so, _)| *is_so) {
        return Some(Err(format!("{name} failed, although {excuse}")));
    }
    let verdict = match said.criterion() {
        Some(Criterion::Deadline) => is_due(write, policy, said.set),
        // Other checks look at what the pods show.
        Some(_) => Ok(()),
        None => Err("nothing says why".to_owned()),
    };
    Some(verdict.map_err(|text| format!("{name} failed, and {text}")))
}

/// Whether the deadline has passed.
fn is_due(write: &Accepted<'_>, policy: &plan::FailurePolicy, set: &ReplicaSet) -> Verdict {
    let workload = &*write.view().workload;
    if !policy.deadline {
        return Err("the policy has no deadline".to_owned());
    }
    let progressing = workload.status.condition(condition::PROGRESSING);
    // When it is resumed, or leaves a step, the deadline restarts.
    let held = [reason::NEW_REPLICA_SET_AVAILABLE, reason::DEPLOYMENT_PAUSED, reason::RESTING_AT_STEP];
    if progressing.is_none_or(|known| held.contains(&known.reason.as_str())) {
        return Err(format!("Progressing is {:?}", progressing.map(|known| &known.reason)));
    }
    let Some(deadline) = workload.progress_deadline_seconds else {
        return Err("it has no deadline".to_owned());
    };
    let wanted = workload.replicas;
    if [set.size, set.status.available, write.view().total()].iter().all(|count| *count == wanted) {
        return Err("it is complete".to_owned());
    }
    if let Some(marks) =
        workload.status.ours.marks.as_ref().filter(|marks| Some(marks.revision) == revision(set))
    {
        let most = marks.replicas.min(workload.replicas);
        let known = [marks.updated, marks.ready, marks.available].map(|count| count.min(most));
        let now = counts(set).map(|count| count.min(most));
        if now.iter().zip(known).any(|(now, known)| *now > known) {
            return Err(format!("{now:?} pods are there, of which the status reports {known:?}"));
        }
    }
    // What others write to ReplicaSets, and a wrong clock, confuse the times. Another revision may be declared
    // meanwhile.
    let is_known = |it: &&Shown| it.uid == set.uid && write.is_alone && write.is_clock_right;
    let shown = write.truth.shown.as_ref().filter(is_known);
    if shown.is_some_and(|shown| shown.is_reported_done) {
        return Err("the status reported that it was complete".to_owned());
    }
    match shown.and_then(|shown| shown.improved) {
        Some(time) if after(time, deadline) > after(write.now, SLACK) => {
            Err(format!("it had more pods than ever before at {time}, and has {deadline} s"))
        }
        _ => Ok(()),
    }
}

/// An operator sees an outage of this many seconds, if nothing disturbs it.
const SEEN: i64 = 10;

/// FP-5: it does not fail while the pods of the fallback do no better, and after an outage of both it has the whole
/// deadline once more.
pub(super) fn cause_is_its_own(write: &Accepted<'_>) -> Option<Verdict> {
    let said = Said::of(write).filter(|said| said.criterion() == Some(Criterion::Deadline))?;
    let sets: Vec<_> = write.view().owned().map(|view| &*view.set).collect();
    let workload = &write.view().workload;
    compared(workload, &sets, said.set)?;
    let name = &said.update.target.name;
    if is_held_back(workload, &sets, said.set) {
        return Some(Err(format!("{name} failed, and the pods of the fallback did no better")));
    }
    let is_certain = write.is_quiet && write.is_alone && write.is_clock_right;
    let shown = write.truth.shown.as_ref().filter(|shown| shown.uid == said.set.uid && is_certain);
    let outage = shown.and_then(|shown| shown.outage).filter(|(from, to)| after(*from, SEEN) <= *to);
    let deadline = workload.progress_deadline_seconds.unwrap_or(0);
    Some(match outage {
        Some((_, end)) if after(end, deadline) > after(write.now, SLACK) => {
            Err(format!("{name} failed, and an outage of both revisions ended at {end}"))
        }
        _ => Ok(()),
    })
}

/// FP-9: who fails because somebody asks was asked about, and each text counts once.
pub(super) fn asked_for(write: &Accepted<'_>) -> Option<Verdict> {
    let said = Said::of(write)?;
    let (workload, number) = (&write.view().workload, revision(said.set));
    let is_same = said.after.get("revision").and_then(Value::as_i64) == number;
    let key = match (said.was("Failed"), said.is("Failed")) {
        (_, true) if said.is_abort() => ABORT,
        (true, false) if is_same => RETRY,
        _ => return None,
    };
    let field = if key == ABORT { "abort" } else { "retry" };
    let heard = said.before.as_ref().and_then(|before| word(before, field));
    let text = asked(workload, key, number);
    // A promotion from before a retry is older than it.
    let promoted = asked(workload, PROMOTE, number).filter(|_| key == RETRY);
    let is_older = promoted.is_none_or(|text| word(&said.after, "promote") == Some(text));
    let is_asked = text.is_some() && text != heard && word(&said.after, field) == text && is_older;
    let name = &said.update.target.name;
    let failed = || format!("{name}: {key} is {text:?}, {heard:?} was heard, and {} is noted", said.after);
    Some(if is_asked { Ok(()) } else { Err(failed()) })
}

/// Whether the operator has seen the present size, and the status that reports how many pods were available last. An
/// earlier size may have been complete, and a break that is over may be in a status that it does not know.
pub(super) fn knows_counts(write: &Accepted<'_>) -> bool {
    let counts = |workload: &Workload| (workload.generation, workload.status.available_replicas);
    write.truth.workload.as_ref().is_some_and(|now| counts(now) == counts(&write.view().workload))
}

/// FP-1: what is good was complete for as long as it bakes, or ran when no ReplicaSet had a verdict.
pub(super) fn good_is_true(write: &Accepted<'_>) -> Option<Verdict> {
    // A ReplicaSet that gets another revision stays good.
    let said = Said::of(write).filter(|said| said.is("Good") && !said.was("Good"))?;
    let view = write.view();
    let sets = || view.owned().map(|view| &*view.set);
    let name = &said.update.target.name;
    let Some(new) = view.new_set().filter(|new| new.set.uid == said.set.uid) else {
        let wanted = view.new_set().map(|new| inferred(sets(), &new.set));
        // Without a declared ReplicaSet, nobody knows which is old.
        let is_it = wanted.is_none_or(|set| set.is_some_and(|set| set.size == said.set.size));
        let is_whole = said.set.size > 0 && said.set.status.available >= said.set.size;
        let is_true = is_it && is_whole && !sets().any(|set| says(set, "Good"));
        return Some(if is_true { Ok(()) } else { Err(format!("{name} is old, and became good")) });
    };
    let workload = &view.workload;
    let available = new.set.status.available;
    if workload.replicas == 0 || available < view.minimum() {
        return Some(Err(format!("{name} is good with {available} pods of {}", workload.replicas)));
    }
    let bake = workload.failure_policy.as_ref().map_or(0, |policy| policy.bake_seconds);
    let is_known = |shown: &&Shown| shown.uid == new.set.uid && Some(shown.revision) == revision(&new.set);
    let shown = write.truth.shown.as_ref().filter(|shown| is_known(shown) && knows_counts(write));
    let shown = shown.filter(|_| write.is_alone && write.is_clock_right);
    Some(match shown.map(|shown| shown.whole) {
        Some(None) => Err(format!("{name} is good, and was not complete since it had too few pods")),
        Some(Some(whole)) if after(whole, bake) > after(write.now, SLACK) => {
            Err(format!("{name} is good, was complete at {whole}, and bakes for {bake} s"))
        }
        _ => Ok(()),
    })
}
