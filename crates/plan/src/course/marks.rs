//! Progress under a failure policy: the most pods that there ever were of the declared revision (FP-3). A pod that
//! becomes ready again and again is no progress, so it does not put the deadline off for ever.

use crate::model::observed::ReplicaSet;
use crate::model::status::Marks;

impl Marks {
    /// The marks once a ReplicaSet of this revision reports what it does, at most the number of replicas each. Another
    /// revision begins at what is there.
    pub(crate) fn raised(known: Option<&Self>, set: &ReplicaSet, revision: i64, replicas: i64) -> Self {
        if set.size == 0 {
            // The revision begins again: its template was replaced for a moment, and was restored.
            return Self { revision, replicas, ..Self::default() };
        }
        let known = known.filter(|known| known.revision == revision).copied().unwrap_or_default();
        let mark = |known: i64, now: i64| known.min(replicas).max(now.min(replicas));
        Self {
            revision,
            replicas,
            updated: mark(known.updated, set.status.replicas),
            ready: mark(known.ready, set.status.ready),
            available: mark(known.available, set.status.available),
            // Not by the marks: a pod that never became available may be among those that are left of fewer replicas.
            complete: known.complete || replicas > 0 && set.status.available >= replicas,
        }
    }

    /// Whether these are progress after others: a new revision is, another number of replicas is not. A ReplicaSet that
    /// begins again has all its time.
    pub(crate) fn improve(&self, known: Option<&Self>) -> bool {
        let Some(known) = known.filter(|known| known.revision == self.revision) else { return true };
        let within = |count: i64| count.min(known.replicas).min(self.replicas);
        let is_higher = |now: i64, before: i64| within(now) > within(before);
        self.begin_again(known)
            || is_higher(self.updated, known.updated)
            || is_higher(self.ready, known.ready)
            || is_higher(self.available, known.available)
    }

    /// Whether the ReplicaSet of these has lost its size since.
    pub(crate) fn begin_again(&self, known: &Self) -> bool {
        (self.revision, self.replicas) == (known.revision, known.replicas) && self.updated < known.updated
    }
}
