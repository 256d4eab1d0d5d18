//! What pods showed that a failure policy may judge by, and when: restarts, and what kept them from being ready (FP-2,
//! FP-5). Read from what kubelets reported, without the code that reads it in the operator.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value;
use world::Object;

/// From when to when.
pub(crate) type Window = (Timestamp, Timestamp);

/// When something has to have been so.
#[derive(Clone, Copy, Debug)]
pub(crate) enum When {
    /// At some moment of this time.
    Once(Window),
    /// All the time.
    Throughout(Window),
}

impl When {
    /// Whether what began and ended then was so.
    fn has(self, began: Timestamp, ended: Timestamp) -> bool {
        match self {
            Self::Once((from, to)) => began <= to && ended > from,
            Self::Throughout((from, to)) => began <= from && ended > to,
        }
    }
}

/// What one pod showed.
#[derive(Debug)]
struct Pod {
    set: String,
    created: Timestamp,
    restarts: Vec<Timestamp>,
    /// Causes that kept it from being ready, each from when to when.
    stuck: Vec<(&'static str, Timestamp, Timestamp)>,
    /// When it ended or was deleted.
    gone: Timestamp,
}

impl Pod {
    /// When it had restarted so often since a time.
    fn reached(&self, limit: i64, since: Timestamp) -> Option<Timestamp> {
        let nth = usize::try_from(limit).ok()?.checked_sub(1)?;
        self.restarts.iter().filter(|time| **time >= since).nth(nth).copied()
    }

    fn ends(&mut self, now: Timestamp) {
        if let Some((_, _, until)) = self.stuck.last_mut() {
            *until = now.min(*until);
        }
    }
}

/// What the pods of a Deployment showed, those that are gone included.
#[derive(Debug, Default)]
pub(crate) struct Signs(BTreeMap<String, Pod>);

impl Signs {
    /// A pod was written.
    pub(crate) fn note(&mut self, pod: &Object, is_active: bool, now: Timestamp) {
        if !is_active {
            if let Some(known) = self.0.get_mut(pod.uid()) {
                known.gone = now.min(known.gone);
                known.ends(now);
            }
            return;
        }
        let (restarts, cause) = (restarts(pod), cause(pod));
        let Some(set) = pod.controller_uid() else { return };
        if restarts == 0 && cause.is_none() && !self.0.contains_key(pod.uid()) {
            return;
        }
        let born = || Pod {
            set: set.to_owned(),
            created: created(pod).unwrap_or(now),
            restarts: Vec::new(),
            stuck: Vec::new(),
            gone: Timestamp::MAX,
        };
        let known = self.0.entry(pod.uid().to_owned()).or_insert_with(born);
        known.restarts.resize(restarts.max(known.restarts.len()), now);
        let open =
            known.stuck.last().filter(|(_, _, until)| *until == Timestamp::MAX).map(|(cause, ..)| *cause);
        if open != cause {
            known.ends(now);
            known.stuck.extend(cause.map(|cause| (cause, now, Timestamp::MAX)));
        }
    }

    fn count(&self, set: &str, is_meant: impl Fn(&Pod) -> bool) -> i64 {
        let pods = self.0.values().filter(|pod| pod.set == set && is_meant(pod));
        i64::try_from(pods.count()).unwrap_or(i64::MAX)
    }

    /// Pods of a ReplicaSet that had a container which had restarted so often since a time.
    pub(crate) fn restarted(&self, set: &str, limit: i64, since: Timestamp, when: When) -> i64 {
        let has = |pod: &Pod| pod.reached(limit, since).is_some_and(|reached| when.has(reached, pod.gone));
        self.count(set, has)
    }

    /// The same, without those that are older.
    pub(crate) fn young_restarted(&self, set: &str, limit: i64, since: Timestamp, when: When) -> i64 {
        let has = |pod: &Pod| pod.reached(limit, since).is_some_and(|reached| when.has(reached, pod.gone));
        self.count(set, |pod| pod.created >= since && has(pod))
    }

    /// Pods of a ReplicaSet that had restarted so often in all, and again since a time.
    pub(crate) fn restarted_again(&self, set: &str, limit: i64, since: Timestamp, when: When) -> i64 {
        let shown = |pod: &Pod| Some(pod.reached(limit, Timestamp::MIN)?.max(pod.reached(1, since)?));
        self.count(set, |pod| shown(pod).is_some_and(|shown| when.has(shown, pod.gone)))
    }

    /// Pods of a ReplicaSet that were not ready for this cause.
    pub(crate) fn stuck(&self, set: &str, cause: &str, when: When) -> i64 {
        let has =
            |(known, from, until): &(&str, Timestamp, Timestamp)| *known == cause && when.has(*from, *until);
        self.count(set, |pod| pod.stuck.iter().any(has))
    }

    /// When a pod of a ReplicaSet was first stuck for this cause, at the end of a time or later.
    pub(crate) fn first_stuck(&self, set: &str, cause: &str, since: Timestamp) -> Option<Timestamp> {
        let spells = self.0.values().filter(|pod| pod.set == set).flat_map(|pod| &pod.stuck);
        let later = spells.filter(|(known, _, until)| *known == cause && *until > since);
        later.map(|(_, from, _)| since.max(*from)).min()
    }
}

fn created(pod: &Object) -> Option<Timestamp> {
    pod.whole_metadata().get("creationTimestamp")?.as_str()?.parse().ok()
}

/// Each pod has one container.
fn container(pod: &Object) -> Option<&Value> {
    pod.status.pointer("/containerStatuses/0")
}

fn restarts(pod: &Object) -> usize {
    let count = container(pod).and_then(|container| container.get("restartCount")?.as_u64());
    usize::try_from(count.unwrap_or(0)).unwrap_or(0)
}

/// What keeps a pod from being ready, if it does not recover from that by itself.
fn cause(pod: &Object) -> Option<&'static str> {
    let container = container(pod).filter(|_| !pod.status.pod().is_ready)?;
    match container.pointer("/state/waiting/reason").and_then(Value::as_str) {
        Some("ImagePullBackOff") => Some("ImagePull"),
        _ => container.pointer("/lastState/terminated").map(|_| "CrashLoop"),
    }
}
