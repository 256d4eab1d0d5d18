//! Watches on a server that fails for a while.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use super::super::contact::Interruption;
use super::server::{Act, Server, answer, object, refusal};
use super::*;
use crate::failure::Failure;

fn list(items: &[Value]) -> Act {
    object(
        &json!({"kind": "List", "apiVersion": "apps/v1", "metadata": {"resourceVersion": "1"}, "items": items}),
    )
}

/// The first watch is refused, or each before a second list if the client has to list anew. After that, the Deployment
/// is complete.
async fn recovering(refused: Act) -> Server {
    let (watches, lists) = (AtomicU32::new(0), AtomicU32::new(0));
    let lists_needed = if matches!(&refused, Act::Send(bytes) if bytes.contains(" 410 ")) { 2 } else { 1 };
    Server::start(move |line, _| match line {
        _ if line.contains("rollwright.dev") => refusal(404, "", "NotFound", "nothing"),
        _ if line.contains("/deployments/web") => object(&web(0)),
        _ if line.contains("watch=true")
            && (watches.fetch_add(1, Relaxed) == 0 || lists.load(Relaxed) < lists_needed) =>
        {
            refused.clone()
        }
        _ if line.contains("watch=true") => object(&json!({"type": "MODIFIED", "object": web(1)})),
        _ if line.contains("/deployments") => {
            lists.fetch_add(1, Relaxed);
            list(&[web(watches.load(Relaxed).min(1).into())])
        }
        _ => list(&[]),
    })
    .await
}

#[tokio::test]
async fn a_watch_continues_and_tells_so() {
    for (refused, part) in [
        (refusal(410, "", "Expired", "too old resource version"), "too old resource version"),
        (answer("503 Service Unavailable", "", ""), "answered 503 Service Unavailable"),
        (Act::Send(String::new()), "connection closed"),
        (answer("200 OK", "", "nonsense\n"), "deserializing"),
    ] {
        let server = recovering(refused).await;
        let file = kubeconfig(&format!("http://{}", server.address));
        let words = format!("kubectl-rollwright status web --timeout=60s --kubeconfig={}", file.path());
        let arguments = Arguments::try_parse_from(words.split(' ')).unwrap();
        let code = carry_out(&arguments).await.ok();
        assert_eq!(code, Some(Code::Done));
        let told = told().join("\n");
        assert!(told.contains("the watch was interrupted and is tried again: "), "{told}");
        assert!(told.contains(part) && !told.contains("Some("), "{told}");
    }
}

#[tokio::test]
async fn a_watch_without_credentials_ends() {
    for words in ["status web", "list --watch"] {
        let server = Server::start(|line, _| match line {
            _ if line.contains("/deployments/") && line.contains("/apps/") => object(&web(0)),
            _ if line.contains("/deployments/") => refusal(404, "", "NotFound", "nothing"),
            _ => refusal(401, "", "Unauthorized", "expired"),
        })
        .await;
        let file = kubeconfig(&format!("http://{}", server.address));
        let line = format!("{words} --kubeconfig={}", file.path());
        let ended = tokio::time::timeout(Duration::from_secs(6), outcome(&line)).await;
        assert!(ended.is_ok_and(|(code, text)| code == 6 && text.contains("expired")), "{words}");
    }
}

#[tokio::test]
async fn a_tree_that_is_watched_survives_a_failure() {
    let server = Server::start(|line, count| match line {
        _ if line.contains("rollwright.dev") => refusal(404, "", "NotFound", "nothing"),
        _ if (5..9).contains(&count) => answer("503 Service Unavailable", "", ""),
        _ if line.contains("watch=true") => answer("503 Service Unavailable", "", ""),
        _ if line.contains("/deployments/web") => object(&web(if count < 5 { 0 } else { 1 })),
        _ => list(&[]),
    })
    .await;
    let file = kubeconfig(&format!("http://{}", server.address));
    let words = format!("kubectl-rollwright get web --watch --kubeconfig={}", file.path());
    let code = carry_out(&Arguments::try_parse_from(words.split(' ')).unwrap()).await;
    assert_eq!(code.ok(), Some(Code::Done));
    let told = told().join("\n");
    assert!(told.contains("is tried again: ") && told.contains("answered 503"), "{told}");
}

#[tokio::test]
async fn a_server_that_is_lost_is_named_once_and_the_rollout_is_unknown() {
    for (words, ends) in [("status web --timeout=4s", Some(6)), ("list --watch", None)] {
        let lists = AtomicU32::new(0);
        let server = Server::start(move |line, _| match line {
            _ if line.contains("watch=true") || lists.load(Relaxed) > 1 => Act::Send(String::new()),
            _ if line.contains("/deployments/web") && line.contains("/apps/") => object(&web(0)),
            _ if line.contains("/deployments/") => refusal(404, "", "NotFound", "nothing"),
            _ => {
                lists.fetch_add(1, Relaxed);
                list(&[web(0)])
            }
        })
        .await;
        let file = kubeconfig(&format!("http://{}", server.address));
        let words = format!("kubectl-rollwright {words} --kubeconfig={}", file.path());
        let arguments = Arguments::try_parse_from(words.split(' ')).unwrap();
        let ended = tokio::time::timeout(Duration::from_secs(6), carry_out(&arguments)).await.ok();
        let failure = ended.and_then(Result::err);
        assert_eq!(failure.as_ref().map(|failure| failure.code().number()), ends);
        let text = failure.map(|failure| failure.to_string()).unwrap_or_default();
        assert_eq!(text.contains("s, so how the rollout stands is unknown"), ends.is_some(), "{text}");
        let told = told();
        // A watch that ends soon shows that a connection was lost without a sign.
        let is_short = |line: &&String| line.contains("watch=true") && line.contains("timeoutSeconds=30");
        let tried = server.requests().iter().filter(is_short).count();
        let lines = told.iter().filter(|line| line.contains("is tried again: cannot reach")).count();
        assert!(tried > 1 && lines == 1, "{tried}: {told:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_interruption_that_lasts_is_told_rarely_and_with_its_time() {
    let failure = |text: &str| Failure::Rollout(text.to_owned());
    let mut interruption = Interruption::default();
    for (after, text) in [(0, "a"), (20, "a"), (20, "a"), (5, "b"), (5, "b"), (200, "b")] {
        tokio::time::sleep(Duration::from_secs(after)).await;
        interruption.note(&failure(text));
    }
    interruption.end();
    interruption.note(&failure("b"));
    let begins = |text: &str| format!("the watch was interrupted and is tried again: {text}");
    let still = "the watch is still interrupted, for 40s now".to_owned();
    assert_eq!(told(), [begins("a"), still, begins("b"), begins("b"), begins("b")]);
}
