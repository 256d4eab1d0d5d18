//! What a reconcile reports before sizes change: the end of a wait, a pause, a refused rollback, and the declared
//! ReplicaSet (S13.1, S4.4).

use crate::course::Course;
use crate::course::view::View;
use crate::decide::rollback::Request;
use crate::decide::upkeep::Upkeep;
use crate::model::action::Event;
use crate::model::conditions::Edit;
use crate::model::status::InHand;
use crate::moves::aim::{Aim, Because};
use crate::report::announce::{self, Announcement};
use crate::report::{pause, progress, queued, target};

/// What a reconcile reports before it decides about sizes: the stored status with a few conditions edited.
#[derive(Debug)]
pub(crate) struct Opening<'a> {
    pub(crate) status: InHand<'a>,
    /// apps/v1: the revision annotation, where it is another one.
    pub(crate) revision: Option<String>,
    /// Whether the status reports first that the Deployment was paused or resumed.
    pub(crate) is_pause_reported: bool,
    /// Whether there is something to report before ReplicaSets are changed.
    pub(crate) is_early: bool,
    pub(crate) events: Vec<Event>,
}

/// The end of a wait, pause (S13.1), refused rollback, and the declared ReplicaSet (S4.4), in this order.
pub(crate) fn opening<'a>(
    view: View<'a>,
    course: &Course,
    aim: &Aim,
    upkeep: &Upkeep,
    request: Request,
) -> Opening<'a> {
    let View { observed, sets, now } = view;
    let mut status = InHand::new(&observed.workload.status);
    let mut events = Vec::new();
    fold(&mut status, queued::over(&observed.workload.status));
    fold(&mut status, target::over(&observed.workload.status, course, aim));
    fold(&mut status, progress::retried(&observed.workload.status, course));
    let pause = match aim.because {
        Because::LacksSelector(_)
        | Because::SelectsAll
        | Because::Deleting
        | Because::PinTargetMissing
        | Because::NewerSpec(_) => None,
        _ => pause::noted(&observed.workload, now),
    };
    // S4.5: elsewhere upstream's reconcile conflicts with itself over a ReplicaSet that is out of step, and the next
    // one continues: the switch is reported at the end, with the counters.
    let is_pause_reported = pause.is_some() && (aim.looks_once() || !upkeep.is_needed());
    fold(&mut status, pause);
    if aim.heeds_requests() {
        fold(&mut status, request.edit());
        if let Request::Refused(refusal) = request
            && let Some((record, event)) = refusal.news
        {
            status.edit().ours.rollback = Some(record);
            events.push(event);
        }
    }
    let declared = sets.declared().filter(|_| !matches!(aim.because, Because::NewerSpec(_)));
    let found = declared.map(|set| announce::found(view, &status, aim, upkeep, set));
    let Announcement { revision, edit, is_early } = found.unwrap_or_default();
    fold(&mut status, edit);
    Opening { status, revision, is_pause_reported, is_early: is_early || is_pause_reported, events }
}

/// Applies edits in their order.
pub(crate) fn fold(status: &mut InHand<'_>, edits: impl IntoIterator<Item = Edit>) {
    edits.into_iter().for_each(|edit| edit.apply(status));
}
