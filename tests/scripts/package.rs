//! The archive of `kubectl rollwright` and its krew manifest, as a release makes them.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use cluster::Binary;
use serde_json::Value;

use crate::place::{directory, ok, path_with, root};

const PLUGIN: &str = env!("CARGO_BIN_EXE_kubectl-rollwright");
const ARCHIVE: &str = "kubectl-rollwright-linux-amd64.tar.gz";

fn script(name: &str) -> Command {
    Command::new(root().join("deploy/krew").join(name))
}

/// What is in the archive works by itself, and the same input makes the same archive.
#[test]
fn the_archive_holds_what_belongs_to_the_plugin() {
    let (first, second) = (directory("package-one"), directory("package-two"));
    for directory in [&first, &second] {
        ok(script("package").arg(PLUGIN).arg("linux-amd64").arg(directory));
    }
    assert_eq!(fs::read(first.join(ARCHIVE)).unwrap(), fs::read(second.join(ARCHIVE)).unwrap());

    let place = directory("package-unpacked");
    ok(Command::new("tar").arg("xzf").arg(first.join(ARCHIVE)).arg("-C").arg(&place));
    let path = format!("{}:/usr/bin:/bin", place.display());
    let verbs = ok(Command::new(place.join("kubectl_complete-rollwright")).arg("roll").env("PATH", path));
    assert_eq!(verbs.lines().next().unwrap().split('\t').next(), Some("rollout"), "{verbs}");
    for file in ["LICENSE", "man/kubectl-rollwright-undo.1", "completions/kubectl-rollwright.bash"] {
        assert!(place.join(file).is_file(), "{file}");
    }
    what_krew_says_makes_kubectl_complete(&first, &place);
}

/// krew unpacks the archive and links the plugin, and no more. The rest is in its caveats.
fn what_krew_says_makes_kubectl_complete(archives: &Path, unpacked: &Path) {
    let manifest = ok(script("manifest").arg("1.0.0").arg(archives));
    let manifest: Value = serde_saphyr::from_str(&manifest).unwrap();
    let platform = &manifest["spec"]["platforms"][0];
    assert!(platform["files"].is_null(), "all files are installed: {platform}");
    let krew = directory("package-krew");
    let bin = krew.join("bin");
    fs::create_dir_all(&bin).unwrap();
    symlink(unpacked.join(platform["bin"].as_str().unwrap()), bin.join("kubectl-rollwright")).unwrap();
    symlink(Binary::Kubectl.locate().unwrap(), bin.join("kubectl")).unwrap();

    let caveats = manifest["spec"]["caveats"].as_str().unwrap();
    let commands: Vec<&str> = caveats.lines().filter_map(|line| line.strip_prefix("  ")).collect();
    assert_eq!(commands.len(), 2, "{caveats}");
    let shell = |text: &str| {
        let mut command = Command::new("sh");
        command.args(["-ec", text]).env("KREW_ROOT", &krew).env("PATH", path_with(&bin));
        command
    };
    ok(&mut shell(&commands.join("\n")));
    let completed = ok(&mut shell("kubectl __complete rollwright und"));
    assert!(completed.starts_with("undo\t"), "{completed}");
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
