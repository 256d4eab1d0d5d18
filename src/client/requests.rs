//! One request to the API server: bounded in time, counted, and its error sorted.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::reconcile::Refusal;
use http::{HeaderValue, header};
use kube::client::Body;
use kube::core::request::Error as Malformed;
use kube::core::{PartialObjectMeta, Request, Status};
use kube::{Api, Client, Resource as _};
use serde::de::DeserializeOwned;

use crate::client::lifeline::asked_wait;
use crate::client::object::{Kind, Object, Written};
use crate::client::refusal::{refusal, unanswered};
use crate::clock;
use crate::leadership::Leadership;
use crate::serve::metrics::Metrics;
use crate::shard::Shard;

/// No request but a watch takes longer. A write that is cut off may have been carried out all
/// the same; the next reconcile finds out.
const DEADLINE: Duration = Duration::from_secs(10);

/// Of an answer to a write only the version is read: a server that can sends no more than metadata.
const METADATA_ALONE: HeaderValue =
    HeaderValue::from_static("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json");

/// Under what a write is sent: the term of leadership, and the namespace with the number of the time that
/// it has been ours for. Without a term, any will do; without a place, a shard writes nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Authority<'a> {
    pub(crate) term: Option<u64>,
    pub(crate) place: Option<(&'a str, u64)>,
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

    /// Lets writes leave only while we lead.
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

    /// Sends a request and reads the answer; a refusal says how long the server wants to be spared.
    pub(crate) async fn exchange<T: DeserializeOwned>(
        &self,
        verb: &'static str,
        kind: &'static str,
        request: Result<http::Request<Vec<u8>>, Malformed>,
        authority: Authority<'_>,
    ) -> Result<T, Refusal> {
        let request = request.map_err(|error| unanswered(&error))?;
        let mut asked = None;
        let exchange = async {
            let response = self.client.send(request.map(Body::from)).await?;
            let status = response.status();
            asked = asked_wait(status, response.headers());
            let body = response.into_body().collect_bytes().await?;
            if status.is_client_error() || status.is_server_error() {
                return Err(kube::Error::Api(Box::new(failure(status, &body))));
            }
            serde_json::from_slice(&body).map_err(kube::Error::SerdeError)
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

    /// Lets a write leave, and says when waiting for its answer has to end, if ever.
    async fn permit(&self, authority: Authority<'_>) -> Result<Option<Instant>, Refusal> {
        let of_shard = match &self.shard {
            Some(shard) => Some(shard.permit(authority.place).await?),
            None => None,
        };
        // Last, since the other one may have waited for an answer.
        let of_lease = self.leadership.permit(authority.term)?;
        Ok(of_shard.into_iter().chain(of_lease).min())
    }

    /// Sends a request and awaits the answer. Everything that the operator writes comes through
    /// here; what changes something is not sent unless we lead and the namespace is ours, and not waited
    /// for when another may act.
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
        let ends = if is_write(verb) { self.permit(authority).await? } else { None };
        let deadline =
            ends.map_or(DEADLINE, |ends| DEADLINE.min(ends.saturating_duration_since(clock::now())));
        let result = match tokio::time::timeout(deadline, request).await {
            Ok(result) => result.map_err(|error| refusal(&error)),
            Err(_) => Err(unanswered(&format!("no answer within {} s", deadline.as_secs()))),
        };
        let code = result.as_ref().err().map_or(200, |refusal| refusal.code).to_string();
        self.metrics.requests.with_label_values(&[verb, kind, &code]).inc();
        result
    }
}

/// What a server says that refuses; something between it and us may refuse in other words.
fn failure(status: http::StatusCode, body: &[u8]) -> Status {
    serde_json::from_slice(body).unwrap_or_else(|_| {
        let text = String::from_utf8_lossy(body);
        Status::failure(text.trim(), "Failed to parse error data").with_code(status.as_u16())
    })
}

/// Whether a request may change something. A verb that is not known to read counts as a write.
fn is_write(verb: &str) -> bool {
    !matches!(verb, "get" | "list" | "dry_run")
}

#[cfg(test)]
mod tests;
