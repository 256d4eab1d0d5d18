//! The JSON names of Rollwright's fields stand in this crate alone: code elsewhere reads or writes them through the
//! types, so that a field has one place.
//!
//! The test is about what is shipped, and about Rollwright's names: of two words, or with `/spec/` or `/status/` before
//! them. What plays Kubernetes (`sandbox` and what stands on it) has names of its own.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};
use rollwright_api::crd::crd;
use serde_json::Value;

const SHIPPED: [&str; 8] = [
    "src",
    "crates/cli/src",
    "crates/diagnosis/src",
    "crates/engine/src",
    "crates/lease/src",
    "crates/admission/src/lint",
    "crates/plan/src",
    "crates/shadow/src",
];
/// Fields of every kind that has pods.
const SHARED: [&str; 4] = ["conditions", "replicas", "selector", "template"];
/// Where a name is somebody else's.
const OTHERS: [(&str, &str, &str); 12] = [
    ("crates/shadow/src/case.rs", "minReadySeconds", "the format of recorded cases (tests/oracle/FORMAT.md)"),
    ("crates/shadow/src/mask.rs", "lastTransitionTime", "words of recorded cases"),
    ("crates/shadow/src/mask.rs", "lastUpdateTime", "words of recorded cases"),
    ("crates/shadow/src/mask.rs", "maxSurge", "words of recorded cases"),
    ("crates/shadow/src/mask.rs", "maxUnavailable", "words of recorded cases"),
    ("crates/cli/src/verbs/plan.rs", "highestPods", "what `-o json` prints of a plan"),
    ("crates/cli/src/verbs/plan.rs", "lowestAvailable", "what `-o json` prints of a plan"),
    ("crates/cli/src/history.rs", "readyReplicas", "what `-o json` prints of a revision"),
    ("crates/cli/src/history.rs", "podTemplateHash", "what `-o json` prints of a revision"),
    ("crates/cli/src/at_step.rs", "restStartTime", "what `-o json` prints of a step"),
    ("crates/cli/src/at_step.rs", "targetPods", "what `-o json` prints of a step"),
    ("crates/cli/src/projection/stops.rs", "waitSeconds", "what `-o json` prints of a plan"),
];

/// Names of two words, and paths of those of one.
struct Names {
    long: BTreeSet<String>,
    paths: BTreeSet<String>,
}

fn names() -> Names {
    let definition = crd(None).unwrap();
    let schema = definition.pointer("/spec/versions/0/schema/openAPIV3Schema/properties").unwrap();
    let mut names = Names { long: BTreeSet::new(), paths: BTreeSet::new() };
    for part in ["spec", "status"] {
        collect(&schema[part], &mut names.long);
        let own = schema[part]["properties"].as_object().unwrap().keys();
        let own = own.filter(|name| !SHARED.contains(&name.as_str()));
        names.paths.extend(own.map(|name| format!("/{part}/{name}")));
    }
    let term = LabelSelectorRequirement::default();
    let of_selectors =
        LabelSelector { match_expressions: Some(vec![term]), match_labels: Some(Default::default()) };
    for name in serde_json::to_value(of_selectors).unwrap().as_object().unwrap().keys() {
        assert!(names.long.remove(name), "{name}");
    }
    names
}

fn collect(schema: &Value, names: &mut BTreeSet<String>) {
    for (name, child) in schema["properties"].as_object().into_iter().flatten() {
        if name.contains(char::is_uppercase) {
            names.insert(name.clone());
        }
        if name != "template" {
            collect(child, names);
            collect(&child["items"], names);
        }
    }
}

/// The texts of a program that are a name or a path: without blanks, between quotes.
fn words(source: &str) -> impl Iterator<Item = &str> {
    let is_of_word = |c: char| c.is_ascii_alphanumeric() || "/._{}[]$-".contains(c);
    source.split('"').filter(move |text| !text.is_empty() && text.chars().all(is_of_word))
}

/// The Rollwright names in a program.
fn found(names: &Names, source: &str) -> BTreeSet<String> {
    let program = source.split("#[cfg(test)]").next().unwrap_or_default();
    let is_of_ours = |word: &&str| names.paths.iter().any(|path| word.starts_with(path.as_str()));
    let paths = words(program).filter(is_of_ours).map(str::to_owned);
    let long = words(program).flat_map(|word| word.split(['/', '.']));
    let long = long.filter(|name| names.long.contains(*name)).map(str::to_owned);
    long.chain(paths).collect()
}

fn sources(root: &Path) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = SHIPPED.iter().map(|folder| root.join(folder)).collect();
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.ends_with("tests") || path.ends_with("tests.rs") {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else {
                files.push(path);
            }
        }
    }
    files
}

#[test]
fn stand_in_this_crate_alone() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let names = names();
    let files = sources(&root);
    assert!(files.len() > 100, "{} files", files.len());
    let mut mistakes = Vec::new();
    let mut excused = BTreeSet::new();
    for path in files {
        let file = path.strip_prefix(&root).unwrap().display().to_string();
        for name in found(&names, &std::fs::read_to_string(&path).unwrap()) {
            match OTHERS.iter().find(|(at, of, _)| *at == file && *of == name) {
                Some(other) => _ = excused.insert(other),
                None => mistakes.push(format!("{file}: {name}")),
            }
        }
    }
    assert!(mistakes.is_empty(), "these belong into crates/api: {mistakes:#?}");
    assert_eq!(excused.len(), OTHERS.len(), "an excuse that nobody needs: {excused:?}");
}

#[test]
fn are_found() {
    let names = names();
    assert!(names.long.len() > 15 && names.paths.len() > 15, "{:?} {:?}", names.long, names.paths);
    let all = |source: &str| found(&names, source).into_iter().collect::<Vec<_>>();
    assert_eq!(all(r#"json!({"spec": {"rollbackTo": {"revision": 1}}})"#), ["rollbackTo"]);
    assert_eq!(
        all(r#"body.pointer("/status/observedGeneration")"#),
        ["/status/observedGeneration", "observedGeneration"]
    );
    assert_eq!(all(r#"text("/status/rollback/time")"#), ["/status/rollback/time"]);
    let clean = r#"pointer("/spec/replicas"); // `spec.minReadySeconds`
        fail("spec.minReadySeconds is too long"); json!({"matchLabels": 1});
        #[cfg(test)] mod tests { "maxSurge" }"#;
    assert!(all(clean).is_empty());
}
