//! `logs`, `exec`, `port-forward`: this module chooses the pod, and kubectl does the rest.

use std::process::Command;

use super::subject::{Subject, open};
use crate::args::connection::Connection;
use crate::args::pod::{ExecArguments, LogsArguments, PodVerb, PortForwardArguments};
use crate::args::target::Target;
use crate::code::Code;
use crate::failure::Failure;
use crate::history::{self, Revision};
use crate::output::tell;
use crate::pick::{self, Wanted};

/// Carries one out.
pub(crate) async fn carry_out(connection: &Connection, verb: &PodVerb) -> Result<Code, Failure> {
    match verb {
        PodVerb::Logs(arguments) => logs(connection, arguments).await,
        PodVerb::Exec(arguments) => exec(connection, arguments).await,
        PodVerb::PortForward(arguments) => port_forward(connection, arguments).await,
    }
}

async fn logs(connection: &Connection, arguments: &LogsArguments) -> Result<Code, Failure> {
    let subject = open(connection, &arguments.target).await?;
    let pod = choose(&subject, arguments.revision, Wanted::Started).await?;
    let mut words = vec!["logs".to_owned(), pod];
    let valued = [
        ("container", arguments.container.clone()),
        ("tail", arguments.tail.map(|count| count.to_string())),
        ("since", arguments.since.clone()),
    ];
    words.extend(valued.into_iter().filter_map(|(flag, value)| Some(format!("--{flag}={}", value?))));
    let switches = [
        ("--follow", arguments.follow),
        ("--previous", arguments.previous),
        ("--timestamps", arguments.timestamps),
        ("--all-containers", arguments.all_containers),
    ];
    words.extend(switches.iter().filter(|(_, is_on)| *is_on).map(|(flag, _)| (*flag).to_owned()));
    kubectl(connection, &words)
}

async fn exec(connection: &Connection, arguments: &ExecArguments) -> Result<Code, Failure> {
    let subject = open(connection, &arguments.target).await?;
    let pod = choose(&subject, arguments.revision, Wanted::Ready).await?;
    let mut words = vec!["exec".to_owned(), pod];
    words.extend(arguments.container.iter().map(|name| format!("--container={name}")));
    let switches = [("--stdin", arguments.stdin), ("--tty", arguments.tty)];
    words.extend(switches.iter().filter(|(_, is_on)| *is_on).map(|(flag, _)| (*flag).to_owned()));
    words.push("--".to_owned());
    words.extend(arguments.program.iter().cloned());
    kubectl(connection, &words)
}

async fn port_forward(connection: &Connection, arguments: &PortForwardArguments) -> Result<Code, Failure> {
    let (target, ports) = split(&arguments.words)?;
    let subject = open(connection, &target).await?;
    let pod = choose(&subject, arguments.revision, Wanted::Ready).await?;
    let mut words = vec!["port-forward".to_owned(), pod];
    words.extend(arguments.address.iter().map(|address| format!("--address={address}")));
    words.extend(ports.iter().cloned());
    kubectl(connection, &words)
}

/// Separates the Deployment from the ports. A Deployment may be called 8080, but is named first.
fn split(words: &[String]) -> Result<(Target, &[String]), Failure> {
    let is_port = |word: &String| {
        let mut parts = word.splitn(2, ':');
        parts.all(|part| part.is_empty() || part.parse::<u16>().is_ok()) && !word.is_empty() && word != ":"
    };
    let is_named_by_two = words.get(1).is_some_and(|second| !is_port(second));
    let (target, ports) = words.split_at(if is_named_by_two { 2 } else { 1 }.min(words.len()));
    if let Some(wrong) = ports.iter().find(|word| !is_port(word)) {
        return Err(Failure::Usage(format!("\"{wrong}\" must be LOCAL:OF-THE-POD, for example 8080:80")));
    }
    if ports.is_empty() {
        return Err(Failure::Usage("name a port, for example 8080:80".to_owned()));
    }
    Ok((Target { words: target.to_vec() }, ports))
}

/// A pod of the Deployment, as `pod/NAME`; prints which on standard error.
async fn choose(subject: &Subject, revision: Option<i64>, wanted: Wanted) -> Result<String, Failure> {
    let (cluster, deployment) = (&subject.cluster, &subject.deployment);
    let revisions = history::revisions(cluster.sets_of(deployment).await?);
    let pods = cluster.selected(&cluster.pods(), deployment).await?;
    let of_revision = |one: &Revision| revision.is_none_or(|wanted| one.number == wanted);
    let candidates: Vec<&Revision> = revisions.iter().filter(|one| of_revision(one)).collect();
    if let (Some(number), true) = (revision, candidates.is_empty()) {
        let _ = history::find(&revisions, number)?;
    }
    let Some((pod, of)) = pick::pod(&candidates, &pods, wanted) else {
        let which = revision.map(|number| format!(" of revision {number}")).unwrap_or_default();
        return Err(Failure::Missing(format!(
            "{} has no {}{which}; to see why: {}",
            deployment.full_name(),
            wanted.description(),
            deployment.command("why")
        )));
    };
    tell(&format!("pod/{pod} of revision {}", of.number));
    Ok(format!("pod/{pod}"))
}

/// Continues as kubectl; returns only if that was not possible, or when it has ended.
fn kubectl(connection: &Connection, words: &[String]) -> Result<Code, Failure> {
    let mut command = Command::new("kubectl");
    command.args(connection.flags()).args(words);
    let missing = |error: std::io::Error| {
        Failure::Rollout(format!("kubectl: {error}; it has to be on the PATH for this verb"))
    };
    #[cfg(unix)]
    {
        use std::os::unix::process::CommandExt as _;
        Err(missing(command.exec()))
    }
    #[cfg(not(unix))]
    {
        let status = command.status().map_err(missing)?;
        Ok(if status.success() { Code::Done } else { Code::Failed })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> Option<(usize, usize)> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        split(&words).ok().map(|(target, ports)| (target.words.len(), ports.len()))
    }

    #[test]
    fn ports_follow_the_name() {
        assert_eq!(read(&["web", "80"]), Some((1, 1)));
        assert_eq!(read(&["deploy", "web", "8080:80", ":443"]), Some((2, 2)));
        assert_eq!(read(&["8080", "80"]), Some((1, 1)));
        for wrong in [&["web"][..], &["web", "80", "http"], &["deploy", "web"], &["web", "70000:80", "x"]] {
            assert_eq!(read(wrong), None, "{wrong:?}");
        }
    }
}
