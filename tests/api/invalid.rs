//! Every manifest of `tests/invalid` is refused, with the message that its first line names.

use std::fs;

use futures::StreamExt as _;

use crate::suite::{manifests, suite};

/// kubectl processes at a time.
const PARALLEL: usize = 4;

#[tokio::test(flavor = "multi_thread")]
async fn invalid_manifests_are_refused_with_a_message_that_helps() {
    let suite = suite().await;
    let kubectl = &suite.kubectl;
    let files = manifests("tests/invalid");
    assert!(files.len() >= 12, "{} manifests", files.len());
    let wrong: Vec<String> = futures::stream::iter(files)
        .map(|path| async move {
            let text = fs::read_to_string(&path).unwrap();
            let expected = text.lines().next().and_then(|line| line.strip_prefix("# expect: ")).unwrap();
            let output = kubectl.output(&["create", "--dry-run=server", "-f", "-"], &text).await.unwrap();
            let refused = !output.success && output.stderr.contains(expected);
            (!refused).then(|| format!("{}: expected {expected:?}, got {output:?}", path.display()))
        })
        .buffer_unordered(PARALLEL)
        .filter_map(std::future::ready)
        .collect()
        .await;
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
