//! Broken servers and wrong inputs: each ends in time, with a code and a sentence that helps.

mod broken;
mod inputs;
mod quiet;
mod server;
mod watched;

use std::path::PathBuf;

use clap::Parser as _;
use kube::client::Body;
use serde_json::{Value, json};

use crate::args::Arguments;
use crate::code::Code;
use crate::terminal::told;
use crate::verbs::carry_out;

/// A file that goes away with the test.
pub(super) struct File(PathBuf);

impl File {
    pub(super) fn new(content: &str) -> Self {
        use std::sync::atomic::{AtomicU32, Ordering};
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("rollwright-reach-{}-{number}", std::process::id()));
        std::fs::write(&path, content).unwrap();
        Self(path)
    }

    pub(super) fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// A kubeconfig with one context, which leads to this server.
fn kubeconfig(server: &str) -> File {
    File::new(
        &json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "ours",
            "contexts": [{"name": "ours", "context": {"cluster": "c", "user": "ann", "namespace": "shop"}}],
            "clusters": [{"name": "c", "cluster": {"server": server}}],
            "users": [{"name": "ann", "user": {"token": "t"}}],
        })
        .to_string(),
    )
}

/// What a command line ends with: the code, and what it prints last on standard error.
async fn outcome(words: &str) -> (u8, String) {
    let words = ["kubectl-rollwright"].into_iter().chain(words.split(' '));
    let arguments = match Arguments::try_parse_from(words) {
        Ok(arguments) => arguments,
        Err(error) => return (u8::try_from(error.exit_code()).unwrap(), error.to_string()),
    };
    match carry_out(&arguments).await {
        Ok(code) => (code.number(), told().pop().unwrap_or_default()),
        Err(failure) => (failure.code().number(), failure.to_string()),
    }
}

/// An apps/v1 Deployment of one pod; its rollout is complete once that is updated.
fn web(updated: i64) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop", "uid": "d", "resourceVersion": "1", "generation": 1},
        "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "template": {
            "metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "app", "image": "app:1"}]}}},
        "status": {"observedGeneration": 1, "replicas": updated, "updatedReplicas": updated,
                   "readyReplicas": updated, "availableReplicas": updated},
    })
}
