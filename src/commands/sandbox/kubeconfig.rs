//! The kubeconfig that leads to the sandbox.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::{NAMESPACE, SandboxError};

/// Name of context, cluster and user.
const NAME: &str = "rollwright-sandbox";

/// A file that is there as long as the sandbox.
pub(crate) struct File(PathBuf);

impl File {
    /// Writes the file, or one among the temporary files if none is named. It holds no secret: who
    /// reaches the port may do everything.
    pub(crate) fn write(path: Option<&Path>, port: u16) -> Result<Self, SandboxError> {
        let path = match path {
            Some(path) => path.to_owned(),
            None => std::env::temp_dir().join(format!("{NAME}-{port}.kubeconfig")),
        };
        // JSON is YAML.
        let kubeconfig = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": NAME,
            "clusters": [{ "name": NAME, "cluster": { "server": format!("http://127.0.0.1:{port}") } }],
            "users": [{ "name": NAME, "user": {} }],
            "contexts": [{ "name": NAME, "context": { "cluster": NAME, "user": NAME, "namespace": NAMESPACE } }],
        });
        let failed = |source| SandboxError::Kubeconfig { path: path.display().to_string(), source };
        fs::write(&path, format!("{kubeconfig:#}\n")).map_err(failed)?;
        let path = path.canonicalize().map_err(failed)?;
        Ok(Self(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}
