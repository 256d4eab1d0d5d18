//! Each cause of a blocked rollout, made as in docs/tutorials/sandbox.md, and what the operator reports about it.
//! `tests/e2e/blockers.rs` does the same on a real API server for what a server refuses.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cluster::{NotYet, free_port, wait_for};
use diagnosis::Cause;
use serde_json::{Value, json};

use crate::PATIENCE;
use crate::metrics::get;
use crate::place::{Sandbox, path};

/// What a container may have reported to nobody but its pod.
const SECRET: &str = "password=hunter2";
const CONFIG: &str = "CreateContainerConfigError: configmap \"settings\" not found";
const MOUNT: &str =
    "FailedMount: MountVolume.SetUp failed for volume \"settings\" : configmap \"settings\" not found";
const WEBHOOK: &str = "admission webhook \"pods.example\" denied the request: not today";
const POLICY: &str = "ValidatingAdmissionPolicy 'none' with binding 'none' denied request: no pods";
const LIMIT: &str = "maximum cpu usage per Container is 100m, but limit is 1";
/// Pods that nobody may list count as blocked after a minute, and are looked at every 15 seconds.
const DEADLINE: Duration = Duration::from_secs(180);

/// How a rollout gets blocked.
struct Trouble {
    cause: Cause,
    /// The image of the new pods.
    image: &'static str,
    /// An annotation of theirs, without its prefix.
    sign: Option<(&'static str, &'static str)>,
    /// Something that the message of the blocker has to contain.
    says: &'static str,
}

impl Trouble {
    /// Every cause has its own.
    fn of(cause: Cause) -> Self {
        let (image, sign, says) = match cause {
            Cause::ImagePull => ("app:bad", None, "cannot pull the image app:bad"),
            Cause::ContainerConfig => ("app:v2", Some(("waits", CONFIG)), "configmap \"settings\" not found"),
            Cause::CrashLoop => ("app:crash", Some(("last-words", SECRET)), "its last lines are in the log"),
            Cause::ReadinessProbe => ("app:v2", Some(("never-ready", "true")), "with statuscode: 503"),
            Cause::Unschedulable => ("app:v2", None, "node(s) were unschedulable"),
            Cause::Volume => ("app:v2", Some(("waits", MOUNT)), "cannot mount a volume: MountVolume.SetUp"),
            Cause::Quota => ("app:v2", None, "exceeded quota: small"),
            Cause::AdmissionWebhook => {
                ("app:v2", Some(("refused", WEBHOOK)), "denied the request: not today")
            }
            Cause::AdmissionPolicy => ("app:v2", Some(("refused", POLICY)), "denied request: no pods"),
            Cause::PodSecurity => ("app:v2", None, "violates PodSecurity \"baseline:latest\""),
            Cause::Refused => ("app:v2", Some(("refused", LIMIT)), LIMIT),
            Cause::Terminating => ("app:v2", Some(("terminate-after-ms", "3600000")), "have not terminated"),
            Cause::Unknown => ("app:bad", None, "the operator may not list pods"),
        };
        Self { cause, image, sign, says }
    }

    fn name(&self) -> String {
        self.cause.as_str().to_lowercase()
    }

    /// What belongs to a namespace goes into one of its own.
    fn namespace(&self) -> String {
        match self.cause {
            Cause::Quota | Cause::PodSecurity | Cause::Unknown => self.name(),
            _ => "default".to_owned(),
        }
    }

    /// A Deployment that rolls out, or what it becomes.
    fn deployment(&self, is_blocked: bool) -> Value {
        // With Recreate, the old pods have to stay.
        let is_signed = is_blocked || self.cause == Cause::Terminating;
        let sign =
            self.sign.filter(|_| is_signed).map(|(name, text)| (format!("fake.rollwright.dev/{name}"), text));
        let annotations: BTreeMap<_, _> = sign.into_iter().collect();
        let image = if is_blocked { self.image } else { "app:v1" };
        let shares_host = is_blocked && self.cause == Cause::PodSecurity;
        let kind = if self.cause == Cause::Terminating { "Recreate" } else { "RollingUpdate" };
        json!({
            "apiVersion": "rollwright.dev/v1", "kind": "Deployment",
            "metadata": {"name": self.name(), "namespace": self.namespace()},
            "spec": {"replicas": 1, "strategy": {"type": kind}, "template": {
                "metadata": {"labels": {"app": self.name()}, "annotations": annotations},
                "spec": {"containers": [{"name": "app", "image": image}], "hostNetwork": shares_host,
                         "terminationGracePeriodSeconds": 1},
            }},
        })
    }
}

/// Namespaces, and a quota in one of them.
fn surroundings() -> Vec<Value> {
    let namespace = |name: &str, labels: Value, annotations: Value| {
        json!({"apiVersion": "v1", "kind": "Namespace",
               "metadata": {"name": name, "labels": labels, "annotations": annotations}})
    };
    vec![
        namespace("quota", json!({}), json!({})),
        namespace("podsecurity", json!({"pod-security.kubernetes.io/enforce": "baseline"}), json!({})),
        namespace("unknown", json!({}), json!({"fake.rollwright.dev/pods-forbidden": "true"})),
        json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "small", "namespace": "quota"},
               "spec": {"hard": {"pods": "1"}}}),
    ]
}

/// A sandbox, its operator's metrics, and its log.
struct Seat {
    sandbox: Sandbox,
    log: PathBuf,
}

impl Seat {
    async fn take() -> Self {
        let log = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("causes-{}.log", std::process::id()));
        let address = format!("127.0.0.1:{}", free_port().unwrap());
        Self { sandbox: Sandbox::start_logged(&address, &log).await, log }
    }

    async fn apply(&self, items: &[Value]) {
        let manifest = items.iter().map(Value::to_string).collect::<Vec<_>>().join("\n---\n");
        let output = self.sandbox.kubectl.output(&["apply", "-f", "-"], &manifest).await.unwrap();
        assert!(output.success, "{output:?}");
    }

    async fn items(&self, arguments: &[&str]) -> Vec<Value> {
        let output = self.sandbox.ok(&[&["get"], arguments, &["-o", "json"]].concat()).await;
        let list: Value = serde_json::from_str(&output).unwrap();
        list["items"].as_array().cloned().unwrap_or_default()
    }

    async fn metrics(&self) -> String {
        get(self.sandbox.bind_address(), "/metrics").await
    }

    fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
    }

    /// Waits until the operator reports it, wherever it reports causes.
    async fn reports(&self, trouble: &Trouble) {
        let what = format!("{} everywhere", trouble.cause);
        let reported = wait_for(&what, DEADLINE, async || self.check(trouble).await.map_err(NotYet));
        reported.await.unwrap_or_else(|error| panic!("{error}"));
    }

    /// Or returns where the operator does not report it yet.
    async fn check(&self, trouble: &Trouble) -> Result<(), String> {
        let (name, namespace) = (trouble.name(), trouble.namespace());
        let (cause, says) = (trouble.cause.as_str(), trouble.says);
        let found = self.items(&["rwd", "-n", &namespace]).await;
        let found = found.iter().find(|item| item["metadata"]["name"] == name);
        let status = &found.ok_or("no Deployment")?["status"];
        let first = &status["blockers"][0];
        let message = first["message"].as_str().unwrap_or_default();
        if first["cause"] != cause || !message.contains(says) {
            return Err(format!("blockers: {status}"));
        }
        let conditions = status["conditions"].as_array().ok_or("no conditions")?;
        let of = |kinds: &[&str]| -> String {
            let some = conditions.iter().filter(|one| kinds.iter().any(|kind| one["type"] == *kind));
            some.filter_map(|one| one["message"].as_str()).collect()
        };
        // A refusal is reported in the words of ReplicaFailure, whatever its length.
        let begin: String = message.trim_start_matches("are refused: ").chars().take(100).collect();
        if !of(&["Progressing"]).contains(message) || !of(&["Stalled", "Reconciling"]).contains(&begin) {
            return Err(format!("conditions: {status}"));
        }
        let events = self.items(&["events", "-n", &namespace]).await;
        let is_it = |event: &Value| {
            event["involvedObject"]["name"] == name
                && event["reason"] == "RolloutBlocked"
                && event["message"].as_str().is_some_and(|message| message.contains(says))
        };
        if !events.iter().any(is_it) {
            return Err(format!("event: {events:?}"));
        }
        let metrics = self.metrics().await;
        let of = format!("namespace=\"{namespace}\",deployment=\"{name}\"");
        let lines = metrics
            .lines()
            .filter(|line| line.starts_with("rollwright_rollout_blocked{") && line.contains(&of));
        let lines: Vec<&str> = lines.collect();
        if !matches!(lines.as_slice(), [one] if one.contains(&format!(",cause=\"{cause}\"}} "))) {
            return Err(format!("metric: {lines:?}"));
        }
        let log = self.log();
        let is_it = |line: &str| {
            line.contains("the rollout is blocked")
                && line.contains(&format!("{namespace}/{name}"))
                && line.contains(cause)
        };
        if log.lines().any(is_it) { Ok(()) } else { Err(format!("log: {log}")) }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_cause_is_reported_in_status_event_condition_metric_and_log() {
    let seat = Seat::take().await;
    let all = Cause::ALL.map(Trouble::of);
    seat.apply(&surroundings()).await;
    let healthy: Vec<Value> = all.iter().map(|trouble| trouble.deployment(false)).collect();
    seat.apply(&healthy).await;
    seat.sandbox.ok(&["wait", "--for=condition=Ready", PATIENCE, "rwd", "--all", "--all-namespaces"]).await;

    // While the node is cordoned, every new pod has this cause and no other.
    let blocked = |is_by_node: bool| -> Vec<Value> {
        let some = all.iter().filter(|trouble| (trouble.cause == Cause::Unschedulable) == is_by_node);
        some.map(|trouble| trouble.deployment(true)).collect()
    };
    let (late, soon): (Vec<_>, Vec<_>) =
        all.iter().partition(|trouble| matches!(trouble.cause, Cause::Unschedulable | Cause::Unknown));
    seat.apply(&blocked(false)).await;
    for trouble in soon {
        seat.reports(trouble).await;
    }
    seat.sandbox.ok(&["cordon", "fake-node"]).await;
    seat.apply(&blocked(true)).await;
    for trouble in late {
        seat.reports(trouble).await;
    }

    let pods = Value::from(seat.items(&["pods", "--all-namespaces"]).await).to_string();
    assert!(pods.contains(&format!("\"message\":\"{SECRET}\"")), "a container has said it: {pods}");
    let deployments = seat.items(&["rwd", "--all-namespaces"]).await;
    let statuses: String = deployments.iter().map(|item| item["status"].to_string()).collect();
    let events = Value::from(seat.items(&["events", "--all-namespaces"]).await).to_string();
    for (place, text) in
        [("status", statuses), ("event", events), ("metric", seat.metrics().await), ("log", seat.log())]
    {
        assert!(!text.contains("hunter2"), "no {place} has it: {text}");
    }
    fs::remove_file(&seat.log).unwrap();
}

#[test]
fn the_page_says_how_to_make_each_cause() {
    let page = fs::read_to_string(path("docs/tutorials/sandbox.md")).unwrap();
    for trouble in Cause::ALL.map(Trouble::of) {
        let row = page.lines().find(|line| line.contains(&format!(" # {}", trouble.cause)));
        let row = row.unwrap_or_else(|| panic!("no command for {}", trouble.cause));
        let sign = trouble.sign.map_or("", |(name, _)| name);
        assert!(row.contains(sign), "{sign} in {row}");
    }
}
