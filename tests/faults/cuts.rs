//! The operator's cuts in a recording, judged by what the ReplicaSets had reported until then.

use crate::failure::{Outcome, ensure};
use crate::objects::{Set, summaries};
use crate::trace::{Moment, Recording};

/// Each cut that takes available pods leaves at least `floor` of them (AV-1). There has to be one:
/// without a cut nothing was judged.
///
/// Moments between which several ReplicaSets changed are of a recording that was interrupted; what
/// happened between them is not known.
pub(crate) fn ensure_leave(seen: &Recording, floor: i64) -> Outcome {
    let mut judged = 0;
    for (before, after) in seen.0.iter().zip(seen.0.iter().skip(1)) {
        if !is_cut(before, after) || kept(after) == kept(before) {
            continue;
        }
        judged += 1;
        let sets = || summaries(&after.values().cloned().collect::<Vec<_>>());
        ensure(kept(after) >= floor, &format!("a cut that leaves {floor} available pods"), sets())?;
    }
    ensure(judged > 0, "cuts of available pods", judged)
}

/// Available pods that there is room for. A ReplicaSet takes pods that are not available first (S9.21).
fn kept(moment: &Moment) -> i64 {
    moment.values().map(|set| set.available.min(set.size)).sum()
}

/// Whether one ReplicaSet became smaller, and nothing else happened.
fn is_cut(before: &Moment, after: &Moment) -> bool {
    let version = |set: &Set| set.object.metadata.resource_version.clone();
    let differs =
        |(name, set): &(&String, &Set)| after.get(*name).is_none_or(|later| version(later) != version(set));
    let mut changed = before.iter().filter(differs);
    let (Some((name, set)), None) = (changed.next(), changed.next()) else { return false };
    before.len() == after.len() && after.get(name).is_some_and(|later| later.size < set.size)
}
