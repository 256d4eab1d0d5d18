//! A Deployment with its revisions and pods, as a tree.

use std::collections::BTreeMap;

use api::Target;
use diagnosis::controller_of;
use serde_json::{Value, json};

use crate::args::output::Tabular;
use crate::at_step::AtStep;
use crate::cluster::Deployment;
use crate::history::{Revision, revisions};
use crate::pinned;
use crate::pods::{self, Pod};
use crate::requests;
use crate::rollout::{self, Rollout};
use crate::state;
use crate::table::{NONE, age, counted, line, table};

/// The columns that only the wide table has.
const ADDRESS: std::ops::Range<usize> = 5..7;

/// All that `get` shows.
pub(crate) struct Tree {
    pub(crate) deployment: Deployment,
    pub(crate) rollout: Rollout,
    /// Whether the operator has yet to begin with the last change, or to report the outcome of a request.
    pub(crate) is_awaited: bool,
    /// What runs instead of the declared revision.
    target: Option<Target>,
    /// Newest first, each with its pods.
    pub(crate) revisions: Vec<(Revision, Vec<Pod>)>,
    /// Older revisions that are not shown.
    pub(crate) left_out: usize,
}

impl Tree {
    /// Puts together what was read; revisions that have pods or should have some are always shown.
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
        let rollout = requests::awaited(&deployment, &all, rollout);
        let is_awaited = requests::is_awaited(&deployment, &all);
        let target = pinned::target(&deployment.body);
        let total = all.len();
        let with_pods = all.into_iter().map(|revision| {
            let pods = by_owner.remove(revision.uid()).unwrap_or_default();
            (revision, pods)
        });
        let shown: Vec<_> = with_pods
            .enumerate()
            .filter(|(position, (revision, pods))| {
                let is_wanted = revision.desired() > 0 || is_target(target.as_ref(), revision);
                *position < count || !pods.is_empty() || is_wanted
            })
            .map(|(_, shown)| shown)
            .collect();
        Self { left_out: total - shown.len(), deployment, rollout, is_awaited, target, revisions: shown }
    }

    /// Whether pods of the revision that runs instead of the declared one have yet to come, or others have to go.
    pub(crate) fn is_on_the_way(&self) -> bool {
        let target = self.target.as_ref().filter(|target| pinned::runs_another(target));
        let Some(target) = target else { return false };
        let shown = || self.revisions.iter().map(|(revision, _)| revision);
        let all = shown().map(|revision| revision.status().replicas).sum();
        pinned::left(self.rollout.counts, &pinned::pods(target, shown()), all).is_some()
    }

    /// The Deployment's own line.
    fn head(&self, now: jiff::Timestamp) -> Vec<String> {
        let counts = self.rollout.counts;
        let runs = self.target.as_ref().map(|target| pinned::short(&self.deployment.spec(), target));
        line([
            self.deployment.name(),
            "Deployment",
            &state::words(&self.deployment),
            &format!("{}/{}", counts.ready, counts.desired),
            &age(self.deployment.text("/metadata/creationTimestamp"), now),
            NONE,
            NONE,
            &runs.unwrap_or_default(),
        ])
    }

    /// What a ReplicaSet is to the Deployment.
    pub(crate) fn role(&self, position: usize, revision: &Revision) -> &'static str {
        let is_newest = position == 0;
        match &self.target {
            Some(target) if is_target(Some(target), revision) && pinned::is_reverted(target) => "running",
            Some(target) if is_target(Some(target), revision) => "pinned",
            Some(target) if target.declared_revision == Some(revision.number) => {
                if pinned::is_reverted(target) { "failed" } else { "declared" }
            }
            None if is_newest => "current",
            _ if revision.desired() == 0 => "scaled down",
            _ => "old",
        }
    }

    /// For people.
    pub(crate) fn text(&self, now: jiff::Timestamp, output: &Tabular) -> String {
        let left = self.rollout.rest().map_or_else(String::new, |rest| rest.left(now));
        let mut text = format!(
            "{}  in namespace {}\n{}{left}\n{}\n\n",
            self.deployment.full_name(),
            self.deployment.namespace(),
            self.rollout.message,
            self.rollout.counts,
        );
        let mut lines = vec![line(["NAME", "KIND", "STATUS", "READY", "AGE", "IP", "NODE", "INFO"])];
        lines.push(self.head(now));
        for (position, (revision, pods)) in self.revisions.iter().enumerate() {
            let is_last = position + 1 == self.revisions.len();
            lines.extend(branch(revision, pods, self.role(position, revision), is_last, now));
        }
        if !output.is_wide() {
            lines.iter_mut().for_each(|line| drop(line.drain(ADDRESS)));
        }
        if output.no_headers {
            lines.remove(0);
        }
        text.push_str(&table(&lines));
        if self.left_out > 0 {
            let older = counted(self.left_out, "older revision");
            text.push_str(&format!("\n{older}; --revisions shows more\n"));
        }
        text
    }

    /// For programs.
    pub(crate) fn document(&self) -> Value {
        let revisions: Vec<Value> = self
            .revisions
            .iter()
            .map(|(revision, pods)| revision.document(&[("pods", json!(pods))]))
            .collect();
        json!({
            "name": self.deployment.full_name(),
            "namespace": self.deployment.namespace(),
            "phase": self.rollout.phase.word(),
            "message": self.rollout.message,
            "replicas": self.rollout.counts,
            "step": self.rollout.at_step.as_ref().map(AtStep::document),
            "revisions": revisions,
            "target": self.target,
        })
    }
}

/// Whether this revision is the one that runs instead of the declared one.
fn is_target(target: Option<&Target>, revision: &Revision) -> bool {
    target.is_some_and(|target| {
        target.pod_template_hash.is_some() && target.pod_template_hash.as_deref() == revision.hash()
    })
}

fn branch(
    revision: &Revision,
    pods: &[Pod],
    role: &str,
    is_last: bool,
    now: jiff::Timestamp,
) -> Vec<Vec<String>> {
    let (knot, trunk) = if is_last { ("└─", "  ") } else { ("├─", "│ ") };
    let mut lines = vec![line([
        &format!("{knot} {}", revision.set_name()),
        "ReplicaSet",
        role,
        &format!("{}/{}", revision.ready(), revision.desired()),
        &age(revision.created(), now),
        NONE,
        NONE,
        &format!("revision {}, {}", revision.number, revision.images()),
    ])];
    for (position, pod) in pods.iter().enumerate() {
        let knot = if position + 1 == pods.len() { "└─" } else { "├─" };
        lines.push(line([
            &format!("{trunk} {knot} {}", pod.name),
            "Pod",
            &pod.status,
            &format!("{}/{}", pod.ready, pod.containers),
            &age(&pod.created, now),
            pod.ip.as_deref().unwrap_or(NONE),
            pod.node.as_deref().unwrap_or(NONE),
            &format!("{}{}", pod.restarted(), pod.why.as_deref().unwrap_or_default()),
        ]));
    }
    lines
}

#[cfg(test)]
mod tests {
    use plan::Flavour;
    use plan::keys::REVISION;

    use super::*;
    use crate::args::output::Format;
    use crate::pinned::samples;

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
        let text = tree.text(jiff::Timestamp::UNIX_EPOCH, &Tabular::default());
        assert!(text.contains("└─ web-1"), "{text}");
        assert!(text.contains("2 older revisions"), "{text}");
    }

    #[test]
    fn the_wide_table_has_addresses_and_the_other_one_may_have_no_headings() {
        let pod = json!({
            "metadata": {"name": "web-h6-x", "ownerReferences": [{"controller": true, "uid": samples::set(6, 1)["metadata"]["uid"]}]},
            "spec": {"containers": [{"name": "a"}], "nodeName": "node-1"},
            "status": {"phase": "Running", "podIP": "10.0.0.1"},
        });
        let tree = Tree::new(samples::pinned(), vec![samples::set(6, 1)], &[pod], 3);
        let text = |format: Option<Format>, no_headers| {
            tree.text(jiff::Timestamp::UNIX_EPOCH, &Tabular { format, no_headers })
        };
        let wide = text(Some(Format::Wide), false);
        assert_eq!(cells(&wide, "web-h6-x").get(5..), Some(&["10.0.0.1", "node-1"][..]), "{wide}");
        assert_eq!(cells(&wide, "NAME ").get(5..), Some(&["IP", "NODE", "INFO"][..]), "{wide}");
        let narrow = text(None, false);
        assert!(!narrow.contains("10.0.0.1") && narrow.contains("\nNAME "), "{narrow}");
        assert!(!text(None, true).contains("\nNAME "));
    }

    fn cells<'a>(text: &'a str, name: &str) -> Vec<&'a str> {
        let line = text.lines().find(|line| line.contains(name)).unwrap_or_default();
        line.split("   ").map(str::trim).filter(|cell| !cell.is_empty()).collect()
    }

    #[test]
    fn what_runs_instead_is_named_and_its_set_is_marked() {
        for (deployment, info, roles) in [
            (samples::pinned(), "runs revision 6: Pinned (INC-4711)", ["pinned", "declared"]),
            (samples::reverted(), "runs revision 6: Reverted", ["running", "failed"]),
        ] {
            let tree = |running, other| {
                let sets = vec![samples::set(6, running), samples::set(7, other)];
                Tree::new(deployment.clone(), sets, &[], 3)
            };
            let text = tree(3, 0).text(jiff::Timestamp::UNIX_EPOCH, &Tabular::default());
            assert_eq!(cells(&text, "Deployment ").last(), Some(&info), "{text}");
            assert_eq!(["web-h6", "web-h7"].map(|name| cells(&text, name)[2]), roles, "{text}");
            assert_eq!(tree(3, 0).document()["target"]["declaredRevision"], 7);
            assert!(!tree(3, 0).is_on_the_way() && tree(2, 1).is_on_the_way());
        }
        let held = Tree::new(samples::held("RolloutFailed"), vec![samples::set(7, 1)], &[], 3);
        let text = held.text(jiff::Timestamp::UNIX_EPOCH, &Tabular::default());
        assert_eq!(cells(&text, "web-h7").get(2), Some(&"current"), "{text}");
    }

    #[test]
    fn the_pinned_set_is_always_shown_and_its_pods_may_be_on_the_way() {
        let tree = |pinned: i64, other: i64| {
            Tree::new(samples::pinned(), vec![samples::set(6, pinned), samples::set(7, other)], &[], 0)
        };
        assert!(tree(0, 0).revisions.iter().any(|(revision, _)| revision.number == 6));
        assert!(tree(1, 3).is_on_the_way() && tree(3, 1).is_on_the_way() && !tree(3, 0).is_on_the_way());
        let missing = Tree::new(samples::missing(), vec![samples::set(7, 3)], &[], 3);
        assert!(!missing.is_on_the_way());
        let text = missing.text(jiff::Timestamp::UNIX_EPOCH, &Tabular::default());
        assert_eq!(cells(&text, "Deployment ").last(), Some(&"PinTargetMissing h9 (INC-4711)"), "{text}");
    }
}
