//! The service on a socket.

use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tower_service::Service as _;

use crate::answer;
use crate::host;
use crate::server::ApiServer;

/// Answers what comes in on a listener of a loopback port, until the task is dropped. A request for another host gets
/// 403.
pub async fn serve(listener: TcpListener, server: ApiServer) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // Out of descriptors, most likely: some may be free again soon.
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            continue;
        };
        let _ = stream.set_nodelay(true);
        let server = server.clone();
        let service = service_fn(move |request: Request<Incoming>| {
            let mut server = server.clone();
            async move {
                match host::check(request.uri(), request.headers()) {
                    Ok(()) => server.call(request).await,
                    Err(refused) => Ok(answer::refusal(&refused)),
                }
            }
        });
        let connection =
            http1::Builder::new().timer(TokioTimer::new()).serve_connection(TokioIo::new(stream), service);
        // A connection that breaks off is the client's business.
        tokio::spawn(async move {
            let _ = connection.await;
        });
    }
}
