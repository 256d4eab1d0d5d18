//! What may follow on a command line that is being typed.

use clap::{Arg, Command};

/// What may come next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// One of these words; each with a line about it.
    Words(Vec<(String, String)>),
    /// The name of a Deployment.
    Deployment,
    /// Whatever it is, nothing is known about it.
    Anything,
}

/// Reads the words that are complete, and what may come next.
///
/// `typed` is the word that has been begun, maybe empty.
pub(crate) fn next(root: &Command, complete: &[String], typed: &str) -> Next {
    let mut command = root;
    let mut positionals = 0;
    let mut words = complete.iter();
    let mut open = None;
    while let Some(word) = words.next() {
        open = None;
        if word.starts_with('-') {
            open = option(root, command, word).filter(|option| takes_value(option) && !word.contains('='));
            if open.is_some() && words.len() > 0 {
                let _value = words.next();
                open = None;
            }
        } else if let Some(found) = command.find_subcommand(word) {
            command = found;
        } else {
            positionals += 1;
        }
    }
    if let Some(option) = open {
        return values(option);
    }
    if typed.starts_with('-') {
        return Next::Words(options(root, command));
    }
    if command.has_subcommands() {
        let verbs = command.get_subcommands().filter(|verb| !verb.is_hide_set());
        return Next::Words(verbs.map(|verb| (verb.get_name().to_owned(), about(verb))).collect());
    }
    let is_named = command.get_positionals().any(|one| {
        one.get_value_names()
            .into_iter()
            .flatten()
            .any(|name| name.as_str().split(' ').next() == Some("NAME"))
    });
    match command.get_positionals().next() {
        Some(_) if is_named && positionals == 0 => Next::Deployment,
        Some(first) if !is_named && positionals == 0 => values(first),
        _ => Next::Anything,
    }
}

/// The option that a word names: its own, or one that is there for all verbs.
fn option<'a>(root: &'a Command, command: &'a Command, word: &str) -> Option<&'a Arg> {
    let name = word.split('=').next().unwrap_or(word);
    let is_it = |option: &&Arg| match name.strip_prefix("--") {
        Some(long) => option.get_long() == Some(long),
        None => name.chars().nth(1).is_some_and(|short| option.get_short() == Some(short)),
    };
    command.get_opts().find(is_it).or_else(|| root.get_opts().find(is_it))
}

fn takes_value(option: &Arg) -> bool {
    let is_flag_at_will = option.get_num_args().is_some_and(|count| count.min_values() == 0);
    option.get_action().takes_values() && !is_flag_at_will
}

fn values(option: &Arg) -> Next {
    let possible = option.get_possible_values();
    if possible.is_empty() {
        return Next::Anything;
    }
    let word = |value: &clap::builder::PossibleValue| {
        (value.get_name().to_owned(), value.get_help().map(ToString::to_string).unwrap_or_default())
    };
    Next::Words(possible.iter().map(word).collect())
}

fn options(root: &Command, command: &Command) -> Vec<(String, String)> {
    let all = command.get_arguments().chain(root.get_arguments().filter(|option| option.is_global_set()));
    let mut options: Vec<(String, String)> = all
        .filter(|option| !option.is_hide_set())
        .filter_map(|option| {
            let help = option.get_help().map(ToString::to_string).unwrap_or_default();
            Some((format!("--{}", option.get_long()?), help))
        })
        .collect();
    options.sort();
    options.dedup_by(|a, b| a.0 == b.0);
    options
}

fn about(verb: &Command) -> String {
    verb.get_about().map(ToString::to_string).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::Arguments;

    fn after(complete: &str, typed: &str) -> Next {
        let complete: Vec<String> = complete.split_whitespace().map(str::to_owned).collect();
        next(&Arguments::command(), &complete, typed)
    }

    fn names(next: &Next) -> Vec<&str> {
        match next {
            Next::Words(words) => words.iter().map(|(word, _)| word.as_str()).collect(),
            Next::Deployment | Next::Anything => Vec::new(),
        }
    }

    #[test]
    fn verbs_are_known_at_each_level() {
        let verbs = after("", "");
        let known = ["status", "why", "set", "unpin", "retry", "abort"];
        assert!(known.iter().all(|verb| names(&verbs).contains(verb)));
        assert!(!names(&verbs).contains(&"__complete"));
        assert_eq!(names(&after("set", "")), ["image", "env", "resources"]);
        assert!(names(&after("rollout", "un")).contains(&"undo"));
    }

    #[test]
    fn names_are_those_of_deployments_once() {
        for verb in ["status", "rollout undo", "set image", "get -w", "-n prod why"] {
            assert_eq!(after(verb, "we"), Next::Deployment, "{verb}");
        }
        assert_eq!(after("retry", "we"), Next::Deployment);
        assert_eq!(after("status web", ""), Next::Anything);
        assert_eq!(after("list", ""), Next::Anything);
    }

    #[test]
    fn options_and_their_values_are_known() {
        let options = after("status web", "--");
        assert!(["--timeout", "--for", "--kubeconfig"].iter().all(|it| names(&options).contains(it)));
        assert_eq!(names(&after("status --for", "")), ["complete", "available"]);
        assert_eq!(names(&after("get -o", "")), ["json", "yaml", "name"]);
        assert_eq!(names(&after("abort -o", "")), ["json", "yaml", "name"]);
        assert!(names(&after("list", "--")).contains(&"--reverted"));
        assert_eq!(after("status --timeout", ""), Next::Anything);
        assert_eq!(after("status --watch", ""), Next::Deployment, "a switch has no value of its own");
        assert_eq!(names(&after("completion", "")).first(), Some(&"bash"));
    }
}
