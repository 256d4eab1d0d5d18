//! Mutating admission webhooks for tests: an HTTPS server on loopback, its
//! registration with the API server, and ready-made ways to be difficult.
//!
//! ```no_run
//! # async fn example(cluster: &cluster::Cluster) -> Result<(), cluster::Error> {
//! use cluster::webhook::{Behaviour, Webhook};
//!
//! let client = cluster.client(cluster::User::Admin).await?;
//! let webhook = Webhook::install(&client, Behaviour::AddSidecar, "my-namespace").await?;
//! // ... every new ReplicaSet in my-namespace now gets a sidecar ...
//! webhook.remove(&client).await?;
//! # Ok(())
//! # }
//! ```

mod behaviour;
mod registration;
mod server;

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use kube::Api;
use kube::api::DeleteParams;
use serde_json::Value;
use tokio::sync::oneshot;

use crate::background::Background;
use crate::credentials::ServingCertificate;
use crate::error::Error;

pub use registration::{Registration, SideEffects};
pub use world::Behaviour;

/// What a webhook answers.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// Take the object as it is.
    Allow,
    /// Take the object after these JSON patch operations.
    Patch(Vec<Value>),
    /// Refuse the request.
    Deny {
        /// HTTP status for the client.
        code: u16,
        /// Why.
        message: String,
    },
}

/// One call by the API server, for tests to look at afterwards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// `CREATE`, `UPDATE` or `DELETE`.
    pub operation: String,
    /// Plural resource name.
    pub resource: String,
    /// Namespace of the object.
    pub namespace: String,
    /// Name of the object; empty while the server has yet to make one up.
    pub name: String,
    /// Who makes the request.
    pub user: String,
    /// Whether nothing will be stored.
    pub dry_run: bool,
}

type Handler = dyn Fn(&Value) -> Verdict + Send + Sync;

/// What server and owner share.
struct Shared {
    handler: Box<Handler>,
    calls: Mutex<Vec<Call>>,
}

/// A running webhook server. Dropping it ends the server but leaves its
/// registration, so that the API server's requests then fail.
pub struct Webhook {
    port: u16,
    ca_pem: String,
    shared: Arc<Shared>,
    _background: Background,
    configuration: Option<String>,
}

impl Webhook {
    /// Serves a handler, which gets the `request` of each `AdmissionReview`.
    /// Nothing calls it before [`Webhook::register`].
    pub async fn serve(handler: impl Fn(&Value) -> Verdict + Send + Sync + 'static) -> Result<Self, Error> {
        let certificate = ServingCertificate::generate()?;
        let tls = server::tls(&certificate)?;
        let shared = Arc::new(Shared { handler: Box::new(handler), calls: Mutex::new(Vec::new()) });
        let (report, bound) = oneshot::channel();
        let background = Background::start("webhook", server::run(tls, Arc::clone(&shared), report))
            .map_err(Error::io("starting", Path::new("webhook")))?;
        let bound = bound.await.unwrap_or_else(|_| Err(std::io::ErrorKind::BrokenPipe.into()));
        let port = bound.map_err(Error::io("binding", Path::new("127.0.0.1")))?;
        Ok(Self { port, ca_pem: certificate.ca_pem, shared, _background: background, configuration: None })
    }

    /// Serves a ready-made behaviour for the `ReplicaSets` of one namespace and
    /// waits until the API server calls it.
    pub async fn install(
        client: &kube::Client,
        behaviour: Behaviour,
        namespace: &str,
    ) -> Result<Self, Error> {
        let mut webhook = Self::serve(move |request| behaviour::judge(behaviour, request)).await?;
        webhook.register(client, &behaviour::registration(behaviour, namespace)).await?;
        Ok(webhook)
    }

    /// Registers the webhook and waits until the API server calls it. A
    /// registration made before is removed first.
    pub async fn register(
        &mut self,
        client: &kube::Client,
        registration: &Registration,
    ) -> Result<(), Error> {
        self.remove(client).await?;
        let name = registration::create(client, registration, self.port, &self.ca_pem).await?;
        self.configuration = Some(name.clone());
        registration::wait_until_called(client, &name).await
    }

    /// Removes the registration, if there is one. The API server may continue to call for a moment.
    pub async fn remove(&self, client: &kube::Client) -> Result<(), Error> {
        let Some(name) = &self.configuration else { return Ok(()) };
        let configurations: Api<MutatingWebhookConfiguration> = Api::all(client.clone());
        match configurations.delete(name, &DeleteParams::default()).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// All calls so far, in order.
    pub fn calls(&self) -> Vec<Call> {
        self.shared.calls.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
