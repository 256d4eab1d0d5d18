//! What the controller would do next, step by step: its planner, over a snapshot that every step
//! changes as the cluster would, with pods that become ready.

use std::collections::BTreeMap;

use api::decode::{self, Defaults};
use plan::keys::REVISION;
use plan::template::without_hash_label;
use plan::{
    Action, Answers, Ask, Claim, DryRun, NewReplicaSet, Observed, Options, Pace, Pod, ReplicaSet, RollBack,
    SetStatus, Step, UpdateReplicaSet, Why,
};
use serde_json::Value;

use crate::cluster::Deployment;

/// More steps than any rollout takes that ends: one per pod, up and down, of the largest we show.
const STEPS_MAX: usize = 10_000;
/// As many questions as a pass may ask.
const QUESTIONS_MAX: usize = 12;

/// A ReplicaSet that a step shows: name, revision and size.
pub(crate) type Size = (String, i64, i64);

/// The cluster after a step, before the pods that it asked for are ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    /// By revision, oldest first.
    pub(crate) sizes: Vec<Size>,
    /// The most pods that the ReplicaSets ask for from the step's first action to its last.
    pub(crate) pods: i64,
    /// The fewest pods that are available for certain meanwhile.
    pub(crate) available: i64,
}

/// A rollout as it would go.
#[derive(Clone, Debug)]
pub(crate) struct Projection {
    /// The first is how things stand now.
    pub(crate) rows: Vec<Row>,
    /// What the controller says of the end.
    pub(crate) end: Why,
    /// No fewer pods than this are to be available (S6.4).
    pub(crate) floor: i64,
    /// No more pods than this are to be asked for (S6.3).
    pub(crate) ceiling: i64,
}

impl Projection {
    /// The fewest pods that are available on the way, the first row aside.
    pub(crate) fn lowest(&self) -> i64 {
        self.rows
            .iter()
            .skip(1)
            .map(|row| row.available)
            .min()
            .unwrap_or_else(|| self.first(|row| row.available))
    }

    /// The most pods that are asked for on the way, the first row aside.
    pub(crate) fn highest(&self) -> i64 {
        self.rows.iter().skip(1).map(|row| row.pods).max().unwrap_or_else(|| self.first(|row| row.pods))
    }

    fn first(&self, of: impl Fn(&Row) -> i64) -> i64 {
        self.rows.first().map_or(0, of)
    }
}

/// The snapshot, and what it was read from.
struct World<'a> {
    observed: Observed,
    template: &'a Value,
    templates: BTreeMap<String, Value>,
    /// Pods as they are; without them, as the ReplicaSets' numbers have it.
    pods: Option<Vec<Pod>>,
    version: u64,
    now: jiff::Timestamp,
}

/// Plays the rollout of a Deployment to its end.
///
/// # Errors
/// When the Deployment cannot be decoded, or the rollout does not end.
pub(crate) fn project(
    deployment: &Deployment,
    sets: &[Value],
    now: jiff::Timestamp,
) -> Result<Projection, String> {
    let mut world = World::new(deployment, sets, None, now)?;
    let (strategy, replicas) = (world.observed.workload.strategy.clone(), world.observed.workload.replicas);
    let (rows, end) = world.play()?;
    Ok(Projection {
        rows,
        end,
        floor: strategy.min_available(replicas),
        ceiling: replicas.saturating_add(strategy.max_surge(replicas)),
    })
}

/// What the controller waits for now, in the planner's own words.
///
/// # Errors
/// When the Deployment cannot be decoded: then the controller sets it aside, too.
pub(crate) fn why(
    deployment: &Deployment,
    sets: &[Value],
    pods: &[Value],
    now: jiff::Timestamp,
) -> Result<Why, String> {
    let pods = pods.iter().map(decode::pod).collect();
    Ok(World::new(deployment, sets, Some(pods), now)?.plan()?.why)
}
impl<'a> World<'a> {
    fn new(
        deployment: &'a Deployment,
        sets: &[Value],
        pods: Option<Vec<Pod>>,
        now: jiff::Timestamp,
    ) -> Result<Self, String> {
        let flavour = deployment.flavour;
        let workload = decode::workload(flavour, &deployment.body, Defaults::of(flavour));
        let workload = workload.map_err(|error| format!("the controller cannot read it: {error}"))?;
        let sets_read = sets.iter().filter_map(|set| decode::replica_set(flavour, set).ok()).collect();
        let uid =
            |set: &Value| set.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default().to_owned();
        let template = |set: &Value| set.pointer("/spec/template").cloned().unwrap_or(Value::Null);
        Ok(Self {
            observed: Observed {
                flavour,
                workload,
                sets: sets_read,
                answers: Answers::default(),
                options: Options::new(true, Pace::EachPass),
            },
            template: deployment.body.pointer("/spec/template").unwrap_or(&Value::Null),
            templates: sets.iter().map(|set| (uid(set), template(set))).collect(),
            pods,
            version: 0,
            now,
        })
    }

    fn play(&mut self) -> Result<(Vec<Row>, Why), String> {
        let mut rows = vec![self.row()];
        for _ in 0..STEPS_MAX {
            let plan = self.plan()?;
            if let Some(error) = plan.error {
                return Err(error);
            }
            let is_still = plan.actions.is_empty();
            let (mut most, mut least) = (i64::MIN, i64::MAX);
            for planned in &plan.actions {
                self.act(&planned.action)?;
                let row = self.row();
                (most, least) = (most.max(row.pods), least.min(row.available));
            }
            let row = self.row();
            let row = Row { pods: most.max(row.pods), available: least.min(row.available), ..row };
            if rows.last().is_none_or(|last| last.sizes != row.sizes) {
                rows.push(row);
            }
            let has_moved = self.pods_become_ready();
            if is_still && !has_moved {
                return Ok((rows, plan.why));
            }
        }
        Err(format!("no end after {STEPS_MAX} steps"))
    }

    fn plan(&mut self) -> Result<plan::Plan, String> {
        self.observed.answers = Answers::default();
        for _ in 0..QUESTIONS_MAX {
            match plan::plan(&self.observed, self.now) {
                Step::Act(plan) => return Ok(*plan),
                Step::Claim(claims) => self.claim(&claims),
                Step::Ask(ask) => self.answer(&ask),
            }
        }
        Err("the planner has not come to an end; this is a bug".to_owned())
    }

    fn answer(&mut self, ask: &Ask) {
        let answers = &mut self.observed.answers;
        match ask {
            Ask::Template => answers.template = Some(self.template.clone()),
            Ask::DryRun(_) => answers.dry_run = Some(DryRun::Refused),
            Ask::SetTemplate { uid, .. } => {
                let template = self.templates.get(uid).cloned().unwrap_or(Value::Null);
                answers.set_template = Some((uid.clone(), template));
            }
            Ask::Pods => {
                let running = self.observed.sets.iter().filter(|set| set.status.replicas > 0);
                let pod = |set: &ReplicaSet| Pod {
                    controller_uid: Some(set.uid.clone()),
                    phase: "Running".to_owned(),
                };
                answers.pods = Some(self.pods.clone().unwrap_or_else(|| running.map(pod).collect()));
            }
        }
    }

    fn claim(&mut self, claims: &[Claim]) {
        for claim in claims {
            let (target, owner) = match claim {
                Claim::Adopt(target) => (target, Some(self.observed.workload.uid.clone())),
                Claim::Release(target) => (target, None),
            };
            for set in self.observed.sets.iter_mut().filter(|set| set.uid == target.uid) {
                set.controller_uid.clone_from(&owner);
            }
        }
    }

    fn act(&mut self, action: &Action) -> Result<(), String> {
        self.version += 1;
        match action {
            Action::SetSelector(selector) => self.observed.workload.selector = Some(selector.clone()),
            Action::CreateReplicaSet(new) => self.create(new)?,
            Action::UpdateReplicaSet(update) => self.update(update),
            Action::DeleteReplicaSet(target) => self.observed.sets.retain(|set| set.uid != target.uid),
            Action::WriteStatus(write) => {
                let workload = &mut self.observed.workload;
                workload.status = write.status.clone();
                if let Some(revision) = &write.revision_annotation {
                    workload.annotations.insert(REVISION.to_owned(), revision.clone());
                }
            }
            Action::RollBack(write) => return self.roll_back(write),
        }
        Ok(())
    }

    fn create(&mut self, new: &NewReplicaSet) -> Result<(), String> {
        if self.observed.sets.iter().any(|set| set.name == new.name) {
            return Err(format!("the name {} is taken by a ReplicaSet of another template", new.name));
        }
        let flavour = self.observed.flavour;
        let uid = format!("projected-{}", self.version);
        self.templates.insert(uid.clone(), new.template.clone());
        self.observed.sets.push(ReplicaSet {
            name: new.name.clone(),
            uid,
            resource_version: self.version.to_string(),
            generation: 1,
            created: self.now,
            deleting: false,
            labels: new.labels.clone(),
            annotations: new.annotations.clone(),
            controller_uid: Some(self.observed.workload.uid.clone()),
            size: new.size,
            min_ready_seconds: new.min_ready_seconds,
            fingerprints: flavour.fingerprints_of_set(&new.annotations, &new.template),
            stored: flavour.stored_digest(&without_hash_label(&new.template)),
            status: SetStatus::default(),
        });
        Ok(())
    }

    fn update(&mut self, update: &UpdateReplicaSet) {
        let flavour = self.observed.flavour;
        let templates = &self.templates;
        for set in self.observed.sets.iter_mut().filter(|set| set.uid == update.target.uid) {
            set.size = update.size_to;
            if let Some((_, seconds)) = update.min_ready_seconds {
                set.min_ready_seconds = seconds;
            }
            set.annotations.extend(update.annotations.clone());
            if let Some(template) = templates.get(&set.uid) {
                set.fingerprints =
                    flavour.fingerprints_of_set(&set.annotations, &without_hash_label(template));
            }
        }
    }

    /// The template of a revision takes the Deployment's place: a projection ends here, and the
    /// next begins when it is there.
    fn roll_back(&mut self, write: &RollBack) -> Result<(), String> {
        match &write.template {
            None => {
                self.observed.workload.rollback_to = None;
                Ok(())
            }
            Some(_) => {
                Err("a rollback is asked for: its template is put back first, then it rolls out".to_owned())
            }
        }
    }

    /// Pods come and go as the ReplicaSets want them. Returns whether anything has changed.
    fn pods_become_ready(&mut self) -> bool {
        let mut has_moved = false;
        for set in &mut self.observed.sets {
            let wanted = SetStatus {
                replicas: set.size,
                ready: set.size,
                available: set.size,
                terminating: set.status.terminating.map(|_| 0),
                observed_generation: set.generation,
                failure: None,
            };
            has_moved |= set.status != wanted;
            set.status = wanted;
        }
        // A second is long enough for pods that are ready at once, and short for any deadline.
        self.now = self.now.checked_add(jiff::SignedDuration::from_secs(1)).unwrap_or(self.now);
        has_moved
    }

    fn row(&self) -> Row {
        let owner = Some(&self.observed.workload.uid);
        let ours = self.observed.sets.iter().filter(|set| set.controller_uid.as_ref() == owner);
        let mut row = Row { sizes: Vec::new(), pods: 0, available: 0 };
        for set in ours {
            let revision = set.annotations.get(REVISION).and_then(|text| text.parse().ok()).unwrap_or(0);
            row.sizes.push((set.name.clone(), revision, set.size));
            row.pods += set.size;
            row.available += set.status.available.min(set.size);
        }
        row.sizes.sort_by(|a, b| (a.1, &a.0).cmp(&(b.1, &b.0)));
        row
    }
}

#[cfg(test)]
mod tests {
    use plan::Flavour;
    use serde_json::json;

    use super::*;

    fn template(image: &str) -> Value {
        json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "app", "image": image}]}})
    }

    fn deployment(flavour: Flavour, replicas: i64, strategy: &Value) -> Deployment {
        let body = json!({
            "metadata": {"name": "web", "namespace": "x", "uid": "d", "resourceVersion": "1", "generation": 2},
            "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "strategy": strategy,
                     "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600, "template": template("app:2")},
        });
        Deployment { flavour, body }
    }

    fn old_set(size: i64) -> Value {
        let mut template = template("app:1");
        template["metadata"]["labels"]["pod-template-hash"] = json!("1");
        json!({
            "metadata": {"name": "web-1", "namespace": "x", "uid": "s1", "resourceVersion": "1", "generation": 1,
                         "creationTimestamp": "2026-01-01T00:00:00Z",
                         "labels": {"app": "web", "pod-template-hash": "1", "rollwright.dev/managed": "true"},
                         "annotations": {REVISION: "1"},
                         "ownerReferences": [{"uid": "d", "controller": true, "kind": "Deployment"}]},
            "spec": {"replicas": size, "template": template},
            "status": {"replicas": size, "readyReplicas": size, "availableReplicas": size, "observedGeneration": 1},
        })
    }

    fn rolling(surge: i64, unavailable: i64) -> Value {
        json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}})
    }

    fn projected(flavour: Flavour, strategy: &Value) -> Projection {
        let now = "2026-01-02T00:00:00Z".parse().unwrap_or_default();
        project(&deployment(flavour, 4, strategy), &[old_set(4)], now)
            .unwrap_or_else(|error| unreachable!("{error}"))
    }

    #[test]
    fn a_rolling_update_reaches_its_limits_and_not_more() {
        for flavour in [Flavour::Rollwright, Flavour::AppsV1] {
            for (surge, unavailable) in [(1, 0), (0, 1), (1, 1), (2, 2)] {
                let projection = projected(flavour, &rolling(surge, unavailable));
                assert_eq!((projection.floor, projection.ceiling), (4 - unavailable, 4 + surge));
                assert_eq!(projection.lowest(), projection.floor, "{projection:?}");
                assert_eq!(projection.highest(), projection.ceiling, "{projection:?}");
                let last = projection.rows.last().map(|row| row.sizes.iter().map(|size| size.2).collect());
                assert_eq!(last, Some(vec![0, 4]), "{projection:?}");
                assert_eq!(projection.end, Why::Converged);
            }
        }
    }

    #[test]
    fn recreate_goes_through_nothing() {
        let projection = projected(Flavour::Rollwright, &json!({"type": "Recreate"}));
        let pods: Vec<i64> = projection.rows.iter().map(|row| row.pods).collect();
        assert_eq!(pods, [4, 0, 4]);
        assert_eq!(projection.lowest(), 0);
    }

    #[test]
    fn a_paused_one_stands_still() {
        let mut paused = deployment(Flavour::Rollwright, 4, &rolling(1, 1));
        paused.body["spec"]["paused"] = json!(true);
        let projection = project(&paused, &[old_set(4)], jiff::Timestamp::UNIX_EPOCH);
        let projection = projection.unwrap_or_else(|error| unreachable!("{error}"));
        assert_eq!(projection.rows.len(), 1, "{projection:?}");
        assert_eq!(projection.end, Why::Paused);
    }

    #[test]
    fn the_first_rollout_begins_with_nothing() {
        let fresh = deployment(Flavour::AppsV1, 3, &rolling(1, 1));
        let projection = project(&fresh, &[], jiff::Timestamp::UNIX_EPOCH);
        let projection = projection.unwrap_or_else(|error| unreachable!("{error}"));
        assert_eq!(projection.rows.iter().map(|row| row.pods).collect::<Vec<_>>(), [0, 3]);
    }
}
