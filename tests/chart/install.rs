//! A control plane with its deployment controller on, a node for the operator's pods, and helm.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use cluster::kubelet::KubeletOptions;
use cluster::{Cluster, NotYet, Options, Tool, User, wait_for};
use serde_json::{Value, json};

use crate::node::{LABEL, Node, Seen};
use crate::values::path;

/// Two of two cores may be compiling.
pub(crate) const DEADLINE: Duration = Duration::from_secs(90);
pub(crate) const NAMESPACE: &str = "rollwright-system";
/// Where the Deployments of rollwright.dev are.
pub(crate) const DEMO: &str = "demo";

/// All that the story needs.
pub(crate) struct Site {
    pub(crate) node: Node,
    pub(crate) cluster: Arc<Cluster>,
    pub(crate) kubectl: Tool,
    helm: Tool,
}

impl Site {
    pub(crate) async fn start() -> Self {
        let mut options = Options::unique("chart");
        options.deployment_controller = true;
        let label = (LABEL.0.to_owned(), LABEL.1.to_owned());
        options.kubelet = Some(KubeletOptions { not_ours: Some(label), ..KubeletOptions::default() });
        let cluster = Arc::new(Cluster::start(options).await.unwrap());
        let kubectl = cluster.kubectl(User::Admin).unwrap();
        for namespace in [NAMESPACE, DEMO] {
            kubectl.run(&["create", "namespace", namespace]).await.unwrap();
        }
        // The API server itself refuses what is not as strict as it should be.
        let strict = "pod-security.kubernetes.io/enforce=restricted";
        kubectl.run(&["label", "namespace", NAMESPACE, strict]).await.unwrap();
        let helm = cluster.helm(User::Admin).unwrap().in_namespace(NAMESPACE);
        Self { node: Node::start(&cluster), cluster, kubectl, helm }
    }

    /// Runs helm, which has to succeed.
    pub(crate) async fn helm(&self, arguments: &[&str]) -> String {
        match self.helm.run(arguments).await {
            Ok(text) => text,
            Err(error) => panic!("{error}\n{}", self.report()),
        }
    }

    /// Runs helm, which has to fail, and returns its output.
    pub(crate) async fn helm_fails(&self, arguments: &[&str]) -> String {
        let output = self.helm.output(arguments, "").await.unwrap();
        assert!(!output.success, "{arguments:?}: {}", output.stdout);
        output.stderr
    }

    /// `helm install` or `upgrade` of the chart, with these flags, until all is ready.
    pub(crate) async fn release(&self, command: &[&str], flags: &[&str]) -> String {
        let chart = path("charts/rollwright").display().to_string();
        let wait = ["--wait", "--timeout=90s"];
        self.helm(&[command, &[chart.as_str()], &wait, flags].concat()).await
    }

    /// kubectl in the namespace of the Deployments.
    pub(crate) async fn demo(&self, arguments: &[&str]) -> String {
        self.kubectl.in_namespace(DEMO).run(arguments).await.unwrap()
    }

    /// Applies a Deployment of rollwright.dev, with more fields in its spec.
    pub(crate) async fn apply(&self, name: &str, image: &str, more: &Value) {
        self.apply_in(DEMO, name, image, more).await;
    }

    /// The same in another namespace.
    pub(crate) async fn apply_in(&self, namespace: &str, name: &str, image: &str, more: &Value) {
        let labels = json!({"app": name});
        let mut manifest = json!({
            "apiVersion": "rollwright.dev/v1", "kind": "Deployment",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"replicas": 2, "selector": {"matchLabels": labels}, "template": {
                "metadata": {"labels": labels, "annotations": {"fake.rollwright.dev/terminate-after-ms": "1000"}},
                "spec": {"containers": [{"name": "app", "image": image}]},
            }},
        });
        for (field, value) in more.as_object().unwrap() {
            manifest["spec"][field] = value.clone();
        }
        self.kubectl.apply(&manifest.to_string()).await.unwrap();
    }

    /// Waits until a JSON document of kubectl is as it should be.
    pub(crate) async fn until(&self, what: &str, arguments: &[&str], is_so: impl Fn(&Value) -> bool) {
        let kubectl = self.kubectl.in_namespace(DEMO);
        let seen = wait_for(what, DEADLINE, async || {
            let document = kubectl.json(arguments).await?;
            if is_so(&document) { Ok(()) } else { Err(NotYet(document.to_string())) }
        });
        if let Err(error) = seen.await {
            panic!("{error}\n{}", self.report());
        }
    }

    /// Waits until a Deployment of rollwright.dev has rolled out an image.
    pub(crate) async fn rolled_out(&self, name: &str, image: &str) {
        let what = format!("{name} rolling out {image}");
        self.until(&what, &["get", "deployments.rollwright.dev", name], |web| {
            let (spec, status) = (&web["spec"], &web["status"]);
            let counters = ["updatedReplicas", "replicas", "availableReplicas"];
            status["observedGeneration"] == web["metadata"]["generation"]
                && status["display"]["images"] == image
                && counters.iter().all(|counter| status[counter] == spec["replicas"])
        })
        .await;
    }

    /// The operator's pods so far that are not those of `helm test`.
    pub(crate) fn operators(&self) -> Vec<Seen> {
        let seen = self.node.seen().into_iter();
        seen.filter(|seen| seen.arguments.first().is_some_and(|first| first == "run")).collect()
    }

    /// What pods have logged last.
    fn report(&self) -> String {
        let tail = |seen: &Seen| {
            let log = fs::read_to_string(&seen.log).unwrap_or_default();
            let lines: Vec<&str> = log.lines().collect();
            let last = lines.get(lines.len().saturating_sub(15)..).unwrap_or_default().join("\n");
            format!("{:?}, ended with {:?}:\n{last}\n", seen.arguments, seen.exit_code)
        };
        self.node.seen().iter().map(tail).collect()
    }

    /// Stops everything, and leaves nothing behind.
    pub(crate) async fn end(self) {
        let directory = self.cluster.directory().to_owned();
        tokio::task::spawn_blocking(move || drop(self)).await.unwrap();
        remove(&directory);
    }
}

fn remove(directory: &Path) {
    let _ = fs::remove_dir_all(directory);
}
