//! The guard of the definition on a real API server: what it refuses, and what a refused rollback leaves behind.

use std::path::Path;
use std::process::Command;
use std::{fs, io};

use serde_json::Value;

use crate::install::Site;
use crate::values::path;

const CRD: &str = "deployments.rollwright.dev";
const ALLOW: &str = "rollwright.dev/allow-removal";

/// Deletion and an older definition are refused until a person allows them.
pub(crate) async fn refuses(site: &Site, release: &str) {
    refuses_deletion(site).await;
    let number = revision(site).await;
    let before = history(site, release).await.last().unwrap().0.clone();
    refuses_rollback(site, release, (&number, &before)).await;
    site.kubectl.run(&["annotate", "crd", CRD, &format!("{ALLOW}=true")]).await.unwrap();
    site.kubectl.run(&["delete", "crd", CRD, "--dry-run=server"]).await.unwrap();
    site.helm(&["rollback", release, &before, "--wait", "--timeout=90s"]).await;
    assert_eq!(revision(site).await, number);
    site.kubectl.run(&["annotate", "crd", CRD, &format!("{ALLOW}-")]).await.unwrap();
    refused(site, &["delete", "crd", CRD, "--dry-run=server"]).await;
}

/// An upgrade to a newer definition, and back to this one and this revision of the release.
async fn refuses_rollback(site: &Site, release: &str, (number, before): (&str, &str)) {
    let next = (number.parse::<u32>().unwrap() + 1).to_string();
    let newer = chart(site, number, &next);
    let upgrade = ["upgrade", release, &newer, "--wait", "--timeout=90s", "--set=controller.workers=5"];
    site.helm(&upgrade).await;
    assert_eq!(revision(site).await, next);
    let told = site.helm_fails(&["rollback", release, before]).await;
    assert!(told.contains("older than") && told.contains(&format!("{ALLOW}=true")), "{told}");
    left_behind(site, release, &next).await;
    site.helm(&upgrade).await;
    assert_eq!(history(site, release).await.last().unwrap().1, "deployed");
    // Without the number, too.
    let remove = ["annotate", "crd", CRD, "rollwright.dev/definition-revision-"];
    assert!(refused(site, &remove).await.contains(ALLOW));
}

async fn refuses_deletion(site: &Site) {
    let crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All";
    let deletions: [&[&str]; 3] = [
        &["delete", "crd", CRD, "--dry-run=server"],
        &["delete", "crd", CRD, "--dry-run=server", "--cascade=orphan"],
        &["delete", "--raw", crds],
    ];
    for deletion in deletions {
        let told = refused(site, deletion).await;
        assert!(told.contains(&format!("{ALLOW}=true")), "{told}");
    }
    site.kubectl.run(&["label", "crd", CRD, "team=a"]).await.unwrap();
}

/// A copy of the chart; its definition has the next number.
fn chart(site: &Site, number: &str, next: &str) -> String {
    let newer = site.cluster.directory().join("newer");
    copy(&path("charts/rollwright"), &newer).unwrap();
    let definition = newer.join("files/crd.yaml");
    let text = fs::read_to_string(&definition).unwrap();
    let numbered = |number: &str| format!("definition-revision: \"{number}\"");
    let raised = text.replace(&numbered(number), &numbered(next));
    assert_ne!(raised, text);
    fs::write(&definition, raised).unwrap();
    newer.display().to_string()
}

/// The rollback is a failed revision of the release, and no revision counts as deployed. Helm has restored everything
/// but the definition: an older operator works with a newer definition.
async fn left_behind(site: &Site, release: &str, number: &str) {
    let history = history(site, release).await;
    let (last, earlier) = history.split_last().unwrap();
    assert_eq!(last.1, "failed", "{history:?}");
    assert!(earlier.iter().all(|(_, status)| status == "superseded"), "{history:?}");
    assert_eq!(revision(site).await, number);
    let operator = ["get", "deployments.apps", "-n", crate::install::NAMESPACE];
    let operator = site.kubectl.json(&operator).await.unwrap();
    assert!(operator.to_string().contains("--workers=16"), "{operator}");
}

async fn refused(site: &Site, arguments: &[&str]) -> String {
    // A policy counts a moment after it was created.
    let mut told = None;
    for _ in 0..100 {
        let output = site.kubectl.output(arguments, "").await.unwrap();
        if !output.success {
            told = Some(output.stderr);
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    told.unwrap_or_else(|| panic!("{arguments:?} is not refused"))
}

async fn revision(site: &Site) -> String {
    let definition = site.kubectl.json(&["get", "crd", CRD]).await.unwrap();
    definition["metadata"]["annotations"]["rollwright.dev/definition-revision"].as_str().unwrap().to_owned()
}

/// Number and status of each revision of a release.
async fn history(site: &Site, release: &str) -> Vec<(String, String)> {
    let text = site.helm(&["history", release, "-o", "json"]).await;
    let revisions: Vec<Value> = serde_json::from_str(&text).unwrap();
    let entry = |one: &Value| (one["revision"].to_string(), one["status"].as_str().unwrap().to_owned());
    revisions.iter().map(entry).collect()
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let status = Command::new("cp").arg("-a").args([from, to]).status()?;
    if status.success() { Ok(()) } else { Err(io::Error::other(format!("cp ended with {status}"))) }
}
