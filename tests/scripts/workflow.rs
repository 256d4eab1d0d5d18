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
    // It does look: a step that reads an output that no step has.
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
