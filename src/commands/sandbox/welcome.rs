//! What the sandbox prints at its start: how to get in, with the kubectl that is there or without one.

use std::env;
use std::path::Path;

use tracing::warn;

use crate::commands::print;

/// Prints it; `applied` are the names of the Deployments that are there already.
pub(super) fn print(kubeconfig: Option<&Path>, port: u16, applied: &[String]) {
    let path = env::var_os("PATH").unwrap_or_default();
    let is_on_path = |name: &str| env::split_paths(&path).any(|entry| entry.join(name).is_file());
    let program = env::current_exe().ok();
    let directory = program.as_deref().and_then(Path::parent);
    let directory = directory.filter(|directory| directory.join(OURS).is_file() && !is_on_path(OURS));
    let text = text(kubeconfig, port, applied, is_on_path(KUBECTL), directory);
    if let Err(error) = print::print(&text) {
        warn!(%error, "nobody reads what is printed");
    }
}

const KUBECTL: &str = "kubectl";
/// The plugin comes with the operator, and does without kubectl.
const OURS: &str = "kubectl-rollwright";

/// `directory` is where kubectl-rollwright is, if it is not on `PATH`.
fn text(
    kubeconfig: Option<&Path>,
    port: u16,
    applied: &[String],
    has_kubectl: bool,
    directory: Option<&Path>,
) -> String {
    let server = format!("http://127.0.0.1:{port}");
    let program = if has_kubectl { KUBECTL } else { OURS };
    let mut lines = vec![
        format!("An in-memory cluster is up at {server}, with Rollwright in it. Ctrl-C ends it."),
        String::new(),
        match kubeconfig {
            Some(path) => format!("  export KUBECONFIG={}", path.display()),
            None => format!("  alias {program}='{program} --server={server}'"),
        },
    ];
    lines.extend(directory.map(|directory| format!("  export PATH={}:$PATH", directory.display())));
    if has_kubectl {
        lines.extend(["  kubectl apply -f examples/", "  kubectl get rwd -w"].map(str::to_owned));
        return lines.join("\n") + "\n";
    }
    lines.push(format!("  {OURS} list"));
    if let Some(name) = applied.last().map(|name| name.rsplit('/').next().unwrap_or(name)) {
        let verbs = ["restart", "status", "undo"];
        lines.extend(verbs.map(|verb| format!("  {OURS} {verb} {name}")));
    }
    lines.push(String::new());
    lines.push(match applied {
        [] => "This machine has no kubectl. `rollwright sandbox --apply FILE` creates what is in FILE."
            .to_owned(),
        _ => format!("This machine has no kubectl, so these are created already: {}.", applied.join(", ")),
    });
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kubectl_is_named_where_there_is_one() {
        let with = text(Some(Path::new("/k")), 1, &[], true, None);
        let expected = "An in-memory cluster is up at http://127.0.0.1:1, with Rollwright in it. Ctrl-C ends it.\n\n  \
                        export KUBECONFIG=/k\n  kubectl apply -f examples/\n  kubectl get rwd -w\n";
        assert_eq!(with, expected);
        let as_a_plugin = text(Some(Path::new("/k")), 1, &[], true, Some(Path::new("/bin")));
        assert!(as_a_plugin.contains("/k\n  export PATH=/bin:$PATH\n  kubectl apply"), "{as_a_plugin}");
        let without_a_file = text(None, 1, &[], true, None);
        assert!(without_a_file.contains("\n  alias kubectl='kubectl --server=http://127.0.0.1:1'\n"));
    }

    #[test]
    fn without_kubectl_our_own_program_is_named() {
        let applied = ["deployment.rollwright.dev/hello", "deployment.rollwright.dev/web"].map(str::to_owned);
        let without = text(Some(Path::new("/k")), 1, &applied, false, Some(Path::new("/bin")));
        let expected = "\n\n  export KUBECONFIG=/k\n  export PATH=/bin:$PATH\n  kubectl-rollwright list\n  \
                        kubectl-rollwright restart web\n  kubectl-rollwright status web\n  \
                        kubectl-rollwright undo web\n\nThis machine has no kubectl, so these are created \
                        already: deployment.rollwright.dev/hello, deployment.rollwright.dev/web.\n";
        assert!(without.ends_with(expected), "{without}");
        let empty = text(None, 1, &[], false, None);
        assert!(empty.contains("alias kubectl-rollwright='kubectl-rollwright --server=http"), "{empty}");
        assert!(empty.contains("--apply FILE") && !empty.contains("PATH"), "{empty}");
    }
}
