//! One request: look for a fault, ask the server, answer.

use std::future::pending;
use std::sync::Arc;

use futures::stream::poll_fn;
use http::Response;
use http::header::{
    AUTHORIZATION, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderName, TRANSFER_ENCODING,
};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::{Bytes, Incoming};
use kube::Client;
use kube::client::Body;
use serde_json::Value;
use tokio::sync::mpsc;

use crate::connection::Doom;
use crate::request::Request;
use crate::rule::Fault;
use crate::state::Shared;
use crate::stream::Pump;

/// Lines of a watch that wait for the client.
const CHUNKS: usize = 16;
/// Between two parties, and not to be passed on.
const HOP_BY_HOP: [HeaderName; 5] = [AUTHORIZATION, CONNECTION, CONTENT_LENGTH, HOST, TRANSFER_ENCODING];

/// The connection ends without an answer.
#[derive(Debug)]
pub(crate) struct Severed;

impl std::fmt::Display for Severed {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("the proxy cuts the connection")
    }
}

impl std::error::Error for Severed {}

pub(crate) type Outgoing = Response<UnsyncBoxBody<Bytes, Severed>>;

/// One connection's view of the proxy.
#[derive(Clone)]
pub(crate) struct Door {
    pub(crate) shared: Arc<Shared>,
    pub(crate) upstream: Client,
    pub(crate) doom: Doom,
}

impl Door {
    /// Answers a request, or severs the connection.
    pub(crate) async fn answer(self, incoming: http::Request<Incoming>) -> Result<Outgoing, Severed> {
        let (parts, body) = incoming.into_parts();
        let body = body.collect().await.map_err(|_| Severed)?.to_bytes();
        let mut request = Request::new(&parts.method, &parts.uri);
        let content_type = parts.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        content_type.unwrap_or_default().clone_into(&mut request.content_type);
        let json = serde_json::from_slice(&body).unwrap_or(Value::Null);
        let fault = self.shared.fault(&request, &json);
        let id = self.shared.journal().add(request.clone(), json);
        if let Some(fault) = fault {
            self.shared.journal().meets(id, fault.name());
        }
        let outgoing = onward(&parts, &body);
        match fault {
            None => self.relay(id, request, outgoing).await,
            Some(Fault::Drop) => Err(self.sever()),
            Some(Fault::Hang) => pending().await,
            Some(Fault::LoseAnswer) => {
                self.ask(id, outgoing).await?;
                Err(self.sever())
            }
            Some(Fault::HangAfter) => {
                self.ask(id, outgoing).await?;
                pending().await
            }
        }
    }

    fn sever(&self) -> Severed {
        self.doom.seal();
        Severed
    }

    /// Asks the server. One that is not there severs the connection, as it would itself.
    async fn ask(&self, id: usize, request: http::Request<Body>) -> Result<http::Response<Body>, Severed> {
        let response = self.upstream.send(request).await.map_err(|_| self.sever())?;
        let code = response.status().as_u16();
        self.shared.journal().change(id, |exchange| exchange.server_code = Some(code));
        Ok(response)
    }

    async fn relay(
        &self,
        id: usize,
        request: Request,
        outgoing: http::Request<Body>,
    ) -> Result<Outgoing, Severed> {
        let (mut parts, body) = self.ask(id, outgoing).await?.into_parts();
        for name in [CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING] {
            parts.headers.remove(name);
        }
        let is_watch = request.verb == "watch" && parts.status.is_success();
        let body = if is_watch {
            self.stream(id, request, body)
        } else {
            let bytes = body.collect().await.map_err(|_| self.sever())?.to_bytes();
            Full::new(bytes).map_err(|never| match never {}).boxed_unsync()
        };
        let code = parts.status.as_u16();
        self.shared.journal().change(id, |exchange| exchange.client_code = Some(code));
        Ok(Response::from_parts(parts, body))
    }

    fn stream(&self, id: usize, request: Request, upstream: Body) -> UnsyncBoxBody<Bytes, Severed> {
        let (faults, received) = mpsc::unbounded_channel();
        let (out, mut chunks) = mpsc::channel(CHUNKS);
        self.shared.open(id, request, faults);
        let pump = Pump { id, shared: self.shared.clone(), doom: self.doom.clone(), out };
        tokio::spawn(pump.run(upstream, received));
        let chunks = poll_fn(move |context| chunks.poll_recv(context));
        let frames = futures::StreamExt::map(chunks, |chunk| chunk.map(Frame::data));
        StreamBody::new(frames).boxed_unsync()
    }
}

/// The request as the server gets it.
fn onward(parts: &http::request::Parts, body: &Bytes) -> http::Request<Body> {
    let mut request = http::Request::new(Body::from(body.to_vec()));
    request.method_mut().clone_from(&parts.method);
    request.uri_mut().clone_from(&parts.uri);
    for (name, value) in &parts.headers {
        if !HOP_BY_HOP.contains(name) {
            request.headers_mut().append(name.clone(), value.clone());
        }
    }
    request
}
