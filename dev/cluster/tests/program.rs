//! The program `rollwright-cluster`, used as a person would.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test, in functions that tests share too")]

use std::path::Path;
use std::process::{Command, Output};

use cluster::{Options, State};

fn program(task: &str, directory: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_rollwright-cluster"))
        .arg(task)
        .arg("--dir")
        .arg(directory)
        .output()
        .unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn a_cluster_goes_up_and_down() {
    // Two dots in the path: the cluster must be found by any of its names.
    let directory = Options::unique("program").directory;
    let other_name =
        directory.parent().unwrap().join("..").join("cluster").join(directory.file_name().unwrap());

    assert!(!program("status", &directory).status.success());
    let up = program("up", &other_name);
    assert!(up.status.success(), "{}", String::from_utf8_lossy(&up.stderr));
    let kubeconfig = stdout(&up).strip_prefix("export KUBECONFIG=").unwrap().trim().to_owned();
    assert!(Path::new(&kubeconfig).is_file());
    assert!(program("status", &directory).status.success());
    let state = State::read(&directory).unwrap();
    assert_eq!(state.alive().len(), 3);

    // Going up twice is the same as once.
    assert_eq!(stdout(&program("up", &directory)), stdout(&up));
    assert_eq!(State::read(&directory).unwrap(), state);

    assert!(program("down", &directory).status.success());
    assert!(state.alive().is_empty());
    assert!(!state.owner_is_alive());
    assert!(!program("status", &directory).status.success());
    assert!(program("down", &directory).status.success());
    std::fs::remove_dir_all(directory).unwrap();
}

/// Like `rollwright sandbox -- COMMAND`.
#[test]
fn a_cluster_ends_with_its_command() {
    let directory = Options::unique("command").directory;
    let output = Command::new(env!("CARGO_BIN_EXE_rollwright-cluster"))
        .arg("run")
        .arg("--dir")
        .arg(&directory)
        .args(["--", "sh", "-c", "cat \"$KUBECONFIG\"; exit 7"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(7), "{output:?}");
    assert!(stdout(&output).contains("current-context"), "{output:?}");
    assert!(!program("status", &directory).status.success());
    std::fs::remove_dir_all(directory).unwrap();
}
