//! `diff`: the declared revision against the one that runs, or the last good one.

use plan::keys::reason;
use plan::{Pin, TargetRecord};

use crate::cluster::Deployment;
use crate::code::Code;
use crate::failed;
use crate::failure::Failure;
use crate::history::{Revision, difference, revisions};
use crate::output::print_comparison;
use crate::pinned;
use crate::terminal::clean;
use crate::verbs::subject::Subject;

pub(crate) async fn diff(subject: &Subject) -> Result<Code, Failure> {
    let Subject { cluster, deployment } = subject;
    let all = revisions(cluster.sets_of(deployment).await?);
    print_comparison(&compared(deployment, &all)?)?;
    Ok(Code::Done)
}

/// What the declared revision has and the one that runs has not, and the other way round.
pub(crate) fn compared(deployment: &Deployment, all: &[Revision]) -> Result<String, Failure> {
    let declared = pinned::declared(deployment, all);
    let number = declared.map_or_else(String::new, |revision| format!(" {}", revision.number));
    let same = || Ok(format!("{} runs the declared revision{number}\n", deployment.full_name()));
    let pin = pinned::in_force(deployment);
    let is_held = pin.is_none() && pinned::has_failed(deployment, all);
    let (other, what) = if let Some((_, words)) = failed::held(&deployment.status()).filter(|_| is_held) {
        // Pods of several revisions may run, and none of them is rolled out.
        match pinned::fallback(deployment, all) {
            Some(good) => (good, "the last good one"),
            None => return Ok(format!("{}: {words}\n", deployment.full_name())),
        }
    } else if pin.is_some() || pinned::reverted_to(deployment, all).is_some() {
        let running = pinned::running(deployment, all);
        (running.ok_or_else(|| missing(pin.unwrap_or_default()))?, "runs")
    } else if let Some(old) = outgoing(all, declared) {
        (old, "still runs")
    } else {
        return same();
    };
    if declared.is_some_and(|declared| declared.uid() == other.uid()) {
        return same();
    }
    let (title, template) = match declared {
        Some(declared) => (format!("revision{number} (declared)"), &declared.template),
        None => ("the declared template, which has no revision yet".to_owned(), deployment.template()),
    };
    let text = difference(&other.template, template)?;
    let shown: &str = if text.is_empty() { "the templates are the same\n" } else { &text };
    Ok(format!("--- revision {} ({what})\n+++ {title}\n{shown}", other.number))
}

/// While a rollout is under way: of those that it replaces, the one with the most pods.
fn outgoing<'a>(all: &'a [Revision], declared: Option<&Revision>) -> Option<&'a Revision> {
    let declared = declared.map(Revision::uid);
    let others = all.iter().filter(|revision| Some(revision.uid()) != declared);
    others.filter(|revision| revision.status().replicas > 0).max_by_key(|revision| revision.status().replicas)
}

/// The pin names no ReplicaSet.
fn missing(pin: Pin) -> Failure {
    let Pin { pod_template_hash, reason, .. } = pin;
    let missing = TargetRecord {
        hash: pod_template_hash,
        reason: reason::PIN_TARGET_MISSING.to_owned(),
        ..TargetRecord::default()
    };
    Failure::Missing(clean(&missing.sentence(reason.as_deref())))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::pinned::samples;

    #[test]
    fn the_declared_revision_is_compared_with_the_one_that_runs() {
        let (mut deployment, all) = (samples::pinned(), samples::revisions());
        let text = compared(&deployment, &all).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[..2], ["--- revision 6 (runs)", "+++ revision 7 (declared)"], "{text}");
        assert!(lines.iter().any(|line| line.starts_with('-') && line.ends_with("image: app:6")), "{text}");
        assert!(lines.iter().any(|line| line.starts_with('+') && line.ends_with("image: app:7")), "{text}");
        // Before the template has its ReplicaSet, and before the operator has reported anything.
        deployment.body["status"] = json!({});
        let text = compared(&deployment, &all[1..]).unwrap_or_default();
        assert!(text.contains("+++ the declared template, which has no revision yet\n"), "{text}");
        assert!(text.contains("image: app:7"), "{text}");
    }

    #[test]
    fn after_a_failure_what_runs_or_the_last_good_revision_is_compared() {
        let all = samples::revisions();
        for mut deployment in [samples::reverted(), samples::held("RolloutFailed")] {
            let text = compared(&deployment, &all).unwrap_or_default();
            assert!(text.contains("image: app:6") && text.contains("image: app:7"), "{text}");
            deployment.body["metadata"]["generation"] = json!(10);
            assert_eq!(
                compared(&deployment, &all).unwrap_or_default(),
                text,
                "somebody scaled it a moment ago"
            );
        }
    }

    #[test]
    fn without_a_pin_the_declared_revision_runs() {
        let (mut deployment, all) = (samples::pinned(), samples::revisions());
        for pin in [json!(null), json!({"podTemplateHash": "h7"})] {
            deployment.body["spec"]["pin"] = pin;
            let text = compared(&deployment, &all[..1]).unwrap_or_default();
            assert_eq!(text, "deployment.rollwright.dev/web runs the declared revision 7\n");
        }
        deployment.body["spec"]["pin"] = json!(null);
        let text = compared(&deployment, &all).unwrap_or_default();
        assert!(text.starts_with("--- revision 6 (still runs)\n+++ revision 7 (declared)\n"), "{text}");
        assert_eq!(compared(&samples::missing(), &all).err().map(|gone| gone.code()), Some(Code::NotFound));
    }
}
