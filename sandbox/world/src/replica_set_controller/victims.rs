//! Which pods to delete when a ReplicaSet has too many (S9.21).

use std::cmp::Reverse;
use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value;

use crate::chance::Chance;
use crate::kubelet::status::Report;
use crate::object::Object;
use crate::replica_set_controller::pods;
use crate::status::{Phase, PodState};

/// A pod as the order sees it. The order is total down to `ready_rank`; what follows only counts
/// between pods that became ready at the same time.
struct Candidate<'a> {
    pod: &'a Object,
    rough: Rough,
    ready_since: Option<Timestamp>,
    restarts: (u64, u64),
    created: Option<Timestamp>,
}

/// Assigned to a node, phase, ready, deletion cost, neighbours, rank of the time since it is ready.
type Rough = (bool, Phase, bool, i32, Reverse<usize>, i64);

/// The `surplus` pods to delete. Where Kubernetes decides by uid or not at all, `chance` does.
pub(super) fn choose<'a>(
    active: &[&'a Object],
    neighbours: &BTreeMap<&str, usize>,
    surplus: usize,
    now: Timestamp,
    chance: &mut dyn Chance,
) -> Vec<&'a Object> {
    if surplus >= active.len() {
        return active.to_vec();
    }
    let mut rest: Vec<_> = active.iter().map(|pod| candidate(pod, neighbours, now)).collect();
    rest.sort_by_key(|candidate| candidate.rough);
    let mut victims = Vec::with_capacity(surplus);
    while victims.len() < surplus {
        let Some(first) = rest.first() else { break };
        let level = rest.partition_point(|other| other.rough <= first.rough);
        let missing = surplus - victims.len();
        if level <= missing {
            victims.extend(rest.drain(..level).map(|candidate| candidate.pod));
            continue;
        }
        let mut level: Vec<_> = rest.drain(..level).collect();
        for _ in 0..missing {
            let open = open(&level, now);
            let choice = chance.pick(open.len().max(1)).min(open.len().saturating_sub(1));
            let index = open.get(choice).copied().unwrap_or(0);
            victims.push(level.remove(index).pod);
        }
    }
    victims
}

/// Those of a level that may go next. Pods that became ready at the same time go by restarts and age; different times
/// of one rank are distinguished by uid upstream, that is by accident.
fn open(level: &[Candidate<'_>], now: Timestamp) -> Vec<usize> {
    let order = |candidate: &Candidate<'_>| (Reverse(candidate.restarts), rank(candidate.created, now));
    let mut first = BTreeMap::new();
    for candidate in level {
        let order = order(candidate);
        let known = first.entry(candidate.ready_since).or_insert(order);
        *known = order.min(*known);
    }
    let is_open = |candidate: &Candidate<'_>| first.get(&candidate.ready_since) == Some(&order(candidate));
    level.iter().enumerate().filter(|(_, candidate)| is_open(candidate)).map(|(index, _)| index).collect()
}

fn candidate<'a>(pod: &'a Object, neighbours: &BTreeMap<&str, usize>, now: Timestamp) -> Candidate<'a> {
    let PodState { phase, is_ready, ready_since } = pod.status.pod();
    let node = pods::node(pod);
    let neighbours = neighbours.get(node).copied().unwrap_or(0);
    let ready_rank = if is_ready { rank(ready_since, now) } else { 0 };
    Candidate {
        pod,
        rough: (!node.is_empty(), phase, is_ready, deletion_cost(pod), Reverse(neighbours), ready_rank),
        ready_since,
        restarts: restarts(pod),
        created: pod.metadata.get("creationTimestamp").and_then(Value::as_str).and_then(|at| at.parse().ok()),
    }
}

fn deletion_cost(pod: &Object) -> i32 {
    let cost = pod.annotation("controller.kubernetes.io/pod-deletion-cost");
    cost.and_then(|cost| cost.parse().ok()).unwrap_or(0)
}

/// The logarithm of the time since then, in nanoseconds: the younger, the less.
fn rank(time: Option<Timestamp>, now: Timestamp) -> i64 {
    let Some(time) = time else { return i64::MIN };
    let nanoseconds = now.as_nanosecond().saturating_sub(time.as_nanosecond());
    if nanoseconds <= 0 { -1 } else { i64::from(nanoseconds.ilog2()) }
}

/// Most restarts of a container, and of a sidecar.
fn restarts(pod: &Object) -> (u64, u64) {
    if let Some(restarts) = pod.status.report().and_then(Report::restarts) {
        return (restarts, 0);
    }
    let most = |field: &str, counts: &dyn Fn(&Value) -> bool| {
        let statuses = pod.status.get(field).and_then(Value::as_array).into_iter().flatten();
        let counts = statuses.filter(|status| counts(status));
        counts.filter_map(|status| status.get("restartCount")?.as_u64()).max().unwrap_or(0)
    };
    let is_sidecar = |status: &Value| {
        let inits = pod.spec.get("initContainers").and_then(Value::as_array).into_iter().flatten();
        let mut sidecars = inits.filter(|init| init.get("restartPolicy") == Some(&Value::from("Always")));
        sidecars.any(|sidecar| sidecar.get("name") == status.get("name"))
    };
    (most("containerStatuses", &|_| true), most("initContainerStatuses", &is_sidecar))
}
