//! `deploy/release`: every step of a release, in a copy of the repository with the section in its changelog.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cluster::Binary;
use serde_json::Value;

use crate::place::{directory, ok, output, path_with, program, root};

const VERSION: &str = env!("CARGO_PKG_VERSION");
const IMAGE: &str = "ghcr.io/rollwright/rollwright";
const DIGEST: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// What a release is made from, with a section of the changelog for this version.
fn copy(name: &str, version: &str) -> PathBuf {
    let copy = directory(name);
    let parts = ["Cargo.toml", "CHANGELOG.md", "LICENSE", "charts", "crds", "deploy"];
    ok(Command::new("cp").arg("-r").args(parts.map(|part| root().join(part))).arg(&copy));
    rewrite(&copy.join("CHANGELOG.md"), "## [Unreleased]\n", &format!("## [{version}]\n"));
    for file in ["Cargo.toml", "charts/rollwright/Chart.yaml", "deploy/base/operator.yaml"] {
        let text = fs::read_to_string(copy.join(file)).unwrap();
        let lines = text.lines().map(|line| {
            let names_it = ["version: ", "appVersion: ", "version = ", "image: "];
            let is_ours = names_it.iter().any(|begin| line.trim_start().starts_with(begin));
            if is_ours { line.replace(VERSION, version) } else { line.to_owned() }
        });
        fs::write(copy.join(file), lines.map(|line| line + "\n").collect::<String>()).unwrap();
    }
    copy
}

fn rewrite(path: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.contains(from), "{}: {from}", path.display());
    fs::write(path, text.replace(from, to)).unwrap();
}

fn release(copy: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(copy.join("deploy/release"));
    command.args(words).env("HELM", helm()).env("KUBECTL", Binary::Kubectl.locate().unwrap());
    command
}

fn helm() -> PathBuf {
    Binary::Helm.locate().unwrap()
}

#[test]
fn a_tag_that_is_not_the_version_is_refused() {
    let copy = copy("release-tags", VERSION);
    assert_eq!(ok(&mut release(&copy, &["check", &format!("v{VERSION}")])), "");
    let cases: [(&str, &[&str]); 4] = [
        (
            "v9.8.7",
            &["the tag v9.8.7 stands for version 9.8.7, but Cargo.toml has", "Chart.yaml(appVersion)"],
        ),
        ("v9.8.7-rc.1", &["stands for version 9.8.7-rc.1", "no section \"## [9.8.7-rc.1]\""]),
        ("v1", &["the tag v1 is not vMAJOR.MINOR.PATCH, such as v0.1.0 or v0.1.0-rc.1"]),
        (VERSION, &["is not vMAJOR.MINOR.PATCH"]),
    ];
    for (tag, said) in cases {
        let out = copy.join("out");
        for words in
            [vec!["check", tag], vec!["assets", tag, DIGEST, "/nowhere", "out"], vec!["upload", tag, "out"]]
        {
            let (success, text) = output(&mut release(&copy, &words));
            assert!(!success && said.iter().all(|said| text.contains(said)), "{words:?}: {text}");
        }
        assert!(!out.exists(), "{tag}: something was written");
    }
}

#[test]
fn notes_are_the_section_of_the_version() {
    let copy = copy("release-notes", VERSION);
    let changelog = "# Changelog\n\n## [Unreleased]\n\n- later\n\n## [0.2.0] - 2026-12-01\n\n### Added\n\n- this\n\n\
                     ## [0.2.0-rc.1]\n\n- before\n\n## [0.3.0]\n\n";
    fs::write(copy.join("CHANGELOG.md"), changelog).unwrap();
    assert_eq!(ok(&mut release(&copy, &["notes", "v0.2.0"])), "### Added\n\n- this\n");
    assert_eq!(ok(&mut release(&copy, &["notes", "v0.2.0-rc.1"])), "- before\n");
    for (version, what) in [("v0.1.0", "not there"), ("v0.3.0", "empty")] {
        let (success, text) = output(&mut release(&copy, &["notes", version]));
        assert!(!success && text.contains("CHANGELOG.md has no section"), "{what}: {text}");
    }
}

/// Everything that a release consists of. The archive of the plugin is a stand-in: that of a program with
/// debug information takes long to pack.
fn assets(copy: &Path, version: &str) -> PathBuf {
    let (plugins, out) = (copy.join("plugins"), copy.join("out"));
    fs::create_dir_all(&plugins).unwrap();
    fs::write(plugins.join("kubectl-rollwright-linux-amd64.tar.gz"), "plugin").unwrap();
    let (plugins, shown) = (plugins.display().to_string(), out.display().to_string());
    ok(&mut release(copy, &["assets", &format!("v{version}"), DIGEST, &plugins, &shown]));
    out
}

fn names(directory: &Path) -> Vec<String> {
    let files = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = files.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_release_up_to_the_upload() {
    let copy = copy("release-assets", VERSION);
    let out = assets(&copy, VERSION);
    let expected = [
        "kubectl-rollwright-linux-amd64.tar.gz".to_owned(),
        "notes.md".to_owned(),
        format!("rollwright-{VERSION}.tgz"),
        format!("rollwright-{VERSION}.yaml"),
        format!("rollwright-crd-{VERSION}.yaml"),
        "rollwright-krew.yaml".to_owned(),
    ];
    assert_eq!(names(&out), expected);
    let manifests = fs::read_to_string(out.join(format!("rollwright-{VERSION}.yaml"))).unwrap();
    assert!(manifests.contains(&format!("image: {IMAGE}:{VERSION}@{DIGEST}\n")), "{manifests}");
    let notes = fs::read_to_string(out.join("notes.md")).unwrap();
    assert!(notes.starts_with(|letter: char| !letter.is_whitespace()) && !notes.contains("## ["), "{notes}");
    let krew: Value =
        serde_saphyr::from_str(&fs::read_to_string(out.join("rollwright-krew.yaml")).unwrap()).unwrap();
    assert_eq!(krew["spec"]["version"], format!("v{VERSION}"));
}

/// Outside a clone, the chart's README has no files beside it.
#[test]
fn links_of_the_published_readme_lead_to_the_tag() {
    let copy = copy("release-readme", VERSION);
    let chart = assets(&copy, VERSION).join(format!("rollwright-{VERSION}.tgz"));
    let readme = ok(Command::new(helm()).args(["show", "readme"]).arg(&chart));
    let sections: Vec<&str> = readme.lines().filter(|line| line.starts_with("## ")).collect();
    assert_eq!(sections[0], "## Install");
    let at_tag =
        format!("](https://github.com/rollwright/rollwright/blob/v{VERSION}/docs/how-to/security.md)");
    assert!(!readme.contains("](..") && readme.contains(&at_tag), "{readme}");
}

/// The chart of a release pulls its image by digest, unless its user names another one.
#[test]
fn the_chart_of_a_release_gives_way_to_its_user() {
    let copy = copy("release-chart", VERSION);
    let chart = assets(&copy, VERSION).join(format!("rollwright-{VERSION}.tgz"));
    let other = DIGEST.replace("e3b0", "0000");
    let cases = [
        ("image.pullPolicy=Always".to_owned(), format!("{IMAGE}@{DIGEST}")),
        ("image.tag=mine".to_owned(), format!("{IMAGE}:mine")),
        ("image.digest=".to_owned() + &other, format!("{IMAGE}@{other}")),
        (format!("image.tag=mine,image.digest={other}"), format!("{IMAGE}:mine@{other}")),
        (
            "image.registry=mirror.example".to_owned(),
            format!("mirror.example/rollwright/rollwright:{VERSION}"),
        ),
        ("image.repository=me/rollwright".to_owned(), format!("ghcr.io/me/rollwright:{VERSION}")),
    ];
    for (set, image) in cases {
        let rendered =
            ok(Command::new(helm()).args(["template", "rollwright"]).arg(&chart).args(["--set", &set]));
        let images: Vec<&str> =
            rendered.lines().filter_map(|line| line.trim_start().strip_prefix("image: ")).collect();
        let image = format!("\"{image}\"");
        assert!(!images.is_empty() && images.iter().all(|found| *found == image), "{set}: {images:?}");
    }
}

/// A program that writes down how it was called.
fn recorder(directory: &Path, name: &str) {
    let log = directory.join("calls").display().to_string();
    program(&directory.join(name), &format!("echo {name} \"$@\" >>{log}; echo 'Digest: {DIGEST}'"));
}

#[test]
fn an_upload_knows_a_pre_release() {
    for (version, is_early) in [(VERSION.to_owned(), false), (format!("{VERSION}-rc.1"), true)] {
        let copy = copy(&format!("release-upload-{is_early}"), &version);
        let out = assets(&copy, &version).display().to_string();
        let programs = copy.join("programs");
        fs::create_dir_all(&programs).unwrap();
        for name in ["gh", "cosign", "helm", "oras"] {
            recorder(&programs, name);
        }
        let tag = format!("v{version}");
        let sbom = copy.join("sbom.json");
        fs::write(&sbom, "{}").unwrap();
        let sbom = sbom.display().to_string();
        ok(release(&copy, &["sign", &tag, &sbom, &out]).env("PATH", path_with(&programs)));
        signed(&programs, &sbom, &out);
        let mut upload = release(&copy, &["upload", &tag, &out]);
        ok(upload.env("PATH", path_with(&programs)).env("HELM", "helm"));
        let calls = fs::read_to_string(programs.join("calls")).unwrap();
        let calls: Vec<&str> = calls.lines().collect();
        assert_eq!(
            calls[0],
            format!("helm push {out}/rollwright-{version}.tgz oci://ghcr.io/rollwright/charts")
        );
        assert_eq!(calls[1], format!("cosign sign --yes ghcr.io/rollwright/charts/rollwright@{DIGEST}"));
        let begin = "oras push ghcr.io/rollwright/charts/rollwright:artifacthub.io --config /dev/null:";
        assert!(calls[2].starts_with(begin) && calls[2].contains(" artifacthub-repo.yml:"), "{}", calls[2]);
        let begin =
            format!("gh release create {tag} --verify-tag --title {version} --notes-file {out}/notes.md ");
        assert!(calls[3].starts_with(&begin), "{}", calls[3]);
        assert_eq!(calls[3].contains(" --prerelease "), is_early, "{}", calls[3]);
        assert_eq!(calls[3].matches(&out).count(), 7, "the notes and six files: {}", calls[3]);
    }
}

/// Each file but the notes has a signature and an attestation. Forgets the calls.
fn signed(programs: &Path, sbom: &str, out: &str) {
    let calls = fs::read_to_string(programs.join("calls")).unwrap();
    let mut expected = String::new();
    for name in names(Path::new(out)).iter().filter(|name| *name != "notes.md") {
        let file = format!("{out}/{name}");
        expected.push_str(&format!(
            "cosign sign-blob --yes --new-bundle-format --bundle {file}.sigstore.json {file}\n\
             cosign attest-blob --yes --new-bundle-format --type cyclonedx --predicate {sbom} --bundle \
             {file}.sbom.sigstore.json {file}\n"
        ));
    }
    assert_eq!(expected.lines().count(), 12);
    assert_eq!(calls, expected);
    fs::remove_file(programs.join("calls")).unwrap();
}
