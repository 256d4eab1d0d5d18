//! What blocks a rollout, of all its pods.

use serde_json::Value;

use crate::cause::Cause;
use crate::pod::obstacle;
use crate::read::text;
use crate::words::Words;

/// The most blockers that are reported.
pub const MOST: usize = 5;

/// One thing that blocks, and in how many pods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocker {
    /// What it is.
    pub cause: Cause,
    /// The container that it is about; empty if it is about whole pods.
    pub container: String,
    /// The reason that Kubernetes gives; empty if it gives none.
    pub reason: String,
    /// The pods that have it.
    pub pods: usize,
    /// The pods that were looked at.
    pub of: usize,
    /// What the pods do, in words that follow "2 pods of web-5f9".
    pub message: String,
    /// The name of one of the pods.
    pub pod: String,
}

impl Blocker {
    /// What it is known by: counts and texts change while it stays the same.
    #[must_use]
    pub fn key(&self) -> (Cause, &str, &str) {
        (self.cause, &self.container, &self.reason)
    }
}

/// What keeps these pods from being ready, what most of them have first. The same pods give the same
/// answer, in whatever order they come.
#[must_use]
pub fn blockers(pods: &[Value], events: &[Value], words: Words) -> Vec<Blocker> {
    let mut sorted: Vec<&Value> = pods.iter().collect();
    sorted.sort_by_key(|pod| text(pod, "/metadata/name"));
    let mut found: Vec<Blocker> = Vec::new();
    for pod in sorted {
        let Some(obstacle) = obstacle(pod, events, words) else { continue };
        let key = (obstacle.cause, obstacle.container.as_str(), obstacle.reason.as_str());
        if let Some(known) = found.iter_mut().find(|known| known.key() == key) {
            known.pods += 1;
            continue;
        }
        found.push(Blocker {
            cause: obstacle.cause,
            container: obstacle.container,
            reason: obstacle.reason,
            pods: 1,
            of: pods.len(),
            message: obstacle.text,
            pod: text(pod, "/metadata/name").to_owned(),
        });
    }
    found.sort_by(|a, b| b.pods.cmp(&a.pods).then_with(|| a.key().cmp(&b.key())));
    found.truncate(MOST);
    found
}

#[cfg(test)]
mod tests;
