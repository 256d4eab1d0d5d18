//! How the cluster is reached: by which kubeconfig and which flags, and with how much patience.

mod address;
pub(crate) mod contact;
pub(crate) mod kubeconfig;
mod patience;
#[cfg(test)]
mod tests;
pub(crate) mod unserved;
mod unusable;

use std::path::Path;
use std::sync::Arc;

use http::HeaderValue;
use kube::config::{AuthInfo, KubeConfigOptions};
use kube::{Client, Config};
use serde_json::Value;

use crate::args::connection::Connection;
use crate::failure::{Failure, explain};
use crate::name;
use crate::terminal::tell;
use contact::Contact;
use kubeconfig::Source;
use patience::{Patience, TELL_AFTER};
use unserved::Place;
use unusable::Used;

/// The first level of `-v` that prints requests.
const REQUESTS: u8 = 6;

/// A cluster that is reached as by kubectl.
pub(crate) struct Reached {
    pub(crate) client: Client,
    pub(crate) namespace: String,
    /// Which server, and by what it was chosen.
    pub(crate) server: String,
    pub(crate) contact: Contact,
}

/// Finds out, from flags and kubeconfig, how the cluster is reached; asks it nothing.
pub(crate) async fn reach(connection: &Connection) -> Result<Reached, Failure> {
    let source = kubeconfig::read(connection.kubeconfig.as_deref())?;
    let (config, used) = config(source, connection).await?;
    let namespace = name::of_namespace(&config.default_namespace)?.to_owned();
    let origin = match (&connection.server, &used.context) {
        (Some(_), _) => "given by --server".to_owned(),
        (None, Some(context)) => format!("kubeconfig {}, context {context}", used.files),
        (None, None) => format!("kubeconfig {}", used.files),
    };
    let values = [&config.auth_info, &AuthInfo::default()].map(|user| serde_json::to_value(user).ok());
    let is_bare = values[0] == values[1];
    let place = Place {
        server: config.cluster_url.to_string().trim_end_matches('/').to_owned(),
        origin,
        user: used
            .user
            .clone()
            .filter(|_| connection.token.is_none())
            .map(|user| if is_bare { format!("{user} (the kubeconfig has none)") } else { user }),
    };
    let server = place.to_string();
    let inner = client(config, &used).await?;
    let mut patience = Patience::new(inner, Arc::new(place), connection.request_timeout);
    patience.is_logged = connection.verbosity >= REQUESTS;
    let contact = patience.contact.clone();
    let service = tower::service_fn(move |request| patience.clone().send(request));
    let client = Client::new(service, namespace.clone());
    Ok(Reached { client, namespace, server, contact })
}

/// How a kubeconfig leads to a cluster, for who makes clients of it; an error names the file, the field, and the
/// fix.
///
/// # Errors
///
/// Clients of this configuration could not be made.
pub async fn configure(kubeconfig: Option<&Path>, context: Option<&str>) -> Result<Config, String> {
    let (kubeconfig, context) = (kubeconfig.map(Path::to_owned), context.map(str::to_owned));
    let connection = Connection { kubeconfig, context, ..Connection::default() };
    let configured = async {
        let source = kubeconfig::read(connection.kubeconfig.as_deref())?;
        let (config, used) = config(source, &connection).await?;
        client(config.clone(), &used).await?;
        Ok(config)
    };
    configured.await.map_err(|failure: Failure| failure.to_string())
}

async fn config(source: Source, connection: &Connection) -> Result<(Config, Used), Failure> {
    let (kubeconfig, used) = source.choose(connection)?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    let mut config = config.map_err(|error| Failure::Config(used.wrong_field(&error)))?;
    if let Some(token) = &connection.token {
        config.auth_info = AuthInfo { token: Some(token.clone().into()), ..Default::default() };
    }
    if config.root_cert.as_ref().is_some_and(Vec::is_empty) {
        return Err(Failure::Config(used.no_certificate()));
    }
    check_headers(connection, &config, &used.files)?;
    config.accept_invalid_certs |= connection.insecure_skip_tls_verify;
    spare_certificates(&mut config);
    if connection.as_user.is_some() {
        config.auth_info.impersonate.clone_from(&connection.as_user);
    }
    if !connection.as_groups.is_empty() {
        config.auth_info.impersonate_groups = Some(connection.as_groups.clone());
    }
    if let Some(namespace) = &connection.namespace {
        config.default_namespace.clone_from(namespace);
    }
    config.default_retry = false;
    config.connect_timeout = None;
    Ok((config, used))
}

/// A plugin may run for it, which waits for the user or for a network of its own.
async fn client(config: Config, used: &Used) -> Result<Client, Failure> {
    let own = config.clone();
    let mut made = tokio::task::spawn_blocking(|| Client::try_from(own));
    let in_time = tokio::time::timeout(TELL_AFTER, &mut made).await;
    if let (Err(_), Some(plugin)) = (&in_time, used.plugin(&config)) {
        tell(&format!("waiting for the {plugin}"));
    }
    let made = match in_time {
        Ok(made) => made,
        Err(_) => made.await,
    };
    let made = made.map_err(|error| Failure::Config(explain(&error)))?;
    made.map_err(|error| used.no_client(&config, &error))
}

/// The client looks for the system's certificates whenever it is given none, and fails if there are
/// none. Where none will be looked at, none are needed.
fn spare_certificates(config: &mut Config) {
    let is_plain = config.cluster_url.scheme_str() == Some("http") && config.proxy_url.is_none();
    if config.root_cert.is_none() && (is_plain || config.accept_invalid_certs) {
        config.root_cert = Some(Vec::new());
    }
}

/// The client's library sends texts in headers, and panics at some that cannot stand there.
fn check_headers(connection: &Connection, config: &Config, files: &str) -> Result<(), Failure> {
    let is_sent = |text: &str| HeaderValue::from_str(text).is_ok();
    let flags = [("--token", &connection.token), ("--as", &connection.as_user)];
    let groups = connection.as_groups.iter().map(|group| ("--as-group", group));
    let given = flags.into_iter().filter_map(|(flag, text)| Some((flag, text.as_ref()?)));
    if let Some((flag, _)) = given.chain(groups).find(|(_, text)| !is_sent(text)) {
        return Err(Failure::Usage(format!("{flag}: must be one line, without control characters")));
    }
    let user = serde_json::to_value(&config.auth_info).unwrap_or_default();
    if user.get("token").and_then(Value::as_str).is_none_or(is_sent) {
        return Ok(());
    }
    Err(Failure::Config(format!("a token in {files} must be one line, without control characters")))
}
