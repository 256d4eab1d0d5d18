//! Names of Deployments as people type them: `web`, `deploy/web`, `deployment.rollwright.dev/web`,
//! `deployment web`.

use std::fmt;

use admission::{names, nearest};
use plan::Flavour;

use crate::deployment::kind_and_group;
use crate::failure::Failure;

/// Kinds in kubectl's spellings that are no Deployments. In front of a name, they are a mistake.
const OTHERS: &str = "po pod pods rs replicaset replicasets rc replicationcontroller replicationcontrollers sts \
                      statefulset statefulsets ds daemonset daemonsets job jobs";
/// The plain spellings of Deployments.
const KINDS: [&str; 4] = ["deployment", "deployments", "deploy", "rwd"];

/// A Deployment that was named, with its API if that was named, too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Named {
    pub(crate) flavour: Option<Flavour>,
    pub(crate) name: String,
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.flavour {
            Some(flavour) => write!(f, "{}/{}", kind_and_group(flavour), self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// Reads one or two words.
pub(crate) fn parse(words: &[String]) -> Result<Named, Failure> {
    match words {
        [word] => match word.split_once('/') {
            Some((kind, name)) => named(kind, name),
            None => named("deployment", word),
        },
        [kind, name] if !kind.contains('/') && !name.contains('/') => named(kind, name),
        [_, second] => Err(Failure::Usage(format!("one Deployment at a time: what is \"{second}\"?"))),
        _ => Err(Failure::Usage("name a Deployment, for example web or deployment.apps/web".to_owned())),
    }
}

/// Reads names, maybe after a kind that all of them have.
pub(crate) fn parse_several(words: &[String]) -> Result<Vec<Named>, Failure> {
    let (kind, names) = match words {
        [kind, names @ ..] if !names.is_empty() && (is_kind(kind) || is_other(kind)) => {
            (kind.as_str(), names)
        }
        [] => return parse(words).map(|one| vec![one]),
        _ => ("deployment", words),
    };
    let is_bare = names.len() == words.len();
    names
        .iter()
        .map(|word| match word.split_once('/') {
            Some((kind, name)) if is_bare => named(kind, name),
            Some(_) => Err(Failure::Usage(format!("\"{word}\" has a kind already; leave \"{kind}\" out"))),
            None => named(kind, word),
        })
        .collect()
}

fn is_other(word: &str) -> bool {
    OTHERS.split(' ').any(|other| other == word)
}

/// Whether a word is a spelling of a kind of Deployments.
pub(crate) fn is_kind(word: &str) -> bool {
    flavour(word).is_ok()
}

fn named(kind: &str, name: &str) -> Result<Named, Failure> {
    let flavour = flavour(kind)?;
    if name.is_empty() {
        return Err(Failure::Usage(format!("\"{kind}/{name}\" lacks a name; write {kind}/NAME")));
    }
    Ok(Named { flavour, name: of_object(kind, name)?.to_owned() })
}

/// A name of an object that somebody typed. The client puts it into the path of a request as it is, so with `?` or `/`
/// in it, the request would be another one.
pub(crate) fn of_object<'a>(kind: &str, name: &'a str) -> Result<&'a str, Failure> {
    valid(kind, name, &names::subdomain(name))
}

/// The same for the name of a namespace.
pub(crate) fn of_namespace(name: &str) -> Result<&str, Failure> {
    valid("namespace", name, &names::dns_label(name))
}

fn valid<'a>(kind: &str, name: &'a str, wrong: &[String]) -> Result<&'a str, Failure> {
    if wrong.is_empty() {
        Ok(name)
    } else {
        Err(Failure::Usage(format!("{kind} \"{name}\": {}", wrong.join(", "))))
    }
}

/// The API that a kind names; none if it could be both.
pub(crate) fn flavour(kind: &str) -> Result<Option<Flavour>, Failure> {
    let kind = kind.to_ascii_lowercase();
    let (resource, group) = kind.split_once('.').unwrap_or((&kind, ""));
    let group = group.strip_prefix("v1.").unwrap_or(group);
    match (resource, group) {
        ("deploy" | "deployment" | "deployments", "") => Ok(None),
        ("rwd", "" | "rollwright.dev") | ("deployment" | "deployments", "rollwright.dev") => {
            Ok(Some(Flavour::Rollwright))
        }
        ("deploy" | "deployment" | "deployments", "apps") => Ok(Some(Flavour::AppsV1)),
        _ => {
            let like = nearest(resource, KINDS).filter(|_| !is_other(resource));
            let like = like.map_or_else(String::new, |like| format!(" (did you mean {like}?)"));
            Err(Failure::Usage(format!(
                "\"{kind}\" is no Deployment{like}; write deployment/NAME, deployment.rollwright.dev/NAME or \
                 deployment.apps/NAME"
            )))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &[&str]) -> Option<(Option<Flavour>, String)> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        parse(&words).ok().map(|named| (named.flavour, named.name))
    }

    #[test]
    fn every_spelling_is_understood() {
        let web = |flavour| Some((flavour, "web".to_owned()));
        for either in [&["web"][..], &["deploy/web"], &["Deployment/web"], &["deployments", "web"]] {
            assert_eq!(parsed(either), web(None), "{either:?}");
        }
        let ours = ["rwd/web", "deployment.rollwright.dev/web", "deployments.v1.rollwright.dev/web"];
        for ours in ours {
            assert_eq!(parsed(&[ours]), web(Some(Flavour::Rollwright)), "{ours}");
        }
        for apps in ["deploy.apps/web", "deployment.v1.apps/web", "deployments.apps/web"] {
            assert_eq!(parsed(&[apps]), web(Some(Flavour::AppsV1)), "{apps}");
        }
    }

    #[test]
    fn what_is_no_deployment_is_refused() {
        for wrong in
            [&[][..], &["pod/web"], &["deploy/"], &["web", "db", "x"], &["deploy/web", "db"], &["a/b/c"]]
        {
            assert_eq!(parsed(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn a_misspelled_kind_is_recognized() {
        let refused = |kind: &str| flavour(kind).err().map(|failure| failure.to_string()).unwrap_or_default();
        assert!(
            refused("deploymnt")
                .starts_with("\"deploymnt\" is no Deployment (did you mean deployment?); write ")
        );
        assert!(refused("deploy.app").starts_with("\"deploy.app\" is no Deployment (did you mean deploy?)"));
        assert!(refused("pod").starts_with("\"pod\" is no Deployment; write "));
        assert!(refused("rc").starts_with("\"rc\" is no Deployment; write "));
    }

    #[test]
    fn no_name_leads_to_another_request() {
        for wrong in ["hello?dryRun=All", "a/b", "..", "a%2fb", "a#b", "a b", "Web", ""] {
            assert_eq!(parsed(&[wrong]), None, "{wrong}");
            assert_eq!(parsed(&["rwd", wrong]), None, "{wrong}");
            assert!(matches!(of_namespace(wrong), Err(Failure::Usage(_))), "{wrong}");
        }
        assert!(of_namespace("team-a").is_ok());
    }
}
