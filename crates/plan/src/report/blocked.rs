//! What blocks a rollout, as the status, its conditions, and events report it (rollwright.dev only).
//!
//! The engine finds it out and adds it to the snapshot; only a failure policy decides by it. A blocker is known by its
//! cause, container, and reason: another count or text is reported with the next write, and causes none.

use crate::decide::decisions::Decisions;
use crate::model::action::Event;
use crate::model::blocker::Blocker;
use crate::model::conditions::whole_seconds;
use crate::model::keys::{condition, reason};
use crate::model::status::{InHand, Status};
use crate::model::why::Why;
use crate::report::awaited::waits_for_pods;
use crate::report::target;

/// The most blockers that a status has.
const MOST: usize = 5;
/// Between the message of Progressing and what is added to it: after a sentence, and after words without a period.
const MARKS: [&str; 2] = [" It is blocked: ", "; it is blocked: "];

/// What blocks a rollout that a reconcile leaves like this. What was found out about another ReplicaSet, or stored
/// with another revision or while another ReplicaSet ran, does not count.
pub(crate) fn current(decisions: &Decisions<'_>, status: &Status, why: &Why) -> Vec<Blocker> {
    let observed = decisions.view.observed;
    if !observed.flavour.has_status_extras() || !waits_for_pods(decisions, why) {
        return Vec::new();
    }
    let stored = &observed.workload.status.ours;
    let (before, now) = (&stored.target, target::record(decisions));
    let runs_same = before.as_ref().map(|it| &it.hash) == now.as_ref().map(|it| &it.hash);
    let is_same = stored.revision == status.ours.revision && runs_same;
    let known = if is_same { stored.blockers.as_slice() } else { &[] };
    let findings = observed.answers.findings.as_ref();
    let set = decisions.running_name().filter(|_| *why.itself() != Why::WaitingForTermination);
    let Some(found) = findings.filter(|found| found.set.as_deref() == set) else {
        // FP-9: nothing is known of the pods that came after a retry.
        let retried = decisions.course.retried;
        return known.iter().filter(|known| retried.is_none() || known.since >= retried).cloned().collect();
    };
    let now = Some(whole_seconds(decisions.view.now));
    let dated = |found: &Blocker| {
        let known = known.iter().find(|known| known.key() == found.key());
        Blocker { since: known.map_or(now, |known| known.since), ..found.clone() }
    };
    found.blockers.iter().take(MOST).map(dated).collect()
}

/// Puts blockers into the status, if others block than it reports.
pub(crate) fn note(status: &mut InHand<'_>, current: &[Blocker]) {
    if !has_same_keys(&status.ours.blockers, current) {
        status.edit().ours.blockers = current.to_vec();
    }
}

fn has_same_keys(known: &[Blocker], current: &[Blocker]) -> bool {
    let has = |all: &[Blocker], one: &Blocker| all.iter().any(|other| other.key() == one.key());
    known.len() == current.len() && current.iter().all(|one| has(known, one))
}

/// Brings counts and texts up to date, in a status that is written anyway.
pub(crate) fn refresh(status: &mut Status, current: Vec<Blocker>) {
    let words = words(&current);
    status.ours.blockers = current;
    let progressing = status.conditions.iter_mut().find(|entry| entry.kind == condition::PROGRESSING);
    let Some(progressing) = progressing else { return };
    if let Some((before, _)) = MARKS.iter().find_map(|mark| progressing.message.split_once(mark)) {
        progressing.message = before.to_owned();
    }
    if let Some(words) = words {
        let [after_sentence, after_words] = MARKS;
        let mark = if progressing.message.ends_with('.') { after_sentence } else { after_words };
        progressing.message.push_str(&format!("{mark}{words}."));
    }
}

/// All of them in a sentence; `None` if there are none.
pub(crate) fn words(blockers: &[Blocker]) -> Option<String> {
    let sentences: Vec<String> = blockers.iter().map(Blocker::sentence).collect();
    (!sentences.is_empty()).then(|| sentences.join("; "))
}

/// The heaviest of them, as its cause and a sentence.
pub(crate) fn heaviest(blockers: &[Blocker]) -> Option<(&str, String)> {
    blockers.first().map(|first| (first.cause.as_str(), first.sentence()))
}

/// What is reported of causes that the status before did not have.
pub(crate) fn event(before: &Status, after: &Status) -> Option<Event> {
    let is_new = |one: &&Blocker| before.ours.blockers.iter().all(|known| known.key() != one.key());
    let new: Vec<Blocker> = after.ours.blockers.iter().filter(is_new).cloned().collect();
    let words = words(&new)?;
    let revision = after.ours.revision.map_or_else(String::new, |number| format!(" of revision {number}"));
    Some(Event::warning(reason::ROLLOUT_BLOCKED, format!("Rollout{revision} is blocked: {words}")))
}
