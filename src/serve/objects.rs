//! Series for each Deployment, in the form of kube-state-metrics' `kube_deployment_*`. A scrape computes
//! them from the cache, so they vanish with the object.
//!
//! This module writes the text itself. In the prometheus crate, a sample takes half a kilobyte before it
//! becomes text.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::{Arc, Weak};

use engine::index::Key;
use engine::packed::Packed;
use plan::keys::condition;
use plan::{Blocker, Strategy, Workload};

use crate::reconcile::reconciler::Reconciler;

/// Types of conditions that are shown. Anybody may put others on a Deployment, in any number.
const CONDITIONS: [&str; 9] = [
    condition::AVAILABLE,
    condition::PROGRESSING,
    condition::REPLICA_FAILURE,
    condition::ROLLBACK_REFUSED,
    condition::COLLISION_LIMIT_REACHED,
    condition::REVISION_LIMIT_REACHED,
    condition::READY,
    condition::RECONCILING,
    condition::STALLED,
];
/// What a condition may be, as it is stored and as a label.
const STATUSES: [(&str, &str); 3] = [("True", "true"), ("False", "false"), ("Unknown", "unknown")];
/// The operator writes no reason that is longer.
const REASON_MAX: usize = 64;

/// Name after the prefix, help, and value if there is one.
type Shape = (&'static str, &'static str, fn(&Workload) -> Option<i64>);

const SHAPES: [Shape; 14] = [
    ("created", "Unix creation timestamp", |w| Some(w.created.as_second())),
    (
        "metadata_generation",
        "Sequence number representing a specific generation of the desired state.",
        |w| Some(w.generation),
    ),
    (
        "spec_paused",
        "Whether the deployment is paused and will not be processed by the deployment controller.",
        |w| Some(w.paused.into()),
    ),
    ("spec_replicas", "Number of desired pods for a deployment.", |w| Some(w.replicas)),
    (
        "spec_strategy_rollingupdate_max_surge",
        "Maximum number of replicas that can be scheduled above the desired number of replicas during a \
         rolling update of a deployment.",
        |w| is_rolling(w).then(|| w.strategy.max_surge(w.replicas)),
    ),
    (
        "spec_strategy_rollingupdate_max_unavailable",
        "Maximum number of unavailable replicas during a rolling update of a deployment.",
        |w| is_rolling(w).then(|| w.strategy.max_unavailable(w.replicas)),
    ),
    ("status_observed_generation", "The generation observed by the deployment controller.", |w| {
        Some(w.status.observed_generation)
    }),
    ("status_replicas", "The number of replicas per deployment.", |w| Some(w.status.replicas)),
    ("status_replicas_available", "The number of available replicas per deployment.", |w| {
        Some(w.status.available_replicas)
    }),
    ("status_replicas_ready", "The number of ready replicas per deployment.", |w| {
        Some(w.status.ready_replicas)
    }),
    ("status_replicas_unavailable", "The number of unavailable replicas per deployment.", |w| {
        Some(w.status.unavailable_replicas)
    }),
    ("status_replicas_updated", "The number of updated replicas per deployment.", |w| {
        Some(w.status.updated_replicas)
    }),
    ("status_terminating_replicas", "The number of terminating replicas per deployment.", |w| {
        w.status.terminating_replicas
    }),
    ("status_revision", "The revision of the current template (rollwright.dev only).", |w| {
        w.status.ours.revision
    }),
];

fn is_rolling(workload: &Workload) -> bool {
    matches!(workload.strategy, Strategy::RollingUpdate { .. })
}

/// Shows the Deployments of some reconcilers.
#[derive(Clone)]
pub(crate) struct Objects {
    reconcilers: Vec<Weak<Reconciler>>,
    /// How many Deployments of each API at most.
    limit: usize,
}

/// Deployments of an API, packed as in the cache: thousands of them together are much.
struct Shown {
    api: &'static str,
    workloads: Vec<Packed<Workload>>,
    /// What the engine found of rollouts with a status that cannot report it (apps/v1).
    blocked: BTreeMap<Key, Vec<Blocker>>,
    omitted: usize,
}

impl Objects {
    /// Of these reconcilers, this many Deployments of each at most, the first by namespace and name.
    pub(crate) fn of(reconcilers: &[Arc<Reconciler>], limit: usize) -> Self {
        Self { reconcilers: reconcilers.iter().map(Arc::downgrade).collect(), limit }
    }

    /// Appends the text that Prometheus reads.
    pub(crate) fn render(&self, text: &mut Vec<u8>) {
        let shown: Vec<Shown> = self
            .reconcilers
            .iter()
            .filter_map(Weak::upgrade)
            .filter_map(|c| self.of_reconciler(&c))
            .collect();
        render(&shown, text);
    }

    /// Nothing of one that stands by: who is at work shows the same, and all would be there twice.
    fn of_reconciler(&self, reconciler: &Reconciler) -> Option<Shown> {
        if !reconciler.progress.is_running() {
            return None;
        }
        let blocked = if reconciler.flavour.has_status_extras() {
            BTreeMap::new()
        } else {
            let state = reconciler.engine.state();
            state.blocked().map(|(key, blockers)| (key.clone(), blockers.to_vec())).collect()
        };
        let index = reconciler.index();
        let workloads: Vec<_> = index.workloads().take(self.limit).cloned().collect();
        let omitted = index.sizes().0.saturating_sub(workloads.len());
        Some(Shown { api: reconciler.flavour.api_version(), workloads, blocked, omitted })
    }
}

fn render(shown: &[Shown], out: &mut Vec<u8>) {
    let mut series = SHAPES.map(|(name, help, _)| {
        let mut text = Vec::new();
        head(&mut text, &format!("rollwright_deployment_{name}"), help);
        text
    });
    for (api, workload) in each(shown) {
        for ((name, _, value), text) in SHAPES.iter().zip(&mut series) {
            if let Some(value) = value(&workload) {
                let (namespace, deployment) = (&workload.namespace, &workload.name);
                let _ = writeln!(
                    text,
                    "rollwright_deployment_{name}{{api=\"{api}\",namespace=\"{namespace}\",deployment=\"{deployment}\"}} {value}",
                );
            }
        }
    }
    // One after the other, so that each goes before the next is copied.
    series.into_iter().for_each(|text| out.extend(text));
    let help = "The current status conditions of a deployment.";
    head(out, "rollwright_deployment_status_condition", help);
    for (api, workload) in each(shown) {
        conditions(out, api, &workload);
    }
    diverged(out, shown);
    blocked(out, shown);
    awaiting(out, shown);
    head(
        out,
        "rollwright_object_metrics_omitted",
        "Deployments without series of their own, for --object-metrics-limit.",
    );
    for Shown { api, omitted, .. } in shown {
        let _ = writeln!(out, "rollwright_object_metrics_omitted{{api=\"{api}\"}} {omitted}");
    }
}

fn each(shown: &[Shown]) -> impl Iterator<Item = (&'static str, Workload)> {
    shown.iter().flat_map(|shown| shown.workloads.iter().map(|workload| (shown.api, workload.unpack())))
}

/// The operator writes no reason that is not a word.
fn diverged(out: &mut Vec<u8>, shown: &[Shown]) {
    let help = "1 while another revision runs than the declared one, by the reason for it.";
    head(out, "rollwright_deployment_diverged", help);
    for (api, workload) in each(shown) {
        let (namespace, deployment) = (&workload.namespace, &workload.name);
        let reason = workload.status.ours.target.as_ref().map_or("", |target| target.reason.as_str());
        if !reason.is_empty() && is_word(reason) {
            let _ = writeln!(
                out,
                "rollwright_deployment_diverged{{api=\"{api}\",namespace=\"{namespace}\",deployment=\"{deployment}\",reason=\"{reason}\"}} 1",
            );
        }
    }
}

fn blocked(out: &mut Vec<u8>, shown: &[Shown]) {
    head(out, "rollwright_rollout_blocked", "Pods that block a rollout, by cause.");
    for shown in shown {
        for workload in shown.workloads.iter().map(Packed::unpack) {
            let key = Key { namespace: workload.namespace, name: workload.name };
            let found = shown.blocked.get(&key).unwrap_or(&workload.status.ours.blockers);
            let (api, Key { namespace, name }) = (shown.api, key);
            for (cause, pods) in by_cause(found) {
                let _ = writeln!(
                    out,
                    "rollwright_rollout_blocked{{api=\"{api}\",namespace=\"{namespace}\",deployment=\"{name}\",cause=\"{cause}\"}} {pods}",
                );
            }
        }
    }
}

fn awaiting(out: &mut Vec<u8>, shown: &[Shown]) {
    let help = "1 while a rollout waits at a step until somebody promotes it.";
    head(out, "rollwright_rollout_awaits_promotion", help);
    for (api, workload) in each(shown).filter(|(_, workload)| workload.awaits_promotion()) {
        let (namespace, deployment) = (&workload.namespace, &workload.name);
        let _ = writeln!(
            out,
            "rollwright_rollout_awaits_promotion{{api=\"{api}\",namespace=\"{namespace}\",deployment=\"{deployment}\"}} 1",
        );
    }
}

/// A series has one value, and a cause may concern several containers. The operator writes no cause that is not a word.
fn by_cause(blockers: &[Blocker]) -> BTreeMap<&str, i64> {
    let mut causes = BTreeMap::new();
    for Blocker { cause, pods, .. } in blockers.iter().filter(|blocker| is_word(&blocker.cause)) {
        let sum = causes.entry(cause.as_str()).or_insert(0_i64);
        *sum = sum.saturating_add(*pods);
    }
    causes
}

fn head(out: &mut Vec<u8>, name: &str, help: &str) {
    let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} gauge");
}

fn conditions(out: &mut Vec<u8>, api: &str, workload: &Workload) {
    let (namespace, deployment) = (&workload.namespace, &workload.name);
    for known in CONDITIONS {
        // The first of a type, if somebody has stored it twice: a series has one value.
        let Some(condition) = workload.status.condition(known) else { continue };
        let reason = Some(&condition.reason).filter(|reason| is_word(reason)).map_or("", String::as_str);
        let kind = &condition.kind;
        for (stored, label) in STATUSES {
            let value = u8::from(condition.status == stored);
            let _ = writeln!(
                out,
                "rollwright_deployment_status_condition{{api=\"{api}\",namespace=\"{namespace}\",deployment=\"{deployment}\",condition=\"{kind}\",reason=\"{reason}\",status=\"{label}\"}} {value}",
            );
        }
    }
}

/// Whether it is a reason as API conventions want it; others may be anything and are not shown.
fn is_word(reason: &str) -> bool {
    reason.len() <= REASON_MAX && reason.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
mod tests;
