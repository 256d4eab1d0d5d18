//! `-v=6`: each request on standard error, as kubectl prints it.

use std::fmt::Display;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use http::{Request, Response};
use tower::{Layer, Service};

use crate::terminal::tell;

/// The first level of `-v` that prints requests.
pub(crate) const REQUESTS: u8 = 6;

/// Prints the requests of a client to this server.
#[derive(Clone, Debug)]
pub(crate) struct RequestLog {
    pub(crate) server: String,
}

/// A client with that log.
#[derive(Clone, Debug)]
pub(crate) struct Logged<S> {
    inner: S,
    server: String,
}

impl<S> Layer<S> for RequestLog {
    type Service = Logged<S>;

    fn layer(&self, inner: S) -> Logged<S> {
        Logged { inner, server: self.server.trim_end_matches('/').to_owned() }
    }
}

impl<S, A, B> Service<Request<A>> for Logged<S>
where
    S: Service<Request<A>, Response = Response<B>>,
    S::Future: Send + 'static,
    S::Error: Display,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<A>) -> Self::Future {
        let asked = asked(&self.server, request.method().as_str(), &request.uri().to_string());
        let since = Instant::now();
        let answer = self.inner.call(request);
        Box::pin(async move {
            let answer = answer.await;
            let outcome = match &answer {
                Ok(answer) => answer.status().to_string(),
                Err(error) => format!("failed ({error})"),
            };
            tell(&format!("{asked} {outcome} in {} milliseconds", since.elapsed().as_millis()));
            answer
        })
    }
}

/// A request in words. The client ends some paths with a `?` and no query.
fn asked(server: &str, method: &str, path: &str) -> String {
    format!("{method} {server}{}", path.trim_end_matches('?'))
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::future::ready;

    use http::StatusCode;
    use tower::{ServiceExt as _, service_fn};

    use super::*;

    #[test]
    fn a_request_has_its_whole_address() {
        let path = "/apis/apps/v1/deployments";
        assert_eq!(
            asked("https://host:6443", "GET", &format!("{path}?")),
            format!("GET https://host:6443{path}")
        );
        assert_eq!(asked("http://[::1]", "PATCH", "/x?dryRun=All"), "PATCH http://[::1]/x?dryRun=All");
    }

    #[tokio::test]
    async fn the_answer_of_the_server_stays_as_it_is() {
        let server = service_fn(|request: Request<()>| {
            let is_known = request.uri() == "/apis";
            let mut answer = Response::new(());
            *answer.status_mut() = if is_known { StatusCode::OK } else { StatusCode::NOT_FOUND };
            ready(Ok::<_, Infallible>(answer))
        });
        let logged = RequestLog { server: "https://host:6443/".to_owned() }.layer(server);
        assert_eq!(logged.server, "https://host:6443");
        let answer = logged.oneshot(Request::get("/apis").body(()).unwrap()).await.unwrap();
        assert_eq!(answer.status(), StatusCode::OK);
    }
}
