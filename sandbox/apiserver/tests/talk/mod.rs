//! Requests to a server in the same process.

use apiserver::ApiServer;
use http::{Method, Request};
use http_body_util::{BodyExt as _, Full};
use serde_json::Value;
use tower_service::Service as _;

/// What the tests call themselves.
pub(crate) const AGENT: &str = "tester/1.0 (linux)";

/// Asks; answers the code and the body, which is null where there is no JSON, as of a watch.
pub(crate) async fn ask(server: &mut ApiServer, method: Method, uri: &str, body: &Value) -> (u16, Value) {
    let content_type =
        if method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let request = Request::builder()
        .method(method)
        .uri(uri)
        .header("User-Agent", AGENT)
        .header("Content-Type", content_type)
        .body(Full::new(body.into()))
        .unwrap();
    let response = server.call(request).await.unwrap();
    let code = response.status().as_u16();
    if uri.contains("watch=") {
        return (code, Value::Null);
    }
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (code, serde_json::from_slice(&body).unwrap_or(Value::Null))
}
