//! The snapshot that a projection changes as the cluster would.

use std::collections::BTreeMap;

use api::decode;
use engine::reconcile::{Answer, Refusal};
use plan::keys::REVISION;
use plan::template::Template;
use plan::{
    Action, Answers, Ask, DryRun, FoundJob, Job, JobState, NewJob, NewReplicaSet, Observed, Options,
    OwnerChange, Pace, Pod, ReplicaSet, RollBack, SetStatus, UpdateReplicaSet,
};
use serde_json::Value;

use super::Row;
use crate::cluster::Deployment;

/// The snapshot, and what it was read from.
pub(super) struct World<'a> {
    pub(super) observed: Observed,
    template: &'a Value,
    templates: BTreeMap<String, Value>,
    /// Pods as they are; without them, as the ReplicaSets' numbers have it.
    pods: Option<Vec<Pod>>,
    /// Jobs that were created. Nobody knows what they will come to: a plan shows what follows if all succeed.
    jobs: BTreeMap<String, Job>,
    pub(super) version: u64,
    pub(super) now: jiff::Timestamp,
    /// The most pods that are asked for, and the fewest that are available, in the reconcile under way.
    pub(super) bounds: Option<(i64, i64)>,
    /// Why the planner refuses a promotion, if it does.
    pub(super) refusal: Option<String>,
}

impl<'a> World<'a> {
    pub(super) fn new(
        deployment: &'a Deployment,
        sets: &[Value],
        pods: Option<Vec<Pod>>,
        now: jiff::Timestamp,
    ) -> Result<Self, String> {
        let flavour = deployment.flavour;
        let workload =
            deployment.workload().map_err(|error| format!("the controller cannot read it: {error}"))?;
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
                options: Options::new(true, Pace::EachReconcile),
            },
            template: deployment.template(),
            templates: sets.iter().map(|set| (uid(set), template(set))).collect(),
            pods,
            jobs: BTreeMap::new(),
            version: 0,
            now,
            bounds: None,
            refusal: None,
        })
    }

    pub(super) fn answer(&self, ask: &Ask) -> Answer {
        match ask {
            Ask::Template => Answer::Template(Template::of(self.template)),
            Ask::DryRun(_) => Answer::DryRun(DryRun::Refused),
            Ask::SetTemplate { uid, .. } => {
                let template = Template::of(self.templates.get(uid).unwrap_or(&Value::Null));
                Answer::SetTemplate(uid.clone(), template)
            }
            Ask::Pods => {
                let running = self.observed.sets.iter().filter(|set| set.status.replicas > 0);
                let pod = |set: &ReplicaSet| Pod {
                    controller_uid: Some(set.uid.clone()),
                    phase: "Running".to_owned(),
                };
                Answer::Pods(self.pods.clone().unwrap_or_else(|| running.map(pod).collect()))
            }
            Ask::Job { name } => {
                Answer::Job(FoundJob { name: name.clone(), job: Ok(self.jobs.get(name).cloned()) })
            }
            Ask::CheckJobs => Answer::JobsChecked(Ok(())),
        }
    }

    pub(super) fn change_owner(&mut self, change: &OwnerChange) {
        let (target, owner) = match change {
            OwnerChange::Adopt(target) => (target, Some(self.observed.workload.uid.clone())),
            OwnerChange::Release(target) => (target, None),
        };
        for set in self.observed.sets.iter_mut().filter(|set| set.uid == target.uid) {
            set.controller_uid.clone_from(&owner);
        }
    }

    pub(super) fn act(&mut self, action: &Action) -> Result<(), Refusal> {
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
            Action::CreateJob(new) => {
                let NewJob { name, digest, set_uid, .. } = &**new;
                let (uid, controller_uid) = (name.clone(), Some(set_uid.clone()));
                let job = Job { uid, controller_uid, digest: digest.clone(), state: JobState::Succeeded };
                self.jobs.insert(name.clone(), job);
            }
            Action::DeleteJob { name, .. } => _ = self.jobs.remove(name),
            Action::RollBack(write) => return self.roll_back(write),
        }
        Ok(())
    }

    fn create(&mut self, new: &NewReplicaSet) -> Result<(), Refusal> {
        if self.observed.sets.iter().any(|set| set.name == new.name) {
            let message = format!("the name {} is taken by a ReplicaSet of another template", new.name);
            return Err(Refusal::new(409, "AlreadyExists", message));
        }
        let flavour = self.observed.flavour;
        let uid = format!("projected-{}", self.version);
        self.templates.insert(uid.clone(), new.template.tree());
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
            stored: flavour.stored_digest(&new.template),
            is_tracked: false,
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
                set.fingerprints = flavour.fingerprints_of_set(&set.annotations, template);
            }
        }
    }

    /// The template of a revision takes the Deployment's place: a projection ends here, and the
    /// next begins when it is there.
    fn roll_back(&mut self, write: &RollBack) -> Result<(), Refusal> {
        match &write.template {
            None => {
                self.observed.workload.rollback_to = None;
                Ok(())
            }
            Some(_) => {
                let message = "a rollback is asked for: its template is put back first, then it rolls out";
                Err(Refusal::new(0, "", message.to_owned()))
            }
        }
    }

    /// Pods come and go as the ReplicaSets want them. Returns whether anything has changed.
    pub(super) fn pods_become_ready(&mut self) -> bool {
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
        // A second is long enough for pods that are ready immediately, and short for any deadline.
        self.now = self.now.checked_add(jiff::SignedDuration::from_secs(1)).unwrap_or(self.now);
        has_moved
    }

    pub(super) fn row(&self) -> Row {
        let owner = Some(&self.observed.workload.uid);
        let ours = self.observed.sets.iter().filter(|set| set.controller_uid.as_ref() == owner);
        let mut row = Row::default();
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
