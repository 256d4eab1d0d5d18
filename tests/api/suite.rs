//! One cluster for all tests of this binary, and raw requests to it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;

use api::crd;
use cluster::{Cluster, NotYet, Options, Release, Tool, User, wait_for};
use kube::Client;
use serde_json::{Deserializer, Value, json};
use tokio::sync::Mutex;

/// Features that are off by default, by the release that brought them. With them on, the API server keeps every pod
/// field that its schema names, so the corpus can be held to all of them.
const GATES: [(&str, &str); 4] = [
    (
        "1.33",
        "ClusterTrustBundle ClusterTrustBundleProjection ContainerStopSignals CrossNamespaceVolumeDataSource \
         DynamicResourceAllocation ImageVolume PodLevelResources",
    ),
    ("1.34", "PodCertificateRequest EnvFiles ContainerRestartRules HostnameOverride"),
    ("1.35", "GenericWorkload"),
    (
        "1.37",
        "AtomicWriteVolumeUserFields EmptyDirVolumeMode EvictionRequestAPI GRPCContainerProbeTLS H2CContainerProbe \
         VolumeBindMountOptions",
    ),
];

/// The cluster lives as long as a test holds it: a static would never be dropped.
static CLUSTER: Mutex<Weak<Cluster>> = Mutex::const_new(Weak::new());

/// The definition in the repository.
pub(crate) const CRD: &str = "crds/deployments.rollwright.dev.yaml";

/// The two kinds that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flavour {
    /// Deployments of apps/v1.
    Apps,
    /// Deployments of `rollwright.dev/v1`.
    Ours,
}

impl Flavour {
    pub(crate) const BOTH: [Self; 2] = [Self::Apps, Self::Ours];

    pub(crate) fn api_version(self) -> &'static str {
        match self {
            Self::Apps => "apps/v1",
            Self::Ours => "rollwright.dev/v1",
        }
    }
}

/// A namespace of the shared cluster.
pub(crate) struct Suite {
    pub(crate) cluster: Arc<Cluster>,
    pub(crate) client: Client,
    pub(crate) kubectl: Tool,
    pub(crate) namespace: String,
}

/// Joins the cluster, starting it if no test uses it yet.
pub(crate) async fn suite() -> Suite {
    let mut shared = CLUSTER.lock().await;
    let cluster = match shared.upgrade() {
        Some(cluster) => cluster,
        None => {
            let cluster = Arc::new(start(&fs::read_to_string(path(CRD)).unwrap()).await);
            *shared = Arc::downgrade(&cluster);
            cluster
        }
    };
    drop(shared);
    Suite::on(cluster).await
}

/// A cluster for one test, with a definition of its own.
pub(crate) async fn suite_with(definition: &Value) -> Suite {
    Suite::on(Arc::new(start(&definition.to_string()).await)).await
}

/// The manifest with the fields that only the reference has.
pub(crate) const NEW_FIELDS_MANIFEST: &str = "tests/corpus/kubernetes-1.37.yaml";
/// Manifests of the corpus with fields that an older release does not have, and since when there are all of them.
const SINCE: [(&str, &str); 4] = [
    ("kubernetes-1.37.yaml", "1.37"),
    ("gated.yaml", "1.36"),
    ("containers.yaml", "1.34"),
    ("pod-hostname.yaml", "1.34"),
];

/// Whether the definition in `crds/` has the pod fields of the server's release.
pub(crate) fn is_reference() -> bool {
    Release::selected().unwrap().is_reference()
}

async fn start(definition: &str) -> Cluster {
    let mut options = Options::unique("api");
    options.kubelet = None;
    options.apiserver_flags =
        vec!["--allow-privileged=true".to_owned(), "--runtime-config=api/all=true".to_owned(), gates()];
    let cluster = Cluster::start(options).await.unwrap();
    let kubectl = cluster.kubectl(User::Admin).unwrap();
    kubectl.apply(definition).await.unwrap();
    established(&kubectl).await;
    cluster
}

fn gates() -> String {
    let release = Release::selected().unwrap();
    let known = GATES.iter().filter(|(since, _)| release.is_since(since));
    let known = known.flat_map(|(_, names)| names.split(' ')).map(|name| format!("{name}=true"));
    format!("--feature-gates={}", known.collect::<Vec<_>>().join(","))
}

/// Waits until the definition is served.
async fn established(kubectl: &Tool) {
    wait_for("the CRD being established", Duration::from_secs(60), async || {
        let condition = "--for=condition=Established";
        kubectl.run(&["wait", condition, "--timeout=10s", &format!("crd/{}", crd::CRD_NAME)]).await?;
        kubectl.run(&["get", &format!("{}.{}", crd::PLURAL, crd::GROUP)]).await.map_err(NotYet::from)
    })
    .await
    .unwrap();
}

/// A path in the repository.
pub(crate) fn path(relative: &str) -> String {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(relative).display().to_string()
}

/// The YAML files of a directory of the repository, sorted.
pub(crate) fn manifests(directory: &str) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(path(directory))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "yaml"))
        .collect();
    files.sort();
    files
}

/// Compares a generated file with the one in the repository; under `UPDATE=1` writes it.
pub(crate) fn golden(relative: &str, text: &str) {
    let path = path(relative);
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, text).unwrap();
    }
    let stored = fs::read_to_string(Path::new(&path)).unwrap_or_default();
    let differs = |(stored, said): &(&str, &str)| stored != said;
    let first = stored.lines().zip(text.lines()).find(differs);
    assert!(
        stored == text,
        "{relative} is not what the server says; run with UPDATE=1 and review\nfirst difference (file, server): {first:#?}",
    );
}

/// The template of a stored object.
pub(crate) fn template(object: &Value) -> Value {
    object["spec"]["template"].clone()
}

impl Suite {
    /// A new namespace of a cluster.
    async fn on(cluster: Arc<Cluster>) -> Self {
        let client = cluster.client(User::Admin).await.unwrap();
        let namespace = cluster.create_namespace("api").await.unwrap();
        let kubectl = cluster.kubectl(User::Admin).unwrap().in_namespace(&namespace);
        Self { cluster, client, kubectl, namespace }
    }

    /// A Deployment of this kind.
    pub(crate) fn deployment(flavour: Flavour, name: &str, spec: &Value) -> Value {
        json!({
            "apiVersion": flavour.api_version(),
            "kind": "Deployment",
            "metadata": {"name": name},
            "spec": spec,
        })
    }

    fn url(&self, flavour: Flavour, tail: &str) -> String {
        format!("/apis/{}/namespaces/{}/deployments{tail}", flavour.api_version(), self.namespace)
    }

    /// Sends a request; an error is the server's message.
    pub(crate) async fn send(
        &self,
        method: &str,
        url: &str,
        content_type: &str,
        body: &Value,
    ) -> Result<Value, String> {
        let body = if body.is_null() { Vec::new() } else { serde_json::to_vec(body).unwrap() };
        let request = http::Request::builder()
            .method(method)
            .uri(url)
            .header("content-type", content_type)
            .body(body)
            .unwrap();
        self.client.request::<Value>(request).await.map_err(|error| match error {
            kube::Error::Api(status) => status.message,
            other => panic!("{method} {url}: {other}"),
        })
    }

    /// A document of the API server.
    pub(crate) async fn document(&self, url: &str) -> Value {
        self.send("GET", url, "application/json", &Value::Null).await.unwrap()
    }

    /// What creating a Deployment would store.
    pub(crate) async fn try_create(&self, flavour: Flavour, spec: &Value) -> Result<Value, String> {
        let object = Self::deployment(flavour, "probe", spec);
        self.send("POST", &self.url(flavour, "?dryRun=All"), "application/json", &object).await
    }

    /// Creates a Deployment.
    pub(crate) async fn create(&self, flavour: Flavour, name: &str, spec: &Value) -> Result<Value, String> {
        let object = Self::deployment(flavour, name, spec);
        self.send("POST", &self.url(flavour, ""), "application/json", &object).await
    }

    /// Applies on the server's side, without force: nobody may be in anybody's way.
    pub(crate) async fn apply(
        &self,
        flavour: Flavour,
        manager: &str,
        object: &Value,
    ) -> Result<Value, String> {
        let name = object["metadata"]["name"].as_str().unwrap();
        let url = self.url(flavour, &format!("/{name}?fieldManager={manager}"));
        self.send("PATCH", &url, "application/apply-patch+yaml", object).await
    }

    /// Reads a Deployment.
    pub(crate) async fn get(&self, flavour: Flavour, name: &str) -> Value {
        self.document(&self.url(flavour, &format!("/{name}"))).await
    }

    /// Sends a merge patch to a Deployment or to a subresource of it.
    pub(crate) async fn merge(
        &self,
        flavour: Flavour,
        name: &str,
        subresource: &str,
        patch: &Value,
    ) -> Result<Value, String> {
        let url = self.url(flavour, &format!("/{name}{subresource}"));
        self.send("PATCH", &url, "application/merge-patch+json", patch).await
    }

    /// A template as the API server would store it in a `ReplicaSet`: with defaults, canonical
    /// quantities, and without what it drops. This is how the operator looks at templates too.
    pub(crate) async fn as_stored(&self, template: &Value) -> Result<Value, String> {
        let set = json!({
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {"name": "probe"},
            "spec": {"selector": {"matchLabels": template["metadata"]["labels"]}, "template": template},
        });
        let url = format!("/apis/apps/v1/namespaces/{}/replicasets?dryRun=All", self.namespace);
        self.send("POST", &url, "application/json", &set).await.map(|set| crate::suite::template(&set))
    }

    /// kubectl for manifests that name their namespace.
    pub(crate) fn kubectl_without_namespace(&self) -> Tool {
        self.cluster.kubectl(User::Admin).unwrap()
    }

    /// The objects of YAML manifests, as kubectl reads them.
    pub(crate) async fn read(&self, yaml: &str) -> Vec<Value> {
        let arguments = ["create", "--dry-run=client", "--validate=false", "-o", "json", "-f", "-"];
        let output = self.kubectl.output(&arguments, yaml).await.unwrap();
        assert!(output.success, "{}", output.stderr);
        Deserializer::from_str(&output.stdout).into_iter().map(Result::unwrap).collect()
    }

    /// The manifests of the corpus that the server knows all fields of.
    pub(crate) async fn corpus(&self) -> Vec<Value> {
        self.read(&accepted_corpus_text(Flavour::Ours)).await
    }
}

/// All manifests of the corpus as one text, for either kind: the `apiVersion` is all that differs.
pub(crate) fn corpus_text(flavour: Flavour) -> String {
    text(&manifests("tests/corpus"), flavour)
}

/// The same without manifests with fields that are newer than the server: its apps/v1 refuses them.
pub(crate) fn accepted_corpus_text(flavour: Flavour) -> String {
    let release = Release::selected().unwrap();
    let is_newer =
        |path: &PathBuf| SINCE.iter().any(|(name, since)| path.ends_with(name) && !release.is_since(since));
    let accepted: Vec<_> = manifests("tests/corpus").into_iter().filter(|path| !is_newer(path)).collect();
    text(&accepted, flavour)
}

fn text(paths: &[PathBuf], flavour: Flavour) -> String {
    let texts: Vec<String> = paths.iter().map(|path| fs::read_to_string(path).unwrap()).collect();
    texts.join("---\n").replace(Flavour::Ours.api_version(), flavour.api_version())
}
