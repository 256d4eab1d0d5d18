//! The story: what is done, in which order, and what must come of it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use cluster::kubelet::NODE_NAME;
use cluster::{State, Tool, audit, wait_for};
use jiff::{SignedDuration, Timestamp};
use kube::Api;
use kube::api::{DynamicObject, Patch, PatchParams};
use serde_json::json;

use crate::checks::{self, Settled, Split};
use crate::failure::Failure;
use crate::ground::Ground;
use crate::hand::{Deed, Hand};
use crate::show::{Show, Step, Verdict};
use crate::stage::START_DEADLINE;
use crate::watches::kind;
use crate::world::World;

const V1: &str = "nginx:1.28";
const V2: &str = "nginx:1.29";
const BAD: &str = "nginx:bad";
/// What the operator calls itself in its requests.
const OPERATOR: &str = "rollwright";
const MANIFEST: &str = "examples/web.yaml";

/// A state that has to stay must stay for this long.
const HOLD: Duration = Duration::from_millis(400);
const PAUSE_HOLD: Duration = Duration::from_millis(2500);
/// How long nothing must be written in the end.
const QUIET: Duration = Duration::from_secs(5);
const QUIET_POLL: Duration = Duration::from_millis(250);

/// Names of the steps after the start.
const STEPS: [&str; 8] =
    ["create", "roll out", "pause", "scale", "resume", "bad image", "roll back", "quiet"];

/// Names of the steps, in their order.
pub(crate) fn plan(ground: Ground) -> Vec<&'static str> {
    match ground {
        Ground::Memory => [&["sandbox"][..], &STEPS].concat(),
        Ground::Real => [&["cluster", "CRD", "operator"][..], &STEPS].concat(),
    }
}

/// The cluster as the story reaches it.
struct Access {
    hand: Hand,
    client: kube::Client,
    audit_log: PathBuf,
}

impl Access {
    /// Performs a step that is one command.
    async fn perform(
        &self,
        show: &mut Show,
        step: Step,
        deed: &Deed,
        check: impl FnMut(&World) -> Verdict,
    ) -> Result<(), Failure> {
        show.perform(step, self.hand.carry_out(deed), check).await
    }

    /// Closes the node to new pods, which wait then, or opens it: the work of `kubectl cordon`.
    async fn cordon(&self, is_closed: bool) -> Result<(), Failure> {
        let nodes: Api<DynamicObject> = Api::all_with(self.client.clone(), &kind("", "Node"));
        let patch = Patch::Merge(json!({ "spec": { "unschedulable": is_closed } }));
        nodes.patch(NODE_NAME, &PatchParams::default(), &patch).await?;
        Ok(())
    }
}

/// Plays all steps, with this kubectl if there is one.
///
/// # Errors
/// The first failure ends the story.
pub(crate) async fn play(show: &mut Show, ground: Ground, kubectl: Option<PathBuf>) -> Result<(), Failure> {
    let access = begin(show, ground, kubectl).await?;
    create(show, &access).await?;
    roll_out(show, &access).await?;
    pause(show, &access).await?;
    scale(show, &access).await?;
    resume(show, &access).await?;
    bad_image(show, &access).await?;
    roll_back(show, &access).await?;
    quiet(show, &access).await
}

/// Starts what the story needs.
async fn begin(show: &mut Show, ground: Ground, kubectl: Option<PathBuf>) -> Result<Access, Failure> {
    let (client, state) = cluster(show, ground).await?;
    let hand = match kubectl {
        Some(program) => Hand::Kubectl(Tool::at(program, state.kubeconfig.clone())),
        None => Hand::Library(client.clone()),
    };
    let audit_log = state.audit_log.clone();
    show.stage.record(state)?;
    // The sandbox has the CRD and the operator in it.
    if let (Ground::Real, Hand::Kubectl(kubectl)) = (ground, &hand) {
        definition(show, kubectl).await?;
    }
    show.watch(&client);
    if ground == Ground::Real {
        operator(show).await?;
    }
    Ok(Access { hand, client, audit_log })
}

async fn cluster(show: &mut Show, ground: Ground) -> Result<(kube::Client, State), Failure> {
    let (name, title, command) = match ground {
        Ground::Memory => (
            "sandbox",
            "Start an in-memory cluster with the operator in it",
            "rollwright sandbox --kubeconfig-out … --audit-log …",
        ),
        Ground::Real => (
            "cluster",
            "Start etcd, kube-apiserver, kube-controller-manager and a fake kubelet",
            "make cluster",
        ),
    };
    let step = Step { deadline: START_DEADLINE, ..Step::new(name, title, command, "API server ready") };
    let answer = show.stage.answer();
    let mut found = None;
    let action = async {
        let (client, state) = answer.await?;
        let seen = format!("ready, {}", state.server.split("://").last().unwrap_or_default());
        found = Some((client, state));
        Ok(seen)
    };
    show.perform(step, action, |_| Ok(String::new())).await?;
    found.ok_or_else(|| Failure::Broken("the cluster does not answer".to_owned()))
}

async fn definition(show: &mut Show, kubectl: &Tool) -> Result<(), Failure> {
    let step =
        Step::new("CRD", "Install the CustomResourceDefinition", "kubectl apply -f crds/", "established");
    let action = async {
        kubectl.run(&["apply", "-f", "crds/"]).await?;
        // kubectl fails instead of waiting while the status has no conditions at all.
        wait_for("the CRD becoming established", step.deadline, async || {
            let wait =
                ["wait", "--for=condition=Established", "--timeout=60s", "crd/deployments.rollwright.dev"];
            Ok(kubectl.run(&wait).await?)
        })
        .await?;
        Ok("established".to_owned())
    };
    show.perform(step.clone(), action, |_| Ok(String::new())).await
}

async fn operator(show: &mut Show) -> Result<(), Failure> {
    let command = "rollwright run --kubeconfig … --api rollwright.dev/v1 --bind-address=0";
    let step = Step::new("operator", "Run the operator, as a process of its own", command, "runs");
    let step = Step { hold: Duration::from_secs(1), ..step };
    let pid = show.stage.start_operator()?;
    show.perform(step, nothing(), |_| Ok(format!("runs as pid {pid}"))).await
}

async fn create(show: &mut Show, access: &Access) -> Result<(), Failure> {
    let deed = Deed::Apply(MANIFEST);
    let title = "Create a Deployment of four pods";
    let step = Step::new("create", title, deed.typed(), "rev 1: 4/4 run 1.28, 1 set");
    let settled = Settled { image: V1, replicas: 4, revision: 1, sets: 1 };
    access.perform(show, Step { hold: HOLD, ..step }, &deed, |world| settled.check(world)).await
}

async fn roll_out(show: &mut Show, access: &Access) -> Result<(), Failure> {
    let deed = Deed::Retag { path: MANIFEST, from: "1.28", to: "1.29" };
    let title = "Change the image to 1.29 and wait until the rollout is midway";
    let step =
        Step::new("roll out", title, deed.typed(), "3 of 1.28, 2 of 1.29").within(3, 5, Duration::ZERO);
    let action = async {
        // Held back until the pause has arrived, the new pods make the moment
        // of the pause the same on every machine.
        access.cordon(true).await?;
        access.hand.carry_out(&deed).await
    };
    show.perform(step, action, |world| checks::midway(world, Split { old: (V1, 3), new: (V2, 2) })).await
}

async fn pause(show: &mut Show, access: &Access) -> Result<(), Failure> {
    let deed = Deed::Merge(json!({ "spec": { "paused": true } }));
    let expected = "3 of 1.28, 2 of 1.29, all ready";
    let step = Step::new("pause", "Pause the rollout", deed.typed(), expected).within(3, 5, PAUSE_HOLD);
    let action = async {
        let done = access.hand.carry_out(&deed).await?;
        access.cordon(false).await?;
        Ok(done)
    };
    show.perform(step, action, |world| checks::paused(world, Split { old: (V1, 3), new: (V2, 2) })).await
}

async fn scale(show: &mut Show, access: &Access) -> Result<(), Failure> {
    let deed = Deed::Scale(8);
    let title = "Scale to eight meanwhile: both ReplicaSets grow in proportion";
    let step = Step::new("scale", title, deed.typed(), "6 of 1.28, 4 of 1.29, all ready");
    let check = |world: &_| checks::paused(world, Split { old: (V1, 6), new: (V2, 4) });
    access.perform(show, step.within(3, 10, PAUSE_HOLD), &deed, check).await
}

async fn resume(show: &mut Show, access: &Access) -> Result<(), Failure> {
    let deed = Deed::Merge(json!({ "spec": { "paused": false } }));
    let step = Step::new("resume", "Resume the rollout", deed.typed(), "rev 2: 8/8 run 1.29, 2 sets");
    let settled = Settled { image: V2, replicas: 8, revision: 2, sets: 2 };
    access.perform(show, step.within(6, 10, HOLD), &deed, |world| settled.check(world)).await
}

async fn bad_image(show: &mut Show, access: &Access) -> Result<(), Failure> {
    let deed = Deed::Operations(json!([
        { "op": "replace", "path": "/spec/template/spec/containers/0/image", "value": BAD },
        { "op": "add", "path": "/spec/progressDeadlineSeconds", "value": 5 },
    ]));
    let title = "Roll out an image that cannot be pulled";
    let step = Step::new("bad image", title, deed.typed(), "given up, 6 old ones serve");
    let check = |world: &_| checks::stuck(world, BAD, 3, 6);
    access.perform(show, step.within(6, 10, PAUSE_HOLD), &deed, check).await
}

async fn roll_back(show: &mut Show, access: &Access) -> Result<(), Failure> {
    let deed = Deed::Merge(json!({ "spec": { "rollbackTo": { "revision": 2 } } }));
    let step = Step::new("roll back", "Roll back to revision 2", deed.typed(), "rev 4: 8/8 run 1.29, 3 sets");
    let settled = Settled { image: V2, replicas: 8, revision: 4, sets: 3 };
    let check = |world: &_| checks::rolled_back(world, 2, settled);
    access.perform(show, step.within(6, 10, HOLD), &deed, check).await
}

async fn quiet(show: &mut Show, access: &Access) -> Result<(), Failure> {
    let title = "Count what the operator writes when there is nothing to do";
    let command = format!("grep '\"userAgent\":\"{OPERATOR}/' audit.log");
    let step = Step::new("quiet", title, command, format!("0 writes in {} s", QUIET.as_secs()));
    let log = access.audit_log.clone();
    let action = async move {
        let beginning = Timestamp::now();
        let window = SignedDuration::try_from(QUIET).unwrap_or(SignedDuration::MAX);
        loop {
            tokio::time::sleep(QUIET_POLL).await;
            let since = Timestamp::now().checked_sub(window).unwrap_or(beginning);
            if since >= beginning && writes(&log, since)? == 0 {
                let all = writes(&log, Timestamp::UNIX_EPOCH)?;
                if all == 0 {
                    let why =
                        "the audit log shows no write by the operator at all, so nothing can be told from it";
                    return Err(Failure::Broken(why.to_owned()));
                }
                return Ok(format!("0 writes in {} s ({all} before)", QUIET.as_secs()));
            }
        }
    };
    show.perform(step.within(8, 8, Duration::ZERO), action, |_| Ok(String::new())).await
}

/// Writes by the operator; renewing a lease is its pulse, not work.
fn writes(log: &Path, since: Timestamp) -> Result<usize, Failure> {
    let writes = audit::writes_by_program(log, since, OPERATOR)?;
    Ok(writes.iter().filter(|request| request.resource != "leases").count())
}

async fn nothing() -> Result<String, Failure> {
    Ok(String::new())
}
