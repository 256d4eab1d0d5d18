//! Everything that proves identity: certificates, service account key, tokens
//! and the kubeconfigs that carry them.

use std::collections::hash_map::RandomState;
use std::fmt::Write as _;
use std::fs;
use std::hash::{BuildHasher as _, Hasher as _};
use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, ExtendedKeyUsagePurpose,
    IsCa, KeyPair, KeyUsagePurpose,
};
use serde_json::json;

use crate::error::Error;

/// Who may talk to the API server; each has a bearer token and a kubeconfig.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum User {
    /// A member of `system:masters`: may do everything.
    Admin,
    /// An ordinary subject without any rights of its own, for testing RBAC.
    Operator,
    /// The identity of kube-controller-manager.
    ControllerManager,
    /// The fake kubelet, apart from `Admin` in the audit log.
    Kubelet,
}

impl User {
    /// All users.
    pub const ALL: [Self; 4] = [Self::Admin, Self::Operator, Self::ControllerManager, Self::Kubelet];

    /// User name as RBAC and the audit log see it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Admin => "admin",
            Self::Operator => "operator",
            Self::ControllerManager => "system:kube-controller-manager",
            Self::Kubelet => "fake-kubelet",
        }
    }

    fn groups(self) -> &'static str {
        match self {
            Self::Admin | Self::Kubelet => "system:masters",
            Self::Operator | Self::ControllerManager => "",
        }
    }

    fn file(self) -> &'static str {
        match self {
            Self::Admin => "admin.kubeconfig",
            Self::Operator => "operator.kubeconfig",
            Self::ControllerManager => "kube-controller-manager.kubeconfig",
            Self::Kubelet => "fake-kubelet.kubeconfig",
        }
    }
}

/// Key and certificate of a TLS server on loopback, and of the CA behind it.
pub(crate) struct ServingCertificate {
    pub(crate) ca_pem: String,
    pub(crate) certificate_pem: String,
    pub(crate) key_pem: String,
}

impl ServingCertificate {
    pub(crate) fn generate() -> Result<Self, Error> {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        params.distinguished_name = named("rollwright-cluster-ca");
        let ca = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
        let mut params = CertificateParams::new(vec!["127.0.0.1".to_owned(), "localhost".to_owned()])?;
        params.distinguished_name = named("rollwright-cluster");
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &ca)?;
        Ok(Self { ca_pem: ca.pem(), certificate_pem: certificate.pem(), key_pem: key.serialize_pem() })
    }
}

fn named(name: &str) -> DistinguishedName {
    let mut distinguished = DistinguishedName::new();
    distinguished.push(DnType::CommonName, name);
    distinguished
}

/// The credentials of one cluster, as files in its directory.
#[derive(Clone, Debug)]
pub(crate) struct Credentials {
    directory: PathBuf,
    server: String,
    tokens: Vec<(User, String)>,
}

impl Credentials {
    /// Makes and writes everything for an API server on `port`.
    pub(crate) fn create(directory: PathBuf, port: u16) -> Result<Self, Error> {
        fs::create_dir_all(&directory).map_err(Error::io("creating", &directory))?;
        let tokens: Vec<(User, String)> = User::ALL
            .into_iter()
            .map(|user| (user, format!("{}{}", random_suffix(), random_suffix())))
            .collect();
        let server = format!("https://127.0.0.1:{port}");
        let credentials = Self { directory, server, tokens };
        let serving = ServingCertificate::generate()?;
        write(&credentials.ca(), &serving.ca_pem)?;
        write(&credentials.certificate(), &serving.certificate_pem)?;
        write(&credentials.key(), &serving.key_pem)?;
        let service_accounts = KeyPair::generate()?;
        write(&credentials.service_account_key(), &service_accounts.serialize_pem())?;
        write(&credentials.service_account_public_key(), &service_accounts.public_key_pem())?;
        write(&credentials.token_file(), &credentials.token_lines())?;
        for (user, token) in &credentials.tokens {
            credentials.write_kubeconfig(user.file(), user.name(), token)?;
        }
        Ok(credentials)
    }

    pub(crate) fn server(&self) -> &str {
        &self.server
    }

    pub(crate) fn ca(&self) -> PathBuf {
        self.directory.join("ca.crt")
    }

    pub(crate) fn certificate(&self) -> PathBuf {
        self.directory.join("serving.crt")
    }

    pub(crate) fn key(&self) -> PathBuf {
        self.directory.join("serving.key")
    }

    pub(crate) fn service_account_key(&self) -> PathBuf {
        self.directory.join("service-account.key")
    }

    pub(crate) fn service_account_public_key(&self) -> PathBuf {
        self.directory.join("service-account.pub")
    }

    pub(crate) fn token_file(&self) -> PathBuf {
        self.directory.join("tokens.csv")
    }

    pub(crate) fn kubeconfig(&self, user: User) -> PathBuf {
        self.directory.join(user.file())
    }

    fn token_lines(&self) -> String {
        self.tokens.iter().fold(String::new(), |mut lines, (user, token)| {
            let _ = writeln!(
                lines,
                "{token},{name},{name},\"{groups}\"",
                name = user.name(),
                groups = user.groups()
            );
            lines
        })
    }

    /// Writes a kubeconfig for any bearer token; JSON is YAML to its readers.
    pub(crate) fn write_kubeconfig(&self, file: &str, user: &str, token: &str) -> Result<PathBuf, Error> {
        let config = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "rollwright", "cluster": {
                "server": self.server,
                "certificate-authority": self.ca(),
            }}],
            "users": [{"name": user, "user": {"token": token}}],
            "contexts": [{"name": "rollwright", "context": {
                "cluster": "rollwright", "user": user, "namespace": "default",
            }}],
            "current-context": "rollwright",
        });
        let path = self.directory.join(file);
        write(&path, &serde_json::to_string_pretty(&config)?)?;
        Ok(path)
    }
}

pub(crate) fn write(path: &Path, text: &str) -> Result<(), Error> {
    fs::write(path, text).map_err(Error::io("writing", path))
}

/// Sixteen hexadecimal digits that differ at every call. Taken from the
/// standard library's hash seeds: unguessable enough for a loopback server.
pub(crate) fn random_suffix() -> String {
    format!("{:016x}", RandomState::new().build_hasher().finish())
}
