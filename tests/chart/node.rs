//! The kubelet for the operator's own pods: it follows their specs, with the real program.
//!
//! A container becomes a process with the arguments and environment of the spec and the token of the pod's service
//! account. The pod is ready when the page of its readiness probe answers with success, and gone when the process is.
//! Two things differ from a real node, since all share one machine and there is no cluster network. The process gets a
//! free port in place of the one in `--bind-address`. And the host of a URL is looked up here, by Service, selector and
//! port name as kube-proxy would.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cluster::kubelet::NODE_NAME;
use cluster::{Cluster, Tool, User, free_port};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use crate::process::{Process, Root};

/// Pods with this label are the operator's, in all namespaces.
pub(crate) const LABEL: (&str, &str) = ("app.kubernetes.io/name", "rollwright");
const POLL: Duration = Duration::from_millis(200);

/// The outcome of a pod; kept after it is gone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) pod: Value,
    pub(crate) arguments: Vec<String>,
    pub(crate) port: u16,
    /// The readiness probe answered 200 at least once.
    pub(crate) was_ready: bool,
    /// Whether it ended within its grace period after the signal.
    pub(crate) ended_in_time: Option<bool>,
    /// The process ended by itself with this code.
    pub(crate) exit_code: Option<i32>,
    pub(crate) log: PathBuf,
}

/// A node that runs. Dropping it ends all its processes.
pub(crate) struct Node {
    seen: Arc<Mutex<BTreeMap<String, Seen>>>,
    task: JoinHandle<()>,
}

impl Drop for Node {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Node {
    pub(crate) fn start(cluster: &Arc<Cluster>) -> Self {
        let seen: Arc<Mutex<BTreeMap<String, Seen>>> = Arc::default();
        let worker = Worker {
            kubectl: cluster.kubectl(User::Admin).unwrap(),
            cluster: cluster.clone(),
            seen: seen.clone(),
            processes: BTreeMap::new(),
        };
        Self { seen, task: tokio::spawn(worker.run()) }
    }

    /// All pods there have been, by uid.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        assert!(!self.task.is_finished(), "the node panicked; see above");
        self.seen.lock().unwrap().values().cloned().collect()
    }
}

struct Worker {
    cluster: Arc<Cluster>,
    kubectl: Tool,
    seen: Arc<Mutex<BTreeMap<String, Seen>>>,
    processes: BTreeMap<String, Process>,
}

impl Worker {
    async fn run(mut self) {
        let selector = format!("{}={}", LABEL.0, LABEL.1);
        loop {
            let pods = self.kubectl.json(&["get", "pods", "--all-namespaces", "-l", &selector]).await;
            match pods {
                Ok(pods) => {
                    for pod in pods["items"].as_array().unwrap() {
                        self.look_after(pod).await;
                    }
                }
                Err(error) => eprintln!("node: {error}"),
            }
            tokio::time::sleep(POLL).await;
        }
    }

    async fn look_after(&mut self, pod: &Value) {
        let uid = text(&pod["metadata"]["uid"]);
        let is_known = self.processes.contains_key(&uid);
        if !pod["metadata"]["deletionTimestamp"].is_null() {
            self.end(&uid, pod).await;
        } else if !is_known && pod["status"]["phase"] == "Pending" {
            self.begin(&uid, pod).await;
        } else if is_known {
            self.probe(&uid, pod).await;
        }
    }

    async fn begin(&mut self, uid: &str, pod: &Value) {
        let (name, namespace) = (text(&pod["metadata"]["name"]), text(&pod["metadata"]["namespace"]));
        // One that is on no node would be gone as soon as it is deleted.
        let binding = json!({
            "apiVersion": "v1", "kind": "Binding", "metadata": {"name": name},
            "target": {"apiVersion": "v1", "kind": "Node", "name": NODE_NAME},
        });
        let path = format!("/api/v1/namespaces/{namespace}/pods/{name}/binding");
        let bind = ["create", "--raw", &path, "-f", "-"];
        assert!(self.kubectl.output(&bind, &binding.to_string()).await.unwrap().success, "binding {name}");
        let container = &pod["spec"]["containers"][0];
        assert!(container["command"].is_null(), "the image has an entry point: {container}");
        let port = free_port().unwrap();
        let mut arguments = self.arguments(container, port).await;
        let root = Root::new(self.cluster.directory(), &name);
        if pod["spec"]["automountServiceAccountToken"] != false {
            arguments.push(format!("--kubeconfig={}", self.account(pod, &root).await.display()));
        }
        let environment = container["env"].as_array().into_iter().flatten();
        let environment: Vec<_> =
            environment.map(|entry| (text(&entry["name"]), text(&entry["value"]))).collect();
        let log = self.cluster.directory().join(format!("{name}.log"));
        self.processes.insert(uid.to_owned(), Process::start(&root, &arguments, &environment, &log));
        let seen = Seen { pod: pod.clone(), arguments, port, log, ..Seen::default() };
        self.seen.lock().unwrap().insert(uid.to_owned(), seen);
        self.show(pod, "Running", false).await;
    }

    /// The arguments of the spec, with ports and hosts of this machine.
    async fn arguments(&self, container: &Value, port: u16) -> Vec<String> {
        let mut arguments = Vec::new();
        for argument in container["args"].as_array().unwrap() {
            let argument = text(argument);
            arguments.push(if let Some(address) = argument.strip_prefix("--bind-address=") {
                let declared = &container["ports"][0]["containerPort"];
                assert_eq!(address, format!(":{declared}"), "the port that the pod declares");
                format!("--bind-address=127.0.0.1:{port}")
            } else if argument.starts_with("http://") {
                self.resolve(&argument).await
            } else {
                argument
            });
        }
        arguments
    }

    /// `http://SERVICE.NAMESPACE.svc:PORT/PATH` on this machine.
    async fn resolve(&self, url: &str) -> String {
        let (host, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
        let (host, port) = host.split_once(':').unwrap();
        let mut parts = host.split('.');
        let (service, namespace) = (parts.next().unwrap(), parts.next().unwrap());
        assert_eq!(parts.next(), Some("svc"), "{url}");
        let service = self.kubectl.json(&["get", "service", service, "-n", namespace]).await.unwrap();
        let ports = service["spec"]["ports"].as_array().unwrap();
        let number: u16 = port.parse().unwrap();
        let known = ports.iter().find(|known| known["port"] == number);
        let target = &known.unwrap_or_else(|| panic!("{url}: the Service has no such port"))["targetPort"];
        let selector = service["spec"]["selector"].as_object().unwrap();
        let seen = self.seen.lock().unwrap();
        let selected = seen.values().find(|seen| {
            let labels = &seen.pod["metadata"]["labels"];
            seen.was_ready
                && seen.ended_in_time.is_none()
                && selector.iter().all(|(key, value)| labels.get(key) == Some(value))
        });
        let selected = selected.unwrap_or_else(|| panic!("{url}: the Service selects no ready pod"));
        assert_eq!(&selected.pod["spec"]["containers"][0]["ports"][0]["name"], target, "{url}");
        format!("http://127.0.0.1:{}/{path}", selected.port)
    }

    /// A kubeconfig of the pod's service account, as its container sees it.
    async fn account(&self, pod: &Value, root: &Root) -> PathBuf {
        let (account, namespace) =
            (text(&pod["spec"]["serviceAccountName"]), text(&pod["metadata"]["namespace"]));
        let token = self.kubectl.run(&["create", "token", &account, "-n", &namespace]).await.unwrap();
        let kubeconfig = self.cluster.kubeconfig_for_token(&account, token.trim()).unwrap();
        let file = format!("--kubeconfig={}", kubeconfig.display());
        let flattened = self.kubectl.run(&["config", "view", "--raw", "--flatten", &file]).await.unwrap();
        root.put_kubeconfig(&flattened, &kubeconfig)
    }

    async fn probe(&mut self, uid: &str, pod: &Value) {
        let Some(process) = self.processes.get_mut(uid) else { return };
        let probe = &pod["spec"]["containers"][0]["readinessProbe"]["httpGet"];
        let port = self.seen.lock().unwrap().get(uid).map_or(0, |seen| seen.port);
        if let Some(code) = process.ended() {
            self.note(uid, |seen| seen.exit_code = Some(code));
            if pod["spec"]["restartPolicy"] == "Never" {
                let phase = if code == 0 { "Succeeded" } else { "Failed" };
                self.show(pod, phase, false).await;
            } else {
                self.show(pod, "Running", false).await;
            }
        } else if let Some(path) = probe["path"].as_str() {
            assert_eq!(probe["port"], pod["spec"]["containers"][0]["ports"][0]["name"]);
            let ready = page(port, path, "").await.is_some_and(|page| page.starts_with("HTTP/1.1 200"));
            if ready {
                self.note(uid, |seen| seen.was_ready = true);
            }
            self.show(pod, "Running", ready).await;
        }
    }

    async fn end(&mut self, uid: &str, pod: &Value) {
        if let Some(mut process) = self.processes.remove(uid) {
            let seconds = pod["spec"]["terminationGracePeriodSeconds"].as_u64().unwrap_or(30);
            let stop = move || process.stop(Duration::from_secs(seconds));
            let in_time = tokio::task::spawn_blocking(stop).await.unwrap();
            self.note(uid, |seen| seen.ended_in_time = Some(in_time));
        }
        let (name, namespace) = (text(&pod["metadata"]["name"]), text(&pod["metadata"]["namespace"]));
        let gone =
            ["delete", "pod", &name, "-n", &namespace, "--grace-period=0", "--force", "--ignore-not-found"];
        let _ = self.kubectl.run(&gone).await;
    }

    fn note(&self, uid: &str, change: impl FnOnce(&mut Seen)) {
        if let Some(seen) = self.seen.lock().unwrap().get_mut(uid) {
            change(seen);
        }
    }

    /// Writes the pod's status if it differs.
    async fn show(&self, pod: &Value, phase: &str, ready: bool) {
        let status = if ready { "True" } else { "False" };
        let conditions = pod["status"]["conditions"].as_array();
        let shown = conditions.into_iter().flatten().find(|condition| condition["type"] == "Ready");
        let is_shown = shown.is_some_and(|shown| shown["status"] == status);
        if pod["status"]["phase"] == phase && is_shown {
            return;
        }
        let kinds = ["PodScheduled", "Initialized", "ContainersReady", "Ready"];
        let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let conditions: Vec<Value> = kinds
            .iter()
            .enumerate()
            .map(|(index, kind)| {
                let status = if index < 2 { "True" } else { status };
                json!({"type": kind, "status": status, "lastTransitionTime": now})
            })
            .collect();
        let patch = json!({"status": {"phase": phase, "conditions": conditions, "startTime": now}});
        let (name, namespace) = (text(&pod["metadata"]["name"]), text(&pod["metadata"]["namespace"]));
        let (patch, namespace) = (patch.to_string(), format!("--namespace={namespace}"));
        let flags = ["--subresource=status", "--type=merge", "-p", &patch, &namespace];
        let _ = self.kubectl.run(&[&["patch", "pod", &name], &flags[..]].concat()).await;
    }
}

/// What a local server answers, headers included, to somebody with this token, or without one.
pub(crate) async fn page(port: u16, path: &str, token: &str) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.ok()?;
    let token = if token.is_empty() { String::new() } else { format!("Authorization: Bearer {token}\r\n") };
    let request = format!("GET {path} HTTP/1.1\r\nHost: node\r\nConnection: close\r\n{token}\r\n");
    stream.write_all(request.as_bytes()).await.ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.ok()?;
    Some(answer)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
