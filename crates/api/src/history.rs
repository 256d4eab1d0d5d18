//! What the planner reads of a history, and how a record is added to it.
//!
//! The operator keeps no copy of the history, so it adds a record with a JSON patch that names only that record.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use plan::{Flavour, HistoryHead, ID_MAX, RECORDS_MAX, Record, StatusWrite, Trigger, Workload};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::encode;
use crate::rollout::{Author, LastScale, Promotion, Rollout, is_id};

/// What the planner reads of a history. The ids of its records fall.
pub(crate) fn head(entries: &[Rollout]) -> HistoryHead {
    let mut head = HistoryHead { length: entries.len(), ..HistoryHead::default() };
    let mut last = ID_MAX;
    for (place, entry) in entries.iter().enumerate() {
        if !is_id(entry.id)
            || entry.id >= last
            || entry.outcome.is_none()
            || place - head.odd.len() >= RECORDS_MAX
        {
            head.odd.push(place);
            continue;
        }
        if head.id == 0 {
            head.id = entry.id;
            (head.revision, head.from) = (entry.revision.unwrap_or(0), entry.from);
            head.trigger = trigger(entry.trigger.as_deref());
            head.start_time = entry.start_time.as_ref().map(|time| time.0);
        }
        last = entry.id;
    }
    head
}

/// JSON patch of a status write that changes the history; `None` if it leaves that as it is.
///
/// Entries are named by their places, which stand because of the precondition on the version.
#[must_use]
pub fn patch(flavour: Flavour, workload: &Workload, write: &StatusWrite) -> Option<Box<RawValue>> {
    let (before, after) = (&workload.status.ours.history, &write.status.ours.history);
    let is_repaired = !before.odd.is_empty() && after.odd.is_empty();
    if !flavour.has_status_extras() || (write.ended.is_empty() && !is_repaired) {
        return None;
    }
    let mut operations = vec![
        json!({ "op": "replace", "path": "/metadata/uid", "value": workload.uid }),
        json!({ "op": "replace", "path": "/metadata/resourceVersion", "value": workload.resource_version }),
    ];
    for (name, value) in encode::status_of(flavour, workload, write).as_object().into_iter().flatten() {
        let path = format!("/status/{name}");
        operations.push(json!({ "op": "add", "path": path, "value": without_nulls(value) }));
        if value.is_null() {
            // What is not there cannot be removed.
            operations.push(json!({ "op": "remove", "path": path }));
        }
    }
    let ended: Vec<Rollout> = write.ended.iter().map(Rollout::from).collect();
    if before.records() == 0 {
        let newest_first: Vec<_> = ended.into_iter().rev().collect();
        operations.push(json!({ "op": "add", "path": "/status/history", "value": newest_first }));
        return Some(encode::raw(&operations));
    }
    let place = |place: usize| format!("/status/history/{place}");
    let kept = RECORDS_MAX.saturating_sub(ended.len());
    let surplus = (kept..before.records()).rev();
    for index in before.odd.iter().rev().copied().chain(surplus) {
        operations.push(json!({ "op": "remove", "path": place(index) }));
    }
    for record in ended {
        operations.push(json!({ "op": "add", "path": place(0), "value": record }));
    }
    Some(encode::raw(&operations))
}

/// A JSON patch stores what it contains, nulls too.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let kept = members.iter().filter(|(_, member)| !member.is_null());
            kept.map(|(name, member)| (name.clone(), without_nulls(member))).collect()
        }
        other => other.clone(),
    }
}

/// A text, if there is one.
fn some(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

impl From<&Record> for Rollout {
    fn from(record: &Record) -> Self {
        let end = record.end.as_ref();
        Self {
            id: record.id,
            revision: Some(record.revision),
            pod_template_hash: some(&record.hash),
            from: record.from,
            images: (!record.images.is_empty()).then(|| record.images.iter().cloned().collect()),
            more_images: i64::try_from(record.more_images).ok().filter(|count| *count > 0),
            trigger: record.trigger.map(|trigger| trigger.as_str().to_owned()),
            author: record.author.clone().map(Into::into),
            cause: record.cause.clone(),
            start_time: record.start_time.map(Time),
            step: record.step,
            steps: record.steps,
            updated: record.updated,
            target_pods: record.target_pods,
            allowed: record.allowed.clone(),
            rest_start_time: record.rest_start_time.map(Time),
            promotions: (!record.promotions.is_empty())
                .then(|| record.promotions.iter().cloned().map(Into::into).collect()),
            completion_time: end.map(|end| Time(end.time)),
            outcome: end.map(|end| end.outcome.as_str().to_owned()),
            reason: end.and_then(|end| end.reason.clone()),
            message: end.and_then(|end| end.message.clone()),
            lowest_available: Some(record.lowest_available),
            highest_pods: Some(record.highest_pods),
        }
    }
}

/// A trigger, if it is known.
fn trigger(text: Option<&str>) -> Option<Trigger> {
    Trigger::ALL.into_iter().find(|known| Some(known.as_str()) == text)
}

/// A running rollout as the planner reads it.
impl From<Rollout> for Record {
    fn from(stored: Rollout) -> Self {
        Self {
            id: stored.id,
            revision: stored.revision.unwrap_or(0),
            hash: stored.pod_template_hash.unwrap_or_default(),
            from: stored.from,
            images: stored.images.into_iter().flatten().collect(),
            more_images: stored.more_images.and_then(|count| usize::try_from(count).ok()).unwrap_or(0),
            trigger: trigger(stored.trigger.as_deref()),
            author: stored.author.map(Into::into),
            cause: stored.cause,
            start_time: stored.start_time.map(|time| time.0),
            lowest_available: stored.lowest_available.unwrap_or(0),
            highest_pods: stored.highest_pods.unwrap_or(0),
            step: stored.step,
            steps: stored.steps,
            updated: stored.updated,
            target_pods: stored.target_pods,
            allowed: stored.allowed,
            rest_start_time: stored.rest_start_time.map(|time| time.0),
            promotions: stored.promotions.into_iter().flatten().map(Into::into).collect(),
            end: None,
        }
    }
}

impl From<plan::Author> for Author {
    fn from(author: plan::Author) -> Self {
        let plan::Author { manager, operation, user } = author;
        Self { manager: some(&manager), operation: some(&operation), user }
    }
}

impl From<Author> for plan::Author {
    fn from(author: Author) -> Self {
        let Author { manager, operation, user } = author;
        Self { manager: manager.unwrap_or_default(), operation: operation.unwrap_or_default(), user }
    }
}

impl From<plan::Promotion> for Promotion {
    fn from(promotion: plan::Promotion) -> Self {
        let plan::Promotion { step, manager, time, is_forced } = promotion;
        Self { step, manager: some(&manager), time: time.map(Time), forced: is_forced.then_some(true) }
    }
}

impl From<Promotion> for plan::Promotion {
    fn from(promotion: Promotion) -> Self {
        let Promotion { step, manager, time, forced } = promotion;
        let (manager, is_forced) = (manager.unwrap_or_default(), forced.unwrap_or(false));
        Self { step, manager, time: time.map(|time| time.0), is_forced }
    }
}

impl From<&plan::LastScale> for LastScale {
    fn from(last: &plan::LastScale) -> Self {
        let plan::LastScale { from, to, by: plan::Scaler { manager, subresource, time } } = last;
        Self {
            from: *from,
            to: *to,
            manager: some(manager),
            subresource: some(subresource),
            time: time.map(Time),
        }
    }
}
