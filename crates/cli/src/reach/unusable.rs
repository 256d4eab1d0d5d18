//! Why a kubeconfig leads to no cluster, in words that name the file, the field, and the fix.

use std::io;
use std::path::Path;

use kube::client::{AuthError, RustlsTlsError};
use kube::config::{KubeconfigError, LoadDataError};
use kube::{Config, Error};

use crate::code::Code;
use crate::failure::{Failure, explain};
use crate::terminal::clean;

/// What of a kubeconfig is used.
#[derive(Clone, Debug)]
pub(super) struct Used {
    /// The files, for messages.
    pub(super) files: String,
    /// The name of the context, unless none was needed.
    pub(super) context: Option<String>,
    pub(super) cluster: String,
    pub(super) user: Option<String>,
}

/// A file that cannot be read.
pub(super) fn unreadable(path: &Path, error: &KubeconfigError) -> String {
    let path = path.display();
    match error {
        KubeconfigError::ReadConfig(error, _) => format!("{path}: {}", of_file(error)),
        KubeconfigError::Parse(error) => format!("{path} is not a kubeconfig: {}", in_a_line(error)),
        other => format!("{path}: {}", explain(other)),
    }
}

/// The message of a YAML parser without the lines of the file, which may hold credentials.
fn in_a_line(error: &dyn std::error::Error) -> String {
    let text = explain(error);
    clean(text.lines().next().unwrap_or_default().trim_start_matches("error: "))
}

impl Used {
    fn of_cluster(&self, field: &str) -> String {
        format!("{field} of cluster \"{}\" in {}", self.cluster, self.files)
    }

    fn of_user(&self, field: &str) -> String {
        format!("{field} of user \"{}\" in {}", self.user.as_deref().unwrap_or_default(), self.files)
    }

    pub(super) fn no_certificate(&self) -> String {
        format!("{} holds no certificate", self.of_cluster("certificate-authority"))
    }

    /// A field with which there is no configuration.
    pub(super) fn wrong_field(&self, error: &KubeconfigError) -> String {
        let (field, words) = match error {
            KubeconfigError::ParseCertificates(_) => return self.no_certificate(),
            KubeconfigError::LoadCertificateAuthority(data) => {
                (self.of_cluster("certificate-authority"), words(data))
            }
            KubeconfigError::LoadClientCertificate(data) => (self.of_user("client-certificate"), words(data)),
            KubeconfigError::LoadClientKey(data) => (self.of_user("client-key"), words(data)),
            KubeconfigError::ParseProxyUrl(error) => {
                (format!("{}, or HTTPS_PROXY, is not a URL", self.of_cluster("proxy-url")), error.to_string())
            }
            other => (self.files.clone(), explain(other)),
        };
        format!("{field}: {words}")
    }

    /// Why there is no client of this configuration.
    pub(super) fn no_client(&self, config: &Config, error: &Error) -> Failure {
        let server = config.cluster_url.to_string();
        let server = server.trim_end_matches('/');
        let message = match error {
            Error::Auth(error) => self.no_credentials(config, error),
            Error::RustlsTls(RustlsTlsError::AddRootCertificate(cause)) if config.root_cert.is_none() => {
                format!(
                    "the server {server} cannot be verified: the kubeconfig names no certificate authority for its \
                     cluster, and this machine has no certificates of its own ({cause}). Put certificate-authority \
                     or certificate-authority-data into the kubeconfig, or name a file of certificates by \
                     SSL_CERT_FILE"
                )
            }
            Error::ProxyProtocolDisabled { proxy_url, .. }
            | Error::ProxyProtocolUnsupported { proxy_url } => {
                let proxy = proxy_url.host().unwrap_or_default();
                let field = self.of_cluster("proxy-url");
                format!(
                    "{server} is behind the proxy {proxy}, and this program uses no proxy: remove {field}, or unset \
                     HTTPS_PROXY"
                )
            }
            Error::InferKubeconfig(error) => return Failure::Config(self.wrong_field(error)),
            Error::RustlsTls(cause) => return Failure::Config(self.wrong_certificate(cause)),
            other => format!("cannot connect to {server}: {}", explain(other)),
        };
        Failure::Request { code: Code::NoAccess, message }
    }

    fn wrong_certificate(&self, error: &RustlsTlsError) -> String {
        let field = match error {
            RustlsTlsError::AddRootCertificate(_) => self.of_cluster("certificate-authority"),
            RustlsTlsError::InvalidServerName(_) => self.of_cluster("tls-server-name"),
            _ => self.of_user("client-certificate or client-key"),
        };
        format!("{field}: {}", explain(error))
    }

    /// The program that has the credentials.
    pub(super) fn plugin(&self, config: &Config) -> Option<String> {
        let command = config.auth_info.exec.as_ref()?.command.as_deref()?;
        Some(self.of_user(&format!("exec plugin {command}")))
    }

    fn no_credentials(&self, config: &Config, error: &AuthError) -> String {
        let hint = config.auth_info.exec.as_ref().and_then(|exec| exec.install_hint.as_deref());
        let next = match error {
            AuthError::AuthExecStart(_) => hint.map_or_else(|| "install it".to_owned(), clean),
            _ => "log in again".to_owned(),
        };
        let field = self.plugin(config).unwrap_or_else(|| self.of_user("credentials"));
        let words = without_credentials(error);
        format!("{field}: {words}; {next}, or choose another user with a token or a certificate")
    }
}

/// Why there are no credentials. What a plugin prints for the program is not shown: it may hold some.
pub(super) fn without_credentials(error: &AuthError) -> String {
    match error {
        AuthError::AuthExecStart(error) => format!("it cannot be started, {}", of_file(error)),
        AuthError::AuthExecRun { out, .. } => {
            let printed = String::from_utf8_lossy(&out.stderr);
            let last = printed.lines().rfind(|line| !line.trim().is_empty());
            let last = last.map_or_else(String::new, |line| format!(" ({})", clean(line)));
            format!("it failed with {}{last}", out.status)
        }
        AuthError::AuthExecParse(_) | AuthError::ExecPluginFailed => {
            "it did not print an ExecCredential with a status".to_owned()
        }
        AuthError::MissingCommand => "exec has no command".to_owned(),
        AuthError::ReadTokenFile(error, path) => format!("{}: {}", path.display(), of_file(error)),
        AuthError::InvalidBearerToken(_) => "a token must be one line, without control characters".to_owned(),
        other => explain(other),
    }
}

fn words(error: &LoadDataError) -> String {
    match error {
        LoadDataError::ReadFile(error, path) => format!("{}: {}", path.display(), of_file(error)),
        LoadDataError::DecodeBase64(error) => format!("not base64: {error}"),
        LoadDataError::NoBase64DataOrFile => "missing".to_owned(),
    }
}

fn of_file(error: &io::Error) -> String {
    if error.kind() == io::ErrorKind::NotFound { "no such file".to_owned() } else { error.kind().to_string() }
}

#[cfg(test)]
mod tests {
    use super::super::spare_certificates;
    use super::*;

    fn config(url: &str) -> Config {
        Config::new(url.parse().unwrap())
    }

    #[test]
    fn certificates_are_spared_where_none_are_looked_at() {
        for (url, accepts_any, has_proxy, spared) in [
            ("http://127.0.0.1:8001", false, false, true),
            ("https://127.0.0.1:6443", false, false, false),
            ("https://127.0.0.1:6443", true, false, true),
            // The proxy's own certificate may be looked at.
            ("http://10.0.0.1:8001", false, true, false),
        ] {
            let mut config = config(url);
            config.accept_invalid_certs = accepts_any;
            config.proxy_url = has_proxy.then(|| "https://proxy:3128".parse().unwrap());
            spare_certificates(&mut config);
            assert_eq!(config.root_cert, spared.then(Vec::new), "{url}");
        }
        let mut named = config("http://127.0.0.1:8001");
        named.root_cert = Some(vec![vec![1]]);
        spare_certificates(&mut named);
        assert_eq!(named.root_cert, Some(vec![vec![1]]));
    }

    #[test]
    fn what_is_missing_is_named_where_it_is_the_authority() {
        let used = Used { files: "F".to_owned(), context: None, cluster: "c".to_owned(), user: None };
        let error = Error::RustlsTls(RustlsTlsError::AddRootCertificate("nothing there".into()));
        let mut config = config("https://api.example:6443");
        let told = used.no_client(&config, &error).to_string();
        for part in
            ["https://api.example:6443", "nothing there", "certificate-authority-data", "SSL_CERT_FILE"]
        {
            assert!(told.contains(part), "{part} in {told}");
        }
        config.root_cert = Some(vec![vec![1]]);
        let told = used.no_client(&config, &error).to_string();
        assert!(told.contains("certificate-authority of cluster \"c\" in F: failed to add a root"), "{told}");
    }
}
