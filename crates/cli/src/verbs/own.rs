//! `version`, `completion`, what kubectl asks at Tab, and man pages.

use std::path::Path;
use std::time::Duration;

use clap::{CommandFactory as _, Parser as _};
use clap_complete::Shell;
use serde_json::json;

use crate::args::Arguments;
use crate::args::output::Output;
use crate::args::own::{Completing, OwnVerb};
use crate::cluster::Cluster;
use crate::code::Code;
use crate::completion::{Next, next};
use crate::deadline::Deadline;
use crate::failure::Failure;
use crate::output::{document, print};

/// The name of the program, and the first word of its man pages.
const PROGRAM: &str = "kubectl-rollwright";
/// kubectl runs a program of this name for the plugin's words, with the plugin's arguments.
const FOR_KUBECTL: &str = "#!/bin/sh\n# kubectl_complete-rollwright: kubectl runs it when Tab is pressed.\n\
                           exec kubectl-rollwright __complete -- \"$@\"\n";
/// How long anybody waits after Tab.
const PATIENCE: Duration = Duration::from_secs(3);
/// What shells do after the words (cobra's directives): no files, unless nothing is known.
const NO_FILES: &str = ":4\n";
const FILES: &str = ":0\n";

/// Carries one out.
pub(crate) async fn carry_out(verb: &OwnVerb) -> Result<Code, Failure> {
    match verb {
        OwnVerb::Completion(arguments) => print_script(arguments.whose),
        OwnVerb::Version(arguments) => print_version(&arguments.output),
        OwnVerb::Man { directory } => write_man_pages(directory),
        OwnVerb::Complete { words } => complete(words).await,
    }
}

fn print_script(whose: Completing) -> Result<Code, Failure> {
    let shell = match whose {
        Completing::Bash => Shell::Bash,
        Completing::Zsh => Shell::Zsh,
        Completing::Fish => Shell::Fish,
        Completing::PowerShell => Shell::PowerShell,
        Completing::Kubectl => {
            print(FOR_KUBECTL)?;
            return Ok(Code::Done);
        }
    };
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), PROGRAM, &mut script);
    print(&String::from_utf8_lossy(&script))?;
    Ok(Code::Done)
}

/// `__complete`: a word a line with its description, then what else to do.
async fn complete(words: &[String]) -> Result<Code, Failure> {
    let (typed, complete) = match words.split_last() {
        Some((typed, complete)) => (typed.as_str(), complete),
        None => ("", words),
    };
    let (words, directive) = match next(&Arguments::command(), complete, typed) {
        Next::Words(words) => (words, NO_FILES),
        // Without a cluster there are no names, and nobody wants to read why at a Tab.
        Next::Deployment => (deployments(complete).await.unwrap_or_default(), NO_FILES),
        Next::Anything => (Vec::new(), FILES),
    };
    let lines = words.iter().filter(|(word, _)| word.starts_with(typed));
    let lines = lines.map(|(word, about)| format!("{word}\t{}\n", about.lines().next().unwrap_or_default()));
    print(&format!("{}{directive}", lines.collect::<String>()))?;
    Ok(Code::Done)
}

/// The names of all Deployments of the namespace that the words so far choose; of both APIs with
/// their group where both have it.
async fn deployments(complete: &[String]) -> Result<Vec<(String, String)>, Failure> {
    // A name makes most verbs complete, so that the line can be read like any other; some want a
    // second word.
    let line = [PROGRAM].into_iter().chain(complete.iter().map(String::as_str)).chain(["x"]);
    let arguments = Arguments::try_parse_from(line.clone())
        .or_else(|_| Arguments::try_parse_from(line.chain(["1"])))
        .map_err(|error| Failure::Usage(error.to_string()))?;
    let cluster = Cluster::connect(&arguments.connection).await?;
    let mut names: Vec<(String, String)> = Vec::new();
    let deadline = Deadline::after(PATIENCE);
    for flavour in [plan::Flavour::Rollwright, plan::Flavour::AppsV1] {
        let listed = deadline.hold(cluster.list(flavour, None, false)).await;
        for deployment in listed.and_then(Result::ok).unwrap_or_default() {
            let full = deployment.full_name();
            let is_taken = names.iter().any(|(name, _)| name == deployment.name());
            let name = if is_taken { full.clone() } else { deployment.name().to_owned() };
            names.push((name, full));
        }
    }
    Ok(names)
}

/// `version`; the operator's is in its log and in the User-Agent of its requests.
fn print_version(output: &Output) -> Result<Code, Failure> {
    let version = env!("CARGO_PKG_VERSION");
    match output.format {
        None => print(&format!("{PROGRAM} {version}\n"))?,
        Some(format) => {
            let name = format!("{PROGRAM}/{version}");
            document(format, &json!({"clientVersion": version}), &[name])?;
        }
    }
    Ok(Code::Done)
}

/// `man`: a page for the program and one for each verb.
fn write_man_pages(directory: &Path) -> Result<Code, Failure> {
    clap_mangen::generate_to(Arguments::command().name(PROGRAM), directory).map_err(|error| {
        Failure::Rollout(format!("{}: {error}; name a directory that exists", directory.display()))
    })?;
    Ok(Code::Done)
}
