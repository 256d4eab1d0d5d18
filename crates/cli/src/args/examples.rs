//! Examples of each verb, for its `--help`.

use crate::code::Code;

/// Two of each verb, as they are typed after the name of the program.
macro_rules! examples {
    ($($verb:ident: $first:literal, $second:literal;)*) => {
        $(pub(crate) const $verb: &str =
            concat!("Examples:\n  kubectl rollwright ", $first, "\n  kubectl rollwright ", $second);)*
    };
}

examples! {
    STATUS: "status web --timeout=5m", "status -l app=shop --watch=false";
    HISTORY: "history web", "history web --diff 1 2";
    UNDO: "undo web --dry-run=server", "undo web --to-revision=3 --wait --timeout=5m";
    PAUSE: "pause web api", "pause -l app=shop";
    RESUME: "resume web", "resume -f shop.yaml";
    RESTART: "restart web api", "restart --all --dry-run=server";
    GET: "get web -w", "get web -o jsonpath='{.replicas.ready}'";
    WHY: "why web", "why deployment.apps/web -o json";
    PLAN: "plan web", "plan -f web.yaml";
    LIST: "list -A --blocked", "list -o custom-columns=NAME:.name,READY:.replicas.ready";
    DIFF: "diff web", "diff deployment.rollwright.dev/web -n shop";
    UNPIN: "unpin web", "unpin -l app=shop --dry-run=client";
    RETRY: "retry web", "retry web api --field-manager=release";
    ABORT: "abort web", "abort -l app=shop";
    PROMOTE: "promote web", "promote web --to=50%";
    SCALE: "scale web --replicas=5", "scale web api --replicas=0";
    SET: "set image web app=nginx:1.29", "set env web LOG=debug";
    SET_IMAGE: "set image web app=nginx:1.29", "set image -l app=shop *=shop:v2 --dry-run=server";
    SET_ENV: "set env web LOG=debug MODE-", "set env web --from=secret/database --prefix=DB_";
    SET_RESOURCES: "set resources web --requests=cpu=200m,memory=64Mi", "set resources web -c app --limits=memory=128Mi";
    ROLLOUT: "rollout status web", "rollout undo web";
    MIGRATE: "migrate deployment/web --dry-run", "migrate deployment/web --back";
    ROLLING_UPDATE: "rolling-update web --image=nginx:1.29", "rolling-update web --rollback";
    LINT: "lint -f web.yaml", "lint -f manifests --include-apps -o json";
    COMPLETION: "completion bash", "completion kubectl";
    VERSION: "version", "version -o json";
}

/// Examples, then the exit codes.
pub(crate) fn and_codes(examples: &str) -> String {
    format!("{examples}\n\n{}", Code::help())
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory as _, Parser as _};

    use crate::Arguments;
    use clap::Command;

    /// All verbs that are shown, those of verbs too, with how they are typed.
    fn verbs(command: &Command, path: &str) -> Vec<(String, Command)> {
        let shown = command.get_subcommands().filter(|verb| !verb.is_hide_set() && verb.get_name() != "help");
        shown
            .flat_map(|verb| {
                let path = format!("{path} {}", verb.get_name());
                let mut all = verbs(verb, &path);
                all.push((path, verb.clone()));
                all
            })
            .collect()
    }

    #[test]
    fn each_verb_has_two_examples_of_its_own_that_can_be_typed() {
        let all = verbs(&Arguments::command(), "kubectl rollwright");
        assert!(all.len() > 25, "{}", all.len());
        for (path, verb) in all {
            let help = verb.get_after_help().map(ToString::to_string).unwrap_or_default();
            let examples: Vec<&str> =
                help.lines().filter_map(|line| line.strip_prefix("  kubectl ")).collect();
            assert_eq!(examples.len(), 2, "{path}: {help}");
            for example in examples {
                // `rollout status` and `status` are one verb.
                let verb = path
                    .replace("kubectl rollwright ", "rollwright ")
                    .replace("rollwright rollout ", "rollwright ");
                assert!(example.starts_with(&verb), "{path}: {example}");
                let line = format!("kubectl-{example}").replace('\'', "");
                let read = Arguments::try_parse_from(line.split(' '));
                assert!(
                    read.is_ok(),
                    "{example}: {}",
                    read.err().map_or_else(String::new, |error| error.to_string())
                );
            }
        }
    }
}
