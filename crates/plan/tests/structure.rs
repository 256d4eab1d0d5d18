//! How the workspace is built: the planner stays pure, files stay short, modules have names with a meaning.

use std::path::{Path, PathBuf};

/// All that the planner may use. Nothing in it reads a clock, a file or a socket.
const DEPENDENCIES: [&str; 6] = ["fnv", "jiff", "serde", "serde_json", "sha2", "thiserror"];
const DEV_DEPENDENCIES: [&str; 1] = ["proptest"];
/// What must not come in through the back door either.
const FORBIDDEN: [&str; 8] =
    ["tokio", "kube", "kube-client", "k8s-openapi", "hyper", "reqwest", "async-std", "mio"];
/// A file that one does not take in at one go is two files.
const LINES_MAX: usize = 400;
/// What all files together may hold. Who needs more takes as much away.
const RUST_LINES_MAX: usize = 145_300;
const WORDS_MAX: usize = 64_200;
const MEANINGLESS: [&str; 8] = ["util", "utils", "helper", "helpers", "common", "misc", "stuff", "shared"];

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The names in a table of a manifest, up to the next table.
fn table(manifest: &str, header: &str) -> Vec<String> {
    let lines = manifest.lines().skip_while(|line| line.trim() != header).skip(1);
    let entries = lines.take_while(|line| !line.starts_with('[')).filter(|line| line.contains('='));
    let name = |line: &str| line.split(['.', '=', ' ']).next().unwrap().to_owned();
    entries.map(name).collect()
}

#[test]
fn the_planner_depends_on_nothing_that_acts() {
    let manifest = std::fs::read_to_string(root().join("crates/plan/Cargo.toml")).unwrap();
    assert_eq!(table(&manifest, "[dependencies]"), DEPENDENCIES);
    assert_eq!(table(&manifest, "[dev-dependencies]"), DEV_DEPENDENCIES);
    let others = manifest.lines().filter(|line| line.starts_with('[') && line.contains("dependencies"));
    assert_eq!(others.count(), 2, "a third table of dependencies");
}

/// Bugs of the past live in `dev/mutants`, as patches. No crate can have one switched on.
#[test]
fn no_crate_names_a_bug() {
    let asks = |path: &PathBuf| {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        path.iter().any(|folder| folder == "src") && (text.contains("has!(") || text.contains("::bug::"))
    };
    let asking: Vec<_> = sources().into_iter().filter(asks).collect();
    assert!(asking.is_empty(), "{asking:?} ask for a bug");
    for place in places() {
        let manifest = std::fs::read_to_string(root().join(&place).join("Cargo.toml")).unwrap();
        let features = table(&manifest, "[features]");
        let of_bugs = features.iter().filter(|name| name.contains("bug") || name.contains("mutant"));
        assert_eq!(of_bugs.count(), 0, "{place} has a feature for bugs");
    }
}

/// Folders of packages.
fn places() -> Vec<String> {
    let folders = ["crates", "dev", "sandbox"].into_iter().flat_map(|folder| {
        let entries = std::fs::read_dir(root().join(folder)).unwrap();
        entries.map(move |entry| format!("{folder}/{}", entry.unwrap().file_name().to_str().unwrap()))
    });
    let packages = folders.filter(|folder| root().join(folder).join("Cargo.toml").exists());
    packages.chain([String::from("."), String::from("deploy/argocd")]).collect()
}

/// Name and dependencies of every package in the lock file.
fn packages(lock: &str) -> Vec<(&str, Vec<&str>)> {
    lock.split("[[package]]").skip(1).map(package).collect()
}

fn package(text: &str) -> (&str, Vec<&str>) {
    let name = text.lines().find_map(|line| line.strip_prefix("name = ")).unwrap_or_default();
    // ` "rand_core 0.9.3",`: the version is there only if there are several.
    let dependencies = text.lines().filter_map(|line| line.strip_prefix(" \"")?.split([' ', '"']).next());
    (name.trim_matches('"'), dependencies.collect())
}

#[test]
fn nothing_that_acts_comes_in_through_the_back_door() {
    let lock = std::fs::read_to_string(root().join("Cargo.lock")).unwrap();
    let packages = packages(&lock);
    let mut reached: Vec<&str> = DEPENDENCIES.to_vec();
    let mut next = 0;
    while let Some(name) = reached.get(next).copied() {
        next += 1;
        let of_name = packages.iter().filter(|(package, _)| *package == name);
        for dependency in of_name.flat_map(|(_, dependencies)| dependencies) {
            if !reached.contains(dependency) {
                reached.push(dependency);
            }
        }
    }
    assert!(reached.len() > DEPENDENCIES.len(), "the lock file was read");
    let forbidden: Vec<_> = reached.iter().filter(|name| FORBIDDEN.contains(name)).collect();
    assert!(forbidden.is_empty(), "crates/plan reaches {forbidden:?}");
}

/// The sources of this workspace.
fn sources() -> Vec<PathBuf> {
    let files = files(&["crates", "dev", "examples", "sandbox", "src", "tests"], "rs");
    assert!(files.len() > 500, "{} files", files.len());
    files
}

pub(crate) fn files(folders: &[&str], extension: &str) -> Vec<PathBuf> {
    let mut folders: Vec<_> = folders.iter().map(|folder| root().join(folder)).collect();
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.ends_with("target") && !path.ends_with("node_modules") {
                folders.push(path);
            } else if path.extension().is_some_and(|found| found == extension) {
                files.push(path);
            }
        }
    }
    files
}

#[test]
fn the_repository_does_not_grow() {
    let text = |path: &PathBuf| std::fs::read_to_string(path).unwrap_or_default();
    let lines: usize = sources().iter().map(|path| text(path).lines().count()).sum();
    assert!(lines <= RUST_LINES_MAX, "{lines} lines of Rust, and {RUST_LINES_MAX} are allowed");
    let words: usize = files(&["docs"], "md").iter().map(|path| text(path).split_whitespace().count()).sum();
    assert!(words <= WORDS_MAX, "{words} words below docs/, and {WORDS_MAX} are allowed");
}

#[test]
fn no_file_is_longer_than_one_can_read() {
    let lines = |path: &PathBuf| std::fs::read_to_string(path).unwrap_or_default().lines().count();
    let long: Vec<_> = sources().into_iter().filter(|path| lines(path) > LINES_MAX).collect();
    assert!(long.is_empty(), "more than {LINES_MAX} lines: {long:?}");
}

#[test]
fn no_module_is_named_after_nothing() {
    let is_meaningless = |path: &PathBuf| {
        let names = path.iter().filter_map(|name| name.to_str()).rev().take(3);
        names.map(|name| name.trim_end_matches(".rs")).any(|name| MEANINGLESS.contains(&name))
    };
    let named: Vec<_> = sources().into_iter().filter(is_meaningless).collect();
    assert!(named.is_empty(), "{named:?} say nothing");
}
