use kube::client::RustlsTlsError;

use super::*;

fn config(url: &str) -> Config {
    Config::new(url.parse().expect("a URL"))
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
        config.proxy_url = has_proxy.then(|| "https://proxy:3128".parse().expect("a URL"));
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
    let error = || kube::Error::RustlsTls(RustlsTlsError::AddRootCertificate("nothing there".into()));
    let mut config = config("https://api.example:6443");
    let told = failed(&config, &error()).to_string();
    for part in ["https://api.example:6443", "nothing there", "certificate-authority-data", "SSL_CERT_FILE"] {
        assert!(told.contains(part), "{part} in {told}");
    }
    config.root_cert = Some(vec![vec![1]]);
    let told = failed(&config, &error()).to_string();
    assert!(told.starts_with("the cluster's configuration cannot be used"), "{told}");
}
