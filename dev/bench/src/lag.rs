//! How old the numbers of Deployments' statuses are: ReplicaSets and Deployments of a namespace, as two watches show
//! them.

use std::collections::BTreeMap as Map;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures::{StreamExt as _, pin_mut};
use kube::Api;
use kube::api::DynamicObject;
use kube::runtime::watcher;
use plan::keys::REVISION;
use serde_json::Value;
use tokio::task::JoinHandle;

/// Numbers that follow from the statuses of ReplicaSets: as a ReplicaSet, and as a Deployment calls them. Those of the
/// newest ReplicaSet are updated.
pub(crate) const FIELDS: [(&str, &str); 5] = [
    ("replicas", "replicas"),
    ("replicas", "updatedReplicas"),
    ("readyReplicas", "readyReplicas"),
    ("availableReplicas", "availableReplicas"),
    ("terminatingReplicas", "terminatingReplicas"),
];
const UPDATED: usize = 1;

type Numbers = [i64; FIELDS.len()];

/// A number, and since when each of its values has been there.
#[derive(Default)]
struct Line(Vec<(Instant, i64)>);

/// What is known of one Deployment.
#[derive(Default)]
struct Known {
    /// Numbers and revisions of its ReplicaSets, by name.
    sets: Map<String, (i64, Numbers)>,
    /// Of the ReplicaSets together, by field.
    truth: [Line; FIELDS.len()],
    /// Of the status, by field.
    shown: [Line; FIELDS.len()],
}

type Shared = Arc<Mutex<Map<String, Known>>>;

/// Follows a namespace until dropped.
pub(crate) struct Lags {
    known: Shared,
    tasks: [JoinHandle<()>; 2],
}

impl Lags {
    pub(crate) fn follow(deployments: Api<DynamicObject>, sets: Api<DynamicObject>) -> Self {
        let known = Shared::default();
        let tasks = [
            tokio::spawn(follow(deployments, known.clone(), Known::deployment)),
            tokio::spawn(follow(sets, known.clone(), Known::set)),
        ];
        Self { known, tasks }
    }

    /// How long each change of a field since then took until the status showed it, or something newer.
    pub(crate) fn since(&self, start: Instant) -> [Vec<Duration>; FIELDS.len()] {
        let now = Instant::now();
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all: [Vec<Duration>; FIELDS.len()] = Default::default();
        for Known { truth, shown, .. } in known.values() {
            let lines = all.iter_mut().zip(truth).zip(shown);
            lines.for_each(|((lags, truth), shown)| lags.extend(truth.lags(shown, start, now)));
        }
        all
    }
}

impl Drop for Lags {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

impl Line {
    fn push(&mut self, now: Instant, value: i64) {
        if self.0.last().is_none_or(|(_, last)| *last != value) {
            self.0.push((now, value));
        }
    }

    /// The value at a time.
    fn at(&self, time: Instant) -> i64 {
        let before = self.0.partition_point(|(since, _)| *since <= time);
        before.checked_sub(1).and_then(|last| self.0.get(last)).map_or(0, |(_, value)| *value)
    }

    /// For each change from `start` to `now`, how long it took until `shown` had that value, or one that came after it.
    fn lags(&self, shown: &Self, start: Instant, now: Instant) -> Vec<Duration> {
        let changes = self.0.iter().enumerate().filter(|(_, (time, _))| *time >= start);
        let lag = |(index, (time, _)): (usize, &(Instant, i64))| {
            let later = self.0.iter().skip(index).chain(&shown.0).map(|(time, _)| *time);
            let mut times: Vec<Instant> = later.filter(|later| later >= time).collect();
            times.sort();
            let is_new = |at: &&Instant| {
                let values = self.0.iter().skip(index).take_while(|(time, _)| time <= *at);
                values.into_iter().any(|(_, value)| *value == shown.at(**at))
            };
            times.iter().find(is_new).unwrap_or(&now).saturating_duration_since(*time)
        };
        changes.map(lag).collect()
    }
}

impl Known {
    fn deployment(known: &mut Map<String, Self>, object: &DynamicObject, now: Instant) {
        let Some(name) = &object.metadata.name else { return };
        let status = FIELDS.map(|(_, field)| number(&object.data, field));
        let lines = &mut known.entry(name.clone()).or_default().shown;
        lines.iter_mut().zip(status).for_each(|(line, value)| line.push(now, value));
    }

    fn set(known: &mut Map<String, Self>, object: &DynamicObject, now: Instant) {
        let owner = object.metadata.owner_references.iter().flatten().next().map(|owner| &owner.name);
        let (Some(owner), Some(name)) = (owner, &object.metadata.name) else { return };
        let revision = object.metadata.annotations.as_ref().and_then(|all| all.get(REVISION)?.parse().ok());
        let status = FIELDS.map(|(field, _)| number(&object.data, field));
        let known = known.entry(owner.clone()).or_default();
        known.sets.insert(name.clone(), (revision.unwrap_or(0), status));
        let newest =
            known.sets.values().max_by_key(|(revision, _)| *revision).map(|(_, numbers)| numbers[UPDATED]);
        let mut numbers: Numbers = [0; FIELDS.len()];
        for (_, set) in known.sets.values() {
            numbers.iter_mut().zip(set).for_each(|(sum, more)| *sum += more);
        }
        numbers[UPDATED] = newest.unwrap_or(0);
        known.truth.iter_mut().zip(numbers).for_each(|(line, value)| line.push(now, value));
    }
}

fn number(object: &Value, field: &str) -> i64 {
    object.pointer(&format!("/status/{field}")).and_then(Value::as_i64).unwrap_or(0)
}

type Take = fn(&mut Map<String, Known>, &DynamicObject, Instant);

async fn follow(api: Api<DynamicObject>, known: Shared, take: Take) {
    let events = watcher(api, watcher::Config::default());
    pin_mut!(events);
    while let Some(event) = events.next().await {
        // The watcher tries again by itself.
        let Ok(watcher::Event::Apply(object) | watcher::Event::InitApply(object)) = event else { continue };
        let now = Instant::now();
        take(&mut known.lock().unwrap_or_else(PoisonError::into_inner), &object, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_shown_once_the_status_has_its_value_or_a_later_one() {
        let start = Instant::now();
        let at = |milliseconds| start + Duration::from_millis(milliseconds);
        let line = |values: &[(u64, i64)]| {
            let mut line = Line::default();
            values.iter().for_each(|(time, value)| line.push(at(*time), *value));
            line
        };
        let truth = line(&[(0, 0), (100, 1), (200, 2), (300, 3), (1000, 4)]);
        let shown = line(&[(0, 0), (250, 2), (800, 3)]);
        let lags = truth.lags(&shown, at(50), at(3000));
        // 1 was never shown, and 2 is newer; 4 has not been shown yet.
        assert_eq!(lags, [150, 50, 500, 2000].map(Duration::from_millis));
        assert_eq!(truth.lags(&truth, at(0), at(3000)), [Duration::ZERO; 5]);
    }
}
