//! Carrying plans out, with the server's preconditions.

use plan::keys::{REVISION, ROLLBACK_TO};
use plan::{
    Action, Failure, Flavour, Job, JobState, NewReplicaSet, Plan, ReplicaSet, RollBack, SetStatus, Target,
    UpdateReplicaSet, Verdict,
};

use super::{OWNER, World};

impl World {
    /// Plans and carries out until nothing is left to do. Returns the number of reconciles that
    /// did something.
    pub(crate) fn settle(&mut self, reconciles_max: usize) -> usize {
        for reconciles in 0..reconciles_max {
            let plan = self.plan();
            if plan.actions.is_empty() {
                return reconciles;
            }
            self.apply(&plan);
        }
        let plan = self.plan();
        assert!(plan.actions.is_empty(), "still busy after {reconciles_max} passes: {:#?}", plan.actions);
        reconciles_max
    }

    /// Carries a plan out; a name that is taken ends it, as [`plan::after_failure`] decides.
    pub(crate) fn apply(&mut self, plan: &Plan) {
        for (index, planned) in plan.actions.iter().enumerate() {
            if self.is_refused(plan, index) {
                return;
            }
            self.act(&planned.action);
        }
    }

    /// Whether an action creates a ReplicaSet with a name that is taken. What follows from that is done.
    pub(crate) fn is_refused(&mut self, plan: &Plan, index: usize) -> bool {
        let Some(Action::CreateReplicaSet(new)) = plan.actions.get(index).map(|planned| &planned.action)
        else {
            return false;
        };
        let Some(taken) = self.observed.sets.iter().find(|set| set.name == new.name) else { return false };
        let failure = Failure::NameTaken(Some(Box::new(taken.clone())));
        let after = plan::after_failure(&self.observed, plan, index, &failure, self.now);
        assert!(matches!(after.verdict, Verdict::Retry(_)), "{:?}", after.verdict);
        after.actions.iter().for_each(|planned| self.act(&planned.action));
        true
    }

    pub(crate) fn act(&mut self, action: &Action) {
        match action {
            Action::CreateReplicaSet(new) => self.create(new),
            Action::UpdateReplicaSet(update) => self.update(update),
            Action::DeleteReplicaSet(target) => {
                let uid = self.target(target).uid.clone();
                self.observed.sets.retain(|set| set.uid != uid);
            }
            Action::SetSelector(selector) => {
                self.observed.workload.selector = Some(selector.clone());
                self.observed.workload.generation += 1;
            }
            Action::WriteStatus(write) => {
                let workload = &mut self.observed.workload;
                workload.status = write.status.clone();
                if let Some(revision) = &write.revision_annotation {
                    workload.annotations.insert(REVISION.to_owned(), revision.clone());
                }
            }
            Action::RollBack(write) => self.roll_back(write),
            Action::CreateJob(new) => {
                let has_ended = |job: &Job| matches!(job.state, JobState::Succeeded | JobState::Failed(_));
                assert!(
                    self.jobs.values().all(has_ended),
                    "two open Jobs (GA-2): {} beside {:?}",
                    new.name,
                    self.jobs
                );
                let uid = format!("job-{}", self.version);
                let (controller_uid, digest) = (Some(new.set_uid.clone()), new.digest.clone());
                let job = Job { uid, controller_uid, digest, state: JobState::Waiting(None) };
                assert_eq!(self.jobs.insert(new.name.clone(), job), None, "{} is taken", new.name);
            }
            Action::DeleteJob { name, uid } => {
                assert_eq!(self.jobs.remove(name).map(|job| job.uid).as_ref(), Some(uid), "{name}");
            }
        }
        let version = self.next_version();
        if matches!(action, Action::SetSelector(_) | Action::WriteStatus(_) | Action::RollBack(_)) {
            self.observed.workload.resource_version = version;
        }
    }

    fn create(&mut self, new: &NewReplicaSet) {
        assert!(self.observed.sets.iter().all(|set| set.name != new.name), "{} is taken", new.name);
        let flavour = self.observed.flavour;
        let uid = format!("created-{}", self.version);
        self.stored.insert(uid.clone(), new.template.tree());
        let version = self.next_version();
        self.observed.sets.push(ReplicaSet {
            name: new.name.clone(),
            uid,
            resource_version: version,
            generation: 1,
            created: jiff::Timestamp::from_second(self.now.as_second()).unwrap(),
            deleting: false,
            labels: new.labels.clone(),
            annotations: new.annotations.clone(),
            controller_uid: Some(OWNER.to_owned()),
            size: new.size,
            min_ready_seconds: new.min_ready_seconds,
            fingerprints: flavour.fingerprints_of_set(&new.annotations, &new.template),
            stored: flavour.stored_digest(&new.template),
            is_tracked: false,
            status: SetStatus::default(),
        });
    }

    fn update(&mut self, update: &UpdateReplicaSet) {
        let version = self.next_version();
        let flavour = self.observed.flavour;
        let stored = self.stored.get(&update.target.uid).cloned().unwrap_or_default();
        let set = self.target(&update.target);
        assert_eq!(set.size, update.size_from, "{}", set.name);
        let mut spec_changes = update.size_from != update.size_to;
        set.size = update.size_to;
        if let Some((from, to)) = update.min_ready_seconds {
            assert_eq!(set.min_ready_seconds, from, "{}", set.name);
            spec_changes |= from != to;
            set.min_ready_seconds = to;
        }
        set.annotations.extend(update.annotations.clone());
        set.fingerprints = flavour.fingerprints_of_set(&set.annotations, &stored);
        set.generation += i64::from(spec_changes);
        set.resource_version = version;
    }

    /// The ReplicaSet that an action names, which must be in the version that the action names.
    fn target(&mut self, target: &Target) -> &mut ReplicaSet {
        let set = self.observed.sets.iter_mut().find(|set| set.name == target.name).unwrap();
        assert_eq!((&set.uid, &set.resource_version), (&target.uid, &target.resource_version));
        set
    }

    fn roll_back(&mut self, write: &RollBack) {
        let workload = &mut self.observed.workload;
        workload.rollback_to = None;
        if self.observed.flavour == Flavour::AppsV1 {
            workload.annotations.remove(ROLLBACK_TO);
        }
        for (key, value) in &write.annotations {
            match value {
                Some(value) => workload.annotations.insert(key.clone(), value.clone()),
                None => workload.annotations.remove(key),
            };
        }
        workload.generation += 1;
        if let Some(template) = &write.template {
            self.template = template.tree();
            workload.template = super::summary(self.observed.flavour, &self.template);
        }
    }
}
