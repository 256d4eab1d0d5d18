//! Which pod of a Deployment stands for all.

use std::cmp::Reverse;

use serde_json::Value;

use crate::history::Revision;
use diagnosis::{controller_of, list, text};

/// What the pod is wanted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// The pod has written something: the newest revision first, since that is what is looked into.
    Started,
    /// The pod answers: a ready one first, of whichever revision.
    Ready,
}

impl Wanted {
    /// What there is none of, if none is found.
    pub(crate) fn description(self) -> &'static str {
        match self {
            Self::Started => "pod",
            Self::Ready => "running pod",
        }
    }
}

/// A pod of one of these revisions, which are given newest first, and its revision. Of pods that
/// are as good the first by name is taken, so that the same question finds the same pod.
pub(crate) fn pod<'a>(
    revisions: &[&'a Revision],
    pods: &'a [Value],
    wanted: Wanted,
) -> Option<(&'a str, &'a Revision)> {
    let candidates = pods.iter().filter_map(|pod| {
        let owner = controller_of(pod)?;
        let rank = revisions.iter().position(|revision| revision.uid() == owner)?;
        Some((pod, rank))
    });
    let (pod, rank) = match wanted {
        Wanted::Started => {
            candidates.min_by_key(|(pod, rank)| (is_ending(pod), !is_running(pod), *rank, name(pod)))?
        }
        Wanted::Ready => candidates
            .filter(|(pod, _)| is_running(pod))
            .min_by_key(|(pod, rank)| (is_ending(pod), Reverse(is_ready(pod)), *rank, name(pod)))?,
    };
    Some((name(pod), revisions.get(rank)?))
}

fn name(pod: &Value) -> &str {
    text(pod, "/metadata/name")
}

fn is_ending(pod: &Value) -> bool {
    pod.pointer("/metadata/deletionTimestamp").is_some_and(Value::is_string)
}

fn is_running(pod: &Value) -> bool {
    text(pod, "/status/phase") == "Running"
}

fn is_ready(pod: &Value) -> bool {
    let mut conditions = list(pod, "/status/conditions").iter();
    conditions.any(|condition| text(condition, "/type") == "Ready" && text(condition, "/status") == "True")
}

#[cfg(test)]
mod tests {
    use plan::keys::REVISION;
    use serde_json::json;

    use super::*;
    use crate::history::revisions;

    fn set(number: i64) -> Value {
        json!({"metadata": {"name": format!("web-{number}"), "uid": format!("u{number}"),
                            "annotations": {REVISION: number.to_string()}}})
    }

    fn one(name: &str, of: i64, phase: &str, ready: bool) -> Value {
        let ready = if ready { "True" } else { "False" };
        json!({
            "metadata": {"name": name, "ownerReferences": [{"controller": true, "uid": format!("u{of}")}]},
            "status": {"phase": phase, "conditions": [{"type": "Ready", "status": ready}]},
        })
    }

    fn picked(pods: &[Value], wanted: Wanted) -> Option<String> {
        let all = revisions(vec![set(1), set(2)]);
        let all: Vec<&Revision> = all.iter().collect();
        pod(&all, pods, wanted).map(|(name, of)| format!("{name} of {}", of.number))
    }

    #[test]
    fn logs_are_those_of_the_newest_revision_and_programs_run_where_it_works() {
        let pods = [one("old", 1, "Running", true), one("new", 2, "Running", false)];
        assert_eq!(picked(&pods, Wanted::Started).as_deref(), Some("new of 2"));
        assert_eq!(picked(&pods, Wanted::Ready).as_deref(), Some("old of 1"));
    }

    #[test]
    fn a_pod_that_has_not_begun_has_nothing_to_say() {
        let pods = [one("new", 2, "Pending", false), one("old", 1, "Running", true)];
        assert_eq!(picked(&pods, Wanted::Started).as_deref(), Some("old of 1"));
        let pending = [one("new", 2, "Pending", false)];
        assert_eq!(picked(&pending, Wanted::Started).as_deref(), Some("new of 2"));
        assert_eq!(picked(&pending, Wanted::Ready), None);
    }

    #[test]
    fn pods_that_end_come_last_and_those_of_others_never() {
        let mut ending = one("a", 2, "Running", true);
        ending["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        let pods = [
            ending,
            one("c", 2, "Running", true),
            one("b", 2, "Running", true),
            one("x", 9, "Running", true),
        ];
        assert_eq!(picked(&pods, Wanted::Ready).as_deref(), Some("b of 2"));
        assert_eq!(picked(&pods[3..], Wanted::Started), None);
    }
}
