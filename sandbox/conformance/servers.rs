//! The two servers.

use std::path::Path;
use std::process::Command;

use api::crd;
use cluster::{Cluster, Options, Tool, User};
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::json;
use tokio::net::TcpListener;
use world::Conventions;

/// A server to talk to.
pub(crate) struct Server {
    pub(crate) client: kube::Client,
    pub(crate) kubectl: Tool,
}

/// The world's, and a real one.
pub(crate) struct Servers {
    pub(crate) world: Server,
    pub(crate) real: Server,
    /// Stops when dropped.
    _cluster: Cluster,
}

impl Servers {
    pub(crate) async fn start() -> Self {
        let definition = crd::to_yaml(&crd::crd(None).unwrap());
        let options = Options { manifests: vec![definition], ..Options::unique("conformance") };
        let cluster = Cluster::start(options).await.unwrap();
        let real = Server {
            client: cluster.client(User::Admin).await.unwrap(),
            kubectl: cluster.kubectl(User::Admin).unwrap(),
        };
        Self { world: world().await, real, _cluster: cluster }
    }
}

async fn world() -> Server {
    let policy = Box::new(Conventions::default());
    let cluster = apiserver::embed(crd::crd(None).unwrap(), policy).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(apiserver::serve(listener, apiserver::ApiServer::new(&cluster)));
    tokio::spawn(apiserver::live(cluster));
    let kubeconfig = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "world",
        "clusters": [{ "name": "world", "cluster": { "server": format!("http://127.0.0.1:{port}") } }],
        "users": [{ "name": "world", "user": {} }],
        "contexts": [{ "name": "world", "context": { "cluster": "world", "user": "world" } }],
    });
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("conformance-{port}.kubeconfig"));
    std::fs::write(&path, kubeconfig.to_string()).unwrap();
    let kubeconfig = Kubeconfig::read_from(&path).unwrap();
    let config =
        kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    Server { client: config.try_into().unwrap(), kubectl: Tool::kubectl(path).unwrap() }
}

/// Something that no other run has.
pub(crate) fn unique() -> String {
    let output =
        Command::new("sh").args(["-c", "od -An -N4 -tx1 /dev/urandom | tr -d ' \\n'"]).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}
