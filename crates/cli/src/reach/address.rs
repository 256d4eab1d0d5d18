//! The address of an API server, as people write it.

use http::Uri;

/// What an address must be, for messages.
pub(super) const FORM: &str = "must be a URL such as https://HOST:6443, or HOST:PORT";

/// Reads a URL or HOST:PORT. As for kubectl, HOST:PORT speaks HTTP, unless certificates are configured.
///
/// Everything that the client cannot make requests to is refused here: the client's library would panic.
pub(super) fn parse(text: &str, has_certificates: bool) -> Option<Uri> {
    let is_bare = !text.contains("://");
    let scheme = if has_certificates { "https" } else { "http" };
    let full = if is_bare { format!("{scheme}://{text}") } else { text.to_owned() };
    let uri: Uri = full.parse().ok()?;
    let is_web = matches!(uri.scheme_str(), Some("http" | "https"));
    let has_path = !matches!(uri.path(), "" | "/");
    let is_usable = is_web && uri.query().is_none() && !text.contains('#') && has_port_or_none(&uri);
    (is_usable && !(is_bare && has_path)).then_some(uri)
}

/// Whether a host is there, and what follows it is a port.
fn has_port_or_none(uri: &Uri) -> bool {
    let Some(authority) = uri.authority() else { return false };
    let (host, all) = (authority.host(), authority.as_str());
    let rest = all.strip_prefix(host);
    let is_port = |rest: &str| rest.is_empty() || authority.port_u16().is_some_and(|port| port > 0);
    !host.is_empty() && rest.is_some_and(is_port)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_and_port_is_a_url_as_for_kubectl() {
        let read = |text, has_certificates| parse(text, has_certificates).map(|uri| uri.to_string());
        for (text, plain, secure) in [
            ("127.0.0.1:8080", "http://127.0.0.1:8080/", "https://127.0.0.1:8080/"),
            ("localhost", "http://localhost/", "https://localhost/"),
            ("[::1]:8080", "http://[::1]:8080/", "https://[::1]:8080/"),
            ("https://host:6443", "https://host:6443/", "https://host:6443/"),
            ("http://host/k8s/clusters/c-1", "http://host/k8s/clusters/c-1", "http://host/k8s/clusters/c-1"),
        ] {
            assert_eq!(read(text, false).as_deref(), Some(plain), "{text}");
            assert_eq!(read(text, true).as_deref(), Some(secure), "{text}");
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for wrong in [
            "",
            "/",
            ":8080",
            "host:port",
            "host:0",
            "host:99999",
            "host/path",
            "ftp://host",
            "https://",
            "https:///path",
            "http://host?x=1",
            "http://host#x",
            "a b",
            "user@host",
        ] {
            assert_eq!(parse(wrong, false), None, "{wrong}");
        }
    }
}
