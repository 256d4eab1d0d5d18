//! `rollwright shadow` beside the controller in charge: it writes nothing, agrees with almost everything, and reports
//! when it does not.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cluster::{NotYet, audit, free_port};
use jiff::Timestamp;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use crate::churn;
use crate::failure::{Failure, Outcome, ensure, same, until};
use crate::flavour::Flavour;
use crate::manifest::Manifest;
use crate::operator::Operator;
use crate::port::get;
use crate::scenario::{Scenario, scenarios};
use crate::world::World;

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    own both shadow_churn,
    own apps shadow_finds_what_differs because "the one in charge is upstream's",
    ours shadow_errors because "it reads nothing of either API",
];

const RIGHTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/deploy/shadow/rbac.yaml");
const ACCOUNT: &str = "rollwright-shadow";
const USER: &str = "system:serviceaccount:rollwright-shadow:rollwright-shadow";
const UPSTREAM: &str = "kube-controller-manager";
const AGREEMENT: f64 = 0.999;
/// Writes are judged a moment after they were seen, and rests after five seconds.
const QUIET: Duration = Duration::from_secs(8);
/// An end that waits for nothing, on a loaded machine.
const QUICK: Duration = Duration::from_secs(10);

/// How much is done: in the suite little, by `make shadow-churn` as much as in an hour of a busy
/// cluster.
struct Size {
    deployments: usize,
    rounds: usize,
    writes: i64,
}

impl Size {
    fn from_environment() -> Self {
        match std::env::var("SHADOW_CHURN").as_deref() {
            Ok("hour") => Self { deployments: 26, rounds: 12, writes: 3000 },
            _ => Self { deployments: 13, rounds: 2, writes: 150 },
        }
    }
}

/// A shadow that runs, and its port.
struct Shadow {
    process: Operator,
    port: u16,
    divergences: PathBuf,
}

impl Shadow {
    /// Starts one with exactly the rights of the manifest, and waits until it is ready.
    async fn start(world: &World, more: &[&str]) -> Outcome<Self> {
        world.stage.kubectl.run(&["apply", "-f", RIGHTS]).await?;
        let account = world.stage.kubectl.in_namespace(ACCOUNT);
        let token = account.run(&["create", "token", ACCOUNT]).await?;
        let cluster = &world.stage.cluster;
        let kubeconfig = cluster.kubeconfig_for_token(ACCOUNT, token.trim())?;
        let port = free_port()?;
        let divergences = cluster.directory().join(format!("divergences-{}", world.namespace));
        let address = format!("--bind-address=127.0.0.1:{port}");
        let directory = format!("--divergences={}", divergences.display());
        let api = format!("--api={}", world.flavour.api_version());
        let own = [api.as_str(), "--output=json", "--report-every=10s", &address, &directory];
        let arguments = own.iter().chain(more).map(|&argument| argument.to_owned()).collect();
        let program = Path::new(env!("CARGO_BIN_EXE_rollwright"));
        let log = cluster.directory().join(format!("shadow-{}.log", world.namespace));
        let process = Operator::start_command("shadow", program, &kubeconfig, &log, arguments)?;
        let shadow = Self { process, port, divergences };
        world
            .wait("shadow being ready", async || {
                let page = shadow.page("/readyz").await.map_err(|failure| NotYet(failure.0))?;
                until(page.starts_with("HTTP/1.1 200"), page)
            })
            .await?;
        Ok(shadow)
    }

    async fn page(&self, path: &str) -> Outcome<String> {
        get(self.port, path).await
    }

    async fn document(&self, path: &str) -> Outcome<Value> {
        let answer = self.page(path).await?;
        let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        Ok(serde_json::from_str(body)?)
    }

    /// Ends it, and returns its last report.
    fn end(&self) -> Outcome<Value> {
        let took = self.process.stop();
        ensure(took < QUICK, "a quick end", took)?;
        let log = fs::read_to_string(self.process.log())?;
        let mut reports = log.lines().filter(|line| line.starts_with('{'));
        let last = reports.next_back().ok_or_else(|| Failure::new("there is no report"))?;
        Ok(serde_json::from_str(last)?)
    }

    /// What was logged of divergences, for the report of a failure.
    fn told(&self) -> String {
        self.process.tail("diverges", 20)
    }

    fn cases(&self) -> Outcome<Vec<Value>> {
        let mut cases = Vec::new();
        for file in fs::read_dir(&self.divergences)? {
            cases.push(serde_json::from_str(&fs::read_to_string(file?.path())?)?);
        }
        Ok(cases)
    }
}

/// The controller in charge: kube-controller-manager's own on apps/v1, Rollwright on rollwright.dev.
async fn put_in_charge(world: &World) -> Outcome {
    if world.flavour == Flavour::AppsV1 {
        world.operator()?.stop();
        world.stage.cluster.run_deployment_controller(true).await?;
    }
    Ok(())
}

/// All that people do, on many Deployments together: shadow agrees with the controller in charge, and the server's own
/// log shows that it did nothing but read.
async fn shadow_churn(world: World) -> Outcome {
    put_in_charge(&world).await?;
    let size = Size::from_environment();
    let since = Timestamp::now();
    let shadow = Shadow::start(&world, &[]).await?;
    churn::run(&world, size.deployments, size.rounds).await?;
    tokio::time::sleep(QUIET).await;
    let why = shadow.document("/why").await?;
    let reasons = why.as_object().map_or(0, serde_json::Map::len);
    ensure(reasons >= size.deployments, "a reason for each Deployment", &why)?;
    let metrics = shadow.page("/metrics").await?;
    ensure(metrics.contains("rollwright_shadow_agreement_ratio"), "metrics", metrics.len())?;
    let report = shadow.end()?;
    println!("\nshadow {}: {report}", world.flavour.api_version());
    let told = shadow.told();
    ensure(report["compared"].as_i64() >= Some(size.writes), "enough writes", &report)?;
    ensure(report["agreement"].as_f64() >= Some(AGREEMENT), &told, &report)?;
    let at_rest = &report["atRest"];
    ensure(at_rest["looks"].as_u64() > Some(0) && at_rest["looks"] == at_rest["agreed"], &told, &report)?;
    for kind in ["missed", "no-author", "unreadable"] {
        ensure(report["ignored"].get(kind).is_none(), &format!("nothing {kind}"), &report)?;
    }
    for kind in ["create", "scale", "annotate", "delete", "status"] {
        ensure(report["writes"][kind].as_u64() > Some(0), &format!("writes of kind {kind}"), &report)?;
    }
    only_reads(&world, since)
}

/// By the audit log of the API server: what shadow asked for, and whether it was allowed to.
fn only_reads(world: &World, since: Timestamp) -> Outcome {
    let requests = audit::requests(&world.stage.cluster.audit_log(), since, USER)?;
    let seen: BTreeSet<(&str, &str, bool)> = requests
        .iter()
        .map(|request| (request.verb.as_str(), request.resource.as_str(), request.code < 400))
        .collect();
    let expected: BTreeSet<(&str, &str, bool)> = ["deployments", "replicasets"]
        .into_iter()
        .flat_map(|resource| [("list", resource, true), ("watch", resource, true)])
        .collect();
    // A watch has its line when it ends, which may be after the test looked.
    ensure(seen.is_subset(&expected) && seen.len() >= 2, "lists and watches only", &seen)
}

/// Somebody writes in the name of the controller what it would never write: shadow reports each of them, and saves a
/// case that names nobody. What users do is not mistaken for that.
async fn shadow_finds_what_differs(world: World) -> Outcome {
    put_in_charge(&world).await?;
    let shadow = Shadow::start(&world, &["--hash-names"]).await?;
    world.roll_out(&Manifest::new("web", 3)).await?;
    let set = world.set("app:v1").await?;
    // A user scales a ReplicaSet: not the controller's write, and its repair agrees.
    world.kubectl.run(&["scale", "replicaset", &set.name, "--replicas=5"]).await?;
    world.wait_sizes(&[("app:v1", 3)]).await?;
    tokio::time::sleep(Duration::from_secs(3)).await;
    let report = shadow.document("/report").await?;
    same("divergences", &report["diverged"], &json!({}))?;
    ensure(report["ignored"]["replicaset-by-others"].as_u64() > Some(0), "a scale by others", &report)?;

    let params = PatchParams { field_manager: Some(UPSTREAM.to_owned()), ..PatchParams::default() };
    let wrong = Patch::Merge(json!({"spec": {"replicas": 4}}));
    world.set_api().patch(&set.name, &params, &wrong).await?;
    world.wait_sizes(&[("app:v1", 3)]).await?;
    let wrong = Patch::Merge(json!({"status": {"readyReplicas": 1, "availableReplicas": 1}}));
    world.deployments().patch_status("web", &params, &wrong).await?;
    world.wait_until("web", "the repair", |web| web.status("readyReplicas") == 3).await?;
    world
        .wait("both being told", async || {
            let report = shadow.document("/report").await.map_err(|failure| NotYet(failure.0))?;
            let diverged = &report["diverged"];
            until(diverged["scale"] == 1 && diverged["status"] == 1, &report)
        })
        .await?;
    let report = shadow.end()?;
    same("divergences", &report["diverged"], &json!({"scale": 1, "status": 1}))?;
    let cases = shadow.cases()?;
    same("saved cases", cases.len(), 2)?;
    for case in cases {
        let text = case.to_string();
        for name in [&world.namespace, "\"web", "app:v1"] {
            ensure(!text.contains(name), &format!("nothing of {name}"), &text)?;
        }
        ensure(case["input"]["replicaSets"][0]["spec"]["replicas"] == 3, "the state before", &text)?;
    }
    Ok(())
}

/// What a user can do wrong is answered with the flag and the way out.
async fn shadow_errors(world: World) -> Outcome {
    let cluster = &world.stage.cluster;
    let unprivileged = cluster.kubeconfig(cluster::User::Kubelet);
    let nobody = cluster.kubeconfig_for_token("nobody", "none")?;
    let nobody = nobody.display().to_string();
    let file = unprivileged.display().to_string();
    let taken = format!("--divergences={file}");
    let cases: [(&[&str], &[&str]); 4] = [
        (&["--kubeconfig", &nobody], &["deploy/shadow/rbac.yaml", "--kubeconfig"]),
        (&["--kubeconfig", &file, &taken], &["--divergences", "can be written to"]),
        (&["--kubeconfig", &file, "--for=never"], &["--for", "30s"]),
        (&["--kubeconfig", &file, "--hash-names"], &["--divergences"]),
    ];
    for (arguments, words) in cases {
        let output = tokio::process::Command::new(env!("CARGO_BIN_EXE_rollwright"))
            .args(["shadow", "--api", world.flavour.api_version(), "--bind-address=0"])
            .args(arguments)
            .output()
            .await?;
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        let all = !output.status.success() && words.iter().all(|word| told.contains(word));
        ensure(all, &format!("{words:?} for {arguments:?}"), told)?;
    }
    Ok(())
}
