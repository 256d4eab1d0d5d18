//! The port itself: what it answers to whom, over TLS.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::*;
use crate::serve::admin::access::tests::Authority;
use crate::serve::admin::clients::CONNECTIONS_MAX;
use crate::serve::admin::tls::tests::Files;

async fn port(tls: Option<Arc<Tls>>, gate: Option<Gate>) -> SocketAddr {
    port_within(DEADLINE, tls, gate).await
}

async fn port_within(deadline: Duration, tls: Option<Arc<Tls>>, gate: Option<Gate>) -> SocketAddr {
    let listener = listen("127.0.0.1:0".parse().expect("address")).await.expect("a port");
    let address = listener.local_addr().expect("address");
    let (_, ready) = signal::channel(false);
    let health =
        Health { stalled_after: Duration::from_secs(1), watches: Vec::new(), dispatchers: Vec::new() };
    let more: More = Arc::new(|path| match path {
        "/debug/state" => Some("{}".to_owned()),
        // More than the buffers of two sockets hold.
        "/endless" => Some("x".repeat(64 << 20)),
        _ => None,
    });
    let pages = Pages {
        metrics: Metrics::new().expect("metrics"),
        ready,
        health: Arc::new(health),
        objects: None,
        more: Some(more),
        gate: gate.map(Arc::new),
    };
    tokio::spawn(serve_within(deadline, listener, tls, pages));
    address
}

/// A client that trusts this certificate and speaks these protocols.
fn connector(certificate: &CertificateDer<'static>, protocols: &[&str]) -> TlsConnector {
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone()).expect("a root");
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
    TlsConnector::from(Arc::new(config))
}

async fn get(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    path: &str,
    token: Option<&str>,
) -> std::io::Result<String> {
    let token = token.map_or_else(String::new, |token| format!("Authorization: Bearer {token}\r\n"));
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{token}\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

async fn secure(
    address: SocketAddr,
    connector: &TlsConnector,
) -> std::io::Result<tokio_rustls::client::TlsStream<TcpStream>> {
    let stream = TcpStream::connect(address).await?;
    connector.connect(ServerName::try_from("localhost").expect("a name"), stream).await
}

#[tokio::test]
async fn probes_are_open_and_the_rest_is_for_those_who_may() {
    let address = port(None, Some(Authority::default().gate())).await;
    for (path, token, expected) in [
        ("/livez", None, "HTTP/1.1 200"),
        ("/readyz", None, "HTTP/1.1 503"),
        ("/metrics", None, "HTTP/1.1 401"),
        ("/metrics", Some("stolen"), "HTTP/1.1 401"),
        ("/metrics", Some("weak"), "HTTP/1.1 403"),
        ("/metrics", Some("good"), "HTTP/1.1 200"),
        ("/debug/state", None, "HTTP/1.1 401"),
        ("/debug/state", Some("good"), "HTTP/1.1 403"),
        ("/anything", None, "HTTP/1.1 401"),
    ] {
        let stream = TcpStream::connect(address).await.expect("connected");
        let answer = get(stream, path, token).await.expect("answered");
        assert!(answer.starts_with(expected), "{path} with {token:?}: {answer}");
        assert_eq!(answer.contains("www-authenticate: Bearer\r\n"), expected.ends_with("401"), "{answer}");
        let is_told = answer.contains("rollwright_build_info");
        assert_eq!(is_told, (path, token) == ("/metrics", Some("good")), "{answer}");
    }
}

#[tokio::test]
async fn without_a_gate_all_is_open() {
    let address = port(None, None).await;
    for (path, expected) in
        [("/metrics", "HTTP/1.1 200"), ("/debug/state", "HTTP/1.1 200"), ("/x", "HTTP/1.1 404")]
    {
        let stream = TcpStream::connect(address).await.expect("connected");
        assert!(get(stream, path, None).await.expect("answered").starts_with(expected), "{path}");
    }
}

#[tokio::test]
async fn it_speaks_tls_and_nothing_newer_than_http_1() {
    let files = Files::new("speaks");
    let certificate = files.renew();
    let address = port(files.read().expect("TLS"), None).await;
    let stream = secure(address, &connector(&certificate, &["h2", "http/1.1"])).await.expect("secure");
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"http/1.1"[..]));
    assert!(get(stream, "/livez", None).await.expect("answered").starts_with("HTTP/1.1 200"));
    assert!(secure(address, &connector(&certificate, &["h2"])).await.is_err(), "HTTP/2 only");
    let plain = get(TcpStream::connect(address).await.expect("connected"), "/livez", None).await;
    assert!(!plain.unwrap_or_default().contains("200"), "clear text");
}

#[tokio::test]
async fn a_renewed_certificate_is_shown_to_the_next_client() {
    let files = Files::new("renewed");
    let first = files.renew();
    let tls = files.read().expect("TLS").expect("some");
    let address = port(Some(tls.clone()), None).await;
    let kept = secure(address, &connector(&first, &[])).await.expect("secure");
    let second = files.renew();
    assert!(secure(address, &connector(&second, &[])).await.is_err(), "not looked at yet");
    assert!(tls.refresh().expect("readable"), "it has changed");
    assert!(!tls.refresh().expect("readable"), "once");
    let stream = secure(address, &connector(&second, &[])).await.expect("the new one");
    assert!(get(stream, "/livez", None).await.expect("answered").starts_with("HTTP/1.1 200"));
    assert!(secure(address, &connector(&first, &[])).await.is_err(), "the old one is gone");
    assert!(get(kept, "/livez", None).await.expect("answered").starts_with("HTTP/1.1 200"), "it goes on");

    files.write("tls.crt", b"half a certif");
    assert!(tls.refresh().is_err());
    secure(address, &connector(&second, &[])).await.expect("the last that was whole");
}

/// A connection from another address of this machine.
async fn connect_from(last_byte: u8, address: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.bind(SocketAddr::from(([127, 0, 0, last_byte], 0))).expect("an address");
    socket.connect(address).await.expect("connected")
}

/// Whether the server closes a connection on which nothing was asked, before the deadline of the port does it.
async fn is_closed(stream: &mut TcpStream) -> bool {
    let read = tokio::time::timeout(DEADLINE / 2, stream.read(&mut [0])).await;
    matches!(read, Ok(Ok(0) | Err(_)))
}

#[tokio::test]
async fn the_peer_with_the_most_connections_loses_its_oldest_and_probes_are_answered() {
    let address = port(None, None).await;
    let kubelet = connect_from(2, address).await;
    let mut crowd = Vec::new();
    for _ in 0..CONNECTIONS_MAX + 9 {
        crowd.push(connect_from(3, address).await);
    }
    let probe = get(TcpStream::connect(address).await.expect("connected"), "/livez", None).await;
    assert!(probe.expect("answered").starts_with("HTTP/1.1 200"));
    for displaced in crowd.iter_mut().take(10) {
        assert!(is_closed(displaced).await, "there are too many");
    }
    let youngest = crowd.pop().expect("a crowd");
    for kept in [kubelet, youngest] {
        assert!(get(kept, "/livez", None).await.expect("answered").starts_with("HTTP/1.1 200"));
    }
}

#[tokio::test]
async fn a_client_that_neither_asks_nor_reads_is_cut_at_the_deadline() {
    let address = port_within(Duration::from_millis(200), None, None).await;
    let mut silent = TcpStream::connect(address).await.expect("connected");
    assert!(is_closed(&mut silent).await);
    let mut deaf = TcpStream::connect(address).await.expect("connected");
    deaf.write_all(b"GET /endless HTTP/1.1\r\nHost: localhost\r\n\r\n").await.expect("written");
    // The reset arrives although nothing is read.
    let cut = tokio::time::timeout(DEADLINE, deaf.ready(tokio::io::Interest::ERROR)).await;
    cut.expect("cut").expect("ready");
    let error = deaf.read_to_end(&mut Vec::new()).await.expect_err("the rest is missing");
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
}

#[tokio::test]
async fn a_response_arrives_whole_although_the_client_is_slow() {
    let address = port(None, None).await;
    let mut slow = TcpStream::connect(address).await.expect("connected");
    slow.write_all(b"GET /endless HTTP/1.1\r\nHost: localhost\r\n\r\n").await.expect("written");
    tokio::time::sleep(Duration::from_millis(100)).await;
    let mut answer = Vec::new();
    slow.read_to_end(&mut answer).await.expect("read");
    assert!(answer.len() > 64 << 20, "{}", answer.len());
}

#[tokio::test]
async fn the_head_of_a_request_is_bounded() {
    let address = port(None, None).await;
    let token = |length: usize| "t".repeat(length);
    for (length, is_answered) in [(HEAD_MAX / 2, true), (HEAD_MAX, false)] {
        let stream = TcpStream::connect(address).await.expect("connected");
        let answer = get(stream, "/livez", Some(&token(length))).await.unwrap_or_default();
        assert_eq!(answer.starts_with("HTTP/1.1 200"), is_answered, "{length}: {answer}");
    }
}
