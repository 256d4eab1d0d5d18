//! What a user who watches one Deployment and its ReplicaSets would object to: those of the sentences UM-1 to UM-22 that
//! two versions of an object and the acts in between decide. `docs/internals/invariants.md` shows what checks the others.
//!
//! The rules read API objects as JSON, and use nothing of the planner, not even its types: a mistake in either would
//! excuse itself. The simulator and `tests/whole` hold every run to them.

mod rules;
mod shown;

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use world::{Object, Resource};

/// An operator may have sent a write before it could see an act (UM-10).
const UNDERWAY: SignedDuration = SignedDuration::from_secs(1);

/// Who wrote a version of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// The operator.
    Operator,
    /// A user, or another controller.
    User,
    /// Kubernetes' own controllers.
    Cluster,
}

/// A version of an object, as a watch brings it.
#[derive(Clone, Copy, Debug)]
pub struct Version<'a> {
    /// The version before; `None` for a new object.
    pub before: Option<&'a Object>,
    /// The version itself; of a deleted object the last one.
    pub object: &'a Object,
    /// Whether the object is gone.
    pub is_deleted: bool,
    /// Its writer.
    pub who: Who,
    /// When it was written, by the server's clock.
    pub now: Timestamp,
    /// Whether one operator works alone, nothing hinders it, and nobody else writes sizes or statuses. A rule about
    /// what the operator could know asks for it.
    pub is_undisturbed: bool,
}

/// A rule, with something to judge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The name of the sentence.
    pub name: &'static str,
    /// What a version has to show for the rule to judge it; runs count it.
    pub premise: &'static str,
    /// What is wrong; `None` if nothing is.
    pub broken: Option<String>,
}

/// Watches one Deployment.
#[derive(Debug, Default)]
pub struct Witness {
    deployment: Option<Object>,
    /// Its ReplicaSets by uid, and the names of those that are gone: a sentence may still name them.
    sets: BTreeMap<String, Object>,
    gone: BTreeSet<String>,
    /// The ReplicaSet of each pod that has neither failed nor succeeded.
    pods: BTreeMap<String, String>,
    /// When a user last wrote the Deployment or a ReplicaSet, and how often.
    acted: Option<Timestamp>,
    acts: u64,
    /// How many acts the operator knew when it last wrote a status.
    acts_known: u64,
    /// The same number when a ReplicaSet got its verdict.
    judged: BTreeMap<String, u64>,
    /// Whether a user ever wrote a ReplicaSet: its size may be the user's.
    has_meddled: bool,
    /// The revisions that lost, by a user's write, what their ReplicaSets remembered of their steps.
    erased: BTreeSet<i64>,
    /// The revisions that a user aborted.
    aborted: BTreeSet<i64>,
    /// When `replicas` changed last, and since when the rollout is at its step.
    scaled: Option<Timestamp>,
    at_step: Option<Timestamp>,
}

impl Witness {
    /// Judges a version of the Deployment, or of a ReplicaSet or pod of it, and remembers it.
    pub fn see(&mut self, version: &Version<'_>) -> Vec<Finding> {
        let findings = if version.who == Who::Operator && !version.is_deleted {
            rules::judge(&rules::Case { version, known: self })
        } else {
            Vec::new()
        };
        match version.object.resource {
            Resource::ReplicaSets => self.note_set(version),
            Resource::Pods => self.note_pod(version),
            _ => self.note_deployment(version),
        }
        findings
    }

    /// Whether the last act is so long ago that the operator may be expected to know of it.
    fn is_calm(&self, now: Timestamp) -> bool {
        self.acted.is_none_or(|acted| now.duration_since(acted) > UNDERWAY)
    }

    fn with_hash(&self, hash: &str) -> Option<&Object> {
        self.sets.values().find(|set| shown::label(set) == Some(hash))
    }

    fn with_revision(&self, revision: i64) -> Option<&Object> {
        self.sets.values().find(|set| shown::revision(set) == Some(revision))
    }

    /// Whether a ReplicaSet has pods, or is about to.
    fn has_pods(&self, set: &Object) -> bool {
        shown::replicas(set) != Some(0) || self.pods.values().any(|of| of == set.uid())
    }

    fn note_set(&mut self, version: &Version<'_>) {
        let Version { object, who, now, is_deleted, .. } = *version;
        let uid = object.uid().to_owned();
        if who == Who::User {
            (self.acted, self.has_meddled) = (Some(now), true);
            self.acts += 1;
            let had_steps = self.sets.get(&uid).is_some_and(shown::has_steps);
            let is_erased = had_steps && !shown::has_steps(object);
            self.erased.extend(shown::revision(object).filter(|_| is_erased));
        }
        let owner = self.deployment.as_ref().map(Object::uid);
        let is_owned = owner.is_some() && object.controller_uid() == owner;
        if is_deleted || !is_owned {
            self.gone.extend(self.sets.remove(&uid).map(|set| set.name().to_owned()));
            return;
        }
        let known = self.sets.get(&uid).and_then(shown::verdict);
        if known != shown::verdict(object) {
            // Once it runs again after a retry, it may fail by itself. A retry has no effect before it has failed.
            let retried = self.deployment.as_ref().and_then(|it| shown::request(it, "rollwright.dev/retry"));
            if known.as_deref() == Some("Failed") && retried == shown::revision(object) {
                self.aborted.retain(|revision| Some(*revision) != retried);
            }
            self.judged.insert(uid.clone(), self.acts_known);
        }
        self.sets.insert(uid, object.clone());
    }

    fn note_pod(&mut self, Version { object, is_deleted, .. }: &Version<'_>) {
        let is_over = matches!(shown::text(object, "/phase"), Some("Failed" | "Succeeded"));
        match object.controller_uid() {
            Some(set) if !is_deleted && !is_over => self.pods.insert(object.uid().to_owned(), set.to_owned()),
            _ => self.pods.remove(object.uid()),
        };
    }

    fn note_deployment(&mut self, version: &Version<'_>) {
        let Version { object, who, now, is_deleted, .. } = *version;
        if is_deleted {
            *self = Self::default();
            return;
        }
        if who == Who::User {
            self.acted = Some(now);
            self.acts += 1;
            // A revision that was retried is aborted by another text.
            let [known, text] = [self.deployment.as_ref(), Some(object)]
                .map(|it| it.and_then(|it| shown::annotation(it, "rollwright.dev/abort")));
            self.aborted.extend(shown::request(object, "rollwright.dev/abort").filter(|_| known != text));
        } else if who == Who::Operator {
            self.acts_known = self.acts;
        }
        let before = self.deployment.as_ref();
        if before.and_then(shown::replicas) != shown::replicas(object) {
            self.scaled = Some(now);
        }
        if before.and_then(shown::step) != shown::step(object) {
            self.at_step = Some(now);
        }
        self.deployment = Some(object.clone());
    }
}
