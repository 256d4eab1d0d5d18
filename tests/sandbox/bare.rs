//! A machine without kubectl: the sandbox applies manifests by itself, and what it prints can be typed.

use std::process::Stdio;

use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;

use crate::place::{DEADLINE, path, program};

const NOWHERE: &str = "/nonexistent";

#[tokio::test(flavor = "multi_thread")]
async fn what_is_printed_without_kubectl_can_be_typed() {
    let mut sandbox = program();
    sandbox.args(["sandbox", "--apply", &path("examples")]).env("PATH", NOWHERE).stdout(Stdio::piped());
    let mut child = sandbox.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut script = "set -e\n".to_owned();
    let created = loop {
        let line = tokio::time::timeout(DEADLINE, lines.next_line()).await.unwrap().unwrap().unwrap();
        match line.strip_prefix("  ") {
            Some(command) => script.extend([command, "\n"]),
            None if line.contains("created already") => break line,
            None => {}
        }
    };
    let names = ["hello", "probes", "ledger", "checkout", "shop", "web"];
    let names = names.map(|name| format!("deployment.rollwright.dev/{name}"));
    assert!(created.ends_with(&format!("{}.", names.join(", "))), "{created}");

    // Nobody types so fast that the operator has not seen the first template yet.
    let restart = "kubectl-rollwright restart web";
    assert!(script.contains(restart), "{script}");
    let script = script.replace(restart, &format!("kubectl-rollwright status web\n{restart}"));
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", &script]).env("PATH", NOWHERE).kill_on_drop(true);
    let output = tokio::time::timeout(DEADLINE, shell.output()).await.unwrap().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{script}{output:?}");
    for part in ["hello", "web restarted", "successfully rolled out", "web rolled back"] {
        assert!(said.contains(part), "{part} in\n{said}");
    }
    child.kill().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_manifest_that_cannot_be_applied_ends_the_sandbox() {
    let output = program().args(["sandbox", "--apply", &path("crds")]).output();
    let output = tokio::time::timeout(DEADLINE, output).await.unwrap().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{said}");
    assert!(said.contains("error: --apply ") && said.contains("must be Deployment"), "{said}");
}
