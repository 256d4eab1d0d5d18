//! The audit log, as `dev/cluster` reads it from a real server.

use crate::talk;

use std::io::Write;
use std::sync::{Arc, Mutex};

use apiserver::{ApiServer, embed};
use http::Method;
use serde_json::{Value, json};
use talk::{AGENT, ask};
use world::Conventions;

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

struct FullDisk;

impl Write for FullDisk {
    fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
        Err(std::io::ErrorKind::StorageFull.into())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn server(out: impl Write + Send + 'static) -> ApiServer {
    let cluster = embed(api::crd::crd(None).unwrap(), Box::new(Conventions::default())).unwrap();
    ApiServer::new(&cluster).with_audit_log(out)
}

#[tokio::test]
async fn every_request_has_a_line() {
    let lines = Lines::default();
    let mut server = server(lines.clone());
    let maps = "/api/v1/namespaces/default/configmaps";
    let map = &json!({ "metadata": { "name": "a" } });
    let nothing = &Value::Null;
    ask(&mut server, Method::GET, "/version", nothing).await;
    ask(&mut server, Method::POST, &format!("{maps}?dryRun=All"), map).await;
    ask(&mut server, Method::POST, maps, map).await;
    ask(&mut server, Method::PUT, &format!("{maps}/b"), map).await;
    ask(&mut server, Method::GET, maps, nothing).await;
    ask(&mut server, Method::GET, &format!("{maps}?watch=true"), nothing).await;
    ask(&mut server, Method::PATCH, "/apis/rollwright.dev/v1/namespaces/x/deployments/y/status", &json!({}))
        .await;
    ask(&mut server, Method::DELETE, maps, nothing).await;
    let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let seen: Vec<String> = lines
        .iter()
        .map(|line| {
            let part = |name: &str| line["objectRef"][name].as_str().unwrap_or("-");
            let verb = line["verb"].as_str().unwrap();
            let object = ["apiGroup", "resource", "namespace", "name", "subresource"].map(part).join(" ");
            format!("{verb} {object} {} {}", line["responseStatus"]["code"], line["stage"].as_str().unwrap())
        })
        .collect();
    let expected = [
        "get - - - - - 200 ResponseComplete",
        "create - configmaps default - - 201 ResponseComplete",
        "create - configmaps default - - 201 ResponseComplete",
        "update - configmaps default b - 400 ResponseComplete",
        "list - configmaps default - - 200 ResponseComplete",
        "watch - configmaps default - - 200 ResponseStarted",
        "patch rollwright.dev deployments x y status 404 ResponseComplete",
        "deletecollection - configmaps default - - 200 ResponseComplete",
    ];
    assert_eq!(seen, expected);
    assert!(lines.iter().all(|line| line["userAgent"] == AGENT));
    assert_eq!(lines[1]["requestURI"], format!("{maps}?dryRun=All"));
    let (received, answered) = (&lines[0]["requestReceivedTimestamp"], &lines[0]["stageTimestamp"]);
    assert!(received.as_str().unwrap() <= answered.as_str().unwrap(), "{received} {answered}");
    assert!(received.as_str().unwrap().parse::<jiff::Timestamp>().is_ok(), "{received}");
}

#[tokio::test]
async fn nothing_is_answered_that_cannot_be_logged() {
    let mut server = server(FullDisk);
    let (code, body) = ask(&mut server, Method::GET, "/api/v1/nodes", &Value::Null).await;
    assert_eq!(code, 500);
    assert!(body["message"].as_str().unwrap().contains("the audit log cannot be written"), "{body}");
}
