//! How each program is built from Go modules, and by which name the cache keeps it.

use std::env;
use std::hash::Hasher as _;

use crate::binaries::Binary;
use crate::error::Error;

/// Selects a release of [`RELEASES`] by its minor version.
const VARIABLE: &str = "KUBERNETES";

/// A release of Kubernetes that this crate can build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Release {
    /// The minor version, as `KUBERNETES` selects it.
    pub minor: &'static str,
    /// The file in `go/` that states all versions, and its text.
    modules: (&'static str, &'static str),
}

/// The reference comes first; the others are supported.
pub const RELEASES: [Release; 5] = [
    Release { minor: "1.37", modules: ("go.mod", include_str!("../go/go.mod")) },
    Release { minor: "1.36", modules: ("kubernetes-1.36.mod", include_str!("../go/kubernetes-1.36.mod")) },
    Release { minor: "1.35", modules: ("kubernetes-1.35.mod", include_str!("../go/kubernetes-1.35.mod")) },
    Release { minor: "1.34", modules: ("kubernetes-1.34.mod", include_str!("../go/kubernetes-1.34.mod")) },
    Release { minor: "1.33", modules: ("kubernetes-1.33.mod", include_str!("../go/kubernetes-1.33.mod")) },
];

impl Release {
    /// The release that the environment variable `KUBERNETES` selects, or else the reference.
    ///
    /// # Errors
    ///
    /// If there is no such release.
    pub fn selected() -> Result<Self, Error> {
        let asked = env::var(VARIABLE).unwrap_or_default();
        let [reference, ..] = RELEASES;
        if asked.is_empty() {
            return Ok(reference);
        }
        let known = || RELEASES.map(|release| release.minor).join(", ");
        let found = RELEASES.into_iter().find(|release| release.minor == asked);
        found.ok_or_else(|| Error::UnknownRelease { known: known(), asked })
    }

    /// Whether it is the reference.
    #[must_use]
    pub fn is_reference(self) -> bool {
        self == RELEASES[0]
    }

    /// Whether it is of this minor version, or newer.
    #[must_use]
    pub fn is_since(self, minor: &str) -> bool {
        self.minor >= minor
    }

    /// The full version, for example `v1.37.2`.
    #[must_use]
    pub fn version(self) -> &'static str {
        required(self.modules.1, "k8s.io/kubernetes")
    }

    fn flags(self) -> String {
        const AT: &str = "k8s.io/component-base/version";
        let version = self.version();
        let (major, minor) = self.minor.split_once('.').unwrap_or_default();
        format!(
            "-s -w -X {AT}.gitVersion={version} -X {AT}.gitMajor={major} -X {AT}.gitMinor={minor} \
             -X {AT}.gitCommit=modules -X {AT}.gitTreeState=clean"
        )
    }
}

/// Everything that decides what a build makes.
#[derive(Clone, Debug)]
pub(crate) struct Recipe {
    /// The version of the program, for people who look into the cache.
    version: &'static str,
    /// Directory of the Go module, beside this crate's `src`.
    pub(crate) directory: &'static str,
    /// The module file in it, and its text.
    pub(crate) modules: (&'static str, &'static str),
    /// The package, and the text of its program where that belongs to this repository.
    pub(crate) package: &'static str,
    source: &'static str,
    pub(crate) tags: &'static str,
    pub(crate) linker_flags: String,
    /// Whether parts of it are written in C and C++.
    pub(crate) needs_cgo: bool,
}

impl Recipe {
    pub(crate) fn new(binary: Binary, release: Release) -> Self {
        let kubernetes = |package, source| Self {
            version: release.version(),
            directory: "go",
            modules: release.modules,
            package,
            source,
            tags: "",
            linker_flags: release.flags(),
            needs_cgo: false,
        };
        match binary {
            Binary::Etcd => kubernetes("./etcd", include_str!("../go/etcd/main.go")),
            Binary::KubeApiserver => {
                kubernetes("./kube-apiserver", include_str!("../go/kube-apiserver/main.go"))
            }
            Binary::KubeControllerManager => {
                kubernetes("./kube-controller-manager", include_str!("../go/kube-controller-manager/main.go"))
            }
            Binary::Kubectl => kubernetes("./kubectl", include_str!("../go/kubectl/main.go")),
            Binary::Helm | Binary::Kstatus => Self::helm(binary),
            Binary::Actionlint => Self::actionlint(),
            Binary::Promtool => Self::promtool(),
            Binary::Vale => Self::vale(),
        }
    }

    /// Helm, and of the very module that it waits by, a program that can be asked.
    fn helm(binary: Binary) -> Self {
        let modules = include_str!("../go-helm/go.mod");
        let version = required(modules, "helm.sh/helm/v4");
        let (package, source, linker_flags) = if binary == Binary::Kstatus {
            ("./kstatus", include_str!("../go-helm/kstatus/main.go"), "-s -w".to_owned())
        } else {
            let flags = format!("-s -w -X helm.sh/helm/v4/internal/version.version={version}");
            ("helm.sh/helm/v4/cmd/helm", "", flags)
        };
        let modules = ("go.mod", modules);
        Self {
            version,
            directory: "go-helm",
            modules,
            package,
            source,
            tags: "",
            linker_flags,
            needs_cgo: false,
        }
    }

    fn actionlint() -> Self {
        let modules = include_str!("../go-actionlint/go.mod");
        Self {
            version: required(modules, "github.com/rhysd/actionlint"),
            directory: "go-actionlint",
            modules: ("go.mod", modules),
            package: "github.com/rhysd/actionlint/cmd/actionlint",
            source: "",
            tags: "",
            linker_flags: "-s -w".to_owned(),
            needs_cgo: false,
        }
    }

    /// Rules are tested without service discovery, because its clients of clouds are large.
    fn promtool() -> Self {
        let modules = include_str!("../go-promtool/go.mod");
        Self {
            version: required(modules, "github.com/prometheus/prometheus"),
            directory: "go-promtool",
            modules: ("go.mod", modules),
            package: "github.com/prometheus/prometheus/cmd/promtool",
            source: "",
            tags: "remove_all_sd",
            linker_flags: "-s -w".to_owned(),
            needs_cgo: false,
        }
    }

    fn vale() -> Self {
        let modules = include_str!("../go-vale/go.mod");
        Self {
            version: required(modules, "github.com/vale-cli/vale/v3"),
            directory: "go-vale",
            modules: ("go.mod", modules),
            package: "github.com/vale-cli/vale/v3/cmd/vale",
            source: "",
            tags: "",
            linker_flags: "-s -w".to_owned(),
            needs_cgo: true,
        }
    }

    /// The directory in the cache: another one whenever a build would make something else. A module
    /// file names every module with its version, so `go.sum` adds nothing.
    pub(crate) fn cache_name(&self, name: &str) -> String {
        let mut hash = fnv::FnvHasher::default();
        let (_, modules) = self.modules;
        for text in [self.directory, modules, self.package, self.source, self.tags, &self.linker_flags] {
            hash.write(text.as_bytes());
            hash.write_u8(0);
        }
        hash.write(if self.needs_cgo { b"cgo" } else { b"" });
        format!("{name}-{}-{:016x}", self.version, hash.finish())
    }
}

/// The version of a module in the text of a `go.mod`.
fn required(modules: &'static str, module: &str) -> &'static str {
    let version = |line: &'static str| {
        let line = line.trim_start().trim_start_matches("require ");
        line.strip_prefix(module)?.strip_prefix(' ')?.split(' ').next().filter(|word| word.starts_with('v'))
    };
    modules.lines().find_map(version).unwrap_or("unknown")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_module_files_state_the_versions() {
        for release in RELEASES {
            let version = release.version();
            assert!(version.starts_with(&format!("v{}.", release.minor)), "{version}");
            for binary in Binary::ALL {
                let version = Recipe::new(binary, release).version;
                assert!(version.starts_with('v'), "{binary:?}: {version}");
            }
        }
    }

    /// What Kubernetes' version decides has a place for each, and all else is shared.
    #[test]
    fn each_release_has_programs_of_its_own() {
        let names = |release| {
            let name = |binary: Binary| Recipe::new(binary, release).cache_name(binary.name());
            Binary::ALL.map(name).into_iter().collect::<BTreeSet<_>>()
        };
        let (one, other) = (names(RELEASES[0]), names(RELEASES[1]));
        assert_eq!((one.len(), other.len()), (Binary::ALL.len(), Binary::ALL.len()));
        assert_eq!(one.intersection(&other).count(), 5, "{one:?} {other:?}");
    }

    #[test]
    fn whatever_is_built_differently_is_kept_elsewhere() {
        let base = Recipe::new(Binary::Helm, RELEASES[0]);
        let newer = base.modules.1.replace("v1", "v2");
        let changes = [
            Recipe { modules: ("go.mod", newer.leak()), ..base.clone() },
            Recipe { source: "package other", ..base.clone() },
            Recipe { tags: "other", ..base.clone() },
            Recipe { linker_flags: String::new(), ..base.clone() },
            Recipe { needs_cgo: true, ..base.clone() },
        ];
        for change in changes {
            assert_ne!(change.cache_name("helm"), base.cache_name("helm"), "{change:?}");
        }
    }
}
