//! Finds the programs of the control plane: ready-made ones first, else built
//! once from Go modules into a cache outside `target/`.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::error::Error;
use crate::recipe::{Recipe, Release};

/// Oldest minor version of a `kubectl` on `PATH` that is used; kubectl supports
/// servers one minor version newer than itself.
const KUBECTL_MINOR_MIN: u32 = 35;

/// A program this crate can find or build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binary {
    /// The key-value store under the API server.
    Etcd,
    /// The API server.
    KubeApiserver,
    /// The built-in controllers.
    KubeControllerManager,
    /// The command line client.
    Kubectl,
    /// The chart installer.
    Helm,
    /// What Helm and Flux wait by, asked about objects on standard input, one a line.
    Kstatus,
    /// What checks the workflows of GitHub.
    Actionlint,
    /// What checks and tests the alerts.
    Promtool,
    /// What checks the prose.
    Vale,
}

impl Binary {
    /// All binaries, in the order they are usually needed.
    pub const ALL: [Self; 9] = [
        Self::Etcd,
        Self::KubeApiserver,
        Self::KubeControllerManager,
        Self::Kubectl,
        Self::Helm,
        Self::Kstatus,
        Self::Actionlint,
        Self::Promtool,
        Self::Vale,
    ];

    /// File name of the program.
    pub fn name(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::KubeApiserver => "kube-apiserver",
            Self::KubeControllerManager => "kube-controller-manager",
            Self::Kubectl => "kubectl",
            Self::Helm => "helm",
            Self::Kstatus => "kstatus",
            Self::Actionlint => "actionlint",
            Self::Promtool => "promtool",
            Self::Vale => "vale",
        }
    }

    /// Path of the program, building it first if it has to be.
    ///
    /// Looks in `$KUBEBUILDER_ASSETS`, then (kubectl and helm only) on `PATH`,
    /// then in the cache, for the program of the selected [`Release`]. Only a build takes noticeable
    /// time: minutes.
    pub fn locate(self) -> Result<PathBuf, Error> {
        if let Some(found) = self.in_assets().or_else(|| self.on_path()) {
            return Ok(found);
        }
        let (cache, recipe) = (self.cache()?, Recipe::new(self, Release::selected()?));
        // Relative to the cache.
        let file = Path::new(&recipe.cache_name(self.name())).join(self.name());
        let cached = cache.join(&file);
        if !cached.is_file() {
            self.build(&cache, &file, &recipe)?;
        }
        Ok(cached)
    }

    fn in_assets(self) -> Option<PathBuf> {
        let path = PathBuf::from(env::var_os("KUBEBUILDER_ASSETS")?).join(self.name());
        path.is_file().then_some(path)
    }

    /// Nothing of a control plane is looked for on `PATH`, and an older release has its own kubectl.
    fn on_path(self) -> Option<PathBuf> {
        let is_reference = || Release::selected().is_ok_and(Release::is_reference);
        let is_known = self == Self::Helm || self == Self::Kubectl && is_reference();
        let path = env::var_os("PATH").filter(|_| is_known)?;
        let found = env::split_paths(&path)
            .map(|directory| directory.join(self.name()))
            .find(|path| path.is_file())?;
        (self != Self::Kubectl || is_recent_kubectl(&found)).then_some(found)
    }

    fn cache(self) -> Result<PathBuf, Error> {
        let home = || env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
        env::var_os("XDG_CACHE_HOME")
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
            .or_else(home)
            .map(|cache| cache.join("rollwright"))
            .ok_or(Error::MissingBinary { binary: self.name() })
    }

    fn build(self, cache: &Path, file: &Path, recipe: &Recipe) -> Result<(), Error> {
        let go = Command::new("go").arg("version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        if !go.is_ok_and(|status| status.success()) {
            return Err(Error::MissingBinary { binary: self.name() });
        }
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("go").join("build.sh");
        // Standard output belongs to the caller's caller (`eval "$(... up)"`).
        let status = Command::new("sh")
            .args([script.as_path(), cache, file])
            .args([recipe.directory, recipe.modules.0, recipe.package, recipe.tags, &recipe.linker_flags])
            .env("CGO_ENABLED", if recipe.needs_cgo { "1" } else { "0" })
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .status()
            .map_err(Error::io("running", &script))?;
        if status.success() { Ok(()) } else { Err(Error::Build { binary: self.name(), script }) }
    }
}

/// Paths of everything a control plane consists of.
#[derive(Clone, Debug)]
pub(crate) struct ControlPlaneBinaries {
    pub(crate) etcd: PathBuf,
    pub(crate) apiserver: PathBuf,
    pub(crate) controller_manager: PathBuf,
}

impl ControlPlaneBinaries {
    pub(crate) fn locate() -> Result<Self, Error> {
        Ok(Self {
            etcd: Binary::Etcd.locate()?,
            apiserver: Binary::KubeApiserver.locate()?,
            controller_manager: Binary::KubeControllerManager.locate()?,
        })
    }
}

/// Some systems put a stub named kubectl on `PATH`: it counts only if it answers.
fn is_recent_kubectl(path: &Path) -> bool {
    let output = Command::new(path).args(["version", "--client"]).stdin(Stdio::null()).output();
    output.is_ok_and(|output| {
        let minor = client_minor(&String::from_utf8_lossy(&output.stdout));
        output.status.success() && minor.is_some_and(|minor| minor >= KUBECTL_MINOR_MIN)
    })
}

fn client_minor(output: &str) -> Option<u32> {
    let version = output.lines().find_map(|line| line.strip_prefix("Client Version: v1."))?;
    version.split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::client_minor;

    #[test]
    fn reads_the_minor_version_of_kubectl() {
        assert_eq!(client_minor("Client Version: v1.36.2\nKustomize Version: v5.8.1\n"), Some(36));
        assert_eq!(client_minor("Client Version: v1.32.4-dispatcher\n"), Some(32));
        assert_eq!(client_minor("kubectl is not installed\n"), None);
    }
}
