use std::fs;

use rcgen::{CertifiedKey, generate_simple_self_signed};

use super::*;

/// A certificate and its key in a directory.
pub(crate) struct Files(PathBuf);

impl Files {
    pub(crate) fn new(name: &str) -> Self {
        let directory = std::env::temp_dir().join(format!("rollwright-tls-{}-{name}", std::process::id()));
        fs::create_dir_all(&directory).expect("a directory");
        Self(directory)
    }

    /// Writes a new pair.
    pub(crate) fn renew(&self) -> CertificateDer<'static> {
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
        self.write("tls.crt", cert.pem().as_bytes());
        self.write("tls.key", signing_key.serialize_pem().as_bytes());
        cert.der().clone()
    }

    pub(crate) fn write(&self, name: &str, text: &[u8]) {
        fs::write(self.0.join(name), text).expect("written");
    }

    pub(crate) fn read(&self) -> Result<Option<Arc<Tls>>, TlsError> {
        Tls::read(Some(&self.0.join("tls.crt")), Some(&self.0.join("tls.key")))
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn without_files_there_is_no_tls() {
    assert!(Tls::read(None, None).expect("nothing wrong").is_none());
}

#[test]
fn errors_name_the_flag_and_the_file() {
    let files = Files::new("errors");
    let error = |files: &Files| files.read().err().map(|error| error.to_string()).unwrap_or_default();
    let half = Tls::read(Some(Path::new("tls.crt")), None).err().map(|error| error.to_string());
    assert!(half.is_some_and(|text| text.contains("--metrics-tls-key-file")));
    let missing = error(&files);
    assert!(
        missing.starts_with("--metrics-tls-cert-file ") && missing.contains("tls.crt: No such file"),
        "{missing}"
    );
    files.renew();
    files.write("tls.crt", b"");
    assert!(error(&files).ends_with("tls.crt: there is no certificate in it"), "{}", error(&files));
    files.renew();
    files.write("tls.key", b"no key");
    let text = error(&files);
    assert!(text.starts_with("--metrics-tls-key-file ") && text.contains("not in PEM form"), "{text}");
    let other = Files::new("other");
    other.renew();
    files.renew();
    files.write("tls.key", &fs::read(other.0.join("tls.key")).expect("a key"));
    let text = error(&files);
    assert!(text.contains("--metrics-tls-cert-file") && text.contains("--metrics-tls-key-file"), "{text}");
}
