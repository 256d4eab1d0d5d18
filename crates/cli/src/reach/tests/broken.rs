//! Servers that are broken, each in another way, on a real port.

use std::time::{Duration, Instant};

use super::server::{Act, Server, answer, object, refusal};
use super::*;

/// Longer than any of these commands takes on a slow machine, and shorter than the limits without a flag.
const SOON: Duration = Duration::from_secs(8);

/// An answer that breaks off.
const HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{\"kin";

/// A server, how often it is asked by `list`, the exit code, and parts of the text, separated by ` | `.
type Case = (Act, usize, Code, &'static str);

fn refusals() -> Vec<Case> {
    let busy = |header: &str| refusal(429, header, "TooManyRequests", "busy");
    let forbidden = |message: &str| refusal(403, "", "Forbidden", message);
    let expired = refusal(401, "", "Unauthorized", "token has expired");
    let old = refusal(410, "", "Expired", "too old resource version");
    let gateway = answer("502 Bad Gateway", "", "<html>\nbad gateway");
    let down = answer("503 Service Unavailable", "", "");
    vec![
        (expired, 1, Code::NoAccess, "SERVER (PLACE) | of user ann: token has expired | --token"),
        (forbidden("no, ann"), 1, Code::NoAccess, "no, ann"),
        (
            forbidden("User \"system:anonymous\" cannot list"),
            1,
            Code::NoAccess,
            "cannot list; the request had no credentials | --user",
        ),
        (refusal(409, "", "Conflict", "changed"), 1, Code::Failed, "changed"),
        (old, 1, Code::Failed, "too old resource version"),
        (
            busy("Retry-After: 3600\r\n"),
            1,
            Code::Failed,
            "SERVER | 429 Too Many Requests: busy (tried once); try again in 3600s",
        ),
        (busy("Retry-After: 1\r\n"), 3, Code::Failed, "(tried 3 times); try again in 1s"),
        (answer("500 Internal Server Error", "", ""), 1, Code::Failed, "answered 500"),
        (gateway, 3, Code::NoAccess, "SERVER | 502 Bad Gateway: <html> bad gateway"),
        (down, 3, Code::NoAccess, "SERVER (PLACE) | answered 503 | tried 3 times | try again later"),
    ]
}

fn nonsense() -> Vec<Case> {
    let unlike = |status: &str, body: &str| answer(status, "", body);
    let silent = "SERVER (PLACE) has not answered within 400ms | --request-timeout";
    let cases = [
        (Act::Hang(String::new()), silent),
        (Act::Hang(HEAD.to_owned()), silent),
        (Act::Send(String::new()), "cannot reach SERVER (PLACE): connection closed | get-contexts"),
        (Act::Send(HEAD.to_owned()), "cannot reach SERVER | end of file"),
        (Act::Send("SSH-2.0-OpenSSH_9.9\r\n".to_owned()), "cannot reach SERVER"),
        (
            unlike("200 OK", "<html>hello"),
            "SERVER (PLACE) does not | 200 OK: <html>hello | is this the right address, or does a proxy answer",
        ),
        (unlike("200 OK", "{\"kind\": "), "SERVER (PLACE) does not | EOF while parsing"),
        (unlike("200 OK", "{\"error\": \"login\"}"), "SERVER (PLACE) does not | missing field `kind`"),
        (
            unlike("400 Bad Request", "Client sent an HTTP request to an HTTPS server.\n"),
            "SERVER (PLACE) does not | 400 Bad Request: Client sent an HTTP request to an HTTPS server.",
        ),
        (unlike("403 Forbidden", "<html>no"), "SERVER (PLACE) does not | 403 Forbidden: <html>no"),
        (unlike("404 Not Found", "{\"message\": \"no route\"}"), "SERVER (PLACE) does not | 404"),
        (unlike("501 Not Implemented", "<html>oops"), "does not | 501 Not Implemented: <html>oops"),
        (unlike("404 Not Found", "<html>nothing here"), "does not | 404 Not Found: <html>nothing here"),
        (answer("302 Found", "Location: /login\r\n", ""), "SERVER | 302 Found"),
    ];
    cases.into_iter().map(|(act, texts)| (act, 1, Code::NoAccess, texts)).collect()
}

#[tokio::test]
async fn a_broken_server_is_named_in_time() {
    for (act, requests, code, texts) in refusals().into_iter().chain(nonsense()) {
        let shown = format!("{act:?}");
        let flags = if shown.starts_with("Hang") { " --request-timeout=400ms" } else { "" };
        let server = Server::start(move |_, _| act.clone()).await;
        let url = format!("http://{}", server.address);
        let file = kubeconfig(&url);
        let begun = Instant::now();
        let (number, text) = outcome(&format!("list{flags} --kubeconfig={}", file.path())).await;
        assert_eq!((number, server.requests().len()), (code.number(), requests), "{shown}: {text}");
        assert!(begun.elapsed() < SOON, "{shown}: {:?}", begun.elapsed());
        let place = format!("kubeconfig {}, context ours", file.path());
        for part in texts.split(" | ") {
            let part = part.replace("SERVER", &url).replace("PLACE", &place);
            assert!(text.contains(&part), "{shown}: {part} is not in: {text}");
        }
        for debug in ["Error", "Some(", " { ", "Status("] {
            assert!(!text.contains(debug), "{shown}: {text}");
        }
    }
}

#[tokio::test]
async fn a_port_without_a_server_is_named() {
    let server = Server::start(|_, _| Act::Send(String::new())).await;
    let address = server.address.clone();
    drop(server);
    let file = kubeconfig(&format!("https://{address}"));
    for words in
        ["list", "status web --timeout=5s", "undo web", "plan web", "migrate web", "scale web --replicas=1"]
    {
        let (code, text) = outcome(&format!("{words} --kubeconfig={}", file.path())).await;
        let start = format!(
            "cannot reach https://{address} (kubeconfig {}, context ours): connection refused; is the server running",
            file.path()
        );
        assert_eq!(code, 6, "{words}: {text}");
        assert!(text.starts_with(&start), "{words}: {text}");
    }
}

#[tokio::test]
async fn a_host_and_port_is_asked_by_http() {
    let list = json!({"kind": "List", "apiVersion": "v1", "metadata": {}, "items": []});
    let server = Server::start(move |_, _| object(&list)).await;
    let empty = File::new("");
    let (code, text) = outcome(&format!("list -s {} --kubeconfig={}", server.address, empty.path())).await;
    assert_eq!((code, text.as_str()), (0, "No Deployments found."));
    assert_eq!(server.requests().len(), 3, "both lists, and whether the definition is installed");
    let words = format!("kubectl-rollwright list -v=6 -s {} --kubeconfig={}", server.address, empty.path());
    assert!(carry_out(&Arguments::try_parse_from(words.split(' ')).unwrap()).await.is_ok());
    let path = "apis/rollwright.dev/v1/namespaces/default/deployments 200 OK in ";
    let told = told();
    assert!(told[0].starts_with(&format!("GET http://{}/{path}", server.address)), "{told:?}");
}

#[tokio::test]
async fn a_time_limit_is_one_for_the_first_requests_too() {
    for (words, ends) in [
        ("status web", 6),
        ("status web --watch=false", 6),
        ("undo web", 6),
        ("undo web --wait", 6),
        ("migrate web", 3),
        ("migrate web --dry-run", 3),
        ("rolling-update web --image=app:2", 3),
    ] {
        let server = Server::start(|_, _| Act::Hang(String::new())).await;
        let file = kubeconfig(&format!("http://{}", server.address));
        let begun = Instant::now();
        let (code, text) = outcome(&format!("{words} --timeout=400ms --kubeconfig={}", file.path())).await;
        assert_eq!(code, ends, "{words}: {text}");
        assert!(text.contains("timed out"), "{words}: {text}");
        assert!(begun.elapsed() < SOON, "{words}: {:?}", begun.elapsed());
    }
}

#[tokio::test]
async fn nobody_repeats_a_write_that_may_have_been_carried_out() {
    for (act, writes, texts) in [
        (answer("503 Service Unavailable", "", ""), 1, ["answered 503", "look before you repeat it"]),
        (Act::Send(String::new()), 1, ["cannot reach", "look before you repeat it"]),
        (refusal(429, "", "TooManyRequests", "busy"), 3, ["answered 429", "(tried 3 times)"]),
    ] {
        let server = Server::start(move |line, _| match line {
            line if line.starts_with("PATCH") => act.clone(),
            line if line.contains("/apis/apps/v1/") => object(&web(1)),
            _ => refusal(404, "", "NotFound", "nothing"),
        })
        .await;
        let file = kubeconfig(&format!("http://{}", server.address));
        let (_, text) = outcome(&format!("pause web --kubeconfig={}", file.path())).await;
        let made = server.requests().iter().filter(|line| line.starts_with("PATCH")).count();
        assert_eq!(made, writes, "{text}");
        for part in texts {
            assert!(text.contains(part), "{part} is not in: {text}");
        }
    }
}
