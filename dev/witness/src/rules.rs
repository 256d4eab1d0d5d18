//! The rules, each named for its sentence. A rule returns nothing where its premise does not hold.

use jiff::Timestamp;
use serde_json::Value;
use world::{Object, Resource};

use crate::shown::{self, number, text};
use crate::{Finding, Version, Witness};

/// Times in a status are whole seconds.
const ROUNDING: i64 = 1;

type Verdict = Result<(), String>;
type Rule = fn(&Case<'_>) -> Option<Verdict>;

const RULES: [(&str, &str, Rule); 12] = [
    ("UM-5", "UM-5: a rollout leaves a step", left_for_its_reason),
    ("UM-8", "UM-8: a verdict becomes another one", changed_by_an_act),
    ("UM-10", "UM-10: a status gets another observedGeneration", observed_grows),
    ("UM-13", "UM-13: a pause holds everything", pause_is_named),
    ("UM-13", "UM-13: a pin that names nothing holds everything", missing_pin_is_named),
    ("UM-16", "UM-16: a sentence names a ReplicaSet", about_what_matters),
    ("UM-16", "UM-16: a status has records of the one before", ended_is_ended),
    ("UM-18", "UM-18: a status names a ReplicaSet", names_what_exists),
    ("UM-19", "UM-19: a ReplicaSet grows under Recreate", one_revision_at_once),
    ("UM-20", "UM-20: a status reports a rollout", has_an_id_of_its_own),
    ("UM-20", "UM-20: a template takes the place of another one", began_by_the_difference),
    ("UM-21", "UM-21: another revision runs in the place of the declared one", names_who_did_it),
];

/// A write of the operator, and what the API has shown before.
pub(crate) struct Case<'a> {
    pub(crate) version: &'a Version<'a>,
    pub(crate) known: &'a Witness,
}

pub(crate) fn judge(case: &Case<'_>) -> Vec<Finding> {
    let finding = |(name, premise, rule): &(&'static str, &'static str, Rule)| {
        let verdict = rule(case)?;
        Some(Finding { name, premise, broken: verdict.err() })
    };
    RULES.iter().filter_map(finding).collect()
}

/// Nothing, or what is wrong.
fn wrong(is_wrong: bool, text: impl FnOnce() -> String) -> Verdict {
    if is_wrong { Err(text()) } else { Ok(()) }
}

impl<'a> Case<'a> {
    fn now(&self) -> Timestamp {
        self.version.now
    }

    /// The status that was written, and the one before.
    fn status(&self) -> Option<(&'a Object, &'a Object)> {
        let (before, after) = (self.version.before?, self.version.object);
        let is_status = after.resource != Resource::ReplicaSets && before.status != after.status;
        is_status.then_some((before, after))
    }

    /// The ReplicaSet that gets another size, from which, and to which.
    fn resized(&self) -> Option<(&'a Object, i64, i64)> {
        let set = self.version.object;
        let from = self.version.before.map_or(Some(0), shown::replicas)?;
        let to = shown::replicas(set)?;
        (set.resource == Resource::ReplicaSets && from != to).then_some((set, from, to))
    }

    /// Whether the operator knew all that there was to know, and all sizes are its own.
    fn is_certain(&self) -> bool {
        self.version.is_undisturbed && self.known.is_calm(self.now()) && !self.known.has_meddled
    }
}

/// UM-5: a step is left by a promotion of this revision, or when its time is over.
fn left_for_its_reason(case: &Case<'_>) -> Option<Verdict> {
    let (before, after) = case.status().filter(|_| case.version.is_undisturbed)?;
    let same = |pointer: &str| number(before, pointer).filter(|it| number(after, pointer) == Some(*it));
    let revision = same("/rollout/id").and(same("/rollout/revision"))?;
    same("/observedGeneration").filter(|seen| *seen == after.generation())?;
    let (from, to) = (number(before, "/rollout/step")?, number(after, "/rollout/step")?);
    // A change of the number of replicas does not stop the time (UM-6).
    let is_scaled = case.known.scaled > case.known.at_step;
    // One that is good has no steps, and a promotion names its revision.
    let is_good = case.known.with_revision(revision).and_then(shown::verdict).as_deref() == Some("Good");
    // What lost its memory continues at the first step that has room for its pods.
    let is_erased = case.known.erased.contains(&revision);
    let is_promoted = shown::request(after, "rollwright.dev/promote") == Some(revision);
    // A verdict is stored before an edited list is followed; until then, the step is that of the list before.
    let is_fresh = !case.known.is_calm(case.now());
    let is_free = is_good || is_promoted || is_scaled || is_erased || is_fresh;
    if to <= from || is_free || shown::replicas(after) == Some(0) {
        return None;
    }
    let steps = after.spec.pointer("/strategy/rollingUpdate/steps")?.as_array()?;
    let shown = text(before, "/rollout/restStartTime").and_then(|time| time.parse().ok());
    // While pods of others end, only the ReplicaSet shows that the step was reached.
    let since: Option<Timestamp> =
        shown.or_else(|| case.known.with_revision(revision).and_then(shown::reached));
    let waited = since.map_or(0, |since| case.now().duration_since(since).as_secs() + ROUNDING);
    // A time that no pod uses does not run.
    let replicas = shown::replicas(after).unwrap_or(0);
    let has_pods = |step: &&Value| shown::allowed(step, replicas) > 0 || needs_approval(step);
    let left = (from..to).filter_map(|step| steps.get(usize::try_from(step - 1).ok()?));
    let waits = |step: &&Value| {
        let seconds = step.get("waitSeconds").and_then(Value::as_i64);
        needs_approval(step) || seconds.is_some_and(|seconds| waited < seconds)
    };
    let early = left.filter(has_pods).find(waits);
    Some(wrong(early.is_some(), || {
        let step = early.cloned().unwrap_or_default();
        format!("step {from} was left for {to} after {waited} s, and a step on the way is {step}")
    }))
}

/// Whether a step waits until somebody promotes the revision.
fn needs_approval(step: &Value) -> bool {
    step.get("approval").is_some_and(|approval| !approval.is_null())
}

/// UM-8: only an act changes `Failed` to `Good`, and what is good does not fail without one.
fn changed_by_an_act(case: &Case<'_>) -> Option<Verdict> {
    let (before, after) = (case.version.before?, case.version.object);
    if after.resource != Resource::ReplicaSets || shown::revision(before) != shown::revision(after) {
        return None;
    }
    let (was, is) = (shown::verdict(before)?, shown::verdict(after)?);
    let known = case.known.judged.get(after.uid()).filter(|_| was != is)?;
    // GA-7: a good revision that has gates and hooks fails by them, too.
    let memory = after.annotation("rollwright.dev/rollout").unwrap_or_default();
    if ["\"cause\":\"the hook", "\"cause\":\"the gate"].iter().any(|cause| memory.contains(cause)) {
        return None;
    }
    Some(wrong(*known == case.known.acts, || {
        format!("{} was {was} and is {is}: nobody did anything", after.name())
    }))
}

/// UM-10: `observedGeneration` never falls.
fn observed_grows(case: &Case<'_>) -> Option<Verdict> {
    let (before, after) = case.status()?;
    let of = |object| number(object, "/observedGeneration").unwrap_or(0);
    let (was, is) = (of(before), of(after));
    (was != is).then(|| wrong(is < was, || format!("observedGeneration fell from {was} to {is}")))
}

/// The reason of Ready in a status that knows the last act, unless all is done or a cause before that one holds.
fn ready_reason<'a>(case: &Case<'a>, first: &[&str]) -> Option<&'a str> {
    let (_, after) = case.status().filter(|_| case.is_certain())?;
    let conditions = after.status.get("conditions")?.as_array()?;
    let ready = conditions.iter().find(|it| it.get("type").and_then(Value::as_str) == Some("Ready"))?;
    let is_done = ready.get("status").and_then(Value::as_str) == Some("True");
    let reason = ready.get("reason")?.as_str()?;
    (shown::is_observed(after) && !is_done && !first.contains(&reason)).then_some(reason)
}

/// UM-13: a pause is named first, unless a later resume would start nothing either.
fn pause_is_named(case: &Case<'_>) -> Option<Verdict> {
    let reason = ready_reason(case, &["PinTargetMissing", "NewerSpec", "SelectingAll"])?;
    shown::is_paused(case.version.object)
        .then(|| wrong(reason != "DeploymentPaused", || format!("it is paused, and Ready is {reason}")))
}

/// UM-13: a pin that names no ReplicaSet is named first.
fn missing_pin_is_named(case: &Case<'_>) -> Option<Verdict> {
    let reason = ready_reason(case, &["NewerSpec", "SelectingAll"])?;
    let is_missing = text(case.version.object, "/target/reason") == Some("PinTargetMissing");
    is_missing.then(|| {
        wrong(reason != "PinTargetMissing", || format!("the pin names nothing, and Ready is {reason}"))
    })
}

/// UM-16: no sentence names a ReplicaSet that has nothing to do with what runs, or is to run.
fn about_what_matters(case: &Case<'_>) -> Option<Verdict> {
    let (before, after) = case.status().filter(|_| case.is_certain())?;
    if !shown::is_observed(after) {
        return None;
    }
    let hash = |object, pointer| text(object, pointer).and_then(|hash| case.known.with_hash(hash));
    let pinned = after.spec.pointer("/pin/podTemplateHash").and_then(Value::as_str);
    let declared = number(after, "/revision").and_then(|revision| case.known.with_revision(revision));
    // What a Job fails without a pod, and what a retry ends, is about another ReplicaSet in the next status.
    let other = ["/target/podTemplateHash", "/fallback/podTemplateHash"]
        .map(|it| [hash(before, it), hash(after, it)]);
    let named: Vec<_> =
        other.into_iter().flatten().chain([declared]).map(|set| set.map(Object::uid)).collect();
    // Where nothing has pods, a Job that fails may bring any of them back.
    let is_empty = !case.known.sets.values().any(|set| case.known.has_pods(set));
    let matters = |set: &Object| {
        is_empty
            || case.known.has_pods(set)
            || named.contains(&Some(set.uid()))
            || shown::label(set) == pinned
    };
    let (living, idle): (Vec<_>, Vec<_>) = case.known.sets.values().partition(|set| matters(set));
    // The next ReplicaSet of a template may have the name of one that is gone.
    let is_stale = |name: &&str| !living.iter().any(|set| set.name() == *name);
    let gone = case.known.gone.iter().map(String::as_str);
    let stale: Vec<&str> = idle.iter().map(|set| set.name()).chain(gone).filter(is_stale).collect();
    let about = |sentence: &str| stale.iter().find(|name| shown::names(sentence, name));
    // A pause leaves the report of a deadline that passed before it (S13.1), even if another template is declared then.
    let is_left = |text: &str| shown::is_paused(after) && text.ends_with("has timed out progressing.");
    let mut told = shown::sentences(after).filter(|(_, text)| !is_left(text));
    let wrong = told.find_map(|(kind, text)| Some((kind, text, about(text)?)));
    if let Some((kind, text, name)) = wrong {
        return Some(Err(format!("{kind} is about {name}, which has no pods and is not declared: {text}")));
    }
    let is_named = |text: &str| living.iter().any(|set| shown::names(text, set.name()));
    shown::sentences(after).any(|(_, text)| is_named(text)).then_some(Ok(()))
}

/// UM-16: a record changes nothing after it has ended.
fn ended_is_ended(case: &Case<'_>) -> Option<Verdict> {
    let (before, after) = case.status()?;
    let (known, now) = (shown::records(before), shown::records(after));
    let changed = known.iter().find(|(id, record)| now.get(id).is_some_and(|now| now != *record));
    (!known.is_empty())
        .then(|| wrong(changed.is_some(), || format!("the record {changed:?} has changed since")))
}

/// UM-18: the status names no ReplicaSet that does not exist.
fn names_what_exists(case: &Case<'_>) -> Option<Verdict> {
    let (_, after) = case.status().filter(|_| case.is_certain())?;
    let is_missing = text(after, "/target/reason") == Some("PinTargetMissing");
    let target = text(after, "/target/podTemplateHash").filter(|_| !is_missing);
    let mut named = [target, text(after, "/fallback/podTemplateHash")].into_iter().flatten().peekable();
    named.peek()?;
    let gone = named.find(|hash| case.known.with_hash(hash).is_none());
    Some(wrong(gone.is_some(), || format!("the status names {gone:?}, and there is none")))
}

/// UM-19: under Recreate, nothing gets pods while another ReplicaSet has some.
fn one_revision_at_once(case: &Case<'_>) -> Option<Verdict> {
    let (set, from, to) = case.resized().filter(|(_, from, to)| to > from)?;
    let is_recreate = case.known.deployment.as_ref().is_some_and(shown::is_recreate);
    if !is_recreate || !case.is_certain() {
        return None;
    }
    let is_other = |other: &&Object| other.uid() != set.uid() && case.known.has_pods(other);
    let other = case.known.sets.values().find(is_other);
    Some(wrong(other.is_some(), || {
        let other = other.map_or("", Object::name);
        format!("{} grew from {from} to {to}, and {other} has pods", set.name())
    }))
}

/// UM-20: ids rise, and the rollout that runs is none of those that have ended.
fn has_an_id_of_its_own(case: &Case<'_>) -> Option<Verdict> {
    let (before, after) = case.status()?;
    let id = number(after, "/rollout/id")?;
    let last = shown::records(after).keys().max().copied().unwrap_or(0);
    let known = number(before, "/rollout/id").unwrap_or(0);
    Some(wrong(id <= last || id < known, || {
        format!("rollout {id} runs after {last} has ended and {known} ran")
    }))
}

/// UM-20: where one declared template follows another, the trigger is what differs between them.
fn began_by_the_difference(case: &Case<'_>) -> Option<Verdict> {
    let (before, after) = case.status().filter(|_| case.is_certain())?;
    if number(before, "/rollout/id") == number(after, "/rollout/id")
        || text(after, "/target/podTemplateHash").is_some()
    {
        return None;
    }
    let is_act = |trigger: &str| ["Rollback", "Pin", "Revert"].contains(&trigger);
    let trigger = text(after, "/rollout/trigger").filter(|trigger| !is_act(trigger))?;
    let template = |revision: Option<i64>| {
        let set = case.known.with_revision(revision?)?;
        set.spec.get("template").map(shown::Parts::of)
    };
    // What was declared before, whether or not that ran.
    let (from, to) = (template(number(before, "/revision"))?, template(number(after, "/rollout/revision"))?);
    let expected = match (from.images == to.images, from.restarted == to.restarted, from.rest == to.rest) {
        (true, true, true) => return None,
        (false, true, true) => "NewImage",
        (true, false, true) => "Restart",
        _ => "TemplateChanged",
    };
    Some(wrong(trigger != expected, || {
        let record = after.status.get("rollout").map(Value::to_string).unwrap_or_default();
        format!("{expected} began as {trigger}: {record}")
    }))
}

/// UM-21, UM-15: what a person aborted has not failed, and what failed is not aborted.
fn names_who_did_it(case: &Case<'_>) -> Option<Verdict> {
    let (_, after) = case.status().filter(|_| case.is_certain())?;
    let because =
        text(after, "/target/reason").filter(|because| ["Reverted", "Aborted"].contains(because))?;
    let revision = number(after, "/revision")?;
    let is_aborted = case.known.aborted.contains(&revision);
    // Paused, the status still names the revision of a template that was replaced. Who aborts that aborts nothing.
    let declared = after.spec.get("template").map(shown::Parts::of);
    let named = case.known.with_revision(revision).and_then(|set| set.spec.get("template"));
    let is_replaced = named.is_some_and(|named| Some(shown::Parts::of(named)) != declared)
        && after.spec.get("paused") == Some(&Value::Bool(true));
    if because == "Reverted" && is_replaced {
        return None;
    }
    Some(wrong((because == "Aborted") != is_aborted, || {
        format!("revision {revision} is {because}; aborted by a user: {is_aborted}")
    }))
}
