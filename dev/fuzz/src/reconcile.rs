//! From JSON to a plan: objects as the server might send them, decoded and planned with.

use api::decode::{self, Defaults};
use api::encode;
use jiff::Timestamp;
use plan::template::Template;
use plan::{
    Action, Ask, DryRun, Flavour, FoundJob, Observed, Options, OwnerChange, Pace, Plan, Step, Target,
};
use serde_json::Value;

use crate::input;

/// Questions, changes of owner and the plan; more would be going round in circles.
const STEPS_MAX: usize = 12;

/// A JSON list: a Deployment, and then ReplicaSets and pods.
pub(crate) fn run(data: &[u8]) {
    let Some(Value::Array(objects)) = input::json(data) else { return };
    for flavour in [Flavour::Rollwright, Flavour::AppsV1] {
        let Some(observed) = observe(flavour, &objects) else { continue };
        let mut reversed = observed.clone();
        reversed.sets.reverse();
        let plan = plan_of(observed, &objects);
        // Sets of one name and age have no order; there are none in a cluster.
        if !has_twins(&reversed) {
            assert_eq!(format!("{plan:?}"), format!("{:?}", plan_of(reversed, &objects)));
        }
    }
}

fn observe(flavour: Flavour, objects: &[Value]) -> Option<Observed> {
    let (deployment, others) = objects.split_first()?;
    let workload = decode::workload(flavour, deployment, Defaults::of(flavour)).ok()?;
    let (pods, sets): (Vec<_>, Vec<_>) = others.iter().partition(|other| other["kind"] == "Pod");
    let sets = sets.into_iter().filter_map(|set| decode::replica_set(flavour, set).ok()).collect();
    let mut observed = Observed {
        flavour,
        workload,
        sets,
        answers: plan::Answers::default(),
        options: Options::new(true, Pace::EachReconcile),
    };
    observed.answers.pods = Some(pods.into_iter().map(decode::pod).collect());
    Some(observed)
}

fn has_twins(observed: &Observed) -> bool {
    let mut keys: Vec<_> = observed.sets.iter().map(|set| (set.created, &set.name)).collect();
    let mut uids: Vec<_> = observed.sets.iter().map(|set| &set.uid).collect();
    let names = keys.len();
    keys.sort();
    keys.dedup();
    uids.sort();
    uids.dedup();
    keys.len() < names || uids.len() < names
}

fn plan_of(mut observed: Observed, objects: &[Value]) -> Option<Plan> {
    let now: Timestamp = "2026-04-01T12:00:00Z".parse().unwrap();
    for _ in 0..STEPS_MAX {
        match plan::plan(&observed, now) {
            Step::Ask(ask) => answer(&mut observed, objects, ask),
            Step::ChangeOwners(changes) => {
                assert!(!changes.is_empty());
                changes.iter().for_each(|change| make(&mut observed, change));
            }
            Step::Act(plan) => {
                check(&observed, &plan);
                return Some(*plan);
            }
        }
    }
    panic!("no plan after {STEPS_MAX} steps");
}

fn answer(observed: &mut Observed, objects: &[Value], ask: Ask) {
    let template = |uid: &str| {
        let found = objects.iter().find(|object| object.pointer("/metadata/uid") == Some(&Value::from(uid)));
        found
            .and_then(|object| object.pointer("/spec/template"))
            .map(Template::of)
            .unwrap_or_else(|| Template::of(&Value::Null))
    };
    match ask {
        Ask::Template => {
            let template = objects[0].pointer("/spec/template").unwrap_or(&Value::Null);
            assert!(observed.answers.template.replace(Template::of(template)).is_none());
        }
        Ask::DryRun(set) => {
            let body = encode::dry_run_replica_set(observed.flavour, &observed.workload, &set);
            let body: Value = serde_json::from_str(body.get()).expect("JSON");
            let stored = DryRun::Stored(plan::template::digest(&body["spec"]["template"]));
            assert!(observed.answers.dry_run.replace(stored).is_none());
        }
        Ask::SetTemplate { uid, .. } => observed.answers.set_template = Some((uid.clone(), template(&uid))),
        Ask::Job { name } => observed.answers.job = Some(FoundJob { name, job: Ok(None) }),
        Ask::CheckJobs => observed.answers.jobs_checked = Some(Ok(())),
        Ask::Pods => panic!("asked again"),
    }
}

fn make(observed: &mut Observed, change: &OwnerChange) {
    match change {
        OwnerChange::Adopt(target) => {
            let owner = observed.workload.uid.clone();
            for set in observed.sets.iter_mut().filter(|set| set.uid == target.uid) {
                set.controller_uid = Some(owner.clone());
            }
        }
        OwnerChange::Release(target) => observed.sets.retain(|set| set.uid != target.uid),
    }
}

fn check(observed: &Observed, plan: &Plan) {
    let own = |target: &Target| {
        let set = observed.sets.iter().find(|set| {
            set.uid == target.uid
                && set.resource_version == target.resource_version
                && set.name == target.name
        });
        let set = set.unwrap_or_else(|| panic!("OW-2: {target:?}"));
        assert_eq!(set.controller_uid.as_ref(), Some(&observed.workload.uid), "OW-3");
        set
    };
    let mut writes = 0;
    for planned in &plan.actions {
        match &planned.action {
            Action::WriteStatus(write) => {
                writes += 1;
                let _total = encode::status_patch(observed.flavour, &observed.workload, write);
            }
            Action::UpdateReplicaSet(update) => {
                own(&update.target);
                assert!(
                    (0..=i64::from(i32::MAX)).contains(&update.size_to) || update.size_to == update.size_from
                );
                let _total = encode::update_patch(update);
            }
            Action::DeleteReplicaSet(target) => {
                let set = own(target);
                assert!(set.size == 0 && set.status.replicas == 0, "HC-1: {set:?}");
            }
            Action::CreateJob(_) | Action::DeleteJob { .. } => {}
            Action::CreateReplicaSet(new) => {
                assert!(!observed.workload.deleting, "OW-3");
                assert!(new.name.len() <= 253 && new.name.ends_with(&new.hash));
            }
            Action::RollBack(write) => {
                let _total = encode::rollback_patch(observed.flavour, &observed.workload, write);
            }
            Action::SetSelector(selector) => assert!(!selector.is_empty()),
        }
    }
    assert!(writes <= 1, "{writes} status writes");
}
