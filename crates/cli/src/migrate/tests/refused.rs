//! What the server refuses or would drop, and how long the command keeps trying.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use clap::Parser as _;
use kube::Client;
use kube::client::Body;

use super::*;

/// A server with this cluster that answers every write with 409, or never answers one.
fn server(facts: &Facts, writes: Arc<AtomicU32>, answers: bool) -> Client {
    let list = |items: &[Value]| json!({"apiVersion": "v1", "kind": "List", "metadata": {}, "items": items});
    let source = facts.source.as_ref().expect("the source").body.clone();
    let (sets, none) = (list(&facts.sets), list(&[]));
    let service = tower::service_fn(move |request: http::Request<Body>| {
        let path = request.uri().path().to_owned();
        let is_read = request.method() == http::Method::GET;
        let is_dry_run = request.uri().query().unwrap_or_default().contains("dryRun");
        let status =
            |code: u16| json!({"kind": "Status", "status": "Failure", "code": code, "message": "changed"});
        let (code, answer) = if is_read && path.ends_with("/apps/v1/namespaces/shop/deployments/web") {
            (200, source.clone())
        } else if is_read && path.ends_with("/replicasets") {
            (200, sets.clone())
        } else if is_read && path.ends_with("/web") {
            (404, status(404))
        } else if is_read {
            (200, none.clone())
        } else if is_dry_run {
            (201, source.clone())
        } else {
            assert!(writes.fetch_add(1, Relaxed) < 200, "it does not pause");
            (409, status(409))
        };
        async move {
            if code == 409 && !answers {
                std::future::pending::<()>().await;
            }
            let body = Body::from(answer.to_string().into_bytes());
            Ok::<_, std::convert::Infallible>(
                http::Response::builder().status(code).body(body).expect("a response"),
            )
        }
    });
    Client::new(service, "shop")
}

#[derive(clap::Parser)]
struct CommandLine {
    #[command(flatten)]
    migrate: MigrateArguments,
}

#[tokio::test(start_paused = true)]
async fn it_pauses_after_a_refusal_and_stops_at_the_timeout() {
    let arguments = CommandLine::parse_from(["migrate", "web", "--timeout=30s", "--hpa=retarget"]).migrate;
    for (answers, tries) in [(true, 50..=101), (false, 1..=1)] {
        let writes = Arc::new(AtomicU32::new(0));
        let client = server(&facts(), writes.clone(), answers);
        let cluster = Cluster::of(client, "shop");
        let deadline = Deadline::after(arguments.timeout);
        let name = "web".to_owned();
        let migration = Migration { cluster, name, to: Flavour::Rollwright, deadline, arguments: &arguments };
        let started = tokio::time::Instant::now();
        let ended = tokio::time::timeout(Duration::from_secs(600), migration.carry_out(false)).await;
        assert_eq!(ended.expect("an end").expect("no failure"), Code::Unfinished);
        assert_eq!(started.elapsed().as_secs(), 30);
        let written = writes.load(Relaxed);
        assert!(tries.contains(&written), "{written} writes");
    }
}

/// A create without an answer may have been carried out all the same.
#[tokio::test]
async fn ctrl_c_ends_it_and_names_the_command_that_finishes_it() {
    let arguments = CommandLine::parse_from(["migrate", "web", "--timeout=0", "--hpa=retarget"]).migrate;
    let writes = Arc::new(AtomicU32::new(0));
    let cluster = Cluster::of(server(&facts(), writes.clone(), false), "shop");
    let (name, deadline) = ("web".to_owned(), Deadline::after(arguments.timeout));
    let migration = Migration { cluster, name, to: Flavour::Rollwright, deadline, arguments: &arguments };
    let interrupt = async {
        while writes.load(Relaxed) == 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let own = std::process::id().to_string();
        let sent = std::process::Command::new("kill").args(["-INT", &own]).status();
        assert!(sent.expect("kill").success());
        std::future::pending::<Code>().await
    };
    let ended = tokio::select! {
        ended = migration.carry_out(false) => ended.expect("no failure"),
        never = interrupt => never,
    };
    assert_eq!(ended, Code::Unfinished);
    let finish = "is unfinished, and no pod was touched; to finish it: kubectl rollwright migrate deployment/web -n \
                  shop --hpa=retarget; to return";
    assert!(migration.left(true).contains(finish), "{}", migration.left(true));
    assert_eq!(migration.left(false), "nothing was changed");
}

#[test]
fn what_the_definition_lacks_is_refused_and_named() {
    let mut facts = facts();
    let source = &mut facts.source.as_mut().expect("the source").body;
    for object in [source, &mut facts.sets[2]] {
        object["spec"]["template"]["spec"]["containers"][0]["newest"] = json!({"field": true});
    }
    let source = &facts.source.as_ref().expect("the source").body;
    let mut stored = source.clone();
    facts.dry_run = Some(Ok(stored.clone()));
    assert!(matches!(next(&facts), Next::Write(_)));
    let container = &mut stored["spec"]["template"]["spec"]["containers"][0];
    container.as_object_mut().expect("a container").remove("newest");
    facts.dry_run = Some(Ok(stored.clone()));
    let expected = "has no spec.template.spec.containers[0].newest: the API server would drop that";
    let found = problems(&facts, &neighbours());
    assert!(matches!(&found[..], [problem] if problem.contains(expected)), "{found:?}");
    assert!(matches!(next(&facts), Next::Stuck(reason) if reason.contains(expected)));
    // The field came after the target was created.
    let source = facts.source.clone().expect("the source");
    stored["metadata"]["labels"] =
        json!({super::super::facts::MIGRATED_FROM: super::super::facts::mark_from(&source)});
    facts.target = Some(Deployment { flavour: Flavour::Rollwright, body: stored });
    assert!(
        matches!(next(&facts), Next::Stuck(reason) if reason.contains(expected) && reason.contains("orphan"))
    );
}
