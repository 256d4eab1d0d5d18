//! A Deployment with its revisions and pods, as a tree.

use std::collections::BTreeMap;

use diagnosis::controller_of;
use serde_json::{Value, json};

use crate::cluster::Deployment;
use crate::history::{Revision, revisions};
use crate::output::clean;
use crate::pods::{self, Pod};
use crate::rollout::{self, Rollout};
use crate::table::{age, line, table};

/// All that `get` shows.
pub(crate) struct Tree {
    pub(crate) deployment: Deployment,
    pub(crate) rollout: Rollout,
    /// Newest first, each with its pods.
    pub(crate) revisions: Vec<(Revision, Vec<Pod>)>,
    /// Older revisions that are not shown.
    pub(crate) left_out: usize,
}

impl Tree {
    /// Puts together what was read; revisions that have pods are always shown.
    pub(crate) fn new(deployment: Deployment, sets: Vec<Value>, pods: &[Value], count: usize) -> Self {
        let mut by_owner: BTreeMap<&str, Vec<Pod>> = BTreeMap::new();
        for pod in pods {
            if let Some(owner) = controller_of(pod) {
                by_owner.entry(owner).or_default().push(pods::read(pod));
            }
        }
        for pods in by_owner.values_mut() {
            pods.sort_by(|a, b| (&a.created, &a.name).cmp(&(&b.created, &b.name)));
        }
        let all = revisions(sets);
        let newest = all.first().map(Revision::set_name);
        let rollout = rollout::of_set(deployment.flavour, deployment.name(), &deployment.body, newest);
        let total = all.len();
        let with_pods = all.into_iter().map(|revision| {
            let pods = by_owner.remove(revision.uid()).unwrap_or_default();
            (revision, pods)
        });
        let shown: Vec<_> = with_pods
            .enumerate()
            .filter(|(position, (revision, pods))| {
                *position < count || !pods.is_empty() || revision.desired() > 0
            })
            .map(|(_, shown)| shown)
            .collect();
        Self { left_out: total - shown.len(), deployment, rollout, revisions: shown }
    }

    /// For people.
    pub(crate) fn text(&self, now: jiff::Timestamp) -> String {
        let counts = self.rollout.counts;
        let mut text = format!(
            "{}  in namespace {}\n{}\ndesired {}, current {}, updated {}, ready {}, available {}\n\n",
            self.deployment.full_name(),
            self.deployment.namespace(),
            self.rollout.message,
            counts.desired,
            counts.current,
            counts.updated,
            counts.ready,
            counts.available,
        );
        let mut lines = vec![line(["NAME", "KIND", "STATUS", "READY", "AGE", "INFO"])];
        lines.push(line([
            self.deployment.name(),
            "Deployment",
            self.rollout.phase.word(),
            &format!("{}/{}", counts.ready, counts.desired),
            &age(self.deployment.text("/metadata/creationTimestamp"), now),
            "",
        ]));
        for (position, (revision, pods)) in self.revisions.iter().enumerate() {
            let is_last = position + 1 == self.revisions.len();
            lines.extend(branch(revision, pods, position == 0, is_last, now));
        }
        text.push_str(&table(&lines));
        if self.left_out > 0 {
            text.push_str(&format!("\n{} older revisions; --revisions shows more\n", self.left_out));
        }
        text
    }

    /// For programs.
    pub(crate) fn document(&self) -> Value {
        let revisions: Vec<Value> = self
            .revisions
            .iter()
            .map(|(revision, pods)| {
                let pods: Vec<Value> = pods.iter().map(pod_document).collect();
                revision.document(&[("pods", Value::from(pods))])
            })
            .collect();
        json!({
            "name": self.deployment.full_name(),
            "namespace": self.deployment.namespace(),
            "phase": self.rollout.phase.word(),
            "message": self.rollout.message,
            "replicas": counts_document(&self.rollout),
            "revisions": revisions,
        })
    }
}

/// The numbers of a rollout for programs.
pub(crate) fn counts_document(rollout: &Rollout) -> Value {
    let counts = rollout.counts;
    json!({
        "desired": counts.desired,
        "current": counts.current,
        "updated": counts.updated,
        "ready": counts.ready,
        "available": counts.available,
    })
}

fn pod_document(pod: &Pod) -> Value {
    json!({
        "name": pod.name,
        "status": pod.status,
        "ready": pod.ready,
        "containers": pod.containers,
        "restarts": pod.restarts,
        "created": pod.created,
        "why": pod.why,
    })
}

fn branch(
    revision: &Revision,
    pods: &[Pod],
    is_current: bool,
    is_last: bool,
    now: jiff::Timestamp,
) -> Vec<Vec<String>> {
    let (knot, trunk) = if is_last { ("└─", "  ") } else { ("├─", "│ ") };
    let status = match (is_current, revision.desired()) {
        (true, _) => "current",
        (false, 0) => "scaled down",
        (false, _) => "old",
    };
    let mut lines = vec![line([
        &format!("{knot} {}", revision.set_name()),
        "ReplicaSet",
        status,
        &format!("{}/{}", revision.ready(), revision.desired()),
        &age(revision.created(), now),
        &format!("revision {}, {}", revision.number, revision.images()),
    ])];
    for (position, pod) in pods.iter().enumerate() {
        let knot = if position + 1 == pods.len() { "└─" } else { "├─" };
        let restarts = if pod.restarts > 0 { format!("{} restarts; ", pod.restarts) } else { String::new() };
        lines.push(line([
            &format!("{trunk} {knot} {}", pod.name),
            "Pod",
            &clean(&pod.status),
            &format!("{}/{}", pod.ready, pod.containers),
            &age(&pod.created, now),
            &clean(&format!("{restarts}{}", pod.why.as_deref().unwrap_or_default())),
        ]));
    }
    lines
}

#[cfg(test)]
mod tests {
    use plan::Flavour;
    use plan::keys::REVISION;

    use super::*;

    fn set(number: i64, size: i64) -> Value {
        json!({
            "metadata": {"name": format!("web-{number}"), "uid": format!("u{number}"),
                         "annotations": {REVISION: number.to_string()}},
            "spec": {"replicas": size, "template": {"spec": {"containers": [{"name": "a", "image": "a:1"}]}}},
            "status": {"readyReplicas": size},
        })
    }

    #[test]
    fn revisions_with_pods_are_never_left_out() {
        let pod = json!({
            "metadata": {"name": "web-1-x", "ownerReferences": [{"controller": true, "uid": "u1"}]},
            "spec": {"containers": [{"name": "a"}]},
            "status": {"phase": "Running"},
        });
        let deployment = Deployment {
            flavour: Flavour::AppsV1,
            body: json!({"metadata": {"name": "web", "namespace": "x"}, "spec": {"replicas": 1}}),
        };
        let sets = vec![set(1, 0), set(2, 0), set(3, 0), set(4, 1)];
        let tree = Tree::new(deployment, sets, &[pod], 1);
        let shown: Vec<i64> = tree.revisions.iter().map(|(revision, _)| revision.number).collect();
        assert_eq!((shown, tree.left_out), (vec![4, 1], 2));
        let text = tree.text(jiff::Timestamp::UNIX_EPOCH);
        assert!(text.contains("└─ web-1"), "{text}");
        assert!(text.contains("2 older revisions"), "{text}");
    }
}
