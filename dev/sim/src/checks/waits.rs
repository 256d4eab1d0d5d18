//! KF-1, WT-1, RI-1, RS-1, LD-1: no key is forgotten, and each wait ends with its reason. A competing controller is
//! forgiven, a rest is as short as it should be, and what is in doubt is looked at.

use ::engine::durations::{
    BACKOFF_MAX, BUCKET_DEBT_MAX, CHANGED_AGAIN_MAX, COOLDOWN, COOLDOWN_MAX, EARLY_AGAIN, GATHER_MAX,
    HEED_AFTER, RIVAL_SILENCE,
};
use ::engine::waits::Reason;
use plan::durations::{NAMES_HELD, STATUS_WAITS_BUSY};

use crate::checks::Verdict;
use crate::conduct::{Conduct, Known, Waiting};
use crate::engine::{MILLISECOND, Time, nanoseconds};
use crate::subject::Which;

/// For two clocks that are read one after the other.
const SLACK: Time = 5 * MILLISECOND;

/// A worker takes a key: not later than the end of its wait, or after news.
pub(crate) fn taken_in_time(
    conduct: &Conduct,
    known: &Known,
    now: Time,
) -> Result<(), (&'static str, String)> {
    let Some(able) = conduct.able else { return Ok(()) };
    let is_late = |due: Time| due.max(able).max(known.ended) + SLACK < now;
    let (rest, gathering) = (nanoseconds(COOLDOWN), nanoseconds(GATHER_MAX));
    // News are gathered, even if a wait or a rest ends meanwhile.
    let gathered = known.news.map_or(0, |news| news.max(known.wrote + rest) + gathering);
    // The queue also gathers what turns out to be no news.
    let stirred = if known.is_stirred { gathering } else { 0 };
    let is_over = |wait: &Waiting| is_late((wait.until + stirred).max(gathered));
    if let Some(Waiting { reason, until, .. }) = known.wait.filter(is_over) {
        let late = now.saturating_sub(until) / MILLISECOND;
        let check = if reason == Reason::Cooldown { "RS-1" } else { "WT-1" };
        return Err((check, format!("it waited for {reason}, and was taken {late} ms after the end")));
    }
    let heeds = if known.is_slow { nanoseconds(HEED_AFTER) } else { gathering };
    let due = known.news.map(|news| news.max(known.wrote + rest).max(known.ended) + heeds);
    match due.filter(|due| is_late(*due)) {
        Some(due) => {
            let (late, reason) = ((now - due) / MILLISECOND, known.wait.map(|wait| wait.reason));
            Err((
                "RS-1",
                format!("there were news, and it was taken {late} ms too late; it waited for {reason:?}"),
            ))
        }
        None => Ok(()),
    }
}

/// An attempt ended with this wait: its reason is there, and the wait has to end with it.
pub(crate) fn has_a_reason(
    known: &Known,
    shown: (u64, u64),
    wait: &Waiting,
) -> Result<(), (&'static str, String)> {
    let Waiting { reason, since, until } = *wait;
    let at_most = |check: &'static str, end: Time| {
        let over = until.saturating_sub(end) / MILLISECOND;
        if until <= end + SLACK {
            Ok(())
        } else {
            Err((check, format!("it waits for {reason}, {over} ms too long")))
        }
    };
    match reason {
        Reason::CacheBehind if known.known.0 <= shown.0 && known.known.1 <= shown.1 => {
            Err(("WT-1", format!("it waits for the cache to show {:?}, which shows {shown:?}", known.known)))
        }
        Reason::Cooldown => at_most("RS-1", known.wrote + nanoseconds(COOLDOWN_MAX)),
        Reason::ServerBusy => at_most("WT-1", known.asked),
        Reason::Rival => at_most("RI-1", known.heard + nanoseconds(RIVAL_SILENCE)),
        Reason::BackingOff => at_most("WT-1", since + nanoseconds(BACKOFF_MAX + BUCKET_DEBT_MAX)),
        Reason::StatusPaced => at_most("WT-1", since + nanoseconds(STATUS_WAITS_BUSY)),
        Reason::NamesTaken => at_most("WT-1", since + nanoseconds(NAMES_HELD.max(CHANGED_AGAIN_MAX))),
        Reason::Lists => at_most("WT-1", since + nanoseconds(EARLY_AGAIN)),
        Reason::Gathering | Reason::CacheBehind | Reason::Queued | Reason::Deadline | Reason::Look => Ok(()),
    }
}

/// KF-1: what is not idle comes again by itself, is in work, or has news under way.
pub(crate) fn remembered(which: Which, is_at_rest: bool, comes: bool, known: Option<&Known>) -> Verdict {
    let is_in_work = known.is_some_and(|known| known.is_in_work);
    if is_at_rest || comes || is_in_work {
        return Ok(());
    }
    Err(format!("Deployment {which} is not at rest, and neither queued, in work, nor waiting: {known:?}"))
}

/// LD-1: a reconcile begins when the outcome of the last one's writes is known.
pub(crate) fn nothing_in_doubt(known: &Known, attempt: u64) -> Verdict {
    match known.doubts.iter().find(|(_, doubted)| **doubted != attempt) {
        Some((set, _)) => Err(format!("nobody has looked what came of a write to {set}")),
        None => Ok(()),
    }
}
