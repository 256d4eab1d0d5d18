//! What `kstatus` makes of a custom resource: `Compute`, `checkGenericProperties` and
//! `checkReadyCondition` of `github.com/fluxcd/cli-utils` v1.2.2, `pkg/kstatus/status/status.go` and
//! `generic.go`, without what is about built-in kinds. `tests/e2e` asks the original.

use plan::{Status, Workload};

use super::World;

/// The answers that matter to who waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kstatus {
    Terminating,
    InProgress,
    Failed,
    Current,
}

pub(crate) fn kstatus(workload: &Workload, status: &Status) -> Kstatus {
    if workload.deleting {
        return Kstatus::Terminating;
    }
    if status.observed_generation != workload.generation {
        return Kstatus::InProgress;
    }
    for entry in status.conditions.iter().filter(|entry| entry.status == "True") {
        match entry.kind.as_str() {
            "Reconciling" => return Kstatus::InProgress,
            "Stalled" => return Kstatus::Failed,
            _ => {}
        }
    }
    match status.condition("Ready").map(|ready| ready.status.as_str()) {
        Some("False" | "Unknown") => Kstatus::InProgress,
        // Without any of these conditions a resource counts as done.
        _ => Kstatus::Current,
    }
}

impl World {
    /// Of the Deployment as it is stored.
    pub(crate) fn kstatus(&self) -> Kstatus {
        kstatus(&self.observed.workload, &self.observed.workload.status)
    }
}
