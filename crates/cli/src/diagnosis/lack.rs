//! What the pods of a revision lack.

use api::Target;
use diagnosis::{Cause, Words, blockers};
use plan::Why;

use super::course::{self, back};
use super::facts::{Diagnosis, Facts, Verdict};
use crate::history::Revision;
use crate::obstacle::{next, next_of_refusal};
use crate::table::counted;

/// What the revision that runs instead waits for, after a blank; empty if it has all its pods.
pub(super) fn on_the_way(facts: &Facts<'_>, target: &Target) -> String {
    if let Some(found) = refused_pod(facts).or_else(|| unready(facts)) {
        return format!(" {}", found.text);
    }
    match facts.why.as_ref().map(Why::itself) {
        Ok(Why::Converged) => String::new(),
        Ok(why) => {
            let number = target.revision.map_or_else(String::new, |number| format!(" {number}"));
            format!(" Revision{number} is still being rolled out. {}", course::sentence(why))
        }
        Err(error) => format!(" {error}."),
    }
}

/// The server refuses pods of the ReplicaSet that runs or is rolled out.
pub(super) fn refused_pod(facts: &Facts<'_>) -> Option<Diagnosis> {
    let failure = facts.running?.status().failure?;
    (failure.status == "True").then(|| refused(facts, "a pod", &failure.message))
}

pub(super) fn refused(facts: &Facts<'_>, what: &str, message: &str) -> Diagnosis {
    let cause = Cause::of_refusal(message);
    let next = next_of_refusal(cause, message, facts.deployment.namespace());
    Diagnosis {
        verdict: Verdict::Blocked,
        cause: cause.as_str().into(),
        text: format!("The API server refuses {what} of this rollout: {}.", message.trim_end_matches('.')),
        next: Some(next.unwrap_or_else(|| back(facts, ""))),
    }
}

/// What the pods of the revision lack; the obstacle that most of them have.
pub(super) fn unready(facts: &Facts<'_>) -> Option<Diagnosis> {
    // The user can read the same events with kubectl. The log has the termination message.
    let worst = blockers(facts.new_pods, facts.events, Words::OfProbes).into_iter().next()?;
    let set = facts.running.map(Revision::set_name).unwrap_or_default();
    let next = next(&worst, facts.deployment.namespace());
    Some(Diagnosis {
        verdict: Verdict::Blocked,
        cause: worst.cause.as_str().into(),
        text: format!("{} of {set} {}.", counted(worst.pods, "pod"), worst.message),
        next: Some(next.unwrap_or_else(|| back(facts, &worst.container))),
    })
}
