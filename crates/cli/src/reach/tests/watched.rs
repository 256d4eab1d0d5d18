//! Watches on a server that fails for a while.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::server::{Act, Server, answer, object, refusal};
use super::*;

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
