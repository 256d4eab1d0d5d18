//! There is one ladder from a key to its requests: nothing else in this repository calls the planner or
//! carries out a plan, but for those who are named here.

use std::collections::BTreeSet;

use crate::{root, sources};

/// Calls that only a ladder makes.
const CALLS: [&str; 2] = ["plan::plan(", "reconcile::run("];
/// Who may make them, and why.
const ALLOWED: [(&str, &str); 9] = [
    ("crates/engine/src/attempt.rs", "the ladder"),
    ("crates/engine/src/reconcile.rs", "a reconcile, for the ladder"),
    ("dev/oracle/src/runner.rs", "recorded cases begin after the ladder"),
    ("crates/shadow/src/intent.rs", "shadow makes a reconcile over what it has seen, and sends nothing"),
    (
        "crates/cli/src/projection.rs",
        "the what-if of the command line makes reconciles over an imagined cluster",
    ),
    ("dev/figures/src/main.rs", "counts the planner's instructions"),
    ("dev/figures/src/snapshots.rs", "checks what they are counted of"),
    ("dev/fuzz/src/reconcile.rs", "random input for the planner alone"),
    ("dev/fuzz/src/workload.rs", "the same"),
];
/// Where the name is another one's.
const OTHERS: [&str; 2] = ["dev/fuzz/src/lib.rs", "crates/cli/src/verbs/mod.rs"];

fn calls(text: &str) -> bool {
    let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    code.into_iter().any(|line| CALLS.iter().any(|call| line.contains(call)))
}

#[test]
fn nobody_else_calls_the_planner() {
    let mut files = Vec::new();
    for folder in ["src", "crates", "dev", "sandbox"] {
        sources(&root().join(folder), &mut files);
    }
    let callers = files.iter().filter(|path| calls(&std::fs::read_to_string(path).unwrap()));
    let callers = callers.map(|path| path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned());
    let callers: BTreeSet<String> = callers.filter(|path| !OTHERS.contains(&path.as_str())).collect();
    let allowed: BTreeSet<String> = ALLOWED.iter().map(|(path, _)| (*path).to_owned()).collect();
    assert_eq!(callers, allowed);
}

#[test]
fn a_call_is_found_and_a_comment_is_none() {
    assert!(calls("    let outcome = engine::reconcile::run(&cluster, observed, now).await;"));
    assert!(calls("match plan::plan(&observed, now) {"));
    assert!(!calls(
        "/// As [`reconcile::run`] does.\n    // reconcile::run(over, there)\nlet plan = planned();"
    ));
}
