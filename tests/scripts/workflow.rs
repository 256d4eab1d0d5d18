//! The workflows of GitHub, as far as they can be checked here: by actionlint, and by what they call.

use std::fs;
use std::process::Command;

use cluster::Binary;
use regex::Regex;
use serde_json::Value;

use crate::place::{directory, ok, output, root};

const RELEASE: &str = ".github/workflows/release.yaml";

fn actionlint() -> Command {
    let mut command = Command::new(Binary::Actionlint.locate().unwrap());
    // What else the machine has must not change the verdict.
    command.args(["-shellcheck=", "-pyflakes="]).current_dir(root());
    command
}

#[test]
fn actionlint_has_nothing_to_say() {
    ok(&mut actionlint());
    // actionlint does look: it finds a step that reads an output that no step has.
    let text = fs::read_to_string(root().join(RELEASE)).unwrap();
    let wrong = directory("workflow-wrong").join("release.yaml");
    fs::write(&wrong, text.replace("steps.image.outputs", "steps.picture.outputs")).unwrap();
    let (success, said) = output(actionlint().arg(&wrong));
    assert!(!success && said.contains("\"picture\" is not defined"), "{said}");
}

/// What GitHub makes of a pattern: `*` stands for all but `/`, `+` and `[...]` are as in a regex.
fn is_match(pattern: &str, tag: &str) -> bool {
    let regex = pattern.replace('.', "\\.").replace('*', "[^/]*");
    Regex::new(&format!("^{regex}$")).unwrap().is_match(tag)
}

#[test]
fn tags_of_releases_start_the_workflow() {
    let workflow: Value = serde_saphyr::from_str(&fs::read_to_string(root().join(RELEASE)).unwrap()).unwrap();
    let patterns = workflow["on"]["push"]["tags"].as_array().unwrap();
    let starts = |tag: &str| patterns.iter().any(|pattern| is_match(pattern.as_str().unwrap(), tag));
    for tag in ["v0.1.0", "v10.20.30", "v0.1.0-rc.1", "v1.0.0-alpha"] {
        assert!(starts(tag), "{tag}");
    }
    for tag in ["0.1.0", "v1", "v1.0", "v0.1.0rc1", "chart-v0.1.0"] {
        assert!(!starts(tag), "{tag}");
    }
}

fn workflows() -> Vec<(String, String)> {
    let files = fs::read_dir(root().join(".github/workflows")).unwrap().map(|entry| entry.unwrap().path());
    files.map(|path| (path.display().to_string(), fs::read_to_string(path).unwrap())).collect()
}

/// A tag or a branch of somebody else's repository can be moved; a commit and the digest of an image cannot.
#[test]
fn what_others_publish_is_named_by_its_digest() {
    let action = Regex::new(r"^(- )?uses: [\w.-]+(/[\w.-]+)+@[0-9a-f]{40} # v\d+\.\d+\.\d+$").unwrap();
    let pinned = Regex::new(r"docker\.io/\S+@sha256:[0-9a-f]{64}$").unwrap();
    let mut found = 0;
    for (file, text) in workflows() {
        for line in text.lines().map(str::trim).filter(|line| line.contains("uses:")) {
            assert!(action.is_match(line), "{file}: {line}");
            found += 1;
        }
        assert!(!text.contains("container:") && !text.contains("docker://"), "{file}: an image");
        for line in text.lines().filter(|line| line.contains("docker.io/") || line.contains("sbom: ")) {
            assert!(pinned.is_match(line), "{file}: {line}");
        }
    }
    assert!(found > 10, "{found} actions");
    let dockerfile = fs::read_to_string(root().join("Dockerfile")).unwrap();
    let image = Regex::new(r"^FROM (scratch|\S+@sha256:[0-9a-f]{64})( AS \w+)?$").unwrap();
    let from: Vec<&str> = dockerfile.lines().filter(|line| line.starts_with("FROM ")).collect();
    assert!(from.len() == 2 && from.iter().all(|line| image.is_match(line)), "{from:?}");
    assert!(!dockerfile.contains("syntax="), "the program that reads the file is an image, too");
}

/// One job may write or sign, and it runs no code of dependencies.
#[test]
fn one_job_may_sign() {
    let mut mighty = Vec::new();
    for (file, text) in workflows() {
        let workflow: Value = serde_saphyr::from_str(&text).unwrap();
        assert_eq!(workflow["permissions"].as_object().map(serde_json::Map::len), Some(0), "{file}");
        for (name, job) in workflow["jobs"].as_object().unwrap() {
            let permissions = job["permissions"].as_object().expect("permissions of their own");
            if permissions.values().any(|permission| permission == "write") {
                assert!(!job["steps"].to_string().contains("cargo"), "{file}: {name} builds");
                mighty.push(name.clone());
            }
        }
    }
    assert_eq!(mighty, ["publish"]);
}

/// Advisories appear without a change of this repository.
#[test]
fn advisories_are_checked_weekly() {
    let text = fs::read_to_string(root().join(".github/workflows/weekly.yaml")).unwrap();
    assert!(text.contains("schedule:") && text.contains("cargo deny --locked check advisories"), "{text}");
}
