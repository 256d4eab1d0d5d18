//! How the cluster is reached: by which kubeconfig and which flags, and with how much patience.

mod address;
pub(crate) mod contact;
pub(crate) mod kubeconfig;
mod patience;
#[cfg(test)]
mod tests;
pub(crate) mod unserved;

use std::sync::Arc;

use http::HeaderValue;
use kube::config::KubeConfigOptions;
use kube::{Client, Config};
use serde_json::Value;
use tower::Layer as _;

use crate::args::connection::Connection;
use crate::code::Code;
use crate::failure::{Failure, explain};
use crate::name;
use crate::request_log::{self, RequestLog};
use contact::Contact;
use kubeconfig::Source;
use patience::Patience;
use unserved::Place;

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
    let (config, place) = config(source, connection).await?;
    let namespace = name::of_namespace(&config.default_namespace)?.to_owned();
    let is_without_authority = config.root_cert.is_none();
    let server = place.to_string();
    let inner = Client::try_from(config).map_err(|error| failed(is_without_authority, &server, &error))?;
    let log = RequestLog { server: place.server.clone() };
    let patience = Patience::new(inner, Arc::new(place), connection.request_timeout);
    let contact = patience.contact.clone();
    let service = tower::service_fn(move |request| patience.clone().send(request));
    let client = if connection.verbosity >= request_log::REQUESTS {
        Client::new(log.layer(service), namespace.clone())
    } else {
        Client::new(service, namespace.clone())
    };
    Ok(Reached { client, namespace, server, contact })
}

async fn config(source: Source, connection: &Connection) -> Result<(Config, Place), Failure> {
    let files = source.files.clone();
    let chosen = source.choose(connection)?;
    let config = Config::from_custom_kubeconfig(chosen.kubeconfig, &KubeConfigOptions::default()).await;
    let mut config = config.map_err(|error| Failure::Config(explain(&error)))?;
    if let Some(token) = &connection.token {
        config.auth_info = kube::config::AuthInfo { token: Some(token.clone().into()), ..Default::default() };
    }
    check_headers(connection, &config, &files)?;
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
    let origin = match (&connection.server, &chosen.context) {
        (Some(_), _) => "given by --server".to_owned(),
        (None, Some(context)) => format!("kubeconfig {files}, context {context}"),
        (None, None) => format!("kubeconfig {files}"),
    };
    let server = config.cluster_url.to_string().trim_end_matches('/').to_owned();
    let user = chosen.user.filter(|_| connection.token.is_none());
    Ok((config, Place { server, origin, user }))
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

fn failed(is_without_authority: bool, server: &str, error: &kube::Error) -> Failure {
    let cause = explain(error);
    match error {
        kube::Error::RustlsTls(kube::client::RustlsTlsError::AddRootCertificate(_))
            if is_without_authority =>
        {
            Failure::Config(format!(
                "the server cannot be verified: the kubeconfig names no certificate authority for its \
                 cluster, and this machine has no certificates of its own ({cause}). Put \
                 certificate-authority or certificate-authority-data into the kubeconfig, or name a file \
                 of certificates by SSL_CERT_FILE"
            ))
        }
        _ => {
            let message = format!("cannot connect to {server}: {cause}");
            Failure::Request { code: Code::NoAccess, message }
        }
    }
}
