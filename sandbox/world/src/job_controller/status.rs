//! The status of a Job: what of its pods is counted, and how it ends.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::{is_failed, is_tracked, later, or_gone};
use crate::object::Object;
use crate::refusal::Refused;
use crate::replica_set_controller::pods::is_active;
use crate::stamp::stamp;
use crate::status::Phase;
use crate::store::Store;
use crate::store::key::Key;
use crate::write::{Mode, Subresource};

/// The members that count pods which have ended.
const ENDS: [&str; 2] = ["succeeded", "failed"];

/// How a Job ends.
#[derive(Clone, Debug)]
pub(super) struct End {
    is_success: bool,
    reason: String,
    message: String,
}

impl End {
    fn new(is_success: bool, reason: &str, message: &str) -> Self {
        Self { is_success, reason: reason.to_owned(), message: message.to_owned() }
    }

    /// The types of its conditions: that the end is certain, and that it has come.
    fn kinds(&self) -> (&'static str, &'static str) {
        if self.is_success { ("SuccessCriteriaMet", "Complete") } else { ("FailureTarget", "Failed") }
    }

    fn condition(&self, kind: &str, now: &Value) -> Value {
        json!({
            "type": kind, "status": "True", "reason": self.reason, "message": self.message,
            "lastProbeTime": now, "lastTransitionTime": now,
        })
    }
}

/// A status as it is written step by step.
pub(super) struct JobStatus {
    members: Map<String, Value>,
    now: Value,
}

impl JobStatus {
    /// The status as it is stored; the Job starts now, if it has not started yet.
    pub(super) fn of(job: &Object, now: Timestamp) -> Self {
        let mut members = job.status.as_object().cloned().unwrap_or_default();
        members.entry("startTime").or_insert_with(|| stamp(now));
        members.entry("uncountedTerminatedPods").or_insert_with(|| json!({}));
        Self { members, now: stamp(now) }
    }

    /// When the Job has run for too long.
    pub(super) fn deadline(&self, job: &Object) -> Option<Timestamp> {
        let seconds = u64::try_from(job.spec_number("activeDeadlineSeconds")?).ok()?;
        let start = self.members.get("startTime")?.as_str()?.parse().ok()?;
        Some(later(start, Duration::from_secs(seconds)))
    }

    fn number(&self, field: &str) -> i64 {
        self.members.get(field).and_then(Value::as_i64).unwrap_or(0)
    }

    /// How many pods have ended, counted or not: well, and with an error.
    fn ends(&self, pods: &[Object]) -> [i64; 2] {
        let new = new_ends(pods);
        let [succeeded, failed] = ENDS.map(|end| self.number(end));
        [succeeded.saturating_add(new[0]), failed.saturating_add(new[1])]
    }

    /// How the Job ends, if that is certain before its pods are looked after.
    pub(super) fn end(&self, job: &Object, pods: &[Object], now: Timestamp) -> Option<End> {
        let text = |condition: &Value, field: &str| condition.get(field)?.as_str().map(str::to_owned);
        for (kind, is_success) in [("SuccessCriteriaMet", true), ("FailureTarget", false)] {
            if let Some(certain) = condition(job, kind) {
                let (reason, message) = (text(certain, "reason")?, text(certain, "message")?);
                return Some(End { is_success, reason, message });
            }
        }
        if let Some(message) = pods.iter().find_map(|pod| fails_job(job, pod)) {
            return Some(End::new(false, "PodFailurePolicy", &message));
        }
        let limit = job.spec_number("backoffLimit").unwrap_or(6);
        let [_, failed] = self.ends(pods);
        if failed > limit || has_restarted_too_often(job, pods, limit) {
            let message = "Job has reached the specified backoff limit";
            return Some(End::new(false, "BackoffLimitExceeded", message));
        }
        let is_late = self.deadline(job).is_some_and(|deadline| deadline <= now);
        let message = "Job was active longer than specified deadline";
        is_late.then(|| End::new(false, "DeadlineExceeded", message))
    }

    /// How many pods to create.
    pub(super) fn missing(&self, job: &Object, pods: &[Object]) -> usize {
        let active = count(pods, is_active);
        let parallelism = job.spec_number("parallelism").unwrap_or(1);
        let [succeeded, _] = self.ends(pods);
        let wanted = match completions(job) {
            Some(completions) => parallelism.min(completions.saturating_sub(succeeded)),
            None if succeeded > 0 => 0,
            None => parallelism,
        };
        usize::try_from(wanted.saturating_sub(active)).unwrap_or(0)
    }

    /// The good end of the Job, if enough pods have succeeded and no other runs.
    pub(super) fn success(&self, job: &Object, pods: &[Object]) -> Option<End> {
        let [succeeded, _] = self.ends(pods);
        let is_enough = succeeded >= completions(job).unwrap_or(1) && count(pods, is_active) == 0;
        let message = "Reached expected number of succeeded pods";
        is_enough.then(|| End::new(true, "CompletionsReached", message))
    }

    /// Notes what runs, and how the Job ends.
    pub(super) fn note(&mut self, job: &Object, pods: &[Object], end: Option<&End>) {
        self.set_count("active", count(pods, is_active));
        let is_ready = |pod: &Object| is_active(pod) && pod.status.pod().is_ready;
        let is_going = |pod: &Object| pod.is_deleting() && !pod.status.pod().phase.is_finished();
        self.members.insert("ready".to_owned(), json!(count(pods, is_ready)));
        self.members.insert("terminating".to_owned(), json!(count(pods, is_going)));
        if let Some(end) = end
            && condition(job, end.kinds().0).is_none()
        {
            self.push(end.condition(end.kinds().0, &self.now));
        }
    }

    /// Counts pods that are let go, and ends the Job when nothing of it is left.
    pub(super) fn count(&mut self, released: &[Object], end: Option<&End>) {
        for (field, new) in ENDS.into_iter().zip(new_ends(released)) {
            self.set_count(field, self.number(field).saturating_add(new));
        }
        let Some(end) = end.filter(|_| self.number("terminating") == 0) else { return };
        self.push(end.condition(end.kinds().1, &self.now));
        if end.is_success {
            self.members.insert("completionTime".to_owned(), self.now.clone());
        }
    }

    /// Writes the status, unless it is stored.
    pub(super) fn write(&self, store: &mut Store, job: &Object) -> Result<(), Refused> {
        let live = store.get(&Key::of(job)).filter(|live| live.uid() == job.uid());
        let Some(live) = live.cloned() else { return Ok(()) };
        let status = Arc::new(Value::Object(self.members.clone()).into());
        or_gone(store.replace(Object { status, ..live }, Subresource::Status, Mode::Store))
    }

    fn set_count(&mut self, field: &str, count: i64) {
        if count == 0 {
            self.members.remove(field);
        } else {
            self.members.insert(field.to_owned(), json!(count));
        }
    }

    fn push(&mut self, condition: Value) {
        let conditions = self.members.entry("conditions").or_insert_with(|| json!([]));
        if let Some(conditions) = conditions.as_array_mut() {
            conditions.push(condition);
        }
    }
}

/// How many pods have ended that are in no count yet: well, and with an error.
pub(super) fn new_ends(pods: &[Object]) -> [i64; 2] {
    let has_succeeded = |pod: &Object| is_tracked(pod) && pod.status.pod().phase == Phase::Succeeded;
    [count(pods, has_succeeded), count(pods, |pod| is_tracked(pod) && is_failed(pod))]
}

/// How many pods have to succeed; one is enough for a Job that leaves it open.
fn completions(job: &Object) -> Option<i64> {
    let is_open = job.spec.get("parallelism").is_some() && job.spec.get("completions").is_none();
    (!is_open).then(|| job.spec_number("completions").unwrap_or(1))
}

fn count(pods: &[Object], is_one: impl Fn(&Object) -> bool) -> i64 {
    i64::try_from(pods.iter().filter(|pod| is_one(pod)).count()).unwrap_or(i64::MAX)
}

/// Whether the containers of pods that are restarted have used up the limit.
fn has_restarted_too_often(job: &Object, pods: &[Object], limit: i64) -> bool {
    let policy = job.spec.pointer("/template/spec/restartPolicy").and_then(Value::as_str);
    let running = pods.iter().filter(|pod| !pod.status.pod().phase.is_finished());
    let statuses = running.filter_map(|pod| pod.status.get("containerStatuses")?.as_array()).flatten();
    let restarts: i64 = statuses.filter_map(|status| status.get("restartCount")?.as_i64()).sum();
    policy == Some("OnFailure") && restarts >= limit.max(1)
}

/// A condition of a Job that is true.
fn condition<'a>(job: &'a Object, kind: &str) -> Option<&'a Value> {
    let is = |condition: &Value, field: &str, value: &str| {
        condition.get(field).and_then(Value::as_str) == Some(value)
    };
    let mut conditions = job.status.get("conditions")?.as_array()?.iter();
    conditions.find(|one| is(one, "type", kind) && is(one, "status", "True"))
}

/// Whether a Job has come to its end.
pub(super) fn is_finished(job: &Object) -> bool {
    condition(job, "Complete").or_else(|| condition(job, "Failed")).is_some()
}

/// When a Job has come to its end.
pub(super) fn finished_at(job: &Object) -> Option<Timestamp> {
    let end = condition(job, "Complete").or_else(|| condition(job, "Failed"))?;
    end.get("lastTransitionTime")?.as_str()?.parse().ok()
}

/// Why a failed pod fails the Job by a rule for exit codes; rules for conditions of pods are not here.
fn fails_job(job: &Object, pod: &Object) -> Option<String> {
    if pod.status.pod().phase != Phase::Failed {
        return None;
    }
    let rules = job.spec.pointer("/podFailurePolicy/rules").and_then(Value::as_array)?;
    let containers = pod.status.get("containerStatuses").and_then(Value::as_array)?;
    let codes = containers
        .iter()
        .filter_map(|it| Some((it["name"].as_str()?, it.pointer("/state/terminated/exitCode")?)));
    let codes: Vec<_> = codes.filter(|(_, code)| **code != 0).collect();
    // The first rule that fits decides.
    rules.iter().enumerate().find_map(|(index, rule)| {
        let rule_of = rule.get("onExitCodes")?;
        let values = rule_of["values"].as_array()?;
        let is_in = rule_of["operator"] == "In";
        let (container, code) = codes.iter().find(|(_, code)| values.contains(code) == is_in)?;
        let place = format!("{}/{}", pod.namespace(), pod.name());
        let words = format!(
            "Container {container} for pod {place} failed with exit code {code} matching FailJob rule at index {index}"
        );
        Some((rule["action"] == "FailJob").then_some(words))
    })?
}
