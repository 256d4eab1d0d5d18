//! The names under which acts are counted.

use crate::scenario::{Act, JobAct};

/// How an act is counted.
pub(super) fn name(act: &Act) -> &'static str {
    match act {
        Act::Template(_) => "act template",
        Act::Scale(_) => "act scale",
        Act::TemplateAndScale(..) => "act template and scale",
        Act::Pause(_) => "act pause",
        Act::RollBack(_) => "act rollback",
        Act::Strategy(_) => "act strategy",
        Act::HistoryLimit(_) => "act history limit",
        Act::MinReady(_) => "act min ready",
        Act::Annotate(_) => "act annotate",
        Act::OrphanAndReturn => "act orphan",
        Act::ScaleSet(..) => "act foreign size",
        Act::Garbage(..) => "act garbage",
        Act::Unlabel(_) => "act unlabel",
        Act::Unmark(_) => "act unmark",
        Act::Disown(_) => "act disown",
        Act::DeleteSet(_) => "act delete set",
        Act::DeletePod(_) => "act delete pod",
        Act::TakeName(..) => "act take name",
        Act::Restart(_) => "act restart",
        Act::Pin(..) => "act pin",
        Act::PinNothing => "act pin nothing",
        Act::DeletePinned => "act delete pinned",
        Act::Lack(_) => "act lack",
        Act::Crash(_) => "act crash",
        Act::Unpin => "act unpin",
        Act::Policy(..) => "act policy",
        Act::Retry(_) => "act retry",
        Act::Abort(_) => "act abort",
        Act::Stages(..) => "act steps",
        Act::Promote(..) => "act promote",
        Act::Forget => "act forget",
        Act::Spoil(_) => "act spoil",
        Act::Hold(_) => "act hold",
        Act::Continue => "act continue",
        Act::Jobs(JobAct::Hooks(..)) => "act hooks",
        Act::Jobs(JobAct::Delete(_)) => "act delete job",
        Act::Jobs(JobAct::Force(..)) => "act force",
    }
}
