//! The story: what is done, in which order, and what must come of it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use cluster::{Tool, audit, wait_for};
use jiff::{SignedDuration, Timestamp};
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::json;

use crate::checks::{self, Settled, Split};
use crate::failure::Failure;
use crate::ground::Ground;
use crate::hand::{Deed, Hand};
use crate::limits::Limits;
use crate::place::Place;
use crate::show::{Show, Step, Verdict};
use crate::stage::{HOLD as HOLD_KUBELET, OPERATOR as START_OPERATOR, RELEASE as RELEASE_KUBELET};
use crate::world::World;

const V1: &str = "nginx:1.28";
const V2: &str = "nginx:1.29";
const BAD: &str = "nginx:bad";
/// What the operator calls itself in its requests.
const OPERATOR: &str = "rollwright";
const MANIFEST: &str = "examples/web.yaml";

/// Two of two cores may be compiling meanwhile.
const DEADLINE: Duration = Duration::from_secs(90);
const START_DEADLINE: Duration = Duration::from_secs(180);
/// A state that is to stay must stay for this long.
const HOLD: Duration = Duration::from_millis(400);
const PAUSE_HOLD: Duration = Duration::from_millis(2500);
/// How long nothing must be written in the end.
const QUIET: Duration = Duration::from_secs(5);
const QUIET_POLL: Duration = Duration::from_millis(250);

/// Names of the steps of a real control plane, in their order.
const PLAN: [&str; 11] = [
    "cluster",
    "CRD",
    "operator",
    "create",
    "roll out",
    "pause",
    "scale",
    "resume",
    "bad image",
    "roll back",
    "quiet",
];
/// Names of the steps of the sandbox: what has to be started is one thing, the rest is the same.
const SHORT_PLAN: [&str; 9] =
    ["sandbox", "create", "roll out", "pause", "scale", "resume", "bad image", "roll back", "quiet"];

/// Names of the steps, in their order.
pub(crate) const fn plan(ground: Ground) -> &'static [&'static str] {
    match ground {
        Ground::Memory => &SHORT_PLAN,
        Ground::Real => &PLAN,
    }
}

/// The cluster as the story reaches it.
struct Access {
    hand: Hand,
    client: kube::Client,
    audit_log: PathBuf,
}

/// Plays all steps, with this kubectl if there is one.
///
/// # Errors
/// The first failure ends the story.
pub(crate) async fn play(
    show: &mut Show,
    place: &Place,
    ground: Ground,
    kubectl: Option<PathBuf>,
) -> Result<(), Failure> {
    let access = begin(show, place, ground, kubectl).await?;
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
async fn begin(
    show: &mut Show,
    place: &Place,
    ground: Ground,
    kubectl: Option<PathBuf>,
) -> Result<Access, Failure> {
    match ground {
        Ground::Memory => sandbox(show).await?,
        Ground::Real => cluster(show).await?,
    }
    let access = access(place, kubectl).await?;
    match &access.hand {
        // The sandbox has the CRD and the operator in it.
        Hand::Kubectl(kubectl) if ground == Ground::Real => {
            definition(show, kubectl).await?;
            show.watch(&access.client);
            operator(show, kubectl).await?;
        }
        Hand::Kubectl(_) | Hand::Library(_) => show.watch(&access.client),
    }
    Ok(access)
}

async fn access(place: &Place, kubectl: Option<PathBuf>) -> Result<Access, Failure> {
    let state = place.running().ok_or_else(|| Failure::Broken("the cluster is gone".to_owned()))?;
    let kubeconfig = Kubeconfig::read_from(&state.kubeconfig).map_err(cluster::Error::from)?;
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    let client = kube::Client::try_from(config.map_err(cluster::Error::from)?)?;
    let hand = match kubectl {
        Some(program) => Hand::Kubectl(Tool::at(program, state.kubeconfig)),
        None => Hand::Library(client.clone()),
    };
    Ok(Access { hand, client, audit_log: state.audit_log })
}

impl Access {
    fn carry_out(&self, deed: Deed) -> impl Future<Output = Result<String, Failure>> + use<> {
        self.hand.clone().carry_out(deed)
    }
}

async fn sandbox(show: &mut Show) -> Result<(), Failure> {
    let step = Step {
        name: "sandbox",
        title: "Start an in-memory cluster with the operator in it",
        command: "rollwright sandbox --kubeconfig-out … --audit-log …".to_owned(),
        expected: "API server ready".to_owned(),
        deadline: DEADLINE,
        hold: Duration::ZERO,
        limits: None,
    };
    show.perform(step, nothing(), ready).await
}

/// The API server answers.
fn ready(world: &World) -> Verdict {
    match &world.server {
        Some(server) => Ok(format!("ready, {}", server.split("://").last().unwrap_or(server))),
        None => Err("coming up".to_owned()),
    }
}

async fn cluster(show: &mut Show) -> Result<(), Failure> {
    let step = Step {
        name: "cluster",
        title: "Start etcd, kube-apiserver, kube-controller-manager and a fake kubelet",
        command: "make cluster".to_owned(),
        expected: "API server ready".to_owned(),
        deadline: START_DEADLINE,
        hold: Duration::ZERO,
        limits: None,
    };
    show.perform(step, nothing(), ready).await
}

async fn definition(show: &mut Show, kubectl: &Tool) -> Result<(), Failure> {
    let step = Step {
        name: "CRD",
        title: "Install the CustomResourceDefinition",
        command: "kubectl apply -f crds/".to_owned(),
        expected: "established".to_owned(),
        deadline: DEADLINE,
        hold: Duration::ZERO,
        limits: None,
    };
    let kubectl = kubectl.clone();
    let action = async move {
        kubectl.run(&["apply", "-f", "crds/"]).await?;
        // kubectl fails instead of waiting while the status has no conditions at all.
        wait_for("the CRD becoming established", DEADLINE, async || {
            let wait =
                ["wait", "--for=condition=Established", "--timeout=60s", "crd/deployments.rollwright.dev"];
            Ok(kubectl.run(&wait).await?)
        })
        .await?;
        Ok("established".to_owned())
    };
    show.perform(step, action, |_| Ok(String::new())).await
}

async fn operator(show: &mut Show, kubectl: &Tool) -> Result<(), Failure> {
    let step = Step {
        name: "operator",
        title: "Run the operator, as a process of its own",
        command: "rollwright run --kubeconfig … --api rollwright.dev/v1 --bind-address=0".to_owned(),
        expected: "runs".to_owned(),
        deadline: DEADLINE,
        hold: Duration::from_secs(1),
        limits: None,
    };
    // A user of its own, so that the audit log tells its requests from ours.
    let role = ["create", "clusterrolebinding", "operator", "--clusterrole=cluster-admin", "--user=operator"];
    kubectl.run(&role).await?;
    show.stage.orders()?.give(START_OPERATOR).await?;
    show.perform(step, nothing(), |world| match world.operator {
        Some(pid) => Ok(format!("runs as pid {pid}")),
        None => Err("starting".to_owned()),
    })
    .await
}

async fn create(show: &mut Show, access: &Access) -> Result<(), Failure> {
    let deed = Deed::Apply(MANIFEST);
    let step = Step {
        name: "create",
        title: "Create a Deployment of four pods",
        command: deed.typed(),
        expected: "rev 1: 4/4 run 1.28, 1 set".to_owned(),
        deadline: DEADLINE,
        hold: HOLD,
        limits: None,
    };
    let settled = Settled { image: V1, replicas: 4, revision: 1, sets: 1 };
    show.perform(step, access.carry_out(deed), move |world| settled.check(world)).await
}

async fn roll_out(show: &mut Show, access: &Access) -> Result<(), Failure> {
    let deed = Deed::Retag { path: MANIFEST, from: "1.28", to: "1.29" };
    let step = Step {
        name: "roll out",
        title: "Change the image to 1.29 and wait until the rollout is midway",
        command: deed.typed(),
        expected: "3 of 1.28, 2 of 1.29".to_owned(),
        deadline: DEADLINE,
        hold: Duration::ZERO,
        limits: Some(Limits { floor: 3, ceiling: 5 }),
    };
    let apply = access.carry_out(deed);
    let orders = show.stage.orders()?;
    let action = async move {
        // Held back until the pause has arrived, the new pods make the moment
        // of the pause the same on every machine.
        orders.give(HOLD_KUBELET).await?;
        apply.await
    };
    let split = Split { old: (V1, 3), new: (V2, 2) };
    show.perform(step, action, move |world| checks::midway(world, split)).await
}

async fn pause(show: &mut Show, access: &Access) -> Result<(), Failure> {
    let deed = Deed::Merge(json!({ "spec": { "paused": true } }));
    let step = Step {
        name: "pause",
        title: "Pause the rollout",
        command: deed.typed(),
        expected: "3 of 1.28, 2 of 1.29, all ready".to_owned(),
        deadline: DEADLINE,
        hold: PAUSE_HOLD,
        limits: Some(Limits { floor: 3, ceiling: 5 }),
    };
    let patch = access.carry_out(deed);
    let orders = show.stage.orders()?;
    let action = async move {
        let done = patch.await?;
        orders.give(RELEASE_KUBELET).await?;
        Ok(done)
    };
    let split = Split { old: (V1, 3), new: (V2, 2) };
    show.perform(step, action, move |world| checks::paused(world, split)).await
}

async fn scale(show: &mut Show, access: &Access) -> Result<(), Failure> {
    let deed = Deed::Scale(8);
    let step = Step {
        name: "scale",
        title: "Scale to eight meanwhile: both ReplicaSets grow in proportion",
        command: deed.typed(),
        expected: "6 of 1.28, 4 of 1.29, all ready".to_owned(),
        deadline: DEADLINE,
        hold: PAUSE_HOLD,
        limits: Some(Limits { floor: 3, ceiling: 10 }),
    };
    let split = Split { old: (V1, 6), new: (V2, 4) };
    show.perform(step, access.carry_out(deed), move |world| checks::paused(world, split)).await
}

async fn resume(show: &mut Show, access: &Access) -> Result<(), Failure> {
    let deed = Deed::Merge(json!({ "spec": { "paused": false } }));
    let step = Step {
        name: "resume",
        title: "Resume the rollout",
        command: deed.typed(),
        expected: "rev 2: 8/8 run 1.29, 2 sets".to_owned(),
        deadline: DEADLINE,
        hold: HOLD,
        limits: Some(Limits { floor: 6, ceiling: 10 }),
    };
    let settled = Settled { image: V2, replicas: 8, revision: 2, sets: 2 };
    show.perform(step, access.carry_out(deed), move |world| settled.check(world)).await
}

async fn bad_image(show: &mut Show, access: &Access) -> Result<(), Failure> {
    let deed = Deed::Operations(json!([
        { "op": "replace", "path": "/spec/template/spec/containers/0/image", "value": BAD },
        { "op": "add", "path": "/spec/progressDeadlineSeconds", "value": 5 },
    ]));
    let step = Step {
        name: "bad image",
        title: "Roll out an image that cannot be pulled",
        command: deed.typed(),
        expected: "given up, 6 old ones serve".to_owned(),
        deadline: DEADLINE,
        hold: PAUSE_HOLD,
        limits: Some(Limits { floor: 6, ceiling: 10 }),
    };
    show.perform(step, access.carry_out(deed), |world| checks::stuck(world, BAD, 3, 6)).await
}

async fn roll_back(show: &mut Show, access: &Access) -> Result<(), Failure> {
    let deed = Deed::Merge(json!({ "spec": { "rollbackTo": { "revision": 2 } } }));
    let step = Step {
        name: "roll back",
        title: "Roll back to revision 2",
        command: deed.typed(),
        expected: "rev 4: 8/8 run 1.29, 3 sets".to_owned(),
        deadline: DEADLINE,
        hold: HOLD,
        limits: Some(Limits { floor: 6, ceiling: 10 }),
    };
    let settled = Settled { image: V2, replicas: 8, revision: 4, sets: 3 };
    let check = move |world: &_| checks::rolled_back(world, 2, settled);
    show.perform(step, access.carry_out(deed), check).await
}

async fn quiet(show: &mut Show, access: &Access) -> Result<(), Failure> {
    let step = Step {
        name: "quiet",
        title: "Count what the operator writes when there is nothing to do",
        command: format!("grep '\"userAgent\":\"{OPERATOR}/' audit.log"),
        expected: format!("0 writes in {} s", QUIET.as_secs()),
        deadline: DEADLINE,
        hold: Duration::ZERO,
        limits: Some(Limits { floor: 8, ceiling: 8 }),
    };
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
    show.perform(step, action, |_| Ok(String::new())).await
}

/// Writes by the operator; renewing a lease is its pulse, not work.
fn writes(log: &Path, since: Timestamp) -> Result<usize, Failure> {
    let writes = audit::writes_by_program(log, since, OPERATOR)?;
    Ok(writes.iter().filter(|request| request.resource != "leases").count())
}

async fn nothing() -> Result<String, Failure> {
    Ok(String::new())
}
