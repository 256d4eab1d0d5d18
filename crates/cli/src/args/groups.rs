//! The verbs in their groups, for the top-level help.

use clap::{Command, Subcommand as _};

use super::Verb;

/// The verbs in the groups of the top-level help.
const GROUPS: [(&str, &[&str]); 4] = [
    ("Watch", &["status", "get", "list", "history", "diff"]),
    (
        "Act",
        &[
            "undo", "unpin", "retry", "abort", "promote", "pause", "resume", "restart", "scale", "set",
            "rollout",
        ],
    ),
    ("Explain", &["why", "plan", "lint", "completion", "version"]),
    ("Move", &["migrate", "rolling-update"]),
];

/// The form of the top-level help: the verbs in their groups.
pub(crate) fn grouped() -> String {
    let verbs = Verb::augment_subcommands(Command::new("kubectl-rollwright"));
    let about = |name: &str| {
        let about = verbs.find_subcommand(name).and_then(Command::get_about);
        about.map(ToString::to_string).unwrap_or_default()
    };
    let width = verbs.get_subcommands().map(|verb| verb.get_name().len()).max().unwrap_or_default();
    let mut text = String::from("{about-with-newline}\n{usage-heading} {usage}\n");
    for (group, names) in GROUPS {
        text.push_str(&format!("\n{group}:\n"));
        for name in names {
            text.push_str(&format!("  {name:<width$}  {}\n", about(name)));
        }
    }
    text + "\nOptions:\n{options}{after-help}"
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::args::Arguments;

    #[test]
    fn each_verb_is_in_one_group() {
        let root = Arguments::command();
        let shown = root.get_subcommands().filter(|verb| !verb.is_hide_set() && verb.get_name() != "help");
        let mut shown: Vec<&str> = shown.map(Command::get_name).collect();
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        shown.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(grouped, shown);
        let help = Arguments::command().render_help().to_string();
        for words in ["\nWatch:\n  status ", "\nMove:\n  migrate ", "\nOptions:\n", "\nExit codes:\n"] {
            assert!(help.contains(words), "{words}: {help}");
        }
        assert!(!help.contains("Commands:"), "{help}");
    }
}
