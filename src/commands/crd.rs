//! The CustomResourceDefinition: printed, and compared with what the cluster knows.

use api::crd;
use engine::reconcile::Refusal;
use serde_json::Value;
use tracing::{debug, info, warn};

use crate::args::CrdArguments;
use crate::client::object::Kind;
use crate::client::requests::Server;
use crate::client::{self, ClientError};
use crate::serve::metrics::Metrics;

/// Fields named in a warning; the metric counts all.
const NAMED_MAX: usize = 8;

/// Why the definition cannot be printed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SchemaError {
    /// No way to the cluster.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// Metrics, which nobody reads here.
    #[error(transparent)]
    Metrics(#[from] prometheus::Error),
    /// The cluster does not answer as it should.
    #[error("reading the OpenAPI document of the cluster: {0}")]
    OpenApi(String),
    /// The cluster's types do not make a schema.
    #[error(transparent)]
    Schema(#[from] crd::SchemaError),
}

/// The definition as YAML.
pub(crate) async fn print(arguments: &CrdArguments) -> Result<String, SchemaError> {
    let openapi = if arguments.from_cluster {
        let config = client::config(&arguments.client).await?;
        let metrics = Metrics::new()?;
        let server = Server::new(client::client(&client::dial(&config, &metrics))?, metrics.clone());
        let text = server.document(crd::OPENAPI_PATH).await;
        let text = text.map_err(|refusal| SchemaError::OpenApi(refusal.message))?;
        Some(serde_json::from_str(&text).map_err(|error| SchemaError::OpenApi(error.to_string()))?)
    } else {
        None
    };
    Ok(crd::to_yaml(&crd::crd(openapi.as_ref())?))
}

/// Warns of pod fields that the cluster knows and the installed definition would drop.
pub(crate) async fn report_lag(server: Server, metrics: Metrics) {
    match missing_fields(&server).await {
        Ok(missing) if missing.is_empty() => {
            info!("the installed CustomResourceDefinition has all pod fields of this cluster");
        }
        Ok(missing) => {
            metrics.template_schema_lag.set(i64::try_from(missing.len()).unwrap_or(i64::MAX));
            let fields = missing.iter().take(NAMED_MAX).cloned().collect::<Vec<_>>().join(", ");
            warn!(
                count = missing.len(),
                fields,
                "this cluster knows pod fields that the installed CustomResourceDefinition drops; \
                 `rollwright crd --from-cluster | kubectl apply -f -` adds them"
            );
        }
        Err(refusal) => debug!(error = refusal.message, "pod fields could not be compared"),
    }
}

async fn missing_fields(server: &Server) -> Result<Vec<String>, Refusal> {
    let definitions = server.cluster_objects(Kind::Crd);
    let installed = server.send("get", "customresourcedefinitions", definitions.get(crd::CRD_NAME)).await?;
    let openapi = server.document(crd::OPENAPI_PATH).await?;
    let openapi = serde_json::from_str(&openapi).unwrap_or(Value::Null);
    Ok(crd::missing_pod_fields(&installed.body, &openapi))
}
