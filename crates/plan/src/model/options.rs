//! What the shell knows of a reconcile, and the cluster does not.

use jiff::Timestamp;

use crate::model::flavour::Flavour;

/// Settings that change decisions. [`Options::new`] is the one way to them, for the operator and for all who
/// plan beside it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Options {
    /// Whether `status.terminatingReplicas` is reported (S9.4).
    pub terminating_replicas: bool,
    /// Since when there is news for the status that waits; now, if it comes with this reconcile. `None`: news does
    /// not wait for more.
    pub status_waits_since: Option<Timestamp>,
    /// Whether a report without counters waits for the reconcile that brings them (rollwright.dev).
    pub joins_reports: bool,
    /// Whether the operator is busy, so that statuses wait longer for more news and the server is spared writes.
    pub is_busy: bool,
    /// Whether the operator runs Jobs, for gates and hooks (rollwright.dev).
    pub runs_jobs: bool,
    /// The present epoch of the operator (HO-1): what no other process has, its term of leadership, and the stay of the
    /// Deployment in its shard. `None` for who plans beside it.
    pub epoch: Option<[u64; 3]>,
}

/// When a reconcile makes its report.
#[derive(Clone, Copy, Debug)]
pub enum Pace {
    /// In the reconcile itself: for bad news, for who looks at one reconcile alone, or beside a controller that knows
    /// no pace.
    EachReconcile,
    /// As the operator does it: what can wait does so for a moment, or joins the next report.
    Paced {
        /// The API that the Deployment belongs to.
        flavour: Flavour,
        /// Since when there is news for the status, or now; `None` if it does not wait for more.
        since: Option<Timestamp>,
        /// Whether the operator is busy, so that statuses wait longer for more news.
        is_busy: bool,
    },
}

impl Options {
    /// `terminating_replicas`: whether ReplicaSets report pods that terminate, so that the Deployment does.
    #[must_use]
    pub fn new(terminating_replicas: bool, pace: Pace) -> Self {
        let unpaced = Self {
            terminating_replicas,
            status_waits_since: None,
            joins_reports: false,
            is_busy: false,
            runs_jobs: true,
            epoch: None,
        };
        match pace {
            Pace::EachReconcile => unpaced,
            Pace::Paced { flavour, since: status_waits_since, is_busy } => {
                let joins_reports = flavour.has_status_extras();
                Self { status_waits_since, joins_reports, is_busy, ..unpaced }
            }
        }
    }

    /// The same for a reconcile that makes its report itself.
    #[must_use]
    pub fn unpaced(self) -> Self {
        Self { status_waits_since: None, joins_reports: false, is_busy: false, ..self }
    }

    /// The same in this epoch of the operator.
    #[must_use]
    pub fn in_epoch(self, epoch: Option<[u64; 3]>) -> Self {
        Self { epoch, ..self }
    }
}
