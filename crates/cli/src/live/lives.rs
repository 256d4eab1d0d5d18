//! Pods over time: when each was created, was ready, and went.
//!
//! What went before anybody looked is unknown.

use std::collections::BTreeMap;

use diagnosis::{controller_of, is_ready, list, text};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::PodCondition;
use serde::Deserialize as _;
use serde_json::Value;

/// A pod over time.
#[derive(Debug)]
struct Life {
    /// The uid of its ReplicaSet.
    owner: String,
    created: Timestamp,
    /// Since when it is ready, or is no longer.
    changes: Vec<(Timestamp, bool)>,
    gone: Option<Timestamp>,
}

/// Pods of a ReplicaSet at a time. Those that terminate do not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Height {
    pub(super) ready: i64,
    pub(super) starting: i64,
}

/// All pods that were seen, by their uid.
#[derive(Debug, Default)]
pub(super) struct Lives(BTreeMap<String, Life>);

impl Lives {
    /// Notes all pods that there are: others have gone.
    pub(super) fn note(&mut self, pods: &[Value], now: Timestamp) {
        let mut there = Vec::new();
        for pod in pods {
            let (Some(owner), uid) = (controller_of(pod), text(pod, "/metadata/uid")) else { continue };
            let Some(created) = time(text(pod, "/metadata/creationTimestamp")) else { continue };
            there.push(uid);
            let life = self.0.entry(uid.to_owned()).or_insert_with(|| Life {
                owner: owner.to_owned(),
                created,
                changes: Vec::new(),
                gone: None,
            });
            life.change(pod, now);
        }
        for (_, life) in self.0.iter_mut().filter(|(uid, _)| !there.contains(&uid.as_str())) {
            life.gone.get_or_insert(now);
        }
    }

    /// Pods of this ReplicaSet at this time.
    pub(super) fn at(&self, time: Timestamp, owner: &str) -> Height {
        let mut height = Height::default();
        for life in self.0.values().filter(|life| life.owner == owner && life.is_there(time)) {
            if life.is_ready(time) { height.ready += 1 } else { height.starting += 1 }
        }
        height
    }

    /// When the first pod of this ReplicaSet was created.
    pub(super) fn begin(&self, owner: &str) -> Option<Timestamp> {
        self.0.values().filter(|life| life.owner == owner).map(|life| life.created).min()
    }

    /// When a pod changed last.
    pub(super) fn end(&self) -> Option<Timestamp> {
        self.0.values().filter_map(|life| life.gone.or(Some(life.changes.last()?.0))).max()
    }

    /// Forgets what went before this time.
    pub(super) fn forget(&mut self, before: Timestamp) {
        self.0.retain(|_, life| life.gone.is_none_or(|gone| gone >= before));
    }
}

impl Life {
    fn change(&mut self, pod: &Value, now: Timestamp) {
        let is_ready = is_ready(pod);
        if self.changes.last().map_or(is_ready, |(_, was_ready)| *was_ready != is_ready) {
            self.changes.push((since(pod).unwrap_or(now), is_ready));
        }
        let is_over = matches!(text(pod, "/status/phase"), "Succeeded" | "Failed");
        if let Some(gone) = deleted(pod).or(is_over.then_some(now)) {
            self.gone.get_or_insert(gone);
        }
    }

    fn is_there(&self, time: Timestamp) -> bool {
        self.created <= time && self.gone.is_none_or(|gone| time < gone)
    }

    fn is_ready(&self, time: Timestamp) -> bool {
        self.changes.iter().rev().find(|(since, _)| *since <= time).is_some_and(|(_, is_ready)| *is_ready)
    }
}

/// Since when it is ready, or is not.
fn since(pod: &Value) -> Option<Timestamp> {
    let ready = list(pod, "/status/conditions").iter().find(|it| text(it, "/type") == "Ready")?;
    Some(PodCondition::deserialize(ready).ok()?.last_transition_time?.0)
}

/// When somebody deleted the pod: the server notes when its time to terminate ends.
fn deleted(pod: &Value) -> Option<Timestamp> {
    let end = time(text(pod, "/metadata/deletionTimestamp"))?;
    let grace = pod.pointer("/metadata/deletionGracePeriodSeconds").and_then(Value::as_i64).unwrap_or(0);
    end.checked_sub(SignedDuration::from_secs(grace)).ok()
}

pub(super) fn time(text: &str) -> Option<Timestamp> {
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).unwrap()
    }

    fn pod(uid: &str, created: i64, ready: Option<i64>) -> Value {
        let condition = ready.map(
            |since| json!({"type": "Ready", "status": "True", "lastTransitionTime": at(since).to_string()}),
        );
        json!({
            "metadata": {"uid": uid, "creationTimestamp": at(created).to_string(),
                         "ownerReferences": [{"controller": true, "uid": "s1"}]},
            "status": {"conditions": condition.into_iter().collect::<Vec<_>>()},
        })
    }

    #[test]
    fn times_of_pods_tell_what_was_before_anybody_looked() {
        let mut lives = Lives::default();
        lives.note(&[pod("a", 0, Some(5)), pod("b", 3, None)], at(10));
        let heights = [0, 3, 5, 10].map(|second| lives.at(at(second), "s1"));
        let expected = [(0, 1), (0, 2), (1, 1), (1, 1)];
        assert_eq!(heights.map(|height| (height.ready, height.starting)), expected);
        assert_eq!(lives.at(at(10), "s2"), Height::default());
        assert_eq!((lives.begin("s1"), lives.end()), (Some(at(0)), Some(at(5))));
    }

    #[test]
    fn what_is_deleted_or_no_longer_there_has_gone() {
        let mut lives = Lives::default();
        let mut deleted = pod("b", 0, Some(1));
        deleted["metadata"]["deletionTimestamp"] = json!(at(38).to_string());
        deleted["metadata"]["deletionGracePeriodSeconds"] = json!(30);
        lives.note(&[pod("a", 0, Some(1)), deleted], at(10));
        assert_eq!([7, 8].map(|second| lives.at(at(second), "s1").ready), [2, 1]);
        lives.note(&[], at(12));
        assert_eq!([11, 12].map(|second| lives.at(at(second), "s1").ready), [1, 0]);
        lives.forget(at(13));
        assert_eq!(lives.at(at(5), "s1"), Height::default());
    }

    #[test]
    fn a_pod_may_be_ready_more_than_once() {
        let mut lives = Lives::default();
        lives.note(&[pod("a", 0, Some(2))], at(3));
        let mut unready = pod("a", 0, Some(6));
        unready["status"]["conditions"][0]["status"] = json!("False");
        lives.note(&[unready], at(7));
        lives.note(&[pod("a", 0, Some(9))], at(9));
        assert_eq!([1, 5, 8, 9].map(|second| lives.at(at(second), "s1").ready), [0, 1, 0, 1]);
    }
}
