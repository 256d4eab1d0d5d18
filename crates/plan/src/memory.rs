//! What a ReplicaSet remembers of its rollouts, as versioned JSON in an annotation: the verdict on a revision, and
//! the requests that were heard (FP-1, FP-9). It survives the operator, the status, and a restore from a backup.
//!
//! Also whether a newer operator was here: a field of the spec, or memory on a ReplicaSet, that this one does not
//! know. A newer operator may run an older revision on purpose, or hold a rollout at a step. An operator that
//! ignored the field behind that decision would undo it. Such an operator changes sizes with
//! `spec.replicas` and nothing else, until it is upgraded or the field is removed.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::keys::ROLLOUT;
use crate::observed::{Observed, ReplicaSet};
use crate::revision;
use crate::sets::Sets;

/// The highest version of the annotation [`ROLLOUT`] that this operator reads.
const VERSION_KNOWN: i64 = 1;

/// What a revision has shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    /// It was complete, and stayed so while it baked.
    Good,
    /// It failed.
    Failed,
}

/// What a set remembers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Memory {
    /// The revision that all else is about; another one voids it.
    pub(crate) revision: i64,
    pub(crate) shown: Option<Shown>,
    /// Whether somebody asked to abort it.
    pub(crate) is_aborted: bool,
    /// The requests to abort and to retry that were heard last: they are not heard again.
    pub(crate) abort: Option<String>,
    pub(crate) retry: Option<String>,
    /// When it was retried last, in whole seconds: a deadline from before does not count.
    pub(crate) retried: Option<Timestamp>,
}

impl Memory {
    /// That of a set, if it can be read; what cannot be read counts as absent.
    pub(crate) fn of(set: &ReplicaSet) -> Option<Self> {
        let memory: Value = serde_json::from_str(set.annotations.get(ROLLOUT)?).ok()?;
        let text = |field: &str| memory.get(field).and_then(Value::as_str).map(str::to_owned);
        let shown = match memory.get("verdict").and_then(Value::as_str) {
            Some("Good") => Some(Shown::Good),
            Some("Failed") => Some(Shown::Failed),
            _ => None,
        };
        Some(Self {
            revision: memory.get("revision")?.as_i64()?,
            shown,
            is_aborted: memory.get("aborted").and_then(Value::as_bool) == Some(true),
            abort: text("abort"),
            retried: text("retried").and_then(|text| text.parse().ok()),
            retry: text("retry"),
        })
    }

    /// That of a set, unless it is about another revision (FP-1).
    pub(crate) fn valid(set: &ReplicaSet) -> Option<Self> {
        Self::of(set).filter(|memory| Some(memory.revision) == revision::of(set).number())
    }

    /// As the annotation has it.
    pub(crate) fn text(&self) -> String {
        let verdict = self.shown.map(|shown| match shown {
            Shown::Good => "Good",
            Shown::Failed => "Failed",
        });
        let mut memory = json!({ "version": VERSION_KNOWN, "revision": self.revision });
        if let Some(members) = memory.as_object_mut() {
            members.extend(verdict.map(|verdict| ("verdict".to_owned(), verdict.into())));
            members.extend(self.is_aborted.then(|| ("aborted".to_owned(), true.into())));
            members.extend(self.abort.clone().map(|abort| ("abort".to_owned(), abort.into())));
            members.extend(self.retry.clone().map(|retry| ("retry".to_owned(), retry.into())));
            members.extend(self.retried.map(|at| ("retried".to_owned(), at.to_string().into())));
        }
        memory.to_string()
    }

    /// What is left of it when the same set is declared again, with this revision: only Good survives (FP-1).
    pub(crate) fn renumbered(self, from: i64, to: i64) -> Self {
        let shown = self.shown.filter(|shown| self.revision == from && *shown == Shown::Good);
        Self { revision: to, shown, ..Self::default() }
    }
}

/// What a newer operator left, in a sentence with the fix; `None` if there is nothing.
pub(crate) fn newer(observed: &Observed, sets: &Sets<'_>) -> Option<String> {
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
