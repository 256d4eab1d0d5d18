//! What a ReplicaSet remembers of its rollouts, as versioned JSON in an annotation: the verdict on a revision, and the
//! requests that the operator handled (FP-1, FP-9). It survives the operator, the status, and a restore from a backup.
//!
//! Also whether a newer operator was here: a field of the spec, or memory on a ReplicaSet, that this one does not
//! know. A newer operator may run an older revision on purpose, or hold a rollout at a step. An operator that
//! ignored the field behind that decision would undo it. Such an operator changes sizes with
//! `spec.replicas` and nothing else, until it is upgraded or the field is removed.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::course::view::View;
use crate::model::action::Event;
use crate::model::conditions::whole_seconds;
use crate::model::keys::ROLLOUT;
use crate::model::observed::{ReplicaSet, Workload};
use crate::model::position::{Fresh, Walk};
use crate::model::record::Promotion;
use crate::model::revision;
use crate::model::runs::Runs;

/// The highest version of the annotation [`ROLLOUT`] that this operator reads.
const VERSION_KNOWN: i64 = 1;

/// The member that names an epoch.
pub(crate) const EPOCH: &str = "epoch";

/// What a revision has shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Proof {
    /// Nothing yet, good or bad.
    #[default]
    Unproven,
    /// The revision serves: it was complete, and stayed so while it baked.
    Good,
    /// The revision does not serve.
    Failed,
}

/// What a ReplicaSet remembers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Memory {
    /// The revision that all else is about; another one voids it.
    pub(crate) revision: i64,
    /// What it has shown.
    pub(crate) shown: Proof,
    /// Why it failed, in words.
    pub(crate) cause: Option<String>,
    /// Whether somebody asked to abort it.
    pub(crate) is_aborted: bool,
    /// The last requests to abort, to retry, and to promote that the operator handled: it does not repeat them.
    pub(crate) abort: Option<String>,
    pub(crate) retry: Option<String>,
    pub(crate) promote: Option<String>,
    /// The promotions that were carried out, oldest first; for people (SP-6).
    pub(crate) promotions: Vec<Promotion>,
    /// When it was retried last, or an outage ended, in whole seconds: a deadline from before does not count.
    pub(crate) retried: Option<Timestamp>,
    /// Whether its pods are broken together with those of the fallback (FP-5).
    pub(crate) has_outage: bool,
    /// The last declared revision that a pin ran it instead of (FP-6).
    pub(crate) instead_of: Option<i64>,
    /// Since when restarts of its containers count, in whole seconds: since it was declared or retried.
    pub(crate) since: Option<Timestamp>,
    /// The most restarts of a pod that is older.
    pub(crate) restarts_before: Option<i64>,
    /// Where it is among its steps (SP-5); `None` if nobody knows.
    pub(crate) walk: Option<Walk>,
    /// The Jobs of its gates and hooks (GA-2).
    pub(crate) runs: Runs,
    /// The epoch of the operator in which its rollout last moved, as long as there is something left to move (HO-1).
    pub(crate) epoch: Option<String>,
}

/// Memory that the reconcile has to write to a ReplicaSet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Note {
    /// Index of the ReplicaSet.
    pub(crate) set: usize,
    pub(crate) memory: Memory,
    /// What is reported once the memory is written.
    pub(crate) events: Vec<Event>,
}

impl Memory {
    /// The memory of a ReplicaSet, if it can be read; what cannot be read counts as absent.
    pub(crate) fn of(set: &ReplicaSet) -> Option<Self> {
        let memory: Value = serde_json::from_str(set.annotations.get(ROLLOUT)?).ok()?;
        let text = |field: &str| memory.get(field).and_then(Value::as_str).map(str::to_owned);
        let shown = match memory.get("verdict").and_then(Value::as_str) {
            Some("Good") => Proof::Good,
            Some("Failed") => Proof::Failed,
            _ => Proof::Unproven,
        };
        let time = |field: &str| text(field)?.parse().ok();
        let promotions = memory.get("promotions").and_then(Value::as_array).into_iter().flatten();
        let mut promotions = promotions.filter_map(Promotion::read).collect();
        // Others can write to a ReplicaSet, too.
        Promotion::cut(&mut promotions);
        Some(Self {
            revision: memory.get("revision")?.as_i64()?,
            shown,
            cause: text("cause"),
            is_aborted: memory.get("aborted").and_then(Value::as_bool) == Some(true),
            abort: text("abort"),
            retry: text("retry"),
            promote: text("promote"),
            promotions,
            retried: time("retried"),
            has_outage: memory.get("outage").and_then(Value::as_bool) == Some(true),
            instead_of: memory.get("insteadOf").and_then(Value::as_i64),
            since: time("since"),
            restarts_before: memory.get("restartsBefore").and_then(Value::as_i64).filter(|count| *count >= 0),
            walk: memory.get("steps").and_then(Walk::read),
            runs: memory.get("jobs").map(Runs::read).unwrap_or_default(),
            epoch: text(EPOCH),
        })
    }

    /// The memory of a ReplicaSet, unless it is about another revision (FP-1).
    pub(crate) fn valid(set: &ReplicaSet) -> Option<Self> {
        Self::of(set).filter(|memory| Some(memory.revision) == revision::of(set).number())
    }

    /// The same, and if there is none, what is known of a ReplicaSet without memory: its revision.
    pub(crate) fn known(set: &ReplicaSet) -> Self {
        let revision = revision::of(set).or_zero();
        Self::valid(set).unwrap_or(Self { revision, ..Self::default() })
    }

    /// As the annotation has it.
    pub(crate) fn text(&self) -> String {
        let verdict = match self.shown {
            Proof::Good => Some("Good"),
            Proof::Failed => Some("Failed"),
            Proof::Unproven => None,
        };
        let time = |at: Option<Timestamp>| at.map(|at| at.to_string());
        let promotions: Vec<Value> = self.promotions.iter().map(Promotion::value).collect();
        let fields = [
            ("verdict", verdict.into()),
            ("cause", self.cause.as_deref().into()),
            ("aborted", self.is_aborted.then_some(true).into()),
            ("abort", self.abort.as_deref().into()),
            ("retry", self.retry.as_deref().into()),
            ("promote", self.promote.as_deref().into()),
            ("promotions", Some(promotions).filter(|them| !them.is_empty()).into()),
            ("retried", time(self.retried).into()),
            ("outage", self.has_outage.then_some(true).into()),
            ("insteadOf", self.instead_of.into()),
            ("since", time(self.since).into()),
            ("restartsBefore", self.restarts_before.into()),
            ("steps", self.walk.as_ref().map(Walk::value).into()),
            ("jobs", self.runs.value()),
            (EPOCH, self.epoch.as_deref().into()),
        ];
        let mut memory = json!({ "version": VERSION_KNOWN, "revision": self.revision });
        if let Some(members) = memory.as_object_mut() {
            let known = fields.into_iter().filter(|(_, value): &(&str, Value)| !value.is_null());
            members.extend(known.map(|(field, value)| (field.to_owned(), value)));
        }
        memory.to_string()
    }

    /// The memory of a revision that is declared or retried now, with where it begins among its steps (SP-9).
    pub(crate) fn fresh(workload: &Workload, revision: i64, fresh: &Fresh, now: Timestamp) -> Self {
        let Fresh { walk, promote, promotion, runs, epoch } = fresh.clone();
        let promotions = promotion.into_iter().collect();
        Self { revision, walk, promote, promotions, runs, epoch, ..Self::default() }.dated(workload, now)
    }

    /// Whether it is among its steps, and no pin has run it since with all pods.
    pub(crate) fn is_on_its_way(&self) -> bool {
        let position = self.walk.as_ref().and_then(Walk::position);
        position.is_some_and(|position| position.step.is_some())
            && self.instead_of.is_none_or(|declared| declared < self.revision)
    }

    /// Whether there is something to remember of a revision that is declared.
    pub(crate) fn is_needed(&self) -> bool {
        self.since.is_some() || self.walk.is_some() || self.runs != Runs::default() || self.epoch.is_some()
    }

    /// With what is left of an earlier revision of the same ReplicaSet: only Good survives (FP-1).
    pub(crate) fn survived(self, known: Option<Self>) -> Self {
        match known.map(|known| known.shown) {
            Some(Proof::Good) => Self { shown: Proof::Good, ..self },
            Some(Proof::Failed | Proof::Unproven) | None => self,
        }
    }

    /// With the time since when restarts count, if they count at all.
    pub(crate) fn dated(self, workload: &Workload, now: Timestamp) -> Self {
        let policy = workload.failure_policy.as_ref().filter(|_| workload.may_fail());
        let counts = policy.is_some_and(|policy| policy.restarts.is_some());
        let since = self.since.or(counts.then(|| whole_seconds(now)));
        Self { since, ..self }
    }
}

impl Promotion {
    /// As the annotation has it.
    fn value(&self) -> Value {
        let mut value = json!({ "step": self.step, "manager": self.manager, "at": self.time.map(|time| time.to_string()) });
        if let Some(members) = value.as_object_mut().filter(|_| self.is_forced) {
            members.insert("forced".to_owned(), true.into());
        }
        value
    }

    /// What cannot be read counts as absent, and so does what the server refuses in a status.
    fn read(value: &Value) -> Option<Self> {
        let text = |field: &str| value.get(field).and_then(Value::as_str);
        let time: Option<Timestamp> = text("at").and_then(|time| time.parse().ok());
        Some(Self {
            step: value.get("step")?.as_i64().filter(|step| *step > 0)?,
            manager: text("manager").unwrap_or_default().to_owned(),
            time: time.filter(|time| *time >= Timestamp::UNIX_EPOCH),
            is_forced: value.get("forced") == Some(&Value::Bool(true)),
        })
    }
}

/// What a newer operator left, in a sentence with the fix; `None` if there is nothing.
pub(crate) fn newer(view: View<'_>) -> Option<String> {
    let View { observed, sets, .. } = view;
    if !observed.flavour.has_safeguards() {
        return None;
    }
    if let Some(field) = &observed.workload.unknown_field {
        return Some(format!(
            "{field} is newer than this operator: upgrade the operator, or remove the field"
        ));
    }
    let (set, version) = sets.all.iter().find_map(|set| Some((set, newer_version(set)?)))?;
    Some(format!(
        "ReplicaSet {} has the annotation {ROLLOUT} in version {version}, which is newer than this operator: \
         upgrade the operator, or remove the annotation",
        set.name
    ))
}

/// The version of the memory on a ReplicaSet, if it is too high. What cannot be read counts as absent.
fn newer_version(set: &ReplicaSet) -> Option<i64> {
    let text = set.annotations.get(ROLLOUT)?;
    let memory: Value = serde_json::from_str(text).ok()?;
    memory.get("version")?.as_i64().filter(|version| *version > VERSION_KNOWN)
}
