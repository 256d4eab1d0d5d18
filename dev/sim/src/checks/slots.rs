//! TU-1 to TU-3: a slot is given back, nobody waits while there is room, and namespaces take slots in rotation.

use crate::checks::Verdict;
use crate::conduct::{Conduct, Grant};
use crate::engine::{MILLISECOND, Time};
use crate::subject::Which;

/// So much later than it was granted a slot may be taken: events that arrive together, a cooldown, a worker.
const JITTER: Time = 400 * MILLISECOND;

/// Slots are about to be granted again, [`SLOTS_LOOK`](engine::durations::SLOTS_LOOK) after the last time. Returns who
/// should not wait any more, and whether slots that should have been given back keep them waiting.
pub(crate) fn kept_waiting(conduct: &Conduct, limit: usize, now: Time) -> Option<(&'static str, String)> {
    if conduct.able.is_none_or(|since| since > conduct.told) || conduct.holders(now) >= limit {
        return None;
    }
    let queued = conduct.queued();
    let which = queued.intersection(&conduct.waited).next()?;
    if conduct.waited.difference(&queued).count() >= conduct.room {
        // Others took the room that there was.
        return None;
    }
    let slots = conduct.keys.values().filter(|known| known.slot.is_some()).count();
    let (holders, waits) = (conduct.holders(now), queued.len());
    match conduct.overdue(now).filter(|_| slots >= limit) {
        Some((holder, known)) => {
            let why = if known.is_served { "its pods were all there" } else { "it last wrote" };
            let text = format!(
                "Deployment {which} waits for its turn, since {holder} keeps a slot that ended after {why}; \
                 {holders} of {limit} hold one, {waits} wait"
            );
            Some(("TU-1", text))
        }
        None => {
            let text = format!("Deployment {which} waits for its turn, and {holders} of {limit} hold a slot");
            Some(("TU-2", text))
        }
    }
}

/// TU-3: between two grants to one namespace, each other one in which somebody waited got one.
pub(crate) fn rotate<'a>(
    conduct: &Conduct,
    now: Time,
    namespace_of: impl Fn(Which) -> Option<&'a str>,
) -> Verdict {
    let settled = |grant: &&Grant| grant.at + JITTER <= now;
    let Some(last) = conduct.grants.iter().rfind(settled) else { return Ok(()) };
    let before =
        conduct.grants.iter().rev().find(|grant| grant.namespace == last.namespace && grant.at < last.at);
    let Some(before) = before.filter(|before| before.at + 2 * JITTER < last.at) else { return Ok(()) };
    let from = before.at.saturating_sub(JITTER);
    for which in conduct.queued() {
        let since = conduct.keys.get(&which).and_then(|known| known.wait).map(|wait| wait.since);
        let Some(namespace) = namespace_of(which).filter(|namespace| *namespace != last.namespace) else {
            continue;
        };
        // A slot may come to somebody who does not use it.
        let got_one = conduct.used.get(namespace).is_some_and(|used| *used >= from);
        if since.is_some_and(|since| since < from) && !got_one {
            return Err(format!(
                "{} got two turns ({} ms, {} ms), and nobody of {namespace} one, where {which} waits",
                last.namespace,
                before.at / MILLISECOND,
                last.at / MILLISECOND
            ));
        }
    }
    Ok(())
}
