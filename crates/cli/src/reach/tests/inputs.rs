//! Wrong inputs: each ends with a sentence that names the input and the fix, before any request.

use super::server::{Act, Server, refusal};
use super::*;

/// A command line, and what its message names: the input, and the fix.
const WRONG: &[(&str, [&str; 2])] = &[
    // Names of Deployments.
    ("status web?dryRun=All", ["web?dryRun=All", "must consist of"]),
    ("status deploy/../../secrets", ["secrets", "must consist of"]),
    ("status a%2fb", ["a%2fb", "must consist of"]),
    ("why Web", ["\"Web\"", "must consist of"]),
    ("get pod/web", ["\"pod\"", "write deployment/NAME"]),
    ("get deploy/", ["deploy/", "write deploy/NAME"]),
    ("migrate web db", ["\"web\"", "write deployment/NAME"]),
    ("diff web_1", ["web_1", "must consist of"]),
    ("undo .web", [".web", "must consist of"]),
    ("unpin web#", ["web#", "must consist of"]),
    ("retry web;", ["web;", "must consist of"]),
    ("abort ..", ["\"..\"", "must consist of"]),
    ("promote web:1", ["web:1", "must consist of"]),
    ("pause -", ["\"-\"", "must consist of"]),
    ("restart \u{fc}ber", ["\u{fc}ber", "must consist of"]),
    ("plan web?", ["web?", "must consist of"]),
    ("scale web? --replicas=1", ["web?", "must consist of"]),
    ("set image web? app=app:1", ["web?", "must consist of"]),
    ("migrate web?", ["web?", "must consist of"]),
    ("rolling-update web? --image=app:2", ["web?", "must consist of"]),
    ("rolling-update web next? --image=app:2", ["next?", "must consist of"]),
    ("set env web --from=secret/a?b", ["a?b", "must consist of"]),
    // Namespaces.
    ("list -n a/b", ["namespace \"a/b\"", "must consist of"]),
    ("list -n kube.system", ["kube.system", "must not contain dots"]),
    ("list --namespace=Shop", ["Shop", "must consist of"]),
    // What the kubeconfig does not have.
    ("list --context=nope", ["--context nope", "kubectl config get-contexts"]),
    ("list --cluster=nope", ["--cluster nope", "kubectl config get-clusters"]),
    ("list --user=nope", ["--user nope", "kubectl config get-users"]),
    // Servers.
    ("list -s host:port", ["--server host:port", "https://HOST:6443, or HOST:PORT"]),
    ("list -s host:99999", ["--server host:99999", "HOST:PORT"]),
    ("list -s ftp://host", ["--server ftp://host", "HOST:PORT"]),
    ("list -s host/path", ["--server host/path", "HOST:PORT"]),
    ("list -s https://", ["--server https://", "HOST:PORT"]),
    ("list -s http://host?x=1", ["--server http://host?x=1", "HOST:PORT"]),
    // Headers.
    ("list --token=a\u{7f}b", ["--token", "one line"]),
    ("list --as=ann\n", ["--as", "one line"]),
    ("list --as=ann --as-group=ops\t\u{1}", ["--as-group", "one line"]),
    // Flags.
    ("list --request-timeout=soon", ["soon", "30s"]),
    ("status web --timeout=-1s", ["-1s", "30s"]),
    ("status web --for=ever", ["ever", "complete"]),
    ("list -o table", ["table", "json"]),
    ("scale web --replicas=-1", ["-1", "--replicas"]),
    ("scale web --replicas=many", ["many", "--replicas"]),
    ("undo web --to-revision=-1", ["-1", "--to-revision"]),
    ("undo web --dry-run=maybe", ["maybe", "client"]),
    ("undo web --reason=x", ["--pin", "Usage"]),
    ("history web --revision=x", ["x", "--revision"]),
    ("plan -f /nowhere.yaml", ["/nowhere.yaml", "-f"]),
    ("frobnicate web", ["frobnicate", "--help"]),
    ("list --no-such-flag", ["--no-such-flag", "--help"]),
];

#[tokio::test]
async fn a_wrong_input_is_named_before_any_request() {
    assert!(WRONG.len() >= 40);
    let server = Server::start(|_, _| Act::Send(String::new())).await;
    let file = kubeconfig(&format!("http://{}", server.address));
    for (words, parts) in WRONG {
        let (code, text) = outcome(&format!("{words} --kubeconfig={}", file.path())).await;
        assert!(matches!(code, 1 | 2), "{words}: {code}: {text}");
        for part in parts {
            assert!(text.contains(part), "{words}: {part} is not in: {text}");
        }
    }
    assert_eq!(server.requests(), Vec::<String>::new());
}

/// A kubeconfig with this user, and more of its cluster.
fn of_user(user: &str, more: &str) -> String {
    format!(
        "{{current-context: o, contexts: [{{name: o, context: {{cluster: c, user: ann}}}}], clusters: [{{name: c, \
         cluster: {{server: 'https://127.0.0.1:9'{more}}}}}], users: [{{name: ann, user: {user}}}]}}"
    )
}

/// Users and fields of clusters with which there is no client, and the message.
const UNUSABLE: &[(&str, &str, &str)] = &[
    ("{token: \"a\\nb\"}", "", "a token in FILE must be one line"),
    ("{}", ", certificate-authority: /x/ca", "cluster \"c\" in FILE: /x/ca: no such file"),
    ("{}", ", certificate-authority-data: aA==", "cluster \"c\" in FILE holds no certificate"),
    ("{client-certificate: /x/c, client-key: /x/k}", "", "user \"ann\" in FILE: /x/c: no such file"),
    ("{}", ", proxy-url: 'http://u:secret@it:3128'", "uses no proxy: remove proxy-url of cluster"),
    ("{tokenFile: /x/t}", "", "credentials of user \"ann\" in FILE: /x/t: no such file; log in again"),
    (
        "{exec: {command: nonesuch, installHint: brew it}}",
        "",
        "it cannot be started, no such file; brew it, or",
    ),
    (
        "{exec: {command: sh, args: [-c, 'echo token; echo no >&2; exit 3'], interactiveMode: Never}}",
        "",
        "exec plugin sh of user \"ann\" in FILE: it failed with exit status: 3 (no); log in again",
    ),
];

/// Kubeconfigs that lead nowhere.
#[tokio::test]
async fn a_wrong_kubeconfig_is_named_before_any_request() {
    let config = |server: &str, namespace: &str, cluster: &str| {
        format!(
            "{{current-context: ours, contexts: [{{name: ours, context: {{cluster: c, namespace: '{namespace}'}}}}], \
             clusters: [{{name: {cluster}, cluster: {{server: '{server}'}}}}]}}"
        )
    };
    let contents = [
        (config("http://h", "a/b", "c"), 2, ["namespace \"a/b\"", "must consist of"]),
        (config("", "shop", "c"), 6, ["server \"\" of cluster \"c\" in FILE", "HOST:PORT"]),
        (config("host:port", "shop", "c"), 6, ["server \"host:port\" of cluster \"c\"", "HOST:PORT"]),
        (config("http://h", "shop", "d"), 6, ["has no cluster \"c\"", "--kubeconfig"]),
        ("{current-context: gone}".to_owned(), 6, ["has no context \"gone\"", "--kubeconfig"]),
        (String::new(), 6, ["has no current context", "--context"]),
        (
            of_user("{}", "").replace("user: ann", "user: bob"),
            6,
            ["FILE has no user \"bob\", which its context \"o\" names", "--kubeconfig"],
        ),
        ("[".to_owned(), 6, ["FILE is not a kubeconfig: line 1", "--kubeconfig"]),
    ];
    let unusable = UNUSABLE.iter().map(|(user, more, part)| (of_user(user, more), 6, [*part, ""]));
    for (content, code, parts) in contents.into_iter().chain(unusable) {
        let file = File::new(&content);
        let (ended, text) = outcome(&format!("list --kubeconfig={}", file.path())).await;
        for leaked in ["secret", "token\\n", "error:", "Error"] {
            assert!(!text.contains(leaked), "{text}");
        }
        assert_eq!(ended, code, "{content}: {text}");
        for part in parts {
            let part = part.replace("FILE", file.path());
            assert!(text.contains(&part), "{content}: {part} is not in: {text}");
        }
    }
}

#[tokio::test]
async fn a_user_without_credentials_that_can_be_sent_is_named() {
    let token = File::new("t\n");
    let server = Server::start(|_, _| refusal(401, "", "Unauthorized", "no")).await;
    for (user, part) in [
        (
            format!("{{tokenFile: {}}}", token.path()),
            "no credentials of user ann for http://SERVER (given by",
        ),
        (
            "{}".to_owned(),
            "does not accept the credentials of user ann (the kubeconfig has none): no; log in",
        ),
    ] {
        let file = File::new(&of_user(&user, ""));
        let line = format!("list -s http://{} --kubeconfig={}", server.address, file.path());
        let (code, text) = outcome(&line).await;
        assert_eq!(code, 6, "{text}");
        assert!(text.contains(&part.replace("SERVER", &server.address)), "{text}");
    }
}
