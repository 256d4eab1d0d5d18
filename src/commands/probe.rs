//! `rollwright probe`: waits for a page of an operator. The image holds one program, so this is what
//! `helm test` runs in it.

use std::time::Duration;

use http::Uri;
use http::uri::PathAndQuery;
use kube::{Client, Config};
use tokio::time::Instant;

use crate::args::ProbeArguments;
use crate::client::refusal::refusal;

/// Time between two tries, and for how long one may take.
const PAUSE: Duration = Duration::from_secs(1);
const DEADLINE: Duration = Duration::from_secs(5);

/// Why the page did not answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProbeError {
    /// Not in time; the last answer shows why.
    #[error("{url} did not answer with 200 within {seconds} s: {last}")]
    Late { url: Uri, seconds: u64, last: String },
    /// No client could be made.
    #[error("{url} cannot be requested: {source}")]
    Client { url: Uri, source: Box<kube::Error> },
}

/// The page, once it is there.
pub(crate) async fn run(arguments: &ProbeArguments) -> Result<String, ProbeError> {
    let (url, started) = (&arguments.url, Instant::now());
    let timeout = arguments.timeout.unwrap_or_default();
    let mut config = Config::new(root(url));
    // Or the system's certificates would be looked for, and the image has none.
    config.root_cert = Some(Vec::new());
    config.accept_invalid_certs = true;
    config.connect_timeout = Some(DEADLINE);
    config.default_retry = false;
    let client = Client::try_from(config)
        .map_err(|source| ProbeError::Client { url: url.clone(), source: Box::new(source) })?;
    loop {
        let last = match tokio::time::timeout(DEADLINE, ask(&client, url)).await {
            Ok(Ok(page)) => return Ok(page),
            Ok(Err(error)) => refusal(&error).message,
            Err(_) => format!("no answer within {} s", DEADLINE.as_secs()),
        };
        if started.elapsed() + PAUSE > timeout {
            return Err(ProbeError::Late { url: url.clone(), seconds: timeout.as_secs(), last });
        }
        tokio::time::sleep(PAUSE).await;
    }
}

async fn ask(client: &Client, url: &Uri) -> Result<String, kube::Error> {
    let path = url.path_and_query().map_or("/", PathAndQuery::as_str);
    let request = http::Request::get(path).body(Vec::new()).map_err(kube::Error::HttpError)?;
    client.request_text(request).await
}

/// The client puts paths behind what it is given.
fn root(url: &Uri) -> Uri {
    let mut parts = url.clone().into_parts();
    parts.path_and_query = Some(PathAndQuery::from_static("/"));
    Uri::from_parts(parts).unwrap_or_else(|_| url.clone())
}
