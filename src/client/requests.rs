//! One request to the API server: bounded in time, counted, and its error sorted.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::durations::ANSWER_LIMIT;
use engine::reconcile::Refusal;
use http::{HeaderValue, header};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use kube::client::Body;
use kube::core::request::Error as Malformed;
use kube::core::{PartialObjectMeta, Request};
use kube::{Api, Client, Resource as _};
use serde::de::DeserializeOwned;

use crate::client::lifeline::asked_wait;
use crate::client::object::{Kind, Object, Written};
use crate::client::refusal::{failure, read_at_most, refusal, unanswered};
use crate::clock;
use crate::leadership::Leadership;
use crate::serve::metrics::Metrics;
use crate::shard::Shard;

/// As many bytes are read of an answer that refuses. A refusal can name each of a hundred thousand fields.
const REFUSAL_BYTES_MAX: usize = 64 << 10;

/// Of an answer to a write only the version is read: a server that can sends no more than metadata.
const METADATA_ALONE: HeaderValue =
    HeaderValue::from_static("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json");

/// What a write is sent under: the term of leadership, and the namespace with the number of its stay in the shard.
/// Without a term, any will do; without a place, a shard writes nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Authority<'a> {
    pub(crate) term: Option<u64>,
    pub(crate) place: Option<(&'a str, u64)>,
    /// For how long the answer is waited for. A write that is cut off may have been carried out all the same; the next
    /// reconcile finds out.
    pub(crate) limit: Duration,
}

impl Default for Authority<'_> {
    fn default() -> Self {
        Self { term: None, place: None, limit: ANSWER_LIMIT }
    }
}

/// Where requests go.
#[derive(Clone)]
pub(crate) struct Server {
    client: Client,
    metrics: Metrics,
    leadership: Leadership,
    shard: Option<Arc<Shard>>,
}

impl Server {
    /// For reading, or for those that need not lead to write.
    pub(crate) fn new(client: Client, metrics: Metrics) -> Self {
        Self::guarded(client, metrics, Leadership::unneeded())
    }

    /// Lets writes leave only while this operator leads.
    pub(crate) fn guarded(client: Client, metrics: Metrics, leadership: Leadership) -> Self {
        Self { client, metrics, leadership, shard: None }
    }

    /// Lets writes leave only to namespaces of this shard, too.
    pub(crate) fn of_shard(self, shard: Option<Arc<Shard>>) -> Self {
        Self { shard, ..self }
    }

    /// To which writes are confined, if they are.
    pub(crate) fn shard(&self) -> Option<&Arc<Shard>> {
        self.shard.as_ref()
    }

    /// Whether writes may leave.
    pub(crate) fn leadership(&self) -> &Leadership {
        &self.leadership
    }

    /// Objects of a kind in a namespace.
    pub(crate) fn objects(&self, kind: Kind, namespace: &str) -> Api<Object> {
        Api::namespaced_with(self.client.clone(), namespace, &kind)
    }

    /// The metadata of objects of a kind that has no namespaces.
    pub(crate) fn cluster_metadata(&self, kind: Kind) -> Api<PartialObjectMeta<Object>> {
        Api::all_with(self.client.clone(), &kind)
    }

    /// Requests about a kind of objects in a namespace; see [`Self::exchange`].
    pub(crate) fn requests(kind: Kind, namespace: &str) -> Request {
        Request::new(Object::url_path(&kind, Some(namespace)))
    }

    /// Sends a write and awaits what it made of the object, in short.
    pub(crate) async fn write(
        &self,
        verb: &'static str,
        kind: &'static str,
        request: Result<http::Request<Vec<u8>>, Malformed>,
        authority: Authority<'_>,
    ) -> Result<Written, Refusal> {
        let mut request = request.map_err(|error| unanswered(&error))?;
        request.headers_mut().insert(header::ACCEPT, METADATA_ALONE);
        self.exchange(verb, kind, Ok(request), authority).await
    }

    /// Sends a request and reads the answer; a refusal contains the time for which the server wants no request.
    pub(crate) async fn exchange<T: DeserializeOwned>(
        &self,
        verb: &'static str,
        kind: &'static str,
        request: Result<http::Request<Vec<u8>>, Malformed>,
        authority: Authority<'_>,
    ) -> Result<T, Refusal> {
        let read = self.read_within(usize::MAX, verb, kind, request, authority).await?;
        read.map(|(answer, _)| answer).ok_or_else(|| unanswered(&"the answer is too large"))
    }

    /// As [`Self::exchange`], with the length of the answer. One with more bytes is not read to its end.
    pub(crate) async fn read_within<T: DeserializeOwned>(
        &self,
        limit: usize,
        verb: &'static str,
        kind: &'static str,
        request: Result<http::Request<Vec<u8>>, Malformed>,
        authority: Authority<'_>,
    ) -> Result<Option<(T, usize)>, Refusal> {
        let request = request.map_err(|error| unanswered(&error))?;
        let mut asked = None;
        let exchange = async {
            let response = self.client.send(request.map(Body::from)).await?;
            let status = response.status();
            asked = asked_wait(status, response.headers());
            if status.is_client_error() || status.is_server_error() {
                let read = read_at_most(REFUSAL_BYTES_MAX, response.into_body()).await?;
                return Err(kube::Error::Api(Box::new(failure(status, &read))));
            }
            let body = match Limited::new(response.into_body(), limit).collect().await {
                Ok(body) => body.to_bytes(),
                Err(error) if error.is::<LengthLimitError>() => return Ok(None),
                Err(error) => return Err(kube::Error::Service(error)),
            };
            let answer = serde_json::from_slice(&body).map_err(kube::Error::SerdeError)?;
            Ok(Some((answer, body.len())))
        };
        let result = self.send_under(verb, kind, exchange, authority).await;
        result.map_err(|refusal| Refusal { retry_after: asked, ..refusal })
    }

    /// Objects of a kind that has no namespaces.
    pub(crate) fn cluster_objects(&self, kind: Kind) -> Api<Object> {
        Api::all_with(self.client.clone(), &kind)
    }

    /// A document that is no object.
    pub(crate) async fn document(&self, path: &str) -> Result<String, Refusal> {
        let request = http::Request::get(path).body(Vec::new()).map_err(|error| unanswered(&error))?;
        self.send("get", "document", self.client.request_text(request)).await
    }

    /// Lets a write leave, and returns when the wait for its answer has to end, if ever.
    async fn permit(&self, authority: Authority<'_>) -> Result<Option<Instant>, Refusal> {
        let of_shard = match &self.shard {
            Some(shard) => Some(shard.permit(authority.place).await?),
            None => None,
        };
        // Last, since the other one may have waited for an answer.
        let of_lease = self.leadership.permit(authority.term)?;
        Ok(of_shard.into_iter().chain(of_lease).min())
    }

    /// Sends a request and awaits the answer. Everything that the operator writes comes through here; a write is not
    /// sent unless this operator leads and has the namespace, and not waited for when another may act.
    pub(crate) async fn send<T>(
        &self,
        verb: &'static str,
        kind: &'static str,
        request: impl Future<Output = Result<T, kube::Error>>,
    ) -> Result<T, Refusal> {
        self.send_under(verb, kind, request, Authority::default()).await
    }

    async fn send_under<T>(
        &self,
        verb: &'static str,
        kind: &'static str,
        request: impl Future<Output = Result<T, kube::Error>>,
        authority: Authority<'_>,
    ) -> Result<T, Refusal> {
        let mut ends = if is_write(verb) { self.permit(authority).await? } else { None };
        let limit = clock::now() + authority.limit;
        let mut request = std::pin::pin!(request);
        let result = loop {
            let until = ends.map_or(limit, |ends| limit.min(ends));
            match tokio::time::timeout_at(until.into(), &mut request).await {
                Ok(result) => break result.map_err(|error| refusal(&error)),
                Err(_) if until == limit => break Err(Refusal::no_answer(authority.limit)),
                // The lease may have been renewed since. If not, others have to find out the outcome of the write.
                Err(_) => match self.permit(authority).await {
                    Ok(renewed) if renewed > ends => ends = renewed,
                    _ => break Err(unanswered(&"no answer before others may act")),
                },
            }
        };
        let code = result.as_ref().err().map_or(200, |refusal| refusal.code).to_string();
        self.metrics.requests.with_label_values(&[verb, kind, &code]).inc();
        result
    }
}

/// Whether a request may change something. A verb that is not known to read counts as a write.
fn is_write(verb: &str) -> bool {
    !matches!(verb, "get" | "list" | "dry_run")
}

#[cfg(test)]
mod tests;
