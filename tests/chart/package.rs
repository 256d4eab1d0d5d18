//! The archive of `kubectl rollwright` and its krew manifest, as a release makes them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

const PLUGIN: &str = env!("CARGO_BIN_EXE_kubectl-rollwright");

fn script(name: &str) -> Command {
    Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/krew").join(name))
}

fn ok(command: &mut Command) -> String {
    let output: Output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn directory(name: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir_all(&directory).unwrap();
    directory
}

/// What is in the archive works by itself, and the same input makes the same archive.
#[test]
fn the_archive_holds_what_belongs_to_the_plugin() {
    let (first, second) = (directory("package-one"), directory("package-two"));
    for directory in [&first, &second] {
        ok(script("package").arg(PLUGIN).arg("linux-amd64").arg(directory));
    }
    let archive = "kubectl-rollwright-linux-amd64.tar.gz";
    assert_eq!(fs::read(first.join(archive)).unwrap(), fs::read(second.join(archive)).unwrap());

    let place = directory("package-unpacked");
    ok(Command::new("tar").arg("xzf").arg(first.join(archive)).arg("-C").arg(&place));
    let path = format!("{}:/usr/bin:/bin", place.display());
    let verbs = ok(Command::new(place.join("kubectl_complete-rollwright")).arg("roll").env("PATH", path));
    assert_eq!(verbs.lines().next().unwrap().split('\t').next(), Some("rollout"), "{verbs}");
    for file in ["LICENSE", "man/kubectl-rollwright-undo.1", "completions/kubectl-rollwright.bash"] {
        assert!(place.join(file).is_file(), "{file}");
    }
}

/// Each archive becomes a platform, with its own checksum.
#[test]
fn the_krew_manifest_names_every_archive() {
    let place = directory("package-manifest");
    for (platform, content) in [("linux-amd64", "a"), ("darwin-arm64", "b")] {
        fs::write(place.join(format!("kubectl-rollwright-{platform}.tar.gz")), content).unwrap();
    }
    let manifest = ok(script("manifest").arg(env!("CARGO_PKG_VERSION")).arg(&place));
    let manifest: Value = serde_saphyr::from_str(&manifest).unwrap();
    assert_eq!(manifest["metadata"]["name"], "rollwright");
    assert_eq!(manifest["spec"]["version"], format!("v{}", env!("CARGO_PKG_VERSION")));
    let platforms = manifest["spec"]["platforms"].as_array().unwrap();
    let labels = |at: usize| platforms[at]["selector"]["matchLabels"].to_string();
    assert_eq!(
        (labels(0).as_str(), labels(1).as_str()),
        (r#"{"arch":"arm64","os":"darwin"}"#, r#"{"arch":"amd64","os":"linux"}"#)
    );
    // The sums of "b" and "a" (FIPS 180-4).
    let b = "3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d";
    let a = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb";
    assert_eq!((platforms[0]["sha256"].as_str(), platforms[1]["sha256"].as_str()), (Some(b), Some(a)));

    let nothing = script("manifest").arg("1.0.0").arg(directory("package-empty")).output().unwrap();
    assert!(!nothing.status.success());
}
