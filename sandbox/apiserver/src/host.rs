//! Which hosts a client may ask for on a loopback port, and from which pages.
//!
//! The port has no password. A web page could still reach it, by a name of its own that resolves to
//! 127.0.0.1 (DNS rebinding). The browser then sends that name in `Host`. A page may also send a POST request to
//! 127.0.0.1 itself, and cannot read the answer. The browser then sends where the page is from in `Origin`.

use http::{HeaderMap, HeaderValue, Uri, header};
use world::Refused;

const LOCAL: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];

/// Lets a request pass that is meant for this machine by a name of this machine, and that no page of another
/// host sends.
///
/// # Errors
/// 403 when it names another host or none, or comes from a page of another host.
pub(crate) fn check(uri: &Uri, headers: &HeaderMap) -> Result<(), Refused> {
    check_host(uri, headers)?;
    let foreign = headers.get_all(header::ORIGIN).iter().find(|origin| !is_local_page(origin));
    foreign.map_or(Ok(()), |origin| {
        let message = format!("the sandbox answers no web page, and Origin says {origin:?}");
        Err(Refused::new(403, "Forbidden", message))
    })
}

fn is_local_page(origin: &HeaderValue) -> bool {
    let host = origin.to_str().ok().and_then(|origin| origin.split_once("://")).map(|(_, host)| host);
    host.is_some_and(is_local)
}

fn check_host(uri: &Uri, headers: &HeaderMap) -> Result<(), Refused> {
    let mut hosts = headers.get_all(header::HOST).iter().map(|host| host.to_str().unwrap_or_default());
    let (first, others) = (hosts.next(), hosts.next());
    let host = first.unwrap_or_default();
    let in_target = uri.authority().is_none_or(|authority| is_local(authority.as_str()));
    if is_local(host) && others.is_none() && in_target {
        return Ok(());
    }
    let asked_for = if in_target { host } else { uri.authority().map_or("", |authority| authority.as_str()) };
    let message = format!(
        "the sandbox answers only requests to 127.0.0.1, localhost or [::1], not to {asked_for:?}: a web \
         page could send them otherwise"
    );
    Err(Refused::new(403, "Forbidden", message))
}

fn is_local(host: &str) -> bool {
    LOCAL.iter().any(|name| {
        let rest = host.get(..name.len()).filter(|start| start.eq_ignore_ascii_case(name));
        match rest.and_then(|_| host.get(name.len()..)) {
            Some("") => true,
            Some(rest) => rest.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok()),
            None => false,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(target: &str, hosts: &[&str]) -> Result<(), Refused> {
        let mut headers = HeaderMap::new();
        for host in hosts {
            headers.append(header::HOST, HeaderValue::from_str(host).unwrap());
        }
        check(&target.parse().unwrap(), &headers)
    }

    #[test]
    fn names_of_this_machine_are_let_in() {
        for host in ["127.0.0.1", "127.0.0.1:8080", "localhost", "LOCALHOST:1", "[::1]", "[::1]:65535"] {
            assert!(asked("/api", &[host]).is_ok(), "{host}");
            assert!(asked(&format!("http://{host}/api"), &[host]).is_ok(), "{host}");
        }
    }

    #[test]
    fn all_others_are_refused() {
        let others = [
            "evil.example",
            "evil.example:8080",
            "127.0.0.1.evil.example",
            "localhost.evil.example",
            "localhost:evil",
            "localhost@evil.example",
            "localhost:",
            "127.0.0.2",
            "0.0.0.0",
            "[::1",
            "",
        ];
        for host in others {
            let refused = asked("/api", &[host]).unwrap_err();
            assert_eq!(refused.code, 403, "{host}");
            assert!(refused.message.contains(&format!("not to {host:?}")), "{}", refused.message);
        }
        assert!(asked("/api", &[]).is_err());
        assert!(asked("/api", &["localhost", "evil.example"]).is_err());
        assert!(asked("http://evil.example/api", &["localhost"]).unwrap_err().message.contains("evil"));
    }

    #[test]
    fn pages_of_other_hosts_are_refused() {
        let from = |origin: &'static str| {
            let headers = [(header::HOST, "127.0.0.1:80"), (header::ORIGIN, origin)];
            check(
                &Uri::from_static("/api"),
                &headers.into_iter().map(|(name, value)| (name, HeaderValue::from_static(value))).collect(),
            )
        };
        for origin in ["http://localhost:3000", "http://127.0.0.1", "https://[::1]:1"] {
            assert!(from(origin).is_ok(), "{origin}");
        }
        for origin in ["https://evil.example", "http://localhost.evil.example", "null", "127.0.0.1", ""] {
            let refused = from(origin).unwrap_err();
            assert_eq!(refused.code, 403, "{origin}");
            assert!(refused.message.contains(&format!("{origin:?}")), "{}", refused.message);
        }
    }
}
