//! SP-3: which ReplicaSet is kept.

use plan::ReplicaSet;

use crate::checks::steps::stepped;
use crate::checks::{Accepted, Verdict};
use crate::verdict::{self, inferred, is_aside, is_first_choice, is_on_its_way, ran_last, revision, serves};
use crate::walk::word;

/// SP-3: of the old ReplicaSets that serve, the good one that ran last and was not put aside is kept, or a newer one
/// that was in its bake.
pub(super) fn best_is_kept(write: &Accepted<'_>) -> Option<Verdict> {
    let (_, new) = stepped(write)?;
    let view = write.view();
    let kept = word(new, "kept")?;
    // What is adopted, by no action of a plan, remembers what it kept, and another write stores nothing about it.
    write.action().filter(|_| write.after.is_some_and(|after| after.uid() == new.uid))?;
    if view
        .new_set()
        .is_some_and(|known| known.set.uid == new.uid && word(&known.set, "kept") == Some(kept.clone()))
    {
        return None;
    }
    let olds = || view.owned().map(|view| &*view.set).filter(|set| set.uid != new.uid && !set.deleting);
    let Some(set) = olds().find(|set| set.name == kept) else {
        return Some(Err(format!("{kept} is kept, and is not there")));
    };
    let sets: Vec<_> = view.owned().map(|view| &*view.set).collect();
    // Beside the first choice, what bakes is no better than any other.
    let bake = view.workload.status.ours.bake.as_ref().filter(|_| !is_first_choice(&sets, new));
    let bakes = bake.is_some_and(|bake| Some(bake.revision) == revision(set));
    if view.workload.replicas == 0 && !serves(&sets, new) {
        return Some(kept_while_idle(set, new, &sets, bakes));
    }
    let has_pods = |set: &ReplicaSet| set.size > 0 || set.status.replicas > 0;
    let serving = || olds().filter(|set| has_pods(set));
    let by_run = |set: &&ReplicaSet| (!is_aside(&sets, set, Some(&new.uid)), ran_last(set));
    let newest = serving().filter(|set| verdict::says(set, "Good")).max_by_key(by_run);
    // One that failed is the last to be kept, and one that never left its steps the last but one.
    let rank = |set: &ReplicaSet| (!verdict::says(set, "Failed"), !is_on_its_way(set));
    let available = |set: &&ReplicaSet| set.status.available > 0;
    let best = serving().filter(available).map(rank).max();
    let most = serving().filter(|set| best.is_none_or(|best| rank(set) == best));
    let most = most.map(|set| set.status.available).max().unwrap_or(0);
    let is_inferred = inferred(olds(), new).is_some_and(|inferred| inferred.name == kept);
    Some(match newest {
        Some(good) if good.name == kept || bakes && ran_last(set) > ran_last(good) => Ok(()),
        Some(good) => Err(format!("{kept} is kept, and {} is good and has pods", good.name)),
        None if bakes || is_inferred => Ok(()),
        None if is_first_choice(&sets, new) => Err(format!("{kept} is kept, and is not good")),
        None if most == 0 => Ok(()),
        None if has_pods(set)
            && set.status.available == most
            && best.is_none_or(|best| rank(set) == best) =>
        {
            Ok(())
        }
        None => Err(format!("{kept} is kept, and another one has more available pods")),
    })
}

/// Without replicas, the pods that are still reported decide nothing: the good one that ran last is kept, or a newer one
/// that was in its bake. Where none is good, one that was put aside, or never left its steps, is not kept.
fn kept_while_idle(kept: &ReplicaSet, new: &ReplicaSet, sets: &[&ReplicaSet], bakes: bool) -> Verdict {
    let is_aside = |set: &ReplicaSet| is_aside(sets, set, Some(&new.uid));
    let olds = sets.iter().filter(|set| set.uid != new.uid && !set.deleting);
    let best =
        olds.filter(|set| verdict::says(set, "Good") && !is_aside(set)).max_by_key(|set| ran_last(set));
    let has_run = !verdict::says(kept, "Failed") && !is_aside(kept) && !is_on_its_way(kept);
    let (is_right, name) = match best {
        Some(best) => (best.name == kept.name || bakes && ran_last(kept) > ran_last(best), &*best.name),
        // A good one that was put aside gets no pods, but the canary has steps.
        None => (!verdict::says(new, "Good") && (has_run || verdict::says(kept, "Good")), "none"),
    };
    is_right
        .then_some(())
        .ok_or_else(|| format!("{} is kept, and of the good ones {name} ran last", kept.name))
}
