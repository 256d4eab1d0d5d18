//! TLS of the port: a certificate and its key from files, read again when they change.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject as _};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{self, ServerConfig};
use tracing::{info, warn};

/// How often the files are looked at. A kubelet brings a new secret within about a minute.
const LOOK_EVERY: Duration = Duration::from_secs(10);

/// Why there is no TLS.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TlsError {
    /// One without the other.
    #[error("--metrics-tls-cert-file and --metrics-tls-key-file go together: name both, or neither")]
    Alone,
    #[error("{flag} {}: {source}", path.display())]
    Read { flag: &'static str, path: PathBuf, source: std::io::Error },
    #[error("{flag} {}: not in PEM form: {source}", path.display())]
    Pem { flag: &'static str, path: PathBuf, source: pem::Error },
    #[error("--metrics-tls-cert-file {}: there is no certificate in it", .0.display())]
    Empty(PathBuf),
    #[error("--metrics-tls-cert-file {} and --metrics-tls-key-file {}: {source}", cert.display(), key.display())]
    Pair { cert: PathBuf, key: PathBuf, source: rustls::Error },
}

/// The files, and what was made of them.
pub(crate) struct Tls {
    cert: PathBuf,
    key: PathBuf,
    current: Mutex<Current>,
}

struct Current {
    text: Text,
    acceptor: TlsAcceptor,
}

/// What stands in the files.
#[derive(PartialEq, Eq)]
struct Text {
    cert: Vec<u8>,
    key: Vec<u8>,
}

impl Tls {
    /// Reads the files; `None` when none are named.
    pub(crate) fn read(cert: Option<&Path>, key: Option<&Path>) -> Result<Option<Arc<Self>>, TlsError> {
        let (cert, key) = match (cert, key) {
            (None, None) => return Ok(None),
            (Some(cert), Some(key)) => (cert.to_owned(), key.to_owned()),
            _ => return Err(TlsError::Alone),
        };
        let text = Text::read(&cert, &key)?;
        let acceptor = acceptor(&text, &cert, &key)?;
        Ok(Some(Arc::new(Self { cert, key, current: Mutex::new(Current { text, acceptor }) })))
    }

    /// For the next connection.
    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        self.current.lock().unwrap_or_else(PoisonError::into_inner).acceptor.clone()
    }

    /// Looks for changes until the task is dropped.
    pub(crate) async fn keep_fresh(self: Arc<Self>) {
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            match self.refresh() {
                Ok(true) => {
                    info!(path = %self.cert.display(), "the certificate of the metrics port has changed");
                }
                Ok(false) => {}
                // Both files are not written at the same time, so that they may disagree for a moment.
                Err(error) => warn!(%error, "the metrics port keeps its old certificate"),
            }
        }
    }

    /// Reads the files again; whether they have changed.
    pub(super) fn refresh(&self) -> Result<bool, TlsError> {
        let text = Text::read(&self.cert, &self.key)?;
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if current.text == text {
            return Ok(false);
        }
        let acceptor = acceptor(&text, &self.cert, &self.key)?;
        *current = Current { text, acceptor };
        Ok(true)
    }
}

impl Text {
    fn read(cert: &Path, key: &Path) -> Result<Self, TlsError> {
        let read = |flag, path: &Path| {
            std::fs::read(path).map_err(|source| TlsError::Read { flag, path: path.to_owned(), source })
        };
        Ok(Self { cert: read("--metrics-tls-cert-file", cert)?, key: read("--metrics-tls-key-file", key)? })
    }
}

fn acceptor(text: &Text, cert: &Path, key: &Path) -> Result<TlsAcceptor, TlsError> {
    let bad = |flag, path: &Path| {
        let path = path.to_owned();
        move |source| TlsError::Pem { flag, path, source }
    };
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text.cert).collect();
    let chain = chain.map_err(bad("--metrics-tls-cert-file", cert))?;
    if chain.is_empty() {
        return Err(TlsError::Empty(cert.to_owned()));
    }
    let private = PrivateKeyDer::from_pem_slice(&text.key).map_err(bad("--metrics-tls-key-file", key))?;
    let pair = |source| TlsError::Pair { cert: cert.to_owned(), key: key.to_owned(), source };
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(pair)?
        .with_no_client_auth()
        .with_single_cert(chain, private)
        .map_err(pair)?;
    // HTTP/2 has had one denial of service after the other, and nobody here needs it.
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

#[cfg(test)]
pub(crate) mod tests;
