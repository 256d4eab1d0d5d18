//! Several Deployments, one after the other: each gets its own line, and all are tried.

use std::time::Duration;

use plan::Flavour;
use serde_json::Value;

use crate::args::connection::Connection;
use crate::args::target::{Several, Targets};
use crate::cluster::{Cluster, Deployment};
use crate::code::Code;
use crate::deadline::Deadline;
use crate::failure::Failure;
use crate::manifests;
use crate::name::{self, Named};
use crate::output::print;
use crate::terminal::tell;
use crate::verbs::subject::{Subject, find};

/// What the command line chooses.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Choice {
    /// Each by its name, and by the namespace of its manifest.
    Named(Vec<(Named, Option<String>)>),
    /// All of a namespace, or those with these labels.
    Matching { flavour: Option<Flavour>, selector: Option<String> },
}

/// Whether there may be more than one Deployment.
pub(super) fn are_several(Targets { words, several }: &Targets) -> bool {
    let is_open = several.all || several.selector.is_some() || !several.files.is_empty();
    is_open || name::parse_several(words).is_ok_and(|names| names.len() > 1)
}

/// Refuses to wait for the first of several Deployments before the next one is tried.
pub(super) fn one_if(waits: bool, targets: &Targets, how: &str) -> Result<(), Failure> {
    if waits && are_several(targets) { Err(Failure::Usage(how.to_owned())) } else { Ok(()) }
}

/// Carries a verb out for each of the Deployments.
pub(super) async fn each(
    connection: &Connection,
    targets: &Targets,
    verb: impl AsyncFn(&Subject) -> Result<Code, Failure>,
) -> Result<Code, Failure> {
    each_of(connection, &targets.words, &targets.several, verb).await
}

/// The same with the name above what is printed of one of several.
pub(super) async fn each_headed(
    connection: &Connection,
    targets: &Targets,
    is_text: bool,
    verb: impl AsyncFn(&Subject) -> Result<Code, Failure>,
) -> Result<Code, Failure> {
    let is_headed = is_text && are_several(targets);
    each(connection, targets, async |subject| {
        if is_headed {
            print(&format!("{}\n", subject.deployment.full_name()))?;
        }
        verb(subject).await
    })
    .await
}

/// The same for a verb that has a time limit.
pub(super) async fn each_within(
    connection: &Connection,
    targets: &Targets,
    deadline: Deadline,
    verb: impl AsyncFn(&Subject) -> Result<Code, Failure>,
) -> Result<Code, Failure> {
    chosen(connection, (&targets.words, &targets.several), deadline, verb).await
}

/// The same, for verbs with more words than names.
pub(super) async fn each_of(
    connection: &Connection,
    words: &[String],
    several: &Several,
    verb: impl AsyncFn(&Subject) -> Result<Code, Failure>,
) -> Result<Code, Failure> {
    chosen(connection, (words, several), Deadline::after(Duration::ZERO), verb).await
}

async fn chosen(
    connection: &Connection,
    (words, several): (&[String], &Several),
    deadline: Deadline,
    verb: impl AsyncFn(&Subject) -> Result<Code, Failure>,
) -> Result<Code, Failure> {
    // Before the cluster is asked, so that a typing error needs no connection.
    let choice = choice(words, several)?;
    let cluster = Cluster::connect(connection).await?;
    all(&cluster, connection.namespace.as_deref(), (choice, deadline), verb).await
}

/// Tries each one that was chosen; `wanted` is the namespace that the command line names.
pub(super) async fn all(
    cluster: &Cluster,
    wanted: Option<&str>,
    (choice, deadline): (Choice, Deadline),
    verb: impl AsyncFn(&Subject) -> Result<Code, Failure>,
) -> Result<Code, Failure> {
    let named = match choice {
        Choice::Named(named) => named,
        Choice::Matching { flavour, selector } => {
            let found = matching(cluster, flavour, selector.as_deref());
            let found = deadline.hold_or(&cluster.unanswered(), found).await?;
            found.iter().map(|it| (named(it), None)).collect()
        }
    };
    if named.is_empty() {
        tell("No Deployments found.");
    }
    let is_alone = named.len() == 1;
    let mut outcome = Code::Done;
    for (named, namespace) in named {
        let label = named.to_string();
        let code = match one(cluster, wanted, (named, namespace), deadline, &verb).await {
            // There is nobody to print the rest for.
            Err(failure) if is_alone || matches!(failure, Failure::Output(_)) => return Err(failure),
            Err(failure) => {
                tell(&format!("error: {}", about(&label, &failure.to_string())));
                if matches!(failure, Failure::Late(_)) { Code::Unfinished } else { Code::Failed }
            }
            Ok(code) => code,
        };
        outcome = together(outcome, code);
    }
    Ok(outcome)
}

async fn one(
    cluster: &Cluster,
    wanted: Option<&str>,
    (named, namespace): (Named, Option<String>),
    deadline: Deadline,
    verb: &impl AsyncFn(&Subject) -> Result<Code, Failure>,
) -> Result<Code, Failure> {
    let mut cluster = cluster.clone();
    if let Some(namespace) = namespace {
        if wanted.is_some_and(|wanted| wanted != namespace) {
            return Err(Failure::Usage(format!(
                "metadata.namespace of the manifest is \"{namespace}\", and --namespace is \"{}\"; leave --namespace \
                 out, or name the same one",
                cluster.namespace
            )));
        }
        cluster.namespace = name::of_namespace(&namespace)?.to_owned();
    }
    let found = find(&cluster, &named);
    // The time may have been taken by others.
    let found =
        if deadline.is_over() { found.await } else { deadline.hold_or(&cluster.unanswered(), found).await };
    let deployment = found?;
    verb(&Subject { cluster, deployment }).await
}

pub(super) fn choice(words: &[String], several: &Several) -> Result<Choice, Failure> {
    if !several.files.is_empty() {
        if let Some(word) = words.first() {
            return Err(Failure::Usage(format!("-f names the Deployments; leave \"{word}\" out")));
        }
        return Ok(Choice::Named(of_manifests(&several.files)?));
    }
    if several.all || several.selector.is_some() {
        let flavour = match words {
            [] => None,
            [kind] if name::is_kind(kind) => name::flavour(kind)?,
            [word, ..] => {
                let flag = if several.all { "--all" } else { "-l" };
                return Err(Failure::Usage(format!("{flag} chooses the Deployments; leave \"{word}\" out")));
            }
        };
        return Ok(Choice::Matching { flavour, selector: several.selector.clone() });
    }
    if words.is_empty() {
        return Err(Failure::Usage(
            "name a Deployment, for example web or deployment.apps/web, or choose several by -l SELECTOR, --all, or -f \
             FILE"
                .to_owned(),
        ));
    }
    let mut named: Vec<(Named, Option<String>)> = Vec::new();
    for one in name::parse_several(words)? {
        if !named.iter().any(|(known, _)| *known == one) {
            named.push((one, None));
        }
    }
    Ok(Choice::Named(named))
}

fn of_manifests(files: &[String]) -> Result<Vec<(Named, Option<String>)>, Failure> {
    let mut named = Vec::new();
    for file in files {
        for object in manifests::read(file, "Deployment")? {
            let (flavour, name) = manifests::identity(&object)?;
            let namespace = object.pointer("/metadata/namespace").and_then(Value::as_str).map(str::to_owned);
            named.push((Named { flavour: Some(flavour), name: name.to_owned() }, namespace));
        }
    }
    Ok(named)
}

/// Those of the namespace, ordered by name.
async fn matching(
    cluster: &Cluster,
    flavour: Option<Flavour>,
    selector: Option<&str>,
) -> Result<Vec<Deployment>, Failure> {
    let mut found = cluster.list(flavour, selector, false).await?;
    found.sort_by(|a, b| (a.name(), a.flavour).cmp(&(b.name(), b.flavour)));
    Ok(found)
}

fn named(deployment: &Deployment) -> Named {
    Named { flavour: Some(deployment.flavour), name: deployment.name().to_owned() }
}

/// A failure with the name that it is about.
fn about(name: &str, failure: &str) -> String {
    let is_of_name = |letter: char| letter.is_alphanumeric() || "-./".contains(letter);
    let is_it =
        |word: &str| word.strip_suffix(name).is_some_and(|kind| kind.is_empty() || kind.ends_with('/'));
    let is_named =
        failure.split(|letter: char| !is_of_name(letter)).any(|word| is_it(word.trim_end_matches('.')));
    if is_named { failure.to_owned() } else { format!("{name}: {failure}") }
}

/// How the process ends for both: a failure counts more than a rollout that has not ended, and the first of those more
/// than a later one.
fn together(first: Code, second: Code) -> Code {
    match (first, second) {
        (Code::Failed, _) | (_, Code::Failed) => Code::Failed,
        (Code::Done, code) | (code, _) => code,
    }
}

#[cfg(test)]
mod tests {
    use std::future::ready;
    use std::sync::{Arc, Mutex};

    use clap::Parser as _;
    use kube::client::Body;
    use serde_json::json;

    use super::*;
    use crate::args::{RolloutVerb, Verb};
    use crate::verbs::edit;

    fn words(words: &str) -> Vec<String> {
        words.split_whitespace().map(str::to_owned).collect()
    }

    fn names(line: &str) -> Vec<String> {
        match choice(&words(line), &Several::default()) {
            Ok(Choice::Named(named)) => named.into_iter().map(|(named, _)| named.to_string()).collect(),
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn several_names_are_several_deployments_each_once() {
        assert_eq!(names("web db web"), ["web", "db"]);
        assert_eq!(names("deploy web db"), ["web", "db"]);
        assert_eq!(names("rwd web db"), ["deployment.rollwright.dev/web", "deployment.rollwright.dev/db"]);
        assert_eq!(
            names("rwd/web deploy.apps/web web"),
            ["deployment.rollwright.dev/web", "deployment.apps/web", "web"]
        );
        assert_eq!(names("deploy"), ["deploy"]);
    }

    #[test]
    fn a_kind_may_come_before_a_selector_and_a_name_may_not() {
        let several = |selector: Option<&str>, all| Several {
            selector: selector.map(str::to_owned),
            all,
            files: Vec::new(),
        };
        let labeled = several(Some("app=web"), false);
        let chosen = choice(&words("rwd"), &labeled).ok();
        let selector = Some("app=web".to_owned());
        assert_eq!(chosen, Some(Choice::Matching { flavour: Some(Flavour::Rollwright), selector }));
        let all = Some(Choice::Matching { flavour: None, selector: None });
        assert_eq!(choice(&words("deployments"), &several(None, true)).ok(), all);
        assert_eq!(choice(&[], &several(None, true)).ok(), all);
        for wrong in ["web", "deploy web", "pod"] {
            assert!(matches!(choice(&words(wrong), &labeled), Err(Failure::Usage(_))), "{wrong}");
        }
        let nothing =
            choice(&[], &Several::default()).err().map(|failure| failure.to_string()).unwrap_or_default();
        assert!(nothing.ends_with("or choose several by -l SELECTOR, --all, or -f FILE"), "{nothing}");
        let files = Several { files: vec!["absent.yaml".to_owned()], ..Several::default() };
        let refused = choice(&words("web"), &files).err().map(|failure| failure.to_string());
        assert_eq!(refused.as_deref(), Some("-f names the Deployments; leave \"web\" out"));
    }

    #[test]
    fn who_waits_names_one() {
        let several = |line: &str| {
            let line = format!("kubectl-rollwright get {line}");
            let arguments = crate::Arguments::try_parse_from(line.split_whitespace()).unwrap();
            let Verb::Get(arguments) = arguments.verb else { panic!("{line}") };
            (are_several(&arguments.targets), one_if(true, &arguments.targets, "how").is_err())
        };
        for one in ["web", "deploy web", "deploy/web -w"] {
            assert_eq!(several(one), (false, false), "{one}");
        }
        for more in ["web db", "rwd web db", "-l app=web", "--all", "-f -"] {
            assert_eq!(several(more), (true, true), "{more}");
        }
    }

    #[test]
    fn one_failure_fails_all_and_what_waits_is_no_failure() {
        let all = |codes: &[Code]| codes.iter().copied().fold(Code::Done, together);
        assert_eq!(all(&[Code::Done, Code::Done]), Code::Done);
        assert_eq!(all(&[Code::Done, Code::Unfinished, Code::Paused]), Code::Unfinished);
        assert_eq!(all(&[Code::Unfinished, Code::Failed, Code::Done]), Code::Failed);
    }

    #[test]
    fn an_error_names_its_deployment_once() {
        assert_eq!(about("web", "deployment \"web\" not found"), "deployment \"web\" not found");
        assert_eq!(about("web", "deployment.apps/web is paused"), "deployment.apps/web is paused");
        for other in ["timed out", "the webhook refuses it", "deployment \"web-api\" not found"] {
            assert_eq!(about("web", other), format!("web: {other}"));
        }
    }

    /// Answers for the Deployments `api` and `web` of apps/v1. Notes each method, path, and query.
    async fn tried(choice: Choice, writing: &str) -> (Result<Code, Failure>, Vec<String>) {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let notes = Arc::clone(&asked);
        let service = tower::service_fn(move |request: http::Request<Body>| {
            let (path, method) = (request.uri().path().to_owned(), request.method().to_string());
            let query = request.uri().query().map(|query| format!("?{query}")).unwrap_or_default();
            let (of_all, name) = path.rsplit_once('/').unwrap_or_default();
            let object = |name: &str| json!({"metadata": {"name": name, "namespace": "shop", "uid": name}, "spec": {}});
            let (code, body) = match name {
                "deployments" if of_all.contains("/apps/") => {
                    (200, json!({"metadata": {}, "items": [object("web"), object("api")]}))
                }
                "web" | "api" if of_all.contains("/apps/") => (200, object(name)),
                _ => (
                    404,
                    json!({"kind": "Status", "message": "not there", "reason": "NotFound", "code": 404}),
                ),
            };
            notes.lock().unwrap().push(format!("{method} {name}{query}"));
            let answer =
                http::Response::builder().status(code).body(Body::from(body.to_string().into_bytes()));
            ready(Ok::<_, std::convert::Infallible>(answer.unwrap()))
        });
        let cluster = Cluster::of(kube::Client::new(service, "shop"), "shop");
        let line = format!("kubectl-rollwright pause web {writing}");
        let arguments = crate::Arguments::try_parse_from(line.split_whitespace()).unwrap();
        let Verb::Rollout(RolloutVerb::Pause(arguments)) = arguments.verb else { panic!("{line}") };
        let outcome = all(&cluster, None, (choice, Deadline::after(Duration::ZERO)), async |subject| {
            edit::pause(subject, &arguments).await
        })
        .await;
        let mut asked = asked.lock().unwrap().clone();
        asked.retain(|request| request.starts_with("PATCH"));
        (outcome, asked)
    }

    #[tokio::test]
    async fn all_are_tried_although_one_is_missing() {
        let named = choice(&words("nobody web api"), &Several::default()).unwrap();
        let (outcome, patches) = tried(named, "").await;
        assert_eq!(outcome.ok(), Some(Code::Failed));
        assert_eq!(
            patches,
            ["PATCH web?&fieldManager=rollwright-cli", "PATCH api?&fieldManager=rollwright-cli"]
        );
        let alone = choice(&words("wbe"), &Several::default()).unwrap();
        let failure = tried(alone, "").await.0.err().map(|failure| (failure.code(), failure.to_string()));
        let (code, message) = failure.unwrap();
        assert_eq!(code, Code::NotFound);
        assert!(message.ends_with("not found in namespace \"shop\"; did you mean web?"), "{message}");
    }

    #[tokio::test]
    async fn a_dry_run_of_all_sends_no_change_or_one_that_is_not_stored() {
        let everything = || Choice::Matching { flavour: None, selector: None };
        let (outcome, patches) = tried(everything(), "--dry-run=client").await;
        assert_eq!((outcome.ok(), patches), (Some(Code::Done), Vec::new()));
        let (_, patches) = tried(everything(), "--dry-run=server --field-manager=release").await;
        let query = "?&dryRun=All&fieldManager=release";
        assert_eq!(patches, [format!("PATCH api{query}"), format!("PATCH web{query}")]);
        let ours = Choice::Matching { flavour: Some(Flavour::Rollwright), selector: None };
        assert_eq!(tried(ours, "").await.1, [""; 0]);
    }
}
