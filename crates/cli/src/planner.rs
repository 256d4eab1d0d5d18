//! What the controller itself waits for: its planner, over what was read, without a write.

use api::decode::{self, Defaults};
use plan::{Answers, Ask, Claim, DryRun, Observed, Options, Step, Why};
use serde_json::Value;

use crate::cluster::Deployment;

/// Questions, one round of claims and the plan: as many steps as a pass of the operator may take.
const STEPS_MAX: usize = 12;

/// The planner's reason, in its own words.
///
/// The sets are all that the selector finds, the pods those of the Deployment.
///
/// # Errors
/// When the Deployment cannot be decoded: then the controller sets it aside, too.
pub(crate) fn why(
    deployment: &Deployment,
    sets: &[Value],
    pods: &[Value],
    now: jiff::Timestamp,
) -> Result<Why, String> {
    let flavour = deployment.flavour;
    let workload = decode::workload(flavour, &deployment.body, Defaults::of(flavour));
    let workload = workload.map_err(|error| format!("the controller cannot read it: {error}"))?;
    let read = sets.iter().filter_map(|set| decode::replica_set(flavour, set).ok());
    let mut observed = Observed {
        flavour,
        workload,
        sets: read.collect(),
        answers: Answers::default(),
        options: Options::default(),
    };
    for _ in 0..STEPS_MAX {
        match plan::plan(&observed, now) {
            Step::Ask(ask) => answer(&mut observed, &ask, deployment, sets, pods),
            Step::Claim(claims) => take(&mut observed, &claims),
            Step::Act(plan) => return Ok(plan.why),
        }
    }
    Err("the planner has not come to an end; this is a bug".to_owned())
}

fn answer(observed: &mut Observed, ask: &Ask, deployment: &Deployment, sets: &[Value], pods: &[Value]) {
    let template = |object: &Value| object.pointer("/spec/template").cloned().unwrap_or(Value::Null);
    let answers = &mut observed.answers;
    match ask {
        Ask::Template => answers.template = Some(template(&deployment.body)),
        // Nothing is sent, not even to be forgotten.
        Ask::DryRun(_) => answers.dry_run = Some(DryRun::Refused),
        Ask::SetTemplate { uid, .. } => {
            let is_it = |set: &&Value| set.pointer("/metadata/uid").and_then(Value::as_str) == Some(uid);
            let found = sets.iter().find(is_it).map_or(Value::Null, template);
            answers.set_template = Some((uid.clone(), found));
        }
        Ask::Pods => answers.pods = Some(pods.iter().map(decode::pod).collect()),
    }
}

/// Claims as if they had been written.
fn take(observed: &mut Observed, claims: &[Claim]) {
    for claim in claims {
        let (target, owner) = match claim {
            Claim::Adopt(target) => (target, Some(observed.workload.uid.clone())),
            Claim::Release(target) => (target, None),
        };
        for set in observed.sets.iter_mut().filter(|set| set.uid == target.uid) {
            set.controller_uid.clone_from(&owner);
        }
    }
}
