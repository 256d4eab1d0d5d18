//! What may follow on a command line that is being typed.

use clap::{Arg, Command};

/// What may come next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// One of these words; each with a line about it.
    Words(Vec<(String, String)>),
    /// Something that the cluster or the kubeconfig has.
    Known(Kind),
    /// Whatever it is, nothing is known about it.
    Anything,
}

/// What the cluster or the kubeconfig has a list of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Deployment,
    /// A container of the Deployment, and `=` for its image.
    Image,
    Container,
    Revision,
    Step,
    Namespace,
    Context,
    Cluster,
    User,
}

/// A command line that is being typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) next: Next,
    /// The words that are no verbs and no options: the names come first.
    pub(crate) names: Vec<String>,
    /// The options for all verbs, with their values.
    pub(crate) connection: Vec<String>,
}

/// Reads the words that are complete, and what may come next.
///
/// `typed` is the word that has been begun, maybe empty.
pub(crate) fn read(root: &Command, complete: &[String], typed: &str) -> Line {
    let mut command = root;
    let (mut names, mut connection) = (Vec::new(), Vec::new());
    let mut words = complete.iter();
    let mut open = None;
    while let Some(word) = words.next() {
        open = None;
        if word.starts_with('-') {
            let Some(option) = option(root, command, word) else { continue };
            let mut given = vec![word.clone()];
            let is_whole = word.contains('=') || !word.starts_with("--") && word.len() > 2;
            if takes_value(option) && !is_whole {
                match words.next() {
                    Some(value) => given.push(value.clone()),
                    None => open = Some(option),
                }
            }
            if option.is_global_set() && open.is_none() {
                connection.extend(given);
            }
        } else if let Some(found) = command.find_subcommand(word) {
            command = found;
        } else {
            names.push(word.clone());
        }
    }
    let next = match open {
        Some(option) => values(option),
        None if typed.starts_with('-') => Next::Words(options(root, command)),
        None => following(command, names.len()),
    };
    Line { next, names, connection }
}

/// What follows a verb and this number of words: another verb, names, or what belongs to them.
fn following(command: &Command, names: usize) -> Next {
    if command.has_subcommands() {
        let verbs = command.get_subcommands().filter(|verb| !verb.is_hide_set());
        return Next::Words(verbs.map(|verb| (verb.get_name().to_owned(), about(verb))).collect());
    }
    let Some(first) = command.get_positionals().next() else { return Next::Anything };
    let value_name = first.get_value_names().and_then(|names| names.first()).map_or("", |name| name.as_str());
    // Where one Deployment is meant, two words are its kind and its name.
    let has_several = first.get_num_args().is_some_and(|count| count.max_values() > 2);
    match (value_name, names) {
        ("NAME CONTAINER=IMAGE", 1..) => Next::Known(Kind::Image),
        ("NAME", 0) => Next::Known(Kind::Deployment),
        ("NAME", _) if has_several => Next::Known(Kind::Deployment),
        (name, 0) if name.starts_with("NAME ") => Next::Known(Kind::Deployment),
        (_, 0) => values(first),
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

/// The values of an option or of a verb: those that the program knows, or a list that it can ask for.
fn values(option: &Arg) -> Next {
    let kind = match option.get_id().as_str() {
        "namespace" => Kind::Namespace,
        "context" => Kind::Context,
        "cluster" => Kind::Cluster,
        "user" => Kind::User,
        "to_revision" | "revision" | "diff" => Kind::Revision,
        "containers" => Kind::Container,
        "to" => Kind::Step,
        _ => return words(option),
    };
    Next::Known(kind)
}

fn words(option: &Arg) -> Next {
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

    fn line(complete: &str, typed: &str) -> Line {
        let complete: Vec<String> = complete.split_whitespace().map(str::to_owned).collect();
        read(&Arguments::command(), &complete, typed)
    }

    fn after(complete: &str, typed: &str) -> Next {
        line(complete, typed).next
    }

    fn names(next: &Next) -> Vec<&str> {
        match next {
            Next::Words(words) => words.iter().map(|(word, _)| word.as_str()).collect(),
            Next::Known(_) | Next::Anything => Vec::new(),
        }
    }

    #[test]
    fn verbs_are_known_at_each_level() {
        let verbs = after("", "");
        let known = ["status", "why", "set", "unpin", "retry", "abort", "lint"];
        assert!(known.iter().all(|verb| names(&verbs).contains(verb)));
        assert!(!names(&verbs).contains(&"__complete"));
        assert_eq!(names(&after("set", "")), ["image", "env", "resources"]);
        assert!(names(&after("rollout", "un")).contains(&"undo"));
    }

    #[test]
    fn names_are_those_of_deployments_as_often_as_a_verb_takes_them() {
        for verb in [
            "status",
            "rollout undo",
            "set image",
            "get -w",
            "-n prod why",
            "get -nprod",
            "status web",
            "why a b",
        ] {
            assert_eq!(after(verb, "we"), Next::Known(Kind::Deployment), "{verb}");
        }
        assert_eq!(after("migrate web", ""), Next::Anything);
        assert_eq!(after("list", ""), Next::Anything);
        assert_eq!(after("set env web", ""), Next::Anything);
    }

    #[test]
    fn options_and_their_values_are_known() {
        let options = after("status web", "--");
        assert!(["--timeout", "--for", "--kubeconfig"].iter().all(|it| names(&options).contains(it)));
        assert_eq!(names(&after("status --for", "")), ["complete", "available"]);
        let table = ["json", "yaml", "name", "jsonpath=", "wide", "custom-columns="];
        assert_eq!(names(&after("get -o", "")), table);
        assert_eq!(names(&after("abort -o", "")), table[..4]);
        assert!(names(&after("list", "--")).contains(&"--reverted"));
        assert_eq!(after("status --timeout", ""), Next::Anything);
        assert_eq!(
            after("status --watch", ""),
            Next::Known(Kind::Deployment),
            "a switch has no value of its own"
        );
        assert_eq!(names(&after("completion", "")).first(), Some(&"bash"));
    }

    #[test]
    fn what_the_cluster_or_the_kubeconfig_has_is_known() {
        for (words, kind) in [
            ("set image web", Kind::Image),
            ("set env web -c", Kind::Container),
            ("undo web --to-revision", Kind::Revision),
            ("history web --diff", Kind::Revision),
            ("promote web --to", Kind::Step),
            ("get web -n", Kind::Namespace),
            ("--context", Kind::Context),
            ("list --cluster", Kind::Cluster),
            ("list --user", Kind::User),
        ] {
            assert_eq!(after(words, ""), Next::Known(kind), "{words}");
        }
        let line = line("undo -n shop --context=prod web --pin --to-revision", "");
        assert_eq!((line.names, line.connection), (vec!["web".to_owned()], words("-n shop --context=prod")));
    }

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }
}
