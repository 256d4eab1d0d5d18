//! A Deployment and its ReplicaSets in memory, for tests: answers the planner's questions and
//! carries its plans out. Statuses of ReplicaSets stay as they are.

mod apply;
mod kstatus;
mod render;

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use plan::intstr::IntOrPercent;
use plan::keys::{CHANGE_CAUSE, DESIRED_REPLICAS, FINGERPRINTS, MAX_REPLICAS, REVISION};
use plan::selector::LabelSelector;
use plan::template::{Fingerprint, Template, digest};
use plan::{
    Action, Answers, Ask, Authors, DryRun, Flavour, FoundJob, Job, Map, NewReplicaSet, Observed, Options,
    Outline, OwnerChange, Pace, Plan, Pod, ReplicaSet, SetFailure, SetStatus, Status, StatusWrite, Step,
    Strategy, TemplateSummary, Workload,
};
use serde_json::{Value, json};

pub(crate) use kstatus::{Kstatus, kstatus};
pub(crate) use render::{SUMMARIES, render, render_action};

/// uid of the Deployment.
pub(crate) const OWNER: &str = "owner";

/// What a server-side dry run makes of a template.
#[derive(Clone, Debug)]
pub(crate) enum Server {
    /// Stores it as sent.
    Plain,
    /// Stores this instead of it.
    Stores(Value),
    /// Refuses dry runs.
    Refuses,
}

#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(crate) observed: Observed,
    pub(crate) template: Value,
    /// Templates of the ReplicaSets by uid, hash label included.
    pub(crate) stored: BTreeMap<String, Value>,
    pub(crate) server: Server,
    pub(crate) pods: Vec<Pod>,
    pub(crate) jobs: BTreeMap<String, Job>,
    /// Why the server accepts no Job; a creation that it refuses ends the reconcile.
    pub(crate) refuses_jobs: Option<String>,
    pub(crate) now: Timestamp,
    /// The last resourceVersion given out.
    pub(crate) version: u64,
}

pub(crate) fn template(image: &str) -> Value {
    json!({
        "metadata": { "labels": { "app": "web" } },
        "spec": { "containers": [{ "name": "app", "image": image }] },
    })
}

pub(crate) fn fingerprint(image: &str) -> Fingerprint {
    Fingerprint::of(&template(image))
}

fn summary(flavour: Flavour, template: &Value) -> TemplateSummary {
    TemplateSummary {
        fingerprint: flavour.fingerprint(template),
        outline: Outline::of(template),
        labels: Map::from([("app".to_owned(), "web".to_owned())]),
        containers: "app".to_owned(),
        images: template.pointer("/spec/containers/0/image").and_then(Value::as_str).unwrap_or("").to_owned(),
    }
}

/// 3 replicas, 25 %/25 %, no deadline, template `a`, no ReplicaSets.
pub(crate) fn world(flavour: Flavour) -> World {
    let quarter = Some(IntOrPercent::Text("25%".to_owned()));
    let template = template("a");
    let workload = Workload {
        namespace: "default".to_owned(),
        name: "web".to_owned(),
        uid: OWNER.to_owned(),
        resource_version: "1".to_owned(),
        generation: 1,
        created: "2026-04-01T11:00:00Z".parse().unwrap(),
        deleting: false,
        annotations: Map::new(),
        replicas: 3,
        selector: Some(selector()),
        strategy: Strategy::RollingUpdate { max_surge: quarter.clone(), max_unavailable: quarter },
        steps: Vec::new(),
        good_skips_steps: true,
        before_hook: None,
        after_hook: None,
        min_ready_seconds: 0,
        revision_history_limit: Some(10),
        progress_deadline_seconds: None,
        paused: false,
        resumes_by_word: false,
        rollback_to: None,
        pin: None,
        failure_policy: None,
        unknown_field: None,
        authors: Authors::default(),
        template: summary(flavour, &template),
        status: Status::default(),
    };
    let (answers, mut options) = (Answers::default(), Options::new(true, Pace::EachReconcile));
    options.is_busy = true;
    World {
        observed: Observed { flavour, workload, sets: Vec::new(), answers, options },
        template,
        stored: BTreeMap::new(),
        server: Server::Plain,
        pods: Vec::new(),
        jobs: BTreeMap::new(),
        refuses_jobs: None,
        now: "2026-04-01T12:00:00Z".parse().unwrap(),
        version: 1,
    }
}

pub(crate) fn selector() -> LabelSelector {
    LabelSelector {
        match_labels: Map::from([("app".to_owned(), "web".to_owned())]),
        ..LabelSelector::default()
    }
}

/// A world of rollwright.dev.
pub(crate) fn ours() -> World {
    world(Flavour::Rollwright)
}

/// The status that a plan writes.
pub(crate) fn written(plan: &Plan) -> Option<&StatusWrite> {
    plan.actions.iter().find_map(|planned| match &planned.action {
        Action::WriteStatus(write) => Some(&**write),
        _ => None,
    })
}

/// The ReplicaSet that a plan creates, and its place among the actions.
pub(crate) fn created(plan: &Plan) -> Option<(usize, &NewReplicaSet)> {
    plan.actions.iter().enumerate().find_map(|(index, planned)| match &planned.action {
        Action::CreateReplicaSet(new) => Some((index, &**new)),
        _ => None,
    })
}

/// The server refuses pods of a ReplicaSet.
pub(crate) fn refusal(message: &str) -> Option<SetFailure> {
    let [status, reason, message] = ["True", "FailedCreate", message].map(str::to_owned);
    Some(SetFailure { status, reason, message, last_transition_time: None })
}

/// A ReplicaSet for [`World::with`].
#[derive(Clone, Debug)]
pub(crate) struct Set {
    pub(crate) name: String,
    pub(crate) image: String,
    pub(crate) size: i64,
    pub(crate) annotations: Map,
    pub(crate) owner: Option<String>,
}

/// A ReplicaSet of the Deployment, made from the template with this image, all its pods available.
pub(crate) fn set(image: &str, size: i64) -> Set {
    let annotations = Map::from([(FINGERPRINTS.to_owned(), fingerprint(image).as_str().to_owned())]);
    Set {
        name: format!("web-{image}"),
        image: image.to_owned(),
        size,
        annotations,
        owner: Some(OWNER.to_owned()),
    }
}

impl Set {
    pub(crate) fn annotated(mut self, key: &str, value: &str) -> Self {
        self.annotations.insert(key.to_owned(), value.to_owned());
        self
    }

    pub(crate) fn revision(self, revision: &str) -> Self {
        self.annotated(REVISION, revision)
    }

    pub(crate) fn scaled_for(self, desired: &str, max: &str) -> Self {
        self.annotated(DESIRED_REPLICAS, desired).annotated(MAX_REPLICAS, max)
    }

    /// The annotation with fingerprints as it stands.
    pub(crate) fn fingerprints(self, text: &str) -> Self {
        self.annotated(FINGERPRINTS, text)
    }

    pub(crate) fn without_fingerprint(mut self) -> Self {
        self.annotations.remove(FINGERPRINTS);
        self
    }

    pub(crate) fn owned_by(mut self, owner: &str) -> Self {
        self.owner = Some(owner.to_owned());
        self
    }

    pub(crate) fn named(mut self, name: &str) -> Self {
        self.name = name.to_owned();
        self
    }
}

impl World {
    /// Changes the Deployment.
    pub(crate) fn that(mut self, change: impl FnOnce(&mut Workload)) -> Self {
        change(&mut self.observed.workload);
        self
    }

    /// The user writes another template.
    pub(crate) fn template(mut self, template: Value) -> Self {
        self.set_template(template);
        self
    }

    pub(crate) fn set_template(&mut self, template: Value) {
        self.observed.workload.template = summary(self.observed.flavour, &template);
        self.observed.workload.generation += 1;
        self.template = template;
    }

    pub(crate) fn server(mut self, server: Server) -> Self {
        self.server = server;
        self
    }

    /// Adds a ReplicaSet; ReplicaSets are younger in the order in which they are added.
    pub(crate) fn with(mut self, set: Set) -> Self {
        let added = self.replica_set(set);
        self.observed.sets.push(added);
        self
    }

    /// The ReplicaSet as it would be read, not added.
    pub(crate) fn replica_set(&mut self, set: Set) -> ReplicaSet {
        let age = i64::try_from(self.stored.len()).unwrap();
        let uid = format!("uid-{}", set.name);
        let template = Template::of(&template(&set.image)).with_hash_label(&set.image).tree();
        let flavour = self.observed.flavour;
        let added = ReplicaSet {
            uid: uid.clone(),
            resource_version: self.next_version(),
            generation: 1,
            created: Timestamp::from_second(1_767_225_600 + 60 * age).unwrap(),
            deleting: false,
            labels: Map::from([("app".to_owned(), "web".to_owned())]),
            controller_uid: set.owner,
            size: set.size,
            min_ready_seconds: 0,
            fingerprints: flavour.fingerprints_of_set(&set.annotations, &template),
            stored: flavour.stored_digest(&template),
            is_tracked: false,
            annotations: set.annotations,
            status: SetStatus {
                replicas: set.size,
                ready: set.size,
                available: set.size,
                terminating: Some(0),
                observed_generation: 1,
                failure: None,
            },
            name: set.name,
        };
        self.stored.insert(uid, template);
        added
    }

    pub(crate) fn find(&self, name: &str) -> &ReplicaSet {
        self.observed.sets.iter().find(|set| set.name == name).unwrap()
    }

    pub(crate) fn find_mut(&mut self, name: &str) -> &mut ReplicaSet {
        self.observed.sets.iter_mut().find(|set| set.name == name).unwrap()
    }

    pub(crate) fn change_cause(&self) -> Option<&str> {
        self.observed.workload.annotations.get(CHANGE_CAUSE).map(String::as_str)
    }

    /// Lets time pass.
    pub(crate) fn wait(&mut self, seconds: i64) {
        self.now += SignedDuration::from_secs(seconds);
    }

    pub(crate) fn next_version(&mut self) -> String {
        self.version += 1;
        self.version.to_string()
    }

    /// One call of the planner.
    pub(crate) fn step(&self) -> Step {
        plan::plan(&self.observed, self.now)
    }

    /// Answers questions, adopts and releases until there is a plan. The answers are forgotten.
    pub(crate) fn plan(&mut self) -> Plan {
        self.plan_and_tell(|_, _| ())
    }

    /// As [`Self::plan`]; `tell` gets every step, and the world as it was then.
    pub(crate) fn plan_and_tell(&mut self, mut tell: impl FnMut(&Self, &Step)) -> Plan {
        for _ in 0..12 {
            let step = self.step();
            tell(self, &step);
            match step {
                Step::Ask(ask) => self.answer(&ask),
                Step::ChangeOwners(changes) => changes.iter().for_each(|change| self.change_owner(change)),
                Step::Act(plan) => {
                    let evidence = std::mem::take(&mut self.observed.answers.evidence);
                    self.observed.answers = Answers { evidence, ..Answers::default() };
                    return *plan;
                }
            }
        }
        panic!("no plan after 12 steps: {:?}", self.step());
    }

    /// One reconcile, carried out. Returns its plan.
    pub(crate) fn proceed(&mut self) -> Plan {
        let plan = self.plan();
        self.apply(&plan);
        plan
    }

    /// The same; returns what happened, line by line.
    pub(crate) fn reconcile(&mut self) -> Vec<String> {
        let mut log = Vec::new();
        // Rendering takes more time than planning: only who reads it pays for it.
        let plan = self.plan_and_tell(|world, step| log.extend(render(world, step)));
        self.apply(&plan);
        log
    }

    fn answer(&mut self, ask: &Ask) {
        let answers = &mut self.observed.answers;
        match ask {
            Ask::Template => {
                assert!(answers.template.is_none(), "asked twice");
                answers.template = Some(Template::of(&self.template));
            }
            Ask::DryRun(set) => {
                assert!(answers.dry_run.is_none(), "asked twice");
                answers.dry_run = Some(match &self.server {
                    Server::Plain => DryRun::Stored(digest(&set.template)),
                    Server::Stores(template) => DryRun::Stored(digest(template)),
                    Server::Refuses => DryRun::Refused,
                });
            }
            Ask::SetTemplate { uid, .. } => {
                answers.set_template = Some((uid.clone(), Template::of(self.stored.get(uid).unwrap())));
            }
            Ask::Pods => answers.pods = Some(self.pods.clone()),
            Ask::Job { name } => {
                let job = self.jobs.get(name).cloned();
                answers.job = Some(FoundJob { name: name.clone(), job: Ok(job) });
            }
            Ask::CheckJobs => answers.jobs_checked = Some(self.refuses_jobs.clone().map_or(Ok(()), Err)),
        }
    }

    fn change_owner(&mut self, change: &OwnerChange) {
        let version = self.next_version();
        let sets = &mut self.observed.sets;
        match change {
            OwnerChange::Adopt(target) => {
                let set = sets.iter_mut().find(|set| set.uid == target.uid).unwrap();
                assert_eq!(set.resource_version, target.resource_version, "OW-2");
                assert!(set.controller_uid.is_none() && !set.deleting, "OW-3: {set:?}");
                set.controller_uid = Some(OWNER.to_owned());
                set.resource_version = version;
            }
            OwnerChange::Release(target) => {
                let set = sets.iter().find(|set| set.uid == target.uid).unwrap();
                assert_eq!(set.resource_version, target.resource_version, "OW-2");
                assert_eq!(set.controller_uid.as_deref(), Some(OWNER), "OW-3");
                sets.retain(|set| set.uid != target.uid);
            }
        }
    }
}
