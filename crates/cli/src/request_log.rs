//! `-v=6`: each request on standard error, as kubectl prints it.

use std::fmt::Display;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use http::{Request, Response};
use tower::{Layer, Service};

use crate::output::tell;

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
        let uri = request.uri().to_string();
        let request_line = format!("{} {}{}", request.method(), self.server, uri.trim_end_matches('?'));
        let since = Instant::now();
        let answer = self.inner.call(request);
        Box::pin(async move {
            let answer = answer.await;
            let outcome = match &answer {
                Ok(answer) => answer.status().to_string(),
                Err(error) => format!("failed ({error})"),
            };
            tell(&format!("{request_line} {outcome} in {} milliseconds", since.elapsed().as_millis()));
            answer
        })
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::future::ready;

    use http::StatusCode;
    use tower::{ServiceExt as _, service_fn};

    use super::*;

    #[tokio::test]
    async fn the_answer_passes_through_the_log() {
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
