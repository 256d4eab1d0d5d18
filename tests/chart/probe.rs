//! `rollwright probe`, which `helm test` runs.

use std::process::Command;

fn probe(arguments: &[&str]) -> (bool, String) {
    let output =
        Command::new(env!("CARGO_BIN_EXE_rollwright")).arg("probe").args(arguments).output().unwrap();
    (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn nobody_answers() {
    let port = cluster::free_port().unwrap();
    let (success, told) = probe(&[&format!("http://127.0.0.1:{port}/readyz"), "--timeout=0"]);
    assert!(
        !success && told.contains("/readyz did not answer with 200") && told.contains("refused"),
        "{told}"
    );
}

#[test]
fn not_a_page() {
    let (success, told) = probe(&["rollwright-metrics:8080"]);
    assert!(!success && told.contains("must be a URL such as http://"), "{told}");
}
