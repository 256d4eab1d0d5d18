//! `undo`: back to an earlier revision, by its template or by a pin.

use api::{Rollback, RollbackResult};
use plan::Flavour;
use serde_json::Value;

use crate::args::pin::PinArguments;
use crate::args::writing::DryRun;
use crate::args::{Goal, UndoArguments};
use crate::cluster::Deployment;
use crate::code::Code;
use crate::deadline::Deadline;
use crate::edits::{self, Undo};
use crate::failure::Failure;
use crate::history::{Revision, difference, revisions};
use crate::output::print_comparison;
use crate::verbs::subject::Subject;
use crate::verbs::{edit, status};
use crate::{gitops, pinned, rollout, rollouts};

/// How to go back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way<'a> {
    /// The Deployment gets the template of the revision.
    Template,
    /// `spec.pin` names the revision: by request, or because this tool manages the template.
    Pin(Option<&'a str>),
}

pub(crate) async fn undo(
    subject: &Subject,
    arguments: &UndoArguments,
    deadline: Deadline,
) -> Result<Code, Failure> {
    let Subject { cluster, deployment } = subject;
    let unanswered = cluster.unanswered();
    let all = revisions(deadline.hold_or(&unanswered, cluster.sets_of(deployment)).await?);
    let way = Way::of(deployment, &arguments.pin);
    let (revision, change) = way.chosen(deployment, &all, arguments.to_revision, &arguments.pin)?;
    let writing = &arguments.writing;
    let patch = match change {
        Undo::Patch(patch) => patch,
        Undo::Nothing(words) => {
            let done = format!("skipped rollback ({words} revision {})", revision.number);
            return edit::report(deployment, &done, writing);
        }
    };
    let before = deployment.status().rollback;
    let unclear = match writing.dry_run {
        DryRun::None => {
            format!(
                "{unanswered}, and may have changed {}: look before you repeat it",
                deployment.full_name()
            )
        }
        DryRun::Client | DryRun::Server => unanswered.clone(),
    };
    let patched = deadline.hold_or(&unclear, subject.patch(&patch, writing)).await?;
    if writing.dry_run != DryRun::None {
        if writing.output.format.is_none() {
            print_comparison(&difference(way.current(deployment, &all), &revision.template)?)?;
        }
        let planned = format!("{}{}", way.planned(deployment, revision), writing.dry_run.mark());
        return edit::report(&patched, &planned, writing);
    }
    edit::report(&patched, &way.done(deployment, revision), writing)?;
    if !arguments.wait {
        return Ok(Code::Done);
    }
    let mut lines = status::Lines::default();
    let code = status::wait(cluster, &patched, way.goal(), deadline, &mut lines).await?;
    if way != Way::Template {
        return Ok(code);
    }
    let now = deadline.hold_or(&unanswered, cluster.read_again(&patched)).await?;
    refused(&now, before).map_or(Ok(code), Err)
}

/// What an undo without a flag changes, in words, and what to write.
pub(crate) fn change(deployment: &Deployment, all: &[Revision]) -> Result<(String, Undo), Failure> {
    let wish = PinArguments::default();
    let way = Way::of(deployment, &wish);
    let (revision, change) = way.chosen(deployment, all, 0, &wish)?;
    Ok((way.planned(deployment, revision), change))
}

impl<'a> Way<'a> {
    /// Where a tool puts its template back, the template is no way: only what the tool does not write stays.
    fn of(deployment: &'a Deployment, wish: &PinArguments) -> Self {
        if wish.pin {
            return Self::Pin(None);
        }
        if wish.no_pin || deployment.flavour != Flavour::Rollwright {
            return Self::Template;
        }
        gitops::manager(deployment).map_or(Self::Template, |tool| Self::Pin(Some(tool)))
    }

    /// The revision, and what to write.
    fn chosen<'b>(
        self,
        deployment: &Deployment,
        all: &'b [Revision],
        number: i64,
        wish: &PinArguments,
    ) -> Result<(&'b Revision, Undo), Failure> {
        Ok(match self {
            Self::Template => {
                edits::runs_its_template(deployment)?;
                let revision = pinned::wanted(deployment, all, number)?;
                (revision, edits::undo(deployment, revision)?)
            }
            Self::Pin(_) => {
                let revision = pinned::wanted(deployment, all, number)?;
                (revision, edits::pin(deployment, revision, wish)?)
            }
        })
    }

    fn goal(self) -> Goal {
        if self == Self::Template { Goal::Complete } else { Goal::Running }
    }

    /// What a dry run compares the revision with: the template that is declared, or the one that runs. As the server
    /// stored it in its revision, so that its defaults are no differences; as the Deployment has it if the controller
    /// has not seen that yet.
    fn current<'b>(self, deployment: &'b Deployment, all: &'b [Revision]) -> &'b Value {
        let is_known = rollout::is_observed(&deployment.body) || pinned::in_force(deployment).is_some();
        let revision = if self == Self::Template { all.first() } else { pinned::running(deployment, all) };
        match revision {
            Some(revision) if is_known => &revision.template,
            _ => deployment.template(),
        }
    }

    /// What would be done.
    fn planned(self, deployment: &Deployment, revision: &Revision) -> String {
        let left = rollouts::left_behind(&deployment.status(), revision);
        let to = format!("to revision {} ({}){left}", revision.number, revision.images());
        match self {
            Self::Template => format!("rolled back {to}"),
            Self::Pin(None) => format!("pinned {to}"),
            Self::Pin(Some(tool)) => format!("pinned {to}, because {tool} manages its template"),
        }
    }

    /// What was done.
    fn done(self, deployment: &Deployment, revision: &Revision) -> String {
        let done = self.planned(deployment, revision);
        match self {
            Self::Pin(Some(_)) => {
                format!("{done}; to run the template again: {}", deployment.command("unpin"))
            }
            _ => done,
        }
    }
}

/// The outcome of the request on rollwright.dev, if it was not carried out.
fn refused(deployment: &Deployment, before: Option<Rollback>) -> Option<Failure> {
    let rollback = deployment.status().rollback?;
    let is_ours = rollback.time != before.and_then(|before| before.time);
    let result = rollback.result?;
    let is_done = matches!(result, RollbackResult::RolledBack | RollbackResult::TemplateUnchanged);
    (is_ours && !is_done).then(|| {
        let message = rollback.message.unwrap_or_default();
        let text = format!("the rollback was not carried out: {result} {message}").trim_end().to_owned();
        if result == RollbackResult::RevisionNotFound {
            Failure::Missing(text)
        } else {
            Failure::Rollout(text)
        }
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use kube::api::Patch;
    use serde_json::json;

    use super::*;
    use crate::args::{RolloutVerb, Verb};
    use crate::pinned::samples;

    fn managed_by(manager: &str) -> Deployment {
        let mut deployment = samples::pinned();
        deployment.body["metadata"]["managedFields"] =
            json!([{"manager": manager, "fieldsV1": {"f:spec": {"f:template": {}}}}]);
        deployment
    }

    #[test]
    fn a_template_that_a_tool_puts_back_stays() {
        let (git, person) = (managed_by("argocd-controller"), managed_by("kubectl"));
        let apps = Deployment { flavour: Flavour::AppsV1, ..git.clone() };
        let (none, pin) = (PinArguments::default(), PinArguments { pin: true, ..PinArguments::default() });
        let no_pin = PinArguments { no_pin: true, ..PinArguments::default() };
        assert_eq!(Way::of(&git, &none), Way::Pin(Some("argocd-controller")));
        assert_eq!(Way::of(&git, &no_pin), Way::Template);
        assert_eq!(Way::of(&git, &pin), Way::Pin(None));
        assert_eq!(Way::of(&person, &none), Way::Template);
        assert_eq!(Way::of(&person, &pin), Way::Pin(None));
        assert_eq!(Way::of(&apps, &none), Way::Template);
        let all = samples::revisions();
        assert_eq!(
            Way::of(&git, &none).done(&git, &all[1]),
            "pinned to revision 6 (app:6), because argocd-controller manages its template; to \
             run the template again: kubectl rollwright unpin deployment.rollwright.dev/web -n shop"
        );
        assert_eq!(Way::Pin(None).planned(&git, &all[1]), "pinned to revision 6 (app:6)");
        assert_eq!(Way::Pin(None).goal(), Goal::Running);
    }

    #[test]
    fn a_difference_begins_with_what_runs() {
        let (mut deployment, all) = (samples::pinned(), samples::revisions());
        let image = |way: Way<'_>, deployment: &Deployment| {
            way.current(deployment, &all)["spec"]["containers"][0]["image"].clone()
        };
        let pin = Way::Pin(None);
        assert_eq!(image(pin, &deployment), "app:6");
        assert_eq!(image(pin, &samples::missing()), "app:7");
        deployment.body["spec"]["pin"] = json!(null);
        deployment.body["status"]["target"] = json!(null);
        assert_eq!(image(pin, &deployment), "app:7");
        assert_eq!(image(pin, &samples::reverted()), "app:6");
        assert_eq!(image(Way::Template, &samples::reverted()), "app:7", "the template is what it changes");
    }

    fn arguments(words: &str) -> UndoArguments {
        let line = format!("kubectl-rollwright undo web{words}");
        let arguments = crate::Arguments::try_parse_from(line.split(' ')).unwrap();
        match arguments.verb {
            Verb::Rollout(RolloutVerb::Undo(arguments)) => arguments,
            other => panic!("{other:?}"),
        }
    }

    /// The revision, and what is sent.
    fn chosen(deployment: &Deployment, words: &str) -> (i64, Value) {
        let (all, arguments) = (samples::revisions(), arguments(words));
        let way = Way::of(deployment, &arguments.pin);
        match way.chosen(deployment, &all, arguments.to_revision, &arguments.pin) {
            Ok((revision, Undo::Patch(Patch::Merge(patch)))) => (revision.number, patch),
            other => panic!("{:?}", other.err().map(|error| error.to_string())),
        }
    }

    #[test]
    fn after_a_revert_what_runs_takes_the_place_of_what_failed() {
        let reverted = samples::reverted();
        let template = |number: i64| (number, json!({"spec": {"rollbackTo": {"revision": number}}}));
        assert_eq!(chosen(&reverted, ""), template(6));
        assert_eq!(chosen(&reverted, " --to-revision=5"), template(5));
        let (number, patch) = chosen(&reverted, " --pin");
        assert_eq!((number, &patch["spec"]["pin"]["podTemplateHash"]), (6, &json!("h6")));
        let (number, patch) = chosen(&reverted, " --pin --to-revision=7");
        assert_eq!((number, &patch["spec"]["pin"]["podTemplateHash"]), (7, &json!("h7")));
        let mut managed = managed_by("argocd-controller");
        managed.body["spec"] = reverted.body["spec"].clone();
        managed.body["status"] = reverted.body["status"].clone();
        let (number, patch) = chosen(&managed, "");
        assert_eq!((number, &patch["spec"]["pin"]["podTemplateHash"]), (6, &json!("h6")));
        assert_eq!(chosen(&samples::held("RolloutFailed"), ""), template(6));
        // The newest revision is the one before a template that the server never took.
        let mut refused = samples::pinned();
        refused.body["spec"]["pin"] = json!(null);
        refused.body["spec"]["template"]["spec"]["containers"][0]["image"] = json!("app:8");
        let condition = json!({"type": "Progressing", "status": "False", "reason": "ReplicaSetCreateError"});
        refused.body["status"] = json!({"conditions": [condition]});
        assert_eq!(chosen(&refused, ""), template(7));
    }
}
