//! The program with nothing beside it: no certificates, no directory for temporary files. With
//! `CHART_BINARY`, the path of a static build, in a root directory that holds nothing else.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use cluster::Tool;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;

use crate::PATIENCE;
use crate::place::{DEADLINE, manifest, program};

const NOWHERE: &str = "/nonexistent";

/// The program, and where it finds what is put into the directory.
fn alone(directory: &Path) -> (Command, PathBuf) {
    match env::var_os("CHART_BINARY") {
        None => {
            let mut command = program();
            command.env_clear();
            for name in ["SSL_CERT_FILE", "SSL_CERT_DIR", "TMPDIR", "HOME"] {
                command.env(name, NOWHERE);
            }
            (command, directory.to_owned())
        }
        Some(binary) => {
            fs::copy(binary, directory.join("rollwright")).unwrap();
            let mut command = Command::new("/usr/bin/unshare");
            command.args(["--user", "--map-root-user", "--wd=/", "--root"]).arg(directory);
            command.arg("/rollwright").env_clear().kill_on_drop(true);
            (command, PathBuf::from("/"))
        }
    }
}

/// An empty directory.
fn directory(name: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir(&directory).unwrap();
    directory
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sandbox() {
    let directory = directory("sandbox-alone");
    let (mut command, _) = alone(&directory);
    let mut child = command.arg("sandbox").stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let first = tokio::time::timeout(DEADLINE, lines.next_line()).await.unwrap().unwrap().unwrap();
    let server = first.split_whitespace().find(|word| word.starts_with("http://")).unwrap();
    let server = server.trim_end_matches(',');
    lines.next_line().await.unwrap();
    let way_in = lines.next_line().await.unwrap().unwrap();
    assert!(way_in.contains(&format!("kubectl-rollwright --server={server}")), "{way_in}");

    let kubectl = Tool::kubectl(NOWHERE).unwrap();
    let run = async |arguments: &[&str]| {
        let there = [&["--server", server], arguments].concat();
        kubectl.run(&there).await.unwrap_or_else(|error| panic!("{error}"))
    };
    run(&["apply", "-f", &manifest("web")]).await;
    run(&["wait", "--for=condition=Ready", PATIENCE, "rwd/web"]).await;
    child.kill().await.unwrap();
    fs::remove_dir_all(directory).unwrap();
}

/// The operator does not talk to a server that it cannot verify, and the user who runs the program gets a message about
/// what is missing.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_cannot_be_verified() {
    let directory = directory("run-alone");
    let kubeconfig = r#"{
        "apiVersion": "v1", "kind": "Config", "current-context": "it",
        "clusters": [{ "name": "it", "cluster": { "server": "https://127.0.0.1:1" } }],
        "users": [{ "name": "it", "user": {} }],
        "contexts": [{ "name": "it", "context": { "cluster": "it", "user": "it" } }]
    }"#;
    fs::write(directory.join("kubeconfig"), kubeconfig).unwrap();
    let (mut command, root) = alone(&directory);
    command.args(["run", "--bind-address=0", "--kubeconfig"]).arg(root.join("kubeconfig"));
    let output = tokio::time::timeout(DEADLINE, command.output()).await.unwrap().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{told}");
    assert!(
        told.contains("error: the server https://127.0.0.1:1 cannot be verified")
            && told.contains("certificate-authority-data"),
        "{told}"
    );
    fs::remove_dir_all(directory).unwrap();
}
