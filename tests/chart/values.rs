//! The combinations of values that are rendered, and helm for them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cluster::Binary;
use serde_json::Value;

/// Files `ci/NAME-values.yaml` of the chart; the first is the chart as it comes.
pub(crate) const SETS: [&str; 9] =
    ["default", "ha", "namespaced", "monitoring", "no-crds", "pinned", "minimal", "shard", "changed-by"];

/// A path in the repository.
pub(crate) fn path(relative: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(relative)
}

/// A file of the repository.
pub(crate) fn read(relative: &str) -> String {
    fs::read_to_string(path(relative)).unwrap_or_else(|error| panic!("{relative}: {error}"))
}

/// Standard output of a program, or what it wrote on standard error.
pub(crate) fn output(program: Binary, arguments: &[&str]) -> Result<String, String> {
    let program = program.locate().unwrap();
    let output = Command::new(program).args(arguments).current_dir(path("")).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}

/// The flags of helm for a combination of values.
pub(crate) fn flags(set: &str) -> Vec<String> {
    match set {
        "default" => Vec::new(),
        set => vec![format!("--values=charts/rollwright/ci/{set}-values.yaml")],
    }
}

/// What `helm template` makes of a combination of values and these further flags.
pub(crate) fn render(set: &str, more: &[&str]) -> Result<String, String> {
    let flags = flags(set);
    let fixed = ["template", "rollwright", "charts/rollwright", "--namespace=rollwright-system"];
    let arguments: Vec<&str> =
        fixed.into_iter().chain(flags.iter().map(String::as_str)).chain(more.iter().copied()).collect();
    output(Binary::Helm, &arguments)
}

/// The objects in a text of YAML documents.
pub(crate) fn objects(text: &str) -> Vec<Value> {
    let documents: Vec<Value> = serde_saphyr::from_multiple(text).unwrap();
    documents.into_iter().filter(|document| !document.is_null()).collect()
}

/// Compares a file of the repository with what it has to be; with UPDATE=1 writes it.
pub(crate) fn golden(relative: &str, made: &str) {
    if std::env::var_os("UPDATE").is_some() {
        fs::write(path(relative), made).unwrap();
        return;
    }
    let there = fs::read_to_string(path(relative)).unwrap_or_default();
    if there != made {
        let differs = there.lines().zip(made.lines()).position(|(there, made)| there != made);
        let line = differs.unwrap_or_else(|| there.lines().count().min(made.lines().count()));
        let at = |text: &str| text.lines().nth(line).unwrap_or("(end)").to_owned();
        panic!(
            "{relative}:{} is not what is made now; UPDATE=1 cargo test -p rollwright --test chart renders \
             writes it\n  there: {}\n  made:  {}",
            line + 1,
            at(&there),
            at(made)
        );
    }
}
