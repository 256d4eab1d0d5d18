use super::*;

/// A server that counts requests and never answers, and what talks to it.
fn silent_server(leadership: Leadership) -> (Server, std::sync::Arc<std::sync::atomic::AtomicUsize>) {
    let count = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counter = count.clone();
    let service = tower::service_fn(move |_: http::Request<kube::client::Body>| {
        counter.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        std::future::pending::<Result<http::Response<kube::client::Body>, std::io::Error>>()
    });
    let client = Client::new(service, "default");
    (Server::guarded(client, Metrics::new().expect("metrics"), leadership), count)
}

#[tokio::test(start_paused = true)]
async fn no_write_leaves_without_a_lead() {
    let (announcer, leadership) = Leadership::elected();
    let (server, count) = silent_server(leadership);
    let sent = || count.swap(0, std::sync::atomic::Ordering::SeqCst);
    let api = server.objects(Kind::ReplicaSet, "default");
    for verb in ["create", "patch", "patch_status", "delete", "update", "something new"] {
        let refused = server.send(verb, "replicasets", api.get("web")).await.expect_err(verb);
        assert!(refused.is_not_sent() && !refused.leaves_doubt(), "{verb}: {refused:?}");
        assert_eq!(sent(), 0, "{verb}");
    }
    for verb in ["get", "list", "dry_run"] {
        let refused = server.send(verb, "replicasets", api.get("web")).await.expect_err("no answer");
        assert!(!refused.is_not_sent(), "{verb}");
        assert_eq!(sent(), 1, "{verb}");
    }
    let now = clock::now();
    let lead =
        lease::Lead { term: 1, until: now + Duration::from_secs(1), expires: now + Duration::from_secs(6) };
    announcer.send_replace(Some(lead));
    let refused = server.send("patch", "replicasets", api.get("web")).await.expect_err("no answer");
    assert_eq!((sent(), refused.leaves_doubt()), (1, true));
    assert_eq!(clock::now() - now, Duration::from_secs(6), "not waited for when another may lead");
    assert!(
        server.send("patch", "replicasets", api.get("web")).await.is_err_and(|refusal| refusal.is_not_sent())
    );
    assert_eq!(sent(), 0);
}
