//! What comes before the pods: a complete rollout, a migration that was cut, a deletion, and what the operator does not
//! carry out.

use plan::keys::{condition, reason};

use super::facts::{Diagnosis, Facts, Verdict};
use crate::deletion::Deletion;
use crate::migrate::unfinished::Unfinished;
use crate::newer;
use crate::rollout;
use crate::terminal::clean;

/// All pods are there, or none is wanted.
pub(super) fn complete(facts: &Facts<'_>, message: &str) -> Diagnosis {
    let deployment = facts.deployment;
    let is_empty = deployment.spec().replicas == Some(0);
    let more = if is_empty { ", and no pod runs, since spec.replicas is 0" } else { "" };
    Diagnosis {
        verdict: Verdict::Complete,
        cause: "Complete".into(),
        text: format!("{message}{more}"),
        next: is_empty.then(|| format!("{} --replicas=COUNT", deployment.command("scale"))),
    }
}

/// Somebody deleted the Deployment, and something holds it.
pub(super) fn deleted(facts: &Facts<'_>) -> Option<Diagnosis> {
    let deployment = facts.deployment;
    let deletion = Deletion::of(&deployment.body)?;
    let (name, namespace) = (deployment.full_name(), deployment.namespace());
    let (verdict, more, next) = if deletion.is_held() {
        let more =
            " The program that added the finalizer has to remove it. If it is gone, remove the finalizer.";
        (Verdict::Blocked, more, format!("kubectl edit {name} -n {namespace}"))
    } else {
        (Verdict::Waiting, "", format!("kubectl wait --for=delete {name} -n {namespace} --timeout=5m"))
    };
    Some(Diagnosis {
        verdict,
        cause: "Deleted".into(),
        text: format!("The Deployment {}. The controller rolls out nothing more.{more}", deletion.words()),
        next: Some(next),
    })
}

/// A migration was cut, and only its end lets anything happen.
pub(super) fn unfinished(facts: &Facts<'_>) -> Option<Diagnosis> {
    let unfinished = Unfinished::of(facts.deployment)?;
    let (sentence, back) = (unfinished.sentence(), unfinished.back());
    Some(Diagnosis {
        verdict: Verdict::Paused,
        cause: "MigrationUnfinished".into(),
        text: format!("{sentence}. To return instead: `{back}`."),
        next: Some(unfinished.finish()),
    })
}

/// A newer operator decided what runs.
pub(super) fn newer(facts: &Facts<'_>) -> Option<Diagnosis> {
    let deployment = facts.deployment;
    let left = newer::left(&deployment.status()).filter(|_| rollout::is_observed(&deployment.body))?;
    Some(Diagnosis {
        verdict: Verdict::Blocked,
        cause: reason::NEWER_SPEC.into(),
        text: format!("The operator only scales this Deployment: {left}."),
        next: Some(format!("kubectl edit {} -n {}", deployment.full_name(), deployment.namespace())),
    })
}

/// The operator does not carry out `spec.rollbackTo`, and rolls nothing back until somebody changes that.
pub(super) fn refused_rollback(facts: &Facts<'_>) -> Option<Diagnosis> {
    let deployment = facts.deployment;
    let status = deployment.status();
    let message = rollout::refusal(&deployment.spec(), &status)?;
    Some(Diagnosis {
        verdict: Verdict::Blocked,
        cause: condition::ROLLBACK_REFUSED.into(),
        text: clean(&format!(
            "The operator refuses the rollback that spec.rollbackTo asks for: {}.",
            message.trim_end_matches('.')
        )),
        next: Some(deployment.command("history")),
    })
}
