//! What a control plane is started with.

use std::env;
use std::path::{Path, PathBuf};

use crate::credentials;
use crate::kubelet::KubeletOptions;

/// What to start, and where.
#[derive(Clone, Debug)]
pub struct Options {
    /// Data directory. What an earlier cluster left there is removed.
    pub directory: PathBuf,
    /// Whether the built-in deployment controller runs too.
    pub deployment_controller: bool,
    /// How the fake kubelet behaves; without it pods stay unscheduled.
    pub kubelet: Option<KubeletOptions>,
    /// Manifests (YAML or JSON text) applied before the controllers start. The
    /// garbage collector looks for new kinds only every 30 s, so definitions of
    /// custom resources belong here.
    pub manifests: Vec<String>,
    /// More flags for kube-apiserver, after this program's own.
    pub apiserver_flags: Vec<String>,
    /// More flags for etcd, after this program's own.
    pub etcd_flags: Vec<String>,
}

impl Options {
    /// A cluster in `target/cluster/<name>`, with a fake kubelet and without
    /// the built-in deployment controller.
    pub fn named(name: &str) -> Self {
        Self {
            directory: target_directory().join("cluster").join(name),
            deployment_controller: false,
            kubelet: Some(KubeletOptions::default()),
            manifests: Vec::new(),
            apiserver_flags: Vec::new(),
            etcd_flags: Vec::new(),
        }
    }

    /// The same in a directory that no other test has: `<prefix>-<random>`.
    pub fn unique(prefix: &str) -> Self {
        Self::named(&format!("{prefix}-{}", credentials::random_suffix()))
    }
}

fn target_directory() -> PathBuf {
    let workspace =
        || Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap_or(Path::new(".")).join("target");
    env::var_os("CARGO_TARGET_DIR").map_or_else(workspace, PathBuf::from)
}
