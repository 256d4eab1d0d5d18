//! `lint`, `version`, `completion`, what kubectl asks at Tab, and man pages.

use std::path::Path;
use std::time::Duration;

use clap::CommandFactory as _;
use clap_complete::Shell;
use serde_json::json;

use crate::args::Arguments;
use crate::args::output::Output;
use crate::args::own::{Completing, OwnVerb};
use crate::candidates::candidates;
use crate::code::Code;
use crate::completion::{Next, read};
use crate::deadline::Deadline;
use crate::failure::Failure;
use crate::lint::{LintArguments, lint};
use crate::output::{document, print};
use crate::terminal::tell;

/// The name of the program, and the first word of its man pages.
const PROGRAM: &str = "kubectl-rollwright";
/// kubectl runs a program of this name for the plugin's words, with the plugin's arguments.
const FOR_KUBECTL: &str = "#!/bin/sh\n# kubectl_complete-rollwright: kubectl runs it when Tab is pressed.\n\
                           exec kubectl-rollwright __complete -- \"$@\"\n";
/// How long anybody waits after Tab.
const PATIENCE: Duration = Duration::from_secs(3);
/// What shells do after the words (cobra's directives): no files, unless nothing is known.
const NO_FILES: &str = ":4\n";
const NO_FILES_NO_SPACE: &str = ":6\n";
const FILES: &str = ":0\n";
/// The script for bash asks the program at each Tab, as kubectl does, so it knows names too. Bash takes a `=` as a word
/// of its own.
const FOR_BASH: &str = r#"# bash completion for kubectl-rollwright
_kubectl_rollwright() {
    local out line word words=() directive
    for word in "${COMP_WORDS[@]:1:COMP_CWORD}"; do
        [[ $word == = ]] || words+=("$word")
    done
    [[ ${COMP_WORDS[COMP_CWORD]} != = ]] || words+=("")
    out=$(kubectl-rollwright __complete -- "${words[@]}" 2>/dev/null) || return
    directive=${out##*:}
    COMPREPLY=()
    while IFS= read -r line; do
        [[ $line == :* ]] || COMPREPLY+=("${line%%$'\t'*}")
    done <<< "$out"
    (( directive & 4 )) || compopt -o default 2>/dev/null
    (( ! (directive & 2) )) || compopt -o nospace 2>/dev/null
}
complete -F _kubectl_rollwright kubectl-rollwright
"#;

/// Carries one out.
pub(crate) async fn carry_out(verb: &OwnVerb) -> Result<Code, Failure> {
    match verb {
        OwnVerb::Lint(arguments) => check(arguments),
        OwnVerb::Completion(arguments) => print_script(arguments.shell),
        OwnVerb::Version(arguments) => print_version(&arguments.output),
        OwnVerb::Man { directory } => write_man_pages(directory),
        OwnVerb::Complete { words } => complete(words).await,
    }
}

fn check(arguments: &LintArguments) -> Result<Code, Failure> {
    let verdict = lint(arguments).map_err(|error| Failure::Rollout(error.to_string()))?;
    print(&verdict.out)?;
    tell(verdict.err.trim_end());
    Ok(verdict.code)
}

fn print_script(shell: Completing) -> Result<Code, Failure> {
    let of = |shell: Shell| {
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut Arguments::command(), PROGRAM, &mut script);
        String::from_utf8_lossy(&script).into_owned()
    };
    print(&match shell {
        Completing::Bash => FOR_BASH.to_owned(),
        Completing::Kubectl => FOR_KUBECTL.to_owned(),
        Completing::Zsh => of(Shell::Zsh),
        Completing::Fish => of(Shell::Fish),
        Completing::PowerShell => of(Shell::PowerShell),
    })?;
    Ok(Code::Done)
}

/// `__complete`: a word a line with its description, then what else to do.
async fn complete(words: &[String]) -> Result<Code, Failure> {
    let (typed, complete) = match words.split_last() {
        Some((typed, complete)) => (typed.as_str(), complete),
        None => ("", words),
    };
    let line = read(&Arguments::command(), complete, typed);
    let known = match &line.next {
        Next::Words(words) => Some(words.clone()),
        // Without a cluster there are no names, and nobody wants to read why at a Tab.
        Next::Known(kind) => {
            let found = Deadline::after(PATIENCE).hold(candidates(&line, *kind)).await;
            Some(found.and_then(Result::ok).unwrap_or_default())
        }
        Next::Anything => None,
    };
    let directive = match &known {
        None => FILES,
        Some(words) if is_open(words, typed) => NO_FILES_NO_SPACE,
        Some(_) => NO_FILES,
    };
    let known = known.unwrap_or_default();
    let lines = known.iter().filter(|(word, _)| word.starts_with(typed));
    let lines = lines.map(|(word, about)| format!("{word}\t{}\n", about.lines().next().unwrap_or_default()));
    print(&format!("{}{directive}", lines.collect::<String>()))?;
    Ok(Code::Done)
}

/// Whether a value has to follow each of the words that fit, without a blank.
fn is_open(words: &[(String, String)], typed: &str) -> bool {
    let mut fitting = words.iter().filter(|(word, _)| word.starts_with(typed)).peekable();
    fitting.peek().is_some() && fitting.all(|(word, _)| word.ends_with('='))
}

/// `version`; the operator's is in its log and in the User-Agent of its requests.
fn print_version(output: &Output) -> Result<Code, Failure> {
    let version = env!("CARGO_PKG_VERSION");
    match &output.format {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_for_bash_completes_what_the_program_knows() {
        let rest = r#"
kubectl-rollwright() { shift; printf '%s\n' "$@" >&3; printf 'web\tone\nwebshop\ttwo\n:4\n'; }
COMP_WORDS=(kubectl-rollwright undo --output = js web next) COMP_CWORD=5
_kubectl_rollwright 3>&1
printf '<%s>' "${COMPREPLY[@]}"
"#;
        let output =
            std::process::Command::new("bash").args(["-uc", &format!("{FOR_BASH}{rest}")]).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(text, "--\nundo\n--output\njs\nweb\n<web><webshop>", "{output:?}");
    }

    #[test]
    fn only_a_word_that_needs_a_value_is_left_open() {
        let words = ["name", "jsonpath=", "custom-columns="].map(|word| (word.to_owned(), String::new()));
        assert!(is_open(&words, "c") && is_open(&words[1..], ""));
        assert!(!is_open(&words, "") && !is_open(&words, "n") && !is_open(&words, "x"));
    }
}
