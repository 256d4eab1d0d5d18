//! Examples of each verb, for its `--help`.

use crate::code::Code;

pub(crate) const STATUS: &str = "\
Examples:
  kubectl rollwright status web --timeout=5m
  kubectl rollwright status -l app=shop --watch=false";
pub(crate) const HISTORY: &str = "\
Examples:
  kubectl rollwright history web
  kubectl rollwright history web --diff 1 2";
pub(crate) const UNDO: &str = "\
Examples:
  kubectl rollwright undo web --dry-run=server
  kubectl rollwright undo web --to-revision=3 --wait --timeout=5m";
pub(crate) const PAUSE: &str = "\
Examples:
  kubectl rollwright pause web api
  kubectl rollwright pause -l app=shop";
pub(crate) const RESUME: &str = "\
Examples:
  kubectl rollwright resume web
  kubectl rollwright resume -f shop.yaml";
pub(crate) const RESTART: &str = "\
Examples:
  kubectl rollwright restart web api
  kubectl rollwright restart --all --dry-run=server";
pub(crate) const GET: &str = "\
Examples:
  kubectl rollwright get web -w
  kubectl rollwright get web -o jsonpath='{.replicas.ready}'";
pub(crate) const WHY: &str = "\
Examples:
  kubectl rollwright why web
  kubectl rollwright why deployment.apps/web -o json";
pub(crate) const PLAN: &str = "\
Examples:
  kubectl rollwright plan web
  kubectl rollwright plan -f web.yaml";
pub(crate) const LIST: &str = "\
Examples:
  kubectl rollwright list -A --blocked
  kubectl rollwright list -o custom-columns=NAME:.name,READY:.replicas.ready";
pub(crate) const DIFF: &str = "\
Examples:
  kubectl rollwright diff web
  kubectl rollwright diff deployment.rollwright.dev/web -n shop";
pub(crate) const UNPIN: &str = "\
Examples:
  kubectl rollwright unpin web
  kubectl rollwright unpin -l app=shop --dry-run=client";
pub(crate) const RETRY: &str = "\
Examples:
  kubectl rollwright retry web
  kubectl rollwright retry web api --field-manager=release";
pub(crate) const ABORT: &str = "\
Examples:
  kubectl rollwright abort web
  kubectl rollwright abort -l app=shop";
pub(crate) const PROMOTE: &str = "\
Examples:
  kubectl rollwright promote web
  kubectl rollwright promote web --to=50%";
pub(crate) const SCALE: &str = "\
Examples:
  kubectl rollwright scale web --replicas=5
  kubectl rollwright scale web api --replicas=0";
pub(crate) const SET: &str = "\
Examples:
  kubectl rollwright set image web app=nginx:1.29
  kubectl rollwright set env web LOG=debug";
pub(crate) const SET_IMAGE: &str = "\
Examples:
  kubectl rollwright set image web app=nginx:1.29
  kubectl rollwright set image -l app=shop *=shop:v2 --dry-run=server";
pub(crate) const SET_ENV: &str = "\
Examples:
  kubectl rollwright set env web LOG=debug MODE-
  kubectl rollwright set env web --from=secret/database --prefix=DB_";
pub(crate) const SET_RESOURCES: &str = "\
Examples:
  kubectl rollwright set resources web --requests=cpu=200m,memory=64Mi
  kubectl rollwright set resources web -c app --limits=memory=128Mi";
pub(crate) const ROLLOUT: &str = "\
Examples:
  kubectl rollwright rollout status web
  kubectl rollwright rollout undo web";
pub(crate) const MIGRATE: &str = "\
Examples:
  kubectl rollwright migrate deployment/web --dry-run
  kubectl rollwright migrate deployment/web --back";
pub(crate) const ROLLING_UPDATE: &str = "\
Examples:
  kubectl rollwright rolling-update web --image=nginx:1.29
  kubectl rollwright rolling-update web --rollback";
pub(crate) const LINT: &str = "\
Examples:
  kubectl rollwright lint -f web.yaml
  kubectl rollwright lint -f manifests --include-apps -o json";
pub(crate) const COMPLETION: &str = "\
Examples:
  kubectl rollwright completion bash
  kubectl rollwright completion kubectl";
pub(crate) const VERSION: &str = "\
Examples:
  kubectl rollwright version
  kubectl rollwright version -o json";

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
